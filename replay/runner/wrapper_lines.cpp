#include "replay/runner/wrapper_lines.h"

#include <algorithm>
#include <cctype>

#include "core/base/check.h"
#include "core/graph/annotation.h"
#include "replay/runner/cut_program.h"

namespace assay {
namespace {

auto is_word(char c) -> bool {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

auto without_indent(std::string_view line) -> std::string_view {
  return line.substr(std::min(line.find_first_not_of(' '), line.size()));
}

auto indent_of(std::string_view line) -> std::size_t {
  return line.size() - without_indent(line).size();
}

}  // namespace

auto lines_of(std::string_view text) -> std::vector<std::string> {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

auto open_brackets(std::string_view line) -> int {
  int depth = 0;
  char quote = 0;
  for (const char c : line) {
    if (quote != 0) {
      if (c == quote) quote = 0;
      continue;
    }
    if (c == '#') break;
    if (c == '\'' || c == '"') quote = c;
    depth += c == '(' || c == '[' || c == '{' ? 1 : 0;
    depth -= c == ')' || c == ']' || c == '}' ? 1 : 0;
  }
  return depth;
}

auto last_line(const std::vector<std::string>& lines, std::size_t line) -> std::size_t {
  int depth = 0;
  for (std::string_view until; line < lines.size(); ++line) {
    std::string_view rest = lines[line];
    if (!until.empty()) {
      const auto end = rest.find(until);
      if (end == std::string_view::npos) continue;
      rest.remove_prefix(end + until.size());
      until = {};
    }
    for (const std::string_view quotes : {"'''", "\"\"\""})
      if (const auto start = rest.find(quotes);
          start != std::string_view::npos &&
          rest.find(quotes, start + 3) == std::string_view::npos) {
        until = quotes;
        rest = rest.substr(0, start);
      }
    depth += open_brackets(rest);
    if (depth <= 0 && until.empty()) return line;
  }
  return lines.size() - 1;
}

void add_identifiers(std::string_view text, std::set<std::string, std::less<>>& names) {
  for (std::size_t i = 0; i < text.size();) {
    auto end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end > i) names.emplace(text.substr(i, end - i));
    i = end + 1;
  }
}

auto harness_line(const std::vector<std::string>& lines) -> std::size_t {
  const auto found = std::ranges::find_if(lines, [](const std::string& line) {
    return line.starts_with("def get_args") || line.starts_with("def benchmark_compiled_module") ||
           line.starts_with("def recorded(") || line.starts_with("if __name__");
  });
  return static_cast<std::size_t>(found - lines.begin());
}

void WrapperLines::drop(std::size_t first, std::size_t last) {
  while (first > 0 && without_indent(lines_[first - 1]).starts_with('#') && first > 1) --first;
  std::fill(goes_.begin() + static_cast<std::ptrdiff_t>(first),
            goes_.begin() + static_cast<std::ptrdiff_t>(last) + 1, true);
}

void WrapperLines::replace(std::size_t first, std::size_t last, std::string line) {
  for (auto i = first + 1; i <= last; ++i) goes_[i] = true;
  lines_[first] = std::move(line);
}

void WrapperLines::end_at(std::size_t line) {
  for (; line < lines_.size(); ++line) goes_[line] = true;
}

auto WrapperLines::text() const -> std::string {
  std::string text;
  int empty = 0;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if (goes_[i]) continue;
    empty = lines_[i].empty() ? empty + 1 : 0;
    if (empty <= 2) text += lines_[i] + '\n';
  }
  return text;
}

CutKernels::CutKernels(std::string_view text) : all_(lines_of(text)) {
  enum class In : std::uint8_t { none, triton, cpp } in = In::none;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const std::string_view line = all_[i];
    if (line.starts_with("def "))
      in = i > 0 && all_[i - 1] == "@triton.jit" ? In::triton : In::none;
    if (line.starts_with("extern \"C\"")) in = In::cpp;
    if (line.starts_with("'''")) in = In::none;
    if (in == In::none || indent_of(line) == 0 || open_brackets(line) != 0) continue;
    // In C++ heads of blocks and braces have lines of their own.
    if (in == In::cpp ? line.ends_with(';') : !line.ends_with(':')) lines_.push_back(i);
  }
}

auto CutKernels::text(const std::vector<int>& kept) const -> std::optional<std::string> {
  std::vector<bool> goes(all_.size(), false);
  for (const auto line : lines_) goes[line] = true;
  for (const int line : kept) goes[lines_[static_cast<std::size_t>(line)]] = false;
  std::string text;
  std::string_view before;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (goes[i]) continue;
    // Heads of blocks, and no comments that end in a colon.
    if (before.ends_with(':') && indent_of(all_[i]) <= indent_of(before)) return std::nullopt;
    before = trimmed(all_[i]).starts_with('#') ? std::string_view() : std::string_view(all_[i]);
    text += all_[i] + '\n';
  }
  return text;
}

}  // namespace assay
