#include "compiler/prove/digits.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/prove/corner.h"
#include "core/expr/poly.h"

namespace assay {
namespace {

constexpr std::size_t kMostTerms = 60;

void add_once(std::vector<Expr>& list, const Expr& e) {
  if (std::ranges::find(list, e) == list.end()) list.push_back(e);
}

}  // namespace

Digits::Digits(ExprPool& pool, const BoxFacts& facts, const std::vector<BoxAxis>& axes,
               const Expr& e, bool joined)
    : pool_(pool), ranges_(facts.ranges), joined_(joined) {
  for (const auto& axis : axes) {
    axes_.push_back(axis.symbol);
    highs_[axis.symbol] = axis.count - 1;
  }
  Weights weights;
  collect(e, weights);
  for (const auto& condition : facts.conditions) collect(condition, weights);
  for (const auto& axis : axes)
    if (const auto found = weights.find(axis.symbol); found != weights.end())
      make_number(axis, found->second);
  for (const auto& bound : bounds_) highs_[bound.symbol] = bound.high;
}

auto Digits::quotient(const Expr& a, const Expr& b) const -> std::optional<Expr> {
  if (b.is_int(1)) return a;
  const auto poly = divide_exactly(pool_, to_poly(a), to_poly(b));
  return poly ? std::optional(from_poly(pool_, *poly)) : std::nullopt;
}

auto Digits::part(const Expr& e, bool of_sums) const -> std::optional<Part> {
  const auto is_axis = [&](const Expr& s) { return std::ranges::find(axes_, s) != axes_.end(); };
  if (e.op() == ExprOp::symbol) return is_axis(e) ? std::optional(Part{e, 1, 0}) : std::nullopt;
  if (of_sums && (e.op() == ExprOp::add || e.op() == ExprOp::mul))
    return std::ranges::any_of(e.symbols(), is_axis) ? std::optional(Part{e, 1, 0}) : std::nullopt;
  const bool cuts = e.op() == ExprOp::mod || e.op() == ExprOp::python_mod;
  const bool divides = e.op() == ExprOp::floor_div;
  if (!cuts && !divides && e.op() != ExprOp::modular_indexing) return std::nullopt;
  auto inner = part(e.args()[0], of_sums);
  if (!inner) return std::nullopt;
  if (!cuts) inner->low = inner->low * e.args()[1];
  if (!divides) {
    const auto high = inner->low * e.args()[cuts ? 1 : 2];
    // A second modulus below the first replaces it if it divides it.
    if (!inner->high.is_int(0) && !quotient(inner->high, high)) return std::nullopt;
    inner->high = high;
  } else if (!inner->high.is_int(0) && !quotient(inner->high, inner->low)) {
    return std::nullopt;
  }
  return inner;
}

void Digits::collect(const Expr& e, Weights& weights) {
  if (const auto found = part(e)) {
    for (const auto& weight : {found->low, found->high})
      if (!weight.is_int(0)) add_once(weights[found->axis], weight);
    return;
  }
  if (const auto found = joined_ ? part(e, true) : std::nullopt; found && found->axis != e)
    collect_sum(*found, weights);
  for (const auto& arg : e.args()) collect(arg, weights);
}

/// A divisor of c*x + ... cuts x at its quotient by c, if x comes that far.
void Digits::collect_sum(const Part& sum, Weights& weights) {
  has_sums_ = true;
  for (const auto& term : to_poly(sum.axis))
    for (const auto& factor : to_product(term.monomial).factors) {
      const auto own = part(factor.base);
      const auto rest = own ? monomial_div(pool_, term.monomial, factor.base) : std::nullopt;
      if (!rest) continue;
      for (const auto& divisor : {sum.low, sum.high}) {
        const auto weight = divisor.is_int(0) || divisor.is_int(1)
                                ? std::nullopt
                                : quotient(divisor, Expr(term.coefficient) * *rest);
        if (!weight || weight->is_int(1)) continue;
        const auto at = own->low * *weight;
        if (!at_least(at - 1 - highs_.at(own->axis), 0, ranges_)) add_once(weights[own->axis], at);
      }
    }
}

void Digits::make_number(const BoxAxis& axis, std::vector<Expr> weights) {
  if (std::ranges::find(weights, Expr(1)) == weights.end()) weights.emplace_back(1);
  Number number;
  while (!weights.empty()) {
    const auto next = std::ranges::find_if(weights, [&](const Expr& candidate) {
      return std::ranges::all_of(
          weights, [&](const Expr& other) { return quotient(other, candidate).has_value(); });
    });
    if (next == weights.end()) return;
    number.weights.push_back(*next);
    weights.erase(next);
  }
  std::vector<DigitBound> bounds;
  for (std::size_t i = 0; i < number.weights.size(); ++i) {
    const auto symbol = pool_.symbol(fmt::format("{}.digit{}", axis.symbol.name(), i));
    number.digits.push_back(symbol);
    const bool is_top = i + 1 == number.weights.size();
    const auto& above = is_top ? axis.count : number.weights[i + 1];
    const auto count = quotient(above, number.weights[i]);
    bounds.push_back({symbol, (count ? *count : ceil_div(above, number.weights[i])) - 1});
  }
  bounds_.insert(bounds_.end(), bounds.begin(), bounds.end());
  weights_.insert(weights_.end(), number.weights.begin(), number.weights.end());
  numbers_[axis.symbol] = std::move(number);
}

auto Digits::sum_of(const Part& part) const -> std::optional<Expr> {
  const auto known = numbers_.find(part.axis);
  if (known == numbers_.end()) return std::nullopt;
  const auto& [weights, digits] = known->second;
  const auto place = [&](const Expr& weight) {
    return static_cast<std::size_t>(std::ranges::find(weights, weight) - weights.begin());
  };
  const auto first = place(part.low);
  const auto last = part.high.is_int(0) ? weights.size() : place(part.high);
  Expr sum = 0;
  for (auto i = first; i < last && i < weights.size(); ++i) {
    const auto factor = quotient(weights[i], part.low);
    if (!factor) return std::nullopt;
    sum = sum + *factor * digits[i];
  }
  return sum;
}

/// The sum divided by `by`, or what is left of it (`keeps_rest`): the first are the terms that it
/// divides, the second all others, which must lie in 0 .. by - 1.
auto Digits::cut(const Expr& sum, const Expr& by, bool keeps_rest) const -> std::optional<Expr> {
  if (!at_least(by, 1, ranges_)) return std::nullopt;
  const auto expanded = poly_expanded(pool_, to_poly(sum), kMostTerms);
  if (!expanded) return std::nullopt;
  std::unordered_map<Expr, Expr> factors;  // of each digit; of 1 what has none
  for (const auto& term : *expanded) {
    Expr digit = 1, factor = term.coefficient;
    for (const auto& [base, exponent] : to_product(term.monomial).factors) {
      const bool is_digit = highs_.contains(base);
      if (is_digit && (exponent > 1 || !digit.is_int(1))) return std::nullopt;
      if (is_digit)
        digit = base;
      else
        for (std::int64_t i = 0; i < exponent; ++i) factor = factor * base;
    }
    auto& all = factors.try_emplace(digit, 0).first->second;
    all = all + factor;
  }
  Expr whole = 0, rest = 0, most = 0;
  for (const auto& [digit, factor] : factors) {
    if (const auto share = quotient(factor, by)) {
      whole = whole + *share * digit;
      continue;
    }
    if (!at_least(factor, 0, ranges_)) return std::nullopt;
    rest = rest + factor * digit;
    most = most + (digit.is_int(1) ? factor : factor * highs_.at(digit));
  }
  if (!most.is_valid() || !at_least(by - 1 - most, 0, ranges_)) return std::nullopt;
  return keeps_rest ? rest : whole;
}

auto Digits::cut_sum(const Part& sum) const -> std::optional<Expr> {
  std::optional<Expr> result = rewrite(sum.axis);
  if (!sum.low.is_int(1)) result = cut(*result, sum.low, false);
  if (!result || sum.high.is_int(0)) return result;
  const auto modulus = quotient(sum.high, sum.low);
  return modulus ? cut(*result, *modulus, true) : std::nullopt;
}

auto Digits::rewrite(const Expr& e) const -> Expr {
  if (numbers_.empty() || (e.args().empty() && e.op() != ExprOp::symbol)) return e;
  if (const auto known = memo_.find(e); known != memo_.end()) return known->second;
  auto result = e;
  const auto found = part(e);
  auto sum = found ? sum_of(*found) : std::nullopt;
  if (!found && joined_)
    if (const auto joint = part(e, true); joint && joint->axis != e) sum = cut_sum(*joint);
  if (sum) {
    result = *sum;
  } else if (!e.args().empty()) {
    std::vector<Expr> args;
    for (const auto& arg : e.args()) args.push_back(rewrite(arg));
    result = make(pool_, e.op(), args, e.name());
  }
  memo_.emplace(e, result);
  return result;
}

}  // namespace assay
