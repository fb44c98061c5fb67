// Quantiles (aten/src/ATen/native/Sorting.cpp).
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/ops/reduce.h"
#include "core/ops/rules.h"

namespace assay {
namespace {

// self, q (a number or a tensor of at most one dimension), dim, keepdim, interpolation.
auto reduced_dim(const std::vector<Expr>& sizes, std::optional<std::int64_t> dim)
    -> std::vector<bool> {
  std::vector<bool> reduced(sizes.size(), !dim);
  if (dim && !sizes.empty()) reduced[static_cast<std::size_t>(*dim)] = true;
  return reduced;
}
/// The quantiles are found along a last dimension, which then goes to the front.
auto quantile_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  const auto mode = c.text(4);
  if (!c.require(self.dtype == DType::float32 || self.dtype == DType::float64,
                 "float32 or float64 is needed") ||
      !c.require(mode == "linear" || mode == "lower" || mode == "higher" || mode == "midpoint" ||
                     mode == "nearest",
                 "interpolation is linear, lower, higher, midpoint or nearest"))
    return {};
  if (c.is_tensor(1) && (!c.require(c.meta(1).rank() <= 1, "q is a number or a vector") ||
                         !c.require(c.meta(1).dtype == self.dtype, "q has self's dtype")))
    return {};
  const std::optional<std::int64_t> dim =
      c.has(2) ? std::optional<std::int64_t>(c.dim_arg(2, self.rank())) : std::nullopt;
  if (c.error() || !c.require(gt(numel(self), 0), "there are elements")) return {};
  auto sizes = reduced_sizes(self.sizes, reduced_dim(self.sizes, dim), c.flag(3));
  if (!c.is_tensor(1) || c.meta(1).rank() == 0) return c.fresh(self.dtype, std::move(sizes));
  auto together = sizes;
  together.push_back(c.meta(1).sizes[0]);
  auto strides = contiguous_strides(together);
  std::rotate(strides.begin(), strides.end() - 1, strides.end());
  sizes.insert(sizes.begin(), c.meta(1).sizes[0]);
  return c.fresh(self.dtype, std::move(sizes), std::move(strides));
}
/// One quantile of sorted numbers; ranks are rounded as the dtype rounds them.
auto quantile_of(const std::vector<double>& sorted, double q, const std::string& mode, DType dtype)
    -> double {
  if (sorted.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double rank = round_to(dtype, q * static_cast<double>(sorted.size() - 1));
  const auto at = [&](double r) { return sorted[static_cast<std::size_t>(r)]; };
  const double low = at(std::floor(rank));
  const double high = at(std::ceil(rank));
  if (mode == "lower") return low;
  if (mode == "higher") return high;
  if (mode == "nearest") return at(std::nearbyint(rank));
  const double weight = mode == "midpoint" ? 0.5 : rank - std::floor(rank);
  return low + (mode == "midpoint" && low == high ? 0 : weight * (high - low));
}
void quantile_kernel(KernelCall& k) {
  const bool skips_nan = k.row().name().starts_with("aten.nanquantile");
  const auto& self = k.in(0);
  std::vector<bool> reduced(self.sizes().size(), !k.has(2));
  if (k.has(2) && self.rank() > 0)
    reduced[static_cast<std::size_t>(dim_of(k, 2, self.rank()))] = true;
  const auto quantiles = k.is_tensor(1) ? to_vector<double>(k.in(1))
                                        : std::vector<double>{round_to(self.dtype(), k.real(1))};
  for (const double q : quantiles)
    if (!(q >= 0 && q <= 1)) return void(k.fail("q lies in [0, 1]"));
  auto rows = load_rows<double>(self, reduced);
  std::vector<double> result(quantiles.size() * rows.outer);
  for (std::size_t i = 0; i < rows.outer; ++i) {
    const auto row = rows.row(i);
    std::vector<double> sorted;
    for (const double x : row)
      if (!std::isnan(x)) sorted.push_back(x);
    const bool has_nan = sorted.size() < row.size() && !skips_nan;
    std::ranges::sort(sorted);
    for (std::size_t q = 0; q < quantiles.size(); ++q)
      result[q * rows.outer + i] = has_nan
                                       ? std::numeric_limits<double>::quiet_NaN()
                                       : quantile_of(sorted, quantiles[q], k.text(4), self.dtype());
  }
  from_vector<double>(k.out(), result);
}

}  // namespace

// clang-format off
void add_quantile_rows(OpTable& t) {
  t.add({.schema_text = "aten::quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor", .rule = quantile_rule, .kernel = quantile_kernel});
  t.add({.schema_text = "aten::quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor", .rule = quantile_rule, .kernel = quantile_kernel});
  t.add({.schema_text = "aten::nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor", .rule = quantile_rule, .kernel = quantile_kernel});
  t.add({.schema_text = "aten::nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation='linear') -> Tensor", .rule = quantile_rule, .kernel = quantile_kernel});
}
// clang-format on

}  // namespace assay
