// What a call rounds before anybody sees it.
#pragma once
#include <cstdint>
#include <map>

#include "replay/runner/stage_rounding.h"

namespace assay {

/// How a call rounds what it is given before anybody sees it, or as if it did: halves to their own
/// dtype; operands of convolutions to TF32 on a GPU; scores of float32 attention, which are sums
/// over features, like queries that are off by as much; products, one of whose operands is off,
/// before their difference is taken. Bits are those of a number's own dtype, which it is rounded
/// to; what is made of bits has that dtype first.
enum class Hidden : std::uint8_t { half, tf32, scores, product, bits, of_bits };

/// A stage with copies of such operands, which are rounded as all results are, and with calls in
/// the steps that they round.
struct WithHidden {
  Stage stage;
  std::map<int, Hidden> copies;  ///< by the id of the node
  RoundedBy by = RoundedBy::assay;
};
[[nodiscard]] auto with_hidden_roundings(const Stage& given, RoundedBy by) -> WithHidden;

/// Whether a call gives the same bits as another dtype.
[[nodiscard]] auto is_bit_view(const Node& node) -> bool;

}  // namespace assay
