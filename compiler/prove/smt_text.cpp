#include "compiler/prove/smt_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/prove/normalise.h"
#include "compiler/prove/products.h"
#include "core/expr/poly.h"
#include "core/expr/text.h"

namespace assay {
namespace {

using enum ExprOp;

/// An integer term and the condition under which it has a value.
struct Number {
  std::string text;
  std::string defined = "true";
};
/// When it is true, and when it is false; neither where it has no value.
struct Condition {
  std::string holds, fails;
};
/// A float that is not a number compares unequal to everything.
struct RealOperand {
  std::string text, is_nan;
};
struct NotWritable {
  std::string reason;
};

auto joined(std::string_view op, std::vector<std::string> parts, std::string_view none)
    -> std::string {
  std::erase(parts, std::string(none));
  if (parts.empty()) return std::string(none);
  if (parts.size() == 1) return parts[0];
  return fmt::format("({} {})", op, fmt::join(parts, " "));
}
auto all_of(std::vector<std::string> parts) -> std::string {
  return joined("and", std::move(parts), "true");
}
auto any_of(std::vector<std::string> parts) -> std::string {
  return joined("or", std::move(parts), "false");
}

class Encoder {
 public:
  Encoder(const Ranges& ranges, SmtForm form) : ranges_(ranges), form_(form) {}

  /// Throws NotWritable (inside this file only) for what has no counterpart.
  auto condition(const Expr& e) -> Condition;
  void declare(const Expr& symbol);
  void line(const std::string& text) { text_ += text + "\n"; }
  void assert_that(const std::string& text) { line(fmt::format("(assert {})", text)); }
  void finish() {
    for (const auto& lemma : products_.lemmas()) assert_that(lemma);
  }
  [[nodiscard]] auto text() const -> const std::string& { return text_; }
  [[nodiscard]] auto symbols() const -> const std::vector<std::pair<Expr, std::string>>& {
    return symbols_;
  }

 private:
  auto integer(const Expr& e) -> Number;
  auto interior(const Expr& e) -> Number;
  auto n_ary(const Expr& e) -> Number;
  auto product(const std::vector<Number>& factors) -> Number;
  auto power(const Expr& e) -> Number;
  auto division(const Expr& e) -> Number;
  auto symbolic_division(const Expr& e, const Number& x, const Number& y) -> std::string;
  auto shift(const Expr& e) -> Number;
  auto choice(const Expr& e) -> Number;
  auto bounded(const Expr& e) -> Number;
  auto comparison(const Expr& e) -> Condition;
  auto real_operand(const Expr& e) -> RealOperand;
  auto junction(const Expr& e) -> Condition;

  /// A name for a term, so that its text occurs once.
  auto named(const std::string& text, std::string_view sort) -> std::string;
  auto fresh(Ends ends) -> std::string;

  const Ranges& ranges_;
  SmtForm form_;
  std::string text_;
  std::size_t next_ = 0;
  std::map<std::string, std::string> shared_;
  std::unordered_map<Expr, Number> integers_;
  std::unordered_map<Expr, Condition> conditions_;
  std::unordered_map<Expr, std::string> names_;
  std::vector<std::pair<Expr, std::string>> symbols_;
  Products products_;
};

auto ends_of(const Expr& e, const Ranges& ranges) -> Ends {
  const Interval interval = interval_of(e, ranges);
  return {low_end(interval), high_end(interval)};
}

auto Encoder::named(const std::string& text, std::string_view sort) -> std::string {
  if (!text.starts_with('(') || text.starts_with("(- ")) return text;
  const auto [at, is_new] = shared_.try_emplace(text);
  if (is_new) {
    at->second = fmt::format("$n{}", next_++);
    line(fmt::format("(define-fun {} () {} {})", at->second, sort, text));
  }
  return at->second;
}

auto Encoder::fresh(Ends ends) -> std::string {
  const auto name = fmt::format("$x{}", next_++);
  line(fmt::format("(declare-const {} Int)", name));
  if (ends.low) assert_that(fmt::format("(<= {} {})", smt_number(*ends.low), name));
  if (ends.high) assert_that(fmt::format("(<= {} {})", name, smt_number(*ends.high)));
  return name;
}

void Encoder::declare(const Expr& symbol) {
  const auto name = fmt::format("|{}|", symbol.name());
  if (!names_.emplace(symbol, name).second) return;
  constexpr auto kSorts = std::to_array<std::string_view>({"Int", "Real", "Bool"});
  line(fmt::format("(declare-const {} {})", name, kSorts[static_cast<std::size_t>(symbol.type())]));
  if (symbol.type() != ExprType::integer) return;
  symbols_.emplace_back(symbol, name);
  const Ends ends = ends_of(symbol, ranges_);
  if (ends.low) assert_that(fmt::format("(<= {} {})", smt_number(*ends.low), name));
  if (ends.high) assert_that(fmt::format("(<= {} {})", name, smt_number(*ends.high)));
}

auto Encoder::integer(const Expr& e) -> Number {
  if (const auto value = e.as_int()) return {smt_number(*value)};
  if (e.type() != ExprType::integer || !e.pool()) throw NotWritable{"an infinity or a float"};
  if (e.op() == symbol) {
    declare(e);
    return {names_.at(e)};
  }
  if (const auto known = integers_.find(e); known != integers_.end()) return known->second;
  Number result = interior(e);
  result.text = named(result.text, "Int");
  result.defined = named(result.defined, "Bool");
  if (form_ == SmtForm::linear) products_.know(result.text, ends_of(e, ranges_));
  integers_.emplace(e, result);
  return result;
}

auto Encoder::interior(const Expr& e) -> Number {
  const ExprOp op = e.op();
  if (op == add || op == mul || op == min || op == max) return n_ary(e);
  if (op == pow || op == pow_by_natural) return power(e);
  if (op == floor_div || op == mod || op == clean_div || op == python_mod || op == ceil_div ||
      op == modular_indexing)
    return division(e);
  if (op == where) return choice(e);
  if (op == lshift || op == rshift) return shift(e);
  const bool rounds =
      op == ceil_to_int || op == floor_to_int || op == trunc_to_int || op == round_to_int;
  if (op == identity || (rounds && e.args()[0].type() == ExprType::integer))
    return integer(e.args()[0]);
  if (op == abs_) {
    const Number x = integer(e.args()[0]);
    return {fmt::format("(ite (<= 0 {0}) {0} (- {0}))", x.text), x.defined};
  }
  return bounded(e);
}

auto Encoder::n_ary(const Expr& e) -> Number {
  std::vector<Number> parts;
  std::vector<std::string> texts, defined;
  for (const Expr& arg : e.args()) {
    parts.push_back(integer(arg));
    texts.push_back(parts.back().text);
    defined.push_back(parts.back().defined);
  }
  if (e.op() == mul) return product(parts);
  if (e.op() == add) return {joined("+", texts, ""), all_of(defined)};
  std::string best = texts[0];
  for (const auto& other : std::span(texts).subspan(1))
    best =
        named(fmt::format("(ite ({0} {1} {2}) {1} {2})", e.op() == min ? "<=" : ">=", best, other),
              "Int");
  return {best, all_of(defined)};
}

auto Encoder::product(const std::vector<Number>& factors) -> Number {
  std::vector<std::string> constants, names, defined;
  for (const auto& factor : factors) {
    const bool constant = factor.text.find_first_not_of("-() 0123456789") == std::string::npos;
    (constant ? constants : names).push_back(factor.text);
    defined.push_back(factor.defined);
  }
  if (form_ == SmtForm::linear && names.size() > 1) {
    const auto abstract = products_.product(names);
    for (const auto& declaration : products_.take_declarations()) line(declaration);
    names = {abstract};
  }
  constants.insert(constants.end(), names.begin(), names.end());
  return {joined("*", constants, ""), all_of(defined)};
}

auto Encoder::power(const Expr& e) -> Number {
  const auto exponent = e.args()[1].as_int();
  constexpr std::int64_t kMaxExponent = 16;
  if (exponent && *exponent < 0) return {"0", "false"};  // no integer
  if (!exponent || *exponent > kMaxExponent) return bounded(e);
  const Number base = integer(e.args()[0]);
  if (*exponent == 0) return {"1", base.defined};
  return product(std::vector<Number>(static_cast<std::size_t>(*exponent), base));
}

auto Encoder::division(const Expr& e) -> Number {
  const auto args = e.args();
  if (e.op() == modular_indexing)
    return integer(assay::mod(assay::floor_div(args[0], args[1]), args[2]));
  if (e.op() == ceil_div) {
    const Number down = integer(assay::floor_div(-args[0], args[1]));
    return {fmt::format("(- {})", down.text), down.defined};
  }
  const Number x = integer(args[0]);
  const Number y = integer(args[1]);
  const bool rest = e.op() == mod || e.op() == python_mod;
  const std::string word = rest ? "mod" : "div";
  const Ends ends = ends_of(args[1], ranges_);
  const bool positive = ends.low && *ends.low > 0;
  const bool nonzero = positive || (ends.high && *ends.high < 0);
  const auto defined =
      all_of({x.defined, y.defined, nonzero ? "true" : fmt::format("(not (= {} 0))", y.text)});
  if (form_ == SmtForm::linear && !args[1].as_int()) return {symbolic_division(e, x, y), defined};
  const auto up = fmt::format("({} {} {})", word, x.text, y.text);
  if (positive) return {up, defined};
  // SMT-LIB's remainder is never negative; ours has the sign of the divisor.
  const auto down = fmt::format("({0} (- {1}) (- {2}))", word, x.text, y.text);
  const auto mirrored = rest ? fmt::format("(- {})", down) : down;
  return {fmt::format("(ite (> {} 0) {} {})", y.text, up, mirrored), defined};
}

/// x // y and x mod y for y > 0 through the product y * (x // y); only an interval for other y.
auto Encoder::symbolic_division(const Expr& e, const Number& x, const Number& y) -> std::string {
  const auto args = e.args();
  const Ends ends = ends_of(args[1], ranges_);
  if (!ends.low || *ends.low <= 0) return fresh(ends_of(e, ranges_));
  const Ends quotient_ends = ends_of(assay::floor_div(args[0], args[1]), ranges_);
  const auto [at, is_new] = shared_.try_emplace(fmt::format("({} // {})", x.text, y.text));
  if (is_new) {
    const auto q = fresh(quotient_ends);
    at->second = q;
    products_.know(q, quotient_ends);
    products_.know(y.text, ends);
    const auto multiple = products_.product({y.text, q});
    for (const auto& declaration : products_.take_declarations()) line(declaration);
    assert_that(fmt::format("(<= {} {})", multiple, x.text));
    assert_that(fmt::format("(< {} (+ {} {}))", x.text, multiple, y.text));
  }
  if (e.op() == floor_div || e.op() == clean_div) return at->second;
  return fmt::format("(+ {} (* (- 1) {}))", x.text, products_.product({y.text, at->second}));
}

/// Shifts by a constant are products with, and quotients by, a power of two.
auto Encoder::shift(const Expr& e) -> Number {
  const auto count = e.args()[1].as_int();
  if (!count || *count < 0 || *count > 62) return bounded(e);
  const Number x = integer(e.args()[0]);
  return {
      fmt::format("({} {} {})", e.op() == lshift ? "*" : "div", x.text, std::int64_t{1} << *count),
      x.defined};
}

auto Encoder::choice(const Expr& e) -> Number {
  const Condition c = condition(e.args()[0]);
  const Number a = integer(e.args()[1]);
  const Number b = integer(e.args()[2]);
  return {fmt::format("(ite {} {} {})", c.holds, a.text, b.text),
          any_of({all_of({c.holds, a.defined}), all_of({c.fails, b.defined})})};
}

/// Some integer in the interval of the expression: whatever it is, that is true of it.
auto Encoder::bounded(const Expr& e) -> Number {
  std::vector<std::string> defined;
  for (const Expr& needed : value_conditions(e)) {
    if (needed.as_bool() == false) throw NotWritable{"a function on floats"};
    defined.push_back(condition(needed).holds);
  }
  return {fresh(ends_of(e, ranges_)), all_of(defined)};
}

auto Encoder::condition(const Expr& e) -> Condition {
  if (const auto known = e.as_bool())
    return *known ? Condition{"true", "false"} : Condition{"false", "true"};
  if (e.type() != ExprType::boolean || !e.pool()) throw NotWritable{"not a condition"};
  if (const auto known = conditions_.find(e); known != conditions_.end()) return known->second;
  Condition result;
  if (e.op() == symbol) {
    declare(e);
    result = {names_.at(e), fmt::format("(not {})", names_.at(e))};
  } else if (e.op() == logic_not) {
    const Condition inner = condition(e.args()[0]);
    result = {inner.fails, inner.holds};
  } else if (e.op() == logic_and || e.op() == logic_or) {
    result = junction(e);
  } else if (e.op() == where) {
    const Condition c = condition(e.args()[0]);
    const Condition a = condition(e.args()[1]);
    const Condition b = condition(e.args()[2]);
    result = {any_of({all_of({c.holds, a.holds}), all_of({c.fails, b.holds})}),
              any_of({all_of({c.holds, a.fails}), all_of({c.fails, b.fails})})};
  } else {
    result = comparison(e);
  }
  result = {named(result.holds, "Bool"), named(result.fails, "Bool")};
  conditions_.emplace(e, result);
  return result;
}

/// One operand that settles the result is enough, whatever happens in the others.
auto Encoder::junction(const Expr& e) -> Condition {
  std::vector<std::string> holds, fails;
  for (const Expr& arg : e.args()) {
    const Condition part = condition(arg);
    holds.push_back(part.holds);
    fails.push_back(part.fails);
  }
  return e.op() == logic_and ? Condition{all_of(holds), any_of(fails)}
                             : Condition{any_of(holds), all_of(fails)};
}

auto Encoder::comparison(const Expr& e) -> Condition {
  const auto args = e.args();
  constexpr auto kWords = std::to_array<std::pair<ExprOp, std::string_view>>(
      {{eq, "="}, {ne, "="}, {lt, "<"}, {le, "<="}, {gt, ">"}, {ge, ">="}});
  const auto* const word =
      std::ranges::find(kWords, e.op(), &std::pair<ExprOp, std::string_view>::first);
  if (word == kWords.end() || args.size() != 2) throw NotWritable{"an unknown condition"};
  Condition result;
  if (args[0].type() == ExprType::boolean) {
    const Condition a = condition(args[0]);
    const Condition b = condition(args[1]);
    result = {any_of({all_of({a.holds, b.holds}), all_of({a.fails, b.fails})}),
              any_of({all_of({a.holds, b.fails}), all_of({a.fails, b.holds})})};
  } else if (args[0].type() == ExprType::real || args[1].type() == ExprType::real) {
    const auto a = real_operand(args[0]);
    const auto b = real_operand(args[1]);
    const auto text = all_of({fmt::format("(not (or {} {}))", a.is_nan, b.is_nan),
                              fmt::format("({} {} {})", word->second, a.text, b.text)});
    result = {text, fmt::format("(not {})", text)};
  } else {
    const Number a = integer(args[0]);
    const Number b = integer(args[1]);
    const auto text = named(fmt::format("({} {} {})", word->second, a.text, b.text), "Bool");
    const auto defined = all_of({a.defined, b.defined});
    result = {all_of({defined, text}), all_of({defined, fmt::format("(not {})", text)})};
  }
  return e.op() == ne ? Condition{result.fails, result.holds} : result;
}

/// Order and equality of float symbols and constants are exact; arithmetic on floats is not. No
/// infinity is needed: a large enough number compares with finitely many others as it does.
auto Encoder::real_operand(const Expr& e) -> RealOperand {
  if (const auto value = e.as_number(); value && std::isfinite(*value)) {
    auto digits = fmt::format("{:.1100f}", std::fabs(*value));  // exact: no double has more places
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.ends_with('.')) digits += '0';
    return {std::signbit(*value) ? fmt::format("(- {})", digits) : digits, "false"};
  }
  if (e.op() != symbol || e.type() != ExprType::real) throw NotWritable{"arithmetic on floats"};
  if (!names_.contains(e)) {
    declare(e);
    const Interval range = interval_of(e, ranges_);
    const auto& name = names_.at(e);
    const bool low = range.low.is_const(), high = range.high.is_const();
    if (low) assert_that(fmt::format("(<= {} {})", real_operand(range.low).text, name));
    if (high) assert_that(fmt::format("(<= {} {})", name, real_operand(range.high).text));
    line(fmt::format("(declare-const |{}.nan| Bool)", e.name()));
    if (low || high) assert_that(fmt::format("(not |{}.nan|)", e.name()));
  }
  return {names_.at(e), fmt::format("|{}.nan|", e.name())};
}

}  // namespace

auto smt_script(const Query& query, SmtForm form) -> SmtScript {
  SmtScript script;
  Encoder encoder(query.ranges, form);
  const auto declare_all = [&](const Expr& e) {
    for (const Expr& symbol : e.symbols())
      if (symbol.type() == ExprType::integer) encoder.declare(symbol);
  };
  declare_all(query.claim);
  for (std::size_t i = 0; i < query.assumptions.size(); ++i) {
    script.literals.push_back(fmt::format("$a{}", i));
    encoder.line(fmt::format("(declare-const $a{} Bool)", i));
    declare_all(query.assumptions[i]);
    try {
      const auto condition = encoder.condition(query.assumptions[i]);
      encoder.assert_that(fmt::format("(=> $a{} {})", i, condition.holds));
    } catch (const NotWritable& what) {
      encoder.line(fmt::format("; assumption {} is left out: {}", i, what.reason));
    }
  }
  try {
    const auto claim = encoder.condition(query.claim);
    encoder.assert_that(fmt::format("(not {})", claim.holds));
  } catch (const NotWritable& what) {
    script.obstacle = what.reason;
  }
  encoder.finish();
  script.text = encoder.text();
  script.symbols = encoder.symbols();
  return script;
}

}  // namespace assay
