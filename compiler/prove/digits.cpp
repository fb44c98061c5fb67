#include "compiler/prove/digits.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/expr/poly.h"

namespace assay {

Digits::Digits(ExprPool& pool, const std::vector<BoxAxis>& axes, const Expr& e,
               const std::vector<Expr>& conditions)
    : pool_(pool) {
  for (const auto& axis : axes) axes_.push_back(axis.symbol);
  std::unordered_map<Expr, std::vector<Expr>> weights;
  collect(e, weights);
  for (const auto& condition : conditions) collect(condition, weights);
  for (const auto& axis : axes)
    if (const auto found = weights.find(axis.symbol); found != weights.end())
      make_number(axis, found->second);
}

auto Digits::quotient(const Expr& a, const Expr& b) const -> std::optional<Expr> {
  if (b.is_int(1)) return a;
  const auto poly = divide_exactly(pool_, to_poly(a), to_poly(b));
  return poly ? std::optional(from_poly(pool_, *poly)) : std::nullopt;
}

auto Digits::part(const Expr& e) const -> std::optional<Part> {
  if (e.op() == ExprOp::symbol)
    return std::ranges::find(axes_, e) != axes_.end() ? std::optional(Part{e, 1, 0}) : std::nullopt;
  const bool cuts = e.op() == ExprOp::mod || e.op() == ExprOp::python_mod;
  const bool divides = e.op() == ExprOp::floor_div;
  if (!cuts && !divides && e.op() != ExprOp::modular_indexing) return std::nullopt;
  auto inner = part(e.args()[0]);
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

void Digits::collect(const Expr& e, std::unordered_map<Expr, std::vector<Expr>>& weights) const {
  if (const auto found = part(e)) {
    auto& list = weights[found->axis];
    for (const auto& weight : {found->low, found->high})
      if (!weight.is_int(0) && std::ranges::find(list, weight) == list.end())
        list.push_back(weight);
    return;
  }
  for (const auto& arg : e.args()) collect(arg, weights);
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

auto Digits::rewrite(const Expr& e) const -> Expr {
  if (numbers_.empty() || (e.args().empty() && e.op() != ExprOp::symbol)) return e;
  if (const auto known = memo_.find(e); known != memo_.end()) return known->second;
  auto result = e;
  const auto found = part(e);
  const auto sum = found ? sum_of(*found) : std::nullopt;
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
