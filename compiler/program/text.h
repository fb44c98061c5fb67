// Text form of kernels, for bundles, goldens and people. `parse_kernel(print_kernel(k), pool)` is k
// but for values that nothing defines.
//
//   kernel triton_poi_fused_0 "pointwise"
//   param in_ptr0 buffer float32
//   param XBLOCK block int32
//   axis x parallel extent xnumel block XBLOCK max 4096
//   grid CeilDiv(xnumel, XBLOCK)
//   body {
//     %0:int32[] "xoffset" = program(0) line 12
//     store(out_ptr0) %4 %7 %5 line 18 text "tl.store(out_ptr0 + (x0), tmp1, xmask)"
//   }
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/program/kernel.h"
#include "core/base/result.h"

namespace assay {

[[nodiscard]] auto print_kernel(const TileKernel& kernel) -> std::string;
/// Symbols of parameters go into `pool`. The result keeps the rules of verify().
/// Errors: bad_input with line and column.
[[nodiscard]] auto parse_kernel(std::string_view text, ExprPool& pool) -> Result<TileKernel>;

/// The text without names, lines and texts: what code for the kernel depends on.
[[nodiscard]] auto bare_text(const TileKernel& kernel) -> std::string;
/// Equal for kernels that differ in names, lines and texts only; the same in every run.
[[nodiscard]] auto structural_hash(const TileKernel& kernel) -> std::uint64_t;

}  // namespace assay
