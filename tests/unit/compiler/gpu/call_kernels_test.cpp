// Sorts and topk as kernels of our own, launch by launch in the checking interpreter, beside the
// library call that they stand for.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tests/unit/compiler/gpu/call_runs.h"

namespace assay {
namespace {

/// Elements of which many are equal, with every kind of zero, infinity and NaN.
void fill_with_ties(Tensor& tensor, std::mt19937& random) {
  const auto element = static_cast<std::size_t>(size_bytes(tensor.dtype()));
  auto values = std::vector<double>(static_cast<std::size_t>(tensor.numel()));
  for (auto& value : values) value = static_cast<double>(random() % 41) - 20;
  if (!is_floating(tensor.dtype())) {
    if (tensor.dtype() == DType::boolean)
      for (auto& value : values) value = value > 0 ? 1 : 0;
    if (info(tensor.dtype()).kind == DTypeKind::unsigned_integer)
      for (auto& value : values) value += 20;
    from_vector(tensor, std::span<const double>(values));
    if (element < 4 || tensor.dtype() == DType::boolean) return;
    // Numbers at both ends of what there is.
    auto bytes = tensor.storage->bytes();
    for (std::size_t i = 0; i < values.size(); i += 7) {
      const auto fill = static_cast<std::uint8_t>(random() % 2 == 0 ? 0xFF : 0x00);
      std::memset(&bytes[i * element], fill, element);
      bytes[i * element + element - 1] = static_cast<std::byte>(random() % 2 == 0 ? 0x7F : 0x80);
    }
    return;
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::array kSpecial = {0.0, -0.0, kInfinity, -kInfinity, std::nan(""), -std::nan("")};
  for (std::size_t i = 0; i < values.size(); ++i)
    if (random() % 4 == 0) values[i] = kSpecial.at(random() % kSpecial.size());
  from_vector(tensor, std::span<const double>(values));
}

struct Row {
  std::string name;
  testing::SmallGraph graph;
  std::size_t launches;  ///< in which the call's place is taken
};
auto row(std::string name, const std::string& input, const std::string& call, std::size_t launches)
    -> Row {
  return {std::move(name),
          {"x: " + input, "m = aten." + call + "\nv = m[0]\ni = m[1]", "v, i"},
          launches};
}
auto sort_of(const std::string& input, std::size_t launches, bool descending = false,
             const std::string& dim = "-1") -> Row {
  auto name = input + (descending ? "_descending" : "") + (dim == "-1" ? "" : "_dim_" + dim);
  for (auto& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return row("sort_" + name, input,
             fmt::format("sort.stable(x, stable = True, dim = {}, descending = {})", dim,
                         descending ? "True" : "False"),
             launches);
}
auto topk_of(const std::string& input, std::int64_t k, std::size_t launches, bool largest = true)
    -> Row {
  auto name = fmt::format("{}_{}{}", input, k, largest ? "" : "_smallest");
  for (auto& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return row("topk_" + name, input + "cuda:0",
             fmt::format("topk.default(x, {}, -1, {})", k, largest ? "True" : "False"), launches);
}

class CallKernelsTest : public ::testing::TestWithParam<Row> {};

TEST_P(CallKernelsTest, GivesWhatTheLibraryCallGives) {
  auto made = testing::bound_graph(GetParam().graph, testing::op_table());
  ASSERT_TRUE(made) << made.error().message;
  std::mt19937 random(7);
  auto& inputs = made->inputs;
  fill_with_ties(std::get<Tensor>(inputs[0].value), random);

  const auto both = testing::run_both(*made);
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ(both->launches, GetParam().launches);
  EXPECT_EQ(both->calls, 0U);
  for (std::size_t k = 0; k < 2; ++k) {
    const auto& a = *both->launched.outputs[k].real();
    const auto& b = *both->called.outputs[k].real();
    ASSERT_EQ(a.meta, b.meta);
    const auto x = a.storage->bytes(), y = b.storage->bytes();
    ASSERT_EQ(x.size(), y.size());
    EXPECT_EQ(std::memcmp(x.data(), y.data(), x.size()), 0) << "result " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rows, CallKernelsTest,
    ::testing::Values(
        // One tile, at its ends, of every dtype
        sort_of("f32[5, 1]", 1), sort_of("f32[3, 16]", 1), sort_of("f32[70, 17]", 1),
        sort_of("f32[2, 2048]", 1), sort_of("f16[9, 100]", 1), sort_of("bf16[9, 100]", 1, true),
        sort_of("f64[9, 100]", 1), sort_of("f64[9, 100]", 1, true), sort_of("i64[9, 100]", 1),
        sort_of("i64[9, 100]", 1, true), sort_of("i32[9, 100]", 1), sort_of("i16[9, 100]", 1, true),
        sort_of("i8[9, 100]", 1), sort_of("u8[9, 100]", 1, true), sort_of("b8[9, 100]", 1),
        sort_of("u16[9, 100]", 1), sort_of("u32[9, 100]", 1, true), sort_of("u64[9, 100]", 1),
        sort_of("f32[2, 2049]", 1), sort_of("i64[4096]", 1, true), sort_of("bf16[8192]", 1),
        // Runs that are merged: the last tile, and the last run, are short or missing
        sort_of("f32[2, 4097]", 3), sort_of("f32[2, 8192]", 3, true), sort_of("f32[8193]", 5),
        sort_of("bf16[2, 20000]", 5), sort_of("bf16[3, 9000]", 3, true), sort_of("i64[9000]", 5),
        sort_of("f64[2, 17000]", 7, true), sort_of("i32[12288]", 5),
        // Rows that lie elsewhere
        sort_of("f32[40, 3]", 1, false, "0"), sort_of("f32[3, 50, 4]", 1, true, "1"),
        sort_of("bf16[2, 8300, 2]", 3, false, "1"), sort_of("f32[4, 20][1, 4]", 1),
        sort_of("i64[4, 20][40, 2]", 1), sort_of("f32[2, 3, 20][60, 20, 1]", 1, false, "0"),
        // The first of a row: in one tile, of every tile, of tiles of those, or of all in order
        topk_of("f32[6, 64]", 8, 1), topk_of("bf16[6, 1000]", 1000, 1, false),
        topk_of("f32[2, 5000]", 50, 2), topk_of("bf16[2, 5000]", 1024, 3, false),
        topk_of("i64[70000]", 100, 3), topk_of("f64[5000]", 3, 2), topk_of("f32[2, 3000]", 1500, 1),
        topk_of("f32[8000]", 1500, 3), topk_of("f32[3, 2100]", 1, 2),
        topk_of("bf16[64, 65536]", 40, 3)),
    [](const auto& row) { return row.param.name; });

TEST(CallKernels, CallsStayWhereRowsHaveNoOrderOfTwoStrides) {
  const testing::SmallGraph graph{"x: f32[2, 3, 4, 5][1, 4, 500, 20]",
                                  "m = aten.sort.stable(x, stable = True, dim = 1)\nv = m[0]", "v"};
  auto made = testing::bound_graph(graph, testing::op_table());
  ASSERT_TRUE(made) << made.error().message;
  auto* bound = &made->bound;
  const auto steps = bound->steps.size();
  CallKernels(testing::op_table()).expand(*bound);
  ASSERT_EQ(bound->steps.size(), steps);
  EXPECT_TRUE(std::ranges::any_of(
      bound->steps, [](const BoundStep& step) { return std::holds_alternative<BoundCall>(step); }));
}

}  // namespace
}  // namespace assay
