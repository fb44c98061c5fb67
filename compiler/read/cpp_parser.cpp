// Functions and statements.
#include "compiler/read/cpp_parser.h"

#include <algorithm>
#include <array>

namespace assay {
namespace {

constexpr int kMaxDepth = 200;
constexpr std::array<std::string_view, 6> kQualifiers = {"static",   "const",        "constexpr",
                                                         "volatile", "__at_align__", "inline"};
constexpr std::array<std::string_view, 5> kWords = {"unsigned", "signed", "long", "short", "int"};

auto is_one_of(const auto& names, const CppToken& token) -> bool {
  return token.kind == CppToken::Kind::name && std::ranges::find(names, token.text) != names.end();
}

}  // namespace

auto CppSyntax::parse(std::string_view text) -> Result<CppSyntax> {
  return CppParser(text).run();
}

auto CppSyntax::source_of(int node) const -> std::string {
  const auto& of = this->node(node);
  std::string result;
  for (const char c : text_.substr(of.begin, of.end - of.begin)) {
    const bool is_blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!is_blank) result += c;
    if (is_blank && !result.empty() && result.back() != ' ') result += ' ';
  }
  while (!result.empty() && result.back() == ' ') result.pop_back();
  return result;
}

auto CppParser::unexpected(std::string_view wanted) const -> std::unexpected<Error> {
  return bad_input("line {}: expected {}, found `{}`", token().line, wanted, token().text);
}
auto CppParser::expect(std::string_view text) -> Result<void> {
  if (accept(text)) return {};
  return unexpected(fmt::format("`{}`", text));
}
auto CppParser::start(CppKind kind) const -> CppNode {
  CppNode node;
  node.kind = kind;
  node.line = token().line;
  node.begin = token().offset;
  return node;
}
auto CppParser::add(CppNode node) -> int {
  if (at_ > 0) node.end = tokens_[at_ - 1].offset + tokens_[at_ - 1].text.size();
  syntax_.nodes_.push_back(std::move(node));
  return static_cast<int>(syntax_.nodes_.size() - 1);
}
/// A node that starts where its first part does.
auto CppParser::wrap(CppKind kind, int first, std::string text) const -> CppNode {
  CppNode node;
  node.kind = kind;
  node.text = std::move(text);
  node.line = syntax_.node(first).line;
  node.begin = syntax_.node(first).begin;
  node.children.push_back(first);
  return node;
}

auto CppParser::run() -> Result<CppSyntax> {
  while (token().kind != CppToken::Kind::end) {
    const auto before = at_;
    auto read = function();
    if (!read) return std::unexpected(std::move(read).error());
    if (!*read) {
      at_ = before;
      advance();
    }
  }
  if (syntax_.functions_.empty()) return bad_input("no function is in the source");
  return std::move(syntax_);
}

/// `void name(params) {`, wherever it stands; false where none does.
auto CppParser::function() -> Result<bool> {
  if (!accept("void") || token().kind != CppToken::Kind::name || !at("(", 1)) return false;
  CppFunction result;
  result.name = token().text;
  advance();
  advance();
  while (!at(")")) {
    ASSAY_TRY(result.params.emplace_back(), param());
    if (!accept(",") && !at(")")) return unexpected("`,` or `)`");
  }
  advance();
  if (!at("{")) return false;
  ASSAY_TRY(result.body, block());
  syntax_.functions_.push_back(std::move(result));
  return true;
}

auto CppParser::param() -> Result<CppParam> {
  CppParam result;
  result.line = token().line;
  skip_qualifiers();
  ASSAY_TRY(const int of, type());
  result.type = syntax_.node(of).text;
  result.is_pointer = syntax_.node(of).is_pointer;
  if (token().kind != CppToken::Kind::name) return unexpected("the name of a parameter");
  result.name = token().text;
  advance();
  return result;
}

auto CppParser::block() -> Result<int> {
  auto node = start(CppKind::block);
  ASSAY_TRY_VOID(expect("{"));
  while (!at("}") && token().kind != CppToken::Kind::end) {
    if (accept(";")) continue;
    node.children.push_back(statement());
  }
  ASSAY_TRY_VOID(expect("}"));
  return add(std::move(node));
}

auto CppParser::statement() -> int {
  const auto from = at_;
  auto node = start(CppKind::unknown);
  if (++depth_ <= kMaxDepth) {
    auto read = known_statement();
    --depth_;
    if (read) return *read;
    const auto& message = read.error().message;
    node.text = message.substr(message.find(": ") + 2);
  } else {
    --depth_;
    node.text = "deeper than is read";
  }
  in_template_ = false;
  const auto reached = at_;
  skip_statement(from);
  at_ = std::max(at_, reached);  // nothing is read twice
  return add(std::move(node));
}

/// To behind the next `;` or `}` of the same depth, at least one token.
void CppParser::skip_statement(std::size_t from) {
  at_ = from;
  int depth = 0;
  while (token().kind != CppToken::Kind::end) {
    const auto& now = token();
    if (now.is("{") || now.is("(") || now.is("[")) ++depth;
    const bool closes = now.is("}") || now.is(")") || now.is("]");
    if (closes && depth == 0) {
      if (at_ == from) advance();
      return;
    }
    if (closes) --depth;
    const bool ends = depth == 0 && (now.is(";") || now.is("}"));
    advance();
    if (ends && !at("(") && !at(";")) return;
  }
}

auto CppParser::known_statement() -> Result<int> {
  if (token().kind == CppToken::Kind::pragma) {
    auto node = start(CppKind::pragma);
    node.text = token().text;
    advance();
    return add(std::move(node));
  }
  if (at("{")) return block();
  if (at("for")) return loop();
  if (at("if")) return branch();
  if (at("return")) {
    auto node = start(CppKind::give);
    advance();
    if (!at(";")) {
      ASSAY_TRY(node.children.emplace_back(), expression());
    }
    ASSAY_TRY_VOID(expect(";"));
    return add(std::move(node));
  }
  if (is_declaration()) return declaration();
  auto node = start(CppKind::evaluate);
  ASSAY_TRY(node.children.emplace_back(), expression());
  ASSAY_TRY_VOID(expect(";"));
  return add(std::move(node));
}

auto CppParser::loop() -> Result<int> {
  auto node = start(CppKind::loop);
  advance();
  ASSAY_TRY_VOID(expect("("));
  ASSAY_TRY(node.children.emplace_back(), declaration());
  ASSAY_TRY(node.children.emplace_back(), expression());
  ASSAY_TRY_VOID(expect(";"));
  ASSAY_TRY(node.children.emplace_back(), expression());
  ASSAY_TRY_VOID(expect(")"));
  node.children.push_back(statement());
  return add(std::move(node));
}

auto CppParser::branch() -> Result<int> {
  auto node = start(CppKind::branch);
  advance();
  if (at("constexpr")) advance();
  ASSAY_TRY_VOID(expect("("));
  ASSAY_TRY(node.children.emplace_back(), expression());
  ASSAY_TRY_VOID(expect(")"));
  node.children.push_back(statement());
  if (accept("else")) node.children.push_back(statement());
  return add(std::move(node));
}

/// Where things stand in memory is not ours: `alignas(16)`, `__attribute__ ((aligned (16)))`.
void CppParser::skip_qualifiers() {
  while (true) {
    if (is_one_of(kQualifiers, token())) {
      advance();
    } else if ((at("alignas") || at("__attribute__")) && at("(", 1)) {
      advance();
      int depth = 0;
      do {
        if (at("(")) ++depth;
        if (at(")")) --depth;
        advance();
      } while (depth > 0 && token().kind != CppToken::Kind::end);
    } else {
      return;
    }
  }
}

/// A type with a name behind it.
auto CppParser::is_declaration() -> bool {
  const auto before = at_;
  const auto nodes = syntax_.nodes_.size();
  skip_qualifiers();
  bool result = false;
  if (token().kind == CppToken::Kind::name) {
    const auto read = type();
    result = read && token().kind == CppToken::Kind::name &&
             (at("=", 1) || at(";", 1) || at("(", 1) || at("[", 1) || at("{", 1));
  }
  at_ = before;
  syntax_.nodes_.resize(nodes);
  return result;
}

auto CppParser::declaration() -> Result<int> {
  auto node = start(CppKind::declare);
  skip_qualifiers();
  ASSAY_TRY(node.types.emplace_back(), type());
  node.is_pointer = syntax_.node(node.types[0]).is_pointer;
  if (token().kind != CppToken::Kind::name) return unexpected("the name of a variable");
  node.text = token().text;
  advance();
  ASSAY_TRY_VOID(initialiser(node));
  ASSAY_TRY_VOID(expect(";"));
  return add(std::move(node));
}

auto CppParser::initialiser(CppNode& node) -> Result<void> {
  if (accept("=")) {
    node.form = '=';
    ASSAY_TRY(node.children.emplace_back(), expression());
  } else if (accept("(")) {
    node.form = '(';
    ASSAY_TRY_VOID(arguments(")", node));
  } else if (accept("{")) {
    node.form = '{';
    ASSAY_TRY_VOID(arguments("}", node));
  } else if (at("[")) {
    node.form = '[';
    while (accept("[")) {
      ASSAY_TRY(node.children.emplace_back(), expression());
      ASSAY_TRY_VOID(expect("]"));
    }
    skip_qualifiers();
  }
  return {};
}

/// A name, or words such as `unsigned char`; then what makes a pointer or a reference of it.
auto CppParser::type() -> Result<int> {
  int result = -1;
  while (accept("const")) {
  }
  if (is_one_of(kWords, token())) {
    auto node = start(CppKind::name);
    while (is_one_of(kWords, token()) || at("char")) {
      node.text += (node.text.empty() ? "" : " ") + std::string(token().text);
      advance();
    }
    result = add(std::move(node));
  } else {
    ASSAY_TRY(result, name());
  }
  while (true) {
    if (at("*"))
      syntax_.nodes_[static_cast<std::size_t>(result)].is_pointer = true;
    else if (!at("const") && !at("&") && !at("__restrict__"))
      break;
    advance();
  }
  return result;
}

}  // namespace assay
