#include "core/expr/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace assay {
namespace {

auto is_digit(char c) -> bool {
  return c >= '0' && c <= '9';
}
auto is_name_start(char c) -> bool {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
auto is_name_part(char c) -> bool {
  return is_name_start(c) || is_digit(c);
}
auto is_space(char c) -> bool {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// Two-character operators come first, so that the longest match wins.
constexpr auto kSymbols = std::to_array<std::string_view>(
    {"**", "//", "==", "!=", "<=", ">=", "<<", ">>", "+", "-", "*", "/", "%",
     "<",  ">",  "=",  "&",  "|",  "^",  "~",  "(",  ")", ",", "[", "]"});

}  // namespace

auto real_from_text(std::string_view text) -> std::optional<double> {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool minus = text.starts_with('-');
  std::string_view rest = text.substr(minus || text.starts_with('+') ? 1 : 0);
  if (rest == "inf" || rest == "oo" || rest == "Infinity") return minus ? -kInfinity : kInfinity;
  if (rest == "nan" || rest == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (rest.empty() || (!is_digit(rest[0]) && rest[0] != '.')) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc() || end != rest.data() + rest.size()) return std::nullopt;
  return minus ? -value : value;
}

auto Lexer::finish(Token token, std::size_t length) -> Token {
  token.text = text_.substr(at_, length);
  at_ += length;
  return token;
}

auto Lexer::next() -> Result<Token> {
  while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  Token token{.kind = TokenKind::end, .text = {}, .column = at_ + 1};
  if (at_ == text_.size()) return token;
  const char c = text_[at_];
  const char following = at_ + 1 < text_.size() ? text_[at_ + 1] : ' ';
  if (is_digit(c) || (c == '.' && is_digit(following))) return number(token);
  if (c == '\'' || c == '"') return quoted(token);
  if (is_name_start(c)) {
    std::size_t end = at_;
    // Class paths (torch.utils._sympy.functions.FloorDiv) are one name.
    while (end < text_.size() &&
           (is_name_part(text_[end]) ||
            (text_[end] == '.' && end + 1 < text_.size() && is_name_start(text_[end + 1]))))
      ++end;
    token.kind = TokenKind::name;
    return finish(token, end - at_);
  }
  for (const std::string_view symbol : kSymbols) {
    if (!text_.substr(at_).starts_with(symbol)) continue;
    token.kind = TokenKind::symbol;
    return finish(token, symbol.size());
  }
  const auto code = static_cast<unsigned>(static_cast<unsigned char>(c));
  return bad_input("column {}: unexpected character 0x{:02x}", token.column, code);
}

auto Lexer::number(Token token) -> Result<Token> {
  std::size_t end = at_;
  const auto digits = [&] {
    while (end < text_.size() && is_digit(text_[end])) ++end;
  };
  digits();
  bool real = false;
  if (end < text_.size() && text_[end] == '.') {
    real = true;
    ++end;
    digits();
  }
  if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
    std::size_t exponent = end + 1;
    if (exponent < text_.size() && (text_[exponent] == '+' || text_[exponent] == '-')) ++exponent;
    if (exponent < text_.size() && is_digit(text_[exponent])) {
      real = true;
      end = exponent;
      digits();
    }
  }
  if (end < text_.size() && is_name_part(text_[end]))
    return bad_input("column {}: expected an operator after the number", end + 1);
  token = finish(token, end - at_);
  token.kind = real ? TokenKind::real : TokenKind::integer;
  if (real) {
    const auto value = real_from_text(token.text);
    if (!value) return bad_input("column {}: number out of range", token.column);
    token.real = *value;
    return token;
  }
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 63U;
  const auto [last, error] =
      std::from_chars(token.text.data(), token.text.data() + token.text.size(), token.integer);
  if (error != std::errc() || token.integer > kLimit)
    return bad_input("column {}: integer does not fit 64 bits", token.column);
  return token;
}

auto Lexer::quoted(Token token) -> Result<Token> {
  const char quote = text_[at_];
  const std::size_t end = text_.find(quote, at_ + 1);
  if (end == std::string_view::npos)
    return bad_input("column {}: expected a closing quote", token.column);
  token.kind = TokenKind::text;
  token.text = text_.substr(at_ + 1, end - at_ - 1);
  const bool plain =
      std::ranges::all_of(token.text, [](char c) { return c >= ' ' && c <= '~' && c != '\\'; });
  if (!plain) return bad_input("column {}: unexpected character in a quoted name", token.column);
  at_ = end + 1;
  return token;
}

}  // namespace assay
