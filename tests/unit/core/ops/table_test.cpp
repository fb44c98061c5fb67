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
  EXPECT_EQ(error_of("aten.scaled_dot_product_attention.default", {q, q, q, Datum{}, real(0.5)}),
            ErrorCode::unsupported);
  EXPECT_EQ(error_of("aten.one_hot.default", {Datum{make_tensor({2}, {0, 1}, DType::int64)}}),
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

}  // namespace
}  // namespace assay
