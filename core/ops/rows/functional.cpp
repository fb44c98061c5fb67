// Functions of torch and torch.nn.functional that programs exported without decompositions call:
// other names of operators, and operators that ATen itself composes of others. Compositions:
// aten/src/ATen/native/Activation.cpp, Convolution.cpp, Distance.cpp, Dropout.cpp, Loss.cpp,
// Normalization.cpp, Onehot.cpp, ReduceOps.cpp, SpectralOps.cpp, TensorShape.cpp.
#include <algorithm>
#include <limits>

#include "core/ops/rules.h"

namespace assay {
namespace {

auto all_args(Composer& c) -> DatumList {
  return {c.args().begin(), c.args().end()};
}
auto number(double value) -> Datum {
  return {Expr::real(value)};
}

// ---- other names --------------------------------------------------------------------------------

struct OtherName {
  std::string_view schema;
  std::string_view target;
};
constexpr OtherName kOtherNames[] = {
    {"aten::absolute(Tensor self) -> Tensor", "aten.abs.default"},
    {"aten::arccos(Tensor self) -> Tensor", "aten.acos.default"},
    {"aten::arccosh(Tensor self) -> Tensor", "aten.acosh.default"},
    {"aten::arcsin(Tensor self) -> Tensor", "aten.asin.default"},
    {"aten::arcsinh(Tensor self) -> Tensor", "aten.asinh.default"},
    {"aten::arctan(Tensor self) -> Tensor", "aten.atan.default"},
    {"aten::arctanh(Tensor self) -> Tensor", "aten.atanh.default"},
    {"aten::arctan2(Tensor self, Tensor other) -> Tensor", "aten.atan2.default"},
    {"aten::argwhere(Tensor self) -> Tensor", "aten.nonzero.default"},
    {"aten::broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)", "aten.expand.default"},
    {"aten::clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", "aten.clamp.default"},
    {"aten::clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
     "aten.clamp.Tensor"},
    {"aten::concat(Tensor[] tensors, int dim=0) -> Tensor", "aten.cat.default"},
    {"aten::concatenate(Tensor[] tensors, int dim=0) -> Tensor", "aten.cat.default"},
    {"aten::divide.Tensor(Tensor self, Tensor other) -> Tensor", "aten.div.Tensor"},
    {"aten::divide.Scalar(Tensor self, Scalar other) -> Tensor", "aten.div.Scalar"},
    {"aten::divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
     "aten.div.Tensor_mode"},
    {"aten::divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
     "aten.div.Scalar_mode"},
    {"aten::true_divide.Scalar(Tensor self, Scalar other) -> Tensor", "aten.div.Scalar"},
    {"aten::fix(Tensor self) -> Tensor", "aten.trunc.default"},
    {"aten::greater.Tensor(Tensor self, Tensor other) -> Tensor", "aten.gt.Tensor"},
    {"aten::greater.Scalar(Tensor self, Scalar other) -> Tensor", "aten.gt.Scalar"},
    {"aten::greater_equal.Tensor(Tensor self, Tensor other) -> Tensor", "aten.ge.Tensor"},
    {"aten::greater_equal.Scalar(Tensor self, Scalar other) -> Tensor", "aten.ge.Scalar"},
    {"aten::less.Tensor(Tensor self, Tensor other) -> Tensor", "aten.lt.Tensor"},
    {"aten::less.Scalar(Tensor self, Scalar other) -> Tensor", "aten.lt.Scalar"},
    {"aten::less_equal.Tensor(Tensor self, Tensor other) -> Tensor", "aten.le.Tensor"},
    {"aten::less_equal.Scalar(Tensor self, Scalar other) -> Tensor", "aten.le.Scalar"},
    {"aten::not_equal.Tensor(Tensor self, Tensor other) -> Tensor", "aten.ne.Tensor"},
    {"aten::not_equal.Scalar(Tensor self, Scalar other) -> Tensor", "aten.ne.Scalar"},
    {"aten::moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
     "aten.movedim.int"},
    {"aten::moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
     "aten.movedim.intlist"},
    {"aten::multiply.Tensor(Tensor self, Tensor other) -> Tensor", "aten.mul.Tensor"},
    {"aten::multiply.Scalar(Tensor self, Scalar other) -> Tensor", "aten.mul.Scalar"},
    {"aten::negative(Tensor self) -> Tensor", "aten.neg.default"},
    {"aten::subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
     "aten.sub.Tensor"},
    {"aten::subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
     "aten.sub.Scalar"}};

auto by_other_name(Composer& c) -> Datum {
  const auto* const row = std::ranges::find(kOtherNames, c.row().schema_text, &OtherName::schema);
  return c.call(row->target, all_args(c));
}
auto itself(Composer& c) -> Datum {
  return c.arg(0);
}

// ---- activations --------------------------------------------------------------------------------

constexpr double kSeluAlpha = 1.6732632423543772848170429916717;
constexpr double kSeluScale = 1.0507009873554804934193349852946;

auto relu6(Composer& c) -> Datum {
  return c.call("aten.hardtanh.default", {c.arg(0), Datum{Expr(0)}, Datum{Expr(6)}});
}
auto relu6_in_place(Composer& c) -> Datum {
  return c.call("aten.copy_.default", {c.arg(0), relu6(c)});
}
auto selu(Composer& c) -> Datum {
  return c.call("aten.elu.default", {c.arg(0), number(kSeluAlpha), number(kSeluScale)});
}
auto selu_in_place(Composer& c) -> Datum {
  return c.call("aten.copy_.default", {c.arg(0), selu(c)});
}
auto log_sigmoid(Composer& c) -> Datum {
  return c.item(c.call("aten.log_sigmoid_forward.default", {c.arg(0)}), 0);
}
/// One slope, or one per channel.
auto prelu(Composer& c) -> Datum {
  const auto self = c.meta(0);
  const auto weight = c.meta(1);
  if (weight.rank() > 1) return c.fail("the slopes are a vector or a number"), Datum{};
  if (self.rank() == weight.rank()) return c.call("aten._prelu_kernel.default", all_args(c));
  Dims shape(self.sizes.size(), Expr(1));
  if (shape.size() > 1) shape[1] = numel(weight);
  return c.call("aten._prelu_kernel.default",
                {c.arg(0), c.call("aten.reshape.default", {c.arg(1), int_list(shape)})});
}
/// Writes self even where nothing is dropped.
auto dropout_in_place(Composer& c) -> Datum {
  const auto dropped = c.call("aten.dropout.default", all_args(c));
  return c.flag(2) && !c.error() ? c.call("aten.copy_.default", {c.arg(0), dropped}) : c.arg(0);
}

// ---- convolutions and pools ---------------------------------------------------------------------

/// An input without batch gets one of size 1.
template <class F>
auto with_batch(Composer& c, int spatial, const F& f) -> Datum {
  const bool batched = c.meta(0).rank() != spatial + 1;
  const auto input =
      batched ? c.arg(0) : c.call("aten.unsqueeze.default", {c.arg(0), Datum{Expr(0)}});
  const auto result = f(input);
  if (c.error()) return {};
  return batched ? result : c.call("aten.squeeze.dim", {result, Datum{Expr(0)}});
}
/// input, weight, bias, stride, padding, output_padding, groups, dilation.
template <int kSpatial>
auto conv_transpose(Composer& c) -> Datum {
  return with_batch(c, kSpatial, [&](const Datum& input) {
    return c.call("aten.convolution.default",
                  {input, c.arg(1), c.arg(2), c.arg(3), c.arg(4), c.arg(7),
                   Datum{Expr::boolean(true)}, c.arg(5), c.arg(6)});
  });
}
/// input, weight, bias, stride, padding ("same" or "valid"), dilation, groups. What does not split
/// evenly is padded at the end first.
template <int kSpatial>
auto conv_padding(Composer& c) -> Datum {
  const bool same = c.text(4) == "same";
  if (!same && c.text(4) != "valid") return c.fail("padding is 'same' or 'valid'"), Datum{};
  const auto weight = c.meta(1);
  const auto dilation = c.exprs(5);
  if (weight.rank() != kSpatial + 2 || dilation.empty())
    return c.fail("the weight has two dimensions more than the window"), Datum{};
  Dims padding(kSpatial, Expr(0));
  Dims extra;
  bool uneven = false;
  for (std::size_t i = kSpatial; same && i-- > 0;) {
    const auto total = dilation[std::min(i, dilation.size() - 1)] * (weight.sizes[i + 2] - 1);
    padding[i] = floor_div(total, 2);
    const auto rest = total - 2 * padding[i];
    extra.insert(extra.end(), {Expr(0), rest});
    uneven |= !c.decide(eq(rest, 0), "the padding splits evenly");
  }
  return with_batch(c, kSpatial, [&](const Datum& input) {
    const auto padded =
        uneven ? c.call("aten.constant_pad_nd.default", {input, int_list(extra)}) : input;
    return c.call("aten.convolution.default",
                  {padded, c.arg(1), c.arg(2), c.arg(3), int_list(padding), c.arg(5),
                   Datum{Expr::boolean(false)}, int_list(Dims{0}), c.arg(6)});
  });
}
/// A window of one dimension as one of two with height 1.
auto flat(Composer& c, int arg, const Expr& height) -> Datum {
  auto values = c.exprs(arg);
  if (values.size() == 1) values.insert(values.begin(), height);
  return int_list(values);
}
auto max_pool1d(Composer& c) -> Datum {
  const auto tall = c.call("aten.unsqueeze.default", {c.arg(0), Datum{Expr(-2)}});
  const auto pooled =
      c.call("aten.max_pool2d_with_indices.default",
             {tall, flat(c, 1, 1), flat(c, 2, 1), flat(c, 3, 0), flat(c, 4, 1), c.arg(5)});
  return c.error() ? Datum{} : c.call("aten.squeeze.dim", {c.item(pooled, 0), Datum{Expr(-2)}});
}
auto adaptive_max_pool1d(Composer& c) -> Datum {
  const auto tall = c.call("aten.unsqueeze.default", {c.arg(0), Datum{Expr(-2)}});
  const auto pooled = c.call("aten.adaptive_max_pool2d.default", {tall, flat(c, 1, 1)});
  if (c.error()) return {};
  DatumList results;
  for (std::size_t i = 0; i < 2; ++i)
    results.push_back(c.call("aten.squeeze.dim", {c.item(pooled, i), Datum{Expr(-2)}}));
  return {std::move(results)};
}

// ---- norms, distances, losses -------------------------------------------------------------------

/// var, std and their means with `unbiased` instead of a correction; `dim` and `keepdim` if given.
auto with_correction(Composer& c) -> Datum {
  auto name = c.row().name();
  name = name.substr(0, name.rfind('.')) + ".correction";
  const bool has_dim = param(c, "dim") >= 0;
  const bool unbiased = c.flag(param(c, "unbiased"));
  return c.call(name, {c.arg(0), has_dim ? c.arg(1) : Datum{}, Datum{Expr(unbiased ? 1 : 0)},
                       has_dim ? c.arg(3) : Datum{Expr::boolean(false)}});
}
auto instance_norm(Composer& c) -> Datum {
  const auto input = c.meta(0);
  if (input.rank() < 2) return c.fail("the input has a batch and channels"), Datum{};
  if (!c.flag(5) && (!c.has(3) || !c.has(4)))
    return c.fail("evaluation needs running statistics"), Datum{};
  const auto& batch = input.sizes[0];
  auto shape = input.sizes;
  shape[0] = 1;
  shape[1] = batch * input.sizes[1];
  const auto repeated = [&](int arg) {
    return c.has(arg) ? c.call("aten.repeat.default", {c.arg(arg), int_list(Dims{batch})})
                      : Datum{};
  };
  const auto packed = c.call("aten.clone.default", {c.arg(0), Datum{MemoryFormat::contiguous}});
  const auto flat_input = c.call("aten.view.default", {packed, int_list(shape)});
  const Datum running[] = {repeated(3), repeated(4)};
  const auto normed =
      c.call("aten.batch_norm.default", {flat_input, repeated(1), repeated(2), running[0],
                                         running[1], c.arg(5), c.arg(6), c.arg(7), c.arg(8)});
  // Each sample has statistics of its own; their mean is what the arguments become.
  for (int i = 0; i < 2; ++i) {
    if (!c.has(3 + i)) continue;
    const auto apart =
        c.call("aten.view.default", {running[i], int_list(Dims{batch, input.sizes[1]})});
    const auto mean = c.call("aten.mean.dim", {apart, int_list(Dims{0})});
    c.call("aten.copy_.default", {c.arg(3 + i), mean});
  }
  return c.error() ? Datum{} : c.call("aten.view.default", {normed, int_list(input.sizes)});
}
auto reduced_loss(Composer& c, const Datum& losses, int arg) -> Datum {
  if (c.error() || c.integer(arg) == 0) return losses;
  return c.call(c.integer(arg) == 1 ? "aten.mean.default" : "aten.sum.default", {losses});
}
auto l1_loss(Composer& c) -> Datum {
  const auto distance = c.call("aten.sub.Tensor", {c.arg(0), c.arg(1)});
  return reduced_loss(c, c.call("aten.abs.default", {distance}), 2);
}
auto kl_div(Composer& c) -> Datum {
  if (c.flag(3)) {
    const auto distance = c.call("aten.sub.Tensor", {c.arg(1), c.arg(0)});
    return reduced_loss(
        c, c.call("aten.mul.Tensor", {c.call("aten.exp.default", {c.arg(1)}), distance}), 2);
  }
  const auto entropy = c.call("aten.xlogy.Tensor", {c.arg(1), c.arg(1)});
  const auto cross = c.call("aten.mul.Tensor", {c.arg(1), c.arg(0)});
  return reduced_loss(c, c.call("aten.sub.Tensor", {entropy, cross}), 2);
}
/// x1, x2, dim, eps.
auto cosine_similarity(Composer& c) -> Datum {
  auto layout = layout_call(c);
  const auto sizes = broadcast(layout, c.meta(0).sizes, c.meta(1).sizes);
  if (const auto& error = layout.error()) return c.fail(*error), Datum{};
  const auto unit = [&](int arg) {
    const auto tensor = c.call("aten.expand.default", {c.arg(arg), int_list(sizes)});
    const auto norm =
        c.call("aten.linalg_vector_norm.default",
               {tensor, Datum{Expr(2)}, Datum{DatumList{c.arg(2)}}, Datum{Expr::boolean(true)}});
    return c.call("aten.div.Tensor", {tensor, c.call("aten.clamp_min.default", {norm, c.arg(3)})});
  };
  const auto product = c.call("aten.mul.Tensor", {unit(0), unit(1)});
  return c.call("aten.sum.dim_IntList", {product, Datum{DatumList{c.arg(2)}}});
}
auto frobenius_norm(Composer& c) -> Datum {
  return c.call("aten.linalg_vector_norm.default", {c.arg(0), Datum{Expr(2)}, c.arg(1), c.arg(2)});
}
auto isfinite(Composer& c) -> Datum {
  const auto dtype = c.meta(0).dtype;
  if (!is_floating(dtype) && !is_complex(dtype))
    return c.call("aten.ones_like.default", {c.arg(0), Datum{DType::boolean}});
  const auto size = c.call("aten.abs.default", {c.arg(0)});
  return c.call(
      "aten.mul.Tensor",
      {c.call("aten.eq.Tensor", {c.arg(0), c.arg(0)}),
       c.call("aten.ne.Scalar", {size, number(std::numeric_limits<double>::infinity())})});
}

// ---- shapes -------------------------------------------------------------------------------------

/// At least so many dimensions: the first comes in front, the third at the end.
auto at_least(Composer& c, Datum tensor, int rank) -> Datum {
  while (!c.error() && c.meta(tensor).rank() < rank) {
    const Expr where = c.meta(tensor).rank() == 2 ? 2 : 0;
    tensor = c.call("aten.unsqueeze.default", {tensor, Datum{where}});
  }
  return tensor;
}
template <int kRank>
auto at_least_rank(Composer& c) -> Datum {
  return at_least(c, c.arg(0), kRank);
}
/// hstack, vstack and dstack: cat along dim kRank - 1 (vstack: 0) of tensors of that rank.
template <int kRank, int kDim>
auto stack_dims(Composer& c) -> Datum {
  const auto* tensors = c.arg(0).list();
  if (!tensors || tensors->empty()) return c.fail("there is at least one tensor"), Datum{};
  DatumList parts;
  for (const auto& tensor : *tensors) parts.push_back(at_least(c, tensor, kRank));
  if (c.error()) return {};
  const int dim = c.meta(parts[0]).rank() == 1 ? 0 : kDim;
  return c.call("aten.cat.default", {Datum{std::move(parts)}, Datum{Expr(dim)}});
}
auto column_stack(Composer& c) -> Datum {
  const auto* tensors = c.arg(0).list();
  if (!tensors || tensors->empty()) return c.fail("there is at least one tensor"), Datum{};
  DatumList parts;
  for (const auto& tensor : *tensors) {
    const auto meta = c.meta(tensor);
    parts.push_back(meta.rank() > 1
                        ? tensor
                        : c.call("aten.reshape.default", {tensor, int_list(Dims{numel(meta), 1})}));
  }
  return c.call("aten.cat.default", {Datum{std::move(parts)}, Datum{Expr(1)}});
}
auto tile(Composer& c) -> Datum {
  auto counts = c.exprs(1);
  const auto rank = c.meta(0).sizes.size();
  if (counts.size() < rank) counts.insert(counts.begin(), rank - counts.size(), Expr(1));
  return c.call("aten.repeat.default", {c.arg(0), int_list(counts)});
}
/// self, repeats, dim, output_size.
auto repeat_each(Composer& c) -> Datum {
  const auto self =
      c.has(2) ? c.arg(0) : c.call("aten.reshape.default", {c.arg(0), int_list(Dims{-1})});
  auto sizes = c.meta(self).sizes;
  const auto rank = static_cast<std::int64_t>(sizes.size());
  const auto dim = wrap_index(c.has(2) ? c.integer(2) : 0, rank);
  if (dim < 0) return c.fail("the dimension is out of range"), Datum{};
  auto joined = sizes;
  joined[static_cast<std::size_t>(dim)] = sizes[static_cast<std::size_t>(dim)] * c.expr(1);
  sizes.insert(sizes.begin() + dim + 1, c.expr(1));
  const auto apart = c.call("aten.unsqueeze.default", {self, Datum{Expr(dim + 1)}});
  const auto wide = c.call("aten.expand.default", {apart, int_list(sizes)});
  const auto packed = c.call("aten.clone.default", {wide, Datum{MemoryFormat::contiguous}});
  return c.call("aten.view.default", {packed, int_list(joined)});
}
auto one_hot(Composer& c) -> Datum {
  auto classes = c.expr(1);
  if (c.integer(1) < 0) {  // one more than the largest
    const auto largest = c.call("aten.item.default", {c.call("aten.max.default", {c.arg(0)})});
    if (c.error() || !largest.scalar()) return {};
    classes = *largest.scalar() + 1;
  }
  auto sizes = c.meta(0).sizes;
  sizes.push_back(classes);
  const auto zeros = c.call("aten.new_zeros.default", {c.arg(0), int_list(sizes)});
  const auto at = c.call("aten.unsqueeze.default", {c.arg(0), Datum{Expr(-1)}});
  return c.call("aten.scatter.value", {zeros, Datum{Expr(-1)}, at, Datum{Expr(1)}});
}
auto ravel(Composer& c) -> Datum {
  const auto packed = c.call("aten.contiguous.default", {c.arg(0)});
  return c.call("aten.view.default", {packed, int_list(Dims{-1})});
}
template <int kDim>
auto flip_dim(Composer& c) -> Datum {
  return c.call("aten.flip.default", {c.arg(0), int_list(Dims{kDim})});
}
auto diag(Composer& c) -> Datum {
  return c.call(c.meta(0).rank() == 1 ? "aten.diag_embed.default" : "aten.diagonal_copy.default",
                {c.arg(0), c.arg(1)});
}
template <int kPart>
auto complex_part(Composer& c) -> Datum {
  if (!is_complex(c.meta(0).dtype)) {
    if (kPart == 1) return c.fail("a real tensor has no imaginary part"), Datum{};
    return c.arg(0);
  }
  if (has(c.meta(0).lazy, Lazy::conjugated)) {
    const auto part = c.call(kPart == 0 ? "aten.real.default" : "aten.imag.default",
                             {c.call("aten._conj.default", {c.arg(0)})});
    return kPart == 0 ? part : c.call("aten._neg_view.default", {part});
  }
  return c.call("aten.select.int", {c.call("aten.view_as_real.default", {c.arg(0)}),
                                    Datum{Expr(-1)}, Datum{Expr(kPart)}});
}

// ---- Fourier transforms -------------------------------------------------------------------------

/// torch's names of who divides by n, as `normalization`: 0 nobody, 1 both by the root, 2 this one.
auto normalization(Composer& c, bool forward) -> Datum {
  const auto norm = c.text(3);
  if (norm == "ortho") return {Expr(1)};
  if (!norm.empty() && norm != "backward" && norm != "forward")
    c.fail("norm is 'forward', 'backward' or 'ortho'");
  return {Expr((norm == "forward") == forward ? 2 : 0)};
}
/// self, n, dim, norm: self cut or padded to n elements along dim.
auto fft_input(Composer& c, const Expr& n) -> Datum {
  const auto self = c.meta(0);
  const auto dim = wrap_index(c.integer(2), self.rank());
  if (dim < 0) return c.fail("the dimension is out of range"), Datum{};
  const auto& size = self.sizes[static_cast<std::size_t>(dim)];
  if (size == n || c.decide(eq(size, n), "the transform takes all elements")) return c.arg(0);
  if (c.decide(gt(size, n), "the transform takes some elements"))
    return c.call("aten.slice.Tensor", {c.arg(0), Datum{Expr(dim)}, Datum{Expr(0)}, Datum{n}});
  Dims padding(2 * (self.sizes.size() - static_cast<std::size_t>(dim)), Expr(0));
  padding.back() = n - size;
  return c.call("aten.constant_pad_nd.default", {c.arg(0), int_list(padding)});
}
auto fft_length(Composer& c) -> Expr {
  if (c.has(1)) return c.expr(1);
  const auto self = c.meta(0);
  const auto dim = wrap_index(c.integer(2), self.rank());
  return dim < 0 ? Expr(0) : self.sizes[static_cast<std::size_t>(dim)];
}
auto floats(Composer& c, const Datum& tensor) -> Datum {
  const auto dtype = c.meta(tensor).dtype;
  if (is_floating(dtype) || is_complex(dtype)) return tensor;
  return c.call("prims.convert_element_type.default", {tensor, Datum{kDefaultFloat}});
}
template <bool kForward>
auto fft(Composer& c) -> Datum {
  auto input = fft_input(c, fft_length(c));
  if (c.error()) return {};
  input = floats(c, input);
  const Datum dims{DatumList{c.arg(2)}};
  if (is_complex(c.meta(input).dtype))
    return c.call("aten._fft_c2c.default",
                  {input, dims, normalization(c, kForward), Datum{Expr::boolean(kForward)}});
  const auto half = c.call("aten._fft_r2c.default",
                           {input, dims, normalization(c, kForward), Datum{Expr::boolean(false)}});
  return kForward ? half : c.call("aten._conj_physical.default", {half});
}
auto rfft(Composer& c) -> Datum {
  const auto input = fft_input(c, fft_length(c));
  if (c.error()) return {};
  return c.call("aten._fft_r2c.default", {floats(c, input), Datum{DatumList{c.arg(2)}},
                                          normalization(c, true), Datum{Expr::boolean(true)}});
}
auto irfft(Composer& c) -> Datum {
  const auto n = c.has(1) ? c.expr(1) : 2 * (fft_length(c) - 1);
  auto input = fft_input(c, floor_div(n, 2) + 1);
  if (c.error()) return {};
  input = floats(c, input);
  if (const auto dtype = complex_of(c.meta(input).dtype))
    input = c.call("prims.convert_element_type.default", {input, Datum{*dtype}});
  return c.call("aten._fft_c2r.default",
                {input, Datum{DatumList{c.arg(2)}}, normalization(c, false), Datum{n}});
}

/// A lazy tensor is carried out, any other is itself.
template <Lazy kBit>
auto resolved(Composer& c) -> Datum {
  if (!has(c.meta(0).lazy, kBit)) return c.arg(0);
  return c.call("aten.clone.default", {c.arg(0)});
}
auto conj(Composer& c) -> Datum {
  return is_complex(c.meta(0).dtype) ? c.call("aten._conj.default", {c.arg(0)}) : c.arg(0);
}

auto composed(std::string_view schema, Decomposition decomposition) -> OpRow {
  return {.schema_text = schema, .decomposition = decomposition};
}

}  // namespace

// clang-format off
void add_functional_rows(OpTable& t) {
  for (const auto& other : kOtherNames) t.add(composed(other.schema, by_other_name));
  t.add(composed("aten::positive(Tensor(a) self) -> Tensor(a)", itself));
  t.add(composed("aten::resolve_conj(Tensor(a) self) -> Tensor(a)", resolved<Lazy::conjugated>));
  t.add(composed("aten::resolve_neg(Tensor(a) self) -> Tensor(a)", resolved<Lazy::negated>));
  t.add(composed("aten::conj(Tensor(a) self) -> Tensor(a)", conj));

  t.add(composed("aten::relu6(Tensor self) -> Tensor", relu6));
  t.add(composed("aten::relu6_(Tensor(a!) self) -> Tensor(a!)", relu6_in_place));
  t.add(composed("aten::selu(Tensor self) -> Tensor", selu));
  t.add(composed("aten::selu_(Tensor(a!) self) -> Tensor(a!)", selu_in_place));
  t.add(composed("aten::log_sigmoid(Tensor self) -> Tensor", log_sigmoid));
  t.add(composed("aten::prelu(Tensor self, Tensor weight) -> Tensor", prelu));
  t.add({.schema_text = "aten::dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)", .decomposition = dropout_in_place, .random = true});

  t.add(composed("aten::conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, SymInt[1] padding=0, SymInt[1] output_padding=0, SymInt groups=1, SymInt[1] dilation=1) -> Tensor", conv_transpose<1>));
  t.add(composed("aten::conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0, SymInt[2] output_padding=0, SymInt groups=1, SymInt[2] dilation=1) -> Tensor", conv_transpose<2>));
  t.add(composed("aten::conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, SymInt[3] padding=0, SymInt[3] output_padding=0, SymInt groups=1, SymInt[3] dilation=1) -> Tensor", conv_transpose<3>));
  t.add(composed("aten::conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, str padding='valid', SymInt[1] dilation=1, SymInt groups=1) -> Tensor", conv_padding<1>));
  t.add(composed("aten::conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, str padding='valid', SymInt[2] dilation=1, SymInt groups=1) -> Tensor", conv_padding<2>));
  t.add(composed("aten::conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, str padding='valid', SymInt[3] dilation=1, SymInt groups=1) -> Tensor", conv_padding<3>));
  t.add(composed("aten::max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, int[1] dilation=1, bool ceil_mode=False) -> Tensor", max_pool1d));
  t.add(composed("aten::adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)", adaptive_max_pool1d));

  t.add(composed("aten::var(Tensor self, bool unbiased=True) -> Tensor", with_correction));
  t.add(composed("aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor", with_correction));
  t.add(composed("aten::std(Tensor self, bool unbiased=True) -> Tensor", with_correction));
  t.add(composed("aten::std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor", with_correction));
  t.add(composed("aten::var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)", with_correction));
  t.add(composed("aten::var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)", with_correction));
  t.add(composed("aten::std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)", with_correction));
  t.add(composed("aten::std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)", with_correction));
  t.add(composed("aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor", instance_norm));
  t.add(composed("aten::l1_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor", l1_loss));
  t.add(composed("aten::kl_div(Tensor self, Tensor target, int reduction=Mean, *, bool log_target=False) -> Tensor", kl_div));
  t.add(composed("aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor", cosine_similarity));
  t.add(composed("aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", frobenius_norm));
  t.add(composed("aten::isfinite(Tensor self) -> Tensor", isfinite));

  t.add(composed("aten::atleast_1d(Tensor(a) self) -> Tensor(a)", at_least_rank<1>));
  t.add(composed("aten::atleast_2d(Tensor(a) self) -> Tensor(a)", at_least_rank<2>));
  t.add(composed("aten::atleast_3d(Tensor(a) self) -> Tensor(a)", at_least_rank<3>));
  t.add(composed("aten::hstack(Tensor[] tensors) -> Tensor", stack_dims<1, 1>));
  t.add(composed("aten::vstack(Tensor[] tensors) -> Tensor", stack_dims<2, 0>));
  t.add(composed("aten::row_stack(Tensor[] tensors) -> Tensor", stack_dims<2, 0>));
  t.add(composed("aten::dstack(Tensor[] tensors) -> Tensor", stack_dims<3, 2>));
  t.add(composed("aten::column_stack(Tensor[] tensors) -> Tensor", column_stack));
  t.add(composed("aten::tile(Tensor self, SymInt[] dims) -> Tensor", tile));
  t.add(composed("aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor", repeat_each));
  t.add(composed("aten::one_hot(Tensor self, int num_classes=-1) -> Tensor", one_hot));
  t.add(composed("aten::ravel(Tensor(a) self) -> Tensor(a)", ravel));
  t.add(composed("aten::fliplr(Tensor self) -> Tensor", flip_dim<1>));
  t.add(composed("aten::flipud(Tensor self) -> Tensor", flip_dim<0>));
  t.add(composed("aten::diag(Tensor self, int diagonal=0) -> Tensor", diag));
  t.add(composed("aten::real(Tensor(a) self) -> Tensor(a)", complex_part<0>));
  t.add(composed("aten::imag(Tensor(a) self) -> Tensor(a)", complex_part<1>));

  t.add(composed("aten::fft_fft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", fft<true>));
  t.add(composed("aten::fft_ifft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", fft<false>));
  t.add(composed("aten::fft_rfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", rfft));
  t.add(composed("aten::fft_irfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", irfft));
}
// clang-format on

}  // namespace assay
