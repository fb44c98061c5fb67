// Recursive descent over the tokens of a kernel. Internal to compiler/read.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/read/cpp_syntax.h"

namespace assay {

class CppParser {
 public:
  explicit CppParser(std::string_view text) : tokens_(lex_cpp(text)) { syntax_.text_ = text; }
  [[nodiscard]] auto run() -> Result<CppSyntax>;

 private:
  // cpp_parser.cpp
  [[nodiscard]] auto function() -> Result<bool>;
  [[nodiscard]] auto param() -> Result<CppParam>;
  [[nodiscard]] auto block() -> Result<int>;
  [[nodiscard]] auto statement() -> int;
  [[nodiscard]] auto known_statement() -> Result<int>;
  [[nodiscard]] auto loop() -> Result<int>;
  [[nodiscard]] auto branch() -> Result<int>;
  [[nodiscard]] auto declaration() -> Result<int>;
  [[nodiscard]] auto initialiser(CppNode& node) -> Result<void>;
  [[nodiscard]] auto is_declaration() -> bool;
  void skip_qualifiers();
  void skip_statement(std::size_t from);
  // cpp_expression_parser.cpp
  [[nodiscard]] auto expression() -> Result<int>;
  [[nodiscard]] auto assignment() -> Result<int>;
  [[nodiscard]] auto conditional() -> Result<int>;
  [[nodiscard]] auto binary(int level) -> Result<int>;
  [[nodiscard]] auto unary() -> Result<int>;
  [[nodiscard]] auto postfix() -> Result<int>;
  [[nodiscard]] auto primary() -> Result<int>;
  [[nodiscard]] auto thrown() -> Result<int>;
  [[nodiscard]] auto is_cast() const -> bool;
  [[nodiscard]] auto lambda() -> Result<int>;
  [[nodiscard]] auto name() -> Result<int>;
  [[nodiscard]] auto type() -> Result<int>;
  [[nodiscard]] auto template_arguments(CppNode& node) -> Result<void>;
  [[nodiscard]] auto ends_template() const -> bool;
  [[nodiscard]] auto arguments(std::string_view close, CppNode& node) -> Result<void>;

  [[nodiscard]] auto token(std::size_t ahead = 0) const -> const CppToken& {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  [[nodiscard]] auto at(std::string_view text, std::size_t ahead = 0) const -> bool {
    return token(ahead).is(text);
  }
  [[nodiscard]] auto accept(std::string_view text) -> bool {
    if (!at(text)) return false;
    advance();
    return true;
  }
  void advance() {
    if (at_ + 1 < tokens_.size()) ++at_;
  }
  [[nodiscard]] auto expect(std::string_view text) -> Result<void>;
  [[nodiscard]] auto unexpected(std::string_view wanted) const -> std::unexpected<Error>;
  [[nodiscard]] auto start(CppKind kind) const -> CppNode;
  [[nodiscard]] auto add(CppNode node) -> int;
  [[nodiscard]] auto wrap(CppKind kind, int first, std::string text = {}) const -> CppNode;

  CppSyntax syntax_;
  std::vector<CppToken> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool in_template_ = false;  ///< `>` ends the list
};

}  // namespace assay
