#include <array>
#include <cctype>

#include "compiler/read/cpp_syntax.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 26> kMarks = {
    "<<=", ">>=", "...", "::", "->", "++", "--", "<<", "<=", ">=", "==", "!=", "&&",
    "||",  "+=",  "-=",  "*=", "/=", "%=", "&=", "|=", "^=", "##", ">",  "<",  "="};

class CppLexer {
 public:
  explicit CppLexer(std::string_view text) : text_(text) {}

  auto run() -> std::vector<CppToken> {
    while (true) {
      skip_blank();
      const auto token = next();
      tokens_.push_back(token);
      if (token.kind == CppToken::Kind::end) return std::move(tokens_);
    }
  }

 private:
  [[nodiscard]] auto at(std::size_t ahead = 0) const -> char {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  [[nodiscard]] auto starts(std::string_view what) const -> bool {
    return text_.substr(at_).starts_with(what);
  }
  void move(std::size_t count) {
    for (std::size_t i = 0; i < count && at_ < text_.size(); ++i)
      if (text_[at_++] == '\n') ++line_;
  }
  void skip_blank() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(at())) != 0) {
        move(1);
      } else if (starts("//")) {
        while (at_ < text_.size() && at() != '\n') move(1);
      } else if (starts("/*")) {
        const auto end = text_.find("*/", at_ + 2);
        move((end == std::string_view::npos ? text_.size() : end + 2) - at_);
      } else {
        return;
      }
    }
  }

  [[nodiscard]] auto take(CppToken::Kind kind, std::size_t length) -> CppToken {
    const CppToken token{kind, text_.substr(at_, length), line_, at_};
    move(length);
    return token;
  }

  static auto is_word(char c) -> bool {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  }

  auto next() -> CppToken {
    using enum CppToken::Kind;
    if (at_ >= text_.size()) return {end, text_.substr(text_.size()), line_, text_.size()};
    const char c = at();
    if (c == '#') return directive();
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 ||
        (c == '.' && std::isdigit(static_cast<unsigned char>(at(1))) != 0))
      return take(number, number_length());
    std::size_t length = 0;
    while (is_word(at(length))) ++length;
    if (length > 0) return take(name, length);
    if (c == '"' || c == '\'') return quoted(c);
    for (const auto text : kMarks)
      if (starts(text)) return take(mark, text.size());
    constexpr std::string_view kSingle = "+-*/%&|^~!?:;,.(){}[]";
    return take(kSingle.contains(c) ? mark : invalid, 1);
  }

  auto directive() -> CppToken {
    std::size_t length = 0;
    while (at_ + length < text_.size() && at(length) != '\n')
      length += at(length) == '\\' && at(length + 1) == '\n' ? 2U : 1U;
    return take(CppToken::Kind::pragma, length);
  }
  auto quoted(char quote) -> CppToken {
    std::size_t length = 1;
    while (at_ + length < text_.size() && at(length) != quote && at(length) != '\n')
      length += at(length) == '\\' ? 2U : 1U;
    if (at(length) != quote) return take(CppToken::Kind::invalid, 1);
    return take(CppToken::Kind::string, length + 1);
  }
  /// Digits, points, suffixes; a sign behind an exponent.
  [[nodiscard]] auto number_length() const -> std::size_t {
    const bool is_hex = at() == '0' && (at(1) == 'x' || at(1) == 'X');
    std::size_t length = 0;
    while (is_word(at(length)) || at(length) == '.' ||
           ((at(length) == '+' || at(length) == '-') && length > 0 &&
            std::string_view(is_hex ? "pP" : "eE").contains(at(length - 1))))
      ++length;
    return length;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::vector<CppToken> tokens_;
};

}  // namespace

auto lex_cpp(std::string_view text) -> std::vector<CppToken> {
  return CppLexer(text).run();
}

}  // namespace assay
