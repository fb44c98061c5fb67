// Reductions and scans. Results are contiguous in the reduced shape whatever the input's layout
// (aten/src/ATen/native/ReduceOpsUtils.h).
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/ops/layout.h"
#include "core/ops/op_table.h"
#include "core/ops/pointwise.h"
#include "core/ops/reduce.h"

namespace assay {
namespace {

using Int = std::int64_t;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

auto is_whole(DType dtype) -> bool {
  return is_integer(dtype) || dtype == DType::boolean;
}

// Result dtypes.
using DTypeRule = DType (*)(DType);
auto same_dtype(DType dtype) -> DType {
  return dtype;
}
auto sum_dtype(DType dtype) -> DType {
  return is_whole(dtype) ? DType::int64 : dtype;
}
auto bool_dtype(DType dtype) -> DType {
  return dtype == DType::uint8 ? dtype : DType::boolean;
}
auto int64_dtype(DType) -> DType {
  return DType::int64;
}
auto real_dtype(DType dtype) -> DType {
  return real_of(dtype);
}
auto float_dtype(DType dtype) -> DType {
  return is_whole(dtype) ? kDefaultFloat : dtype;
}

auto param(const Call& c, std::string_view name) -> int {
  return c.row().schema.index_of(name);
}

/// Shape of a reduction: `dim` and `keepdim` by name, absent ones mean all and no.
auto reduction_sizes(MetaCall& c) -> Dims {
  const auto& self = c.meta(0);
  const int dim = param(c, "dim");
  const int keep = param(c, "keepdim");
  const auto reduced =
      dim < 0 ? std::vector<bool>(self.sizes.size(), true) : reduced_dims(c, dim, self.rank());
  return reduced_sizes(self.sizes, reduced, keep >= 0 && c.flag(keep));
}

template <DTypeRule kDType>
auto reduction_rule(MetaCall& c) -> Datum {
  const int dtype = param(c, "dtype");
  const auto explicit_dtype = dtype < 0 ? std::nullopt : c.dtype(dtype);
  auto result = explicit_dtype.value_or(kDType(c.meta(0).dtype));
  if constexpr (kDType == real_dtype) result = real_of(result);  // the norm in a complex dtype
  return c.fresh(result, reduction_sizes(c));
}

/// mean refuses integers unless a dtype is given.
auto mean_rule(MetaCall& c) -> Datum {
  const int dtype = param(c, "dtype");
  if (!c.require(!is_whole(c.dtype(dtype).value_or(c.meta(0).dtype)),
                 "mean needs a floating point or complex dtype"))
    return {};
  return reduction_rule<same_dtype>(c);
}

auto dims_of(KernelCall& k) -> std::vector<bool> {
  return chosen_dims(k, param(k, "dim"), k.in(0).rank());
}

/// Reduction in the number type of `dtype`; F maps a row to a number of that type.
template <class F>
void reduce_in(KernelCall& k, DType dtype, const F& f) {
  with_compute_type(dtype, [&]<class T>(T) {
    if constexpr (std::is_invocable_v<const F&, std::span<T>>) {
      using R = std::invoke_result_t<const F&, std::span<T>>;
      using Stored = std::conditional_t<std::is_same_v<R, bool>, Int, R>;
      reduce_rows<T, Stored>(k.in(0), k.out(), dims_of(k),
                             [&](std::span<T> row) -> Stored { return f(row); });
    } else {
      k.unsupported(fmt::format("dtype {} is not supported", name(dtype)));
    }
  });
}

struct SumOf {
  template <class T>
  auto operator()(std::span<T> row) const -> T {
    T total(0);
    for (const auto& x : row) total += x;
    return total;
  }
};
struct NansumOf {
  template <class T>
  auto operator()(std::span<T> row) const -> T {
    T total(0);
    for (const auto& x : row)
      if (x == x) total += x;
    return total;
  }
};
struct ProductOf {
  template <class T>
  auto operator()(std::span<T> row) const -> T {
    T total(1);
    for (const auto& x : row) total *= x;
    return total;
  }
};
struct MeanOf {
  auto operator()(std::span<double> row) const -> double {
    return SumOf()(row) / static_cast<double>(row.size());
  }
  auto operator()(std::span<Complex> row) const -> Complex {
    return SumOf()(row) / static_cast<double>(row.size());
  }
};
struct AnyOf {
  template <class T>
  auto operator()(std::span<T> row) const -> bool {
    return std::ranges::any_of(row, [](const T& x) { return x != T(0); });
  }
};
struct AllOf {
  template <class T>
  auto operator()(std::span<T> row) const -> bool {
    return std::ranges::all_of(row, [](const T& x) { return x != T(0); });
  }
};
struct CountOf {
  template <class T>
  auto operator()(std::span<T> row) const -> Int {
    return std::ranges::count_if(row, [](const T& x) { return x != T(0); });
  }
};

/// Position of the largest (or smallest) element; the first of equals; NaN beats everything.
template <bool kMax, class T>
auto extreme_position(std::span<T> row) -> std::size_t {
  std::size_t best = 0;
  for (std::size_t i = 1; i < row.size() && row[best] == row[best]; ++i)
    if (row[i] != row[i] || (kMax ? row[i] > row[best] : row[i] < row[best])) best = i;
  return best;
}
template <bool kMax>
struct ExtremeOf {
  auto operator()(std::span<double> row) const -> double {
    return row[extreme_position<kMax>(row)];
  }
  auto operator()(std::span<Int> row) const -> Int { return row[extreme_position<kMax>(row)]; }
};
template <bool kMax>
struct ExtremePositionOf {
  auto operator()(std::span<double> row) const -> Int {
    return static_cast<Int>(extreme_position<kMax>(row));
  }
  auto operator()(std::span<Int> row) const -> Int {
    return static_cast<Int>(extreme_position<kMax>(row));
  }
};
struct LogsumexpOf {
  auto operator()(std::span<double> row) const -> double {
    if (row.empty()) return -kInf;
    const double top = ExtremeOf<true>()(row);
    const double shift = std::isinf(top) ? 0 : top;
    double total = 0;
    for (const double x : row) total += std::exp(x - shift);
    return std::log(total) + shift;
  }
  /// Shifted by the largest real part.
  auto operator()(std::span<Complex> row) const -> Complex {
    if (row.empty()) return -kInf;
    double shift = -kInf;
    for (const auto& x : row)
      if (!(x.real() <= shift)) shift = x.real();
    if (std::isinf(shift)) shift = 0;
    Complex total = 0;
    for (const auto& x : row) total += std::exp(x - shift);
    return std::log(total) + shift;
  }
};

struct Moments {
  Complex mean;
  double squares = 0;  ///< sum of squared distances from the mean
};
template <class T>
auto moments(std::span<T> row) -> Moments {
  const auto mean = row.empty() ? T(kNan) : SumOf()(row) / static_cast<double>(row.size());
  double squares = 0;
  for (const auto& x : row) squares += std::norm(x - mean);
  return {mean, squares};
}
/// Variance with `correction` (1 if None): squares / max(0, n - correction).
auto variance(double squares, std::size_t count, double correction) -> double {
  return squares / std::max(0.0, static_cast<double>(count) - correction);
}
auto correction_of(KernelCall& k) -> double {
  const int i = param(k, "correction");
  return k.has(i) ? k.real(i) : 1.0;
}
template <bool kRoot>
struct SpreadOf {
  explicit SpreadOf(KernelCall& k) : correction(correction_of(k)) {}
  double correction;
  template <class T>
    requires(!std::is_same_v<T, Int>)
  auto operator()(std::span<T> row) const -> double {
    const double value = variance(moments(row).squares, row.size(), correction);
    return kRoot ? std::sqrt(value) : value;
  }
};

/// linalg_vector_norm of order p.
struct NormOf {
  explicit NormOf(KernelCall& k) : order(k.real(1)) {}
  double order;
  template <class T>
    requires(!std::is_same_v<T, Int>)
  auto operator()(std::span<T> row) const -> double {
    double total = order == -kInf ? kInf : 0;
    for (const auto& x : row) {
      const double size = std::abs(x);
      if (order == kInf)
        total = size > total || size != size ? size : total;
      else if (order == -kInf)
        total = size < total || size != size ? size : total;
      else if (order == 0)
        total += size != 0;
      else if (order == 2)
        total += size * size;
      else
        total += std::pow(size, order);
    }
    if (order == 2) return std::sqrt(total);
    return std::isinf(order) || order == 0 ? total : std::pow(total, 1 / order);
  }
};

template <class F>
void input_kernel(KernelCall& k) {  // computes in the input's dtype
  if constexpr (std::is_constructible_v<F, KernelCall&>)
    reduce_in(k, k.in(0).dtype(), F(k));
  else
    reduce_in(k, k.in(0).dtype(), F{});
}
template <class F>
void output_kernel(KernelCall& k) {  // computes in the result's dtype (sum of bools is an int)
  reduce_in(k, k.out().dtype(), F{});
}

/// An empty row has no maximum.
auto extreme_rule_checks(MetaCall& c) -> bool {
  const auto& self = c.meta(0);
  const int dim = param(c, "dim");
  const auto reduced =
      dim < 0 ? std::vector<bool>(self.sizes.size(), true) : reduced_dims(c, dim, self.rank());
  for (std::size_t i = 0; i < reduced.size(); ++i)
    if (reduced[i] && !c.require(ne(self.sizes[i], 0), "the reduced dimension is not empty"))
      return false;
  return !c.error();
}
template <DTypeRule kDType>
auto extreme_rule(MetaCall& c) -> Datum {
  return extreme_rule_checks(c) ? reduction_rule<kDType>(c) : Datum{};
}

/// max.dim and min.dim: values and positions.
auto extreme_pair_rule(MetaCall& c) -> Datum {
  if (!extreme_rule_checks(c)) return {};
  return {DatumList{reduction_rule<same_dtype>(c), reduction_rule<int64_dtype>(c)}};
}
template <bool kMax>
void extreme_pair_kernel(KernelCall& k) {
  const auto compute = [&]<class T>(T) {
    reduce_rows<T, T>(k.in(0), k.out(0), dims_of(k), ExtremeOf<kMax>());
    reduce_rows<T, Int>(k.in(0), k.out(1), dims_of(k), ExtremePositionOf<kMax>());
  };
  if (is_floating(k.in(0).dtype()))
    compute(double{});
  else
    compute(Int{});
}
auto aminmax_rule(MetaCall& c) -> Datum {
  if (!extreme_rule_checks(c)) return {};
  return {DatumList{reduction_rule<same_dtype>(c), reduction_rule<same_dtype>(c)}};
}
void aminmax_kernel(KernelCall& k) {
  const auto compute = [&]<class T>(T) {
    reduce_rows<T, T>(k.in(0), k.out(0), dims_of(k), ExtremeOf<false>());
    reduce_rows<T, T>(k.in(0), k.out(1), dims_of(k), ExtremeOf<true>());
  };
  if (is_floating(k.in(0).dtype()))
    compute(double{});
  else
    compute(Int{});
}

template <bool kRoot>
auto spread_mean_rule(MetaCall& c) -> Datum {
  if (!c.require(!is_whole(c.meta(0).dtype), "a floating point or complex dtype is needed"))
    return {};
  return {DatumList{reduction_rule<real_dtype>(c), reduction_rule<same_dtype>(c)}};
}
template <bool kRoot>
void spread_mean_kernel(KernelCall& k) {
  const SpreadOf<kRoot> spread(k);
  with_compute_type(k.in(0).dtype(), [&]<class T>(T) {
    if constexpr (!std::is_same_v<T, Int>) {
      reduce_rows<T, double>(k.in(0), k.out(0), dims_of(k), spread);
      reduce_rows<T, T>(k.in(0), k.out(1), dims_of(k), MeanOf());
    }
  });
}

// Scans along one dimension: result contiguous in self's shape.
auto scan_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  c.dim_arg(1, self.rank());
  const int dtype = param(c, "dtype");
  return c.fresh(c.dtype(dtype).value_or(sum_dtype(self.dtype)), self.sizes);
}
template <class Step>
void scan_kernel(KernelCall& k) {
  const auto dims = mark_dim(static_cast<int>(k.integer(1)), k.in(0).rank());
  with_compute_type(k.out().dtype(), [&]<class T>(T) {
    auto rows = load_rows<T>(k.in(0), dims);
    for (std::size_t i = 0; i < rows.outer && rows.inner; ++i) {
      auto row = rows.row(i);
      for (std::size_t j = 1; j < row.size(); ++j) row[j] = Step()(row[j - 1], row[j]);
    }
    store_rows(k.out(), dims, rows);
  });
}
/// cummax and cummin: a later equal element wins, NaN beats everything before it.
auto extreme_scan_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  c.dim_arg(1, self.rank());
  return {DatumList{c.fresh(self.dtype, self.sizes), c.fresh(DType::int64, self.sizes)}};
}
template <bool kMax>
void extreme_scan_kernel(KernelCall& k) {
  const auto dims = mark_dim(static_cast<int>(k.integer(1)), k.in(0).rank());
  const auto scan = [&]<class T>(T) {
    auto rows = load_rows<T>(k.in(0), dims);
    Rows<Int> positions{std::vector<Int>(rows.values.size()), rows.outer, rows.inner};
    for (std::size_t i = 0; i < rows.outer && rows.inner; ++i) {
      auto row = rows.row(i);
      auto at = positions.row(i);
      for (std::size_t j = 1; j < row.size(); ++j) {
        const bool wins =
            row[j] != row[j] ||
            (row[j - 1] == row[j - 1] && (kMax ? row[j] >= row[j - 1] : row[j] <= row[j - 1]));
        at[j] = wins ? static_cast<Int>(j) : at[j - 1];
        if (!wins) row[j] = row[j - 1];
      }
    }
    store_rows(k.out(0), dims, rows);
    store_rows(k.out(1), dims, positions);
  };
  if (is_floating(k.in(0).dtype()))
    scan(double{});
  else
    scan(Int{});
}
struct LogAddStep {
  auto operator()(double a, double b) const -> double {
    const double top = std::fmax(a, b);
    if (std::isnan(a) || std::isnan(b)) return kNan;
    return std::isinf(top) ? top : top + std::log1p(std::exp(std::fmin(a, b) - top));
  }
  auto operator()(const Complex& a, const Complex& b) const -> Complex {
    if (std::isnan(std::abs(a)) || std::isnan(std::abs(b))) return {kNan, kNan};
    const auto& top = a.real() < b.real() ? b : a;
    const auto& other = a.real() < b.real() ? a : b;
    return std::isinf(top.real()) ? top : top + std::log(1.0 + std::exp(other - top));
  }
};
void log_scan_kernel(KernelCall& k) {
  const auto dims = mark_dim(static_cast<int>(k.integer(1)), k.in(0).rank());
  const auto scan = [&]<class T>(T) {
    auto rows = load_rows<T>(k.in(0), dims);
    for (std::size_t i = 0; i < rows.outer && rows.inner; ++i) {
      auto row = rows.row(i);
      for (std::size_t j = 1; j < row.size(); ++j) row[j] = LogAddStep()(row[j - 1], row[j]);
    }
    store_rows(k.out(), dims, rows);
  };
  if (is_complex(k.in(0).dtype())) return scan(Complex{});
  if (is_floating(k.in(0).dtype())) return scan(double{});
  k.unsupported(fmt::format("dtype {} is not supported", name(k.in(0).dtype())));
}
auto log_scan_rule(MetaCall& c) -> Datum {
  c.dim_arg(1, c.meta(0).rank());
  return c.fresh(c.meta(0).dtype, c.meta(0).sizes);
}

/// histc: elements per bin of equal width between min and max, or between the data's ends if those
/// agree; the last bin holds its upper edge (HistogramKernel.cpp).
auto histc_rule(MetaCall& c) -> Datum {
  if (!c.require(gt(c.expr(1), 0), "there is a bin") ||
      !c.require(c.real(2) <= c.real(3), "min is not above max"))
    return {};
  return c.fresh(c.meta(0).dtype, {c.expr(1)});
}
void histc_kernel(KernelCall& k) {
  const auto values = to_vector<double>(k.in(0));
  double low = k.real(2);
  double high = k.real(3);
  if (low == high && !values.empty()) {
    low = std::ranges::min(values);
    high = std::ranges::max(values);
  }
  if (low == high) {
    low -= 1;
    high += 1;
  }
  if (!std::isfinite(low) || !std::isfinite(high)) {
    k.fail(fmt::format("the range [{}, {}] is not finite", low, high));
    return;
  }
  const auto bins = k.integer(1);
  const auto rounded = [&](double value) { return round_to(k.out().dtype(), value); };
  std::vector<double> counts(static_cast<std::size_t>(bins), 0);
  for (const double value : values) {
    if (!(value >= low && value <= high)) continue;
    const double scaled = rounded(rounded(value - low) * static_cast<double>(bins));
    const auto bin = static_cast<Int>(rounded(scaled / rounded(high - low)));
    counts[static_cast<std::size_t>(std::min(bin, bins - 1))] += 1;
  }
  from_vector<double>(k.out(), counts);
}

/// trace is the sum of the diagonal.
auto trace(Composer& c) -> Datum {
  if (c.meta(0).rank() != 2) return c.fail("trace takes a matrix"), Datum{};
  return c.call("aten.sum.default", {c.call("aten.diagonal.default", {c.arg(0)})});
}
/// norm is linalg_vector_norm of order 2 unless p is given.
auto norm(Composer& c) -> Datum {
  const Datum order = c.has(1) ? c.arg(1) : Datum{Expr(2)};
  if (c.args().size() == 2) return c.call("aten.linalg_vector_norm.default", {c.arg(0), order});
  return c.call("aten.linalg_vector_norm.default", {c.arg(0), order, c.arg(2), c.arg(3)});
}

struct PlusStep {
  template <class T>
  auto operator()(T a, T b) const -> T {
    return a + b;
  }
};
struct TimesStep {
  template <class T>
  auto operator()(T a, T b) const -> T {
    return a * b;
  }
};

}  // namespace

// clang-format off
void add_reduction_rows(OpTable& t) {
  t.add({.schema_text = "aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", .rule = reduction_rule<sum_dtype>, .kernel = output_kernel<SumOf>});
  t.add({.schema_text = "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", .rule = reduction_rule<sum_dtype>, .kernel = output_kernel<SumOf>});
  t.add({.schema_text = "aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", .rule = reduction_rule<sum_dtype>, .kernel = output_kernel<NansumOf>});
  t.add({.schema_text = "aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", .rule = reduction_rule<sum_dtype>, .kernel = output_kernel<ProductOf>});
  t.add({.schema_text = "aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", .rule = reduction_rule<sum_dtype>, .kernel = output_kernel<ProductOf>});
  t.add({.schema_text = "aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", .rule = mean_rule, .kernel = output_kernel<MeanOf>});
  t.add({.schema_text = "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", .rule = mean_rule, .kernel = output_kernel<MeanOf>});
  t.add({.schema_text = "aten::any(Tensor self) -> Tensor", .rule = reduction_rule<bool_dtype>, .kernel = input_kernel<AnyOf>});
  t.add({.schema_text = "aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", .rule = reduction_rule<bool_dtype>, .kernel = input_kernel<AnyOf>});
  t.add({.schema_text = "aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", .rule = reduction_rule<bool_dtype>, .kernel = input_kernel<AnyOf>});
  t.add({.schema_text = "aten::all(Tensor self) -> Tensor", .rule = reduction_rule<bool_dtype>, .kernel = input_kernel<AllOf>});
  t.add({.schema_text = "aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", .rule = reduction_rule<bool_dtype>, .kernel = input_kernel<AllOf>});
  t.add({.schema_text = "aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", .rule = reduction_rule<bool_dtype>, .kernel = input_kernel<AllOf>});
  t.add({.schema_text = "aten::count_nonzero(Tensor self, int? dim=None) -> Tensor", .rule = reduction_rule<int64_dtype>, .kernel = input_kernel<CountOf>});
  t.add({.schema_text = "aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor", .rule = reduction_rule<int64_dtype>, .kernel = input_kernel<CountOf>});
  t.add({.schema_text = "aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", .rule = extreme_rule<same_dtype>, .kernel = input_kernel<ExtremeOf<true>>});
  t.add({.schema_text = "aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", .rule = extreme_rule<same_dtype>, .kernel = input_kernel<ExtremeOf<false>>});
  t.add({.schema_text = "aten::max(Tensor self) -> Tensor", .rule = extreme_rule<same_dtype>, .kernel = input_kernel<ExtremeOf<true>>});
  t.add({.schema_text = "aten::min(Tensor self) -> Tensor", .rule = extreme_rule<same_dtype>, .kernel = input_kernel<ExtremeOf<false>>});
  t.add({.schema_text = "aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", .rule = extreme_rule<int64_dtype>, .kernel = input_kernel<ExtremePositionOf<true>>});
  t.add({.schema_text = "aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", .rule = extreme_rule<int64_dtype>, .kernel = input_kernel<ExtremePositionOf<false>>});
  t.add({.schema_text = "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", .rule = extreme_pair_rule, .kernel = extreme_pair_kernel<true>});
  t.add({.schema_text = "aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", .rule = extreme_pair_rule, .kernel = extreme_pair_kernel<false>});
  t.add({.schema_text = "aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)", .rule = aminmax_rule, .kernel = aminmax_kernel});
  t.add({.schema_text = "aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", .rule = reduction_rule<float_dtype>, .kernel = output_kernel<LogsumexpOf>});
  t.add({.schema_text = "aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", .rule = reduction_rule<real_dtype>, .kernel = input_kernel<NormOf>});
  t.add({.schema_text = "aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor", .rule = reduction_rule<real_dtype>, .kernel = input_kernel<SpreadOf<false>>});
  t.add({.schema_text = "aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor", .rule = reduction_rule<real_dtype>, .kernel = input_kernel<SpreadOf<true>>});
  t.add({.schema_text = "aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)", .rule = spread_mean_rule<false>, .kernel = spread_mean_kernel<false>});
  t.add({.schema_text = "aten::std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)", .rule = spread_mean_rule<true>, .kernel = spread_mean_kernel<true>});
  t.add({.schema_text = "aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)", .rule = extreme_scan_rule, .kernel = extreme_scan_kernel<true>});
  t.add({.schema_text = "aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)", .rule = extreme_scan_rule, .kernel = extreme_scan_kernel<false>});
  t.add({.schema_text = "aten::logcumsumexp(Tensor self, int dim) -> Tensor", .rule = log_scan_rule, .kernel = log_scan_kernel});
  t.add({.schema_text = "aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor", .rule = histc_rule, .kernel = histc_kernel});
  t.add({.schema_text = "aten::trace(Tensor self) -> Tensor", .decomposition = trace});
  t.add({.schema_text = "aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor", .decomposition = norm});
  t.add({.schema_text = "aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor", .decomposition = norm});
  t.add({.schema_text = "aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", .rule = scan_rule, .kernel = scan_kernel<PlusStep>});
  t.add({.schema_text = "aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", .rule = scan_rule, .kernel = scan_kernel<TimesStep>});
}
// clang-format on

}  // namespace assay
