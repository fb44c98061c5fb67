#include "compiler/prove/guards.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "compiler/prove/normalise.h"
#include "compiler/prove/samples.h"
#include "core/base/check.h"
#include "core/expr/fold.h"

namespace assay {
namespace {

using Indices = std::vector<std::size_t>;

/// Conditions that one comparison of one symbol settles are cheap to check and say most.
auto cost_of(const Expr& condition) -> std::pair<int, std::uint32_t> {
  const bool single = condition.depth() <= 2 && condition.symbols().size() == 1;
  const bool equality = condition.op() == ExprOp::eq;
  return {single ? 0 : (equality ? 1 : 2), condition.tree_size()};
}

/// Guards that share symbols, and what is known of them at many points.
struct Group {
  Indices guards;  ///< survivors of the cheap steps
  Indices kept;    ///< positions in `guards`
  std::unique_ptr<Samples> samples;
};

/// Recorders write floats with 15 digits, so what differs by less was equal.
auto equal_as_recorded(const Expr& condition, const ShapeEnv& env) -> bool {
  if (condition.op() != ExprOp::eq || condition.args()[0].type() != ExprType::real) return false;
  const auto a = env.replaced(condition.args()[0]).as_real();
  const auto b = env.replaced(condition.args()[1]).as_real();
  constexpr double kDigits = 1e-14;
  return a && b && std::fabs(*a - *b) <= kDigits * std::max(std::fabs(*a), std::fabs(*b));
}

/// The samples have been there.
auto after_samples(ProverOptions options) -> ProverOptions {
  options.search_points = 0;
  return options;
}
auto without_non_linear(ProverOptions options) -> ProverOptions {
  options.non_linear_rlimit = 0;
  return options;
}
/// Without search and solver, in few cases.
auto by_structure(ProverOptions options) -> ProverOptions {
  constexpr int kFewCases = 40;
  options.use_solver = false;
  options.search_points = 0;
  options.max_cases = kFewCases;
  return options;
}

}  // namespace

auto name(GuardVerdict verdict) -> std::string_view {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"needed", "implied", "duplicate", "from ranges", "contradicting", "undecided"});
  return kNames[static_cast<std::size_t>(verdict)];
}

struct GuardSet::Impl {
  Impl(const ShapeEnv& environment, GuardOptions given)
      : env(environment), options(given), simplifier(env.ranges()) {
    canonicalise();
    make_groups();
    for (Group& group : groups) decide(group);
    for (const Group& group : groups)
      for (const auto k : group.kept) report.minimal.push_back(group.guards[k]);
    std::ranges::stable_sort(report.minimal, {},
                             [&](std::size_t i) { return cost_of(conditions[i]); });
    if (options.symbols) describe_symbols();
  }

  auto canonical(const Expr& e) -> Expr;
  void canonicalise();
  auto connected() const -> std::vector<Indices>;
  void make_groups();
  void decide(Group& group);
  void settle(Group& group, std::size_t at, Indices kept);
  void delete_backwards(Group& group);
  void find_contradiction(Group& group);
  void describe_symbols();
  void describe(SymbolFacts& facts);
  void tighten(const Symbol& symbol, const SymbolFacts& facts);
  void from_single_guards(SymbolFacts& facts) const;
  void specialised(const SymbolFacts& facts, const std::set<std::int64_t>& values,
                   const Indices& by);
  auto prove(Prover& with, const Group& group, const Indices& kept, const Expr& claim) -> Answer;
  auto implies(const Expr& condition, Effort effort) -> Answer;
  auto answer_to(const Expr& claim, Effort effort) -> Answer;
  auto in_tight_ranges(const Expr& claim) const -> std::optional<Answer>;
  auto violations(const Expr& condition, std::size_t count) -> std::vector<Binding>;
  auto sampled(const Expr& claim, std::size_t count) -> std::vector<Binding>;
  auto touched(const Expr& claim) -> std::vector<Group*>;
  auto group_of(const Expr& symbol) -> Group*;

  ShapeEnv env;
  GuardOptions options;
  RangeSimplifier simplifier;
  std::vector<Expr> conditions;  ///< canonical, per guard
  std::vector<Group> groups;
  Prover prover{options.prover};  ///< of implies(): one budget for all questions
  Prover deciding{after_samples(options.prover)};
  Prover describing{without_non_linear(after_samples(options.prover))};
  std::unordered_map<Expr, Answer> answers;  ///< what implies() was asked
  /// Ranges of single symbols under the guards, and the guards that give them.
  Ranges tight;
  std::unordered_map<Expr, Indices> tight_by;
  GuardReport report;
};

/// With replacements and ranges used up. What the short form no longer shows but the condition
/// needs to have a value stays beside it.
auto GuardSet::Impl::canonical(const Expr& e) -> Expr {
  if (equal_as_recorded(e, env)) return Expr::boolean(true);
  const Expr replaced = env.replaced(e);
  std::vector<Expr> parts{simplifier.apply(replaced)};
  for (const Expr& needed : value_conditions(replaced)) {
    const Expr simple = simplifier.apply(needed);
    if (simple.as_bool() == false) return replaced;  // floats: nothing is known of them
    parts.push_back(simple);
  }
  const Expr result = make(ExprOp::logic_and, parts);
  return result.is_valid() ? result : replaced;
}

void GuardSet::Impl::canonicalise() {
  std::unordered_map<Expr, std::size_t> first;
  for (const Guard& guard : env.guards()) {
    const auto index = conditions.size();
    const Expr condition = canonical(guard.condition);
    conditions.push_back(condition);
    GuardDecision decision;
    if (condition.as_bool() == true) {
      decision.verdict = GuardVerdict::from_ranges;
      decision.tier = guard.condition.as_bool() ? Tier::normalise : Tier::interval;
    } else if (condition.as_bool() == false) {
      decision = {GuardVerdict::contradicting, Tier::interval, {}, {}};
      report.contradiction.push_back(index);
    } else if (const auto [at, is_new] = first.try_emplace(condition, index); !is_new) {
      decision = {GuardVerdict::duplicate, Tier::normalise, {at->second}, {}};
    }
    report.guards.push_back(std::move(decision));
  }
}

/// The needed guards, those that share symbols together.
auto GuardSet::Impl::connected() const -> std::vector<Indices> {
  std::map<std::string_view, std::size_t> group_of_symbol;  // by name: the same in every run
  std::vector<Indices> members;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    if (report.guards[i].verdict != GuardVerdict::needed) continue;
    const auto mine = members.size();
    members.push_back({i});
    for (const Expr& symbol : conditions[i].symbols()) {
      const auto [at, is_new] = group_of_symbol.try_emplace(symbol.name(), mine);
      if (is_new || at->second == mine) continue;
      const auto other = at->second;
      members[mine].insert(members[mine].end(), members[other].begin(), members[other].end());
      members[other].clear();
      for (auto& [name, group] : group_of_symbol)
        if (group == other) group = mine;
    }
  }
  std::erase_if(members, [](const Indices& indices) { return indices.empty(); });
  return members;
}

void GuardSet::Impl::make_groups() {
  for (auto& indices : connected()) {
    std::ranges::stable_sort(indices);
    std::ranges::stable_sort(indices, {}, [&](std::size_t i) { return cost_of(conditions[i]); });
    std::vector<Expr> symbols;
    std::vector<Expr> chosen;
    for (const auto i : indices) {
      chosen.push_back(conditions[i]);
      for (const Expr& symbol : conditions[i].symbols())
        if (symbol.type() == ExprType::integer &&
            std::ranges::find(symbols, symbol) == symbols.end())
          symbols.push_back(symbol);
    }
    std::ranges::sort(symbols, {}, &Expr::name);
    auto samples = std::make_unique<Samples>(symbols, env.ranges(), env.hints(), chosen);
    groups.push_back({std::move(indices), {}, std::move(samples)});
  }
}

auto GuardSet::Impl::prove(Prover& with, const Group& group, const Indices& kept, const Expr& claim)
    -> Answer {
  Query query{claim, {}, env.ranges()};
  for (const auto k : kept) query.assumptions.push_back(conditions[group.guards[k]]);
  auto answer = with.prove(query);
  if (auto* proved = std::get_if<Proved>(&answer))
    for (auto& index : proved->needed) index = kept[index];
  return answer;
}

/// Whether the guard at position `at` follows from those at `kept`.
void GuardSet::Impl::settle(Group& group, std::size_t at, Indices kept) {
  auto& decision = report.guards[group.guards[at]];
  if (group.samples->counterexample(kept, at)) {
    decision.verdict = GuardVerdict::needed;
    return;
  }
  const auto answer = prove(deciding, group, kept, conditions[group.guards[at]]);
  if (const auto* proved = std::get_if<Proved>(&answer)) {
    decision = {proved->needed.empty() ? GuardVerdict::from_ranges : GuardVerdict::implied,
                proved->tier,
                {},
                {}};
    for (const auto k : proved->needed) decision.by.push_back(group.guards[k]);
  } else if (const auto* refuted = std::get_if<Refuted>(&answer)) {
    group.samples->add(refuted->witness);
    decision.verdict = GuardVerdict::needed;
  } else {
    const auto& unknown = std::get<Unknown>(answer);
    decision = {GuardVerdict::undecided, unknown.tier, {}, unknown.reason};
  }
}

void GuardSet::Impl::decide(Group& group) {
  const auto keeps = [&](std::size_t at) {
    const auto verdict = report.guards[group.guards[at]].verdict;
    return verdict == GuardVerdict::needed || verdict == GuardVerdict::undecided;
  };
  for (std::size_t at = 0; at < group.guards.size(); ++at) {
    settle(group, at, group.kept);
    if (keeps(at)) group.kept.push_back(at);
  }
  for (std::size_t k = group.kept.size(); k-- > 0;) {  // dearest first
    const auto at = group.kept[k];
    auto others = group.kept;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(k));
    settle(group, at, others);
    if (!keeps(at)) group.kept = std::move(others);
  }
  if (group.samples->admitted(group.kept).empty()) find_contradiction(group);
}

void GuardSet::Impl::find_contradiction(Group& group) {
  const auto answer = prove(deciding, group, group.kept, Expr::boolean(false));
  const auto* proved = std::get_if<Proved>(&answer);
  if (const auto* refuted = std::get_if<Refuted>(&answer)) group.samples->add(refuted->witness);
  if (!proved) return;
  for (const auto k : proved->needed) {
    const auto guard = group.guards[k];
    report.contradiction.push_back(guard);
    auto& decision = report.guards[guard];
    decision = {GuardVerdict::contradicting, proved->tier, {}, {}};
    for (const auto other : proved->needed)
      if (other != k) decision.by.push_back(group.guards[other]);
  }
}

auto GuardSet::Impl::group_of(const Expr& symbol) -> Group* {
  for (Group& group : groups) {
    const auto& symbols = group.samples->symbols();
    if (std::ranges::find(symbols, symbol) != symbols.end()) return &group;
  }
  return nullptr;
}

auto GuardSet::Impl::touched(const Expr& claim) -> std::vector<Group*> {
  std::vector<Group*> found;
  for (const Expr& symbol : claim.symbols())
    if (auto* group = group_of(symbol); group && std::ranges::find(found, group) == found.end())
      found.push_back(group);
  return found;
}

/// Points of a group that knows all symbols of the claim; none if there is no such group.
auto GuardSet::Impl::sampled(const Expr& claim, std::size_t count) -> std::vector<Binding> {
  const auto related = touched(claim);
  if (related.size() != 1) return {};
  const auto& known = related[0]->samples->symbols();
  for (const Expr& symbol : claim.symbols())
    if (std::ranges::find(known, symbol) == known.end()) return {};
  return related[0]->samples->against(related[0]->kept, claim, count);
}

auto GuardSet::Impl::implies(const Expr& condition, Effort effort) -> Answer {
  const Expr claim = canonical(condition);
  if (const auto known = answers.find(claim); known != answers.end()) return known->second;
  auto answer = answer_to(claim, effort);
  if (effort == Effort::full || std::holds_alternative<Proved>(answer))
    answers.emplace(claim, answer);
  return answer;
}

/// Where guards leave a symbol few values, most expressions over it are numbers.
auto GuardSet::Impl::in_tight_ranges(const Expr& claim) const -> std::optional<Answer> {
  Indices needed;
  for (const Expr& symbol : claim.symbols())
    if (const auto by = tight_by.find(symbol); by != tight_by.end())
      needed.insert(needed.end(), by->second.begin(), by->second.end());
  if (needed.empty()) return std::nullopt;
  auto answer = Prover(by_structure(options.prover)).prove({claim, {}, tight});
  auto* proved = std::get_if<Proved>(&answer);
  if (!proved) return std::nullopt;
  std::ranges::sort(needed);
  needed.erase(std::ranges::unique(needed).begin(), needed.end());
  proved->needed = std::move(needed);
  return answer;
}

auto GuardSet::Impl::answer_to(const Expr& claim, Effort effort) -> Answer {
  if (claim.as_bool() == true) return Proved{Tier::interval, {}};
  if (auto answer = in_tight_ranges(claim)) return *std::move(answer);
  if (effort == Effort::full) {
    if (auto points = sampled(claim, 1); !points.empty())
      return Refuted{Tier::search, std::move(points[0])};
  }
  Query query{claim, {}, env.ranges()};
  Indices origin;
  for (const Group* group : touched(claim))
    for (const auto k : group->kept) {
      query.assumptions.push_back(conditions[group->guards[k]]);
      origin.push_back(group->guards[k]);
    }
  auto answer = effort == Effort::full ? prover.prove(query)
                                       : Prover(by_structure(options.prover)).prove(query);
  if (auto* proved = std::get_if<Proved>(&answer))
    for (auto& index : proved->needed) index = origin[index];
  return answer;
}

auto GuardSet::Impl::violations(const Expr& condition, std::size_t count) -> std::vector<Binding> {
  auto points = sampled(canonical(condition), count);
  if (!points.empty()) return points;
  const auto answer = implies(condition, Effort::full);
  if (const auto* refuted = std::get_if<Refuted>(&answer)) points.push_back(refuted->witness);
  return points;
}

void GuardSet::Impl::tighten(const Symbol& symbol, const SymbolFacts& facts) {
  if (facts.range == symbol.range) return;
  tight[symbol.expr] = facts.range;
  auto& by = tight_by[symbol.expr] = facts.low_by;
  by.insert(by.end(), facts.high_by.begin(), facts.high_by.end());
}

void GuardSet::Impl::describe_symbols() {
  tight = env.ranges();
  for (const Symbol& symbol : env.symbols()) {
    if (env.replacements().contains(symbol.expr)) continue;
    SymbolFacts facts{symbol.expr, symbol.range, {}, {}, {}, {}};
    if (symbol.expr.type() == ExprType::integer) describe(facts);
    tighten(symbol, facts);
    report.symbols.push_back(std::move(facts));
  }
}

/// What single guards say, and which of them gives which end of the recorded range.
void GuardSet::Impl::from_single_guards(SymbolFacts& facts) const {
  for (std::size_t i = 0; i < env.guards().size(); ++i) {
    const Expr guard = env.replaced(env.guards()[i].condition);
    const auto symbols = guard.symbols();
    if (symbols.size() != 1 || symbols[0] != facts.symbol) continue;
    Ranges alone{{facts.symbol, Interval{}}};
    if (!narrow(alone, guard)) continue;
    const Interval& range = alone.at(facts.symbol);
    const auto low = low_end(range), old_low = low_end(facts.range);
    const auto high = high_end(range), old_high = high_end(facts.range);
    if (low && low == high) {  // whatever others say beside it
      facts.range = range;
      facts.low_by = facts.high_by = {i};
      return;
    }
    if (low && (!old_low || *low > *old_low || (*low == *old_low && facts.low_by.empty()))) {
      facts.range.low = *low;
      facts.low_by = {i};
    }
    if (high && (!old_high || *high < *old_high || (*high == *old_high && facts.high_by.empty()))) {
      facts.range.high = *high;
      facts.high_by = {i};
    }
  }
}

void GuardSet::Impl::describe(SymbolFacts& facts) {
  from_single_guards(facts);
  Indices both = facts.low_by;
  both.insert(both.end(), facts.high_by.begin(), facts.high_by.end());
  const auto low = low_end(facts.range);
  if (low && facts.range.low == facts.range.high) {
    specialised(facts, {*low}, both);
    return;
  }
  Group* group = group_of(facts.symbol);
  if (!group) return;
  const auto admitted = group->samples->admitted(group->kept);
  if (admitted.empty()) return;
  const auto& symbols = group->samples->symbols();
  const auto axis =
      static_cast<std::size_t>(std::ranges::find(symbols, facts.symbol) - symbols.begin());
  std::set<std::int64_t> values;
  for (const auto* point : admitted) values.insert((*point)[axis]);
  const auto proved = [&](const Expr& claim, Indices& by) {
    const auto answer = prove(describing, *group, group->kept, claim);
    const auto* proof = std::get_if<Proved>(&answer);
    if (!proof) return false;
    by.clear();
    for (const auto k : proof->needed) by.push_back(group->guards[k]);
    return true;
  };
  constexpr std::size_t kFew = 3;
  if (values.size() <= kFew) {
    std::vector<Expr> cases;
    for (const auto value : values) cases.push_back(eq(facts.symbol, value));
    Indices by;
    if (proved(make(ExprOp::logic_or, cases), by)) {
      facts.range = {*values.begin(), *values.rbegin()};
      facts.low_by = facts.high_by = by;
      specialised(facts, values, by);
      return;
    }
  }
  if (!low || *values.begin() > *low) {
    if (proved(le(*values.begin(), facts.symbol), facts.low_by)) facts.range.low = *values.begin();
  }
  const auto high = high_end(facts.range);
  const auto largest = *values.rbegin();
  if ((!high || largest < *high) && group->samples->largest(axis) > largest &&
      proved(le(facts.symbol, largest), facts.high_by))
    facts.range.high = largest;
  std::int64_t step = 0;
  for (const auto value : values) step = std::gcd(step, value - *values.begin());
  if (step > 1) {
    const auto rest = checked_mod(*values.begin(), step).value_or(0);
    if (proved(eq(mod(facts.symbol, step), rest), facts.residue_by)) facts.residue = {step, rest};
  }
}

/// Only what several guards say together: a guard that pins a symbol alone was meant to.
void GuardSet::Impl::specialised(const SymbolFacts& facts, const std::set<std::int64_t>& values,
                                 const Indices& by) {
  Indices guards = by;
  std::ranges::sort(guards);
  guards.erase(std::ranges::unique(guards).begin(), guards.end());
  if (guards.size() < 2) return;
  report.specialisations.push_back({facts.symbol, {values.begin(), values.end()}, guards});
}

auto with_guards(const ShapeEnv& env, std::span<const std::size_t> guards) -> ShapeEnv {
  ShapeEnv result = env;
  auto mark = result.mark();
  mark.guards = 0;
  result.rollback(mark);
  for (const auto index : guards) result.add_guard(env.guards()[index]);
  return result;
}

GuardSet::GuardSet(const ShapeEnv& env, GuardOptions options)
    : impl_(std::make_unique<Impl>(env, options)) {}
GuardSet::~GuardSet() = default;
GuardSet::GuardSet(GuardSet&&) noexcept = default;
auto GuardSet::operator=(GuardSet&&) noexcept -> GuardSet& = default;

auto GuardSet::report() const -> const GuardReport& {
  return impl_->report;
}
auto GuardSet::implies(const Expr& condition, Effort effort) -> Answer {
  return impl_->implies(condition, effort);
}
auto GuardSet::violations(const Expr& condition, std::size_t count) -> std::vector<Binding> {
  return impl_->violations(condition, count);
}

}  // namespace assay
