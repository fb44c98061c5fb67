// The comment lines above a graph text that hold what PyTorch's dialect cannot say.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/graph/annotation.h"
#include "core/graph/python_lexer.h"

namespace assay {

inline constexpr int kGraphTextVersion = 1;

/// Version, symbols, replacements and guards as comment lines, each ending in a line end. Without
/// `offsets_stated` the line `offsets not stated` says that a claim without a note on its offset
/// leaves it open.
[[nodiscard]] auto print_header(const ShapeEnv& env, bool offsets_stated = true) -> std::string;
/// Reads such lines into the reader's environment. Nothing happens unless the first comment is
/// `assay graph VERSION`; comments of other kinds are left alone. Errors: bad_input, unsupported
/// (another version); with `line L, column C`.
[[nodiscard]] auto read_header(std::span<const Comment> comments, ClaimReader& reader)
    -> Result<void>;
/// The text with control characters made blanks, so that it cannot end a comment line.
[[nodiscard]] auto single_line(std::string_view text) -> std::string;

}  // namespace assay
