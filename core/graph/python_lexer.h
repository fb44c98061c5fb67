// Tokens of Python source: enough for the code FX generates and the scripts around it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/text.h"

namespace assay {

enum class TokenKind : std::uint8_t {
  name,  ///< identifiers, keywords, None, True, inf
  integer,
  real,
  imaginary,
  string,   ///< with prefix and quotes; see decode_string
  symbol,   ///< operator or bracket, longest match
  newline,  ///< end of a logical line; none for blank lines
  end,
  invalid,  ///< see PythonLexer::error()
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  std::size_t offset = 0;  ///< of the first byte in the source
  int line = 1;
  int column = 1;
  [[nodiscard]] auto is(std::string_view symbol_or_name) const -> bool {
    return text == symbol_or_name && (kind == TokenKind::symbol || kind == TokenKind::name);
  }
};

/// A comment that was passed over; `text` is without the `#` and outer blanks.
struct Comment {
  std::string_view text;
  int line = 1;
  int column = 1;
  bool own_line = false;  ///< nothing but the comment on its line
};

/// Reads tokens one by one. Line ends inside brackets are blanks. Copy it to save a place and
/// assign the copy back to return there. The source must outlive it and its tokens.
class PythonLexer {
 public:
  explicit PythonLexer(std::string_view source) : source_(source) {}

  auto next() -> Token;
  /// Message of the last invalid token, without the place.
  [[nodiscard]] auto error() const -> std::string_view { return error_; }
  /// Indentation of the line the last token started on, in columns.
  [[nodiscard]] auto indent() const -> int { return indent_; }
  [[nodiscard]] auto source() const -> std::string_view { return source_; }
  /// Comments passed over since the last call.
  auto take_comments() -> std::vector<Comment> { return std::exchange(comments_, {}); }
  /// Goes to the start of the next physical line, out of all brackets.
  void skip_line();
  /// Starts over at a byte offset with the given line number (1-based).
  void seek(std::size_t offset, int line);

 private:
  auto blank(Token& token) -> bool;
  void comment();
  void line_break();
  auto number(Token token) -> Token;
  auto string(Token token, std::size_t prefix) -> Token;
  auto symbol(Token token) -> Token;
  auto word(Token token) -> Token;
  auto finish(Token token, TokenKind kind, std::size_t end) -> Token;
  auto fail(Token token, std::string message) -> Token;
  [[nodiscard]] auto at(std::size_t i) const -> char {
    return i < source_.size() ? source_[i] : '\0';
  }

  std::string_view source_;
  std::size_t position_ = 0;
  std::size_t line_start_ = 0;
  int line_ = 1;
  int depth_ = 0;  ///< open brackets
  int indent_ = 0;
  bool line_is_empty_ = true;  ///< no token of this logical line yet
  std::string error_;
  std::vector<Comment> comments_;
};

/// Value of a string token. Errors: bad_input for broken escapes, unsupported for f-strings.
/// Bytes literals decode like strings.
[[nodiscard]] auto decode_string(std::string_view token) -> Result<std::string>;
/// Python literal of a text: single quotes, escapes for everything that is not plain UTF-8 text.
[[nodiscard]] auto quote_string(std::string_view text) -> std::string;
/// The text without ANSI colour sequences (`ESC [ ... letter`).
[[nodiscard]] auto strip_ansi(std::string_view text) -> std::string;
/// Bytes of the well-formed UTF-8 sequence at the front of `text`, 0 if there is none.
[[nodiscard]] auto utf8_length(std::string_view text) -> std::size_t;

/// Errors: bad_input with the line and column of the first byte that is not UTF-8.
[[nodiscard]] auto check_utf8(std::string_view text) -> Result<void>;

/// `line L, column C: MESSAGE`.
template <class... Args>
[[nodiscard]] auto bad_source(const Token& at, fmt::format_string<Args...> text, Args&&... args)
    -> std::unexpected<Error> {
  return bad_input("line {}, column {}: {}", at.line, at.column,
                   fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace assay
