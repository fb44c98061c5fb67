// Convolutions. Sizes, backends and layouts: aten/src/ATen/native/Convolution.cpp, ConvUtils.h.
#include <algorithm>

#include "core/ops/convolve.h"
#include "core/ops/layout.h"
#include "core/ops/op_table.h"
#include "core/ops/rules.h"
#include "core/ops/typed_elements.h"

namespace assay {
namespace {

/// Argument positions of aten.convolution; aten.convolution_backward shifts them.
struct ConvArgs {
  int input;
  int weight;
  int bias;  ///< bias sizes in the backward
  int stride, padding, dilation, transposed, output_padding, groups;
};
constexpr ConvArgs kForward{0, 1, 2, 3, 4, 5, 6, 7, 8};
constexpr ConvArgs kBackward{1, 2, 3, 4, 5, 6, 7, 8, 9};

/// ConvParams::is_output_padding_big: oneDNN does not take such transposed convolutions.
auto is_output_padding_big(const Call& c, const ConvArgs& args, int spatial) -> bool {
  if (!c.flag(args.transposed)) return false;
  const auto stride = window_values(c, args.stride, spatial, 1);
  const auto output_padding = window_values(c, args.output_padding, spatial, 0);
  for (std::size_t i = 0; i < stride.size(); ++i)
    if (output_padding[i].as_int().value_or(0) >= stride[i].as_int().value_or(1)) return true;
  return false;
}

/// Is the convolution (in the backends' view of its operands, see Backend) run by oneDNN
/// (ConvParams::use_mkldnn)? Others fall to the "slow" kernels, which differ in layout. Half runs
/// on oneDNN only with AVX512-FP16, which the recording machines lack; bfloat16 wants AVX512, which
/// they have.
auto runs_on_onednn(MetaCall& c, const ConvArgs& args, const TensorMeta& input,
                    const TensorMeta& weight) -> bool {
  if (is_output_padding_big(c, args, c.meta(args.input).rank() - 2)) return false;
  if (input.dtype == DType::bfloat16) return true;
  if (input.dtype != DType::float32) return false;
  if (c.integer(args.groups) > 1) return true;
  if (c.decide(gt(input.sizes[0], 1), "oneDNN runs the convolution")) return true;
  const auto rank = weight.sizes.size();
  if (c.decide(logic_and(gt(weight.sizes[rank - 1], 3), gt(weight.sizes[rank - 2], 3)),
               "oneDNN runs the convolution"))
    return true;
  const auto leading = std::span(input.sizes).first(4);
  return c.decide(gt(product(leading), 20480), "oneDNN runs the convolution");
}

/// contiguous(): itself if it is laid out so.
auto packed(MetaCall& c, TensorMeta meta, MemoryFormat format) -> TensorMeta {
  if (!is_contiguous(c, meta, format)) meta.strides = strides_for(meta.sizes, format);
  return meta;
}

/// The arguments as the backends see them: one spatial dimension becomes two (view1d_as_2d).
struct Backend {
  TensorMeta input;
  TensorMeta weight;
  MemoryFormat format = MemoryFormat::contiguous;
  bool onednn = false;
};

auto with_height(TensorMeta meta) -> TensorMeta {
  const auto height_stride = meta.strides[2] * meta.sizes[2];
  meta.sizes.insert(meta.sizes.begin() + 2, Expr(1));
  meta.strides.insert(meta.strides.begin() + 2, height_stride);
  return meta;
}

/// The inverse, for results.
auto without_height(Dims dims) -> Dims {
  dims.erase(dims.begin() + 2);
  return dims;
}

/// cudnn_conv_suggest_memory_format: channels last if one of the two suggests it.
auto cudnn_format(MetaCall& c, const TensorMeta& a, const TensorMeta& b) -> MemoryFormat {
  const auto format = suggest_memory_format(c, a);
  return format == MemoryFormat::contiguous ? suggest_memory_format(c, b) : format;
}
/// Does cuDNN run it, which knows channels last but for doubles? Others on CUDA are row-major.
auto runs_on_cudnn(MetaCall& c, const ConvArgs& args, const TensorMeta& input) -> bool {
  return on_cuda(input) && input.dtype != DType::float64 &&
         !is_output_padding_big(c, args, c.meta(args.input).rank() - 2);
}

/// determine_backend_memory_format: channels last if the input or the weight suggests it, where the
/// backend can. A three-dimensional input is made contiguous first.
auto make_backend(MetaCall& c, const ConvArgs& args) -> Backend {
  Backend backend{.input = c.meta(args.input), .weight = c.meta(args.weight)};
  if (backend.input.rank() == 3) {
    backend.input = packed(c, std::move(backend.input), MemoryFormat::contiguous);
    backend.input = with_height(std::move(backend.input));
    backend.weight = with_height(std::move(backend.weight));
  }
  if (on_cuda(backend.input)) {
    if (runs_on_cudnn(c, args, backend.input))
      backend.format = cudnn_format(c, backend.input, backend.weight);
    return backend;
  }
  const auto format = cudnn_format(c, backend.input, backend.weight);
  if (format == MemoryFormat::contiguous) return backend;
  backend.onednn = runs_on_onednn(c, args, backend.input, backend.weight);
  if (format == MemoryFormat::channels_last || backend.onednn) backend.format = format;
  return backend;
}

auto is_empty(MetaCall& c, const Dims& sizes) -> bool {
  for (const auto& size : sizes)
    if (c.decide(eq(size, 0), "empty convolution")) return true;
  return false;
}

/// Kernel, stride and dilation are positive, paddings are not negative.
auto check_window(MetaCall& c, const ConvArgs& args) -> bool {
  const int spatial = c.meta(args.input).rank() - 2;
  const auto all_at_least = [&](const Dims& values, int least, std::string_view message) {
    return std::ranges::all_of(
        values, [&](const Expr& value) { return c.require(ge(value, least), message); });
  };
  const auto& weight = c.meta(args.weight).sizes;
  return all_at_least({weight.begin() + 2, weight.end()}, 1, "the kernel is not empty") &&
         all_at_least(window_values(c, args.stride, spatial, 1), 1, "the stride is positive") &&
         all_at_least(window_values(c, args.dilation, spatial, 1), 1, "the dilation is positive") &&
         all_at_least(window_values(c, args.padding, spatial, 0), 0, "no padding is negative") &&
         all_at_least(window_values(c, args.output_padding, spatial, 0), 0,
                      "no output padding is negative");
}

auto check_convolution(MetaCall& c, const ConvArgs& args) -> bool {
  const auto& input = c.meta(args.input);
  const auto& weight = c.meta(args.weight);
  if (c.error()) return false;
  if (!c.require(input.rank() >= 3 && input.rank() <= 5, "one to three spatial dimensions") ||
      !c.require(input.rank() == weight.rank(), "input and weight have one rank") ||
      !c.require(input.dtype == weight.dtype, "input and weight have one dtype"))
    return false;
  const auto groups = c.integer(args.groups);
  if (!c.require(groups > 0, "groups is positive")) return false;
  const Expr channels = c.flag(args.transposed) ? weight.sizes[0] : weight.sizes[1] * groups;
  return c.require(eq(input.sizes[1], channels), "input and weight agree in channels") &&
         c.require(eq(mod(weight.sizes[0], groups), 0), "groups divide the weight's channels") &&
         check_window(c, args);
}

auto convolution_sizes(MetaCall& c, const ConvArgs& args) -> Dims {
  const auto& input = c.meta(args.input);
  const auto& weight = c.meta(args.weight);
  const int spatial = input.rank() - 2;
  const bool transposed = c.flag(args.transposed);
  const auto stride = window_values(c, args.stride, spatial, 1);
  const auto padding = window_values(c, args.padding, spatial, 0);
  const auto dilation = window_values(c, args.dilation, spatial, 1);
  const auto output_padding = window_values(c, args.output_padding, spatial, 0);
  Dims sizes{input.sizes[0],
             transposed ? weight.sizes[1] * c.integer(args.groups) : weight.sizes[0]};
  for (std::size_t i = 0; i < stride.size(); ++i) {
    const WindowDim dim{weight.sizes[i + 2], stride[i], padding[i], dilation[i]};
    const auto& in = input.sizes[i + 2];
    sizes.push_back(transposed ? (in - 1) * stride[i] - 2 * padding[i] +
                                     dilation[i] * (dim.kernel - 1) + output_padding[i] + 1
                               : window_count(c, in, dim, false));
    c.require(ge(sizes.back(), 0), "the kernel fits the padded input");
  }
  return sizes;
}

/// Strides of a result in the backend's format, with the added height taken out again.
auto backend_strides(const Dims& sizes, MemoryFormat format) -> Dims {
  if (sizes.size() != 3) return strides_for(sizes, format);
  Dims tall = sizes;
  tall.insert(tall.begin() + 2, Expr(1));
  return without_height(strides_for(tall, format));
}

auto convolution_rule(MetaCall& c) -> Datum {
  if (!check_convolution(c, kForward)) return {};
  auto sizes = convolution_sizes(c, kForward);
  if (c.error() || !require_count(c, 2, sizes[1], "one bias per output channel")) return {};
  const auto dtype = c.meta(0).dtype;
  if (is_empty(c, c.meta(0).sizes) || is_empty(c, sizes)) return c.fresh(dtype, std::move(sizes));
  auto strides = backend_strides(sizes, make_backend(c, kForward).format);
  return c.fresh(dtype, std::move(sizes), std::move(strides));
}

/// Gradients have the backend's format. Only the slow kernels without dilation, but for those in
/// three dimensions, follow what the weight suggests after it was made contiguous in that format,
/// which differs where sizes of 1 make the layout ambiguous.
auto weight_gradient_strides(MetaCall& c, const Backend& backend) -> Dims {
  bool dilated = false;
  for (const auto& dilation : c.exprs(kBackward.dilation)) dilated |= !dilation.is_int(1);
  auto format = backend.format;
  const bool is_plain_3d = backend.weight.rank() == 5 && !c.flag(kBackward.transposed);
  const bool slow = !backend.onednn && !is_plain_3d && (!dilated || c.flag(kBackward.transposed));
  if (slow && is_contiguous(c, backend.weight, format))
    format = suggest_memory_format(c, backend.weight);
  auto strides = strides_for(backend.weight.sizes, format);
  return c.meta(2).rank() == 3 ? without_height(std::move(strides)) : strides;
}

/// cuDNN looks at what each gradient is made of, packed in the backend's format: sizes of 1 can
/// make that suggest another one. The input is packed only if the weight's gradient is wanted, and
/// grad_output is brought into the format that it suggests (cudnn_convolution_backward).
struct GradientFormats {
  MemoryFormat input, weight;
};
auto cudnn_gradient_formats(MetaCall& c, const Backend& backend, bool wants_weight)
    -> GradientFormats {
  const auto weight = packed(c, backend.weight, backend.format);
  const auto input = wants_weight ? packed(c, backend.input, backend.format) : backend.input;
  auto grad = c.meta(0);
  if (grad.rank() == 3) grad = with_height(std::move(grad));
  grad = packed(c, std::move(grad), backend.format);
  const auto format = suggest_memory_format(c, input);
  if (c.flag(kBackward.transposed))
    grad = packed(c, std::move(grad), format);
  else if (suggest_memory_format(c, grad) != format)
    grad.strides = strides_for(grad.sizes, format);
  return {cudnn_format(c, grad, weight), cudnn_format(c, input, grad)};
}

auto convolution_backward_rule(MetaCall& c) -> Datum {
  if (!check_convolution(c, kBackward)) return {};
  const auto mask = c.flags(10);
  if (mask.size() != 3) return c.fail("output_mask has three members"), Datum{};
  const auto sizes = convolution_sizes(c, kBackward);
  if (c.error() ||
      !require_same_sizes(c, c.meta(0).sizes, sizes, "one gradient per output element"))
    return {};
  const auto& input = c.meta(1);
  const auto& weight = c.meta(2);
  DatumList grads(3);
  const auto add = [&](std::size_t i, const TensorMeta& like, MemoryFormat format) {
    if (mask[i]) grads[i] = c.fresh(like.dtype, like.sizes, backend_strides(like.sizes, format));
  };
  if (is_empty(c, input.sizes)) {
    if (mask[0]) grads[0] = c.fresh(input.dtype, input.sizes, preserved_strides(c, input));
    if (mask[1]) grads[1] = c.fresh(weight.dtype, weight.sizes, preserved_strides(c, weight));
  } else {
    const auto backend = make_backend(c, kBackward);
    if (runs_on_cudnn(c, kBackward, input)) {
      const auto formats = cudnn_gradient_formats(c, backend, mask[1]);
      add(0, input, formats.input);
      add(1, weight, formats.weight);
    } else {
      add(0, input, backend.format);
      if (mask[1])
        grads[1] = c.fresh(weight.dtype, weight.sizes, weight_gradient_strides(c, backend));
    }
  }
  if (mask[2]) grads[2] = c.fresh(input.dtype, {c.meta(0).sizes[1]});
  return {std::move(grads)};
}

/// The convolution whose forward this is; for a transposed one `big` is the result and `small` the
/// input, so that the same three products serve.
auto conv_shape(const Call& c, const ConvArgs& args, const Ints& big, const Ints& small,
                const Ints& weight) -> ConvShape {
  const int spatial = static_cast<int>(big.size()) - 2;
  const WindowArgs positions{
      .stride = args.stride, .padding = args.padding, .dilation = args.dilation};
  ConvShape shape{.window = make_window(c, positions, spatial, big, small),
                  .batch = big[0],
                  .in_channels = big[1],
                  .out_channels = small[1],
                  .groups = c.integer(args.groups)};
  shape.window.kernel = spatial_triple(weight, spatial);
  const auto dtype = c.arg(args.input).real()->dtype();
  const bool slow = dtype == DType::float16 || is_output_padding_big(c, args, spatial);
  if (slow && c.flag(args.transposed)) shape.partial_sums = dtype;
  return shape;
}

/// output += bias[channel].
template <class T>
void add_bias(const std::vector<T>& bias, const Ints& sizes, T* output) {
  const auto plane = numel(sizes) / std::max<std::int64_t>(1, sizes[0] * sizes[1]);
  for (std::int64_t n = 0; n < sizes[0]; ++n)
    for (const auto value : bias)
      for (std::int64_t i = 0; i < plane; ++i) *output++ += value;
}

void convolution_kernel(KernelCall& k) {
  const auto& input = k.in(0);
  const auto& weight = k.in(1);
  const auto& sizes = k.out().sizes();
  const bool transposed = k.flag(kForward.transposed);
  const auto shape = conv_shape(k, kForward, transposed ? sizes : input.sizes(),
                                transposed ? input.sizes() : sizes, weight.sizes());
  if (k.out().numel() == 0) return;
  with_product_type(k.out().dtype(), [&]<class T>(T) {
    const auto in = Elements<T>::row_major(input);
    const auto taps = Elements<T>::row_major(weight);
    Output<T> out(k.out());
    if (transposed)
      add_input_gradient(shape, in.data(), taps.data(), out.data());
    else
      add_convolution(shape, in.data(), taps.data(), out.data());
    if (k.has(2)) add_bias(to_vector<T>(k.in(2)), sizes, out.data());
  });
}

template <class T>
void bias_gradient(const T* grad, const Ints& sizes, T* out) {
  const auto plane = numel(sizes) / std::max<std::int64_t>(1, sizes[0] * sizes[1]);
  for (std::int64_t n = 0; n < sizes[0]; ++n)
    for (std::int64_t channel = 0; channel < sizes[1]; ++channel)
      for (std::int64_t i = 0; i < plane; ++i) out[channel] += *grad++;
}

void convolution_backward_kernel(KernelCall& k) {
  const auto& grad_output = k.in(0);
  const auto& input = k.in(1);
  const auto& weight = k.in(2);
  if (is_complex(input.dtype())) {
    k.unsupported("complex gradients are not supported");
    return;
  }
  const auto mask = k.flags(10);
  const bool transposed = k.flag(kBackward.transposed);
  const auto shape = conv_shape(k, kBackward, transposed ? grad_output.sizes() : input.sizes(),
                                transposed ? input.sizes() : grad_output.sizes(), weight.sizes());
  with_product_type(input.dtype(), [&]<class T>(T) {
    const auto grad = Elements<T>::row_major(grad_output);
    const auto in = Elements<T>::row_major(input);
    if (mask[0]) {
      const auto taps = Elements<T>::row_major(weight);
      Output<T> out(k.out(0));
      if (transposed)
        add_convolution(shape, grad.data(), taps.data(), out.data());
      else
        add_input_gradient(shape, grad.data(), taps.data(), out.data());
    }
    if (mask[1]) {
      Output<T> out(k.out(1));
      if (transposed)
        add_weight_gradient(shape, in.data(), grad.data(), out.data());
      else
        add_weight_gradient(shape, grad.data(), in.data(), out.data());
    }
    if (mask[2]) {
      Output<T> out(k.out(2));
      bias_gradient(grad.data(), grad_output.sizes(), out.data());
    }
  });
}

/// conv1d/2d/3d: an input without batch gets one of size 1 (batchify).
template <int kSpatial>
auto convolve(Composer& c) -> Datum {
  const auto input = c.meta(0);
  const bool batched = input.rank() == kSpatial + 2;
  if (!batched && input.rank() != kSpatial + 1)
    return c.fail(fmt::format("an input of rank {} is expected", kSpatial + 2)), Datum{};
  const auto images =
      batched ? c.arg(0) : c.call("aten.unsqueeze.default", {c.arg(0), Datum{Expr(0)}});
  auto result =
      c.call("aten.convolution.default",
             {images, c.arg(1), c.arg(2), c.arg(3), c.arg(4), c.arg(5), Datum{Expr::boolean(false)},
              int_list(Ints(static_cast<std::size_t>(kSpatial), 0)), c.arg(6)});
  if (batched) return result;
  return c.call("aten.squeeze.dim", {result, Datum{Expr(0)}});
}

}  // namespace

// clang-format off
void add_convolution_rows(OpTable& t) {
  t.add({.schema_text = "aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor", .rule = convolution_rule, .kernel = convolution_kernel});
  t.add({.schema_text = "aten::convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)", .rule = convolution_backward_rule, .kernel = convolution_backward_kernel});
  t.add({.schema_text = "aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, SymInt[1] padding=0, SymInt[1] dilation=1, SymInt groups=1) -> Tensor", .decomposition = convolve<1>});
  t.add({.schema_text = "aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0, SymInt[2] dilation=1, SymInt groups=1) -> Tensor", .decomposition = convolve<2>});
  t.add({.schema_text = "aten::conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, SymInt[3] padding=0, SymInt[3] dilation=1, SymInt groups=1) -> Tensor", .decomposition = convolve<3>});
}
// clang-format on

}  // namespace assay
