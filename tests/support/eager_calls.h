// Operator calls with what eager PyTorch gives for them: sizes, strides, values.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/ops/domain.h"
#include "tests/support/run_op.h"

namespace assay::testing {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Values between -0.4 and 0.6 in no order, moved by `offset`.
inline auto filled(const Ints& sizes, double offset) -> Tensor {
  std::vector<double> values;
  for (std::int64_t i = 0; i < numel(sizes); ++i)
    values.push_back(static_cast<double>((i * 7 + 3) % 11) / 11 - 0.4 + offset);
  return make_tensor(sizes, values);
}

struct EagerResult {
  Ints sizes, strides;
  std::vector<double> values;
};
struct EagerCall {
  const char* overload;
  DatumList args;
  std::vector<EagerResult> wanted;
};

inline void expect_result(const Tensor& got, const EagerResult& wanted) {
  EXPECT_EQ(got.sizes(), wanted.sizes);
  EXPECT_EQ(got.strides(), wanted.strides);
  const auto values = values_of(got);
  ASSERT_EQ(values.size(), wanted.values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double want = wanted.values[i];
    if (std::isfinite(want))
      EXPECT_NEAR(values[i], want, 1e-9 * std::max(1.0, std::fabs(want))) << i;
    else
      EXPECT_TRUE(std::isnan(want) ? std::isnan(values[i]) : values[i] == want) << i;
  }
}

/// Runs the calls on the table of all rows.
inline void expect_calls(const std::vector<EagerCall>& calls) {
  static const OpTable kTable = build_op_table();
  for (const auto& [overload, args, wanted] : calls) {
    SCOPED_TRACE(overload);
    const auto* row = kTable.find(overload);
    ASSERT_NE(row, nullptr);
    const auto bound = bind_arguments(row->schema, args, {});
    ASSERT_TRUE(bound) << bound.error().message;
    const auto result = RealDomain(kTable).run(*row, *bound);
    ASSERT_TRUE(result) << result.error().message;
    const DatumList results = result->list() ? *result->list() : DatumList{*result};
    ASSERT_GE(results.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      SCOPED_TRACE(i);
      expect_result(*results[i].real(), wanted[i]);
    }
  }
}

}  // namespace assay::testing
