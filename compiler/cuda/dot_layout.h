// Layouts of kernels with block products.
//
// A product a(m, k) * b(k, n) never makes a value over m, k and n at once. So threads share the
// lanes of m and n; what varies over k is made where a product wants it, in a layout of its own,
// and goes to the product through shared memory.
//
// Lanes over m and n stand as the results of `mma.m16n8` do (PTX ISA, "Matrix Fragments for mma"):
// of a warp's thread t, register pair p: row t / 4 + 8 (p / 2), column 2 (t mod 4) + p mod 2. Bits
// beyond 16 rows and 8 columns are further registers, then warps.
#pragma once
#include <optional>
#include <vector>

#include "compiler/cuda/tile_layout.h"
#include "compiler/program/kernel.h"
#include "core/base/result.h"

namespace assay {

/// Axes of the products of a kernel. All have the same m and n.
struct DotAxes {
  std::size_t m = 0, n = 0;
  AxisSet k = 0;  ///< that products are summed over
};
/// Nothing for kernels without products. Errors: unsupported (products of several shapes).
[[nodiscard]] auto dot_axes(const TileKernel& kernel) -> Result<std::optional<DotAxes>>;

/// Of everything that does not vary over k, whose block counts as one lane. Errors: unsupported
/// (blocks that do not fit).
[[nodiscard]] auto dot_layout(const TileKernel& kernel, const DotAxes& axes,
                              const std::vector<std::int64_t>& blocks) -> Result<TileLayout>;
/// Are lanes of m and n those of results of `mma`?
[[nodiscard]] auto has_fragments(const TileLayout& layout, const DotAxes& axes) -> bool;

/// Of an operand over `row` and `k`, `fastest` among them being contiguous in memory, held by the
/// threads of `base`. Errors: unsupported (more lanes than they can hold).
[[nodiscard]] auto operand_layout(const TileLayout& base, std::size_t row, std::size_t k,
                                  std::int64_t row_block, std::int64_t k_block, std::size_t fastest,
                                  int element_bytes) -> Result<TileLayout>;

}  // namespace assay
