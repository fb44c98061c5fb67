// What programs that keep PyTorch's composite operators call beside the functions of torch.nn:
// kinds of dropout, convolutions by their libraries' names, Hermitian transforms, comparisons with
// sets, functional forms of what changes layouts (aten/src/ATen/native/Dropout.cpp, RReLU:
// Activation.cpp, Convolution.cpp, ConvolutionTBC.cpp, SpectralOps.cpp, TensorCompare.cpp,
// LinearAlgebra.cpp).
#include <algorithm>
#include <cmath>

#include "core/ops/composing.h"

namespace assay {
namespace {

// ---- dropout ------------------------------------------------------------------------------------

/// Constants of alpha dropout, which keeps the mean and the variance of SELU's results: its value
/// far below 0 is -kAlpha.
constexpr double kAlpha = 1.7580993408473766;

struct DropoutKind {
  bool whole_features = false, alpha = false;
};
/// input, p, train.
auto drop(Composer& c, DropoutKind kind) -> Datum {
  const double p = c.real(1);
  const auto input = c.meta(0);
  if (p < 0 || p > 1) return c.fail("the dropout probability is between 0 and 1"), Datum{};
  if (p == 0 || !c.flag(2) || c.decide(eq(numel(input), 0), "empty input")) return c.arg(0);
  if (p == 1) return c.call("aten.mul.Scalar", {c.arg(0), integer(0)});
  auto noise = call1(c, "aten.empty_like.default", c.arg(0));
  if (kind.whole_features) {
    if (input.rank() < 2) return c.fail("a batch of features is needed"), Datum{};
    Dims sizes(input.sizes.size(), Expr(1));
    std::copy_n(input.sizes.begin(), 2, sizes.begin());
    noise = call2(c, "aten.new_empty.default", c.arg(0), int_list(sizes));
  }
  noise = call2(c, "aten.bernoulli_.float", noise, number(1 - p));
  if (!kind.alpha) return mul(c, c.arg(0), call2(c, "aten.div.Scalar", noise, number(1 - p)));
  const double scale = 1 / std::sqrt((kAlpha * kAlpha * p + 1) * (1 - p));
  const auto shift =
      add(c, mul(c, sub(c, noise, integer(1)), number(kAlpha * scale)), number(kAlpha * scale * p));
  return add(c, mul(c, c.arg(0), mul(c, noise, number(scale))), shift);
}
template <DropoutKind kKind, bool kInPlace>
auto dropout(Composer& c) -> Datum {
  const auto result = drop(c, kKind);
  if (!kInPlace || c.error()) return result;
  return call2(c, "aten.copy_.default", c.arg(0), result);
}
/// self, lower, upper, training, generator.
template <bool kInPlace>
auto rrelu(Composer& c) -> Datum {
  const auto noise = call1(c, "aten.empty_like.default", c.arg(0));
  return c.call(kInPlace ? "aten.rrelu_with_noise_.default" : "aten.rrelu_with_noise.default",
                {c.arg(0), noise, c.arg(1), c.arg(2), c.arg(3), c.arg(4)});
}
auto rrelu_functional(Composer& c) -> Datum {
  const auto noise = call1(c, "aten.clone.default", c.arg(1));
  auto args = all_args(c);
  args[1] = noise;
  return {DatumList{c.call("aten.rrelu_with_noise.default", std::move(args)), noise}};
}

// ---- convolutions -------------------------------------------------------------------------------

/// What one convolution is called with, by the names of its schema's parameters.
auto convolve(Composer& c, bool transposed) -> Datum {
  const auto named = [&](std::string_view name, Datum otherwise) {
    const int at = param(c, name);
    return at < 0 ? std::move(otherwise) : c.arg(at);
  };
  const Datum ones = int_list(Ints{1}), zeros = int_list(Ints{0});
  return c.call(
      "aten.convolution.default",
      {c.arg(0), c.arg(1), named("bias", {}), named("stride", ones), named("padding", zeros),
       named("dilation", ones), named("transposed", truth(transposed)),
       named("output_padding", zeros), named("groups", integer(1))});
}
template <bool kTransposed>
auto named_convolution(Composer& c) -> Datum {
  return convolve(c, kTransposed);
}
/// self, weight, kernel_size, bias, ...: one filter per channel.
auto depthwise_convolution(Composer& c) -> Datum {
  const auto self = c.meta(0);
  if (self.rank() < 2) return c.fail("a batch of channels is needed"), Datum{};
  const auto channels = c.domain().context().concrete(self.sizes[1], "as many groups as channels");
  return c.call("aten.convolution.default",
                {c.arg(0), c.arg(1), c.arg(3), c.arg(4), c.arg(5), c.arg(6), truth(false),
                 int_list(Ints{0}), integer(channels)});
}
/// self, weight, (z, alpha,) bias, ...: plus alpha z, then what is above 0.
auto convolution_relu(Composer& c) -> Datum {
  auto result = convolve(c, false);
  if (const int z = param(c, "z"); z >= 0) {
    const int alpha = param(c, "alpha");
    result =
        c.call("aten.add.Tensor", {result, c.arg(z), c.has(alpha) ? c.arg(alpha) : integer(1)});
  }
  return call1(c, "aten.relu.default", result);
}
/// input, weight, bias, stride, padding ("same" or "valid"), dilation, groups.
auto convolution_mode(Composer& c) -> Datum {
  const auto rank = c.meta(0).rank();
  if (rank < 3 || rank > 5) return c.fail("one to three dimensions of windows are needed"), Datum{};
  return c.call(fmt::format("aten.conv{}d.padding", rank - 2), all_args(c));
}
/// self [time, batch, in], weight [window, in, out], bias, pad.
auto convolution_tbc(Composer& c) -> Datum {
  const auto turned = [&](const Datum& tensor, const Ints& order) {
    return call2(c, "aten.permute.default", tensor, int_list(order));
  };
  const auto result =
      c.call("aten.conv1d.default", {turned(c.arg(0), {1, 2, 0}), turned(c.arg(1), {2, 1, 0}),
                                     c.arg(2), int_list(Ints{1}), Datum{DatumList{c.arg(3)}}});
  return call2(c, "aten.clone.default", turned(result, {2, 0, 1}), Datum{MemoryFormat::contiguous});
}

// ---- Fourier transforms of Hermitian signals ----------------------------------------------------

/// The norm that scales a transform in the other direction as much.
auto other_norm(Composer& c) -> Datum {
  const auto norm = c.text(3);
  return norm == "ortho" ? c.arg(3)
                         : Datum{std::string(norm == "forward" ? "backward" : "forward")};
}
auto conjugated(Composer& c, const Datum& tensor) -> Datum {
  return is_complex(c.meta(tensor).dtype) ? call1(c, "aten._conj_physical.default", tensor)
                                          : tensor;
}
auto hfft(Composer& c) -> Datum {
  return c.call("aten.fft_irfft.default",
                {conjugated(c, c.arg(0)), c.arg(1), c.arg(2), other_norm(c)});
}
auto ihfft(Composer& c) -> Datum {
  const auto result =
      c.call("aten.fft_rfft.default", {c.arg(0), c.arg(1), c.arg(2), other_norm(c)});
  return c.error() ? Datum{} : conjugated(c, result);
}
/// self, s, dim, norm: which dimensions, and how many elements each; -1 for those that are there.
struct Extent {
  Ints dims;
  Dims sizes;
};
auto extent_of(Composer& c) -> Extent {
  const auto meta = c.meta(0);
  const auto asked = c.has(1) ? c.exprs(1) : Dims{};
  Extent extent;
  if (c.has(2)) {
    extent.dims = c.integers(2);
  } else {
    const auto count = c.has(1) ? static_cast<std::int64_t>(asked.size()) : meta.rank();
    for (auto d = meta.rank() - count; d < meta.rank(); ++d) extent.dims.push_back(d);
  }
  for (auto& dim : extent.dims) dim = static_cast<std::int64_t>(wrapped_dim(c, dim, meta.rank()));
  if (asked.size() > extent.dims.size()) c.fail("a size per dimension");
  extent.sizes = asked;
  extent.sizes.resize(extent.dims.size(), Expr(-1));
  if (extent.dims.empty()) c.fail("a dimension is needed");
  return extent;
}
/// The last dimension of a real result is named by its own length, the others are transformed
/// before it.
auto hfftn(Composer& c) -> Datum {
  const auto extent = extent_of(c);
  if (c.error()) return {};
  auto result = c.arg(0);
  if (extent.dims.size() > 1) {
    const Ints before(extent.dims.begin(), extent.dims.end() - 1);
    const Dims sizes(extent.sizes.begin(), extent.sizes.end() - 1);
    result = c.call("aten.fft_fftn.default", {result, int_list(sizes), int_list(before), c.arg(3)});
  }
  const auto& n = extent.sizes.back();
  return c.call("aten.fft_hfft.default",
                {result, n.is_int(-1) ? Datum{} : Datum{n}, integer(extent.dims.back()), c.arg(3)});
}
auto ihfftn(Composer& c) -> Datum {
  const auto extent = extent_of(c);
  if (c.error()) return {};
  const auto& n = extent.sizes.back();
  auto result = c.call("aten.fft_ihfft.default", {c.arg(0), n.is_int(-1) ? Datum{} : Datum{n},
                                                  integer(extent.dims.back()), c.arg(3)});
  if (extent.dims.size() == 1) return result;
  const Ints before(extent.dims.begin(), extent.dims.end() - 1);
  const Dims sizes(extent.sizes.begin(), extent.sizes.end() - 1);
  return c.call("aten.fft_ifftn.default", {result, int_list(sizes), int_list(before), c.arg(3)});
}

// ---- pointwise ----------------------------------------------------------------------------------

auto add_relu(Composer& c) -> Datum {
  return call1(c, "aten.relu.default",
               c.call(c.is_tensor(1) ? "aten.add.Tensor" : "aten.add.Scalar", all_args(c)));
}
/// self, mat1, mat2, beta, alpha, use_gelu.
auto addmm_activation(Composer& c) -> Datum {
  const auto sum = c.call("aten.addmm.default", {c.arg(0), c.arg(1), c.arg(2), c.arg(3), c.arg(4)});
  if (!c.flag(5)) return call1(c, "aten.relu.default", sum);
  // cuBLASLt has the approximation.
  const std::string approximation = on_cuda(c.meta(0)) ? "tanh" : "none";
  return c.call("aten.gelu.default", {sum, Datum{approximation}});
}
/// self, mask (true where nothing is seen), dim, mask_type: 0 and 1 are masks of other shapes.
auto masked_softmax(Composer& c) -> Datum {
  const auto self = c.meta(0);
  const auto mask = c.meta(1);
  if (mask.dtype != DType::boolean) return c.fail("the mask is boolean"), Datum{};
  bool fits = mask.sizes.size() == self.sizes.size();
  for (std::size_t d = 0; fits && d < self.sizes.size(); ++d)
    fits = c.decide(eq(mask.sizes[d], self.sizes[d]), "the mask has self's shape");
  if (!fits) return c.unsupported("a mask of another shape"), Datum{};
  const auto hidden =
      c.call("aten.masked_fill.Scalar",
             {c.arg(0), c.arg(1), number(-std::numeric_limits<double>::infinity())});
  return c.call("aten._softmax.default",
                {hidden, c.has(2) ? c.arg(2) : integer(self.rank() - 1), truth(false)});
}
/// elements, test_element, assume_unique, invert.
auto isin_number(Composer& c) -> Datum {
  return call2(c, c.flag(3) ? "aten.ne.Scalar" : "aten.eq.Scalar", c.arg(0), c.arg(1));
}
auto number_isin(Composer& c) -> Datum {
  const auto element = c.call("aten.scalar_tensor.default",
                              {c.arg(0), Datum{c.meta(1).dtype}, {}, Datum{c.meta(1).device}});
  return c.call("aten.isin.Tensor_Tensor", {element, c.arg(1), c.arg(2), c.arg(3)});
}
/// self, p, (dim, keepdim,) dtype.
auto norm_as(Composer& c) -> Datum {
  const int dim = param(c, "dim");
  return c.call("aten.linalg_vector_norm.default",
                {c.arg(0), c.has(1) ? c.arg(1) : integer(2), dim < 0 ? Datum{} : c.arg(dim),
                 dim < 0 ? truth(false) : c.arg(param(c, "keepdim")), c.arg(param(c, "dtype"))});
}
/// v, pow, dim: the norm over all other dimensions, which stay with size 1.
auto norm_except_dim(Composer& c) -> Datum {
  const auto v = c.meta(0);
  const auto p = c.arg(1);
  if (c.integer(2) == -1) return call2(c, "aten.norm.Scalar", c.arg(0), p);
  const auto at = wrapped_dim(c, c.integer(2), v.rank());
  if (c.error() || v.rank() == 0) return c.fail("a dimension is needed"), Datum{};
  // As a matrix with the dimension in front, or behind where it is the last.
  const bool is_last = at > 0 && at + 1 == v.sizes.size();
  const bool is_inner = at > 0 && !is_last;
  const auto swapped = [&](const Datum& x) {
    return c.call("aten.transpose.int", {x, integer(0), integer(static_cast<std::int64_t>(at))});
  };
  const auto turned = is_inner ? swapped(c.arg(0)) : c.arg(0);
  if (c.error()) return {};
  const auto& size = v.sizes[at];
  const auto matrix = reshaped(c, turned, is_last ? Dims{-1, size} : Dims{size, -1});
  const auto norms =
      c.call("aten.norm.ScalarOpt_dim", {matrix, p, int_list(Ints{is_last ? 0 : 1})});
  Dims kept(v.sizes.size(), Expr(1));
  kept[is_last ? at : 0] = size;
  const auto result = call2(c, "aten.view.default", norms, int_list(kept));
  return is_inner ? swapped(result) : result;
}
/// self, pad, mode, value.
auto pad_by_number(Composer& c) -> Datum {
  constexpr std::string_view kModes[] = {"reflect", "replicate", "circular", "constant"};
  const auto mode = c.integer(2);
  if (mode < 0 || mode >= std::ssize(kModes)) return c.fail("there is no such mode"), Datum{};
  return c.call("aten.pad.default",
                {c.arg(0), c.arg(1), Datum{std::string(kModes[mode])}, c.arg(3)});
}
/// grad, indices, num_weights, padding_idx, scale_grad_by_freq, sparse.
auto embedding_backward(Composer& c) -> Datum {
  if (c.flag(5)) return c.unsupported("a sparse gradient"), Datum{};
  return c.call("aten.embedding_dense_backward.default",
                {c.arg(0), c.arg(1), c.arg(2), c.arg(3), c.arg(4)});
}
auto max_pool1d_with_indices(Composer& c) -> Datum {
  const auto flat = [&](int arg, const Expr& height) {
    auto values = c.exprs(arg);
    if (values.size() == 1) values.insert(values.begin(), height);
    return int_list(values);
  };
  const auto pooled = c.call(
      "aten.max_pool2d_with_indices.default",
      {unsqueezed(c, c.arg(0), -2), flat(1, 1), flat(2, 1), flat(3, 0), flat(4, 1), c.arg(5)});
  if (c.error()) return {};
  const auto squeezed = [&](std::size_t i) {
    return call2(c, "aten.squeeze.dim", c.item(pooled, i), integer(-2));
  };
  return {DatumList{squeezed(0), squeezed(1)}};
}
auto dim_arange(Composer& c) -> Datum {
  const auto at = wrapped_dim(c, c.integer(1), c.meta(0).rank());
  if (c.error() || c.meta(0).rank() == 0) return c.fail("a dimension is needed"), Datum{};
  return c.call("aten.arange.default",
                {Datum{c.meta(0).sizes[at]}, Datum{DType::int64}, {}, Datum{c.meta(0).device}});
}

// ---- functional forms of what changes layouts ---------------------------------------------------

auto resized(Composer& c) -> Datum {
  const auto copy = call1(c, "aten.clone.default", c.arg(0));
  const bool like_another = c.is_tensor(1);
  return c.call(like_another ? "aten.resize_as_.default" : "aten.resize_.default",
                {copy, c.arg(1), c.arg(2)});
}
auto reshape_copy(Composer& c) -> Datum {
  const auto view = call2(c, "aten.reshape.default", c.arg(0), c.arg(1));
  return call2(c, "aten.clone.default", view, Datum{MemoryFormat::contiguous});
}
auto detach_copy(Composer& c) -> Datum {
  return call1(c, "aten.clone.default", c.arg(0));
}
auto itself(Composer& c) -> Datum {
  return c.arg(0);
}
/// self, indices, values, accumulate, unsafe.
auto index_put(Composer& c) -> Datum {
  return c.call(c.row().schema.is_mutating() ? "aten.index_put_.default" : "aten.index_put.default",
                {c.arg(0), c.arg(1), c.arg(2), c.arg(3)});
}

}  // namespace

// clang-format off
void add_torch_composed_rows(OpTable& t) {
  const auto composed = [&](std::string_view schema, Decomposition decomposition) {
    t.add({.schema_text = schema, .decomposition = decomposition});
  };
  const auto random = [&](std::string_view schema, Decomposition decomposition) {
    t.add({.schema_text = schema, .decomposition = decomposition, .random = true});
  };
  constexpr DropoutKind kAlphaKind{.whole_features = false, .alpha = true};
  constexpr DropoutKind kFeatures{.whole_features = true, .alpha = false};
  constexpr DropoutKind kAlphaFeatures{.whole_features = true, .alpha = true};
  random("aten::alpha_dropout(Tensor input, float p, bool train) -> Tensor", dropout<kAlphaKind, false>);
  random("aten::alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)", dropout<kAlphaKind, true>);
  random("aten::feature_dropout(Tensor input, float p, bool train) -> Tensor", dropout<kFeatures, false>);
  random("aten::feature_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)", dropout<kFeatures, true>);
  random("aten::feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor", dropout<kAlphaFeatures, false>);
  random("aten::feature_alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)", dropout<kAlphaFeatures, true>);
  random("aten::rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> Tensor", rrelu<false>);
  random("aten::rrelu_(Tensor(a!) self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> Tensor(a!)", rrelu<true>);
  random("aten::rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> (Tensor, Tensor noise_out)", rrelu_functional);

  composed("aten::_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor", named_convolution<false>);
  composed("aten::_convolution.deprecated(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, int[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled) -> Tensor", named_convolution<false>);
  composed("aten::_convolution_mode(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, str padding, SymInt[] dilation, SymInt groups) -> Tensor", convolution_mode);
  composed("aten::_slow_conv2d_forward(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias, SymInt[2] stride, SymInt[2] padding) -> Tensor", named_convolution<false>);
  composed("aten::slow_conv3d_forward(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? bias, SymInt[3] stride, SymInt[3] padding) -> Tensor", named_convolution<false>);
  composed("aten::thnn_conv2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0) -> Tensor", named_convolution<false>);
  composed("aten::slow_conv3d(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? bias=None, SymInt[3] stride=1, SymInt[3] padding=0) -> Tensor", named_convolution<false>);
  composed("aten::slow_conv_dilated2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0, SymInt[2] dilation=1) -> Tensor", named_convolution<false>);
  composed("aten::slow_conv_dilated3d(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? bias=None, SymInt[3] stride=1, SymInt[3] padding=0, SymInt[3] dilation=1) -> Tensor", named_convolution<false>);
  composed("aten::slow_conv_transpose2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0, SymInt[2] output_padding=0, SymInt[2] dilation=1) -> Tensor", named_convolution<true>);
  composed("aten::slow_conv_transpose3d(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? bias=None, SymInt[3] stride=1, SymInt[3] padding=0, SymInt[3] output_padding=0, SymInt[3] dilation=1) -> Tensor", named_convolution<true>);
  composed("aten::cudnn_convolution(Tensor self, Tensor weight, SymInt[] padding, SymInt[] stride, SymInt[] dilation, SymInt groups, bool benchmark, bool deterministic, bool allow_tf32) -> Tensor", named_convolution<false>);
  composed("aten::cudnn_convolution_transpose(Tensor self, Tensor weight, SymInt[] padding, SymInt[] output_padding, SymInt[] stride, SymInt[] dilation, SymInt groups, bool benchmark, bool deterministic, bool allow_tf32) -> Tensor", named_convolution<true>);
  composed("aten::cudnn_convolution_relu(Tensor self, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, SymInt groups) -> Tensor", convolution_relu);
  composed("aten::cudnn_convolution_add_relu(Tensor self, Tensor weight, Tensor z, Scalar? alpha, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, SymInt groups) -> Tensor", convolution_relu);
  composed("aten::_conv_depthwise2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias, SymInt[2] stride, SymInt[2] padding, SymInt[2] dilation) -> Tensor", depthwise_convolution);
  composed("aten::conv_depthwise3d(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? bias, SymInt[3] stride, SymInt[3] padding, SymInt[3] dilation) -> Tensor", depthwise_convolution);
  composed("aten::conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor", convolution_tbc);

  composed("aten::fft_hfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", hfft);
  composed("aten::fft_ihfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", ihfft);
  composed("aten::fft_hfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", hfftn);
  composed("aten::fft_hfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", hfftn);
  composed("aten::fft_ihfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", ihfftn);
  composed("aten::fft_ihfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", ihfftn);

  composed("aten::_add_relu.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", add_relu);
  composed("aten::_add_relu.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", add_relu);
  composed("aten::_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, bool use_gelu=False) -> Tensor", addmm_activation);
  composed("aten::_masked_softmax(Tensor self, Tensor mask, int? dim=None, int? mask_type=None) -> Tensor", masked_softmax);
  composed("aten::isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> Tensor", isin_number);
  composed("aten::isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor", number_isin);
  composed("aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor", norm_as);
  composed("aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor", norm_as);
  composed("aten::norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor", norm_except_dim);
  composed("aten::_pad_enum(Tensor self, SymInt[] pad, int mode, float? value=None) -> Tensor", pad_by_number);
  composed("aten::embedding_backward(Tensor grad, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq, bool sparse) -> Tensor", embedding_backward);
  composed("aten::max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, int[1] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)", max_pool1d_with_indices);
  composed("aten::_dim_arange(Tensor like, int dim) -> Tensor", dim_arange);

  composed("aten::resize(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor", resized);
  composed("aten::resize_as(Tensor self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor", resized);
  composed("aten::_reshape_copy(Tensor self, SymInt[] size) -> Tensor", reshape_copy);
  composed("aten::detach_copy(Tensor self) -> Tensor", detach_copy);
  composed("aten::lift(Tensor self) -> Tensor", itself);
  composed("aten::_index_put_impl(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) -> Tensor", index_put);
  composed("aten::_index_put_impl_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) -> Tensor(a!)", index_put);
}
// clang-format on

}  // namespace assay
