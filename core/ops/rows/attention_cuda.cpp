// CUDA's fused attention as the CPU's in other layouts (aten/src/ATen/native/transformers/cuda/
// attention.cu, attention_backward.cu): outputs and gradients lie by batch, position, head; each
// kernel keeps its sums and its random state in a shape of its own.
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
  const auto packed = c.call("aten.clone.default", {swapped, Datum{MemoryFormat::contiguous}});
  return c.call("aten.transpose.int", {packed, number(1), number(2)});
}
auto row_major(Composer& c, const Datum& tensor) -> Datum {
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
/// grad_out, query, key, value, attn_bias, out, logsumexp, seed, offset, dropout_p, mask,
/// is_causal, scale. The gradient of the bias is left to the caller's mask.
auto efficient_backward(Composer& c) -> Datum {
  if (c.has(4) && c.flags(10).size() == 4 && c.flags(10)[3])
    return c.unsupported("the gradient of the bias"), Datum{};
  const auto positions = c.meta(1).sizes.size() == 4 ? c.meta(1).sizes[2] : Expr(0);
  const auto sums = c.call("aten.slice.Tensor", {c.arg(6), number(2), number(0), Datum{positions}});
  const auto grads = c.call("aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
                            {c.arg(0), c.arg(1), c.arg(2), c.arg(3), c.arg(5), sums, c.arg(9),
                             c.arg(11), c.arg(4), c.arg(12)});
  if (c.error()) return {};
  DatumList results;
  for (std::size_t i = 0; i < 3; ++i) results.push_back(c.item(grads, i));
  results.emplace_back();
  return {std::move(results)};
}

/// query, key, value, dropout_p, is_causal, return_debug_mask, scale.
auto flash(Composer& c) -> Datum {
  if (c.flag(5)) return c.unsupported("the debug mask"), Datum{};
  auto results = forward(c, Datum{});
  if (c.error()) return {};
  const Datum lengths[] = {Datum{c.meta(0).sizes[2]}, Datum{c.meta(1).sizes[2]}};
  results.insert(results.end(), {Datum{}, Datum{}, lengths[0], lengths[1]});
  results.push_back(empty_like(c, {2}, DType::uint64));
  results.push_back(empty_like(c, {}, DType::uint64));
  results.push_back(empty_like(c, {0}, c.meta(0).dtype));
  return {std::move(results)};
}

}  // namespace

// clang-format off
void add_attention_cuda_rows(OpTable& t) {
  t.add({.schema_text = "aten::_scaled_dot_product_efficient_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, bool compute_log_sumexp, float dropout_p=0., bool is_causal=False, *, float? scale=None) -> (Tensor output, Tensor log_sumexp, Tensor philox_seed, Tensor philox_offset)", .decomposition = efficient});
  t.add({.schema_text = "aten::_scaled_dot_product_efficient_attention_backward(Tensor grad_out_, Tensor query, Tensor key, Tensor value, Tensor? attn_bias, Tensor out, Tensor logsumexp, Tensor philox_seed, Tensor philox_offset, float dropout_p, bool[4] grad_input_mask, bool is_causal=False, *, float? scale=None) -> (Tensor, Tensor, Tensor, Tensor)", .decomposition = efficient_backward});
  t.add({.schema_text = "aten::_scaled_dot_product_flash_attention(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool is_causal=False, bool return_debug_mask=False, *, float? scale=None) -> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)", .decomposition = flash});
}
// clang-format on

}  // namespace assay
