#include "compiler/read/python_statements.h"

#include <algorithm>
#include <array>

#include "core/graph/annotation.h"

namespace assay {
namespace {

constexpr auto kEnd = std::string_view::npos;

/// Behind the string that begins at `at`.
auto behind_string(std::string_view source, std::size_t at) -> std::size_t {
  const auto quote = source.substr(at, 1);
  const auto three = std::string(3, quote[0]);
  const auto close = source.substr(at).starts_with(three) ? std::string_view(three) : quote;
  for (at += close.size(); at < source.size(); ++at) {
    if (source[at] == '\\')
      ++at;
    else if (source.substr(at).starts_with(close))
      return at + close.size();
  }
  return source.size();
}

auto is_header(std::string_view text) -> bool {
  constexpr std::array<std::string_view, 6> kWords = {"if", "elif", "else", "for", "while", "with"};
  return std::ranges::any_of(kWords, [&](std::string_view word) {
    return text.starts_with(word) && (text.size() == word.size() || text[word.size()] == ' ' ||
                                      text[word.size()] == '(' || text[word.size()] == ':');
  });
}

/// The next of `marks` outside of brackets and strings, from `at` on; the end if there is none.
auto find_outside(std::string_view text, std::size_t at, std::string_view marks) -> std::size_t {
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (depth <= 0 && marks.contains(c)) return at;
    if (c == '"' || c == '\'') {
      at = behind_string(text, at);
      continue;
    }
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (c == '\\') ++at;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    ++at;
  }
  return text.size();
}

/// Names of a target: of several in brackets, and before an annotation.
void add_names(std::string_view target, std::vector<std::string>& names) {
  target = trimmed(target);
  target = trimmed(target.substr(0, find_outside(target, 0, ":")));
  while (target.size() > 1 && (target.front() == '(' || target.front() == '['))
    target = trimmed(target.substr(1, target.size() - 2));
  for (std::size_t at = 0; at <= target.size();) {
    const auto end = find_outside(target, at, ",");
    const auto part = trimmed(target.substr(at, end - at));
    if (part.starts_with('(') || part.starts_with('['))
      add_names(part, names);
    else if (!part.empty())
      names.emplace_back(part);
    at = end + 1;
  }
}

}  // namespace

auto each_statement(std::string_view source, int indent, const TakeStatement& take) -> std::size_t {
  std::size_t at = 0;
  int depth = indent;
  while (at < source.size()) {
    const bool has_header = is_header(trimmed(source.substr(at, source.find('\n', at) - at)));
    auto end = find_outside(source, at, has_header ? ":\n" : ";\n");
    const bool is_colon = end < source.size() && source[end] == ':';
    auto text = source.substr(at, end - at + (is_colon ? 1 : 0));
    text = trimmed(text.substr(0, find_outside(text, 0, "#")));
    if (!text.empty()) take({text, depth});
    if (end >= source.size()) return source.size();
    if (source[end] == '\n') return end + 1;
    if (is_colon) depth = indent + 1;
    at = end + 1;
  }
  return source.size();
}

void each_statement_below(std::string_view source, std::size_t offset, int indent,
                          const TakeStatement& take) {
  auto at = source.find('\n', offset);
  at = at == kEnd ? source.size() : at + 1;
  while (at < source.size()) {
    const auto line = source.substr(at, source.find('\n', at) - at);
    const auto first = line.find_first_not_of(' ');
    if (first == kEnd || line[first] == '#') {
      at += line.size() + 1;
      continue;
    }
    const auto depth = static_cast<int>(first);
    if (depth <= indent) return;
    at += each_statement(source.substr(at), depth, take);
  }
}

auto assigned_names(std::string_view statement) -> std::vector<std::string> {
  std::vector<std::string> names;
  if (is_header(statement)) return names;
  std::size_t from = 0;
  for (auto at = find_outside(statement, 0, "="); at < statement.size();) {
    const auto before = statement.substr(0, at);
    const bool is_shift = before.ends_with("<<") || before.ends_with(">>");
    const bool is_equal = statement.substr(at + 1).starts_with('=');
    const bool compares = !before.empty() && std::string_view("=!<>").contains(before.back());
    if (is_equal || (compares && !is_shift)) {
      at = find_outside(statement, at + (is_equal ? 2 : 1), "=");
      continue;
    }
    auto target = statement.substr(from, at - from);
    target = target.substr(0, target.find_last_not_of("+-*/%&|^@<> ") + 1);
    add_names(target, names);
    from = at + 1;
    at = find_outside(statement, from, "=");
  }
  return names;
}

auto without_spaces(std::string_view text) -> std::string {
  std::string made(text);
  std::erase_if(made, [](char c) { return c == ' ' || c == '\n' || c == '\t'; });
  return made;
}

}  // namespace assay
