// Normalisations and their gradients as reductions and arithmetic of other operators
// (aten/src/ATen/native/Normalization.cpp, layer_norm.cpp, group_norm.cpp, WeightNorm.cpp).
#include <algorithm>
#include <array>
#include <limits>

#include "compiler/lower/expansions.h"
#include "core/ops/rules.h"

namespace assay::expansions {
namespace {

// ---- what they share ----------------------------------------------------------------------------

auto mean_over(Composer& c, const Datum& x, const Ints& dims) -> Datum {
  return c.call("aten.mean.dim", {x, int_list(dims), truth(true)});
}
auto inverse_root(Composer& c, const Datum& x, const Datum& eps) -> Datum {
  return c.call("aten.rsqrt.default", {add(c, x, eps)});
}
/// Mean first, then the squared distances from it: two passes, as exact as Welford's.
struct Centred {
  Datum mean, distance, variance;
};
auto centred(Composer& c, const Datum& x, const Ints& over) -> Centred {
  const auto mean = mean_over(c, x, over);
  const auto distance = sub(c, x, mean);
  return {mean, distance, mean_over(c, mul(c, distance, distance), over)};
}
/// An optional parameter in float32 and a shape that broadcasts.
auto parameter(Composer& c, int arg, const Dims& sizes) -> Datum {
  return c.has(arg) ? reshaped(c, widened(c, c.arg(arg)), sizes) : Datum{};
}
auto scaled_and_moved(Composer& c, const Datum& x, const Datum& weight, const Datum& bias)
    -> Datum {
  const auto scaled = weight.is_none() ? x : mul(c, x, weight);
  return bias.is_none() ? scaled : add(c, scaled, bias);
}
/// Gradient of (x - mean) * scale, which is `hat`, where mean and scale come from x as well; `mean`
/// is that of whatever they come from, beside the input.
auto through_means(Composer& c, const Datum& grad, const Datum& hat, const Datum& scale,
                   const auto& mean) -> Datum {
  const auto pull = mul(c, hat, mean(mul(c, grad, hat)));
  return mul(c, scale, sub(c, sub(c, grad, mean(grad)), pull));
}
auto through_statistics(Composer& c, const Datum& grad, const Datum& hat, const Datum& scale,
                        const Ints& over) -> Datum {
  return through_means(c, grad, hat, scale, [&](const Datum& x) { return mean_over(c, x, over); });
}
/// The gradient of a parameter of these sizes: what is summed over the dimensions it has not.
auto summed(Composer& c, const Datum& x, const Ints& over, const Dims& sizes) -> Datum {
  if (over.empty()) return c.call("aten.clone.default", {reshaped(c, x, sizes)});
  return reshaped(c, c.call("aten.sum.dim_IntList", {x, int_list(over)}), sizes);
}
auto counting(int begin, int end) -> Ints {
  Ints dims;
  for (int i = begin; i < end; ++i) dims.push_back(i);
  return dims;
}
auto is_float(Composer& c, int arg) -> bool {
  return is_floating(c.meta(arg).dtype) || (c.unsupported("not of floats"), false);
}

// ---- over the last dimensions -------------------------------------------------------------------

/// Dimensions of a normalised shape of argument `shape` at the end of the input, those before them,
/// and the sizes of a statistic.
struct Tail {
  Ints inner, outer;
  Dims kept;
};
auto tail_of(Composer& c, int input, int shape) -> Tail {
  const auto rank = c.meta(input).rank();
  const auto first = rank - static_cast<int>(c.exprs(shape).size());
  Tail tail{counting(first, rank), counting(0, first), c.meta(input).sizes};
  for (const auto dim : tail.inner) tail.kept[static_cast<std::size_t>(dim)] = 1;
  return tail;
}

/// Arguments: input, normalised shape, weight, bias, epsilon.
auto layer_norm(Composer& c) -> Datum {
  const auto tail = tail_of(c, 0, 1);
  const auto s = centred(c, widened(c, c.arg(0)), tail.inner);
  const auto scale = inverse_root(c, s.variance, c.arg(4));
  const auto shape = c.exprs(1);
  const auto result = scaled_and_moved(c, mul(c, s.distance, scale), parameter(c, 2, shape),
                                       parameter(c, 3, shape));
  return {DatumList{to(c, result, c.meta(0).dtype), s.mean, scale}};
}
/// Arguments: gradient, input, normalised shape, mean, 1/deviation, weight, bias, which gradients
/// are wanted.
auto layer_norm_backward(Composer& c) -> Datum {
  const auto tail = tail_of(c, 1, 2);
  const auto shape = c.exprs(2);
  const auto grad = widened(c, c.arg(0));
  const auto scale = parameter(c, 4, tail.kept);
  const auto hat = mul(c, sub(c, widened(c, c.arg(1)), parameter(c, 3, tail.kept)), scale);
  const auto wants = c.flags(7);
  DatumList results(3);
  if (wants[0]) {
    const auto inner = scaled_and_moved(c, grad, parameter(c, 5, shape), {});
    const auto result = through_statistics(c, inner, hat, scale, tail.inner);
    results[0] = to(c, result, c.meta(1).dtype);
  }
  if (wants[1] && c.has(5)) results[1] = summed(c, mul(c, grad, hat), tail.outer, c.meta(5).sizes);
  if (wants[2] && c.has(6)) results[2] = summed(c, grad, tail.outer, c.meta(6).sizes);
  return {std::move(results)};
}

/// Arguments: input, normalised shape, weight, epsilon or what float32 or float64 has.
auto rms_norm(Composer& c) -> Datum {
  if (!is_float(c, 0)) return {};
  const auto tail = tail_of(c, 0, 1);
  const auto x = widened(c, c.arg(0));
  const double least = c.meta(x).dtype == DType::float64
                           ? std::numeric_limits<double>::epsilon()
                           : double{std::numeric_limits<float>::epsilon()};
  const auto squares = mean_over(c, mul(c, x, x), tail.inner);
  const auto scale = inverse_root(c, squares, c.has(3) ? c.arg(3) : real(least));
  const auto result = scaled_and_moved(c, mul(c, x, scale), parameter(c, 2, c.exprs(1)), {});
  return {DatumList{to(c, result, c.meta(0).dtype), scale}};
}
/// Arguments: gradient, input, normalised shape, 1/root, weight, which gradients are wanted.
auto rms_norm_backward(Composer& c) -> Datum {
  if (!is_float(c, 1)) return {};
  const auto tail = tail_of(c, 1, 2);
  const auto grad = widened(c, c.arg(0));
  const auto scale = parameter(c, 3, tail.kept);
  const auto hat = mul(c, widened(c, c.arg(1)), scale);
  const auto wants = c.flags(5);
  DatumList results(2);
  if (wants[0]) {
    const auto inner = scaled_and_moved(c, grad, parameter(c, 4, c.exprs(2)), {});
    const auto pull = mul(c, hat, mean_over(c, mul(c, inner, hat), tail.inner));
    results[0] = to(c, mul(c, scale, sub(c, inner, pull)), c.meta(1).dtype);
  }
  if (wants[1] && c.has(4)) results[1] = summed(c, mul(c, grad, hat), tail.outer, c.exprs(2));
  return {std::move(results)};
}

// ---- over groups of channels --------------------------------------------------------------------

/// An input whose channels are split into groups: its sizes then, those of a statistic, and of a
/// parameter beside the input; dimensions of a group's elements, and of a channel's.
struct Groups {
  Dims split, statistic, parameter;
  Ints in_group, in_channel;
};
/// N, C and the group count stand at `first`, before and behind the size of a channel.
auto groups_of(Composer& c, int input, int first) -> std::optional<Groups> {
  const auto meta = c.meta(input);
  const auto channels = c.expr(first + 1).as_int(), count = c.expr(first + 3).as_int();
  if (!is_floating(meta.dtype) || meta.rank() < 2 || meta.sizes[0] != c.expr(first) || !channels ||
      !meta.sizes[1].is_int(*channels) || !count || *count < 1)
    return c.unsupported("groups of this kind"), std::nullopt;
  const std::vector<Expr> ones(meta.sizes.size() - 2, Expr(1));
  Groups groups{{meta.sizes[0], *count, *channels / *count},
                {meta.sizes[0], *count, 1},
                {1, meta.sizes[1]},
                counting(2, meta.rank() + 1),
                counting(2, meta.rank())};
  groups.split.insert(groups.split.end(), meta.sizes.begin() + 2, meta.sizes.end());
  for (auto* sizes : {&groups.statistic, &groups.parameter})
    sizes->insert(sizes->end(), ones.begin(), ones.end());
  groups.in_channel.insert(groups.in_channel.begin(), 0);
  return groups;
}
/// A statistic of groups for each channel, beside the input: so that what uses it goes over the
/// positions of a channel, for which one number is the same.
auto by_channel(Composer& c, const Datum& statistic, const Groups& groups) -> Datum {
  auto repeated = groups.statistic, sizes = groups.parameter;
  repeated[2] = groups.split[2];
  sizes[0] = groups.split[0];
  const auto all =
      c.call("aten.expand.default", {reshaped(c, statistic, groups.statistic), int_list(repeated)});
  return reshaped(c, all, sizes);
}

/// Arguments: input, weight, bias, N, C, positions of a channel, groups, epsilon.
auto group_norm(Composer& c) -> Datum {
  const auto groups = groups_of(c, 0, 3);
  if (!groups) return {};
  const auto x = widened(c, c.arg(0));
  const auto s = centred(c, reshaped(c, x, groups->split), groups->in_group);
  const auto scale = inverse_root(c, s.variance, c.arg(7));
  const auto hat = mul(c, sub(c, x, by_channel(c, s.mean, *groups)), by_channel(c, scale, *groups));
  const auto result = scaled_and_moved(c, hat, parameter(c, 1, groups->parameter),
                                       parameter(c, 2, groups->parameter));
  const Dims statistics{groups->split[0], groups->split[1]};
  return {DatumList{to(c, result, c.meta(0).dtype), reshaped(c, s.mean, statistics),
                    reshaped(c, scale, statistics)}};
}
/// Arguments: gradient, input, mean, 1/deviation, weight, N, C, positions of a channel, groups,
/// which gradients are wanted.
auto group_norm_backward(Composer& c) -> Datum {
  const auto groups = groups_of(c, 1, 5);
  if (!groups) return {};
  const auto grad = widened(c, c.arg(0));
  const auto scale = by_channel(c, widened(c, c.arg(3)), *groups);
  const auto distance = sub(c, widened(c, c.arg(1)), by_channel(c, widened(c, c.arg(2)), *groups));
  const auto hat = mul(c, distance, scale);
  const auto wants = c.flags(9);
  const Dims channels{c.meta(1).sizes[1]};
  DatumList results(3);
  if (wants[0]) {
    const auto inner = scaled_and_moved(c, grad, parameter(c, 4, groups->parameter), {});
    const auto mean = [&](const Datum& x) {
      return by_channel(c, mean_over(c, reshaped(c, x, groups->split), groups->in_group), *groups);
    };
    const auto result = through_means(c, inner, hat, scale, mean);
    results[0] = to(c, result, c.meta(1).dtype);
  }
  if (wants[1]) results[1] = summed(c, mul(c, grad, hat), groups->in_channel, channels);
  if (wants[2]) results[2] = summed(c, grad, groups->in_channel, channels);
  return {std::move(results)};
}

// ---- per channel, over a batch ------------------------------------------------------------------

/// Dimensions of a channel's elements, and the shape of a parameter beside the input.
struct Channels {
  Ints over;
  Dims sizes;
};
auto channels_of(Composer& c, int input) -> std::optional<Channels> {
  const auto meta = c.meta(input);
  if (!is_floating(meta.dtype) || meta.rank() < 2)
    return c.unsupported("channels of this kind"), std::nullopt;
  Channels channels{counting(2, meta.rank()), Dims(meta.sizes.size(), Expr(1))};
  channels.over.insert(channels.over.begin(), 0);
  channels.sizes[1] = meta.sizes[1];
  return channels;
}

/// The overloads have their arguments at different positions, and cuDNN's two of other names.
struct BatchNorm {
  int mean, variance, momentum, eps;
  bool trains, for_cudnn;
  explicit BatchNorm(const Call& c)
      : mean(param(c, "running_mean")),
        variance(param(c, "running_var")),
        momentum(std::max(param(c, "momentum"), param(c, "exponential_average_factor"))),
        eps(std::max(param(c, "eps"), param(c, "epsilon"))),
        trains(param(c, "training") < 0 || c.flag(param(c, "training"))),
        for_cudnn(param(c, "epsilon") >= 0) {}
};
auto is_there(const Call& c, int arg) -> bool {
  return arg >= 0 && c.has(arg);
}
/// One element of its own for each channel, or nothing.
auto are_channels(Composer& c, int arg, const Expr& count) -> bool {
  if (!is_there(c, arg)) return true;
  const auto meta = c.meta(arg);
  return meta.rank() == 1 && meta.sizes[0] == count && !meta.strides[0].is_int(0);
}
/// momentum * batch + (1 - momentum) * running, in the running one's dtype.
auto updated(Composer& c, int arg, int momentum, const Datum& batch) -> Datum {
  const auto old = mul(c, widened(c, c.arg(arg)), real(1 - c.real(momentum)));
  return to(c, add(c, mul(c, batch, c.arg(momentum)), old), c.meta(arg).dtype);
}
/// The running mean and variance after a step of training.
auto running_after(Composer& c, const BatchNorm& b, const Centred& s, const Channels& channels)
    -> std::array<Datum, 2> {
  std::array<Datum, 2> after;
  const Dims sizes{channels.sizes[1]};
  if (is_there(c, b.mean)) after[0] = updated(c, b.mean, b.momentum, reshaped(c, s.mean, sizes));
  if (!is_there(c, b.variance)) return after;
  Expr count(1);
  for (const auto dim : channels.over)
    count = count * c.meta(0).sizes[static_cast<std::size_t>(dim)];
  const auto unbiased = divided(c, mul(c, s.variance, {count}), {count - 1});
  after[1] = updated(c, b.variance, b.momentum, reshaped(c, unbiased, sizes));
  return after;
}

/// Arguments: input, weight, bias, then those of a BatchNorm.
auto batch_norm(Composer& c) -> Datum {
  const BatchNorm b(c);
  const auto channels = channels_of(c, 0);
  if (!channels) return {};
  const auto count = channels->sizes[1];
  for (const auto arg : {1, 2, b.mean, b.variance})
    if (!are_channels(c, arg, count)) return c.unsupported("parameters of another shape"), Datum{};
  const auto x = widened(c, c.arg(0));
  Centred s;
  if (b.trains) {
    s = centred(c, x, channels->over);
  } else {
    s = {parameter(c, b.mean, channels->sizes), {}, parameter(c, b.variance, channels->sizes)};
    s.distance = sub(c, x, s.mean);
  }
  const auto scale = inverse_root(c, s.variance, c.arg(b.eps));
  const auto result =
      scaled_and_moved(c, mul(c, s.distance, scale), parameter(c, 1, channels->sizes),
                       parameter(c, 2, channels->sizes));
  DatumList results{to(c, result, c.meta(0).dtype)};
  // In evaluation CUDA's kernel saves copies of what it has used, others nothing.
  const bool saves_used = on_cuda(c.meta(0)) && !b.for_cudnn;
  for (const auto& used : {s.mean, scale}) {
    if (b.trains)
      results.push_back(reshaped(c, used, {count}));
    else if (saves_used)
      results.push_back(c.call("aten.clone.default", {reshaped(c, used, {count})}));
    else
      results.push_back(c.call("aten.new_zeros.default", {used, int_list(Ints{0})}));
  }
  // Of functional overloads the running statistics are the last results.
  const bool is_functional = c.row().name().ends_with("_functional.default");
  if (c.row().schema.returns.size() == (is_functional ? 6 : 4))
    results.push_back(
        c.call("aten.new_zeros.default", {c.arg(0), int_list(Ints{0}), {DType::uint8}}));
  std::array<Datum, 2> after;
  if (b.trains) after = running_after(c, b, s, *channels);
  for (const auto& [arg, made] : {std::pair(b.mean, after[0]), std::pair(b.variance, after[1])})
    if (is_functional)
      results.push_back(b.trains ? made : c.call("aten.clone.default", {c.arg(arg)}));
    else if (b.trains && is_there(c, arg))
      c.call("aten.copy_.default", {c.arg(arg), made});
  return {std::move(results)};
}

/// Arguments: gradient, input, weight, running mean and variance, mean and 1/deviation of the
/// batch, training, epsilon, which gradients are wanted.
auto batch_norm_backward(Composer& c) -> Datum {
  const auto channels = channels_of(c, 1);
  if (!channels) return {};
  const bool trains = c.flag(7);
  const auto grad = widened(c, c.arg(0));
  const auto mean = parameter(c, trains ? 5 : 3, channels->sizes);
  const auto spread = parameter(c, trains ? 6 : 4, channels->sizes);
  const auto scale = trains ? spread : inverse_root(c, spread, c.arg(8));
  const auto hat = mul(c, sub(c, widened(c, c.arg(1)), mean), scale);
  const auto wants = c.flags(9);
  const Dims sizes{channels->sizes[1]};
  DatumList results(3);
  if (wants[0]) {
    const auto inner =
        trains ? through_statistics(c, grad, hat, scale, channels->over) : mul(c, grad, scale);
    const auto result = scaled_and_moved(c, inner, parameter(c, 2, channels->sizes), {});
    results[0] = to(c, result, c.meta(1).dtype);
  }
  if (wants[1]) results[1] = summed(c, mul(c, grad, hat), channels->over, sizes);
  if (wants[2]) results[2] = summed(c, grad, channels->over, sizes);
  return {std::move(results)};
}

// ---- weights ------------------------------------------------------------------------------------

/// All dimensions but one of argument `dim`.
auto other_dims(Composer& c, int weight, int dim) -> Ints {
  const auto rank = c.meta(weight).rank();
  const auto chosen = wrap_index(c.integer(dim), rank);
  Ints dims = counting(0, rank);
  std::erase(dims, chosen);
  return dims;
}
/// Sizes of a number for each slice.
auto per_slice(Composer& c, int weight, const Ints& over) -> Dims {
  auto sizes = c.meta(weight).sizes;
  for (const auto dim : over) sizes[static_cast<std::size_t>(dim)] = 1;
  return sizes;
}
auto total(Composer& c, const Datum& x, const Ints& over) -> Datum {
  return c.call("aten.sum.dim_IntList", {x, int_list(over), truth(true)});
}
/// Arguments: v, g, the dimension that stays.
auto weight_norm(Composer& c) -> Datum {
  const auto over = other_dims(c, 0, 2);
  if (over.empty() || !is_float(c, 0)) return c.unsupported("slices of one element"), Datum{};
  const auto v = widened(c, c.arg(0));
  const auto norm = c.call("aten.sqrt.default", {total(c, mul(c, v, v), over)});
  const auto scale = divided(c, parameter(c, 1, per_slice(c, 0, over)), norm);
  return {DatumList{to(c, mul(c, v, scale), c.meta(0).dtype), reshaped(c, norm, c.meta(1).sizes)}};
}
/// Arguments: gradient, v, g, norms, the dimension that stays.
auto weight_norm_backward(Composer& c) -> Datum {
  const auto over = other_dims(c, 1, 4);
  if (over.empty() || !is_float(c, 1)) return c.unsupported("slices of one element"), Datum{};
  const auto sizes = per_slice(c, 1, over);
  const auto grad = widened(c, c.arg(0)), v = widened(c, c.arg(1));
  const auto norm = parameter(c, 3, sizes);
  const auto dot = total(c, mul(c, grad, v), over);
  const auto scale = divided(c, parameter(c, 2, sizes), norm);
  const auto pull = divided(c, mul(c, v, dot), mul(c, norm, norm));
  return {DatumList{to(c, mul(c, scale, sub(c, grad, pull)), c.meta(1).dtype),
                    reshaped(c, divided(c, dot, norm), c.meta(2).sizes)}};
}

constexpr std::array kRows = {
    ExpansionRow{"aten.native_layer_norm.default", layer_norm},
    ExpansionRow{"aten.native_layer_norm_backward.default", layer_norm_backward},
    ExpansionRow{"aten._fused_rms_norm.default", rms_norm},
    ExpansionRow{"aten._fused_rms_norm_backward.default", rms_norm_backward},
    ExpansionRow{"aten.native_group_norm.default", group_norm},
    ExpansionRow{"aten.native_group_norm_backward.default", group_norm_backward},
    ExpansionRow{"aten.native_batch_norm.default", batch_norm},
    ExpansionRow{"aten._native_batch_norm_legit.default", batch_norm},
    ExpansionRow{"aten._native_batch_norm_legit.no_stats", batch_norm},
    ExpansionRow{"aten._native_batch_norm_legit_functional.default", batch_norm},
    ExpansionRow{"aten._batch_norm_with_update.default", batch_norm},
    ExpansionRow{"aten._batch_norm_with_update_functional.default", batch_norm},
    ExpansionRow{"aten.cudnn_batch_norm.default", batch_norm},
    ExpansionRow{"aten.native_batch_norm_backward.default", batch_norm_backward},
    ExpansionRow{"aten._weight_norm_interface.default", weight_norm},
    ExpansionRow{"aten._weight_norm_interface_backward.default", weight_norm_backward},
};

}  // namespace

auto normalisation_rows() -> std::span<const ExpansionRow> {
  return kRows;
}

}  // namespace assay::expansions
