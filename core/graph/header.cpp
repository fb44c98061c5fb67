// Printing and reading of header lines:
//   # assay graph 1
//   # symbol s77: hint 9, range [2, int_oo], source L['x'].size()[0]
//   # replacement s27 -> 16
//   # guard s77 <= 128   @ models.py:12
#include "core/graph/header.h"

#include <algorithm>
#include <charconv>

#include "core/expr/text.h"
#include "core/graph/python_lexer.h"
#include "core/graph/targets.h"

namespace assay {
namespace {

constexpr std::string_view kOffsetsNotStated = "offsets not stated";
constexpr std::string_view kWhere = "   @ ";

auto is_control(char c) -> bool {
  return (c >= 0 && c < ' ') || c == '\x7f';
}

/// Text that can stand in a comment as it is and reads back the same.
auto is_plain(std::string_view text) -> bool {
  return !text.empty() && trimmed(text) == text && text.front() != '\'' && text.front() != '"' &&
         std::none_of(text.begin(), text.end(), is_control) && check_utf8(text);
}

/// Quoted so that neither line ends nor brackets and commas can be mistaken for ours.
auto quoted(std::string_view text) -> std::string {
  std::string out;
  for (const char c : quote_string(text)) {
    if (std::string_view(",()[]{}").contains(c)) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out.push_back(c);
    }
  }
  return out;
}

auto print_source(std::string_view source) -> std::string {
  const bool one_part = split_at_commas(source).size() == 1;
  return is_plain(source) && one_part ? std::string(source) : quoted(source);
}

auto unquoted(std::string_view text) -> Result<std::string> {
  if (text.empty() || (text.front() != '\'' && text.front() != '"')) return std::string(text);
  return decode_string(text);
}

void print_symbol(const Symbol& symbol, std::string& out) {
  out += fmt::format("# symbol {}: ", symbol.name);
  if (symbol.hint) out += fmt::format("hint {}, ", print_expr(*symbol.hint));
  out += fmt::format("range [{}, {}]", print_expr(symbol.range.low), print_expr(symbol.range.high));
  for (const auto& source : symbol.sources) out += fmt::format(", source {}", print_source(source));
  out.push_back('\n');
}

/// The condition as recorded if that reads back as the same condition.
auto guard_text(const Guard& guard, ExprPool& pool) -> std::string {
  if (is_plain(guard.text) && !guard.text.contains('@')) {
    const auto read_back = parse_expr(pool, guard.text);
    if (read_back && *read_back == guard.condition) return guard.text;
  }
  return print_expr(guard.condition);
}

class HeaderReader {
 public:
  explicit HeaderReader(ClaimReader& reader) : reader_(reader) {}

  auto line(std::string_view text) -> Result<void> {
    const auto space = text.find(' ');
    const auto keyword = text.substr(0, space);
    const auto rest = space == std::string_view::npos ? "" : trimmed(text.substr(space));
    if (keyword == "symbol") return symbol(rest);
    if (keyword == "replacement") return replacement(rest);
    if (keyword == "guard") return guard(rest);
    if (text == kOffsetsNotStated) reader_.set_offsets_stated(false);
    return {};
  }

 private:
  auto symbol(std::string_view text) -> Result<void> {
    const auto colon = text.find(':');
    if (colon == std::string_view::npos) return bad_input("expected \"symbol NAME: ...\"");
    ASSAY_TRY(const Expr symbol, reader_.symbol(trimmed(text.substr(0, colon))));
    for (const auto field : split_at_commas(text.substr(colon + 1))) {
      if (field.starts_with("hint ")) {
        ASSAY_TRY(const Expr hint, reader_.expr(trimmed(field.substr(5))));
        if (!hint.is_const()) return bad_input("hint \"{}\" is no number", field.substr(5));
        reader_.env().set_hint(symbol, hint);
      } else if (field.starts_with("range [") && field.ends_with(']')) {
        ASSAY_TRY(const auto interval, range(field.substr(7, field.size() - 8)));
        reader_.env().set_range(symbol, interval);
      } else if (field.starts_with("source ")) {
        ASSAY_TRY(auto source, unquoted(trimmed(field.substr(7))));
        reader_.env().add_source(symbol, std::move(source));
      } else {
        return bad_input("unknown field \"{}\" of a symbol", field.substr(0, 40));
      }
    }
    return {};
  }

  auto range(std::string_view text) -> Result<Interval> {
    const auto ends = split_at_commas(text);
    if (ends.size() != 2) return bad_input("a range has two ends, found \"{}\"", text);
    Interval interval;
    ASSAY_TRY(interval.low, reader_.expr(ends[0]));
    ASSAY_TRY(interval.high, reader_.expr(ends[1]));
    if (!interval.low.symbols().empty() || !interval.high.symbols().empty())
      return bad_input("ends of a range must be numbers, found \"{}\"", text);
    return interval;
  }

  auto replacement(std::string_view text) -> Result<void> {
    const auto arrow = text.find(" -> ");
    if (arrow == std::string_view::npos) return bad_input("expected \"replacement NAME -> EXPR\"");
    ASSAY_TRY(const Expr symbol, reader_.symbol(trimmed(text.substr(0, arrow))));
    ASSAY_TRY(const Expr by, reader_.expr(trimmed(text.substr(arrow + 4))));
    reader_.env().add_replacement(symbol, by);
    return {};
  }

  auto guard(std::string_view text) -> Result<void> {
    Guard guard;
    if (const auto at = text.find(kWhere); at != std::string_view::npos) {
      ASSAY_TRY(guard.where, unquoted(trimmed(text.substr(at + kWhere.size()))));
      text = trimmed(text.substr(0, at));
    }
    ASSAY_TRY(guard.condition, reader_.expr(text));
    guard.text = text;
    reader_.env().add_guard(std::move(guard));
    return {};
  }

  ClaimReader& reader_;
};

}  // namespace

auto single_line(std::string_view text) -> std::string {
  std::string line;
  while (!text.empty()) {
    const auto length = utf8_length(text);
    if (length == 0)
      line += "\ufffd";
    else if (is_control(text.front()))
      line += ' ';
    else
      line += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return line;
}

auto print_header(const ShapeEnv& env, bool offsets_stated) -> std::string {
  std::string out = fmt::format("# assay graph {}\n", kGraphTextVersion);
  if (!offsets_stated) out += fmt::format("# {}\n", kOffsetsNotStated);
  for (const auto& symbol : env.symbols()) print_symbol(symbol, out);
  std::vector<std::string> lines;  // sorted, since the map has no order of its own
  for (const auto& [symbol, by] : env.replacements())
    lines.push_back(fmt::format("# replacement {} -> {}\n", print_expr(symbol), print_expr(by)));
  std::sort(lines.begin(), lines.end());
  for (const auto& line : lines) out += line;
  for (const auto& guard : env.guards()) {
    out += fmt::format("# guard {}", guard_text(guard, env.pool()));
    if (!guard.where.empty())
      out += fmt::format("{}{}", kWhere, is_plain(guard.where) ? guard.where : assay::quoted(guard.where));
    out.push_back('\n');
  }
  return out;
}

auto read_header(std::span<const Comment> comments, ClaimReader& reader) -> Result<void> {
  constexpr std::string_view kFirst = "assay graph ";
  if (comments.empty() || !comments.front().text.starts_with(kFirst)) return {};
  const auto digits = trimmed(comments.front().text.substr(kFirst.size()));
  int version = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), version);
  if (fmt::to_string(version) != digits || version != kGraphTextVersion)
    return unsupported("line {}: version \"{}\" of the graph text; this program reads version {}",
                       comments.front().line, digits, kGraphTextVersion);
  reader.set_offsets_stated(true);
  HeaderReader header(reader);
  for (const auto& comment : comments.subspan(1))
    if (auto read = header.line(comment.text); !read)
      return with_context(read.error(),
                          fmt::format("line {}, column {}", comment.line, comment.column));
  return {};
}

}  // namespace assay
