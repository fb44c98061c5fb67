#include "gui/data/text_lines.h"

#include <cctype>

namespace assay {
namespace {

auto is_word(char c) -> bool {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// The name that a line assigns, empty if it assigns none.
auto assigned(std::string_view line) -> std::string {
  const auto begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  auto end = begin;
  while (end < line.size() && is_word(line[end])) ++end;
  if (end == begin || std::isdigit(static_cast<unsigned char>(line[begin])) != 0) return {};
  const auto rest = line.substr(end);
  const bool is_assignment = rest.starts_with(": \"") || rest.starts_with(" = ");
  return is_assignment ? std::string(line.substr(begin, end - begin)) : std::string();
}

void add_parameters(std::string_view line, int number, TextLines& lines) {
  auto at = line.find("def forward(");
  if (at == std::string_view::npos) return;
  at += 12;
  while (at < line.size()) {
    const auto begin = line.find_first_not_of(" ,", at);
    if (begin == std::string_view::npos) return;
    auto end = begin;
    while (end < line.size() && is_word(line[end])) ++end;
    if (end == begin) return;
    const auto name = line.substr(begin, end - begin);
    if (name != "self") lines.line.try_emplace(std::string(name), number);
    if (line.substr(end).starts_with(": \"")) {
      const auto close = line.find('"', end + 3);
      if (close == std::string_view::npos) return;
      end = close + 1;
    }
    at = end;
  }
}

}  // namespace

auto text_lines(std::string_view text) -> TextLines {
  TextLines lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto line = text.substr(0, end);
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
    const int number = static_cast<int>(lines.names.size());
    auto name = assigned(line);
    if (!name.empty()) lines.line.try_emplace(name, number);
    add_parameters(line, number, lines);
    lines.names.push_back(std::move(name));
  }
  return lines;
}

}  // namespace assay
