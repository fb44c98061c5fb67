// Edits of a compiled program's text beyond leaving out statements: what a kernel computes with,
// its parameters, the sizes.
//
// A patch is tried by itself and stays where the failure does. None of them says that the program
// still means the same; whoever judges decides.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// The bytes [begin, end) become `text`.
struct TextEdit {
  std::size_t begin = 0, end = 0;
  std::string text;
};
/// Edits that do not overlap, ascending.
using TextPatch = std::vector<TextEdit>;
[[nodiscard]] auto patched(std::string_view text, const TextPatch& patch) -> std::string;

enum class TextPatchKind : std::uint8_t {
  block,      ///< a loop or branch of a kernel with all that is in it
  load,       ///< a load, by a constant of its dtype's kind
  operand,    ///< an operation, by one of its operands
  mask,       ///< of accesses: left out, or one side of its conjunction
  parameter,  ///< of a kernel that does not use it, with its argument
  symbol,     ///< by the number that the input is
  axis,       ///< of a buffer: of size 1, or merged with the next
  stride,     ///< strides of a buffer, by row-major ones
  dtype,      ///< a floating dtype, by float32
  launch,     ///< warps, stages, blocks
};
[[nodiscard]] auto name(TextPatchKind kind) -> std::string_view;

/// In the order of the text, of nested ones the outer first. What cannot be read has no patches.
[[nodiscard]] auto text_patches(std::string_view text, TextPatchKind kind)
    -> std::vector<TextPatch>;

/// `s77 = arg0_1` of `call`, where the inputs say what arg0_1 is.
struct NumberInput {
  std::string symbol, input;
  std::int64_t value = 0;
};
[[nodiscard]] auto number_inputs(std::string_view text) -> std::vector<NumberInput>;

/// The sizes of the inputs, each once, largest first; those above 1.
[[nodiscard]] auto sizes_in(std::string_view text) -> std::vector<std::int64_t>;
/// Every whole number of the program and its inputs that is `size` to some power times a rest gets
/// `smaller` to that power; neighbours (size - 1, size + 1) move along. Recorded contents are cut.
[[nodiscard]] auto with_size(std::string_view text, std::int64_t size, std::int64_t smaller)
    -> std::string;
/// The inputs alone, at another size; `call` follows where it is written over symbols.
[[nodiscard]] auto with_input_size(std::string_view text, std::int64_t size, std::int64_t other)
    -> std::string;
/// Numbers that kernels divide by, ascending.
[[nodiscard]] auto divisors_in(std::string_view text) -> std::vector<std::int64_t>;

}  // namespace assay
