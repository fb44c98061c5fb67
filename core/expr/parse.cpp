// Recursive descent over the union of the three spellings.
//
//   choice   := junction [ "if" choice "else" choice ]
//   junction := operators of kLevels by precedence climbing; comparisons chain as in Python
//   sum      := term (("+" | "-") term)*          n-ary, so that one simplification sees all terms
//   term     := unary (("*" | "/" | "//" | "%") unary)*
//   unary    := ("-" | "+" | "~") unary | power
//   power    := primary [ "**" unary ]
//   primary  := number | name | name "(" arguments ")" | "(" choice ")"
#include <algorithm>
#include <array>
#include <vector>

#include "core/expr/fold.h"
#include "core/expr/lexer.h"
#include "core/expr/op_table.h"
#include "core/expr/text.h"

namespace assay {
namespace {

using enum ExprOp;

constexpr int kMaxNesting = 200;

struct Level {
  std::string_view token;
  int precedence;
  ExprOp on_integers;
  ExprOp on_booleans;
};

constexpr int kComparison = 4;
constexpr auto kLevels = std::to_array<Level>({
    {"or", 1, opaque, logic_or},
    {"and", 2, opaque, logic_and},
    {"==", kComparison, eq, eq},
    {"!=", kComparison, ne, ne},
    {"<", kComparison, lt, opaque},
    {"<=", kComparison, le, opaque},
    {">", kComparison, gt, opaque},
    {">=", kComparison, ge, opaque},
    {"|", 5, bit_or, logic_or},
    {"^", 6, bit_xor, ne},
    {"&", 7, bit_and, logic_and},
    {"<<", 8, lshift, opaque},
    {">>", 8, rshift, opaque},
});
constexpr int kNotPrecedence = 3;

auto last_part(std::string_view path) -> std::string_view {
  const auto dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

auto symbol_type(std::string_view name) -> ExprType {
  const bool real = name.starts_with("zf") || name.starts_with("zuf") || name.starts_with("uf");
  return real ? ExprType::real : ExprType::integer;
}

class Parser {
 public:
  Parser(ExprPool& pool, std::string_view text, bool simplify)
      : pool_(pool), lexer_(text), simplify_(simplify) {}

  auto parse() -> Result<Expr> {
    ASSAY_TRY_VOID(advance());
    ASSAY_TRY(const Expr e, choice());
    if (token_.kind != TokenKind::end) return expected("an operator or the end");
    return e;
  }

 private:
  /// p / q as written in srepr, where a rational factor belongs to the whole product.
  struct Ratio {
    Expr over;
    Expr under;
  };

  auto advance() -> Result<void> {
    ASSAY_TRY(token_, lexer_.next());
    return {};
  }
  auto expected(std::string_view what) const -> std::unexpected<Error> {
    const std::string found = token_.kind == TokenKind::end
                                  ? std::string("the end")
                                  : "`" + std::string(token_.text.substr(0, 40)) + "`";
    return bad_input("column {}: expected {}, found {}", token_.column, what, found);
  }
  auto at(std::string_view symbol) const -> bool {
    return (token_.kind == TokenKind::symbol || token_.kind == TokenKind::name) &&
           token_.text == symbol;
  }
  auto expect(std::string_view symbol) -> Result<void> {
    if (!at(symbol)) return expected("`" + std::string(symbol) + "`");
    return advance();
  }

  /// Builds a node, or says which operator got operands it cannot take.
  auto build(ExprOp op, std::span<const Expr> args, std::size_t column, std::string_view name = {})
      -> Result<Expr> {
    const auto type = result_type(op, args, name);
    if (!type)
      return bad_input("column {}: operands of the wrong number or type for {}", column,
                       op == opaque ? name : op_row(op).name);
    if (!simplify_) {
      const Expr e = pool_.intern(op, *type, args, name);
      if (!e.is_valid()) return bad_input("column {}: too deeply nested", column);
      return e;
    }
    const Expr e = make(pool_, op, args, name);
    if (!e.is_valid())
      return bad_input("column {}: overflow, division by zero or nesting too deep in {}", column,
                       op == opaque ? name : op_row(op).name);
    return e;
  }
  auto build(ExprOp op, std::initializer_list<Expr> args, std::size_t column) -> Result<Expr> {
    return build(op, std::span<const Expr>(args.begin(), args.size()), column);
  }

  auto choice() -> Result<Expr>;
  auto junction(int minimum) -> Result<Expr>;
  auto operand(int minimum) -> Result<Expr>;
  auto comparison(Expr left) -> Result<Expr>;
  auto sum() -> Result<Expr>;
  auto term() -> Result<Expr>;
  auto unary() -> Result<Expr>;
  auto power() -> Result<Expr>;
  auto primary() -> Result<Expr>;
  auto negative(std::size_t column) -> Result<Expr>;
  auto named(const Token& name) -> Result<Expr>;
  auto call(const Token& name) -> Result<Expr>;
  auto arguments() -> Result<std::vector<Expr>>;
  auto apply(const Token& name, std::string_view function, std::vector<Expr> args) -> Result<Expr>;
  auto product(const std::vector<Expr>& factors, std::size_t column) -> Result<Expr>;

  // srepr only
  auto literal(const Token& name, std::string_view function) -> Result<Expr>;
  auto signed_integer() -> Result<std::int64_t>;
  auto keyword_arguments() -> Result<void>;
  auto rational_product(const Token& name) -> Result<Expr>;
  auto piecewise(std::size_t column) -> Result<Expr>;

  ExprPool& pool_;
  Lexer lexer_;
  bool simplify_;
  Token token_;
  int nesting_ = 0;
  std::optional<Ratio> ratio_;  ///< set by the last primary when it was a rational
};

/// Counts open recursion; hostile nesting becomes an error instead of a stack overflow.
class Nested {
 public:
  explicit Nested(int& level) : level_(level) { ++level_; }
  ~Nested() { --level_; }
  Nested(const Nested&) = delete;
  auto operator=(const Nested&) -> Nested& = delete;

 private:
  int& level_;
};

auto Parser::choice() -> Result<Expr> {
  const Nested guard(nesting_);
  if (nesting_ > kMaxNesting) return bad_input("column {}: too deeply nested", token_.column);
  const std::size_t column = token_.column;
  ASSAY_TRY(const Expr first, junction(1));
  if (!at("if")) return first;
  ASSAY_TRY_VOID(advance());
  ASSAY_TRY(const Expr condition, choice());
  ASSAY_TRY_VOID(expect("else"));
  ASSAY_TRY(const Expr second, choice());
  ratio_.reset();
  return build(where, {condition, first, second}, column);
}

auto Parser::operand(int minimum) -> Result<Expr> {
  if (minimum > kNotPrecedence || !at("not")) return sum();
  const Nested guard(nesting_);
  if (nesting_ > kMaxNesting) return bad_input("column {}: too deeply nested", token_.column);
  const std::size_t column = token_.column;
  ASSAY_TRY_VOID(advance());
  ASSAY_TRY(const Expr inner, junction(kNotPrecedence));
  return build(logic_not, {inner}, column);
}

auto Parser::junction(int minimum) -> Result<Expr> {
  ASSAY_TRY(Expr left, operand(minimum));
  while (true) {
    const auto level = std::ranges::find_if(kLevels, [&](const Level& l) { return at(l.token); });
    if (level == kLevels.end() || level->precedence < minimum) return left;
    if (level->precedence == kComparison) {
      ASSAY_TRY(left, comparison(left));
      continue;
    }
    const std::size_t column = token_.column;
    std::vector<Expr> args{left};
    // n-ary, so that one simplification sees all operands
    while (at(level->token)) {
      ASSAY_TRY_VOID(advance());
      ASSAY_TRY(const Expr right, junction(level->precedence + 1));
      args.push_back(right);
    }
    const bool boolean = left.type() == ExprType::boolean;
    const ExprOp op = boolean ? level->on_booleans : level->on_integers;
    if (op == opaque)
      return bad_input("column {}: `{}` does not take {}", column, level->token,
                       boolean ? "booleans" : "numbers");
    if (op == logic_and || op == logic_or) {
      ASSAY_TRY(left, build(op, args, column));
      continue;
    }
    for (std::size_t i = 1; i < args.size(); ++i) {
      ASSAY_TRY(left, build(op, {left, args[i]}, column));
    }
  }
}

/// `a <= b < c` is `a <= b and b < c`.
auto Parser::comparison(Expr left) -> Result<Expr> {
  std::vector<Expr> parts;
  const std::size_t column = token_.column;
  while (true) {
    const auto level = std::ranges::find_if(kLevels, [&](const Level& l) { return at(l.token); });
    if (level == kLevels.end() || level->precedence != kComparison) break;
    const std::size_t at_column = token_.column;
    ASSAY_TRY_VOID(advance());
    ASSAY_TRY(const Expr right, junction(kComparison + 1));
    ASSAY_TRY(const Expr part, build(level->on_integers, {left, right}, at_column));
    parts.push_back(part);
    left = right;
  }
  return parts.size() == 1 ? Result<Expr>(parts[0]) : build(logic_and, parts, column);
}

auto Parser::sum() -> Result<Expr> {
  const std::size_t column = token_.column;
  std::vector<Expr> terms;
  ASSAY_TRY(const Expr first, term());
  terms.push_back(first);
  while (at("+") || at("-")) {
    const bool minus = at("-");
    const std::size_t at_column = token_.column;
    ASSAY_TRY_VOID(advance());
    ASSAY_TRY(Expr next, term());
    if (minus) {
      ASSAY_TRY(next, build(mul, {Expr(-1), next}, at_column));
    }
    terms.push_back(next);
  }
  if (terms.size() == 1) return first;
  ratio_.reset();
  return build(add, terms, column);
}

auto Parser::product(const std::vector<Expr>& factors, std::size_t column) -> Result<Expr> {
  if (factors.size() == 1) return factors[0];
  ratio_.reset();
  return build(mul, factors, column);
}

auto Parser::term() -> Result<Expr> {
  const std::size_t column = token_.column;
  std::vector<Expr> factors;
  ASSAY_TRY(const Expr first, unary());
  factors.push_back(first);
  while (true) {
    const std::size_t at_column = token_.column;
    if (at("*")) {
      ASSAY_TRY_VOID(advance());
      ASSAY_TRY(const Expr next, unary());
      factors.push_back(next);
      continue;
    }
    const bool floor = at("//");
    const bool percent = at("%");
    if (!floor && !percent && !at("/")) return product(factors, column);
    ASSAY_TRY_VOID(advance());
    ASSAY_TRY(const Expr left, product(factors, column));
    ASSAY_TRY(const Expr right, unary());
    const bool real = left.type() == ExprType::real || right.type() == ExprType::real;
    const ExprOp op = floor ? floor_div : (percent ? mod : (real ? float_true_div : int_true_div));
    ratio_.reset();
    ASSAY_TRY(const Expr quotient, build(op, {left, right}, at_column));
    factors = {quotient};
  }
}

auto Parser::unary() -> Result<Expr> {
  const std::size_t column = token_.column;
  if (!at("-") && !at("+") && !at("~")) return power();
  const Nested guard(nesting_);
  if (nesting_ > kMaxNesting) return bad_input("column {}: too deeply nested", column);
  const char sign = token_.text[0];
  ASSAY_TRY_VOID(advance());
  if (sign == '-') return negative(column);
  ASSAY_TRY(const Expr inner, unary());
  ratio_.reset();
  if (sign == '+') return inner;
  if (inner.type() == ExprType::boolean) return build(logic_not, {inner}, column);
  ASSAY_TRY(const Expr minus, build(mul, {Expr(-1), inner}, column));
  return build(add, {minus, Expr(-1)}, column);
}

/// After a minus. The most negative integer exists only with its sign.
auto Parser::negative(std::size_t column) -> Result<Expr> {
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 63U;
  if (token_.kind == TokenKind::integer && token_.integer == kLimit) {
    ASSAY_TRY_VOID(advance());
    if (at("**")) return bad_input("column {}: integer does not fit 64 bits", column);
    return Expr(static_cast<std::int64_t>(token_.integer | kLimit));
  }
  ASSAY_TRY(const Expr inner, unary());
  ratio_.reset();
  if (inner.op() == int_oo) return Expr::neg_infinity();
  if (inner.op() == neg_int_oo) return Expr::infinity();
  if (const auto value = inner.as_int()) {
    const auto minus = checked_mul(*value, -1);
    return minus ? Result<Expr>(Expr(*minus))
                 : bad_input("column {}: integer does not fit 64 bits", column);
  }
  if (const auto value = inner.as_real()) return Expr::real(-*value);
  return build(mul, {Expr(-1), inner}, column);
}

auto Parser::power() -> Result<Expr> {
  const std::size_t column = token_.column;
  ratio_.reset();
  ASSAY_TRY(const Expr base, primary());
  if (!at("**")) return base;
  const Nested guard(nesting_);
  if (nesting_ > kMaxNesting) return bad_input("column {}: too deeply nested", token_.column);
  ASSAY_TRY_VOID(advance());
  ASSAY_TRY(const Expr exponent, unary());
  ratio_.reset();
  return build(pow, {base, exponent}, column);
}

auto Parser::primary() -> Result<Expr> {
  const Token token = token_;
  if (at("(")) {
    ASSAY_TRY_VOID(advance());
    ASSAY_TRY(const Expr inner, choice());
    ASSAY_TRY_VOID(expect(")"));
    ratio_.reset();
    return inner;
  }
  if (token.kind == TokenKind::integer) {
    if (token.integer > static_cast<std::uint64_t>(INT64_MAX))
      return bad_input("column {}: integer does not fit 64 bits", token.column);
    ASSAY_TRY_VOID(advance());
    return Expr(static_cast<std::int64_t>(token.integer));
  }
  if (token.kind == TokenKind::real) {
    ASSAY_TRY_VOID(advance());
    return Expr::real(token.real);
  }
  if (token.kind != TokenKind::name) return expected("a number, a name or `(`");
  constexpr auto kReserved = std::to_array<std::string_view>({"and", "or", "not", "if", "else"});
  if (std::ranges::find(kReserved, last_part(token.text)) != kReserved.end())
    return bad_input("column {}: expected a value, found `{}`", token.column, token.text);
  ASSAY_TRY_VOID(advance());
  return at("(") ? call(token) : named(token);
}

auto Parser::named(const Token& name) -> Result<Expr> {
  if (name.text == "True" || name.text == "true") return Expr::boolean(true);
  if (name.text == "False" || name.text == "false") return Expr::boolean(false);
  if (name.text == "int_oo") return Expr::infinity();
  const std::string_view last = last_part(name.text);
  if (const auto value = real_from_text(last)) return Expr::real(*value);
  if (last.size() != name.text.size())
    return bad_input("column {}: unknown name `{}`", name.column, name.text.substr(0, 80));
  return pool_.symbol(name.text, symbol_type(name.text));
}

auto Parser::arguments() -> Result<std::vector<Expr>> {
  std::vector<Expr> args;
  ASSAY_TRY_VOID(expect("("));
  while (!at(")")) {
    ASSAY_TRY(const Expr arg, choice());
    args.push_back(arg);
    if (!at(")")) {
      ASSAY_TRY_VOID(expect(","));
    }
  }
  ASSAY_TRY_VOID(advance());
  return args;
}

auto Parser::call(const Token& name) -> Result<Expr> {
  const std::string_view function = last_part(name.text);
  constexpr auto kLiterals =
      std::to_array<std::string_view>({"Integer", "Float", "Rational", "Symbol", "Dummy"});
  if (std::ranges::find(kLiterals, function) != kLiterals.end()) return literal(name, function);
  if (function == "Mul") return rational_product(name);
  if (function == "Piecewise") return piecewise(name.column);
  if (function == "float") {
    Lexer ahead = lexer_;
    ASSAY_TRY(const Token argument, ahead.next());
    if (argument.kind == TokenKind::text) return literal(name, "Float");
  }
  ASSAY_TRY(std::vector<Expr> args, arguments());
  ratio_.reset();
  return apply(name, function, std::move(args));
}

auto Parser::apply(const Token& name, std::string_view function, std::vector<Expr> args)
    -> Result<Expr> {
  const std::size_t column = name.column;
  if (function == "round" && args.size() == 2) return build(round_decimal, args, column);
  if ((name.text == "floor" || name.text == "ceiling") && args.size() == 1 &&
      args[0].op() == int_true_div) {
    // sympy writes exact rationals with `/`, so its floor and ceiling of one are exact divisions;
    // math.floor works on the rounded quotient.
    return build(name.text == "floor" ? floor_div : ceil_div, args[0].args(), column);
  }
  if (function == "int" && args.size() == 1 && args[0].type() == ExprType::boolean)
    return build(where, {args[0], Expr(1), Expr(0)}, column);
  if (function == "int" && args.size() == 1 && args[0].type() == ExprType::integer) return args[0];
  if (const auto power = args.size() == 2 ? args[1].as_int().value_or(0) : 0;
      function == "Pow" && power < 0 && args[0].type() == ExprType::integer) {
    // -2^63 has no opposite; that power stays as it is written with `**`.
    if (const auto exponent = checked_mul(power, -1)) {
      ASSAY_TRY(const Expr under, build(pow, {args[0], Expr(*exponent)}, column));
      ASSAY_TRY(const Expr reciprocal, build(int_true_div, {Expr(1), under}, column));
      ratio_ = Ratio{1, under};
      return reciprocal;
    }
  }
  const auto op = find_function(function);
  if (op) return build(*op, args, column);
  return build(opaque, args, column, function);
}

auto Parser::signed_integer() -> Result<std::int64_t> {
  ASSAY_TRY(const Expr e, unary());
  const auto value = e.as_int();
  if (!value) return expected("an integer before this");
  return *value;
}

/// Skips `, positive=True, integer=True` up to the closing parenthesis.
auto Parser::keyword_arguments() -> Result<void> {
  while (at(",")) {
    ASSAY_TRY_VOID(advance());
    if (at(")")) break;
    if (token_.kind != TokenKind::name) return expected("a keyword");
    ASSAY_TRY_VOID(advance());
    ASSAY_TRY_VOID(expect("="));
    if (token_.kind == TokenKind::symbol || token_.kind == TokenKind::end)
      return expected("a keyword value");
    ASSAY_TRY_VOID(advance());
  }
  return expect(")");
}

auto Parser::literal(const Token& name, std::string_view function) -> Result<Expr> {
  ASSAY_TRY_VOID(expect("("));
  if (function == "Integer") {
    ASSAY_TRY(const std::int64_t value, signed_integer());
    ASSAY_TRY_VOID(keyword_arguments());
    return Expr(value);
  }
  if (function == "Rational") {
    ASSAY_TRY(const std::int64_t over, signed_integer());
    ASSAY_TRY_VOID(expect(","));
    ASSAY_TRY(const std::int64_t under, signed_integer());
    ASSAY_TRY_VOID(keyword_arguments());
    ASSAY_TRY(const Expr value, build(int_true_div, {Expr(over), Expr(under)}, name.column));
    ratio_ = Ratio{over, under};
    return value;
  }
  if (function == "Float" && token_.kind != TokenKind::text) {
    ASSAY_TRY(const Expr value, unary());
    if (!value.as_number()) return expected("a number before this");
    ASSAY_TRY_VOID(keyword_arguments());
    return Expr::real(*value.as_number());
  }
  if (token_.kind != TokenKind::text) return expected("a quoted text");
  const Token text = token_;
  ASSAY_TRY_VOID(advance());
  ASSAY_TRY_VOID(keyword_arguments());
  if (function == "Float") {
    const auto value = real_from_text(text.text);
    if (!value) return bad_input("column {}: expected a number in quotes", text.column);
    return Expr::real(*value);
  }
  Lexer inside(text.text);
  const auto whole = inside.next();
  if (!whole || whole->kind != TokenKind::name || whole->text != text.text ||
      whole->text.find('.') != std::string_view::npos)
    return bad_input("column {}: expected a symbol name in quotes", text.column);
  return pool_.symbol(text.text, symbol_type(text.text));
}

/// Mul(Rational(1, 2), x) is the exact rational x / 2, not 0.5 times x.
auto Parser::rational_product(const Token& name) -> Result<Expr> {
  std::vector<Expr> plain;
  std::vector<Expr> over;
  std::vector<Expr> under;
  ASSAY_TRY_VOID(expect("("));
  while (!at(")")) {
    ratio_.reset();
    ASSAY_TRY(const Expr arg, choice());
    plain.push_back(arg);
    over.push_back(ratio_ ? ratio_->over : arg);
    if (ratio_) under.push_back(ratio_->under);
    if (!at(")")) {
      ASSAY_TRY_VOID(expect(","));
    }
  }
  ASSAY_TRY_VOID(advance());
  ratio_.reset();
  if (plain.empty()) return Expr(1);
  const bool exact = !under.empty() && std::ranges::all_of(over, [](const Expr& e) {
    return e.type() == ExprType::integer;
  });
  if (!exact) return product(plain, name.column);
  ASSAY_TRY(const Expr numerator, product(over, name.column));
  ASSAY_TRY(const Expr denominator, product(under, name.column));
  return build(int_true_div, {numerator, denominator}, name.column);
}

/// Piecewise((a, condition), ..., (z, True)), also with ExprCondPair before each pair.
auto Parser::piecewise(std::size_t column) -> Result<Expr> {
  std::vector<std::pair<Expr, Expr>> cases;
  ASSAY_TRY_VOID(expect("("));
  while (!at(")")) {
    if (token_.kind == TokenKind::name && last_part(token_.text) == "ExprCondPair") {
      ASSAY_TRY_VOID(advance());
    }
    ASSAY_TRY_VOID(expect("("));
    ASSAY_TRY(const Expr value, choice());
    ASSAY_TRY_VOID(expect(","));
    ASSAY_TRY(const Expr condition, choice());
    ASSAY_TRY_VOID(expect(")"));
    cases.emplace_back(value, condition);
    if (!at(")")) {
      ASSAY_TRY_VOID(expect(","));
    }
  }
  ASSAY_TRY_VOID(advance());
  ratio_.reset();
  if (cases.empty() || cases.back().second.as_bool() != true)
    return bad_input("column {}: expected a last case with the condition True", column);
  Expr result = cases.back().first;
  for (std::size_t i = cases.size() - 1; i > 0; --i) {
    ASSAY_TRY(result, build(where, {cases[i - 1].second, cases[i - 1].first, result}, column));
  }
  return result;
}

}  // namespace

auto parse_expr(ExprPool& pool, std::string_view text) -> Result<Expr> {
  return Parser(pool, text, true).parse();
}

auto parse_expr_as_written(ExprPool& pool, std::string_view text) -> Result<Expr> {
  return Parser(pool, text, false).parse();
}

}  // namespace assay
