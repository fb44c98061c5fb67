// Kernels of attention over rows of [batch, heads, positions, columns]. Internal to compiler/cuda.
#pragma once
#include <cstdint>

#include "compiler/cuda/call_kernels.h"
#include "compiler/program/kernel.h"

namespace assay {

enum class AttentionMask : std::uint8_t {
  none,
  in_rows,  ///< a row's columns are neighbours
  apart,
};
/// What a kernel makes, of buffers by name.
enum class AttentionStep : std::uint8_t {
  /// `weights`, the softmax of `scores` (float32) and `mask`, and `sums`, the logarithms of what
  /// they are divided by. A row that sees nothing is 0, and so is its sum.
  weights,
  /// `packed`: `mask` as libraries take it, a row for each query, with what causal order forbids
  /// and columns from number `keys` on, which are forbidden too.
  mask,
  nothing,  ///< which rows of `mask` see `nothing`
  unseen,   ///< makes `out` and `sums` 0 where `nothing` is seen
  share,    ///< `share` of a row, the sum of the products of `gradient` and `out`
  /// `weights` again, from `scores` and `sums`, and `slopes` of the scores, from `towards` (what
  /// each weight would add) and `share`.
  slopes,
  copy,  ///< `to`, of `from` as far as it has positions (number `given`), else 0
};
struct AttentionVariant {
  DType dtype = DType::float16;
  bool is_causal = false;
  AttentionMask mask = AttentionMask::none;
};
/// What the step does not ask for makes no other kernel. Numbers that it takes: `rows` (of a batch,
/// a head, a position; below 2^31), `columns`, `queries` (positions of a head), `heads`; of a
/// tensor by rows NAME_batch, NAME_head, NAME_query, and NAME_column where its columns may be
/// apart; `scale` of scores.
[[nodiscard]] auto attention_kernel(AttentionStep step, AttentionVariant variant,
                                    CallKernels& kernels) -> const TileKernel&;

}  // namespace assay
