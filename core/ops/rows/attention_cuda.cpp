// CUDA's fused attention as the CPU's in other layouts (aten/src/ATen/native/transformers/cuda/
// attention.cu, attention_backward.cu): outputs and gradients lie by batch, position, head, or as
// the operands do; each kernel keeps its sums and its random state in a shape of its own.
#include <cmath>
#include <limits>

#include "core/ops/rules.h"

namespace assay {
namespace {

auto number(std::int64_t value) -> Datum {
  return {Expr(value)};
}
/// [batch, heads, positions, ...] laid out by position.
auto by_position(Composer& c, const Datum& tensor) -> Datum {
  const auto swapped = c.call("aten.transpose.int", {tensor, number(1), number(2)});
  const auto meta = c.meta(swapped);
  if (meta.strides == contiguous_strides(meta.sizes)) return tensor;
  const auto packed = c.call("aten.clone.default", {swapped, Datum{MemoryFormat::contiguous}});
  return c.call("aten.transpose.int", {packed, number(1), number(2)});
}
auto row_major(Composer& c, const Datum& tensor) -> Datum {
  const auto meta = c.meta(tensor);
  if (meta.strides == contiguous_strides(meta.sizes)) return tensor;
  return c.call("aten.clone.default", {tensor, Datum{MemoryFormat::contiguous}});
}
auto empty_like(Composer& c, const Dims& sizes, DType dtype) -> Datum {
  return c.call("aten.new_zeros.default", {c.arg(0), int_list(sizes), Datum{dtype}});
}

/// Output and sums of the CPU's kernel; half types keep float32 sums there as well. Which elements
/// a dropout keeps depends on the device's generator: layouts are right, values are those without.
auto forward(Composer& c, const Datum& mask) -> DatumList {
  const auto at = [&](const char* name) { return c.arg(param(c, name)); };
  const auto both = c.call(
      "aten._scaled_dot_product_flash_attention_for_cpu.default",
      {c.arg(0), c.arg(1), c.arg(2), Datum{Expr::real(0)}, at("is_causal"), mask, at("scale")});
  if (c.error()) return {Datum{}, Datum{}};
  return {by_position(c, c.item(both, 0)), row_major(c, c.item(both, 1))};
}

/// query, key, value, attn_bias, compute_log_sumexp, dropout_p, is_causal, scale. The sums are
/// padded to a multiple of 32 positions, or left out.
auto efficient(Composer& c) -> Datum {
  const auto query = c.meta(0);
  auto results = forward(c, c.arg(3));
  if (c.error()) return {};
  constexpr std::int64_t kAlignment = 32;
  const auto& positions = query.sizes[2];
  if (c.flag(4)) {
    const Dims padding{0, ceil_div(positions, Expr(kAlignment)) * kAlignment - positions};
    results[1] = c.call("aten.constant_pad_nd.default",
                        {results[1], int_list(padding),
                         Datum{Expr::real(std::numeric_limits<double>::infinity())}});
  } else {
    results[1] = empty_like(c, {query.sizes[0], query.sizes[1], 0}, DType::float32);
  }
  for (int i = 0; i < 2; ++i) results.push_back(empty_like(c, {}, DType::int64));
  return {std::move(results)};
}
/// The gradient of what was added to the scores: the weights times (their gradient - its mean).
/// Rows begin at multiples of 16 elements.
auto bias_gradient(Composer& c, const Datum& sums) -> Datum {
  if (c.flag(11)) return c.unsupported("the gradient of the bias below a causal mask"), Datum{};
  const auto turned = [&](int i) {
    return c.call("aten.transpose.int", {c.arg(i), number(2), number(3)});
  };
  const auto dot = [&](const Datum& a, const Datum& b) {
    return c.call("aten.matmul.default", {a, b});
  };
  const auto columns = [&](const Datum& a) {
    return c.call("aten.unsqueeze.default", {a, number(3)});
  };
  // Of symbols only layouts are asked for.
  const auto features = static_cast<double>(c.meta(1).sizes[3].as_int().value_or(1));
  const Datum scale = c.has(12) ? c.arg(12) : Datum{Expr::real(1 / std::sqrt(features))};
  const auto scores = c.call(
      "aten.add.Tensor", {c.call("aten.mul.Tensor", {dot(c.arg(1), turned(2)), scale}), c.arg(4)});
  const auto weights =
      c.call("aten.exp.default", {c.call("aten.sub.Tensor", {scores, columns(sums)})});
  const auto mean = c.call("aten.sum.dim_IntList", {c.call("aten.mul.Tensor", {c.arg(0), c.arg(5)}),
                                                    int_list(Ints{3}), Datum{Expr::boolean(true)}});
  const auto slopes = c.call("aten.sub.Tensor", {dot(c.arg(0), turned(3)), mean});
  const auto gradient = c.call("aten.mul.Tensor", {weights, slopes});
  if (c.error()) return {};
  constexpr std::int64_t kAlignment = 16;
  auto rows = c.meta(4).sizes;
  rows.back() = ceil_div(rows.back(), Expr(kAlignment)) * kAlignment;
  const auto aligned =
      c.call("aten.slice.Tensor", {c.call("aten.new_empty.default", {c.arg(4), int_list(rows)}),
                                   number(3), number(0), Datum{c.meta(4).sizes.back()}});
  return c.call("aten.copy_.default", {aligned, gradient});
}
/// grad_out, query, key, value, attn_bias, out, logsumexp, seed, offset, dropout_p, mask,
/// is_causal, scale.
auto efficient_backward(Composer& c) -> Datum {
  const auto positions = c.meta(1).sizes.size() == 4 ? c.meta(1).sizes[2] : Expr(0);
  const auto sums = c.call("aten.slice.Tensor", {c.arg(6), number(2), number(0), Datum{positions}});
  const auto grads = c.call("aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
                            {c.arg(0), c.arg(1), c.arg(2), c.arg(3), c.arg(5), sums, c.arg(9),
                             c.arg(11), c.arg(4), c.arg(12)});
  if (c.error()) return {};
  DatumList results;
  for (std::size_t i = 0; i < 3; ++i) results.push_back(by_position(c, c.item(grads, i)));
  const auto wanted = c.flags(10);
  results.push_back(c.has(4) && wanted.size() == 4 && wanted[3] ? bias_gradient(c, sums) : Datum{});
  return {std::move(results)};
}

/// The dimensions of a tensor, those of large strides first (alloc_with_matching_layout).
auto by_stride(Composer& c, const TensorMeta& like) -> Ints {
  Ints order;
  for (std::size_t d = 0; d < like.strides.size(); ++d) {
    auto at = order.size();
    const auto before = [&](std::int64_t other) {
      return like.strides[static_cast<std::size_t>(other)];
    };
    while (at > 0 && c.decide(gt(like.strides[d], before(order[at - 1])), "order of strides")) --at;
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(at), static_cast<std::int64_t>(d));
  }
  return order;
}
/// Contents of a tensor densely, its dimensions in the order that they have in another.
auto ordered_like(Composer& c, const Datum& like, const Datum& tensor) -> Datum {
  const auto order = by_stride(c, c.meta(like));
  Ints back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  const auto turned = c.call("aten.permute.default", {tensor, int_list(order)});
  return c.call("aten.permute.default", {row_major(c, turned), int_list(back)});
}
/// Contents of a tensor in the layout that empty_like gives another of its sizes.
auto laid_out_like(Composer& c, const Datum& like, const Datum& tensor) -> Datum {
  const auto made = c.meta(tensor), wanted = c.meta(c.call("aten.empty_like.default", {like}));
  if (made.dtype == wanted.dtype && made.strides == wanted.strides) return tensor;
  if (c.meta(like).strides != wanted.strides) return ordered_like(c, like, tensor);
  return c.call("aten.copy.default", {like, tensor});
}
/// query, key, value, dropout_p, is_causal, return_debug_mask, scale.
auto flash(Composer& c) -> Datum {
  if (c.flag(5)) return c.unsupported("the debug mask"), Datum{};
  auto results = forward(c, Datum{});
  if (c.error()) return {};
  results[0] = laid_out_like(c, c.arg(0), results[0]);
  const Datum lengths[] = {Datum{c.meta(0).sizes[2]}, Datum{c.meta(1).sizes[2]}};
  results.insert(results.end(), {Datum{}, Datum{}, lengths[0], lengths[1]});
  results.push_back(empty_like(c, {2}, DType::uint64));
  results.push_back(empty_like(c, {}, DType::uint64));
  results.push_back(empty_like(c, {0}, c.meta(0).dtype));
  return {std::move(results)};
}

/// grad_out, query, key, value, out, logsumexp, then by name: gradients lie as the operands do.
auto operand_gradients(Composer& c) -> Datum {
  const auto at = [&](const char* name) { return c.arg(param(c, name)); };
  const auto query = c.meta(1);
  if (query.rank() != 4) return c.unsupported("packed sequences"), Datum{};
  auto sums = c.arg(5);
  if (c.meta(5).rank() == 4) sums = c.call("aten.squeeze.dim", {sums, number(3)});
  const int bias = param(c, "attn_bias");
  const bool has_bias = bias >= 0 && c.has(bias) && c.meta(bias).rank() > 1;
  const auto grads =
      c.call("aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
             {c.arg(0), c.arg(1), c.arg(2), c.arg(3), c.arg(4), sums, Datum{Expr::real(0)},
              at("is_causal"), has_bias ? c.arg(bias) : Datum{}, at("scale")});
  if (c.error()) return {};
  DatumList results;
  for (std::size_t i = 0; i < 3; ++i)
    results.push_back(laid_out_like(c, c.arg(static_cast<int>(i) + 1), c.item(grads, i)));
  return {std::move(results)};
}
/// query, key, value, then by name. The output lies as the query does, sums have a column.
auto cudnn(Composer& c) -> Datum {
  const auto query = c.meta(0);
  if (query.rank() != 4) return c.unsupported("packed sequences"), Datum{};
  if (c.flag(param(c, "return_debug_mask"))) return c.unsupported("the debug mask"), Datum{};
  auto results = forward(c, c.arg(3));
  if (c.error()) return {};
  const bool has_its_size = c.decide(eq(query.sizes[3], c.meta(2).sizes[3]), "one feature size");
  results[0] =
      has_its_size ? laid_out_like(c, c.arg(0), results[0]) : ordered_like(c, c.arg(0), results[0]);
  results[1] = c.flag(param(c, "compute_log_sumexp"))
                   ? c.call("aten.unsqueeze.default", {results[1], number(3)})
                   : Datum{};
  const Datum lengths[] = {Datum{query.sizes[2]}, Datum{c.meta(1).sizes[2]}};
  results.insert(results.end(), {Datum{}, Datum{}, lengths[0], lengths[1]});
  for (int i = 0; i < 2; ++i) results.push_back(empty_like(c, {}, DType::int64));
  results.emplace_back();
  return {std::move(results)};
}
/// out (written), query, key, value, ...: the sums.
auto cudnn_into(Composer& c) -> Datum {
  const auto at = [&](const char* name) { return c.arg(param(c, name)); };
  if (c.meta(1).rank() != 4) return c.unsupported("packed sequences"), Datum{};
  const auto both = c.call(
      "aten._scaled_dot_product_flash_attention_for_cpu.default",
      {c.arg(1), c.arg(2), c.arg(3), Datum{Expr::real(0)}, at("is_causal"), Datum{}, at("scale")});
  if (c.error()) return {};
  c.call("aten.copy_.default", {c.arg(0), c.item(both, 0)});
  return c.call("aten.unsqueeze.default", {row_major(c, c.item(both, 1)), number(3)});
}
/// query, key, value, their scales, dropout_p, is_causal, return_debug_mask, scale.
auto flash_quantized(Composer& c) -> Datum {
  const auto turned = [&](const Datum& tensor) {
    return c.call("aten.transpose.int", {tensor, number(1), number(2)});
  };
  const Datum queries{c.meta(0).sizes.size() == 4 ? c.meta(0).sizes[2] : Expr(0)};
  const Datum keys{c.meta(1).sizes.size() == 4 ? c.meta(1).sizes[2] : Expr(0)};
  const auto all =
      c.call("aten._flash_attention_forward.quantized",
             {turned(c.arg(0)), turned(c.arg(1)), turned(c.arg(2)), Datum{}, Datum{}, queries, keys,
              c.arg(6), c.arg(7), c.arg(8), c.arg(3), c.arg(4), c.arg(5), c.arg(9)});
  if (c.error()) return {};
  return {DatumList{turned(c.item(all, 0)),
                    c.item(all, 1),
                    {},
                    {},
                    queries,
                    keys,
                    c.item(all, 2),
                    c.item(all, 3),
                    c.item(all, 4)}};
}

}  // namespace

// clang-format off
void add_attention_cuda_rows(OpTable& t) {
  t.add({.schema_text = "aten::_scaled_dot_product_efficient_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, bool compute_log_sumexp, float dropout_p=0., bool is_causal=False, *, float? scale=None) -> (Tensor output, Tensor log_sumexp, Tensor philox_seed, Tensor philox_offset)", .decomposition = efficient});
  t.add({.schema_text = "aten::_scaled_dot_product_efficient_attention_backward(Tensor grad_out_, Tensor query, Tensor key, Tensor value, Tensor? attn_bias, Tensor out, Tensor logsumexp, Tensor philox_seed, Tensor philox_offset, float dropout_p, bool[4] grad_input_mask, bool is_causal=False, *, float? scale=None) -> (Tensor, Tensor, Tensor, Tensor)", .decomposition = efficient_backward});
  t.add({.schema_text = "aten::_scaled_dot_product_flash_attention(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool is_causal=False, bool return_debug_mask=False, *, float? scale=None) -> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)", .decomposition = flash});
  t.add({.schema_text = "aten::_scaled_dot_product_flash_attention.quantized(Tensor query, Tensor key, Tensor value, Tensor? q_descale, Tensor? k_descale, Tensor? v_descale, float dropout_p=0., bool is_causal=False, bool return_debug_mask=False, *, float? scale=None) -> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)", .decomposition = flash_quantized});
  t.add({.schema_text = "aten::_scaled_dot_product_flash_attention_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, Tensor philox_seed, Tensor philox_offset, *, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)", .decomposition = operand_gradients});
  t.add({.schema_text = "aten::_scaled_dot_product_cudnn_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, bool compute_log_sumexp, float dropout_p=0., bool is_causal=False, bool return_debug_mask=False, *, float? scale=None) -> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor philox_seed, Tensor philox_offset, Tensor debug_attn_mask)", .decomposition = cudnn});
  t.add({.schema_text = "aten::_scaled_dot_product_cudnn_attention_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, Tensor philox_seed, Tensor philox_offset, Tensor attn_bias, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, *, float? scale=None) -> (Tensor, Tensor, Tensor)", .decomposition = operand_gradients});
  t.add({.schema_text = "aten::_cudnn_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, Tensor? cum_seq_q, Tensor? cum_seq_k, SymInt max_q, SymInt max_k, bool compute_log_sumexp, float dropout_p=0., bool is_causal=False, bool return_debug_mask=False, *, float? scale=None, Tensor? seqused_k=None, Tensor? block_table=None) -> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor philox_seed, Tensor philox_offset, Tensor debug_attn_mask)", .decomposition = cudnn});
  t.add({.schema_text = "aten::_cudnn_attention_forward_no_dropout_inplace(Tensor(a!) out, Tensor query, Tensor key, Tensor value, Tensor cum_seq_q, Tensor? cum_seq_k, SymInt max_q, SymInt max_k, bool is_causal=False, *, float? scale=None, Tensor? seqused_k=None, Tensor? block_table=None) -> Tensor logsumexp", .decomposition = cudnn_into});
  t.add({.schema_text = "aten::_cudnn_attention_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, Tensor philox_seed, Tensor philox_offset, Tensor attn_bias, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, *, float? scale=None) -> (Tensor, Tensor, Tensor)", .decomposition = operand_gradients});
}
// clang-format on

}  // namespace assay
