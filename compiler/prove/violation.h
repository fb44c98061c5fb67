// Search for sizes and indices at which a bound is broken. Internal to compiler/prove.
#pragma once
#include <optional>
#include <vector>

#include "compiler/prove/box.h"
#include "core/shape/shape_env.h"

namespace assay {

/// An axis as the search walks it: 0 .. numel-1, rounded up to a multiple of some power of two up
/// to `max_block` where no mask cuts it off.
struct SearchAxis {
  Expr symbol;
  Expr numel;
  std::int64_t max_block = 1;  ///< 1: exactly numel
  Expr block;                  ///< symbol that gets the power of two; a constant if there is none
};

struct SearchSpace {
  Ranges ranges;
  std::vector<Expr> conditions;  ///< all hold at a witness
  std::vector<SearchAxis> axes;
  Binding hints;  ///< sizes at capture time: candidates beside the small ones
};

/// A binding of all symbols at which every condition is true and `e` is negative, evaluated by
/// core/expr. Sizes in shortlex order, so the witness is small; then one size at a time doubled and
/// bisected, for bounds that only large sizes break. Nothing found proves nothing.
[[nodiscard]] auto find_negative(const Expr& e, const SearchSpace& space) -> std::optional<Binding>;

}  // namespace assay
