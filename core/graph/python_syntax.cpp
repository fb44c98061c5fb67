// Precedence-climbing parser of Python expressions.
#include "core/graph/python_syntax.h"

#include <array>

namespace assay {
namespace {

struct Precedence {
  std::string_view symbol;
  int level;
};
constexpr std::array kPrecedences = {
    Precedence{"or", 1},  Precedence{"and", 2}, Precedence{"==", 4}, Precedence{"!=", 4},
    Precedence{"<", 4},   Precedence{"<=", 4},  Precedence{">", 4},  Precedence{">=", 4},
    Precedence{"in", 4},  Precedence{"is", 4},  Precedence{"|", 5},  Precedence{"^", 6},
    Precedence{"&", 7},   Precedence{"<<", 8},  Precedence{">>", 8}, Precedence{"+", 9},
    Precedence{"-", 9},   Precedence{"*", 10},  Precedence{"@", 10}, Precedence{"/", 10},
    Precedence{"//", 10}, Precedence{"%", 10},
};
constexpr int kTernary = 0;

auto precedence_of(const Token& token) -> int {
  if (token.kind != TokenKind::symbol && token.kind != TokenKind::name) return -1;
  for (const auto& row : kPrecedences)
    if (row.symbol == token.text) return row.level;
  return -1;
}

/// Counts how deep the parser is; the call stack is what has to be saved from hostile input.
class Nesting {
 public:
  explicit Nesting(int& count) : count_(count) { ++count_; }
  ~Nesting() { --count_; }
  Nesting(const Nesting&) = delete;
  auto operator=(const Nesting&) -> Nesting& = delete;
  [[nodiscard]] auto too_deep() const -> bool { return count_ > kMaxSyntaxDepth; }

 private:
  int& count_;
};

}  // namespace

auto PythonCursor::accept(std::string_view symbol_or_name) -> bool {
  if (!at(symbol_or_name)) return false;
  last_end_ = token_.offset + token_.text.size();
  advance();
  return true;
}

auto PythonCursor::unexpected(std::string_view expected) const -> std::unexpected<Error> {
  switch (token_.kind) {
    case TokenKind::invalid:
      return bad_source(token_, "{}", lexer_.error());
    case TokenKind::end:
      return bad_source(token_, "expected {}, but the text ends", expected);
    case TokenKind::newline:
      return bad_source(token_, "expected {}, but the line ends", expected);
    case TokenKind::name:
    case TokenKind::integer:
    case TokenKind::real:
    case TokenKind::imaginary:
    case TokenKind::string:
    case TokenKind::symbol:
      break;
  }
  return bad_source(token_, "expected {}, found {}", expected, token_.text.substr(0, 40));
}

auto PythonCursor::expect(std::string_view symbol_or_name) -> Result<void> {
  if (!accept(symbol_or_name)) return unexpected(fmt::format("\"{}\"", symbol_or_name));
  return {};
}

auto PythonCursor::expect_name(std::string_view what) -> Result<Token> {
  if (token_.kind != TokenKind::name) return unexpected(what);
  const Token name = token_;
  accept(name.text);
  return name;
}

auto PythonCursor::type_text() -> Result<std::string_view> {
  const Token start = token_;
  int depth = 0;
  while (token_.kind != TokenKind::newline && token_.kind != TokenKind::end) {
    if (token_.kind == TokenKind::invalid) return unexpected("a type");
    const bool opens = at("(") || at("[") || at("{");
    const bool closes = at(")") || at("]") || at("}");
    if (depth == 0 && (closes || at("=") || at(",") || at(";"))) break;
    depth += opens ? 1 : closes ? -1 : 0;
    last_end_ = token_.offset + token_.text.size();
    advance();
  }
  if (token_.offset == start.offset) return unexpected("a type");
  return lexer_.source().substr(start.offset, last_end_ - start.offset);
}

auto PythonCursor::children(int index) const -> std::vector<int> {
  std::vector<int> result;
  const auto& parent = syntax(index);
  result.reserve(static_cast<std::size_t>(parent.child_count));
  for (int child = parent.first_child; child >= 0; child = syntax(child).next_sibling)
    result.push_back(child);
  return result;
}

auto PythonCursor::positional(int call) const -> std::vector<int> {
  auto arguments = children(call);
  std::erase_if(arguments, [&](int child) {
    return child == syntax(call).first_child || syntax(child).kind == SyntaxKind::keyword;
  });
  return arguments;
}

auto PythonCursor::keyword(int call, std::string_view name) const -> int {
  for (const int child : children(call))
    if (syntax(child).kind == SyntaxKind::keyword && syntax(child).text == name)
      return syntax(child).first_child;
  return -1;
}

auto PythonCursor::line_from(const Token& place) const -> std::string_view {
  const auto source = lexer_.source();
  return source.substr(place.offset, source.find('\n', place.offset) - place.offset);
}

// The lexer is one token ahead, so it cannot be asked to skip.
void PythonCursor::skip_line() {
  if (token_.kind == TokenKind::newline || token_.kind == TokenKind::end) return advance();
  const auto source = lexer_.source();
  const auto end = source.find('\n', token_.offset);
  seek(end == std::string_view::npos ? source.size() : end + 1, token_.line + 1);
}

void PythonCursor::skip_logical_line() {
  while (token_.kind != TokenKind::newline && token_.kind != TokenKind::end) {
    if (token_.kind == TokenKind::invalid) return skip_line();
    advance();
  }
}

auto PythonCursor::make(SyntaxKind kind, const Token& place, std::string_view text) -> int {
  Syntax node;
  node.kind = kind;
  node.place = place;
  node.text = text;
  nodes_.push_back(node);
  return static_cast<int>(nodes_.size()) - 1;
}

void PythonCursor::add_child(int parent, int child, int& last) {
  auto& node = nodes_[static_cast<std::size_t>(parent)];
  if (last < 0) {
    node.first_child = child;
  } else {
    nodes_[static_cast<std::size_t>(last)].next_sibling = child;
  }
  last = child;
  ++node.child_count;
  node.depth = std::max(node.depth, syntax(child).depth + 1);
}

/// Ends a node at the last token passed. Long chains such as a.b.c or 1+1+1 nest without recursion
/// of the parser, hence the second look at the depth.
auto PythonCursor::close(int node) -> Result<int> {
  auto& closed = nodes_[static_cast<std::size_t>(node)];
  closed.end = last_end_;
  if (closed.depth > kMaxSyntaxDepth)
    return bad_source(closed.place, "expression nests too deeply");
  return node;
}

auto PythonCursor::leaf(SyntaxKind kind) -> int {
  const int node = make(kind, token_, token_.text);
  last_end_ = token_.offset + token_.text.size();
  nodes_.back().end = last_end_;
  advance();
  return node;
}

auto PythonCursor::expression() -> Result<int> {
  if (at("lambda")) return unexpected("an expression without lambda");
  const Nesting nesting(nesting_);
  if (nesting.too_deep()) return bad_source(token_, "expression nests too deeply");
  const Token start = token_;
  ASSAY_TRY(const int value, binary(1));
  if (!accept("if")) return value;
  ASSAY_TRY(const int condition, binary(1));
  ASSAY_TRY_VOID(expect("else"));
  ASSAY_TRY(const int other, expression());
  const int node = make(SyntaxKind::conditional, start, {});
  int last = -1;
  for (const int part : {value, condition, other}) add_child(node, part, last);
  return close(node);
}

auto PythonCursor::expression_list() -> Result<int> {
  const Token start = token_;
  ASSAY_TRY(const int first, item());
  if (!at(",")) return first;
  const int tuple = make(SyntaxKind::tuple, start, {});
  int last = -1;
  add_child(tuple, first, last);
  while (accept(",")) {
    if (token_.kind == TokenKind::newline || token_.kind == TokenKind::end || at("=") || at(";"))
      break;
    ASSAY_TRY(const int next, item());
    add_child(tuple, next, last);
  }
  return close(tuple);
}

auto PythonCursor::binary(int min_precedence) -> Result<int> {
  const Nesting nesting(nesting_);
  if (nesting.too_deep()) return bad_source(token_, "expression nests too deeply");
  const Token start = token_;
  int left = -1;
  if (at("not")) {
    advance();
    left = make(SyntaxKind::unary, start, "not");
    ASSAY_TRY(const int operand, binary(3));
    int last = -1;
    add_child(left, operand, last);
    ASSAY_TRY(left, close(left));
  } else {
    ASSAY_TRY(left, unary());
  }
  while (true) {
    const int level = precedence_of(token_);
    if (level < min_precedence || level == kTernary) return left;
    auto symbol = token_.text;
    advance();
    if (symbol == "is" && accept("not")) symbol = "is not";
    ASSAY_TRY(const int right, binary(level + 1));
    const int node = make(SyntaxKind::binary, start, symbol);
    int last = -1;
    add_child(node, left, last);
    add_child(node, right, last);
    ASSAY_TRY(left, close(node));
  }
}

auto PythonCursor::unary() -> Result<int> {
  const Nesting nesting(nesting_);
  if (nesting.too_deep()) return bad_source(token_, "expression nests too deeply");
  const Token start = token_;
  int last = -1;
  if (at("-") || at("+") || at("~")) {
    advance();
    ASSAY_TRY(const int operand, unary());
    const int node = make(SyntaxKind::unary, start, start.text);
    add_child(node, operand, last);
    return close(node);
  }
  ASSAY_TRY(const int base, postfix());
  if (!at("**")) return base;
  const auto symbol = token_.text;
  advance();
  ASSAY_TRY(const int exponent, unary());  // right-associative, and -x binds tighter on the right
  const int node = make(SyntaxKind::binary, start, symbol);
  add_child(node, base, last);
  add_child(node, exponent, last);
  return close(node);
}

auto PythonCursor::postfix() -> Result<int> {
  ASSAY_TRY(int value, primary());
  while (token_.kind == TokenKind::symbol) {
    if (at(".")) {
      advance();
      const Token place = syntax(value).place;
      if (token_.kind != TokenKind::name) return unexpected("an attribute name");
      const int node = make(SyntaxKind::attribute, place, token_.text);
      accept(token_.text);
      int last = -1;
      add_child(node, value, last);
      ASSAY_TRY(value, close(node));
    } else if (at("(")) {
      ASSAY_TRY(value, call(value));
    } else if (at("[")) {
      ASSAY_TRY(value, subscript(value));
    } else {
      break;
    }
  }
  return value;
}

auto PythonCursor::primary() -> Result<int> {
  switch (token_.kind) {
    case TokenKind::name:
      return leaf(SyntaxKind::name);
    case TokenKind::integer:
      return leaf(SyntaxKind::integer);
    case TokenKind::real:
      return leaf(SyntaxKind::real);
    case TokenKind::imaginary:
      return leaf(SyntaxKind::imaginary);
    case TokenKind::string:
      return strings();
    case TokenKind::symbol:
      break;
    case TokenKind::newline:
    case TokenKind::end:
    case TokenKind::invalid:
      return unexpected("an expression");
  }
  if (at("...")) return leaf(SyntaxKind::ellipsis);
  if (at("(")) return parenthesized();
  if (at("[")) return brackets(SyntaxKind::list, "]");
  if (at("{")) return dict();
  return unexpected("an expression");
}

auto PythonCursor::strings() -> Result<int> {
  const int first = leaf(SyntaxKind::string);
  if (token_.kind != TokenKind::string) return first;
  const Token place = syntax(first).place;
  const int node = make(SyntaxKind::string, place, syntax(first).text);
  int last = -1;
  add_child(node, first, last);
  while (token_.kind == TokenKind::string) add_child(node, leaf(SyntaxKind::string), last);
  return close(node);
}

/// An element of a sequence or an expression list, perhaps starred.
auto PythonCursor::item() -> Result<int> {
  if (!at("*") && !at("**")) return expression();
  const Token start = token_;
  advance();
  ASSAY_TRY(const int value, expression());
  const int node = make(SyntaxKind::star, start, start.text);
  int last = -1;
  add_child(node, value, last);
  return close(node);
}

auto PythonCursor::brackets(SyntaxKind kind, std::string_view closing) -> Result<int> {
  const int node = make(kind, token_, {});
  advance();
  int last = -1;
  while (!accept(closing)) {
    ASSAY_TRY(const int value, item());
    add_child(node, value, last);
    if (!at(closing) && !accept(",")) return unexpected(fmt::format("\",\" or \"{}\"", closing));
  }
  return close(node);
}

auto PythonCursor::parenthesized() -> Result<int> {
  const Token start = token_;
  advance();
  int last = -1;
  if (accept(")")) return close(make(SyntaxKind::tuple, start, {}));
  ASSAY_TRY(const int first, item());
  if (accept(")")) {
    // A parenthesis is no node of its own, but the expression now reaches to its end.
    auto& inner = nodes_[static_cast<std::size_t>(first)];
    inner.place.offset = start.offset;
    inner.place.column = start.column;
    inner.place.line = start.line;
    inner.end = last_end_;
    return first;
  }
  const int node = make(SyntaxKind::tuple, start, {});
  add_child(node, first, last);
  while (!accept(")")) {
    if (!accept(",")) return unexpected("\",\" or \")\"");
    if (accept(")")) break;
    ASSAY_TRY(const int value, item());
    add_child(node, value, last);
  }
  return close(node);
}

auto PythonCursor::dict() -> Result<int> {
  const int node = make(SyntaxKind::dict, token_, {});
  advance();
  int last = -1;
  while (!accept("}")) {
    ASSAY_TRY(const int key, expression());
    add_child(node, key, last);
    if (!at(":") && (syntax(node).kind == SyntaxKind::list || syntax(node).child_count == 1)) {
      nodes_[static_cast<std::size_t>(node)].kind = SyntaxKind::list;  // a set: `{a, b}`
    } else {
      ASSAY_TRY_VOID(expect(":"));
      ASSAY_TRY(const int value, expression());
      add_child(node, value, last);
    }
    if (!at("}") && !accept(",")) return unexpected("\",\" or \"}\"");
  }
  return close(node);
}

auto PythonCursor::call(int callee) -> Result<int> {
  const int node = make(SyntaxKind::call, syntax(callee).place, {});
  int last = -1;
  add_child(node, callee, last);
  advance();
  while (!accept(")")) {
    ASSAY_TRY(const int value, argument());
    add_child(node, value, last);
    if (!at(")") && !accept(",")) return unexpected("\",\" or \")\"");
  }
  return close(node);
}

auto PythonCursor::argument() -> Result<int> {
  ASSAY_TRY(const int value, item());
  if (!at("=") || syntax(value).kind != SyntaxKind::name) return value;
  advance();
  const Token place = syntax(value).place;
  const auto name = syntax(value).text;
  ASSAY_TRY(const int assigned, expression());
  const int node = make(SyntaxKind::keyword, place, name);
  int last = -1;
  add_child(node, assigned, last);
  return close(node);
}

auto PythonCursor::subscript(int base) -> Result<int> {
  const int node = make(SyntaxKind::subscript, syntax(base).place, {});
  int last = -1;
  add_child(node, base, last);
  advance();
  ASSAY_TRY(const int value, index());
  add_child(node, value, last);
  ASSAY_TRY_VOID(expect("]"));
  return close(node);
}

auto PythonCursor::index() -> Result<int> {
  const Token start = token_;
  ASSAY_TRY(const int first, index_item());
  if (!at(",")) return first;
  const int tuple = make(SyntaxKind::tuple, start, {});
  int last = -1;
  add_child(tuple, first, last);
  while (accept(",")) {
    if (at("]")) break;
    ASSAY_TRY(const int next, index_item());
    add_child(tuple, next, last);
  }
  return close(tuple);
}

/// An index, or start:stop:step with any part left out.
auto PythonCursor::index_item() -> Result<int> {
  const Token start = token_;
  std::array<int, 3> parts{-1, -1, -1};
  std::size_t count = 0;
  while (true) {
    if (!at(":") && !at("]") && !at(",")) {
      ASSAY_TRY(parts[count], expression());
    }
    if (count == 2 || !at(":")) break;
    accept(":");
    ++count;
  }
  if (count == 0) return parts[0] >= 0 ? Result<int>(parts[0]) : unexpected("an index");
  const int node = make(SyntaxKind::slice, start, {});
  int last = -1;
  for (const int part : parts)
    add_child(node, part >= 0 ? part : make(SyntaxKind::none, start, {}), last);
  return close(node);
}

}  // namespace assay
