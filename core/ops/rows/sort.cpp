// Ordering along a dimension, order statistics, binary search, distinct elements.
// Rules: aten/src/ATen/native/Sorting.cpp, Bucketization.cpp, Unique.cpp, SummaryOps.cpp,
// TensorCompare.cpp (mode, isin).
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "core/ops/pointwise.h"
#include "core/ops/reduce.h"
#include "core/ops/rules.h"

namespace assay {
namespace {

/// Number types with an order.
template <class Body>
void with_ordered_type(Call& c, DType dtype, Body&& body) {
  if (is_complex(dtype))
    c.fail(fmt::format("dtype {} has no order", name(dtype)));
  else if (is_floating(dtype))
    body(double{});
  else
    body(std::int64_t{});
}
/// Ascending, NaN last.
template <class T>
auto less(T a, T b) -> bool {
  if constexpr (std::is_same_v<T, double>)
    if (std::isnan(b)) return !std::isnan(a);
  return a < b;
}
template <class T>
auto is_nan(T value) -> bool {
  if constexpr (std::is_same_v<T, double>)
    return std::isnan(value);
  else
    return false;
}

/// Positions of a row in sorted order; equal elements keep theirs.
template <class T>
auto sorted_positions(std::span<const T> row, bool descending) -> std::vector<std::int64_t> {
  std::vector<std::int64_t> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
    const T x = row[static_cast<std::size_t>(a)];
    const T y = row[static_cast<std::size_t>(b)];
    return descending ? less(y, x) : less(x, y);
  });
  return order;
}

/// Fills out(0) with values and out(1) with positions, row by row along `dim`. `pick` gives the
/// positions to keep of one row.
template <class Pick>
void pick_rows(KernelCall& k, int dim, const Pick& pick) {
  const auto& self = k.in(0);
  with_ordered_type(k, self.dtype(), [&]<class T>(T) {
    auto rows = load_rows<T>(self, mark_dim(dim, self.rank()));
    Rows<T> values{.values = {}, .outer = rows.outer, .inner = 0};
    Rows<std::int64_t> positions{.values = {}, .outer = rows.outer, .inner = 0};
    for (std::size_t i = 0; i < rows.outer; ++i) {
      const auto row = rows.inner ? rows.row(i) : std::span<T>();
      for (const auto p : pick(std::span<const T>(row))) {
        values.values.push_back(row[static_cast<std::size_t>(p)]);
        positions.values.push_back(p);
      }
    }
    // A reduced result without keepdim has no dimension to move: its rows are single elements.
    const bool same_rank = k.out(0).rank() == self.rank() && self.rank() > 0;
    const auto chosen =
        same_rank ? mark_dim(dim, self.rank()) : std::vector<bool>(k.out(0).sizes().size(), false);
    store_rows<T>(k.out(0), chosen, values);
    store_rows<std::int64_t>(k.out(1), chosen, positions);
  });
}

// ---- sort, topk ---------------------------------------------------------------------------------

/// Both results take self's strides if it is dense.
auto sort_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  c.dim_arg(param(c, "dim"), self.rank());
  const auto strides = preserved_strides(c, self);
  return {DatumList{c.fresh(self.dtype, self.sizes, strides),
                    c.fresh(DType::int64, self.sizes, strides)}};
}
void sort_kernel(KernelCall& k) {
  const bool descending = k.flag(param(k, "descending"));
  const bool is_unsigned = k.in(0).dtype() == DType::uint64;  // read as int64
  pick_rows(k, dim_of(k, param(k, "dim"), k.in(0).rank()), [&]<class T>(std::span<const T> row) {
    if (!is_unsigned) return sorted_positions<T>(row, descending);
    const std::vector<std::uint64_t> numbers(row.begin(), row.end());
    return sorted_positions<std::uint64_t>(numbers, descending);
  });
}
auto argsort(Composer& c) -> Datum {
  const auto stable =
      param(c, "stable") < 0 ? Datum{Expr::boolean(false)} : c.arg(param(c, "stable"));
  return c.item(c.call("aten.sort.stable",
                       {c.arg(0), stable, c.arg(param(c, "dim")), c.arg(param(c, "descending"))}),
                1);
}

auto topk_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  const auto dim = static_cast<std::size_t>(c.dim_arg(2, self.rank()));
  const auto count = c.expr(1);
  auto sizes = self.sizes;
  const auto size = sizes.empty() ? Expr(1) : sizes[dim];
  if (!c.require(logic_and(ge(count, 0), le(count, size)), "k is at most the dimension's size"))
    return {};
  if (!sizes.empty())
    sizes[dim] = count;
  else if (!c.require(eq(count, 1), "k is 1 for a tensor without dimensions"))
    return {};
  return {DatumList{c.fresh(self.dtype, sizes), c.fresh(DType::int64, sizes)}};
}
/// Equal elements come in the order that ATen's choice of algorithms for the CPU leaves them in:
/// partial sorting for few of many, else selection followed by a sort of what was selected.
template <class T>
auto top_positions(std::span<const T> row, std::size_t count, bool largest, bool sorted) -> Ints {
  Ints order(row.size());
  std::iota(order.begin(), order.end(), 0);
  const auto before = [&](std::int64_t a, std::int64_t b) {
    const T x = row[static_cast<std::size_t>(a)];
    const T y = row[static_cast<std::size_t>(b)];
    return largest ? less(y, x) : less(x, y);
  };
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(count);
  if (count > 0 && count * 64 <= row.size()) {
    std::partial_sort(order.begin(), end, order.end(), before);
  } else if (count > 0) {
    std::nth_element(order.begin(), end - 1, order.end(), before);
    if (sorted) std::sort(order.begin(), end - 1, before);
  }
  order.resize(count);
  return order;
}
void topk_kernel(KernelCall& k) {
  const auto count = static_cast<std::size_t>(k.integer(1));
  const bool is_cuda = on_cuda(k.in(0).meta);
  pick_rows(k, dim_of(k, 2, k.in(0).rank()), [&]<class T>(std::span<const T> row) {
    if (is_cuda) {  // Of equal ones the first (TensorTopK.cu); few of them in any order there.
      auto order = sorted_positions<T>(row, k.flag(3));
      order.resize(count);
      return order;
    }
    return top_positions<T>(row, count, k.flag(3), k.flag(4));
  });
}

// ---- order statistics ---------------------------------------------------------------------------

auto one_of_dim_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  const int dim = c.dim_arg(param(c, "dim"), self.rank());
  if (self.rank() > 0)
    if (!c.require(gt(self.sizes[static_cast<std::size_t>(dim)], 0), "the dimension is not empty"))
      return {};
  const auto sizes =
      reduced_sizes(self.sizes, mark_dim(dim, self.rank()), c.flag(param(c, "keepdim")));
  return {DatumList{c.fresh(self.dtype, sizes), c.fresh(DType::int64, sizes)}};
}

using One = std::vector<std::int64_t>;

/// Position of the k-th smallest element. Quickselect with a median-of-three pivot (Numerical
/// Recipes 8.5), the algorithm ATen uses: it decides which of several equal elements is reported.
template <class T>
auto selected_position(std::span<const T> row, std::int64_t k) -> std::int64_t {
  Ints order(row.size());
  std::iota(order.begin(), order.end(), 0);
  const auto value = [&](std::int64_t i) {
    return row[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])];
  };
  const auto exchange = [&](std::int64_t i, std::int64_t j) {
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(j)]);
  };
  const auto sort_pair = [&](std::int64_t i, std::int64_t j) {
    if (less(value(j), value(i))) exchange(i, j);
  };
  std::int64_t low = 0;
  auto high = static_cast<std::int64_t>(row.size()) - 1;
  while (high > low + 1) {
    exchange(low + (high - low) / 2, low + 1);
    sort_pair(low + 1, high);
    sort_pair(low, high);
    sort_pair(low + 1, low);
    const T pivot = value(low);
    auto i = low + 1;
    auto j = high;
    while (true) {
      while (less(value(++i), pivot)) {
      }
      while (less(pivot, value(--j))) {
      }
      if (j < i) break;
      exchange(i, j);
    }
    exchange(low, j);
    if (j <= k) low = i;
    if (j >= k) high = j - 1;
  }
  if (high == low + 1) sort_pair(low, high);
  return order[static_cast<std::size_t>(k)];
}
void kthvalue_kernel(KernelCall& k) {
  const auto at = k.integer(1) - 1;
  pick_rows(k, dim_of(k, 2, k.in(0).rank()), [&]<class T>(std::span<const T> row) -> One {
    if (at < 0 || at >= static_cast<std::int64_t>(row.size()))
      return k.fail("k is out of range for the dimension"), One(1, 0);
    return {selected_position<T>(row, at)};
  });
}

/// Position of the lower median; NaN wins unless it is ignored.
template <class T>
auto median_position(std::span<const T> row, bool ignore_nan) -> std::int64_t {
  const auto nans = static_cast<std::size_t>(std::ranges::count_if(row, is_nan<T>));
  if (nans > 0 && !ignore_nan) return std::ranges::find_if(row, is_nan<T>) - row.begin();
  const auto count = row.size() - nans;
  return sorted_positions<T>(row, false)[count == 0 ? 0 : (count - 1) / 2];
}
template <bool kIgnoreNan>
void median_dim_kernel(KernelCall& k) {
  pick_rows(k, dim_of(k, 1, k.in(0).rank()), [&]<class T>(std::span<const T> row) -> One {
    return {median_position<T>(row, kIgnoreNan)};
  });
}
auto median_rule(MetaCall& c) -> Datum {
  return c.fresh(c.meta(0).dtype, {});
}
/// Of no elements it is NaN, converted as x86 does: the least number where the dtype has 32 bits.
void store_nan(Tensor& out) {
  const auto dtype = out.dtype();
  if (is_floating(dtype)) return fill_elements(out, std::nan(""));
  const std::int64_t least = dtype == DType::int64   ? std::numeric_limits<std::int64_t>::min()
                             : dtype == DType::int32 ? std::numeric_limits<std::int32_t>::min()
                                                     : 0;
  from_vector<std::int64_t>(out, std::vector<std::int64_t>{least});
}
template <bool kIgnoreNan>
void median_kernel(KernelCall& k) {
  with_ordered_type(k, k.in(0).dtype(), [&]<class T>(T) {
    const auto row = to_vector<T>(k.in(0));
    if (row.empty()) return store_nan(k.out());
    const auto at = median_position<T>(row, kIgnoreNan);
    from_vector<T>(k.out(), std::vector<T>{row[static_cast<std::size_t>(at)]});
  });
}

/// The most frequent value, the smallest of those; the position of its last occurrence.
void mode_kernel(KernelCall& k) {
  pick_rows(k, dim_of(k, 1, k.in(0).rank()), [&]<class T>(std::span<const T> row) -> One {
    const auto order = sorted_positions<T>(row, false);
    std::size_t best = 0;
    std::size_t best_run = 0;
    std::size_t run = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto at = [&](std::size_t j) { return row[static_cast<std::size_t>(order[j])]; };
      run = i > 0 && at(i) == at(i - 1) ? run + 1 : 1;
      if (run > best_run) {
        best_run = run;
        best = i;
      }
    }
    return {order[best]};
  });
}

// ---- binary search ------------------------------------------------------------------------------

struct SearchArgs {
  int sorted, values;  ///< argument positions
};
auto search_args(const Call& c) -> SearchArgs {
  return c.row().name().starts_with("aten.bucketize") ? SearchArgs{1, 0} : SearchArgs{0, 1};
}

auto search_rule(MetaCall& c) -> Datum {
  const auto [sorted, values] = search_args(c);
  const auto dtype = c.flag(param(c, "out_int32")) ? DType::int32 : DType::int64;
  const auto& boundaries = c.meta(sorted);
  const bool many_rows = sorted == 0 && c.is_tensor(values);
  if (!c.require(boundaries.rank() == 1 || many_rows, "boundaries are a vector")) return {};
  const int sorter = param(c, "sorter");
  if (sorter >= 0 && c.has(sorter) &&
      !require_same_sizes(c, c.meta(sorter).sizes, boundaries.sizes,
                          "the sorter has the sequence's shape"))
    return {};
  if (!c.is_tensor(values)) return c.fresh(dtype, {});
  const auto& self = c.meta(values);
  if (boundaries.rank() != 1) {
    if (!c.require(boundaries.rank() == self.rank(), "both have the same leading dimensions"))
      return {};
    for (std::size_t d = 0; d + 1 < self.sizes.size(); ++d)
      if (!c.require(eq(boundaries.sizes[d], self.sizes[d]),
                     "both have the same leading dimensions"))
        return {};
  }
  return c.fresh(dtype, self.sizes);
}

template <class T>
auto search(std::span<const T> row, T value, bool right) -> std::int64_t {
  std::size_t low = 0;
  std::size_t high = row.size();
  while (low < high) {
    const auto middle = low + (high - low) / 2;
    const bool beyond = right ? row[middle] > value : row[middle] >= value;
    if (!beyond)
      low = middle + 1;
    else
      high = middle;
  }
  return static_cast<std::int64_t>(low);
}

void search_kernel(KernelCall& k) {
  const auto [sorted, values] = search_args(k);
  const auto& boundaries = k.in(sorted);
  const int side = param(k, "side");
  const bool right = k.flag(param(k, "right")) || (side >= 0 && k.text(side) == "right");
  const int sorter = param(k, "sorter");
  with_ordered_type(k, boundaries.dtype(), [&]<class T>(T) {
    auto rows = load_rows<T>(boundaries, mark_dim(boundaries.rank() - 1, boundaries.rank()));
    if (sorter >= 0 && k.has(sorter)) {
      const auto order = to_vector<std::int64_t>(k.in(sorter));
      const auto unsorted = rows.values;
      for (std::size_t i = 0; i < order.size(); ++i) {
        if (order[i] < 0 || order[i] >= static_cast<std::int64_t>(rows.inner)) {
          k.fail(fmt::format("sorter index {} is out of range", order[i]));
          return;
        }
        rows.values[i] = unsorted[i / rows.inner * rows.inner + static_cast<std::size_t>(order[i])];
      }
    }
    std::vector<T> wanted;
    if (k.is_tensor(values))
      wanted = to_vector<T>(k.in(values));
    else
      wanted = {static_cast<T>(k.real(values))};
    const auto per_row = rows.outer ? wanted.size() / rows.outer : 0;
    std::vector<std::int64_t> found(wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::span<const T> row = rows.inner ? rows.row(i / per_row) : std::span<T>();
      found[i] = search<T>(row, wanted[i], right);
    }
    from_vector<std::int64_t>(k.out(), found);
  });
}

// ---- membership, distinct elements, counts ------------------------------------------------------

auto isin_rule(MetaCall& c) -> Datum {
  return c.fresh(DType::boolean, c.meta(0).sizes);
}
void isin_kernel(KernelCall& k) {
  const bool real = is_floating(k.in(0).dtype()) || is_floating(k.in(1).dtype());
  with_ordered_type(k, real ? DType::float64 : DType::int64, [&]<class T>(T) {
    const auto elements = to_vector<T>(k.in(0));
    auto wanted = to_vector<T>(k.in(1));
    std::erase_if(wanted, is_nan<T>);
    std::ranges::sort(wanted);
    std::vector<std::int64_t> result(elements.size());
    for (std::size_t i = 0; i < elements.size(); ++i)
      result[i] =
          (!is_nan(elements[i]) && std::ranges::binary_search(wanted, elements[i])) != k.flag(3);
    from_vector<std::int64_t>(k.out(), result);
  });
}

/// Groups of equal items among n: for each item its group, and which item represents each group.
struct Groups {
  Ints of;
  std::vector<std::size_t> first;
  Ints counts;
};
/// `order` lists the items so that equal ones are neighbours.
template <class Same>
auto group_items(const std::vector<std::size_t>& order, const Same& same) -> Groups {
  Groups groups;
  groups.of.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || !same(order[i - 1], order[i])) {
      groups.first.push_back(order[i]);
      groups.counts.push_back(0);
    }
    groups.of[order[i]] = static_cast<std::int64_t>(groups.first.size()) - 1;
    ++groups.counts.back();
  }
  return groups;
}

/// Are slices compared, or elements? unique_consecutive takes a vector's dim 0 (not -1) as the
/// latter.
auto is_by_slice(const Call& c, int rank) -> bool {
  const int dim = param(c, "dim");
  if (dim < 0 || !c.has(dim)) return false;
  return c.row().name() == "aten.unique_dim.default" || rank != 1 || c.integer(dim) != 0;
}

/// Slices of `self` along the dim argument, or its elements, grouped.
auto distinct_items(KernelCall& k, bool consecutive) -> Groups {
  const auto& self = k.in(0);
  const bool by_slice = is_by_slice(k, self.rank());
  Groups groups;
  with_ordered_type(k, self.dtype(), [&]<class T>(T) {
    std::vector<bool> chosen(self.sizes().size(), true);
    if (by_slice && self.rank() > 0)
      chosen[static_cast<std::size_t>(dim_of(k, param(k, "dim"), self.rank()))] = false;
    else
      chosen.assign(chosen.size(), false);
    auto rows = load_rows<T>(self, chosen);
    const auto row = [&](std::size_t i) {
      return std::span<const T>(rows.values).subspan(i * rows.inner, rows.inner);
    };
    std::vector<std::size_t> order(rows.outer);
    std::iota(order.begin(), order.end(), 0);
    const auto before = [&](std::size_t a, std::size_t b) {
      return std::ranges::lexicographical_compare(row(a), row(b), less<T>);
    };
    if (!consecutive) std::ranges::stable_sort(order, before);
    groups = group_items(
        order, [&](std::size_t a, std::size_t b) { return std::ranges::equal(row(a), row(b)); });
  });
  return groups;
}
template <bool kConsecutive>
auto measure_distinct(KernelCall& k) -> Dims {
  return {static_cast<std::int64_t>(distinct_items(k, kConsecutive).first.size())};
}

/// Results: distinct items, where each came to lie, how often each occurs. The latter two are empty
/// if not asked for, unless slices are compared on the CPU. There slices are stacked row-major
/// along their dimension and moved back to it (Unique.cpp); CUDA selects them by index, row-major.
auto unique_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  const int dim = param(c, "dim");
  const bool by_slice = is_by_slice(c, self.rank());
  const auto count = c.context().data_dependent_size();
  const bool always = by_slice && !on_cuda(self);
  const bool inverse = always || c.flag(param(c, "return_inverse"));
  const bool counts = always || c.flag(param(c, "return_counts"));
  Dims sizes{count};
  Dims strides{1};
  Dims inverse_sizes = self.sizes;
  if (by_slice) {
    const auto d = c.dim_arg(dim, self.rank());
    inverse_sizes = {self.rank() > 0 ? self.sizes[static_cast<std::size_t>(d)] : Expr(1)};
    if (self.rank() > 0) {
      sizes = self.sizes;
      sizes.erase(sizes.begin() + d);
      sizes.insert(sizes.begin(), count);
      strides = contiguous_strides(sizes);
      for (auto* dims : {&sizes, &strides})
        std::rotate(dims->begin(), dims->begin() + 1, dims->begin() + d + 1);
      if (on_cuda(self)) strides = contiguous_strides(sizes);
    }
  }
  return {DatumList{c.fresh(self.dtype, std::move(sizes), std::move(strides)),
                    c.fresh(DType::int64, inverse ? inverse_sizes : Dims{0}),
                    c.fresh(DType::int64, {counts ? count : Expr(0)})}};
}
template <bool kConsecutive>
void unique_kernel(KernelCall& k) {
  const auto& self = k.in(0);
  const auto groups = distinct_items(k, kConsecutive);
  if (k.error()) return;
  const int dim = param(k, "dim");
  Ints from;
  auto& out = k.out(0);
  if (is_by_slice(k, self.rank()) && self.rank() > 0) {
    const auto d = static_cast<std::size_t>(dim_of(k, dim, self.rank()));
    auto strides = self.strides();
    const auto stride = std::exchange(strides[d], 0);
    from = element_offsets(out.sizes(), strides, self.meta.offset);
    const auto inner = static_cast<std::size_t>(numel(std::span(out.sizes()).subspan(d + 1)));
    for (std::size_t i = 0; i < from.size(); ++i)
      from[i] += stride * static_cast<std::int64_t>(groups.first[i / inner % groups.first.size()]);
  } else {
    const auto all = element_offsets(self);
    for (const auto i : groups.first) from.push_back(all[i]);
  }
  move_elements(self, from, out, element_offsets(out));
  if (k.out(1).numel() == static_cast<std::int64_t>(groups.of.size()))
    from_vector<std::int64_t>(k.out(1), groups.of);
  if (k.out(2).numel() > 0) from_vector<std::int64_t>(k.out(2), groups.counts);
}

auto measure_bincount(KernelCall& k) -> Dims {
  const auto values = to_vector<std::int64_t>(k.in(0));
  const auto largest = values.empty() ? -1 : std::ranges::max(values);
  if (!values.empty() && std::ranges::min(values) < 0) k.fail("negative values cannot be counted");
  return {std::max(largest + 1, k.integer(2))};
}
auto bincount_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  if (!c.require(self.rank() == 1 && is_integer(self.dtype), "the input is a vector of integers") ||
      !require_count(c, 1, numel(self), "one weight per element"))
    return {};
  DType dtype = DType::int64;
  // Without elements there are zeros, whatever the weights.
  if (c.has(1) && !c.decide(eq(numel(self), 0), "nothing to count"))
    dtype = c.meta(1).dtype == DType::float32 ? DType::float32 : DType::float64;
  return c.fresh(dtype, {c.context().data_dependent_size()});
}
void bincount_kernel(KernelCall& k) {
  std::vector<double> sums(static_cast<std::size_t>(k.out().numel()), 0);
  const auto values = to_vector<std::int64_t>(k.in(0));
  const auto weights =
      k.has(1) ? to_vector<double>(k.in(1)) : std::vector<double>(values.size(), 1);
  for (std::size_t i = 0; i < values.size(); ++i)
    sums[static_cast<std::size_t>(values[i])] += weights[i];
  from_vector<double>(k.out(), sums);
}

/// repeat_interleave.Tensor: position i, repeats[i] times.
auto measure_repeats(KernelCall& k) -> Dims {
  const auto repeats = to_vector<std::int64_t>(k.in(0));
  return {std::accumulate(repeats.begin(), repeats.end(), std::int64_t{0})};
}
auto repeat_positions_rule(MetaCall& c) -> Datum {
  // An empty list of repeats is answered before output_size is looked at.
  if (c.decide(eq(numel(c.meta(0)), 0), "no repeats")) return c.fresh(c.meta(0).dtype, {0});
  const auto total = c.context().data_dependent_size();
  return c.fresh(c.meta(0).dtype, {c.has(1) ? c.expr(1) : total});
}
void repeat_positions_kernel(KernelCall& k) {
  Ints positions;
  const auto repeats = to_vector<std::int64_t>(k.in(0));
  for (std::size_t i = 0; i < repeats.size(); ++i)
    positions.insert(positions.end(),
                     static_cast<std::size_t>(std::max<std::int64_t>(repeats[i], 0)),
                     static_cast<std::int64_t>(i));
  if (static_cast<std::int64_t>(positions.size()) != k.out().numel())
    k.fail("output_size is the sum of repeats");
  else
    from_vector<std::int64_t>(k.out(), positions);
}

/// _unique is _unique2 without the counts.
auto unique_uncounted(Composer& c) -> Datum {
  const auto all = c.call("aten._unique2.default", {c.arg(0), c.arg(1), c.arg(2)});
  if (c.error()) return {};
  return {DatumList{c.item(all, 0), c.item(all, 1)}};
}

}  // namespace

// clang-format off
void add_sort_rows(OpTable& t) {
  t.add({.schema_text = "aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", .rule = sort_rule, .kernel = sort_kernel});
  t.add({.schema_text = "aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", .rule = sort_rule, .kernel = sort_kernel});
  t.add({.schema_text = "aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor", .decomposition = argsort});
  t.add({.schema_text = "aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor", .decomposition = argsort});
  t.add({.schema_text = "aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)", .rule = topk_rule, .kernel = topk_kernel});
  t.add({.schema_text = "aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)", .rule = one_of_dim_rule, .kernel = kthvalue_kernel});
  t.add({.schema_text = "aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", .rule = one_of_dim_rule, .kernel = median_dim_kernel<false>});
  t.add({.schema_text = "aten::nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", .rule = one_of_dim_rule, .kernel = median_dim_kernel<true>});
  t.add({.schema_text = "aten::median(Tensor self) -> Tensor", .rule = median_rule, .kernel = median_kernel<false>});
  t.add({.schema_text = "aten::nanmedian(Tensor self) -> Tensor", .rule = median_rule, .kernel = median_kernel<true>});
  t.add({.schema_text = "aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)", .rule = one_of_dim_rule, .kernel = mode_kernel});
  t.add({.schema_text = "aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor", .rule = search_rule, .kernel = search_kernel});
  t.add({.schema_text = "aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor", .rule = search_rule, .kernel = search_kernel});
  t.add({.schema_text = "aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor", .rule = search_rule, .kernel = search_kernel});
  t.add({.schema_text = "aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor", .rule = search_rule, .kernel = search_kernel});
  t.add({.schema_text = "aten::isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor", .rule = isin_rule, .kernel = isin_kernel});
  t.add({.schema_text = "aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)", .rule = unique_rule, .kernel = unique_kernel<false>, .measure = measure_distinct<false>});
  t.add({.schema_text = "aten::_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)", .decomposition = unique_uncounted});
  t.add({.schema_text = "aten::unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)", .rule = unique_rule, .kernel = unique_kernel<true>, .measure = measure_distinct<true>});
  t.add({.schema_text = "aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)", .rule = unique_rule, .kernel = unique_kernel<false>, .measure = measure_distinct<false>});
  t.add({.schema_text = "aten::unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)", .rule = unique_rule, .kernel = unique_kernel<true>, .measure = measure_distinct<true>});
  t.add({.schema_text = "aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor", .rule = bincount_rule, .kernel = bincount_kernel, .measure = measure_bincount});
  t.add({.schema_text = "aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor", .rule = repeat_positions_rule, .kernel = repeat_positions_kernel, .measure = measure_repeats});
}
// clang-format on

}  // namespace assay
