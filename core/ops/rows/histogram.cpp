// Histograms over one and more dimensions (aten/src/ATen/native/Histogram.cpp,
// cpu/HistogramKernel.cpp). Bins are half open but for the last.
#include <algorithm>
#include <cmath>

#include "core/ops/rules.h"

namespace assay {
namespace {

using Edges = std::vector<std::vector<double>>;

/// Sizes of the histogram: one dimension per column of self.
auto columns_of(MetaCall& c) -> std::int64_t {
  const auto& self = c.meta(0);
  if (!c.require(is_floating(self.dtype), "a floating tensor")) return 0;
  return 1;
}
/// self, bins (a number or one per column).
auto bin_counts(MetaCall& c) -> Dims {
  return c.arg(1).list() ? c.exprs(1) : Dims{c.expr(1)};
}
/// A histogram over D columns takes a matrix with D columns.
auto require_columns(MetaCall& c, std::size_t count) -> bool {
  const auto& self = c.meta(0);
  return c.require(self.rank() >= 1, "the columns are the last dimension") &&
         c.require(eq(self.sizes.back(), static_cast<std::int64_t>(count)), "one column per bins");
}
auto bin_ct_rule(MetaCall& c) -> Datum {
  if (columns_of(c) == 0 || !c.require(gt(c.expr(1), 0), "there are bins")) return {};
  const auto dtype = c.meta(0).dtype;
  return {DatumList{c.fresh(dtype, {c.expr(1)}), c.fresh(dtype, {c.expr(1) + 1})}};
}
auto bins_tensor_rule(MetaCall& c) -> Datum {
  const auto& bins = c.meta(1);
  if (columns_of(c) == 0 || !c.require(bins.rank() == 1, "the edges are a vector") ||
      !c.require(gt(bins.sizes[0], 0), "there are edges"))
    return {};
  return {
      DatumList{c.fresh(c.meta(0).dtype, {bins.sizes[0] - 1}), c.fresh(bins.dtype, bins.sizes)}};
}
auto bin_edges_rule(MetaCall& c) -> Datum {
  const auto counts = bin_counts(c);
  if (columns_of(c) == 0 || !require_columns(c, counts.size())) return {};
  DatumList edges;
  for (const auto& count : counts) {
    if (!c.require(gt(count, 0), "there are bins")) return {};
    edges.push_back(c.fresh(c.meta(0).dtype, {count + 1}));
  }
  return {std::move(edges)};
}
auto from_counts_rule(MetaCall& c) -> Datum {
  const auto counts = bin_counts(c);
  if (columns_of(c) == 0 || !require_columns(c, counts.size())) return {};
  for (const auto& count : counts)
    if (!c.require(gt(count, 0), "there are bins")) return {};
  return c.fresh(c.meta(0).dtype, counts);
}
auto from_tensors_rule(MetaCall& c) -> Datum {
  Dims counts;
  for (const auto* bins : c.tensors(1)) {
    if (!c.require(bins && bins->meta.rank() == 1, "the edges are vectors") ||
        !c.require(gt(bins->meta.sizes[0], 0), "there are edges"))
      return {};
    counts.push_back(bins->meta.sizes[0] - 1);
  }
  if (columns_of(c) == 0 || !require_columns(c, counts.size())) return {};
  return c.fresh(c.meta(0).dtype, std::move(counts));
}

/// Edges between the ends that are given (pairs in `range`) or between the extremes of the columns.
auto even_edges(KernelCall& k, const std::vector<double>& x, std::size_t columns) -> Edges {
  const int range = param(k, "range");
  const auto counts = k.arg(1).list() ? k.integers(1) : Ints{k.integer(1)};
  const auto dtype = k.in(0).dtype();
  Edges edges;
  for (std::size_t d = 0; d < columns; ++d) {
    double low = 0;
    double high = 1;
    if (k.has(range)) {
      const auto& ends = *k.arg(range).list();
      if (ends.size() != 2 * columns) return k.fail("the range has two ends per column"), edges;
      low = ends[2 * d].scalar()->as_number().value_or(0);
      high = ends[2 * d + 1].scalar()->as_number().value_or(1);
    } else if (!x.empty()) {
      low = high = x[d];
      for (auto i = d; i < x.size(); i += columns) {
        low = std::min(low, x[i]);
        high = std::max(high, x[i]);
      }
    }
    if (!std::isfinite(low) || !std::isfinite(high) || low > high)
      return k.fail("the range is finite"), edges;
    if (low == high) {
      low -= 0.5;
      high += 0.5;
    }
    const auto bins = static_cast<double>(counts[d]);
    auto& own = edges.emplace_back();
    for (std::int64_t i = 0; i <= counts[d]; ++i) {
      const double step = (high - low) / bins;
      const auto at = static_cast<double>(i);
      own.push_back(
          round_to(dtype, i <= counts[d] / 2 ? low + step * at : high - step * (bins - at)));
    }
  }
  return edges;
}
auto given_edges(const std::vector<const Tensor*>& tensors) -> Edges {
  Edges edges;
  for (const auto* tensor : tensors) edges.push_back(to_vector<double>(*tensor));
  return edges;
}

/// How the bin of a value inside is found: by its place among the edges, or by division, in the
/// dtype of the values.
enum class Search : std::uint8_t { edges, division };
auto bin_of(double value, const std::vector<double>& edges, Search search, DType dtype)
    -> std::size_t {
  const auto bins = edges.size() - 1;
  if (search == Search::edges) {
    const auto above = std::ranges::upper_bound(edges, value) - edges.begin();
    return std::clamp<std::size_t>(static_cast<std::size_t>(above), 1, bins) - 1;
  }
  const auto rounded = [&](double x) { return round_to(dtype, x); };
  const double scaled = rounded(rounded(value - edges.front()) * static_cast<double>(bins));
  const double at = rounded(scaled / rounded(edges.back() - edges.front()));
  return std::min(static_cast<std::size_t>(at), bins - 1);
}

void count_into(KernelCall& k, const std::vector<double>& x, const Edges& edges, Tensor& out,
                Search search = Search::edges) {
  const auto columns = edges.size();
  const int weight_arg = param(k, "weight");
  const auto weight =
      k.has(weight_arg) ? to_vector<double>(k.in(weight_arg)) : std::vector<double>();
  if (!weight.empty() && weight.size() * columns != x.size())
    return void(k.fail("there is one weight per row"));
  std::vector<double> counts(static_cast<std::size_t>(out.numel()), 0);
  double total = 0;
  for (std::size_t row = 0; row * columns < x.size(); ++row) {
    std::size_t to = 0;
    bool inside = true;
    for (std::size_t d = 0; d < columns && inside; ++d) {
      const double value = x[row * columns + d];
      const auto& own = edges[d];
      inside = value >= own.front() && value <= own.back() && own.size() > 1;
      if (!inside) break;
      to = to * (own.size() - 1) + bin_of(value, own, search, k.in(0).dtype());
    }
    if (!inside) continue;
    counts[to] += weight.empty() ? 1 : weight[row];
    total += weight.empty() ? 1 : weight[row];
  }
  if (k.flag(param(k, "density"))) {
    std::size_t inner = counts.size();
    for (auto& count : counts) count /= total;
    for (const auto& own : edges) {
      const auto bins = own.size() - 1;
      inner = bins ? inner / bins : 0;
      for (std::size_t i = 0; i < counts.size(); ++i)
        counts[i] /= own[i / inner % bins + 1] - own[i / inner % bins];
    }
  }
  from_vector<double>(out, counts);
}
void bin_ct_kernel(KernelCall& k) {
  const auto x = to_vector<double>(k.in(0));
  const auto edges = even_edges(k, x, 1);
  if (k.error()) return;
  count_into(k, x, edges, k.out(0));
  from_vector<double>(k.out(1), edges[0]);
}
void bins_tensor_kernel(KernelCall& k) {
  count_into(k, to_vector<double>(k.in(0)), given_edges({&k.in(1)}), k.out(0));
  from_vector<double>(k.out(1), to_vector<double>(k.in(1)));
}
void bin_edges_kernel(KernelCall& k) {
  const auto edges = even_edges(k, to_vector<double>(k.in(0)), k.integers(1).size());
  for (std::size_t d = 0; d < edges.size() && !k.error(); ++d)
    from_vector<double>(k.out(static_cast<int>(d)), edges[d]);
}
void from_counts_kernel(KernelCall& k) {
  const auto x = to_vector<double>(k.in(0));
  const auto edges = even_edges(k, x, k.integers(1).size());
  if (!k.error()) count_into(k, x, edges, k.out(), Search::division);
}
void from_tensors_kernel(KernelCall& k) {
  count_into(k, to_vector<double>(k.in(0)), given_edges(k.tensors(1)), k.out());
}

/// self [..., dimensions], bins, range, weight, density: counts, and the edges of each dimension.
auto histogramdd(Composer& c) -> Datum {
  Datum bins = c.arg(1);
  const auto* list = bins.list();
  if (list == nullptr) {
    const auto meta = c.meta(0);
    if (meta.sizes.empty()) return c.fail("points have dimensions"), Datum{};
    const auto dimensions = c.domain().context().concrete(meta.sizes.back(), "as many dimensions");
    bins = Datum{DatumList(static_cast<std::size_t>(std::max<std::int64_t>(dimensions, 0)), bins)};
    list = bins.list();
  }
  if (!list->empty() && list->front().is_tensor())
    return {DatumList{
        c.call("aten._histogramdd_from_bin_tensors.default", {c.arg(0), bins, c.arg(3), c.arg(4)}),
        bins}};
  const DatumList args{c.arg(0), bins, c.arg(2), c.arg(3), c.arg(4)};
  const auto edges = c.call("aten._histogramdd_bin_edges.default", args);
  return {DatumList{c.call("aten._histogramdd_from_bin_cts.default", args), edges}};
}
constexpr std::string_view kHistogramdd[] = {
    "aten::histogramdd(Tensor self, int[] bins, float[]? range=None, Tensor? weight=None, bool "
    "density=False) -> (Tensor hist, Tensor[] bin_edges)",
    "aten::histogramdd.int_bins(Tensor self, int bins, float[]? range=None, Tensor? weight=None, "
    "bool density=False) -> (Tensor hist, Tensor[] bin_edges)",
    "aten::histogramdd.TensorList_bins(Tensor self, Tensor[] bins, float[]? range=None, Tensor? "
    "weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)"};

}  // namespace

// clang-format off
void add_histogram_rows(OpTable& t) {
  t.add({.schema_text = "aten::histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)", .rule = bin_ct_rule, .kernel = bin_ct_kernel});
  t.add({.schema_text = "aten::histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)", .rule = bins_tensor_rule, .kernel = bins_tensor_kernel});
  for (const auto schema : kHistogramdd) t.add({.schema_text = schema, .decomposition = histogramdd});
  t.add({.schema_text = "aten::_histogramdd_bin_edges(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False) -> Tensor[]", .rule = bin_edges_rule, .kernel = bin_edges_kernel});
  t.add({.schema_text = "aten::_histogramdd_from_bin_cts(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False) -> Tensor", .rule = from_counts_rule, .kernel = from_counts_kernel});
  t.add({.schema_text = "aten::_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? weight=None, bool density=False) -> Tensor", .rule = from_tensors_rule, .kernel = from_tensors_kernel});
}
// clang-format on

}  // namespace assay
