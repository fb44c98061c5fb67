#include "gui/data/sizes.h"

#include <algorithm>
#include <charconv>

#include "core/expr/text.h"
#include "core/tensor/dtype.h"
#include "gui/data/statements.h"
#include "replay/trace/pages.h"

namespace assay {
namespace {

auto parse_int(std::string_view text) -> std::optional<std::int64_t> {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "s77", "u0", "zf3", as PyTorch names sizes; not what stands for a block or an index of a kernel.
auto is_size_symbol(std::string_view name) -> bool {
  const auto digits = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz");
  return digits != 0 && digits != std::string_view::npos &&
         name.find_first_not_of("0123456789", digits) == std::string_view::npos;
}

auto evaluate_all(ExprPool& pool, const Binding& binding, const std::string& text)
    -> Result<std::vector<std::int64_t>> {
  ASSAY_TRY(const auto parts, parse_list(pool, text));
  std::vector<std::int64_t> values;
  for (const auto& part : parts) {
    ASSAY_TRY(const auto value, evaluate_int(part, binding));
    values.push_back(value);
  }
  return values;
}

}  // namespace

auto read_sizes(const TraceReader& reader, const NamedSizes& changed) -> Result<NamedSizes> {
  ASSAY_TRY(const auto bindings, reader.query(statement("bindings", reader.version())));
  NamedSizes sizes;
  for (const auto& row : bindings.rows)
    if (const auto value = parse_int(to_text(row[1]))) sizes[to_text(row[0])] = *value;
  for (const auto& [name, value] : changed) sizes[name] = value;
  return sizes;
}

auto sizes_of_witness(std::string_view witness) -> NamedSizes {
  NamedSizes sizes;
  while (!witness.empty()) {
    const auto comma = witness.find(',');
    const auto part = witness.substr(0, comma);
    witness = comma == std::string_view::npos ? "" : witness.substr(comma + 1);
    const auto sides = part.find(" = ");
    if (sides == std::string_view::npos) continue;
    auto name = part.substr(0, sides);
    while (name.starts_with(' ')) name.remove_prefix(1);
    if (!is_size_symbol(name)) continue;
    if (const auto value = parse_int(part.substr(sides + 3))) sizes[std::string(name)] = *value;
  }
  return sizes;
}

auto sizes_text(const NamedSizes& sizes) -> std::string {
  std::string text;
  for (const auto& [name, value] : sizes)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value);
  return text;
}

auto short_sizes_text(const NamedSizes& sizes, std::size_t most) -> std::string {
  std::string text;
  std::size_t shown = 0;
  for (const auto& [name, value] : sizes) {
    if (shown++ == most) return text + fmt::format(", and {} more", sizes.size() - most);
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
  }
  return text;
}

auto to_binding(ExprPool& pool, const NamedSizes& sizes) -> Binding {
  Binding binding;
  for (const auto& [name, value] : sizes)
    if (const auto symbol = parse_expr(pool, name); symbol && symbol->op() == ExprOp::symbol)
      binding[*symbol] = value;
  return binding;
}

auto parse_list(ExprPool& pool, std::string_view text) -> Result<std::vector<Expr>> {
  if (!text.starts_with('[') || !text.ends_with(']')) return bad_input("\"{}\" is no list", text);
  text = text.substr(1, text.size() - 2);
  std::vector<Expr> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size()) {
      depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
      if (text[i] != ',' || depth > 0) continue;
    }
    const auto part = text.substr(begin, i - begin);
    begin = i + 1;
    if (part.find_first_not_of(' ') == std::string_view::npos) continue;
    ASSAY_TRY(const auto expr, parse_expr(pool, part));
    parts.push_back(expr);
  }
  return parts;
}

auto Strided::is_empty() const -> bool {
  return std::ranges::any_of(sizes, [](auto size) { return size <= 0; });
}

auto Strided::end() const -> std::int64_t {
  if (is_empty()) return offset;
  std::int64_t last = offset;
  for (std::size_t i = 0; i < sizes.size(); ++i) last += (sizes[i] - 1) * strides[i];
  return last + 1;
}

auto layout_at(ExprPool& pool, const Binding& binding, const std::string& dtype,
               const std::string& sizes, const std::string& strides, const std::string& offset)
    -> Result<Strided> {
  const auto type = dtype_from_name(dtype);
  if (!type) return bad_input("\"{}\" is no dtype", dtype);
  Strided layout;
  layout.item_bytes = size_bytes(*type);
  ASSAY_TRY(layout.sizes, evaluate_all(pool, binding, sizes));
  ASSAY_TRY(layout.strides, evaluate_all(pool, binding, strides));
  if (layout.sizes.size() != layout.strides.size())
    return bad_input("{} sizes for {} strides", layout.sizes.size(), layout.strides.size());
  if (!offset.empty()) {
    ASSAY_TRY(const auto expr, parse_expr(pool, offset));
    ASSAY_TRY(layout.offset, evaluate_int(expr, binding));
  }
  return layout;
}

auto to_string(const Strided& layout) -> std::string {
  return fmt::format("[{}] : [{}]{}", fmt::join(layout.sizes, ", "),
                     fmt::join(layout.strides, ", "),
                     layout.offset == 0 ? "" : fmt::format(" + {}", layout.offset));
}

}  // namespace assay
