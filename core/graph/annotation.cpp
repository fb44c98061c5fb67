// Reading and printing of claims.
#include "core/graph/annotation.h"

#include <algorithm>
#include <charconv>

#include "core/expr/text.h"
#include "core/graph/targets.h"

namespace assay {
namespace {

constexpr int kMaxTupleDepth = 16;

auto known_abbreviations() -> std::string {
  std::string text;
  for (const auto& row : dtype_infos()) {
    if (!text.empty()) text += ", ";
    text += row.abbr;
  }
  return text;
}

/// Position of the bracket that closes the one at `open`, npos if none does.
auto closing_bracket(std::string_view text, std::size_t open) -> std::size_t {
  int depth = 0;
  for (auto i = open; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '[' || c == '(') ++depth;
    if ((c == ']' || c == ')') && --depth == 0) return i;
  }
  return std::string_view::npos;
}

/// Tensor claims look like a word with a digit before a bracket; `list[...]` does not.
auto looks_like_tensor(std::string_view word) -> bool {
  const auto in_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !word.empty() && std::all_of(word.begin(), word.end(), in_word) &&
         word.find_first_of("0123456789") != std::string_view::npos;
}

void collect_notes(const Claim& claim, bool offsets_stated, const std::string& path,
                   std::string& out) {
  const auto note = [&out](const std::string& text) {
    if (!out.empty()) out += ", ";
    out += text;
  };
  if (const auto* items = claim.items())
    for (std::size_t i = 0; i < items->size(); ++i)
      collect_notes((*items)[i], offsets_stated, fmt::format("{}[{}]", path, i), out);
  const auto* meta = claim.tensor();
  if (meta == nullptr) return;
  if (!claim.stated.offset) {
    if (offsets_stated) note(fmt::format("offset{}=?", path));
  } else if (!offsets_stated || !meta->offset.is_int(0)) {
    note(fmt::format("offset{}={}", path, print_expr(meta->offset)));
  }
  if (meta->requires_grad) note(fmt::format("requires_grad{}", path));
  if (claim.alias_group >= 0) note(fmt::format("alias{}={}", path, claim.alias_group));
}

/// The tensor claim that `[1][0]` names inside a claim.
auto part_of(Claim& claim, std::string_view path) -> Result<Claim*> {
  Claim* part = &claim;
  while (!path.empty()) {
    std::size_t index = 0;
    const char* end = path.data() + path.size();
    const auto [stop, error] = std::from_chars(path.data() + 1, end, index);
    auto* items = std::get_if<std::vector<Claim>>(&part->value);
    if (path.front() != '[' || error != std::errc{} || stop == end || *stop != ']' ||
        items == nullptr || index >= items->size())
      return bad_input("the claim has no part {}", path);
    part = &(*items)[index];
    path.remove_prefix(static_cast<std::size_t>(stop - path.data()) + 1);
  }
  if (part->tensor() == nullptr) return bad_input("notes are for tensor claims only");
  return part;
}

}  // namespace

auto row_major_claim(const Dims& sizes) -> Dims {
  Dims strides(sizes.size());
  Expr step = 1;
  for (auto i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    if (!sizes[i].is_int(0)) step = step * sizes[i];
  }
  return strides;
}

auto trimmed(std::string_view text) -> std::string_view {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

auto split_at_commas(std::string_view text) -> std::vector<std::string_view> {
  std::vector<std::string_view> parts;
  if (trimmed(text).empty()) return parts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (c != ',' || depth > 0) continue;
    parts.push_back(trimmed(text.substr(start, i - start)));
    start = i + 1;
  }
  parts.push_back(trimmed(text.substr(start)));
  return parts;
}

auto ClaimReader::expr(std::string_view text) -> Result<Expr> {
  if (const auto it = exprs_.find(text); it != exprs_.end()) return it->second;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size()) return Expr(number);
  ASSAY_TRY(const Expr value, parse_expr(env_.pool(), text));
  for (const auto& symbol : value.symbols()) {
    if (env_.find(symbol.name()) != nullptr) continue;
    if (!is_identifier(symbol.name()))
      return bad_input("\"{}\" is no name of a symbol", symbol.name());
    ASSAY_TRY(const Expr added, env_.add_symbol(symbol.name()));
    (void)added;
  }
  exprs_.emplace(text, value);
  return value;
}

auto ClaimReader::symbol(std::string_view name) -> Result<Expr> {
  if (const auto read = expr(name); read && read->op() == ExprOp::symbol && read->name() == name)
    return *read;
  return bad_input("\"{}\" is no name of a symbol", name);
}

auto ClaimReader::claim(std::string_view annotation) -> Result<Claim> {
  if (const auto it = claims_.find(annotation); it != claims_.end()) return it->second;
  ASSAY_TRY(auto claim, parse_claim(trimmed(annotation), 0));
  claims_.emplace(annotation, claim);
  return claim;
}

auto ClaimReader::parse_claim(std::string_view text, int depth) -> Result<Claim> {
  if (depth > kMaxTupleDepth) return bad_input("annotation nests too deeply");
  if (text.starts_with("Sym(") && text.ends_with(')')) {
    ASSAY_TRY(const Expr value, expr(text.substr(4, text.size() - 5)));
    return Claim{value, -1};
  }
  if (text.starts_with('(') && text.ends_with(')')) {
    std::vector<Claim> items;
    auto parts = split_at_commas(text.substr(1, text.size() - 2));
    if (!parts.empty() && parts.back().empty()) parts.pop_back();  // (x,)
    for (const auto part : parts) {
      ASSAY_TRY(auto item, parse_claim(part, depth + 1));
      items.push_back(std::move(item));
    }
    return Claim{std::move(items)};
  }
  const auto bracket = text.find('[');
  if (bracket == std::string_view::npos || !looks_like_tensor(text.substr(0, bracket)))
    return Claim{};
  return parse_tensor(text, bracket);
}

auto ClaimReader::parse_tensor(std::string_view text, std::size_t bracket) -> Result<Claim> {
  const auto abbr = text.substr(0, bracket);
  const auto dtype = dtype_from_abbr(abbr);
  if (!dtype)
    return bad_input("unknown dtype abbreviation \"{}\", known are {}", abbr,
                     known_abbreviations());
  TensorMeta meta;
  StatedParts stated{.offset = offsets_stated_};
  meta.dtype = *dtype;
  auto close = closing_bracket(text, bracket);
  if (close == std::string_view::npos) return bad_input("\"{}\" lacks a closing bracket", text);
  ASSAY_TRY(meta.sizes, parse_dims(text.substr(bracket + 1, close - bracket - 1)));
  auto rest = text.substr(close + 1);
  if (rest.starts_with('[')) {
    close = closing_bracket(rest, 0);
    if (close == std::string_view::npos) return bad_input("\"{}\" lacks a closing bracket", text);
    ASSAY_TRY(meta.strides, parse_dims(rest.substr(1, close - 1)));
    if (meta.strides.size() != meta.sizes.size())
      return bad_input("\"{}\" has {} sizes but {} strides", text, meta.sizes.size(),
                       meta.strides.size());
    rest = rest.substr(close + 1);
  } else {
    meta.strides = row_major_claim(meta.sizes);
    stated.strides = false;
  }
  if (rest.empty()) {
    stated.device = false;
  } else {
    const auto device = device_from_string(rest);
    if (!device) return bad_input("\"{}\" is no device", rest);
    meta.device = *device;
  }
  return Claim{std::move(meta), -1, stated};
}

auto ClaimReader::parse_dims(std::string_view text) -> Result<Dims> {
  Dims dims;
  for (const auto part : split_at_commas(text)) {
    ASSAY_TRY(const Expr dim, expr(part));
    dims.push_back(dim);
  }
  return dims;
}

auto print_claim(const Claim& claim) -> std::string {
  if (const auto* meta = claim.tensor()) {
    if (claim.stated.strides && claim.stated.device) return to_string(*meta);
    const auto dims = [](const Dims& values) {
      std::string text;
      for (const auto& e : values) text += (text.empty() ? "" : ", ") + print_expr(e);
      return "[" + text + "]";
    };
    return fmt::format("{}{}{}{}", info(meta->dtype).abbr, dims(meta->sizes),
                       claim.stated.strides ? dims(meta->strides) : "",
                       claim.stated.device ? to_string(meta->device) : "");
  }
  if (const auto* scalar = claim.scalar()) return fmt::format("Sym({})", print_expr(*scalar));
  const auto* items = claim.items();
  if (items == nullptr) return {};
  std::string text = "(";
  for (const auto& item : *items) {
    if (text.size() > 1) text += ", ";
    const auto part = print_claim(item);
    text += part.empty() ? "None" : part;
  }
  return text + (items->size() == 1 ? ",)" : ")");
}

auto claim_notes(const Claim& claim, bool offsets_stated) -> std::string {
  std::string notes;
  collect_notes(claim, offsets_stated, "", notes);
  return notes;
}

auto lacks_offset(const Claim& claim) -> bool {
  if (const auto* items = claim.items()) return std::ranges::any_of(*items, lacks_offset);
  return claim.tensor() != nullptr && !claim.stated.offset;
}

auto apply_claim_notes(std::string_view notes, Claim& claim, ClaimReader& reader) -> Result<void> {
  for (const auto note : split_at_commas(notes)) {
    const auto equals = std::min(note.find('='), note.size());
    const auto bracket = std::min(note.find('['), equals);
    const auto word = note.substr(0, bracket);
    const auto value = note.substr(std::min(equals + 1, note.size()));
    if (word != "offset" && word != "alias" && word != "requires_grad")
      return bad_input("\"{}\" is no note on a claim", note);
    ASSAY_TRY(auto* part, part_of(claim, note.substr(bracket, equals - bracket)));
    auto& meta = std::get<TensorMeta>(part->value);
    if (word == "requires_grad") {
      meta.requires_grad = true;
    } else if (word == "offset") {
      part->stated.offset = value != "?";
      if (part->stated.offset) {
        ASSAY_TRY(meta.offset, reader.expr(value));
      }
    } else {
      const auto [end, error] =
          std::from_chars(value.data(), value.data() + value.size(), part->alias_group);
      if (error != std::errc{} || end != value.data() + value.size() || part->alias_group < 0)
        return bad_input("\"{}\" is no alias group", value);
    }
  }
  return {};
}

}  // namespace assay
