// Printing in the three spellings. Parentheses are put wherever the parser would otherwise group
// or simplify differently: parse_expr(print_expr(e)) has to give the very same node.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/expr/op_table.h"
#include "core/expr/text.h"

namespace assay {
namespace {

using enum ExprOp;

/// Binding strength of printed text; an operand weaker than its place gets parentheses.
enum Strength : int {
  kLoose = 0,
  kCompare,
  kBitOr,
  kBitXor,
  kBitAnd,
  kShift,
  kSum,
  kTerm,
  kUnary,
  kPower,
  kAtom
};

struct InfixRow {
  ExprOp op;
  Strength strength;
};
constexpr auto kInfix = std::to_array<InfixRow>({
    {floor_div, kTerm},
    {mod, kTerm},
    {int_true_div, kTerm},
    {float_true_div, kTerm},
    {bit_and, kBitAnd},
    {bit_or, kBitOr},
    {bit_xor, kBitXor},
    {lshift, kShift},
    {rshift, kShift},
    {eq, kCompare},
    {ne, kCompare},
    {lt, kCompare},
    {le, kCompare},
    {gt, kCompare},
    {ge, kCompare},
});

struct Text {
  std::string text;
  Strength strength = kAtom;
};

auto real_text(double value) -> std::string {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

class Printer {
 public:
  explicit Printer(ExprSpelling spelling) : spelling_(spelling) {}
  auto print(const Expr& e) const -> Text;

 private:
  auto constant(const Expr& e) const -> Text;
  auto real(double value) const -> Text;
  auto srepr_symbol(std::string_view name, ExprType type) const -> std::string;
  auto call(std::string_view name, std::span<const Expr> args) const -> Text;
  auto sum(const Expr& e) const -> Text;
  auto term(const Expr& e) const -> Text;
  auto power(const Expr& e) const -> Text;
  auto infix(std::string_view token, std::span<const Expr> args, Strength strength) const -> Text;
  auto junction(const Expr& e) const -> Text;
  auto operation(const Expr& e, const OpRow& row) const -> Text;
  auto comparison(const Expr& e) const -> Text;
  auto choice(const Expr& e) const -> Text;
  auto operand(const Expr& e, Strength needed) const -> std::string {
    const Text text = print(e);
    return text.strength < needed ? "(" + text.text + ")" : text.text;
  }
  [[nodiscard]] auto srepr() const -> bool { return spelling_ == ExprSpelling::srepr; }
  [[nodiscard]] auto python() const -> bool { return spelling_ == ExprSpelling::python; }

  ExprSpelling spelling_;
};

auto Printer::real(double value) const -> Text {
  if (std::isfinite(value)) {
    const std::string text = real_text(value);
    if (srepr()) return {fmt::format("Float('{}', precision=53)", text)};
    return {text, std::signbit(value) ? kUnary : kAtom};
  }
  const bool minus = value < 0;
  const std::string_view name = std::isnan(value) ? "nan" : (python() ? "inf" : "oo");
  if (python()) return {fmt::format("float('{}{}')", minus ? "-" : "", name)};
  return {fmt::format("{}{}", minus ? "-" : "", name), minus ? kUnary : kAtom};
}

auto Printer::constant(const Expr& e) const -> Text {
  if (const auto value = e.as_int()) {
    if (srepr()) return {fmt::format("Integer({})", *value)};
    return {fmt::format("{}", *value), *value < 0 ? kUnary : kAtom};
  }
  if (const auto value = e.as_real()) return real(*value);
  if (const auto value = e.as_bool()) {
    const bool lower = srepr();
    return {*value ? (lower ? "true" : "True") : (lower ? "false" : "False")};
  }
  const Strength strength = e.op() == neg_int_oo ? kUnary : kAtom;
  return {std::string(op_row(e.op()).name), strength};
}

/// Assumptions as PyTorch creates its symbols, so that it finds its own symbol again.
auto Printer::srepr_symbol(std::string_view name, ExprType type) const -> std::string {
  if (type == ExprType::real) return fmt::format("Symbol('{}', real=True)", name);
  if (name.starts_with('u')) return fmt::format("Symbol('{}', integer=True)", name);
  return fmt::format("Symbol('{}', positive=True, integer=True)", name);
}

auto Printer::call(std::string_view name, std::span<const Expr> args) const -> Text {
  std::string text(name);
  text += '(';
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (i > 0) text += ", ";
    text += print(args[i]).text;
  }
  return {text + ')'};
}

/// Integer constants go last, as sympy writes sums.
auto Printer::sum(const Expr& e) const -> Text {
  std::vector<Expr> terms(e.args().begin(), e.args().end());
  if (e.type() == ExprType::integer)
    std::ranges::stable_partition(terms, [](const Expr& t) { return !t.is_const(); });
  std::string text;
  for (const Expr& t : terms) {
    std::string next = operand(t, kTerm);
    const bool minus = e.type() == ExprType::integer && next.starts_with('-') &&
                       !next.starts_with("-9223372036854775808");
    if (text.empty()) {
      text = next;
    } else {
      text += minus ? " - " + next.substr(1) : " + " + next;
    }
  }
  return {text, kSum};
}

auto Printer::term(const Expr& e) const -> Text {
  std::string text;
  const auto args = e.args();
  const bool minus_one = args[0].is_int(-1) && args.size() > 1;
  for (std::size_t i = minus_one ? 1 : 0; i < args.size(); ++i) {
    // A nested product or quotient would be flattened or regrouped without parentheses.
    const bool number = args[i].is_const() && i == 0;
    if (!text.empty()) text += '*';
    text += number ? print(args[i]).text : operand(args[i], kPower);
  }
  return {(minus_one ? "-" : "") + text, kTerm};
}

auto Printer::power(const Expr& e) const -> Text {
  return {operand(e.args()[0], kAtom) + "**" + operand(e.args()[1], kAtom), kPower};
}

auto Printer::infix(std::string_view token, std::span<const Expr> args, Strength strength) const
    -> Text {
  const auto tight = static_cast<Strength>(strength + 1);
  const std::string left = operand(args[0], std::max(tight, kPower));
  const std::string right = operand(args[1], std::max(tight, kPower));
  return {fmt::format("{} {} {}", left, token, right), strength};
}

auto Printer::comparison(const Expr& e) const -> Text {
  std::string_view token = op_row(e.op()).infix;
  Expr left = e.args()[0];
  Expr right = e.args()[1];
  if (!python() && (e.op() == eq || e.op() == ne)) return call(op_row(e.op()).name, e.args());
  if (left.is_const() && (e.op() == lt || e.op() == le)) {  // s0 >= 2 reads better than 2 <= s0
    std::swap(left, right);
    token = e.op() == lt ? ">" : ">=";
  }
  return {fmt::format("{} {} {}", operand(left, kBitOr), token, operand(right, kBitOr)), kCompare};
}

auto Printer::junction(const Expr& e) const -> Text {
  const bool conjunction = e.op() == logic_and;
  const std::string_view token =
      python() ? (conjunction ? " and " : " or ") : (conjunction ? " & " : " | ");
  if (e.args().size() < 2) return call(op_row(e.op()).name, e.args());
  std::string text;
  for (const Expr& arg : e.args()) {
    if (!text.empty()) text += token;
    text += operand(arg, python() ? kCompare : kAtom);
  }
  return {text, kLoose};
}

auto Printer::print(const Expr& e) const -> Text {
  const OpRow& row = op_row(e.op());
  if (e.op() < symbol) return constant(e);
  if (e.op() == symbol) return {srepr() ? srepr_symbol(e.name(), e.type()) : std::string(e.name())};
  if (e.op() == opaque) return call(e.name(), e.args());
  if (srepr()) return call(row.srepr, e.args());
  if (e.args().size() == 1 && row.max_args == kAnyNumber) return call(row.name, e.args());
  if (e.op() == add) return sum(e);
  if (e.op() == mul) return term(e);
  if (e.op() == pow || (python() && e.op() == float_pow)) return power(e);
  if (e.op() == logic_and || e.op() == logic_or) return junction(e);
  if (row.type == TypeRule::comparison) return comparison(e);
  return operation(e, row);
}

/// `(a if x else b if y else c)`: one pair of parentheses, however long the chain is.
auto Printer::choice(const Expr& e) const -> Text {
  std::string text = "(";
  auto rest = e;
  for (; rest.op() == ExprOp::where; rest = rest.args()[2])
    text += fmt::format("{} if {} else ", operand(rest.args()[1], kCompare),
                        operand(rest.args()[0], kCompare));
  return {text + operand(rest, kCompare) + ")"};
}

/// What the two spellings write as an operator, else a call.
auto Printer::operation(const Expr& e, const OpRow& row) const -> Text {
  if (e.op() == logic_not)
    return {(python() ? "not " : "~") + operand(e.args()[0], kAtom), python() ? kLoose : kUnary};
  if (e.op() == where && python()) return choice(e);
  if (e.op() == floor_div && !python())
    return {fmt::format("({}//{})", operand(e.args()[0], kPower), operand(e.args()[1], kPower))};
  const bool division = e.op() == int_true_div || e.op() == float_true_div;
  if (python() && division) return infix("/", e.args(), kTerm);
  const auto infix_row = std::ranges::find(kInfix, e.op(), &InfixRow::op);
  const bool sympy_infix = e.op() >= bit_and && e.op() <= rshift;
  if (infix_row != kInfix.end() && (python() || sympy_infix))
    return infix(row.infix, e.args(), infix_row->strength);
  return call(python() ? row.python : row.name, e.args());
}

}  // namespace

auto print_expr(const Expr& e, ExprSpelling spelling) -> std::string {
  if (e.tree_size() > kMaxPrintedParts)  // shared parts make text exponentially longer than memory
    return fmt::format("<expression of more than {} parts>", kMaxPrintedParts);
  return Printer(spelling).print(e).text;
}

}  // namespace assay
