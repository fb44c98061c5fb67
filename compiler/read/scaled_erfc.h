// erfcx of kernels in C++ and Triton, as operations of the table. Internal to compiler/read.
#pragma once
#include <functional>
#include <numbers>
#include <string_view>

#include "compiler/program/op_table.h"
#include "core/base/result.h"

namespace assay {

/// How a reader makes values of its own kind, of float64.
template <class Value>
struct RealOps {
  std::function<Result<Value>(TileOp, const Value&)> apply;
  std::function<Result<Value>(std::string_view, const Value&, const Value&)> binary;
  std::function<Result<Value>(const Value&, const Value&, const Value&)> select;
  std::function<Value(double)> number;
};

/// exp(x^2) erfc(x), whose factors leave float64's range from 26 on: there the first terms of its
/// series (Abramowitz and Stegun 7.1.23). x is float64, and so is the result.
template <class Value>
auto scaled_erfc(const RealOps<Value>& ops, const Value& x) -> Result<Value> {
  constexpr double kFar = 25;
  ASSAY_TRY(const auto square, ops.binary("*", x, x));
  ASSAY_TRY(const auto power, ops.apply(TileOp::exp, square));
  ASSAY_TRY(const auto rest, ops.apply(TileOp::erfc, x));
  ASSAY_TRY(const auto near, ops.binary("*", power, rest));
  ASSAY_TRY(const auto twice, ops.binary("*", ops.number(2), square));
  ASSAY_TRY(const auto y, ops.binary("/", ops.number(1), twice));
  auto sum = ops.number(1);
  for (const double factor : {5.0, 3.0, 1.0}) {
    ASSAY_TRY(const auto scaled, ops.binary("*", ops.number(factor), y));
    ASSAY_TRY(const auto term, ops.binary("*", scaled, sum));
    ASSAY_TRY(sum, ops.binary("-", ops.number(1), term));
  }
  ASSAY_TRY(const auto leading, ops.binary("/", ops.number(std::numbers::inv_sqrtpi), x));
  ASSAY_TRY(const auto far, ops.binary("*", leading, sum));
  ASSAY_TRY(const auto is_near, ops.binary("<", x, ops.number(kFar)));
  return ops.select(is_near, near, far);
}

}  // namespace assay
