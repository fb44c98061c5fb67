// Batch normalisation. Rules: aten/src/ATen/native/Normalization.cpp (batch_norm_cpu and its
// templates): results are contiguous or channels-last as the input is, contiguous otherwise.
#include <algorithm>
#include <cmath>

#include "core/ops/norm.h"

namespace assay {
namespace {

// Parameters 0 to 4 of every forward row: input, weight, bias, running_mean, running_var. Overloads
// without running statistics have none of the last two.
struct Params {
  int mean, variance, training, momentum, eps;
};
auto params_of(const Call& c) -> Params {
  const auto either = [&](std::string_view name, std::string_view cudnn) {
    return std::max(param(c, name), param(c, cudnn));
  };
  return {param(c, "running_mean"), param(c, "running_var"), param(c, "training"),
          either("momentum", "exponential_average_factor"), either("eps", "epsilon")};
}
auto is_training(const Call& c, const Params& p) -> bool {
  return p.training >= 0 ? c.flag(p.training) : c.row().name().ends_with("_with_update.default");
}
auto has(const Call& c, int arg) -> bool {
  return arg >= 0 && c.has(arg);
}

/// suggest_memory_format_contig: contiguous wins where a layout is both.
auto packed_format(MetaCall& c, const TensorMeta& meta) -> MemoryFormat {
  if (is_contiguous(c, meta)) return MemoryFormat::contiguous;
  for (const auto format : {MemoryFormat::channels_last, MemoryFormat::channels_last_3d})
    if (is_contiguous(c, meta, format)) return format;
  return MemoryFormat::contiguous;
}
/// ATen's own CUDA kernel keeps the input's strides, cuDNN only formats.
auto like_input(MetaCall& c, const TensorMeta& input) -> Datum {
  if (on_cuda(input) && !c.row().name().starts_with("aten.cudnn"))
    return c.fresh(input.dtype, input.sizes, preserved_strides(c, input));
  return c.fresh(input.dtype, input.sizes, strides_for(input.sizes, packed_format(c, input)));
}

/// In evaluation CUDA's kernel saves the running statistics, the CPU's nothing.
auto saves_running(MetaCall& c) -> bool {
  return on_cuda(c.meta(0)) && !c.row().name().starts_with("aten.cudnn");
}
auto batch_norm_rule(MetaCall& c) -> Datum {
  const auto& input = c.meta(0);
  const auto p = params_of(c);
  if (!c.require(input.rank() >= 2, "batch norm needs two dimensions")) return {};
  const auto dtype =
      accumulated_dtype(c, p.mean >= 0 ? statistics_dtype(c, {1, 2, p.mean, p.variance})
                                       : statistics_dtype(c, {1, 2}));
  for (const int i : {1, 2, p.mean, p.variance})
    if (has(c, i) && !c.decide(eq(numel(c.meta(i)), input.sizes[1]), "one parameter per channel") &&
        !c.require(eq(numel(input), 0), "there is one parameter per channel, or no element"))
      return {};
  const bool training = is_training(c, p);
  if (!training &&
      !c.require(has(c, p.mean) && has(c, p.variance), "evaluation needs running statistics"))
    return {};
  const Dims statistics{training || saves_running(c) ? input.sizes[1] : Expr(0)};
  DatumList results{like_input(c, input), c.fresh(dtype, statistics), c.fresh(dtype, statistics)};
  if (c.row().schema.returns.size() == 4) results.push_back(c.fresh(DType::uint8, {0}));
  return {std::move(results)};
}

/// An [N, C, ...] tensor in row-major order: element (n, c, i) lies at (n * channels + c) * inner +
/// i.
struct Channels {
  std::size_t samples, channels, inner;
  [[nodiscard]] auto at(std::size_t n, std::size_t c) const -> std::size_t {
    return (n * channels + c) * inner;
  }
  template <class F>
  void for_each(std::size_t c, const F& f) const {
    for (std::size_t n = 0; n < samples; ++n)
      for (std::size_t i = 0; i < inner; ++i) f(at(n, c) + i);
  }
  [[nodiscard]] auto count() const -> double { return static_cast<double>(samples * inner); }
};
auto channels_of(const Tensor& input) -> Channels {
  return {static_cast<std::size_t>(input.sizes()[0]), static_cast<std::size_t>(input.sizes()[1]),
          static_cast<std::size_t>(numel(std::span(input.sizes()).subspan(2)))};
}

struct Statistics {
  std::vector<double> mean, variance;  ///< of the population, per channel
};
/// CUDA's kernel takes means of halves that are not packed by a reduction that rounds to them.
auto has_narrow_means(const Tensor& input) -> bool {
  if (!on_cuda(input.meta) || input.dtype() != DType::float16 || input.is_contiguous())
    return false;
  std::int64_t step = 1;
  for (const std::size_t d : {1U, 3U, 2U, 0U}) {
    if (input.rank() != 4 || (input.sizes()[d] != 1 && input.strides()[d] != step)) return true;
    step *= input.sizes()[d];
  }
  return false;
}
auto batch_statistics(const std::vector<double>& x, const Channels& layout) -> Statistics {
  Statistics s{std::vector<double>(layout.channels), std::vector<double>(layout.channels)};
  for (std::size_t c = 0; c < layout.channels; ++c) {
    layout.for_each(c, [&](std::size_t e) { s.mean[c] += x[e]; });
    s.mean[c] /= layout.count();
    layout.for_each(
        c, [&](std::size_t e) { s.variance[c] += (x[e] - s.mean[c]) * (x[e] - s.mean[c]); });
    s.variance[c] /= layout.count();
  }
  return s;
}

/// The element at a row-major position, as a view.
auto element_of(Tensor tensor, std::int64_t at) -> Tensor {
  for (auto d = tensor.sizes().size(); d-- > 0; at /= tensor.sizes()[d])
    tensor.meta.offset += at % tensor.sizes()[d] * tensor.strides()[d];
  tensor.meta.sizes = tensor.meta.strides = {};
  return tensor;
}
/// running = momentum * batch + (1 - momentum) * running; the variance without bias.
void update_running(KernelCall& k, const Params& p, const Statistics& batch, double count) {
  const double momentum = k.real(p.momentum);
  // Channel by channel: statistics that share one element are updated one after the other.
  const auto update = [&](int arg, const std::vector<double>& values, double scale) {
    if (!has(k, arg)) return;
    const Tensor& all = k.in(arg);
    for (std::size_t c = 0; c < values.size(); ++c) {
      auto running = element_of(all, static_cast<std::int64_t>(c));
      const double old = to_vector<double>(running)[0];
      fill_elements(running, Complex(momentum * values[c] * scale + (1 - momentum) * old));
    }
  };
  update(p.mean, batch.mean, 1);
  update(p.variance, batch.variance, count / (count - 1));
}

auto inverse_std(const std::vector<double>& variance, double eps) -> std::vector<double> {
  std::vector<double> result(variance.size());
  for (std::size_t c = 0; c < variance.size(); ++c) result[c] = 1 / std::sqrt(variance[c] + eps);
  return result;
}

/// Results on the CPU are packed; is the input laid out in the same way?
auto is_packed(const Tensor& input, const Tensor& result) -> bool {
  for (std::size_t d = 0; d < input.sizes().size(); ++d)
    if (input.sizes()[d] != 1 && input.strides()[d] != result.strides()[d]) return false;
  return true;
}
/// Of packed inputs on the CPU x * alpha + beta, with alpha and beta of a channel in the precision
/// that PyTorch computes in: a channel that cancels keeps beta's rounding.
void normalise(KernelCall& k, const Channels& layout, const std::vector<double>& mean,
               const std::vector<double>& scale, std::vector<double>& x) {
  const bool wide = k.in(0).dtype() == DType::float64;
  const auto rounded = [&](double value) { return wide ? value : round_to(DType::float32, value); };
  const auto weight = values_or(k, 1, layout.channels, 1);
  const auto bias = values_or(k, 2, layout.channels, 0);
  const bool in_order = on_cuda(k.in(0).meta) || !is_packed(k.in(0), k.out());
  for (std::size_t c = 0; c < layout.channels && in_order; ++c)
    layout.for_each(
        c, [&](std::size_t e) { x[e] = (x[e] - mean[c]) * scale[c] * weight[c] + bias[c]; });
  for (std::size_t c = 0; c < layout.channels && !in_order; ++c) {
    const double alpha = rounded(rounded(scale[c]) * weight[c]);
    const double beta = rounded(bias[c] - rounded(mean[c]) * alpha);
    layout.for_each(c, [&](std::size_t e) { x[e] = x[e] * alpha + beta; });
  }
}

void batch_norm_kernel(KernelCall& k) {
  const auto p = params_of(k);
  const bool training = is_training(k, p);
  const auto layout = channels_of(k.in(0));
  auto x = to_vector<double>(k.in(0));
  if (training && x.empty()) {
    k.fail("training needs at least one element");
    return;
  }
  auto s = training
               ? batch_statistics(x, layout)
               : Statistics{to_vector<double>(k.in(p.mean)), to_vector<double>(k.in(p.variance))};
  if (training && has_narrow_means(k.in(0)))
    for (auto& mean : s.mean) mean = round_to(k.in(0).dtype(), mean);
  const auto scale = inverse_std(s.variance, k.real(p.eps));
  if (!x.empty()) normalise(k, layout, s.mean, scale, x);
  from_vector<double>(k.out(0), x);
  if (x.empty() || (!training && k.out(1).numel() == 0)) return;
  from_vector<double>(k.out(1), s.mean);
  from_vector<double>(k.out(2), scale);
  if (training) update_running(k, p, s, layout.count());
}

/// Where arguments of a call stand.
struct ArgsOfCudnn {
  int input, weight, mean;
  bool is_training;
};
/// Does cuDNN do it? (_select_batch_norm_backend)
auto is_for_cudnn(Composer& c, const ArgsOfCudnn& at) -> bool {
  constexpr std::int64_t kMostTraining = 880801, kMostEvaluated = 65535;  // samples
  const auto input = c.meta(at.input);
  if (!on_cuda(input) || input.rank() < 3 || !c.has(at.weight)) return false;
  const auto weight = c.meta(at.weight).dtype;
  return input.dtype != DType::bfloat16 && weight != DType::bfloat16 &&
         (input.dtype != DType::float16 || weight == DType::float32) &&
         c.has(at.mean) == c.has(at.mean + 1) && (c.has(at.mean) || at.is_training) &&
         c.decide(le(input.sizes[0], at.is_training ? kMostTraining : kMostEvaluated),
                  "the batch is not large");
}

/// aten.batch_norm is composite; an empty input is scaled and shifted by the first parameters.
auto batch_norm(Composer& c) -> Datum {
  if (c.decide(eq(numel(c.meta(0)), 0), "empty input")) {
    auto result = c.call("aten.clone.default", {c.arg(0)});
    const auto first = [&](int arg) {
      return c.call("aten.select.int", {c.arg(arg), Datum{Expr(0)}, Datum{Expr(0)}});
    };
    if (c.has(1)) result = c.call("aten.mul.Tensor", {result, first(1)});
    if (c.has(2)) result = c.call("aten.add.Tensor", {result, first(2)});
    return result;
  }
  DatumList args(c.args().begin(), c.args().begin() + 8);
  const bool may_use_cudnn = c.flag(8) && c.has(2);
  const auto* name =
      may_use_cudnn &&
              is_for_cudnn(c, {.input = 0, .weight = 1, .mean = 3, .is_training = c.flag(5)})
          ? "aten.cudnn_batch_norm.default"
          : "aten.native_batch_norm.default";
  return c.item(c.call(name, std::move(args)), 0);
}

/// The evaluation form of exported programs; its saved statistics are empty.
auto no_training(Composer& c) -> Datum {
  return c.call("aten.native_batch_norm.default",
                {c.arg(0), c.arg(1), c.arg(2), c.arg(3), c.arg(4), Datum{Expr::boolean(false)},
                 c.arg(5), c.arg(6)});
}

/// Evaluation with a reserve that nothing is kept in.
auto no_update(Composer& c) -> Datum {
  const auto results = no_training(c);
  const auto reserve =
      c.call("aten.new_zeros.default", {c.arg(0), int_list(Dims{0}), Datum{DType::uint8}});
  DatumList all;
  for (std::size_t i = 0; i < 3; ++i) all.push_back(c.item(results, i));
  all.push_back(reserve);
  return {std::move(all)};
}

// ---- backward -----------------------------------------------------------------------------------

/// CUDA's kernel gives the gradient the format that the input suggests, and in evaluation none
/// (cuda/Normalization.cu: batch_norm_elementwise_backward_train and _eval).
auto input_gradient(MetaCall& c, const TensorMeta& input, bool training) -> Datum {
  if (!on_cuda(input)) return like_input(c, input);
  if (training) return suggested(c, input, input.dtype, input.sizes);
  return c.fresh(input.dtype, input.sizes);
}

// grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps,
// output_mask
auto backward_rule(MetaCall& c) -> Datum {
  const auto& input = c.meta(1);
  const auto dtype = c.has(2) ? c.meta(2).dtype : input.dtype;
  if (!c.require(input.rank() >= 2, "batch norm needs two dimensions")) return {};
  const Dims channels{input.sizes[1]};
  const bool training = c.flag(7);
  for (const int i : {2, training ? 5 : 3, training ? 6 : 4})
    if (!require_count(c, i, channels[0], "one parameter per channel")) return {};
  if (!require_same_sizes(c, c.meta(0).sizes, input.sizes, "one gradient per element") ||
      !c.require(c.has(training ? 5 : 3) && c.has(training ? 6 : 4), "the statistics are given"))
    return {};
  return masked_results(output_mask(c, 9), {input_gradient(c, input, training),
                                            c.fresh(dtype, channels), c.fresh(dtype, channels)});
}

void backward_kernel(KernelCall& k) {
  const auto layout = channels_of(k.in(1));
  auto grad = to_vector<double>(k.in(0));
  const auto x = to_vector<double>(k.in(1));
  const auto weight = values_or(k, 2, layout.channels, 1);
  const bool training = k.flag(7);
  const auto mean = to_vector<double>(k.in(training ? 5 : 3));
  const auto scale =
      training ? to_vector<double>(k.in(6)) : inverse_std(to_vector<double>(k.in(4)), k.real(8));
  std::vector<double> grad_weight(layout.channels, 0);
  std::vector<double> grad_bias(layout.channels, 0);
  for (std::size_t c = 0; c < layout.channels; ++c) {
    const auto hat = [&](std::size_t e) { return (x[e] - mean[c]) * scale[c]; };
    layout.for_each(c, [&](std::size_t e) {
      grad_weight[c] += grad[e] * hat(e);
      grad_bias[c] += grad[e];
    });
    layout.for_each(c, [&](std::size_t e) {
      const double centred = (grad_bias[c] + hat(e) * grad_weight[c]) / layout.count();
      grad[e] = (grad[e] - (training ? centred : 0)) * scale[c] * weight[c];
    });
  }
  store_result(k, 0, grad);
  store_result(k, 1, grad_weight);
  store_result(k, 2, grad_bias);
}

/// What functionalisation makes of a training step: the statistics are results.
auto functional(Composer& c) -> Datum {
  const auto mean = c.call("aten.clone.default", {c.arg(3)});
  const auto variance = c.call("aten.clone.default", {c.arg(4)});
  const auto results =
      c.call("aten._native_batch_norm_legit.default",
             {c.arg(0), c.arg(1), c.arg(2), mean, variance, c.arg(5), c.arg(6), c.arg(7)});
  DatumList all{c.item(results, 0), c.item(results, 1), c.item(results, 2), mean, variance};
  return Datum{std::move(all)};
}

auto functional_update(Composer& c) -> Datum {
  const auto mean = c.call("aten.clone.default", {c.arg(3)});
  const auto variance = c.call("aten.clone.default", {c.arg(4)});
  const auto results = c.call("aten._batch_norm_with_update.default",
                              {c.arg(0), c.arg(1), c.arg(2), mean, variance, c.arg(5), c.arg(6)});
  DatumList all;
  for (std::size_t i = 0; i < 4; ++i) all.push_back(c.item(results, i));
  all.insert(all.end(), {mean, variance});
  return {std::move(all)};
}

/// cuDNN's form always gives three gradients, and trains. input, grad_output, weight, running_mean,
/// running_var, save_mean, save_var, epsilon, reserve.
auto cudnn_backward(Composer& c) -> Datum {
  const Datum all{DatumList(3, Datum{Expr::boolean(true)})};
  return c.call("aten.native_batch_norm_backward.default",
                {c.arg(1), c.arg(0), c.arg(2), c.arg(3), c.arg(4), c.arg(5), c.arg(6),
                 Datum{Expr::boolean(true)}, c.arg(7), all});
}
/// batch_norm_backward differs in the order of its arguments and a reserve it does not need here.
auto backward_with_reserve(Composer& c) -> Datum {
  if (c.flag(7) && is_for_cudnn(c, {.input = 1, .weight = 2, .mean = 3, .is_training = true}))
    return c.call("aten.cudnn_batch_norm_backward.default",
                  {c.arg(1), c.arg(0), c.arg(2), c.arg(3), c.arg(4), c.arg(5), c.arg(6), c.arg(8),
                   c.arg(10)});
  return c.call("aten.native_batch_norm_backward.default",
                {c.arg(0), c.arg(1), c.arg(2), c.arg(3), c.arg(4), c.arg(5), c.arg(6), c.arg(7),
                 c.arg(8), c.arg(9)});
}

}  // namespace

// clang-format off
void add_batch_norm_rows(OpTable& t) {
  t.add({.schema_text = "aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)", .rule = batch_norm_rule, .kernel = batch_norm_kernel});
  t.add({.schema_text = "aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)", .rule = batch_norm_rule, .kernel = batch_norm_kernel});
  t.add({.schema_text = "aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)", .rule = batch_norm_rule, .kernel = batch_norm_kernel});
  t.add({.schema_text = "aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)", .decomposition = no_training});
  t.add({.schema_text = "aten::_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)", .decomposition = functional});
  t.add({.schema_text = "aten::_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)", .rule = batch_norm_rule, .kernel = batch_norm_kernel});
  t.add({.schema_text = "aten::_batch_norm_with_update_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)", .decomposition = functional_update});
  t.add({.schema_text = "aten::_batch_norm_no_update(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)", .decomposition = no_update});
  t.add({.schema_text = "aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor", .decomposition = batch_norm});
  t.add({.schema_text = "aten::cudnn_batch_norm(Tensor input, Tensor weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float exponential_average_factor, float epsilon) -> (Tensor, Tensor, Tensor, Tensor)", .rule = batch_norm_rule, .kernel = batch_norm_kernel});
  t.add({.schema_text = "aten::cudnn_batch_norm_backward(Tensor input, Tensor grad_output, Tensor weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_var, float epsilon, Tensor reserveSpace) -> (Tensor, Tensor, Tensor)", .decomposition = cudnn_backward});
  t.add({.schema_text = "aten::native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)", .rule = backward_rule, .kernel = backward_kernel});
  t.add({.schema_text = "aten::batch_norm_backward(Tensor grad_out, Tensor input, Tensor weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_var, bool update, float eps, bool[3] output_mask, Tensor reserve) -> (Tensor, Tensor, Tensor)", .decomposition = backward_with_reserve});
}
// clang-format on

}  // namespace assay
