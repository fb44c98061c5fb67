#include "compiler/prove/bounds_decider.h"

#include <algorithm>

#include "compiler/prove/digits.h"
#include "compiler/prove/normalise.h"
#include "core/expr/poly.h"

namespace assay {
namespace {

using Positions = std::vector<std::size_t>;

auto all_of(const std::vector<Expr>& guards) -> Positions {
  Positions positions(guards.size());
  for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = i;
  return positions;
}

/// The general prover knows nothing of axes: they are symbols between 0 and their count. The
/// guards come first, at the positions given.
auto query_of(const Bound& bound, const Positions& guards) -> Query {
  Query query{.claim = ge(bound.value, 0), .assumptions = {}, .ranges = bound.facts.ranges};
  for (const auto i : guards) query.assumptions.push_back(bound.guards[i]);
  for (const auto& axis : bound.facts.axes)
    for (const auto& condition : {ge(axis.symbol, 0), lt(axis.symbol, axis.count)})
      split_conjunction(condition, query.assumptions);
  for (const auto& condition : bound.facts.conditions)
    split_conjunction(condition, query.assumptions);
  return query;
}

auto proved(const Bound& bound, Tier tier, Positions needed) -> Decision {
  Decision decision;
  decision.proofs.push_back(query_of(bound, needed));
  decision.answer = Proved{tier, std::move(needed)};
  return decision;
}

auto holds_in_box(const Bound& bound, const Positions& guards) -> bool {
  auto facts = bound.facts;
  for (const auto i : guards) facts.conditions.push_back(bound.guards[i]);
  return proves_nonnegative(bound.value, facts);
}

/// A set of guards that suffices and from which none can be left out.
auto needed_in_box(const Bound& bound) -> Positions {
  auto needed = all_of(bound.guards);
  for (auto chunk = std::max<std::size_t>(needed.size() / 2, 1); chunk > 0; chunk /= 2)
    for (std::size_t from = 0; from < needed.size();) {
      auto fewer = needed;
      const auto first = fewer.begin() + static_cast<std::ptrdiff_t>(from);
      fewer.erase(first,
                  first + static_cast<std::ptrdiff_t>(std::min(chunk, needed.size() - from)));
      if (holds_in_box(bound, fewer))
        needed = std::move(fewer);
      else
        from += chunk;
    }
  return needed;
}

auto is_about_integers(const Expr& e) -> bool {
  return std::ranges::all_of(e.symbols(),
                             [](const Expr& symbol) { return symbol.type() == ExprType::integer; });
}

/// Counts may be larger than what runs, so a counterexample counts only where it stays below the
/// extents.
auto ask_prover(const Bound& bound, Prover& prover) -> Decision {
  auto known = all_of(bound.guards);  // about floats the prover is not asked
  std::erase_if(known, [&](std::size_t i) { return !is_about_integers(bound.guards[i]); });
  auto query = query_of(bound, known);
  const auto asked = query.assumptions.size();
  std::erase_if(query.assumptions, [](const Expr& e) { return !is_about_integers(e); });
  const bool is_less = query.assumptions.size() < asked || known.size() < bound.guards.size();
  constexpr int kMostVain = 20;
  const Decision undecided{Unknown{Tier::normalise, "a condition on data"}, {}};
  if (is_less && prover.vain_questions >= kMostVain) return undecided;
  auto answer = prover.prove(query);
  if (auto* found = std::get_if<Proved>(&answer)) {
    std::erase_if(found->needed, [&](std::size_t i) { return i >= known.size(); });
    for (auto& i : found->needed) i = known[i];
    return proved(bound, found->tier, found->needed);
  }
  if (is_less) ++prover.vain_questions;
  if (std::holds_alternative<Refuted>(answer) && is_less) return undecided;
  if (const auto* refuted = std::get_if<Refuted>(&answer))
    for (const auto& axis : bound.axes) {
      const auto inside = evaluate(lt(axis.symbol, axis.numel), refuted->witness);
      if (inside && inside->as_bool() != true)
        return {Unknown{refuted->tier, "the only counterexample lies beyond the grid"}, {}};
    }
  return {std::move(answer), {}};
}

/// What the conditions say about single symbols is used to simplify: where no axis is empty,
/// Max(1, s) is s.
auto narrowed(Bound bound) -> Bound {
  for (const auto& condition : bound.facts.conditions) (void)narrow(bound.facts.ranges, condition);
  if (bound.value.is_valid()) bound.value = RangeSimplifier(bound.facts.ranges).apply(bound.value);
  return bound;
}

/// Calls f on every expression that a bound is made of, but its guards.
template <class F>
void for_each_part(Bound& bound, const F& f) {
  f(bound.value);
  for (auto& axis : bound.facts.axes) f(axis.count);
  for (auto& condition : bound.facts.conditions) f(condition);
}

auto mentions(const Expr& e, const Expr& part) -> bool {
  return e == part ||
         std::ranges::any_of(e.args(), [&](const Expr& arg) { return mentions(arg, part); });
}
/// What an equation says that one of its sizes is: of `2*(s//16) == s//8` that s//8 is 2*(s//16).
/// The size stands there once and with the factor 1 or -1; the largest of several goes.
struct Replacement {
  Expr size, by;
};
auto replacement_by(const Expr& guard) -> std::optional<Replacement> {
  if (guard.op() != ExprOp::eq || guard.args()[0].type() != ExprType::integer ||
      guard.args()[1].type() != ExprType::integer)
    return std::nullopt;
  const auto difference = guard.args()[0] - guard.args()[1];
  if (!difference.is_valid() || difference.pool() == nullptr) return std::nullopt;
  std::optional<Replacement> best;
  for (const auto& term : to_poly(difference)) {
    const auto& size = term.monomial;
    const bool is_size = size.op() == ExprOp::symbol || size.op() == ExprOp::floor_div;
    if (!is_size || (term.coefficient != 1 && term.coefficient != -1)) continue;
    const auto by = term.coefficient == 1 ? size - difference : size + difference;
    if (!by.is_valid() || mentions(by, size)) continue;
    if (!best || size.tree_size() > best->size.tree_size()) best = {size, by};
  }
  return best;
}

/// The same by guards: by those of one symbol, `(s//16 + 1)**2 == 196`, and by equations of sizes;
/// which they are. Nothing where none says more than is known.
auto narrowed_by_guards(Bound bound, const Positions& tried)
    -> std::optional<std::pair<Bound, Positions>> {
  Positions used;
  for (const auto i : tried)
    if (narrow(bound.facts.ranges, bound.guards[i])) used.push_back(i);
  RangeSimplifier simplifier(bound.facts.ranges);
  const auto simplify = [&](Expr& e) { e = simplifier.apply(e); };
  for_each_part(bound, simplify);
  for (const auto i : tried) {
    const auto known = replacement_by(simplifier.apply(bound.guards[i]));
    if (!known) continue;
    bool changed = false;
    const auto replace = [&](Expr& e) {
      if (!mentions(e, known->size)) return;
      const auto replaced = simplifier.apply(substitute(e, {{known->size, known->by}}));
      if (!replaced.is_valid()) return;
      e = replaced;
      changed = true;
    };
    for_each_part(bound, replace);
    for (std::size_t j = 0; j < bound.guards.size(); ++j)  // what they say rests on this one then
      if (j != i) replace(bound.guards[j]);
    if (changed) used.push_back(i);
  }
  if (used.empty()) return std::nullopt;
  return std::pair(std::move(bound), std::move(used));
}

/// The same bound with everything said about it simplified, so that one size is written in one way
/// in all of it; nothing where that changes nothing.
auto simplified(Bound bound) -> std::optional<Bound> {
  RangeSimplifier simplifier(bound.facts.ranges);
  bool changed = false;
  const auto simplify = [&](Expr& e) {
    auto simple = simplifier.apply(e);
    changed = changed || simple != e;
    e = std::move(simple);
  };
  for_each_part(bound, simplify);
  if (!changed) return std::nullopt;
  for (auto& guard : bound.guards) simplify(guard);
  return bound;
}

/// Are sums of axes divided?
auto has_sums(const Bound& bound) -> bool {
  auto* pool = bound.value.pool();
  return pool != nullptr &&
         Digits(*pool, bound.facts, bound.facts.axes, bound.value, true).has_sums();
}

/// By constants, intervals and boxes.
auto decide_cheaply(const Bound& bound) -> std::optional<Decision> {
  if (const auto constant = bound.value.as_int()) {
    if (*constant >= 0) return proved(bound, Tier::normalise, {});
  } else if (const auto low = interval_of(bound.value, bound.facts.ranges).low.as_int();
             low && *low >= 0) {
    return proved(bound, Tier::interval, {});
  }
  if (holds_in_box(bound, {})) return proved(bound, Tier::corner, {});
  if (holds_in_box(bound, all_of(bound.guards)))
    return proved(bound, Tier::corner, needed_in_box(bound));
  return std::nullopt;
}

auto decide_by_guards(const Bound& bound) -> std::optional<Decision> {
  const auto decide = [&](const Positions& tried) -> std::optional<Proved> {
    const auto known = narrowed_by_guards(bound, tried);
    if (!known || !known->first.value.is_valid()) return std::nullopt;
    const auto decision = decide_cheaply(known->first);
    if (!decision) return std::nullopt;
    auto proof = std::get<Proved>(decision->answer);
    proof.needed.insert(proof.needed.end(), known->second.begin(), known->second.end());
    std::ranges::sort(proof.needed);
    proof.needed.erase(std::ranges::unique(proof.needed).begin(), proof.needed.end());
    return proof;
  };
  auto proof = decide(all_of(bound.guards));
  if (!proof) return std::nullopt;
  for (const auto i : Positions(proof->needed)) {  // one after the other, if it can go
    auto fewer = proof->needed;
    std::erase(fewer, i);
    if (auto less = decide(fewer); less && std::ranges::includes(fewer, less->needed)) proof = less;
  }
  return proved(bound, proof->tier, std::move(proof->needed));
}

}  // namespace

auto decide_bound(const Bound& asked, Prover& prover) -> Decision {
  const auto never = [](const Expr& condition) { return condition.as_bool() == false; };
  if (std::ranges::any_of(asked.facts.conditions, never))  // a mask that lets nothing through
    return proved(asked, Tier::normalise, {});
  if (!asked.value.is_valid())
    return {Unknown{Tier::normalise, "the expression is undefined or too large"}, {}};
  // Simplified bounds are decided faster, but not all of them as well.
  auto given = asked;
  given.facts.joins_axes = false;  // until nothing else helped
  auto bound = narrowed(given);
  if (auto decision = decide_cheaply(bound)) return *std::move(decision);
  if (bound.value != given.value)
    if (auto decision = decide_cheaply(given)) return *std::move(decision);
  auto simple = simplified(bound);
  if (simple)
    if (auto decision = decide_cheaply(*simple)) return *std::move(decision);
  auto& last = simple ? *simple : bound;
  if (auto decision = decide_by_guards(last)) return *std::move(decision);
  if (has_sums(last)) {
    last.facts.joins_axes = true;
    if (auto decision = decide_cheaply(last)) return *std::move(decision);
    if (auto decision = decide_by_guards(last)) return *std::move(decision);
  }
  auto conditions = bound.facts.conditions;
  conditions.insert(conditions.end(), bound.guards.begin(), bound.guards.end());
  const SearchSpace space{bound.facts.ranges, std::move(conditions), bound.axes, bound.hints};
  if (auto witness = find_negative(bound.value, space))
    return {Refuted{Tier::search, std::move(*witness)}, {}};
  return ask_prover(bound, prover);
}

auto both(Decision a, Decision b) -> Decision {
  if (std::holds_alternative<Refuted>(a.answer)) return a;
  if (std::holds_alternative<Refuted>(b.answer)) return b;
  if (std::holds_alternative<Unknown>(a.answer)) return a;
  if (std::holds_alternative<Unknown>(b.answer)) return b;
  auto& proof = std::get<Proved>(a.answer);
  const auto& other = std::get<Proved>(b.answer);
  proof.tier = std::max(proof.tier, other.tier);
  proof.needed.insert(proof.needed.end(), other.needed.begin(), other.needed.end());
  std::ranges::sort(proof.needed);
  proof.needed.erase(std::ranges::unique(proof.needed).begin(), proof.needed.end());
  a.proofs.insert(a.proofs.end(), b.proofs.begin(), b.proofs.end());
  return a;
}

}  // namespace assay
