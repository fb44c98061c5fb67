// Layers of transformers that PyTorch has as one operator (aten/src/ATen/native/transformers/
// attention.cpp, transformer.cpp), and masks with scales (Dropout.cu, SoftMax.cpp).
#include <cmath>

#include "core/ops/composing.h"

namespace assay {
namespace {

/// A tensor over the root of a number of features, in place.
void divide_by_root(Composer& c, const Datum& tensor, const Expr& features) {
  const Expr power[] = {features * Expr::real(1), Expr::real(-0.5)};
  const auto count = features.as_int();
  c.call("aten.mul_.Scalar", {tensor, count ? number(1 / std::sqrt(static_cast<double>(*count)))
                                            : Datum{make(ExprOp::float_pow, power)}});
}
/// [batch, positions, 3 heads features] with bias, as query, key and value [batch, heads,
/// positions, features] of one storage, the query over the root of the features.
auto split_projection(Composer& c, const Datum& projected, const Datum& bias, const Expr& heads)
    -> DatumList {
  const auto meta = c.meta(projected);
  if (meta.rank() != 3) return c.fail("a batch of positions is needed"), DatumList(3);
  const auto features = floor_div(floor_div(meta.sizes[2], Expr(3)), heads);
  auto parts = reshaped(c, add(c, projected, bias),
                        {meta.sizes[0], meta.sizes[1], Expr(3), heads, features});
  parts = c.call("aten.permute.default", {parts, int_list(Ints{2, 0, 3, 1, 4})});
  parts = c.call("aten.clone.default", {parts, Datum{MemoryFormat::contiguous}});
  DatumList results;
  for (std::int64_t i = 0; i < 3; ++i)
    results.push_back(c.call("aten.select.int", {parts, integer(0), integer(i)}));
  divide_by_root(c, results[0], features);
  return results;
}
auto transform_bias_rescale(Composer& c) -> Datum {
  return {split_projection(c, c.arg(0), c.arg(1), c.expr(2))};
}

/// A mask as [batch, heads, queries, keys]: type 0 says [queries, keys], 1 says [batch, keys].
auto over_scores(Composer& c, const Datum& mask, const Datum& type, const Datum& scores) -> Datum {
  auto result = mask;
  if (type.scalar() && type.scalar()->is_int(1)) result = unsqueezed(c, unsqueezed(c, mask, 1), 1);
  return c.call("aten.expand.default", {result, int_list(c.meta(scores).sizes)});
}
struct Attention {
  Datum output, weights;
};
/// `first` is the position of qkv_weight; query, key and value are projected by a third of it each.
auto attend(Composer& c, const DatumList& operands, int first, const Expr& heads, const Datum& mask,
            const Datum& mask_type) -> Attention {
  const auto width =
      c.meta(first).sizes.empty() ? Expr(0) : floor_div(c.meta(first).sizes[0], Expr(3));
  DatumList parts;
  const auto positions = [&](const Datum& tensor) { return c.meta(tensor).sizes; };
  for (std::size_t i = 0; i < 3; ++i) {
    const auto part = [&](const Datum& all) {
      const auto begin = width * static_cast<std::int64_t>(i);
      return c.call("aten.slice.Tensor", {all, integer(0), Datum{begin}, Datum{begin + width}});
    };
    const auto projected =
        c.call("aten.linear.default", {operands[i], part(c.arg(first)), part(c.arg(first + 1))});
    const auto sizes = positions(projected);
    if (c.error() || sizes.size() != 3)
      return c.fail("a batch of positions is needed"), Attention{};
    const auto split = reshaped(c, projected, {sizes[0], sizes[1], heads, floor_div(width, heads)});
    parts.push_back(c.call("aten.transpose.int", {split, integer(1), integer(2)}));
  }
  const auto query = call1(c, "aten.clone.default", parts[0]);
  divide_by_root(c, query, floor_div(width, heads));
  const auto keys = c.call("aten.transpose.int", {parts[1], integer(2), integer(3)});
  auto weights = call2(c, "aten.matmul.default", query, keys);
  weights = mask.is_none()
                ? c.call("aten._softmax.default", {weights, integer(-1), truth(false)})
                : c.call("aten._masked_softmax.default",
                         {weights, over_scores(c, mask, mask_type, weights), integer(3)});
  const auto mixed =
      c.call("aten.transpose.int",
             {call2(c, "aten.matmul.default", weights, parts[2]), integer(1), integer(2)});
  const auto sizes = positions(mixed);
  if (c.error()) return {};
  const auto flat = reshaped(c, mixed, {sizes[0], sizes[1], width});
  return {c.call("aten.linear.default", {flat, c.arg(first + 2), c.arg(first + 3)}), weights};
}
/// query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask,
/// need_weights, average_attn_weights, mask_type.
auto multi_head_attention(Composer& c) -> Datum {
  const auto heads = c.expr(4);
  auto [output, weights] = attend(c, {c.arg(0), c.arg(1), c.arg(2)}, 5, heads, c.arg(9), c.arg(12));
  if (c.error()) return {};
  if (!c.flag(10)) return {DatumList{output, Datum{}}};
  if (c.flag(11)) {
    weights = c.call("aten.sum.dim_IntList", {weights, int_list(Ints{1})});
    weights = call2(c, "aten.div.Scalar", weights, Datum{heads});
  }
  return {DatumList{output, weights}};
}
/// src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first,
/// eps, weights and biases of two norms and of two linear layers, mask, mask_type.
auto encoder_layer(Composer& c) -> Datum {
  const bool first = c.flag(8);
  const auto normed = [&](const Datum& x, int weight) {
    return c.call("aten.layer_norm.default",
                  {x, Datum{DatumList{c.arg(1)}}, c.arg(weight), c.arg(weight + 1), c.arg(9)});
  };
  auto x = first ? normed(c.arg(0), 10) : c.arg(0);
  x = attend(c, {x, x, x}, 3, c.expr(2), c.arg(18), c.arg(19)).output;
  if (c.error()) return {};
  x = add(c, x, c.arg(0));
  if (!first) x = normed(x, 10);
  const auto before = x;
  if (first) x = normed(x, 12);
  x = c.call("aten.linear.default", {x, c.arg(14), c.arg(15)});
  x = c.flag(7) ? call1(c, "aten.gelu.default", x) : call1(c, "aten.relu.default", x);
  x = add(c, c.call("aten.linear.default", {x, c.arg(16), c.arg(17)}), before);
  return first ? x : normed(x, 12);
}

/// grad_output, output, mask (true: left out), dim.
auto masked_softmax_backward(Composer& c) -> Datum {
  const auto kept = [&](int arg) {
    return c.call("aten.masked_fill.Scalar", {c.arg(arg), c.arg(2), integer(0)});
  };
  return c.call("aten._softmax_backward_data.default",
                {kept(0), kept(1), c.has(3) ? c.arg(3) : integer(-1), Datum{c.meta(0).dtype}});
}
/// self, mask, scale, in the format that self suggests.
auto masked_scale_rule(MetaCall& c) -> Datum {
  if (!require_same_sizes(c, c.meta(1).sizes, c.meta(0).sizes, "one flag per element")) return {};
  return suggested(c, c.meta(0), c.meta(0).dtype, c.meta(0).sizes);
}
void masked_scale_kernel(KernelCall& k) {
  auto values = to_vector<double>(k.in(0));
  const auto mask = to_vector<double>(k.in(1));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= mask[i] * k.real(2);
  from_vector<double>(k.out(), values);
}

}  // namespace

// clang-format off
void add_transformer_rows(OpTable& t) {
  t.add({.schema_text = "aten::_transform_bias_rescale_qkv(Tensor qkv, Tensor qkv_bias, int num_heads) -> (Tensor, Tensor, Tensor)", .decomposition = transform_bias_rescale});
  t.add({.schema_text = "aten::_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, Tensor? mask=None, bool need_weights=True, bool average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)", .decomposition = multi_head_attention});
  t.add({.schema_text = "aten::_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool norm_first, float eps, Tensor norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, int? mask_type=None) -> Tensor", .decomposition = encoder_layer});
  t.add({.schema_text = "aten::_masked_softmax_backward(Tensor grad_output, Tensor output, Tensor mask, int? dim=None) -> Tensor", .decomposition = masked_softmax_backward});
  t.add({.schema_text = "aten::_masked_scale(Tensor self, Tensor mask, float scale) -> Tensor", .rule = masked_scale_rule, .kernel = masked_scale_kernel});
}
// clang-format on

}  // namespace assay
