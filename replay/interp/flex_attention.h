// Attention whose scores are changed and masked by bodies of the capture.
#pragma once
#include "replay/interp/body_call.h"

namespace assay {

/// flex_attention(query, key, value, score_mod, block_mask, scale, kernel_options, buffers of
/// score_mod, buffers of mask_mod): the result, the logarithm to the base of 2 of the sums of
/// exponentials and the greatest scores. The bodies, which take one score or none and four indices,
/// run once on all scores and on indices that broadcast. Errors: unsupported where data of the
/// block mask list other blocks than its mask allows, for then PyTorch's eager and compiled forms
/// differ. Semantics: sdpa_dense in torch/_higher_order_ops/flex_attention.py.
[[nodiscard]] auto run_flex_attention(const BodyCall& call) -> Result<Datum>;

/// flex_attention_backward(query, key, value, out, logsumexp, gradient of out or None, gradient of
/// logsumexp or None, body, body with gradients, block_mask, ...): gradients of query, key, value
/// and of the buffers of score_mod. Semantics: sdpa_dense_backward in the same file.
[[nodiscard]] auto run_flex_attention_backward(const BodyCall& call) -> Result<Datum>;

}  // namespace assay
