// A wrapper's text as lines.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

[[nodiscard]] auto lines_of(std::string_view text) -> std::vector<std::string>;
/// The last line of the statement that starts in `line`: brackets and strings are closed there.
[[nodiscard]] auto last_line(const std::vector<std::string>& lines, std::size_t line)
    -> std::size_t;
/// Names in a line, also those in strings and comments.
void add_identifiers(std::string_view text, std::set<std::string, std::less<>>& names);
/// Where `get_args` and what follows begin; the end if there is none.
[[nodiscard]] auto harness_line(const std::vector<std::string>& lines) -> std::size_t;
/// How deep the bracket level is behind this line: 0 for a whole statement.
[[nodiscard]] auto open_brackets(std::string_view line) -> int;

/// Lines of which some go. Comments directly above a statement go with it.
class WrapperLines {
 public:
  explicit WrapperLines(const std::vector<std::string>& lines)
      : lines_(lines), goes_(lines.size(), false) {}
  void drop(std::size_t first, std::size_t last);
  void replace(std::size_t first, std::size_t last, std::string line);
  void end_at(std::size_t line);
  /// At most two empty lines in a row.
  [[nodiscard]] auto text() const -> std::string;

 private:
  std::vector<std::string> lines_;
  std::vector<bool> goes_;
};

}  // namespace assay
