// The table's look-ups, and whom a failed call accuses.
#include <algorithm>

#include "tests/support/run_op.h"

namespace assay {
namespace {
using namespace assay::testing;

auto table() -> const OpTable& {
  static const OpTable kTable = build_op_table();
  return kTable;
}
auto error_of(const char* overload, DatumList args) -> ErrorCode {
  const auto* row = table().find(overload);
  const auto bound = bind_arguments(row->schema, std::move(args), {});
  if (!bound) return bound.error().code;
  const auto result = RealDomain(table()).run(*row, *bound);
  EXPECT_FALSE(result) << overload;
  return result ? ErrorCode::usage : result.error().code;
}

TEST(OpTable, AllOverloadsOfAnOperatorAreFoundByItsName) {
  const auto rows = table().overloads("aten.add");
  for (const auto* const name : {"aten.add.Tensor", "aten.add.Scalar"})
    EXPECT_TRUE(std::ranges::any_of(rows, [&](const OpRow* row) { return row->name() == name; }));
  for (const auto* row : rows) EXPECT_TRUE(row->name().starts_with("aten.add."));
  EXPECT_TRUE(table().overloads("aten.ad").empty());
}

TEST(OpTable, WhatPyTorchTakesAndARowDoesNotIsUnsupported) {
  const auto q = Datum{random_tensor({1, 2, 3, 4}, 1)};
  EXPECT_EQ(
      error_of("aten._scaled_dot_product_flash_attention_for_cpu.default", {q, q, q, real(0.5)}),
      ErrorCode::unsupported);
  EXPECT_EQ(error_of("aten.relu.default", {q, integer(1)}), ErrorCode::unsupported);
}

TEST(OpTable, WhatPyTorchRefusesIsABadInput) {
  const auto a = Datum{random_tensor({2, 3}, 1)};
  EXPECT_EQ(error_of("aten.mm.default", {a, a}), ErrorCode::bad_input);
  EXPECT_EQ(error_of("aten.einsum.default", {Datum{std::string("ijk->i")}, Datum{DatumList{a}}}),
            ErrorCode::bad_input);
  const auto q = Datum{random_tensor({1, 3, 3, 4}, 1)};
  const auto k = Datum{random_tensor({1, 2, 3, 4}, 2)};
  EXPECT_EQ(error_of("aten.scaled_dot_product_attention.default",
                     {q, k, k, Datum{}, real(0), flag(false), Datum{}, flag(true)}),
            ErrorCode::bad_input);
}

TEST(OutForms, WriteEachResultIntoTheTensorGivenForIt) {
  auto values = make_tensor({3}, {0, 0, 0});
  auto indices = make_tensor({3}, {0, 0, 0}, DType::int64);
  OpRunner run({add_sort_rows, add_copy_rows, add_out_rows});
  const auto results = run.run("aten.sort.values", {Datum{make_tensor({3}, {2, 3, 1})}, integer(0),
                                                    flag(true), Datum{values}, Datum{indices}});
  EXPECT_EQ(values_of(values), (std::vector<double>{3, 2, 1}));
  EXPECT_EQ(values_of(indices), (std::vector<double>{1, 0, 2}));
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[1].real()->storage, indices.storage);
}

TEST(OutForms, HaveTheNamesThatPyTorchGivesThem) {
  const auto parameters = [](const char* overload) -> std::string {
    const auto* row = table().find(overload);
    if (!row) return "no row";
    std::string names;
    for (const auto& param : row->schema.params)
      if (param.written) names += param.name + " ";
    return names;
  };
  EXPECT_EQ(parameters("aten.native_layer_norm.out"), "out0 out1 out2 ");
  EXPECT_EQ(parameters("aten.max.dim_max"), "max max_values ");
  EXPECT_EQ(parameters("aten.nll_loss_forward.output"), "output total_weight ");
  EXPECT_EQ(parameters("aten.tanh_backward.grad_input"), "grad_input ");
  EXPECT_EQ(parameters("aten.std.correction_out"), "out ");
  // What is composed of others, lists of tensors and views have none.
  for (const auto* none : {"aten.conv2d.out", "aten.chunk.out", "aten.transpose.int_out"})
    EXPECT_EQ(parameters(none), "no row");
}

}  // namespace
}  // namespace assay
