// Attention as CUDA's libraries are called, and the gradients of its fused cells, against rows
// whose values recordings confirm.
#include "tests/support/run_op.h"

namespace assay {
namespace {
using namespace assay::testing;

constexpr auto kReference = "aten._scaled_dot_product_flash_attention_for_cpu.default";
constexpr auto kReferenceBackward =
    "aten._scaled_dot_product_flash_attention_for_cpu_backward.default";
constexpr auto kFlash = "aten._flash_attention_forward.default";
constexpr auto kEfficient = "aten._efficient_attention_forward.default";

auto ops() -> OpRunner {
  return OpRunner({add_attention_rows, add_attention_packed_rows, add_attention_cuda_rows,
                   add_view_rows, add_copy_rows, add_creation_rows, add_pointwise_rows,
                   add_recurrent_rows, add_recurrent_backward_rows});
}
/// [batch, heads, positions, features] as [batch, positions, heads, features], and back.
auto by_position(OpRunner& run, const Tensor& tensor) -> Tensor {
  return run.tensor("aten.transpose.int", {Datum{tensor}, integer(1), integer(2)});
}
auto rows_of(OpRunner& run, const Tensor& tensor, std::int64_t dim, std::int64_t begin,
             std::int64_t end) -> Tensor {
  return run.tensor("aten.slice.Tensor",
                    {Datum{tensor}, integer(dim), integer(begin), integer(end)});
}

struct Operands {
  Tensor query = random_tensor({2, 4, 5, 6}, 1), key = random_tensor({2, 2, 5, 6}, 2),
         value = random_tensor({2, 2, 5, 6}, 3), grad = random_tensor({2, 4, 5, 6}, 4);
};

TEST(PackedAttention, IsThatOfHeadsInAnotherOrder) {
  auto run = ops();
  const Operands o;
  const auto turned = [&](const Tensor& tensor) { return Datum{by_position(run, tensor)}; };
  for (const bool causal : {false, true}) {
    const auto want = run.run(
        kReference,
        {Datum{o.query}, Datum{o.key}, Datum{o.value}, real(0), flag(causal), {}, real(0.3)});
    const auto flash = run.run(kFlash, {turned(o.query),
                                        turned(o.key),
                                        turned(o.value),
                                        {},
                                        {},
                                        integer(5),
                                        integer(5),
                                        real(0),
                                        flag(causal),
                                        flag(false),
                                        real(0.3)});
    const auto efficient = run.run(kEfficient, {turned(o.query),
                                                turned(o.key),
                                                turned(o.value),
                                                {},
                                                {},
                                                {},
                                                {},
                                                {},
                                                real(0),
                                                integer(causal ? 1 : 0),
                                                flag(true),
                                                real(0.3)});
    for (const auto* got : {&flash, &efficient}) {
      expect_close(by_position(run, *(*got)[0].real()), *want[0].real());
      expect_close(rows_of(run, *(*got)[1].real(), 2, 0, 5), *want[1].real(), 1e-6);
    }
    const auto gradients = run.run(kReferenceBackward, {Datum{o.grad},
                                                        Datum{o.query},
                                                        Datum{o.key},
                                                        Datum{o.value},
                                                        want[0],
                                                        want[1],
                                                        real(0),
                                                        flag(causal),
                                                        {},
                                                        real(0.3)});
    const auto none = Datum{make_tensor({0}, {})};
    const auto got = run.run("aten._flash_attention_backward.default",
                             {turned(o.grad), turned(o.query), turned(o.key), turned(o.value),
                              turned(*want[0].real()), want[1], none, none, integer(5), integer(5),
                              real(0), flag(causal), none, none, real(0.3)});
    for (std::size_t i = 0; i < 3; ++i)
      expect_close(by_position(run, *got[i].real()), *gradients[i].real());
  }
}

TEST(PackedAttention, SequencesBehindEachOtherDoNotSeeEachOther) {
  auto run = ops();
  const auto query = random_tensor({7, 2, 4}, 1), key = random_tensor({8, 2, 4}, 2),
             value = random_tensor({8, 2, 4}, 3);
  const auto query_ends = make_tensor({3}, {0, 3, 7}, DType::int32);
  const auto key_ends = make_tensor({3}, {0, 6, 8}, DType::int32);
  const auto all =
      run.run(kFlash, {Datum{query}, Datum{key}, Datum{value}, Datum{query_ends}, Datum{key_ends},
                       integer(4), integer(6), real(0), flag(false), flag(false)});
  EXPECT_EQ(all[1].real()->sizes(), (Ints{2, 7}));
  const std::int64_t ends[] = {0, 3, 7}, others[] = {0, 6, 8};
  for (std::size_t i = 0; i < 2; ++i) {
    const auto part = [&](const Tensor& tensor, const std::int64_t* at) {
      return Datum{run.tensor("aten.unsqueeze.default",
                              {Datum{rows_of(run, tensor, 0, at[i], at[i + 1])}, integer(0)})};
    };
    const auto alone = run.run(kFlash, {part(query, ends),
                                        part(key, others),
                                        part(value, others),
                                        {},
                                        {},
                                        integer(4),
                                        integer(6),
                                        real(0),
                                        flag(false),
                                        flag(false)});
    expect_close(*part(*all[0].real(), ends).real(), *alone[0].real());
  }
}

TEST(PackedAttention, AWindowAndTheLastQueryDecideWhichKeysAreSeen) {
  auto run = ops();
  const auto query = random_tensor({1, 2, 1, 3}, 1), key = random_tensor({1, 5, 1, 3}, 2),
             value = random_tensor({1, 5, 1, 3}, 3);
  // Causal counts from the end: the first of two queries sees four of five keys, and with a window
  // of one to the left the last two of those.
  const auto got = run.run(kFlash, {Datum{query},
                                    Datum{key},
                                    Datum{value},
                                    {},
                                    {},
                                    integer(2),
                                    integer(5),
                                    real(0),
                                    flag(true),
                                    flag(false),
                                    real(1),
                                    integer(1),
                                    integer(0)});
  const auto alone = run.run(kFlash, {Datum{rows_of(run, query, 1, 0, 1)},
                                      Datum{rows_of(run, key, 1, 2, 4)},
                                      Datum{rows_of(run, value, 1, 2, 4)},
                                      {},
                                      {},
                                      integer(1),
                                      integer(2),
                                      real(0),
                                      flag(false),
                                      flag(false),
                                      real(1)});
  expect_close(rows_of(run, *got[0].real(), 1, 0, 1), *alone[0].real());
}

TEST(PackedAttention, CuDnnsIsLaidOutLikeTheQueryWithAColumnOfSums) {
  auto run = ops();
  const Operands o;
  const auto query = laid_out(o.query, {0, 2, 1, 3});
  const auto got = run.run("aten._scaled_dot_product_cudnn_attention.default",
                           {Datum{query}, Datum{o.key}, Datum{o.value}, {}, flag(true)});
  const auto want = run.run(kReference, {Datum{query}, Datum{o.key}, Datum{o.value}});
  EXPECT_EQ(got[0].real()->strides(), query.strides());
  EXPECT_EQ(got[1].real()->sizes(), (Ints{2, 4, 5, 1}));
  expect_close(*got[0].real(), *want[0].real());
}

/// As empty_like lays out what leaves gaps: densely, in the order of the strides.
TEST(PackedAttention, OutputsOfOperandsWithGapsHaveNone) {
  auto run = ops();
  const Operands o;
  const auto& sizes = o.query.sizes();
  const auto row = sizes[1] * sizes[3];
  auto packed =
      Tensor::allocate(o.query.dtype(), sizes, {sizes[2] * row * 3, sizes[3], row * 3, 1});
  ASSERT_TRUE(packed);
  copy_elems(o.query, *packed);
  for (const std::string name : {"cudnn", "flash"})
    for (const bool has_gaps : {true, false}) {
      const auto& query = has_gaps ? *packed : o.query;
      DatumList args = {Datum{query}, Datum{o.key}, Datum{o.value}};
      if (name == "cudnn") args.insert(args.end(), {Datum{}, flag(true)});
      const auto got = run.run("aten._scaled_dot_product_" + name + "_attention.default", args);
      const auto strides = got[0].real()->strides();
      EXPECT_EQ(strides, has_gaps ? (Ints{sizes[2] * row, sizes[3], row, 1}) : o.query.strides())
          << name;
    }
}

/// Sum of h, and of c where there is one, of a fused cell.
TEST(FusedCells, GradientsAreTheDerivatives) {
  auto run = ops();
  for (const bool is_lstm : {true, false}) {
    const std::int64_t gates = is_lstm ? 4 : 3;
    const auto of_input = random_tensor({2, gates * 3}, 1),
               of_state = random_tensor({2, gates * 3}, 2), state = random_tensor({2, 3}, 3),
               grad = random_tensor({2, 3}, 4);
    const auto cell = [&](const Tensor& a, const Tensor& b, const Tensor& c) {
      return run.run(
          is_lstm ? "aten._thnn_fused_lstm_cell.default" : "aten._thnn_fused_gru_cell.default",
          {Datum{a}, Datum{b}, Datum{c}});
    };
    const auto results = cell(of_input, of_state, state);
    const auto gradients =
        is_lstm
            ? run.run("aten._thnn_fused_lstm_cell_backward_impl.default",
                      {Datum{grad}, Datum{grad}, Datum{state}, results[1], results[2], flag(true)})
            : run.run("aten._thnn_fused_gru_cell_backward.default",
                      {Datum{grad}, results[1], flag(true)});
    const auto loss = [&](const DatumList& of) {
      double sum = 0;
      const auto weights = values_of(grad);
      for (std::size_t r = 0; r < (is_lstm ? 2U : 1U); ++r) {
        const auto values = values_of(*of[r].real());
        for (std::size_t i = 0; i < values.size(); ++i) sum += weights[i] * values[i];
      }
      return sum;
    };
    const auto slope = [&](const Tensor& tensor, std::size_t at, const auto& with) {
      constexpr double kStep = 1e-6;
      auto values = values_of(tensor);
      values[at] += kStep;
      const double above = loss(with(make_tensor(tensor.sizes(), values)));
      values[at] -= 2 * kStep;
      return (above - loss(with(make_tensor(tensor.sizes(), values)))) / (2 * kStep);
    };
    const auto expect = [&](const Datum& gradient, const Tensor& tensor, const auto& with) {
      const auto values = values_of(*gradient.real());
      for (std::size_t i = 0; i < values.size(); ++i)
        ASSERT_NEAR(values[i], slope(tensor, i, with), 1e-8) << (is_lstm ? "lstm " : "gru ") << i;
    };
    expect(gradients[0], of_input, [&](const Tensor& t) { return cell(t, of_state, state); });
    expect(gradients[is_lstm ? 1 : 2], state,
           [&](const Tensor& t) { return cell(of_input, of_state, t); });
    if (!is_lstm)
      expect(gradients[1], of_state, [&](const Tensor& t) { return cell(of_input, t, state); });
  }
}

}  // namespace
}  // namespace assay
