// Which names lines of Python assign, before they are read. Internal to compiler/read.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// A statement without what ends it, or the header of a loop or branch with its colon. `indent` is
/// its line's; what stands behind a header on the same line is deeper by one.
struct PythonStatement {
  std::string_view text;
  int indent = 0;
};
using TakeStatement = std::function<void(const PythonStatement&)>;

/// Of the line at the beginning of the source, which may go on for several where brackets are open.
/// Gives where the next line begins.
auto each_statement(std::string_view source, int indent, const TakeStatement& take) -> std::size_t;
/// Of the lines behind the one at `offset` that are indented deeper.
void each_statement_below(std::string_view source, std::size_t offset, int indent,
                          const TakeStatement& take);
/// `a`, `b` of `a = b = x`, `(a, b) = x`, `a += b`, `a: int = x`; not the variable of a loop.
[[nodiscard]] auto assigned_names(std::string_view statement) -> std::vector<std::string>;
/// Without white space.
[[nodiscard]] auto without_spaces(std::string_view text) -> std::string;

}  // namespace assay
