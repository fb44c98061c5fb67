// Makers of text patches, one per kind and language. Internal to minifier/edits.
#pragma once
#include <string_view>
#include <vector>

#include "minifier/edits/text_patches.h"

namespace assay {

/// Of Triton kernels: every kind up to `parameter`.
[[nodiscard]] auto triton_patches(std::string_view text, TextPatchKind kind)
    -> std::vector<TextPatch>;

// Of Inductor's C++ kernels, which have one definition in a line.
/// `auto tmp0 = in_ptr0[...];` becomes a zero of the parameter's type.
[[nodiscard]] auto cpp_loads(std::string_view text) -> std::vector<TextPatch>;
/// `auto tmp2 = tmp0 * tmp1;` becomes one of the two.
[[nodiscard]] auto cpp_operands(std::string_view text) -> std::vector<TextPatch>;

// Of `call` and its inputs.
/// `s77 = arg0_1` becomes the number that the input is.
[[nodiscard]] auto symbols_by_numbers(std::string_view text) -> std::vector<TextPatch>;
/// Of one buffer, wherever its layout stands: an axis of size 1 goes, or two that lie one behind
/// the other in memory become one.
[[nodiscard]] auto merged_axes(std::string_view text) -> std::vector<TextPatch>;
/// Of one buffer: row-major.
[[nodiscard]] auto plain_strides(std::string_view text) -> std::vector<TextPatch>;
/// A floating dtype by float32, in the whole text. None where contents of that dtype are recorded
/// or a kernel is C++.
[[nodiscard]] auto plain_dtypes(std::string_view text) -> std::vector<TextPatch>;
/// Warps, stages and hints of sizes become 1, blocks that a kernel fixes half as large.
[[nodiscard]] auto smaller_launches(std::string_view text) -> std::vector<TextPatch>;

}  // namespace assay
