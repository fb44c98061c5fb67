// Tokens of the expression grammar. Internal to core/expr.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/result.h"

namespace assay {

enum class TokenKind { name, integer, real, text, symbol, end };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;      ///< spelling; the inside of the quotes for text
  std::size_t column = 1;     ///< 1-based
  std::uint64_t integer = 0;  ///< magnitude, at most 2^63
  double real = 0;
};

/// Reads one token after another; whitespace separates.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  [[nodiscard]] auto next() -> Result<Token>;

 private:
  auto number(Token token) -> Result<Token>;
  auto quoted(Token token) -> Result<Token>;
  auto finish(Token token, std::size_t length) -> Token;

  std::string_view text_;
  std::size_t at_ = 0;
};

/// Value of a complete float text such as `1.0e-12`, `inf`, `nan`, `-oo`.
[[nodiscard]] auto real_from_text(std::string_view text) -> std::optional<double>;

}  // namespace assay
