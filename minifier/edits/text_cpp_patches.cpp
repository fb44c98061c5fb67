// Patches of Inductor's C++ kernels.
#include <fmt/format.h>
#include <algorithm>
#include <cctype>

#include "minifier/edits/text_patch_rows.h"

namespace assay {
namespace {

auto is_word(char c) -> bool {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// `auto tmp2 = tmp0 * tmp1;`: places in the text.
struct Definition {
  std::size_t kernel = 0;  ///< where `extern "C"` stands
  std::string_view name;
  std::size_t begin = 0, end = 0;  ///< of the expression
};

auto definitions_in(std::string_view text) -> std::vector<Definition> {
  constexpr std::string_view kAuto = "auto tmp", kEquals = " = ";
  std::vector<Definition> all;
  auto kernel = std::string_view::npos;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find('\n', begin), text.size());
    const auto line = text.substr(begin, end - begin);
    if (line.starts_with("extern \"C\"")) kernel = begin;
    if (line.starts_with("'''")) kernel = std::string_view::npos;
    const auto start = std::min(line.find_first_not_of(' '), line.size());
    const auto equals = line.find(kEquals);
    if (kernel != std::string_view::npos && line.substr(start).starts_with(kAuto) &&
        equals != std::string_view::npos && line.ends_with(';')) {
      const auto name = start + kAuto.find("tmp");
      all.push_back(
          {kernel, line.substr(name, equals - name), begin + equals + kEquals.size(), end - 1});
    }
    begin = end + 1;
  }
  return all;
}

/// `tmp0` and others that the expression mentions, each once.
auto values_in(std::string_view expression) -> std::vector<std::string> {
  std::vector<std::string> names;
  for (std::size_t at = expression.find("tmp"); at != std::string_view::npos;
       at = expression.find("tmp", at + 1)) {
    if (at > 0 && is_word(expression[at - 1])) continue;
    auto end = at;
    while (end < expression.size() && is_word(expression[end])) ++end;
    const auto name = std::string(expression.substr(at, end - at));
    const bool is_call = end < expression.size() && expression[end] == '(';
    if (!is_call && std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

/// Of `const float* in_ptr0` in the head of the kernel.
auto type_of(std::string_view text, std::size_t kernel, std::string_view pointer)
    -> std::string_view {
  const auto body = text.find("\n{", kernel);
  const auto head = text.substr(kernel, body == std::string_view::npos ? 0 : body - kernel);
  const auto at = head.find(fmt::format("* {}", pointer));
  if (at == std::string_view::npos) return {};
  auto begin = at;
  while (begin > 0 && is_word(head[begin - 1])) --begin;
  return head.substr(begin, at - begin);
}

/// What takes the place of a load; empty where the expression is none.
auto zero_for(std::string_view text, const Definition& definition) -> std::string {
  const auto expression = text.substr(definition.begin, definition.end - definition.begin);
  constexpr std::string_view kLoad = ">::loadu(";
  if (const auto load = expression.find(kLoad);
      load != std::string_view::npos && expression.starts_with("at::vec::Vector")) {
    const auto vector = expression.substr(0, load + 1);
    const auto open = vector.find('<'), close = vector.find_first_of(",>", open);
    return fmt::format("{}(static_cast<{}>(0))", vector, vector.substr(open + 1, close - open - 1));
  }
  const auto bracket = expression.find('[');
  if (bracket == std::string_view::npos || !expression.ends_with(']') ||
      !std::ranges::all_of(expression.substr(0, bracket), is_word))
    return {};
  const auto type = type_of(text, definition.kernel, expression.substr(0, bracket));
  return type.empty() ? std::string() : fmt::format("static_cast<{}>(0)", type);
}

}  // namespace

auto cpp_loads(std::string_view text) -> std::vector<TextPatch> {
  std::vector<TextPatch> patches;
  for (const auto& definition : definitions_in(text))
    if (auto zero = zero_for(text, definition); !zero.empty())
      patches.push_back({{definition.begin, definition.end, std::move(zero)}});
  return patches;
}

auto cpp_operands(std::string_view text) -> std::vector<TextPatch> {
  std::vector<TextPatch> patches;
  for (const auto& definition : definitions_in(text)) {
    const auto expression = text.substr(definition.begin, definition.end - definition.begin);
    // An address is no operand, and a function has its own values.
    if (!zero_for(text, definition).empty() || expression.contains("[&]")) continue;
    for (auto& name : values_in(expression))
      if (name != expression)
        patches.push_back({{definition.begin, definition.end, std::move(name)}});
  }
  return patches;
}

}  // namespace assay
