// Lexer of Python source.
#include "core/graph/python_lexer.h"

#include <array>

namespace assay {
namespace {

enum CharClass : std::uint8_t { other, letter, digit, high };

constexpr auto kClasses = [] {
  std::array<CharClass, 256> table{};
  for (unsigned c = 'a'; c <= 'z'; ++c) table[c] = letter;
  for (unsigned c = 'A'; c <= 'Z'; ++c) table[c] = letter;
  for (unsigned c = '0'; c <= '9'; ++c) table[c] = digit;
  table['_'] = letter;
  for (unsigned c = 0x80; c < 0x100; ++c) table[c] = high;
  return table;
}();

auto char_class(char c) -> CharClass {
  return kClasses[static_cast<unsigned char>(c)];
}
auto is_digit(char c) -> bool {
  return char_class(c) == digit;
}

/// Longest first, so that the first match is the token.
constexpr std::array<std::string_view, 39> kSymbols = {
    "**=", "//=", ">>=", "<<=", "...", "->", ":=", "**", "//", ">>", "<<", "==", "!=",
    "<=",  ">=",  "+=",  "-=",  "*=",  "/=", "%=", "&=", "|=", "^=", "@=", "+",  "-",
    "*",   "/",   "%",   "@",   "&",   "|",  "^",  "~",  "<",  ">",  ":",  ".",  "="};

/// Symbols that begin no longer one.
constexpr std::string_view kLonely = "()[]{},;";

auto hex_value(char c) -> int {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto push = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    push(code);
  } else if (code < 0x800) {
    push(0xc0 | (code >> 6));
    push(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    push(0xe0 | (code >> 12));
    push(0x80 | ((code >> 6) & 0x3f));
    push(0x80 | (code & 0x3f));
  } else {
    push(0xf0 | (code >> 18));
    push(0x80 | ((code >> 12) & 0x3f));
    push(0x80 | ((code >> 6) & 0x3f));
    push(0x80 | (code & 0x3f));
  }
}

struct Escape {
  char letter;
  char value;
};
constexpr std::array kEscapes = {
    Escape{'n', '\n'}, Escape{'t', '\t'}, Escape{'r', '\r'},  Escape{'a', '\a'},  Escape{'b', '\b'},
    Escape{'f', '\f'}, Escape{'v', '\v'}, Escape{'\\', '\\'}, Escape{'\'', '\''}, Escape{'"', '"'}};

/// Decodes the numeric escape behind a backslash; `body` starts at its letter or first digit.
/// Returns how many characters it takes, 0 if it is broken.
auto decode_numeric(std::string_view body, std::string& out) -> std::size_t {
  std::uint32_t code = 0;
  if (body.front() >= '0' && body.front() <= '7') {
    std::size_t n = 0;
    while (n < 3 && n < body.size() && body[n] >= '0' && body[n] <= '7')
      code = code * 8 + static_cast<std::uint32_t>(body[n++] - '0');
    append_utf8(out, code);
    return n;
  }
  const std::size_t digits = body.front() == 'x' ? 2 : body.front() == 'u' ? 4 : 8;
  if (body.size() < digits + 1) return 0;
  for (std::size_t i = 1; i <= digits; ++i) {
    const int value = hex_value(body[i]);
    if (value < 0) return 0;
    code = code * 16 + static_cast<std::uint32_t>(value);
  }
  if (code > 0x10ffff) return 0;
  if (code >= 0xdc80 && code <= 0xdcff) {
    out.push_back(static_cast<char>(code & 0xff));  // Python's surrogateescape: a stray byte
  } else {
    append_utf8(out, code);
  }
  return digits + 1;
}

auto decode_escapes(std::string_view body) -> Result<std::string> {
  std::string out;
  out.reserve(body.size());
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\' || i + 1 == body.size()) {
      out.push_back(body[i]);
      continue;
    }
    const char letter_after = body[++i];
    bool done = letter_after == '\n';  // a continued line
    for (const auto& escape : kEscapes) {
      if (escape.letter != letter_after) continue;
      out.push_back(escape.value);
      done = true;
    }
    if (done) continue;
    if (std::string_view("xuU01234567").contains(letter_after)) {
      const auto taken = decode_numeric(body.substr(i), out);
      if (taken == 0) return bad_input("broken escape \\{} in a string", letter_after);
      i += taken - 1;
    } else {  // Python keeps the backslash of unknown escapes
      out.push_back('\\');
      out.push_back(letter_after);
    }
  }
  return out;
}

auto trim(std::string_view text) -> std::string_view {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

}  // namespace

auto utf8_length(std::string_view text) -> std::size_t {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const unsigned second = byte(1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool surrogate_or_beyond =
      (lead == 0xed && second > 0x9f) || (lead == 0xf4 && second > 0x8f);
  return overlong || surrogate_or_beyond ? 0 : length;
}

auto check_utf8(std::string_view text) -> Result<void> {
  Token place;
  for (std::size_t i = 0; i < text.size();) {
    const auto length = utf8_length(text.substr(i));
    if (length == 0) return bad_source(place, "invalid UTF-8");
    place.column += static_cast<int>(length);
    if (text[i] == '\n') {
      ++place.line;
      place.column = 1;
    }
    i += length;
  }
  return {};
}

auto strip_ansi(std::string_view text) -> std::string {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      out.push_back(text[i]);
      continue;
    }
    if (i + 1 == text.size() || text[i + 1] != '[') continue;  // a lone ESC vanishes
    ++i;
    while (i + 1 < text.size() && (is_digit(text[i + 1]) || text[i + 1] == ';')) ++i;
    if (i + 1 < text.size()) ++i;  // the final letter
  }
  return out;
}

auto decode_string(std::string_view token) -> Result<std::string> {
  bool raw = false;
  while (!token.empty() && token.front() != '\'' && token.front() != '"') {
    if (token.front() == 'f' || token.front() == 'F')
      return unsupported("f-strings are not understood");
    raw = raw || token.front() == 'r' || token.front() == 'R';
    token.remove_prefix(1);
  }
  const bool triple = token.size() >= 6 && token[1] == token[0] && token[2] == token[0];
  const std::size_t quotes = triple ? 3 : 1;
  if (token.size() < 2 * quotes) return bad_input("broken string");
  const auto body = token.substr(quotes, token.size() - 2 * quotes);
  if (raw || !body.contains('\\')) return std::string(body);
  return decode_escapes(body);
}

auto quote_string(std::string_view text) -> std::string {
  const char quote = text.contains('\'') && !text.contains('"') ? '"' : '\'';
  std::string out(1, quote);
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const auto length = utf8_length(text.substr(i));
    if (c == quote || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (length == 0) {
      out += fmt::format("\\udc{:02x}", static_cast<unsigned char>(c));
    } else if ((length == 1 && (c < ' ' || c == '\x7f'))) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else if (text.substr(i, length) == "\u0085" || text.substr(i, length) == "\u2028" ||
               text.substr(i, length) == "\u2029") {
      out += c == '\xc2' ? "\\x85" : text[i + 2] == '\xa8' ? "\\u2028" : "\\u2029";
    } else {
      out += text.substr(i, length);
    }
    i += length == 0 ? 1 : length;
  }
  out.push_back(quote);
  return out;
}

void PythonLexer::line_break() {
  ++position_;
  ++line_;
  line_start_ = position_;
  if (depth_ == 0) line_is_empty_ = true;
}

void PythonLexer::skip_line() {
  depth_ = 0;
  const auto end = source_.find('\n', position_);
  position_ = end == std::string_view::npos ? source_.size() : end;
  if (position_ < source_.size()) line_break();
  line_is_empty_ = true;
}

void PythonLexer::seek(std::size_t offset, int line) {
  position_ = offset;
  const auto before = offset == 0 ? std::string_view::npos : source_.rfind('\n', offset - 1);
  line_start_ = before == std::string_view::npos ? 0 : before + 1;
  line_ = line;
  depth_ = 0;
  line_is_empty_ =
      offset == source_.size() || trim(source_.substr(line_start_, offset - line_start_)).empty();
  comments_.clear();
}

void PythonLexer::comment() {
  auto end = source_.find('\n', position_);
  if (end == std::string_view::npos) end = source_.size();
  const auto before = trim(source_.substr(line_start_, position_ - line_start_));
  comments_.push_back({trim(source_.substr(position_ + 1, end - position_ - 1)), line_,
                       static_cast<int>(position_ - line_start_) + 1, before.empty()});
  position_ = end;
}

/// Passes one blank, comment or insignificant line end; false if a token starts here.
auto PythonLexer::blank(Token& token) -> bool {
  const char c = at(position_);
  if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
    ++position_;
  } else if (c == '#') {
    comment();
  } else if (c == '\n' && (depth_ > 0 || line_is_empty_)) {
    line_break();
  } else if (c == '\\' && (at(position_ + 1) == '\n' ||
                           (at(position_ + 1) == '\r' && at(position_ + 2) == '\n'))) {
    position_ = source_.find('\n', position_);
    const bool was_empty = line_is_empty_;
    line_break();
    line_is_empty_ = was_empty;
  } else {
    token.offset = position_;
    token.line = line_;
    token.column = static_cast<int>(position_ - line_start_) + 1;
    return false;
  }
  return true;
}

auto PythonLexer::next() -> Token {
  Token token;
  while (position_ < source_.size() && blank(token)) {
  }
  if (position_ >= source_.size()) {
    token.offset = source_.size();
    token.line = line_;
    token.column = static_cast<int>(source_.size() - line_start_) + 1;
    if (line_is_empty_ || depth_ > 0) return token;
    line_is_empty_ = true;  // a last line without a line end still ends
    token.kind = TokenKind::newline;
    return token;
  }
  const char c = source_[position_];
  if (c == '\n') {
    token.kind = TokenKind::newline;
    line_break();
    return token;
  }
  if (line_is_empty_) {
    indent_ = token.column - 1;
    line_is_empty_ = false;
  }
  if (char_class(c) == letter || char_class(c) == high) return word(token);
  if (is_digit(c) || (c == '.' && is_digit(at(position_ + 1)))) return number(token);
  if (c == '"' || c == '\'') return string(token, 0);
  return symbol(token);
}

auto PythonLexer::finish(Token token, TokenKind kind, std::size_t end) -> Token {
  token.kind = kind;
  token.text = source_.substr(token.offset, end - token.offset);
  position_ = end;
  return token;
}

auto PythonLexer::fail(Token token, std::string message) -> Token {
  error_ = std::move(message);
  token.kind = TokenKind::invalid;
  return token;
}

auto PythonLexer::word(Token token) -> Token {
  auto end = position_;
  while (end < source_.size() && char_class(source_[end]) != other) {
    if (char_class(source_[end]) != high) {
      ++end;
      continue;
    }
    const auto length = utf8_length(source_.substr(end));
    if (length == 0) {
      token.column += static_cast<int>(end - token.offset);
      return fail(token, "invalid UTF-8");
    }
    end += length;
  }
  if (const char quote = at(end); (quote == '"' || quote == '\'') && end - position_ <= 2) {
    const auto prefix = source_.substr(position_, end - position_);
    if (prefix.find_first_not_of("rRbBfFuU") == std::string_view::npos)
      return string(token, prefix.size());
  }
  return finish(token, TokenKind::name, end);
}

auto PythonLexer::number(Token token) -> Token {
  auto end = position_;
  auto kind = TokenKind::integer;
  const auto digits = [&] {
    while (is_digit(at(end)) || at(end) == '_') ++end;
  };
  if (at(end) == '0' && std::string_view("xXoObB").contains(at(end + 1)) && at(end + 1) != '\0') {
    end += 2;
    while (hex_value(at(end)) >= 0 || at(end) == '_') ++end;
  } else {
    digits();
    if (at(end) == '.') {
      kind = TokenKind::real;
      ++end;
      digits();
    }
    const bool signed_exponent = at(end + 1) == '+' || at(end + 1) == '-';
    if ((at(end) == 'e' || at(end) == 'E') && is_digit(at(end + (signed_exponent ? 2 : 1)))) {
      kind = TokenKind::real;
      end += signed_exponent ? 2 : 1;
      digits();
    }
    if (at(end) == 'j' || at(end) == 'J') {
      kind = TokenKind::imaginary;
      ++end;
    }
  }
  if (char_class(at(end)) != other) return fail(token, "malformed number");
  return finish(token, kind, end);
}

auto PythonLexer::string(Token token, std::size_t prefix) -> Token {
  const auto start = position_ + prefix;
  const char quote = at(start);
  const bool triple = at(start + 1) == quote && at(start + 2) == quote;
  auto end = start + (triple ? 3 : 1);
  auto lines = line_;
  auto line_start = line_start_;
  for (; end < source_.size(); ++end) {
    const char c = source_[end];
    if (c == '\\') ++end;
    if (at(end) == '\n') {
      if (!triple && c != '\\') break;
      ++lines;
      line_start = end + 1;
    }
    if (c != quote || (triple && (at(end + 1) != quote || at(end + 2) != quote))) continue;
    line_ = lines;
    line_start_ = line_start;
    return finish(token, TokenKind::string, end + (triple ? 3 : 1));
  }
  return fail(token, "string is not closed");
}

auto PythonLexer::symbol(Token token) -> Token {
  const char c = source_[position_];
  if (kLonely.contains(c)) {  // most symbols, so no search for them
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if ((c == ')' || c == ']' || c == '}') && depth_ > 0) --depth_;
    return finish(token, TokenKind::symbol, position_ + 1);
  }
  const auto rest = source_.substr(position_, 3);
  for (const auto candidate : kSymbols)
    if (rest.starts_with(candidate))
      return finish(token, TokenKind::symbol, position_ + candidate.size());
  if (c > ' ' && c < '\x7f') return fail(token, fmt::format("unexpected character \"{}\"", c));
  return fail(token, fmt::format("unexpected byte 0x{:02x}", static_cast<unsigned char>(c)));
}

}  // namespace assay
