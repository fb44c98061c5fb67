#include "compiler/prove/box.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <unordered_set>

#include "compiler/prove/digits.h"
#include "core/expr/poly.h"

namespace assay {
namespace {

constexpr int kFuel = 4000;
constexpr int kMaxDepth = 24;

/// `e` as coefficient * atom + rest; nothing if the atom occurs in a power or inside other atoms.
struct Linear {
  Expr coefficient, rest;
};

class Box {
 public:
  Box(ExprPool& pool, const BoxFacts& facts, const std::vector<DigitBound>& digits)
      : pool_(pool), ranges_(facts.ranges) {
    for (const auto& digit : digits) {
      inner_.insert(digit.symbol);
      highs_[digit.symbol].push_back(digit.high);
      ranges_[digit.symbol].low = 0;
    }
  }
  void assume(const Expr& condition) {
    std::vector<Expr> parts;
    split_conjunction(condition, parts);
    for (const auto& part : parts) {
      if (part.op() == ExprOp::le || part.op() == ExprOp::lt || part.op() == ExprOp::ge ||
          part.op() == ExprOp::gt || part.op() == ExprOp::eq) {
        auto difference = part.args()[1] - part.args()[0];
        if (part.op() == ExprOp::ge || part.op() == ExprOp::gt) difference = -difference;
        if (part.op() == ExprOp::lt || part.op() == ExprOp::gt) difference = difference - 1;
        if (!difference.is_valid() || difference.type() != ExprType::integer) continue;
        facts_.push_back(difference);
        if (part.op() == ExprOp::eq) facts_.push_back(-difference);
      }
    }
  }

  auto nonnegative(const Expr& e, int depth = 0) -> bool {
    if (!e.is_valid() || depth > kMaxDepth || --fuel_ < 0) return false;
    if (const auto constant = e.as_int()) return *constant >= 0;
    if (shifted_nonnegative(e)) return true;
    if (follows_from_one(e)) return true;
    if (depth == 0 && follows_from_sum(e, 0, 0)) return true;
    // Compound atoms may contain the plain ones, so they go first, but those of sizes alone come
    // behind the axes, whose ends bring in more of them. One compound atom is enough, since another
    // order would meet the same atoms again.
    auto order = atoms(e);
    const auto is_compound = [](const Expr& atom) { return atom.op() != ExprOp::symbol; };
    std::ranges::stable_sort(order, {}, [&](const Expr& atom) {
      if (inner_.contains(atom)) return 1;
      if (!is_compound(atom)) return 3;
      const auto symbols = atom.symbols();
      return std::ranges::any_of(symbols, [&](const Expr& s) { return inner_.contains(s); }) ? 0
                                                                                             : 2;
    });
    bool met_compound = false;
    for (const auto& atom : order) {
      if (is_compound(atom) && met_compound) continue;
      const auto linear = split(e, atom);
      if (linear && without(*linear, atom, depth)) return true;
      if (fuel_ < 0 || (linear && inner_.contains(atom) && !is_compound(atom))) return false;
      met_compound = met_compound || (linear && is_compound(atom));
    }
    return false;
  }

 private:
  [[nodiscard]] static auto atoms(const Expr& e) -> std::vector<Expr> {
    std::vector<Expr> result;
    for (const auto& term : to_poly(e))
      for (const auto& factor : to_product(term.monomial).factors)
        if (std::ranges::find(result, factor.base) == result.end()) result.push_back(factor.base);
    return result;
  }

  [[nodiscard]] auto split(const Expr& e, const Expr& atom) -> std::optional<Linear> {
    Linear result;
    for (const auto& term : to_poly(e)) {
      const auto product = to_product(term.monomial);
      Expr rest = term.coefficient;
      int power = 0;
      for (const auto& factor : product.factors) {
        if (factor.base == atom) {
          power = factor.exponent > 1 ? 2 : 1;
          continue;
        }
        if (mentions(factor.base, atom)) return std::nullopt;
        for (std::int64_t i = 0; i < factor.exponent; ++i) rest = rest * factor.base;
      }
      if (power > 1) return std::nullopt;
      (power == 1 ? result.coefficient : result.rest) =
          (power == 1 ? result.coefficient : result.rest) + rest;
    }
    return result;
  }

  [[nodiscard]] static auto mentions(const Expr& e, const Expr& atom) -> bool {
    if (e == atom) return true;
    if (atom.op() == ExprOp::symbol && e.op() != ExprOp::symbol) {
      const auto symbols = e.symbols();
      return std::ranges::find(symbols, atom) != symbols.end();
    }
    return std::ranges::any_of(e.args(), [&](const Expr& arg) { return mentions(arg, atom); });
  }

  /// a*e - b*fact >= 0 for some a, b > 0, which makes `e` no less than a positive share of the
  /// fact.
  auto follows_from_one(const Expr& e) -> bool {
    std::set<std::int64_t> ours;
    for (const auto& term : to_poly(e))
      if (term.coefficient < 0 && !term.monomial.is_const()) ours.insert(-term.coefficient);
    for (const auto& fact : facts_)
      for (const auto& term : to_poly(fact)) {
        if (term.coefficient >= 0 || term.monomial.is_const()) continue;
        for (const auto mine : ours) {
          const auto common = std::gcd(mine, term.coefficient);
          if (--fuel_ < 0) return false;
          if (shifted_nonnegative(e * (-term.coefficient / common) - fact * (mine / common)))
            return true;
        }
      }
    return false;
  }

  /// The same of a sum of facts, each times what takes one of its terms out of `e`:
  /// 5*(i - 2*s) + 3*(j - 1) + ... with i >= 2*s and j >= 1.
  auto follows_from_sum(const Expr& e, std::size_t from, int depth) -> bool {
    constexpr int kMostFacts = 4;
    const auto ours = to_poly(e);
    for (auto i = from; i < facts_.size() && depth < kMostFacts; ++i) {
      std::set<std::pair<std::int64_t, std::int64_t>> tried;
      for (const auto& term : to_poly(facts_[i])) {
        const auto mine = std::ranges::find(ours, term.monomial, &Term::monomial);
        if (term.monomial.is_const() || mine == ours.end() ||
            (mine->coefficient < 0) != (term.coefficient < 0))
          continue;
        const auto common = std::gcd(mine->coefficient, term.coefficient);
        const std::pair share{std::abs(term.coefficient) / common,
                              std::abs(mine->coefficient) / common};
        if (!tried.insert(share).second) continue;
        if (--sums_ < 0) return false;
        const auto rest = e * share.first - facts_[i] * share.second;
        if (!rest.is_valid()) continue;
        if (shifted_nonnegative(rest) || follows_from_sum(rest, i + 1, depth + 1)) return true;
      }
    }
    return false;
  }

  /// Proves coefficient * atom + rest >= 0 for every value the atom can have.
  auto without(const Linear& linear, const Expr& atom, int depth) -> bool {
    if (one_of_arguments(linear, atom, depth) || rounded(linear, atom, depth) ||
        by_fact(linear, atom, depth))
      return true;
    const bool rises = nonnegative(linear.coefficient, depth + 1);
    if (!rises && !nonnegative(-linear.coefficient, depth + 1)) return false;
    for (const auto& end : ends(atom, !rises)) {
      const auto value = linear.coefficient * end + linear.rest;
      if (nonnegative(value, depth + 1)) return true;
    }
    return false;
  }

  /// The atom leaves with a fact in which it has a share of the coefficient: 2*x <= s makes
  /// rest - 2*s*x no less than rest - s*s.
  auto by_fact(const Linear& linear, const Expr& atom, int depth) -> bool {
    const auto coefficient = to_poly(linear.coefficient);
    for (std::size_t i = 0; i < facts_.size(); ++i) {  // deeper levels may add facts
      const auto fact = split(facts_[i], atom);
      if (!fact || fact->coefficient.is_int(0)) continue;
      const auto share = divide_exactly(pool_, coefficient, to_poly(fact->coefficient));
      if (!share) continue;
      const auto times = from_poly(pool_, *share);
      if (times.is_int(0) || !nonnegative(times, depth + 1)) continue;
      if (nonnegative(linear.rest - times * fact->rest, depth + 1)) return true;
    }
    return false;
  }

  /// min, max and where are one of their arguments.
  auto one_of_arguments(const Linear& linear, const Expr& atom, int depth) -> bool {
    const bool is_where = atom.op() == ExprOp::where;
    if (!is_where && atom.op() != ExprOp::min && atom.op() != ExprOp::max) return false;
    const auto args = atom.args().subspan(is_where ? 1 : 0);
    for (std::size_t i = 0; i < args.size(); ++i) {
      const auto known = facts_.size();
      if (is_where) assume(i == 0 ? atom.args()[0] : logic_not(atom.args()[0]));
      const bool holds = nonnegative(linear.coefficient * args[i] + linear.rest, depth + 1);
      facts_.resize(known);
      if (!holds) return false;
    }
    return true;
  }

  /// b * (a // b) lies in [a - b + 1, a], b * ceil(a / b) in [a, a + b - 1], for b > 0.
  auto rounded(const Linear& linear, const Expr& atom, int depth) -> bool {
    const bool down = atom.op() == ExprOp::floor_div;
    if (!down && atom.op() != ExprOp::ceil_div) return false;
    const auto a = atom.args()[0];
    const auto b = atom.args()[1];
    const auto factor = divide_exactly(pool_, to_poly(linear.coefficient), to_poly(b));
    if (!factor || !nonnegative(b - 1, depth + 1)) return false;
    const auto by = from_poly(pool_, *factor);
    const auto low = down ? a - b + 1 : a;
    const auto high = down ? a : a + b - 1;
    for (const bool rises : {true, false}) {
      if (!nonnegative(rises ? by : -by, depth + 1)) continue;
      if (nonnegative(by * (rises ? low : high) + linear.rest, depth + 1)) return true;
    }
    return false;
  }

  /// Lower (upper) bounds of an atom, each sound by itself.
  auto ends(const Expr& atom, bool upper) -> std::vector<Expr> {
    std::vector<Expr> result;
    if (upper)
      if (const auto known = highs_.find(atom); known != highs_.end())
        result.insert(result.end(), known->second.begin(), known->second.end());
    if ((atom.op() == ExprOp::mod || atom.op() == ExprOp::python_mod) &&
        nonnegative(atom.args()[1] - 1, kMaxDepth - 6))
      result.push_back(upper ? atom.args()[1] - 1 : Expr(0));
    if (atom.op() == ExprOp::floor_div && !upper &&
        nonnegative(atom.args()[1] - 1, kMaxDepth - 6) &&
        nonnegative(atom.args()[0], kMaxDepth - 6))
      result.emplace_back(0);
    const auto interval = interval_of(atom, ranges_);
    const auto& end = upper ? interval.high : interval.low;
    if (end.as_int()) result.push_back(end);
    // Masks come last: most of them only repeat what the digits say.
    for (const auto& fact : facts_) {
      const auto linear = split(fact, atom);
      const auto c = linear ? linear->coefficient.as_int() : std::nullopt;
      if (!c || *c == 0 || (*c < 0) != upper) continue;
      // c * atom + rest >= 0
      result.push_back(upper ? floor_div(linear->rest, -*c) : ceil_div(-linear->rest, *c));
    }
    return result;
  }

  /// All symbols at lower end + t: no negative coefficient means never negative.
  auto shifted_nonnegative(const Expr& e) -> bool {
    if (!e.is_valid()) return false;
    if (const auto constant = e.as_int()) return *constant >= 0;
    std::unordered_map<Expr, Expr> shift;
    for (const auto& atom : atoms(e)) {
      const auto low = interval_of(atom, ranges_).low.as_int();
      if (!low) return false;
      if (atom.op() == ExprOp::symbol) shift[atom] = atom + *low;
      // A compound atom keeps its place: its own low end must not be negative then.
      else if (*low < 0)
        return false;
    }
    const auto moved = shift.empty() ? e : shift_symbols(e, shift);
    const auto terms = to_poly(moved);
    return moved.is_valid() &&
           std::ranges::all_of(terms, [](const Term& term) { return term.coefficient >= 0; });
  }

  /// Substitution on the polynomial's own level: symbols inside of compound atoms stay.
  [[nodiscard]] auto shift_symbols(const Expr& e, const std::unordered_map<Expr, Expr>& shift)
      -> Expr {
    Expr result = 0;
    for (const auto& term : to_poly(e)) {
      Expr product = term.coefficient;
      for (const auto& factor : to_product(term.monomial).factors) {
        const auto moved = shift.find(factor.base);
        for (std::int64_t i = 0; i < factor.exponent; ++i)
          product = product * (moved == shift.end() ? factor.base : moved->second);
      }
      result = result + product;
    }
    return result;
  }

  ExprPool& pool_;
  Ranges ranges_;
  std::unordered_set<Expr> inner_;
  std::unordered_map<Expr, std::vector<Expr>> highs_;
  std::vector<Expr> facts_;  ///< each is >= 0
  int sums_ = 300;           ///< sums of facts that are tried
  int fuel_ = kFuel;
};

auto pool_of(const Expr& e, const BoxFacts& facts) -> ExprPool* {
  if (e.pool() != nullptr) return e.pool();
  for (const auto& axis : facts.axes)
    if (axis.symbol.pool() != nullptr) return axis.symbol.pool();
  return nullptr;
}

}  // namespace

void split_conjunction(const Expr& condition, std::vector<Expr>& conjuncts) {
  if (condition.op() != ExprOp::logic_and) {
    conjuncts.push_back(condition);
    return;
  }
  for (const auto& part : condition.args()) split_conjunction(part, conjuncts);
}

auto proves_nonnegative(const Expr& e, const BoxFacts& facts) -> bool {
  if (const auto constant = e.as_int()) return *constant >= 0;
  auto* pool = pool_of(e, facts);
  if (pool == nullptr || !e.is_valid()) return false;
  // With the axes as digits, if that does not help with sums of them as well, or as they are.
  enum class Taken : std::uint8_t { digits, sums, whole };
  for (const auto taken : {Taken::digits, Taken::whole, Taken::sums}) {
    const Digits digits(*pool, facts, taken == Taken::whole ? std::vector<BoxAxis>{} : facts.axes,
                        e, taken == Taken::sums);
    if (taken == Taken::sums && (!facts.joins_axes || !digits.has_sums())) continue;
    auto bounds = digits.bounds();
    for (const auto& axis : facts.axes)
      if (!digits.covers(axis.symbol)) bounds.push_back({axis.symbol, axis.count - 1});
    Box box(*pool, facts, bounds);
    for (const auto& condition : facts.conditions) box.assume(digits.rewrite(condition));
    // Digits mean something only where no weight is negative (at 0 the axis is empty).
    if (!std::ranges::all_of(digits.weights(),
                             [&](const Expr& weight) { return box.nonnegative(weight); }))
      continue;
    if (box.nonnegative(digits.rewrite(e))) return true;
  }
  return false;
}

}  // namespace assay
