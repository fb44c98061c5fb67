// Expressions.
#include <algorithm>
#include <array>
#include <span>

#include "compiler/read/cpp_parser.h"

namespace assay {
namespace {

constexpr int kMaxDepth = 200;
constexpr std::array<std::string_view, 8> kSpaces = {"at",    "vec",    "c10",      "std",
                                                     "torch", "native", "inductor", "detail"};

using Level = std::array<std::string_view, 4>;
/// From loosest to tightest.
constexpr std::array kLevels = {Level{"||"},
                                Level{"&&"},
                                Level{"|"},
                                Level{"^"},
                                Level{"&"},
                                Level{"==", "!="},
                                Level{"<", "<=", ">", ">="},
                                Level{"<<", ">>"},
                                Level{"+", "-"},
                                Level{"*", "/", "%"}};
/// Nothing looser stands in a list of types.
constexpr int kSums = 8;
constexpr std::array<std::string_view, 9> kAssigns = {
    "=", "+=", "-=", "*=", "/=", "|=", "&=", "^=", "%="};
constexpr std::array<std::string_view, 6> kUnary = {"-", "!", "~", "+", "*", "&"};

}  // namespace

auto CppParser::expression() -> Result<int> {
  if (++depth_ > kMaxDepth) {
    --depth_;
    return unexpected("an expression less deep");
  }
  auto result = assignment();
  --depth_;
  return result;
}

auto CppParser::assignment() -> Result<int> {
  ASSAY_TRY(const int left, conditional());
  for (const auto text : kAssigns) {
    if (!at(text)) continue;
    advance();
    auto node = wrap(CppKind::assign, left, std::string(text));
    ASSAY_TRY(node.children.emplace_back(), expression());
    return add(std::move(node));
  }
  return left;
}

auto CppParser::conditional() -> Result<int> {
  ASSAY_TRY(const int condition, binary(0));
  if (!accept("?")) return condition;
  auto node = wrap(CppKind::conditional, condition);
  ASSAY_TRY(node.children.emplace_back(), expression());
  ASSAY_TRY_VOID(expect(":"));
  ASSAY_TRY(node.children.emplace_back(), expression());
  return add(std::move(node));
}

auto CppParser::binary(int level) -> Result<int> {
  if (level == static_cast<int>(kLevels.size())) return unary();
  ASSAY_TRY(int left, binary(level + 1));
  while (true) {
    const auto& texts = kLevels[static_cast<std::size_t>(level)];
    const auto found = std::ranges::find_if(
        texts, [&](std::string_view text) { return !text.empty() && at(text); });
    // Shifts are two marks, so that `>>` may end two lists.
    const bool is_shift = at(">") && at(">", 1) && token(1).offset == token().offset + 1;
    const bool takes_shift = texts[1] == ">>";
    if (in_template_ && at(">")) return left;
    if (is_shift ? !takes_shift : found == texts.end()) return left;
    auto node = wrap(CppKind::binary, left, is_shift ? ">>" : std::string(*found));
    advance();
    if (is_shift) advance();
    ASSAY_TRY(node.children.emplace_back(), binary(level + 1));
    left = add(std::move(node));
  }
}

auto CppParser::unary() -> Result<int> {
  for (const auto text : kUnary) {
    if (!at(text)) continue;
    auto node = start(CppKind::unary);
    node.text = text;
    advance();
    if (depth_ > kMaxDepth) return unexpected("an expression less deep");
    ++depth_;
    auto operand = unary();
    --depth_;
    if (!operand) return operand;
    node.children.push_back(*operand);
    return add(std::move(node));
  }
  if (at("++") || at("--")) {
    auto node = start(CppKind::step);
    node.text = token().text;
    advance();
    ASSAY_TRY(node.children.emplace_back(), postfix());
    return add(std::move(node));
  }
  return postfix();
}

auto CppParser::arguments(std::string_view close, CppNode& node) -> Result<void> {
  const bool before = in_template_;
  in_template_ = false;
  while (!at(close)) {
    auto argument = expression();
    if (!argument) return std::unexpected(std::move(argument).error());
    node.children.push_back(*argument);
    if (!accept(",") && !at(close)) return unexpected(fmt::format("`,` or `{}`", close));
  }
  in_template_ = before;
  advance();
  return {};
}

auto CppParser::postfix() -> Result<int> {
  ASSAY_TRY(int left, primary());
  while (true) {
    if (accept("(")) {
      auto node = wrap(CppKind::call, left);
      ASSAY_TRY_VOID(arguments(")", node));
      left = add(std::move(node));
    } else if (accept("[")) {
      auto node = wrap(CppKind::index, left);
      if (at("]")) return unexpected("an index");
      ASSAY_TRY_VOID(arguments("]", node));
      left = add(std::move(node));
    } else if (at("{") && syntax_.node(left).kind == CppKind::name) {
      advance();
      auto node = wrap(CppKind::braces, left);
      ASSAY_TRY_VOID(arguments("}", node));
      left = add(std::move(node));
    } else if (at(".") || at("->")) {
      advance();
      if (at("template")) advance();
      if (token().kind != CppToken::Kind::name) return unexpected("the name of a member");
      auto node = wrap(CppKind::member, left, std::string(token().text));
      advance();
      if (at("<") && ends_template()) ASSAY_TRY_VOID(template_arguments(node));
      left = add(std::move(node));
    } else if (at("++") || at("--")) {
      auto node = wrap(CppKind::step, left, std::string(token().text));
      advance();
      left = add(std::move(node));
    } else {
      return left;
    }
  }
}

auto CppParser::primary() -> Result<int> {
  using Kind = CppToken::Kind;
  if (token().kind == Kind::number || token().kind == Kind::string) {
    auto node = start(token().kind == Kind::number ? CppKind::number : CppKind::string);
    while (token().kind == Kind::string && token(1).kind == Kind::string) advance();
    node.text = token().text;
    advance();
    return add(std::move(node));
  }
  if (at("[")) return lambda();
  if (at("{")) {  // a value whose type stands elsewhere
    auto type = start(CppKind::name);
    auto node = wrap(CppKind::braces, add(std::move(type)));
    advance();
    ASSAY_TRY_VOID(arguments("}", node));
    return add(std::move(node));
  }
  if (is_cast()) {
    advance();
    ASSAY_TRY(const int to, type());
    ASSAY_TRY_VOID(expect(")"));
    auto node = wrap(CppKind::call, to);
    ASSAY_TRY(node.children.emplace_back(), unary());
    return add(std::move(node));
  }
  if (accept("(")) {
    const bool before = in_template_;
    in_template_ = false;
    ASSAY_TRY(const int inner, at(kThrow) ? thrown() : expression());
    ASSAY_TRY_VOID(expect(")"));
    in_template_ = before;
    return inner;
  }
  if (token().kind == Kind::name) return name();
  return unexpected("an expression");
}

/// `throw std::runtime_error("why"), 0`: a call of `throw` with the reason.
auto CppParser::thrown() -> Result<int> {
  auto name = start(CppKind::name);
  name.text = kThrow;
  advance();
  auto node = wrap(CppKind::call, add(std::move(name)));
  ASSAY_TRY(const int exception, expression());
  const auto children = syntax_.node(exception).children;
  node.children.push_back(children.size() > 1 ? children[1] : exception);
  while (accept(",")) ASSAY_TRY_VOID(expression());
  return add(std::move(node));
}

/// `(int64_t)x`
auto CppParser::is_cast() const -> bool {
  constexpr std::array<std::string_view, 8> kTypes = {"int64_t", "int32_t", "int",  "long",
                                                      "float",   "double",  "bool", "uint8_t"};
  const auto& next = token(3);
  const bool is_operand =
      next.is("(") || next.kind == CppToken::Kind::name || next.kind == CppToken::Kind::number;
  return at("(") && at(")", 2) && is_operand &&
         std::ranges::any_of(kTypes, [&](std::string_view type) { return at(type, 1); });
}

/// `[&] {...}`, `[&]() {...}`, `[](T& x, T& y) {...}`
auto CppParser::lambda() -> Result<int> {
  auto node = start(CppKind::lambda);
  while (!at("]") && token().kind != CppToken::Kind::end) advance();
  advance();
  std::vector<int> params;
  if (accept("(")) {
    while (!at(")")) {
      ASSAY_TRY_VOID(type());
      auto one = start(CppKind::name);
      if (token().kind != CppToken::Kind::name) return unexpected("the name of a parameter");
      one.text = token().text;
      advance();
      params.push_back(add(std::move(one)));
      if (!accept(",") && !at(")")) return unexpected("`,` or `)`");
    }
    advance();
  }
  const bool before = in_template_;
  in_template_ = false;
  ASSAY_TRY(node.children.emplace_back(), block());
  in_template_ = before;
  node.children.insert(node.children.end(), params.begin(), params.end());
  return add(std::move(node));
}

/// `at::vec::Vectorized<float>::loadu` is the name "Vectorized::loadu" with one type;
/// `decltype(tmp0)::blendv` is "decltype::blendv" of `tmp0`.
auto CppParser::name() -> Result<int> {
  auto node = start(CppKind::name);
  if (at("::")) advance();
  while (true) {
    if (token().kind != CppToken::Kind::name) return unexpected("a name");
    const auto word = token().text;
    const bool is_space =
        node.text.empty() && at("::", 1) && std::ranges::find(kSpaces, word) != kSpaces.end();
    advance();
    if (!is_space) node.text += word;
    if (word == "decltype" && at("(")) {
      advance();
      ASSAY_TRY_VOID(arguments(")", node));
    }
    if (at("<") && ends_template()) ASSAY_TRY_VOID(template_arguments(node));
    if (!at("::")) return add(std::move(node));
    advance();
    if (at("template")) advance();
    if (!is_space) node.text += "::";
  }
}

/// Whether the `<` here opens a list of types: only such things up to its `>`, and a use behind.
auto CppParser::ends_template() const -> bool {
  int depth = 0;
  int inner = 0;
  constexpr std::array<std::string_view, 12> kFollows = {"(", ")", "::", "{", ">", ",",
                                                         "*", "&", ";",  "]", "[", "const"};
  for (std::size_t ahead = 0; ahead < 64; ++ahead) {
    const auto& one = token(ahead);
    if (one.kind == CppToken::Kind::end || one.kind == CppToken::Kind::invalid) return false;
    if (one.is("(") || one.is("[")) ++inner;
    if (one.is(")") || one.is("]")) --inner;
    if (inner < 0) return false;
    if (one.is("<")) ++depth;
    if (one.is(">")) --depth;
    if (depth == 0) {
      const auto& next = token(ahead + 1);
      return next.kind == CppToken::Kind::name ||
             std::ranges::any_of(kFollows, [&](std::string_view text) { return next.is(text); });
    }
    constexpr std::array<std::string_view, 8> kNever = {"&&", "||", ";", "?", "{", "}", "=", "=="};
    if (inner == 0 && std::ranges::any_of(kNever, [&](auto text) { return one.is(text); }))
      return false;
  }
  return false;
}

auto CppParser::template_arguments(CppNode& node) -> Result<void> {
  advance();
  const bool before = in_template_;
  in_template_ = true;
  while (!at(">")) {
    while (accept("const")) {
    }
    const auto from = at_;
    auto one = type();
    if (one && accept("[") && !accept("]")) return unexpected("`]`");
    if (!one || (!at(",") && !at(">"))) {  // a number
      at_ = from;
      one = binary(kSums);
    }
    if (!one) return std::unexpected(std::move(one).error());
    node.types.push_back(*one);
    if (!accept(",") && !at(">")) return unexpected("`,` or `>`");
  }
  in_template_ = before;
  advance();
  return {};
}

}  // namespace assay
