// Layer, group, RMS and weight normalisation. Rules: aten/src/ATen/native/layer_norm.cpp,
// group_norm.cpp, WeightNorm.cpp.
#include <cmath>
#include <limits>

#include "core/ops/norm.h"
#include "core/ops/reduce.h"

namespace assay {
namespace {

// ---- layer norm ---------------------------------------------------------------------------------

/// Sizes of mean and rstd: the leading dims, then ones. Fails if the shapes do not fit.
auto statistics_sizes(MetaCall& c, const TensorMeta& input, const Dims& normalized) -> Dims {
  if (!c.require(!normalized.empty() && normalized.size() <= input.sizes.size(),
                 "normalized_shape has at least one and at most the input's dimensions"))
    return {};
  const auto lead = input.sizes.size() - normalized.size();
  for (std::size_t i = 0; i < normalized.size(); ++i)
    if (!c.require(eq(input.sizes[lead + i], normalized[i]), "the input ends in normalized_shape"))
      return {};
  Dims sizes(input.sizes.begin(), input.sizes.begin() + static_cast<std::ptrdiff_t>(lead));
  sizes.resize(input.sizes.size(), Expr(1));
  return sizes;
}

auto layer_norm_rule(MetaCall& c) -> Datum {
  const auto& input = c.meta(0);
  const auto normalized = c.exprs(1);
  const auto statistics = statistics_sizes(c, input, normalized);
  const auto width = product(normalized);
  if (c.error() || !require_count(c, 2, width, "one weight per normalized element") ||
      !require_count(c, 3, width, "one bias per normalized element"))
    return {};
  const auto dtype = accumulated_dtype(c, statistics_dtype(c, {2, 3}));
  return {DatumList{c.fresh(input.dtype, input.sizes), c.fresh(dtype, statistics),
                    c.fresh(dtype, statistics)}};
}

struct Extent {
  std::size_t rows, width;
};
auto layer_extent(const Tensor& input, std::size_t normalized) -> Extent {
  const auto lead = input.sizes().size() - normalized;
  return {static_cast<std::size_t>(numel(std::span(input.sizes()).first(lead))),
          static_cast<std::size_t>(numel(std::span(input.sizes()).subspan(lead)))};
}

void layer_norm_kernel(KernelCall& k) {
  const auto [rows, width] = layer_extent(k.in(0), k.integers(1).size());
  auto x = to_vector<double>(k.in(0));
  const auto weight = values_or(k, 2, width, 1);
  const auto bias = values_or(k, 3, width, 0);
  std::vector<double> mean(rows);
  std::vector<double> rstd(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto row = std::span(x).subspan(i * width, width);
    const auto m = moments_of(row, width);
    mean[i] = m.mean;
    rstd[i] = 1 / std::sqrt(m.variance + k.real(4));
    for (std::size_t j = 0; j < width; ++j)
      row[j] = (row[j] - mean[i]) * rstd[i] * weight[j] + bias[j];
  }
  from_vector<double>(k.out(0), x);
  from_vector<double>(k.out(1), mean);
  from_vector<double>(k.out(2), rstd);
}

auto layer_norm(Composer& c) -> Datum {
  return c.item(
      c.call("aten.native_layer_norm.default", {c.arg(0), c.arg(1), c.arg(2), c.arg(3), c.arg(4)}),
      0);
}

/// grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask.
auto layer_norm_backward_rule(MetaCall& c) -> Datum {
  const auto& input = c.meta(1);
  const auto normalized = c.exprs(2);
  const auto rows = product(statistics_sizes(c, input, normalized));
  if (c.error() ||
      !require_same_sizes(c, c.meta(0).sizes, input.sizes, "one gradient per element") ||
      !require_count(c, 3, rows, "one mean per row") ||
      !require_count(c, 4, rows, "one rstd per row") ||
      !require_count(c, 5, product(normalized), "one weight per normalized element") ||
      !require_count(c, 6, product(normalized), "one bias per normalized element"))
    return {};
  const auto parameter = [&](int arg) {
    return c.has(arg) ? c.fresh(c.meta(arg).dtype, c.meta(arg).sizes)
                      : c.fresh(input.dtype, normalized);
  };
  auto mask = output_mask(c, 7);
  mask[1] = mask[1] && c.has(5);
  mask[2] = mask[2] && c.has(6);
  return masked_results(mask, {c.fresh(input.dtype, input.sizes), parameter(5), parameter(6)});
}
void layer_norm_backward_kernel(KernelCall& k) {
  const auto [rows, width] = layer_extent(k.in(1), k.integers(2).size());
  auto grad = to_vector<double>(k.in(0));
  const auto x = to_vector<double>(k.in(1));
  const auto mean = to_vector<double>(k.in(3));
  const auto rstd = to_vector<double>(k.in(4));
  const auto weight = values_or(k, 5, width, 1);
  std::vector<double> grad_weight(width, 0);
  std::vector<double> grad_bias(width, 0);
  for (std::size_t i = 0; i < rows; ++i) {
    double sum = 0;
    double sum_hat = 0;
    const auto hat = [&](std::size_t j) { return (x[i * width + j] - mean[i]) * rstd[i]; };
    for (std::size_t j = 0; j < width; ++j) {
      const double g = grad[i * width + j];
      grad_weight[j] += g * hat(j);
      grad_bias[j] += g;
      sum += g * weight[j];
      sum_hat += g * weight[j] * hat(j);
    }
    const auto n = static_cast<double>(width);
    for (std::size_t j = 0; j < width; ++j) {
      auto& g = grad[i * width + j];
      g = rstd[i] * (g * weight[j] - sum / n - hat(j) * sum_hat / n);
    }
  }
  store_result(k, 0, grad);
  store_result(k, 1, grad_weight);
  store_result(k, 2, grad_bias);
}

// ---- RMS norm -----------------------------------------------------------------------------------

auto rms_norm_rule(MetaCall& c) -> Datum {
  const auto& input = c.meta(0);
  const auto statistics = statistics_sizes(c, input, c.exprs(1));
  if (c.error() || !require_count(c, 2, product(c.exprs(1)), "one weight per normalized element"))
    return {};
  const auto dtype = input.dtype == DType::float64 ? DType::float64 : DType::float32;
  return {DatumList{suggested(c, input, input.dtype, input.sizes), c.fresh(dtype, statistics)}};
}
void rms_norm_kernel(KernelCall& k) {
  const auto [rows, width] = layer_extent(k.in(0), k.integers(1).size());
  auto x = to_vector<double>(k.in(0));
  const auto weight = values_or(k, 2, width, 1);
  const double smallest = k.in(0).dtype() == DType::float64
                              ? std::numeric_limits<double>::epsilon()
                              : static_cast<double>(std::numeric_limits<float>::epsilon());
  const double eps = k.has(3) ? k.real(3) : smallest;
  std::vector<double> rstd(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto row = std::span(x).subspan(i * width, width);
    double squares = 0;
    for (const double value : row) squares += value * value;
    rstd[i] = 1 / std::sqrt(squares / static_cast<double>(width) + eps);
    for (std::size_t j = 0; j < width; ++j) row[j] *= rstd[i] * weight[j];
  }
  from_vector<double>(k.out(0), x);
  from_vector<double>(k.out(1), rstd);
}
/// What the fused form leaves to others: complex numbers, and nothing at all.
auto rms_norm_in_parts(Composer& c) -> Datum {
  const auto input = c.meta(0);
  Ints dims;
  for (std::int64_t d = 1; d <= std::ssize(c.exprs(1)); ++d) dims.push_back(-d);
  const double least = real_of(input.dtype) == DType::float64 ? 0x1p-52 : 0x1p-23;
  const auto squares = c.call("aten.pow.Tensor_Scalar", {c.arg(0), Datum{Expr(2)}});
  const auto mean = c.call("aten.mean.dim", {squares, int_list(dims), Datum{Expr::boolean(true)}});
  const auto moved =
      c.call("aten.add.Scalar", {mean, c.has(3) ? c.arg(3) : Datum{Expr::real(least)}});
  const auto result = c.call("aten.mul.Tensor", {c.arg(0), c.call("aten.rsqrt.default", {moved})});
  return c.has(2) ? c.call("aten.mul.Tensor", {result, c.arg(2)}) : result;
}
auto rms_norm(Composer& c) -> Datum {
  if (is_complex(c.meta(0).dtype) || c.decide(eq(numel(c.meta(0)), 0), "there are elements"))
    return rms_norm_in_parts(c);
  return c.item(c.call("aten._fused_rms_norm.default", {c.arg(0), c.arg(1), c.arg(2), c.arg(3)}),
                0);
}

// ---- group norm ---------------------------------------------------------------------------------

/// N, C, HxW and group stand at `first`; they must describe the input.
auto require_grouping(MetaCall& c, const TensorMeta& input, int first) -> bool {
  const Dims sizes{c.expr(first), c.expr(first + 1), c.expr(first + 2)};
  const auto groups = c.expr(first + 3);
  for (const auto& size : sizes)
    if (!c.require(ge(size, 0), "sizes are not negative")) return false;
  return c.require(gt(groups, 0), "there is at least one group") &&
         c.require(eq(mod(sizes[1], groups), 0), "the channels are a multiple of the groups") &&
         c.require(eq(product(sizes), numel(input)), "N, C and HxW describe the input");
}
/// A result like the input: on CUDA row-major, on the CPU in the format that the input suggests.
auto group_norm_like(MetaCall& c, const TensorMeta& input) -> Datum {
  if (on_cuda(input)) return c.fresh(input.dtype, input.sizes);
  return suggested(c, input, input.dtype, input.sizes);
}
/// input, weight, bias, N, C, HxW, group, eps.
auto group_norm_rule(MetaCall& c) -> Datum {
  const auto& input = c.meta(0);
  const auto groups = c.expr(6);
  if (!require_grouping(c, input, 3) || !require_count(c, 1, c.expr(4), "one weight per channel") ||
      !require_count(c, 2, c.expr(4), "one bias per channel"))
    return {};
  const auto dtype = statistics_dtype(c, {1, 2});
  const Dims statistics{c.expr(3), groups};
  return {
      DatumList{group_norm_like(c, input), c.fresh(dtype, statistics), c.fresh(dtype, statistics)}};
}

/// Sizes of a group norm call: samples, channels, positions per channel, groups.
struct Grouping {
  std::size_t samples, channels, positions, groups;
  [[nodiscard]] auto per_group() const -> std::size_t { return channels / groups; }
  [[nodiscard]] auto group_size() const -> std::size_t { return per_group() * positions; }
};
auto grouping_at(KernelCall& k, int first) -> Grouping {
  const auto value = [&](int i) { return static_cast<std::size_t>(k.integer(first + i)); };
  return {value(0), value(1), value(2), value(3)};
}

void group_norm_kernel(KernelCall& k) {
  const auto g = grouping_at(k, 3);
  auto x = to_vector<double>(k.in(0));
  const auto weight = values_or(k, 1, g.channels, 1);
  const auto bias = values_or(k, 2, g.channels, 0);
  std::vector<double> mean(g.samples * g.groups);
  std::vector<double> rstd(mean.size());
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const auto row = std::span(x).subspan(i * g.group_size(), g.group_size());
    const auto m = moments_of(row, row.size());
    mean[i] = m.mean;
    rstd[i] = 1 / std::sqrt(std::max(m.variance, 0.0) + k.real(7));
    for (std::size_t j = 0; j < row.size(); ++j) {
      const auto channel = i % g.groups * g.per_group() + j / g.positions;
      row[j] = (row[j] - mean[i]) * rstd[i] * weight[channel] + bias[channel];
    }
  }
  from_vector<double>(k.out(0), x);
  from_vector<double>(k.out(1), mean);
  from_vector<double>(k.out(2), rstd);
}

/// grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask.
auto group_norm_backward_rule(MetaCall& c) -> Datum {
  const auto& input = c.meta(1);
  const auto dtype = c.has(4) ? c.meta(4).dtype : input.dtype;
  const Dims channels{c.expr(6)};
  const auto groups = c.expr(5) * c.expr(8);
  const auto mask = output_mask(c, 9);
  if (!require_grouping(c, input, 5) || !require_count(c, 4, c.expr(6), "one weight per channel") ||
      !require_same_sizes(c, c.meta(0).sizes, input.sizes, "one gradient per element") ||
      !require_count(c, 2, groups, "one mean per group") ||
      !require_count(c, 3, groups, "one rstd per group"))
    return {};
  // On the CPU the gradient is like input.contiguous() in input's format, which is input itself if
  // it is that.
  const bool stays = !on_cuda(input) && is_contiguous(c, input, suggest_memory_format(c, input)) &&
                     c.decide(gt(numel(input), 0), "there are elements");
  return masked_results(
      mask, {stays ? c.fresh(input.dtype, input.sizes, input.strides) : group_norm_like(c, input),
             c.fresh(dtype, channels), c.fresh(dtype, channels)});
}
void group_norm_backward_kernel(KernelCall& k) {
  const auto g = grouping_at(k, 5);
  auto grad = to_vector<double>(k.in(0));
  const auto x = to_vector<double>(k.in(1));
  const auto mean = to_vector<double>(k.in(2));
  const auto rstd = to_vector<double>(k.in(3));
  const auto weight = values_or(k, 4, g.channels, 1);
  std::vector<double> grad_weight(g.channels, 0);
  std::vector<double> grad_bias(g.channels, 0);
  const auto n = static_cast<double>(g.group_size());
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const auto base = i * g.group_size();
    const auto hat = [&](std::size_t j) { return (x[base + j] - mean[i]) * rstd[i]; };
    const auto channel = [&](std::size_t j) {
      return i % g.groups * g.per_group() + j / g.positions;
    };
    double sum = 0;
    double sum_hat = 0;
    for (std::size_t j = 0; j < g.group_size(); ++j) {
      const double value = grad[base + j];
      grad_weight[channel(j)] += value * hat(j);
      grad_bias[channel(j)] += value;
      sum += value * weight[channel(j)];
      sum_hat += value * weight[channel(j)] * hat(j);
    }
    for (std::size_t j = 0; j < g.group_size(); ++j) {
      auto& value = grad[base + j];
      value = rstd[i] * (value * weight[channel(j)] - sum / n - hat(j) * sum_hat / n);
    }
  }
  store_result(k, 0, grad);
  store_result(k, 1, grad_weight);
  store_result(k, 2, grad_bias);
}

/// group_norm flattens the positions and hands over a packed input.
auto group_norm(Composer& c) -> Datum {
  const auto meta = c.meta(0);
  if (meta.rank() < 2) return c.fail("group_norm needs two dimensions"), Datum{};
  auto layout = layout_call(c);
  const Datum format{suggest_memory_format(layout, meta)};
  const Dims positions(meta.sizes.begin() + 2, meta.sizes.end());
  const auto packed = c.call("aten.contiguous.default", {c.arg(0), format});
  return c.item(c.call("aten.native_group_norm.default",
                       {packed, c.arg(2), c.arg(3), Datum{meta.sizes[0]}, Datum{meta.sizes[1]},
                        Datum{product(positions)}, c.arg(1), c.arg(4)}),
                0);
}

// ---- weight norm --------------------------------------------------------------------------------

/// v is normalised over all dims but `dim` (the first or the last).
auto weight_norm_rule(MetaCall& c) -> Datum {
  const auto& v = c.meta(0);
  const auto& g = c.meta(1);
  const int dim = c.dim_arg(2, v.rank());
  const auto count = v.rank() == 0 ? Expr(1) : v.sizes[static_cast<std::size_t>(dim)];
  if (!require_count(c, 1, count, "one g per slice")) return {};
  const bool reduced = is_half(g.dtype);
  return {DatumList{c.fresh(v.dtype, v.sizes),
                    c.fresh(reduced ? DType::float32 : g.dtype, g.sizes, g.strides)}};
}
auto other_dims(KernelCall& k, const Tensor& v, int dim_arg) -> std::vector<bool> {
  auto chosen = mark_dim(dim_of(k, dim_arg, v.rank()), v.rank());
  chosen.flip();
  return chosen;
}
void weight_norm_kernel(KernelCall& k) {
  const auto chosen = other_dims(k, k.in(0), 2);
  auto rows = load_rows<double>(k.in(0), chosen);
  const auto g = to_vector<double>(k.in(1));
  std::vector<double> norms(rows.outer);
  for (std::size_t i = 0; i < rows.outer; ++i) {
    for (const double value : rows.row(i)) norms[i] += value * value;
    norms[i] = std::sqrt(norms[i]);
    for (double& value : rows.row(i)) value *= g[i] / norms[i];
  }
  store_rows<double>(k.out(0), chosen, rows);
  from_vector<double>(k.out(1), norms);
}
/// grad_w, saved_v, saved_g, saved_norms, dim.
auto weight_norm_backward_rule(MetaCall& c) -> Datum {
  const auto& v = c.meta(1);
  const int dim = c.dim_arg(4, v.rank());
  const auto count = v.rank() == 0 ? Expr(1) : v.sizes[static_cast<std::size_t>(dim)];
  if (!require_same_sizes(c, c.meta(0).sizes, v.sizes, "one gradient per element") ||
      !require_count(c, 2, count, "one g per slice") ||
      !require_count(c, 3, count, "one norm per slice"))
    return {};
  return {DatumList{c.fresh(c.meta(1).dtype, c.meta(1).sizes),
                    c.fresh(c.meta(2).dtype, c.meta(2).sizes)}};
}
void weight_norm_backward_kernel(KernelCall& k) {
  const auto chosen = other_dims(k, k.in(1), 4);
  auto grads = load_rows<double>(k.in(0), chosen);
  auto v = load_rows<double>(k.in(1), chosen);
  const auto g = to_vector<double>(k.in(2));
  const auto norms = to_vector<double>(k.in(3));
  std::vector<double> grad_g(grads.outer);
  for (std::size_t i = 0; i < grads.outer; ++i) {
    const auto grad = grads.row(i);
    const auto row = v.row(i);
    double dot = 0;
    for (std::size_t j = 0; j < row.size(); ++j) dot += grad[j] * row[j];
    grad_g[i] = dot / norms[i];
    for (std::size_t j = 0; j < row.size(); ++j)
      grad[j] = g[i] / norms[i] * (grad[j] - row[j] * dot / (norms[i] * norms[i]));
  }
  store_rows<double>(k.out(0), chosen, grads);
  from_vector<double>(k.out(1), grad_g);
}

}  // namespace

// clang-format off
void add_normalisation_rows(OpTable& t) {
  t.add({.schema_text = "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)", .rule = layer_norm_rule, .kernel = layer_norm_kernel});
  t.add({.schema_text = "aten::native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)", .rule = layer_norm_backward_rule, .kernel = layer_norm_backward_kernel});
  t.add({.schema_text = "aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor", .decomposition = layer_norm});
  t.add({.schema_text = "aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)", .rule = rms_norm_rule, .kernel = rms_norm_kernel});
  t.add({.schema_text = "aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor", .decomposition = rms_norm});
  t.add({.schema_text = "aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)", .rule = group_norm_rule, .kernel = group_norm_kernel});
  t.add({.schema_text = "aten::native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, SymInt N, SymInt C, SymInt HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)", .rule = group_norm_backward_rule, .kernel = group_norm_backward_kernel});
  t.add({.schema_text = "aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True) -> Tensor", .decomposition = group_norm});
  t.add({.schema_text = "aten::_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)", .rule = weight_norm_rule, .kernel = weight_norm_kernel});
  t.add({.schema_text = "aten::_weight_norm_interface_backward(Tensor grad_w, Tensor saved_v, Tensor saved_g, Tensor saved_norms, int dim) -> (Tensor, Tensor)", .rule = weight_norm_backward_rule, .kernel = weight_norm_backward_kernel});
}
// clang-format on

}  // namespace assay
