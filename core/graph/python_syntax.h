// Expressions of the Python subset as a flat syntax tree, and the token cursor that reads them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/python_lexer.h"

namespace assay {

enum class SyntaxKind : std::uint8_t {
  name,  ///< text: identifier, None, True, False
  integer,
  real,
  imaginary,
  string,  ///< text: first token; several adjacent strings are several children
  ellipsis,
  attribute,    ///< child.text
  call,         ///< callee, then arguments
  keyword,      ///< text = child, inside a call
  star,         ///< *child or **child (text), inside a call, sequence or dictionary
  subscript,    ///< base, index
  slice,        ///< three children: start, stop, step
  conditional,  ///< three children: value, condition, other value
  unary,        ///< text child
  binary,       ///< child text child; comparisons too
  list,         ///< sets too
  tuple,
  dict,  ///< key, value, key, value, ...
  none,  ///< a part left out, in slices only
};

/// One expression. `place` is where it starts; children are linked by index.
struct Syntax {
  SyntaxKind kind = SyntaxKind::none;
  std::string_view text;
  Token place;
  std::size_t end = 0;  ///< byte offset behind the expression
  int first_child = -1;
  int next_sibling = -1;
  int child_count = 0;
  int depth = 1;
};

/// Expressions nest at most this deep, so that recursive readers of the tree are safe.
inline constexpr int kMaxSyntaxDepth = 400;

/// Reads tokens of one source and parses expressions. All errors carry `line L, column C`.
class PythonCursor {
 public:
  /// Starts at a byte offset, which lies on the line with the given number.
  explicit PythonCursor(std::string_view source, std::size_t offset = 0, int line = 1)
      : lexer_(source) {
    seek(offset, line);
  }

  [[nodiscard]] auto token() const -> const Token& { return token_; }
  [[nodiscard]] auto lexer() -> PythonLexer& { return lexer_; }
  void advance() { token_ = lexer_.next(); }
  /// Continues at another place of the source; `line` is that place's line number.
  void seek(std::size_t offset, int line) {
    lexer_.seek(offset, line);
    advance();
  }
  [[nodiscard]] auto at(std::string_view symbol_or_name) const -> bool {
    return token_.is(symbol_or_name);
  }
  /// Passes the symbol or name if it is next.
  auto accept(std::string_view symbol_or_name) -> bool;
  [[nodiscard]] auto expect(std::string_view symbol_or_name) -> Result<void>;
  [[nodiscard]] auto expect_name(std::string_view what) -> Result<Token>;
  /// Error that names what stands here instead of what was expected.
  [[nodiscard]] auto unexpected(std::string_view expected) const -> std::unexpected<Error>;

  /// One expression; the index is valid until clear().
  [[nodiscard]] auto expression() -> Result<int>;
  /// Expressions separated by commas: a tuple if there is a comma, else the only one.
  [[nodiscard]] auto expression_list() -> Result<int>;
  [[nodiscard]] auto syntax(int index) const -> const Syntax& {
    return nodes_[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] auto source_of(int index) const -> std::string_view {
    const auto& s = syntax(index);
    return lexer_.source().substr(s.place.offset, s.end - s.place.offset);
  }
  /// Passes a type as it stands behind a colon, up to what cannot be part of one (`=`, a comma, a
  /// closing bracket, a line end), and returns its text: `f32[]` is no expression.
  [[nodiscard]] auto type_text() -> Result<std::string_view>;
  [[nodiscard]] auto children(int index) const -> std::vector<int>;
  /// Positional arguments of a call.
  [[nodiscard]] auto positional(int call) const -> std::vector<int>;
  /// Value of a keyword argument of a call, -1 if it is not there.
  [[nodiscard]] auto keyword(int call, std::string_view name) const -> int;
  void clear() { nodes_.clear(); }

  /// The physical line from a token on.
  [[nodiscard]] auto line_from(const Token& place) const -> std::string_view;
  /// Goes behind the physical line of the current token, out of all brackets.
  void skip_line();
  /// Goes to the end of the statement, which brackets may carry over several lines.
  void skip_logical_line();

 private:
  auto binary(int min_precedence) -> Result<int>;
  auto unary() -> Result<int>;
  auto postfix() -> Result<int>;
  auto primary() -> Result<int>;
  auto strings() -> Result<int>;
  auto brackets(SyntaxKind kind, std::string_view close) -> Result<int>;
  auto parenthesized() -> Result<int>;
  auto dict() -> Result<int>;
  auto item() -> Result<int>;
  auto call(int callee) -> Result<int>;
  auto argument() -> Result<int>;
  auto subscript(int base) -> Result<int>;
  auto index() -> Result<int>;
  auto index_item() -> Result<int>;
  auto leaf(SyntaxKind kind) -> int;
  auto make(SyntaxKind kind, const Token& place, std::string_view text) -> int;
  void add_child(int parent, int child, int& last);
  auto close(int node) -> Result<int>;

  PythonLexer lexer_;
  Token token_;
  std::size_t last_end_ = 0;  ///< byte behind the last token passed inside an expression
  int nesting_ = 0;
  std::vector<Syntax> nodes_;
};

}  // namespace assay
