// Reductions by operations and numbers, for whoever writes or compiles them.
#pragma once
#include <cstdint>
#include <optional>
#include <variant>

#include "compiler/program/kernel.h"

namespace assay {

/// The operation that combines two values; nothing where it is more than one.
[[nodiscard]] auto combine_op(TileCombine combine, DType of) -> std::optional<TileOp>;

/// Neighbours may change places. Not so of regions, nor of pairs that carry on what they saw.
[[nodiscard]] auto is_commutative(TileCombine combine) -> bool;

/// What changes nothing when it is combined, of operand `part`: integers as two's complement, truth
/// values as 0 and 1. Of regions there is none.
[[nodiscard]] auto combine_identity(TileCombine combine, std::size_t part, DType of)
    -> std::variant<std::int64_t, double>;

}  // namespace assay
