#include "compiler/prove/prover.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "compiler/prove/corner.h"
#include "compiler/prove/normalise.h"
#include "compiler/prove/program.h"
#include "compiler/prove/search.h"
#include "compiler/prove/smt_text.h"
#include "compiler/prove/solver.h"
#include "core/base/check.h"

namespace assay {
namespace {

constexpr std::uint64_t kQuickPoints = 1500;
constexpr std::uint64_t kFew = 40'000;  ///< sizes that are looked at one by one
constexpr std::size_t kMaxTrials = 12;  ///< assumptions up to which a smaller set is looked for

auto integer_symbols(const Query& query) -> std::vector<Expr> {
  std::set<std::string_view> seen;
  std::vector<Expr> symbols;
  const auto add = [&](const Expr& e) {
    for (const Expr& symbol : e.symbols())
      if (symbol.type() == ExprType::integer && seen.insert(symbol.name()).second)
        symbols.push_back(symbol);
  };
  add(query.claim);
  for (const Expr& assumption : query.assumptions) add(assumption);
  std::ranges::sort(symbols, {}, &Expr::name);
  return symbols;
}

/// Ranges that the assumptions narrow.
auto narrowed(const Query& query) -> Ranges {
  Ranges ranges = query.ranges;
  for (const Expr& a : query.assumptions) narrow(ranges, a);
  return ranges;
}

/// The claim is false or has no value, and everything assumed is true, as core/expr evaluates it.
auto confirmed(const Query& query, const Binding& binding) -> bool {
  for (const auto& [symbol, value] : binding) {
    const auto range = query.ranges.find(symbol);
    if (range != query.ranges.end() && !range->second.contains(value)) return false;
  }
  for (const Expr& assumption : query.assumptions) {
    const auto truth = evaluate(assumption, binding);
    if (!truth || truth->as_bool() != true) return false;
  }
  const auto truth = evaluate(query.claim, binding);
  if (truth) return truth->as_bool() == false;
  if (truth.error().code == ErrorCode::undecided) return false;
  const auto symbols = query.claim.symbols();  // overflow is not what was asked
  std::vector<std::int64_t> point;
  for (const Expr& symbol : symbols) {
    const auto at = binding.find(symbol);
    const auto value = at == binding.end() ? std::nullopt : at->second.as_int();
    if (!value) return false;
    point.push_back(*value);
  }
  Program program(symbols);
  const auto slot = program.add(query.claim);
  program.run(point);
  return program.truth(slot) == Truth::undefined;
}

/// One query on its way through the tiers.
class Attempt {
 public:
  Attempt(const Query& query, const ProverOptions& options)
      : query_(query), options_(options), box_(integer_symbols(query), narrowed(query)) {}

  auto run() -> Answer {
    for (const auto tier : {&Attempt::normalise, &Attempt::interval, &Attempt::quick_search,
                            &Attempt::corner, &Attempt::linear, &Attempt::exhaustive, &Attempt::far,
                            &Attempt::non_linear, &Attempt::full_search})
      if (auto answer = (this->*tier)()) return *std::move(answer);
    return Unknown{last_, reason_};
  }
  /// The costliest tier was asked and said nothing.
  [[nodiscard]] auto gave_up() const -> bool { return gave_up_; }

 private:
  using Maybe = std::optional<Answer>;

  auto normalise() -> Maybe {
    if (query_.claim.as_bool() == true) return Proved{Tier::normalise, {}};
    return std::nullopt;
  }
  auto interval() -> Maybe {
    return proved(Tier::interval, [&](const std::vector<Expr>& assumptions) {
      Ranges ranges = query_.ranges;
      for (const Expr& a : assumptions) narrow(ranges, a);
      for (const Expr& a : assumptions)
        if (decide_statically(a, ranges) == false) return true;
      auto parts = value_conditions(query_.claim);
      parts.push_back(query_.claim);
      return std::ranges::all_of(
          parts, [&](const Expr& part) { return decide_statically(part, ranges) == true; });
    });
  }
  auto corner() -> Maybe {
    int most = options_.max_cases;  // of the first attempt; smaller sets need no more than it did
    bool is_first = true;
    return proved(Tier::corner, [&](const std::vector<Expr>& assumptions) {
      CaseProof proof(most);
      const bool holds = proof.holds(query_.claim, assumptions, query_.ranges);
      constexpr int kSlack = 8;
      if (std::exchange(is_first, false)) most = std::min(most, 2 * proof.cases() + kSlack);
      return holds;
    });
  }
  auto quick_search() -> Maybe {
    if (options_.search_points == 0) return std::nullopt;
    if (auto found = search(std::min(kQuickPoints, options_.search_points))) return found;
    auto corner = highest_corner(box_.symbols(), query_.assumptions, query_.ranges);
    if (confirmed(query_, corner)) return Refuted{Tier::search, smaller(std::move(corner))};
    return std::nullopt;
  }
  /// All sizes there are, where they are few.
  auto exhaustive() -> Maybe {
    if (box_.size() > static_cast<Int128>(kFew) || box_.symbols().empty()) return std::nullopt;
    if (auto found = search(kFew)) return found;
    return proved(Tier::search, [&](const std::vector<Expr>& assumptions) {
      return holds_everywhere(assumptions);
    });
  }
  /// Bounds that only large sizes break: each symbol alone around powers of two.
  auto far() -> Maybe {
    if (options_.search_points == 0) return std::nullopt;
    if (auto found = around_powers()) return Refuted{Tier::search, smaller(*std::move(found))};
    return std::nullopt;
  }
  auto full_search() -> Maybe {
    if (options_.search_points <= kQuickPoints) return std::nullopt;
    return search(options_.search_points);
  }
  auto linear() -> Maybe {
    if (!options_.use_solver || options_.linear_rlimit == 0) return std::nullopt;
    return solved(Tier::linear, SmtForm::linear, options_.linear_rlimit);
  }
  auto non_linear() -> Maybe {
    if (!options_.use_solver || options_.non_linear_rlimit == 0) return std::nullopt;
    auto answer = solved(Tier::non_linear, SmtForm::native, options_.non_linear_rlimit);
    gave_up_ = !answer;
    return answer;
  }

  template <class Holds>
  auto proved(Tier tier, Holds holds) -> Maybe;
  auto search(std::uint64_t limit) -> Maybe;
  [[nodiscard]] auto around_powers() const -> std::optional<Binding>;
  [[nodiscard]] auto holds_everywhere(const std::vector<Expr>& assumptions) const -> bool;
  auto solved(Tier tier, SmtForm form, std::uint64_t rlimit) -> Maybe;
  auto smaller(Binding witness) -> Binding;

  const Query& query_;
  const ProverOptions& options_;
  Box box_;
  Tier last_ = Tier::normalise;
  std::string reason_ = "no tier applies";
  bool gave_up_ = false;
};

/// With all assumptions first; then those not needed are dropped, all or one by one.
template <class Holds>
auto Attempt::proved(Tier tier, Holds holds) -> Maybe {
  last_ = tier;
  const bool all_help = holds(query_.assumptions);
  if (query_.assumptions.empty()) return all_help ? Maybe(Proved{tier, {}}) : std::nullopt;
  if (holds({})) return Proved{tier, {}};
  if (!all_help) return std::nullopt;
  std::vector<std::size_t> needed;
  for (std::size_t i = 0; i < query_.assumptions.size(); ++i) needed.push_back(i);
  const auto chosen = [&](const std::vector<std::size_t>& indices) {
    std::vector<Expr> assumptions;
    for (const auto i : indices) assumptions.push_back(query_.assumptions[i]);
    return assumptions;
  };
  for (const auto i : std::vector(needed)) {  // often a single one is enough
    if (query_.assumptions.size() > kMaxTrials) break;
    if (holds(chosen({i}))) return Proved{tier, {i}};
  }
  for (std::size_t at = needed.size(); at-- > 0 && query_.assumptions.size() <= kMaxTrials;) {
    auto fewer = needed;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(at));
    if (holds(chosen(fewer))) needed = std::move(fewer);
  }
  return Proved{tier, needed};
}

auto Attempt::search(std::uint64_t limit) -> Maybe {
  if (limit == 0) return std::nullopt;
  last_ = Tier::search;
  reason_ = fmt::format("no counterexample among {} sizes", limit);
  Program program(box_.symbols());
  const auto claim = program.add(query_.claim);
  std::vector<std::size_t> assumptions;
  for (const Expr& a : query_.assumptions) assumptions.push_back(program.add(a));
  std::vector<std::int64_t> found;
  const auto visit = box_.visit(limit, [&](std::span<const std::int64_t> point) {
    program.run(point);
    for (const auto slot : assumptions) {
      const auto truth = program.truth(slot);
      if (truth == Truth::no || truth == Truth::undefined) return false;
    }
    if (program.truth(claim) == Truth::yes) return false;
    found.assign(point.begin(), point.end());
    return confirmed(query_, to_binding(box_.symbols(), point));
  });
  if (visit.stopped) return Refuted{Tier::search, to_binding(box_.symbols(), found)};
  return std::nullopt;
}

auto Attempt::around_powers() const -> std::optional<Binding> {
  constexpr int kFirst = 6, kLast = 40;
  constexpr std::int64_t kWindow = 64;  // remainders by what sizes are usually divided by
  Binding lows;
  const auto ranges = narrowed(query_);
  for (const Expr& symbol : box_.symbols()) {
    const auto range = ranges.find(symbol);
    const auto low = range == ranges.end() ? std::nullopt : range->second.low.as_int();
    lows[symbol] = low.value_or(2);
  }
  for (const Expr& symbol : box_.symbols())
    for (int power = kFirst; power <= kLast; ++power) {
      auto point = lows;
      point[symbol] = std::int64_t{1} << power;
      const auto truth = evaluate(query_.claim, point);
      if (truth && truth->as_bool() == true) continue;
      for (std::int64_t rest = 0; rest < kWindow; ++rest) {
        point[symbol] = (std::int64_t{1} << power) + rest;
        if (confirmed(query_, point)) return point;
      }
    }
  return std::nullopt;
}

/// Every size that the assumptions admit was looked at, and there the claim is true.
auto Attempt::holds_everywhere(const std::vector<Expr>& assumptions) const -> bool {
  const Query query{query_.claim, assumptions, query_.ranges};
  Box box(box_.symbols(), narrowed(query));
  if (box.size() > static_cast<Int128>(kFew)) return false;
  Program program(box.symbols());
  const auto claim = program.add(query.claim);
  std::vector<std::size_t> slots;
  for (const Expr& a : assumptions) slots.push_back(program.add(a));
  const auto visit = box.visit(kFew, [&](std::span<const std::int64_t> point) {
    program.run(point);
    const bool excluded = std::ranges::any_of(slots, [&](std::size_t slot) {
      const auto truth = program.truth(slot);
      return truth == Truth::no || truth == Truth::undefined;
    });
    return !excluded && program.truth(claim) != Truth::yes;
  });
  return !visit.stopped && static_cast<Int128>(visit.points) == box.size();
}

auto Attempt::solved(Tier tier, SmtForm form, std::uint64_t rlimit) -> Maybe {
  last_ = tier;
  const auto script = smt_script(query_, form);
  if (script.obstacle) {
    reason_ = *script.obstacle;
    return std::nullopt;
  }
  const auto answer =
      tier == Tier::linear ? solve_here(script, rlimit) : solve_in_worker(script, rlimit);
  if (answer.kind == SolverAnswer::Kind::unsat) return Proved{tier, answer.core};
  if (answer.kind == SolverAnswer::Kind::sat) {
    reason_ = "the solver's counterexample does not stand up to evaluation";
    if (confirmed(query_, answer.model)) return Refuted{tier, smaller(answer.model)};
    return std::nullopt;
  }
  reason_ = answer.reason;
  return std::nullopt;
}

auto Attempt::smaller(Binding witness) -> Binding {
  std::vector<std::int64_t> point;
  for (const Expr& symbol : box_.symbols()) {
    const auto at = witness.find(symbol);
    const auto value = at == witness.end() ? std::nullopt : at->second.as_int();
    if (!value) return witness;
    point.push_back(*value);
  }
  const auto bad = [&](std::span<const std::int64_t> candidate) {
    return confirmed(query_, to_binding(box_.symbols(), candidate));
  };
  return to_binding(box_.symbols(), box_.descend(std::move(point), bad));
}

/// The claim with its ranges used up; assumptions keep their positions.
auto simplified(const Query& query) -> Query {
  Query result = query;
  RangeSimplifier simplifier(query.ranges);
  std::vector<Expr> parts{simplifier.apply(query.claim)};
  // What the simplified claim no longer shows, but the original needs to have a value.
  for (const Expr& needed : value_conditions(query.claim))
    parts.push_back(simplifier.apply(needed));
  const Expr claim = make(ExprOp::logic_and, parts);
  if (claim.is_valid() && claim.type() == ExprType::boolean) result.claim = claim;
  for (Expr& a : result.assumptions)
    if (const Expr simple = simplifier.apply(a); simple.is_valid()) a = simple;
  return result;
}

/// Floats are only ever compared, so the values around the constants they are compared with show
/// all there is to see.
auto float_candidates(const Query& query) -> std::unordered_map<Expr, std::vector<Expr>> {
  std::unordered_map<Expr, std::vector<Expr>> candidates;
  const auto look = [&](auto& self, const Expr& e) -> void {
    if (e.args().size() == 2)
      for (const int side : {0, 1}) {
        const Expr& x = e.args()[side == 0 ? 0 : 1];
        const auto value = e.args()[side == 0 ? 1 : 0].as_number();
        if (x.op() != ExprOp::symbol || x.type() != ExprType::real || !value) continue;
        for (const double near : {*value, std::nextafter(*value, HUGE_VAL), *value + 1,
                                  std::nextafter(*value, -HUGE_VAL), *value - 1})
          candidates[x].push_back(Expr::real(near));
      }
    for (const Expr& arg : e.args()) self(self, arg);
  };
  look(look, query.claim);
  for (const Expr& a : query.assumptions) look(look, a);
  return candidates;
}

/// The query with a value in the place of a symbol.
auto with_value(const Query& query, const Expr& symbol, const Expr& value) -> Query {
  const std::unordered_map<Expr, Expr> by{{symbol, value}};
  Query fixed{substitute(query.claim, by), {}, query.ranges};
  for (const Expr& a : query.assumptions) fixed.assumptions.push_back(substitute(a, by));
  return fixed;
}

}  // namespace

struct Prover::Impl {
  ProverOptions options;
  int hard_left = options.hard_questions;
  auto attempt(const Query& query) -> Answer;
  auto prove_connected(const Query& query) -> Answer;
  auto refute_floats(const Query& query) const -> std::optional<Refuted>;
  auto prove(const Query& query) -> Answer;
};

/// Questions that the costliest tier gave up on are counted: after so many it is left out.
auto Prover::Impl::attempt(const Query& query) -> Answer {
  auto left = options;
  if (hard_left <= 0) left.non_linear_rlimit = 0;
  Attempt attempt(query, left);
  auto answer = attempt.run();
  hard_left -= attempt.gave_up() ? 1 : 0;
  return answer;
}

/// Counterexamples of a query with floats: floats fixed one way after the other.
auto Prover::Impl::refute_floats(const Query& query) const -> std::optional<Refuted> {
  constexpr int kMaxTries = 64;
  int tries = 0;
  const auto candidates = float_candidates(query);
  std::vector<Expr> floats;
  for (const auto& [symbol, values] : candidates) floats.push_back(symbol);
  std::ranges::sort(floats, {}, &Expr::name);
  ProverOptions light = options;
  light.use_solver = false;
  const auto fix = [&](auto& self, std::size_t at, const Query& part) -> std::optional<Refuted> {
    if (at == floats.size()) {
      if (++tries > kMaxTries) return std::nullopt;
      light.search_points = std::max<std::uint64_t>(options.search_points, 64);
      auto answer = Attempt(part, light).run();
      auto* refuted = std::get_if<Refuted>(&answer);
      return refuted ? std::optional(std::move(*refuted)) : std::nullopt;
    }
    for (const Expr& value : candidates.at(floats[at])) {
      const auto range = query.ranges.find(floats[at]);
      if (range != query.ranges.end() && !range->second.contains(value)) continue;
      if (auto found = self(self, at + 1, with_value(part, floats[at], value))) {
        found->witness[floats[at]] = value;
        if (at > 0 || confirmed(query, found->witness)) return found;
      }
    }
    return std::nullopt;
  };
  return floats.empty() ? std::nullopt : fix(fix, 0, query);
}

auto Prover::Impl::prove_connected(const Query& query) -> Answer {
  if (auto refuted = refute_floats(query)) return *std::move(refuted);
  const Query simple = simplified(query);
  auto answer = attempt(simple);
  const auto* refuted = std::get_if<Refuted>(&answer);
  if (refuted && !confirmed(query, refuted->witness)) {
    // The simplified claim is stronger where it has no value: look at the claim as it was given.
    answer = attempt(query);
  }
  return answer;
}

auto Prover::Impl::prove(const Query& query) -> Answer {
  if (!query.claim.is_valid() || query.claim.type() != ExprType::boolean)
    return Unknown{Tier::normalise, "the claim is not a condition"};
  const auto near = connected(query.claim, query.assumptions);
  Query part{query.claim, {}, query.ranges};
  for (const auto i : near) part.assumptions.push_back(query.assumptions[i]);
  auto answer = prove_connected(part);
  if (auto* proved = std::get_if<Proved>(&answer)) {
    for (auto& index : proved->needed) index = near[index];
    return answer;
  }
  auto* refuted = std::get_if<Refuted>(&answer);
  if (!refuted) return answer;
  // The other assumptions say nothing about the claim, unless they contradict each other.
  std::vector<bool> done(query.assumptions.size());
  for (const auto i : near) done[i] = true;
  for (std::size_t i = 0; i < done.size(); ++i) {
    if (done[i]) continue;
    auto group = connected(query.assumptions[i], query.assumptions);
    if (group.empty()) group = {i};  // no symbols at all
    Query rest{Expr::boolean(false), {}, query.ranges};
    for (const auto k : group) {
      done[k] = true;
      rest.assumptions.push_back(query.assumptions[k]);
    }
    auto other = prove_connected(rest);
    if (auto* impossible = std::get_if<Proved>(&other)) {
      for (auto& index : impossible->needed) index = group[index];
      return other;
    }
    const auto* point = std::get_if<Refuted>(&other);
    if (!point) return other;
    refuted->witness.insert(point->witness.begin(), point->witness.end());
  }
  return answer;
}

Prover::Prover(ProverOptions options) : impl_(std::make_unique<Impl>(Impl{options})) {}
Prover::~Prover() = default;
Prover::Prover(Prover&&) noexcept = default;
auto Prover::operator=(Prover&&) noexcept -> Prover& = default;

auto Prover::prove(const Query& query) -> Answer {
  return impl_->prove(query);
}

auto Prover::smt_lib(const Query& query) -> std::string {
  const auto script = smt_script(query, SmtForm::native);
  std::string text = "(set-logic ALL)\n" + script.text;
  for (const auto& literal : script.literals) text += fmt::format("(assert {})\n", literal);
  if (script.obstacle) text += fmt::format("; the claim cannot be written: {}\n", *script.obstacle);
  return text + "(check-sat)\n";
}

auto name(Tier tier) -> std::string_view {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"normalise", "interval", "corner", "linear", "non-linear", "search"});
  return kNames[static_cast<std::size_t>(tier)];
}

}  // namespace assay
