// Kernels that draw the numbers of random operators, in the IR that all kernels have: those that
// PyTorch's launches on CUDA draw for seed 0, element by element the same threads' words of Philox
// (core/ops/random_launch.h). Four words are drawn at once, for as many elements.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "compiler/program/kernel.h"
#include "core/expr/expr.h"
#include "core/ops/random_launch.h"

namespace assay {

struct RandomKernel {
  RandomLaw law = RandomLaw::uniform;
  DType dtype = DType::float32;  ///< of what is written
  /// Neighbours that a thread takes at once; 1: elements are apart by as many as there are threads.
  std::int64_t width = 1;
  bool is_wide = false;      ///< integers: of two words
  bool is_whole = false;     ///< of any that two words make
  bool has_chances = false;  ///< probabilities are read, element by element
  [[nodiscard]] auto name() const -> std::string;
  /// Elements that a program writes.
  [[nodiscard]] auto tile() const -> std::int64_t;
};
/// What is drawn in float32 or from 32 or 64 bits, as PyTorch draws it.
[[nodiscard]] auto can_be_drawn(const RandomKernel& what) -> bool;

/// Parameters, of which a kernel has those it needs: `values` and `mask` to write, `input` and
/// `chances` to read, all of them dense and alike; `count` elements, `threads` of the launch that
/// PyTorch would make; `low`, `range`, `high` of uniform numbers; `mean`, `deviation`; `factor`
/// (-1 / lambd); `last_kept`, the largest word that stays or is true; `scale` of dropouts; `first`
/// and `many` of integers. `programs` of the grid.
[[nodiscard]] auto make_random_kernel(const RandomKernel& what, const Expr& programs)
    -> std::shared_ptr<const TileKernel>;

}  // namespace assay
