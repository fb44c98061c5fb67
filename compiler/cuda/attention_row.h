// The operators of attention that GPUs make whole, and where their arguments stand. Whole in this
// header.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace assay {

/// query, key and value follow each other; of gradients the result's own gradient stands before
/// them, the result and the logarithms of sums behind.
struct AttentionRow {
  std::string_view name;
  std::size_t query, dropout, causal, mask, scale;
};
inline constexpr AttentionRow kAttention = {
    .name = "aten._scaled_dot_product_flash_attention_for_cpu.default",
    .query = 0,
    .dropout = 3,
    .causal = 4,
    .mask = 5,
    .scale = 6};
inline constexpr AttentionRow kAttentionGradients = {
    .name = "aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
    .query = 1,
    .dropout = 6,
    .causal = 7,
    .mask = 8,
    .scale = 9};

/// Rows of halves begin at multiples of so many elements, where a library takes them.
inline constexpr std::int64_t kRowElements = 8;

}  // namespace assay
