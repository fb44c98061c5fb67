#include "compiler/prove/fits.h"

#include <algorithm>

#include "compiler/prove/corner.h"
#include "core/expr/poly.h"

namespace assay {
namespace {

constexpr std::size_t kMaxTerms = 60;  ///< of polynomials that are divided
constexpr int kMaxDepth = 6;

/// limit == size * q with q >= 1 and size >= 0.
auto is_factor(const Expr& size, const Expr& limit, const Ranges& ranges) -> bool {
  auto* pool = limit.pool();
  if (pool == nullptr || !at_least(size, 0, ranges)) return false;
  const auto whole = poly_expanded(*pool, to_poly(limit), kMaxTerms);
  const auto part = poly_expanded(*pool, to_poly(size), kMaxTerms);
  if (!whole || !part) return false;
  const auto quotient = divide_exactly(*pool, *whole, *part);
  return quotient && at_least(from_poly(*pool, *quotient), 1, ranges);
}

auto below(const Expr& size, const Expr& limit, const Ranges& ranges, int depth) -> bool {
  if (depth > kMaxDepth || !size.is_valid() || !limit.is_valid()) return false;
  const auto args = size.args();
  const auto fits = [&](const Expr& e) { return below(e, limit, ranges, depth + 1); };
  if (size.op() == ExprOp::max) return std::ranges::all_of(args, fits);
  if (size.op() == ExprOp::min) return std::ranges::any_of(args, fits);
  if (size.op() == ExprOp::where) return fits(args[1]) && fits(args[2]);
  if (size == limit) return true;
  const Expr gap = limit - size;
  if (gap.is_valid() && at_least(gap, 0, ranges)) return true;
  if (is_factor(size, limit, ranges)) return true;
  // 0 <= x and 1 <= y make x // y and x mod y no larger than x.
  const bool is_part = size.op() == ExprOp::floor_div || size.op() == ExprOp::mod;
  return is_part && at_least(args[0], 0, ranges) && at_least(args[1], 1, ranges) && fits(args[0]);
}

}  // namespace

auto fits_below(const Expr& size, const Expr& limit, const Ranges& ranges) -> bool {
  return size.type() == ExprType::integer && limit.type() == ExprType::integer &&
         below(size, limit, ranges, 0);
}

}  // namespace assay
