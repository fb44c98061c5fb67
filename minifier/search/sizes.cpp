#include "minifier/search/sizes.h"

#include <algorithm>
#include <set>

#include "minifier/edits/patches.h"
#include "minifier/edits/program.h"

namespace assay {
namespace {

/// Sizes that are tried below the current one: small ones, and around powers of two.
constexpr std::int64_t kTried[] = {0,  1,  2,  3,  4,  5,  7,  8,  9,   15,
                                   16, 17, 31, 32, 33, 63, 64, 65, 127, 128};
constexpr int kMostTries = 8;  ///< oracle calls per symbol and round
constexpr std::size_t kMostConstants = 32;

void collect_divisors(const Expr& e, std::set<std::int64_t>& divisors) {
  const auto args = e.args();
  const bool divides = e.op() == ExprOp::mod || e.op() == ExprOp::python_mod ||
                       e.op() == ExprOp::floor_div || e.op() == ExprOp::ceil_div ||
                       e.op() == ExprOp::clean_div;
  if (divides && args.size() == 2)
    if (const auto m = args[1].as_int(); m && *m > 1 && *m <= 65536) divisors.insert(*m);
  for (const auto& arg : args) collect_divisors(arg, divisors);
}

auto holds(const std::vector<Expr>& conditions, const Binding& at) -> bool {
  return std::ranges::all_of(conditions, [&](const Expr& condition) {
    const auto value = evaluate(condition, at);
    return value && value->as_bool().value_or(false);
  });
}

/// Smaller sizes at which the test still passes, facts about divisors kept where possible.
class SizeSearch {
 public:
  SizeSearch(const Capture& capture, const OpTable& table, const CaptureTest& test)
      : capture_(capture),
        test_(test),
        best_(capture),
        sizes_(sizes_of(capture, table)),
        facts_(discriminating_facts(capture, sizes_)) {}

  auto run(const SmallestSizes& solver) -> Capture {
    if (solver) all_at_once(solver);
    for (const bool keep_facts : {true, false})
      for (const auto& [symbol, unused] : sorted_sizes(sizes_))
        if (symbol.type() == ExprType::integer) one(symbol, keep_facts);
    return std::move(best_);
  }

 private:
  auto passes(const Binding& at) -> bool {
    const auto cut = at_sizes(capture_, at);
    if (!cut || !test_(*cut)) return false;
    best_ = *cut;
    sizes_ = at;
    return true;
  }

  /// The smallest sizes that keep the facts, or at least the guards.
  void all_at_once(const SmallestSizes& solver) {
    for (const auto& conditions : {facts_, std::vector<Expr>{}}) {
      const auto smallest = solver(capture_.graph.env, conditions);
      if (!smallest) continue;
      auto at = sizes_;  // a symbol that nothing is said about stays as it is
      for (const auto& [symbol, value] : *smallest) at[symbol] = value;
      if (at != sizes_ && passes(at)) return;
    }
  }

  void one(const Expr& symbol, bool keep_facts) {
    const auto now = sizes_.at(symbol).as_int();
    int tries = 0;
    for (const auto value : kTried) {
      if (!now || value >= *now || tries >= kMostTries) return;
      auto at = sizes_;
      at[symbol] = Expr(value);
      if ((keep_facts && !holds(facts_, at)) || !admits(capture_.graph.env, at)) continue;
      ++tries;
      if (passes(at)) return;
    }
  }

  const Capture& capture_;
  const CaptureTest& test_;
  Capture best_;
  Binding sizes_;
  std::vector<Expr> facts_;
};

/// Smaller numbers for sizes that are numbers.
class ConstantSearch {
 public:
  ConstantSearch(const Capture& capture, const OpTable& table, const CaptureTest& test)
      : table_(table), test_(test), best_(capture), refusals_(count_refusals(capture, table)) {}

  auto run() -> Capture {
    auto sizes = constant_sizes(best_);
    sizes.resize(std::min(sizes.size(), kMostConstants));
    for (const auto size : sizes)
      for (const bool multiples : {false, true})
        if (one({.size = size, .multiples = multiples})) break;
    while (dimensions()) {
    }
    return std::move(best_);
  }

 private:
  /// Sizes that are equal by chance; one that others needed may go when they are gone.
  auto dimensions() -> bool {
    const auto nodes = best_.graph.nodes;  // the search changes them
    std::size_t tried = 0;
    bool any = false;
    for (const auto& node : nodes) {
      const auto* meta = node.claim.tensor();
      if (node.kind != NodeKind::placeholder || meta == nullptr) continue;
      for (std::size_t d = 0; d < meta->sizes.size(); ++d)
        if (const auto size = meta->sizes[d].as_int();
            size && *size > 1 && ++tried <= kMostConstants)
          any = one({.size = *size, .input = node.id, .dim = d}) || any;
    }
    return any;
  }

  auto one(SmallerSize change) -> bool {
    int tries = 0;
    for (const auto value : kTried) {
      if (value >= change.size || tries >= kMostTries) return false;
      if (value == 0) continue;
      change.by = value;
      auto cut = with_smaller(best_, change, table_);
      if (!cut || !is_sound(*cut, table_, refusals_)) continue;
      ++tries;
      if (!test_(*cut)) continue;
      best_ = *std::move(cut);
      return true;
    }
    return false;
  }

  const OpTable& table_;
  const CaptureTest& test_;
  Capture best_;
  int refusals_ = 0;
};

}  // namespace

auto sorted_sizes(const Binding& sizes) -> std::vector<std::pair<Expr, Expr>> {
  std::vector<std::pair<Expr, Expr>> sorted(sizes.begin(), sizes.end());
  std::ranges::sort(sorted,
                    [](const auto& a, const auto& b) { return a.first.name() < b.first.name(); });
  return sorted;
}

auto divisors_of(const Capture& capture) -> std::vector<std::int64_t> {
  std::set<std::int64_t> divisors;
  const auto collect = [&](const Expr& e) { collect_divisors(e, divisors); };
  for (const auto& node : capture.graph.nodes) visit_exprs(node.claim, collect);
  for (const auto& guard : capture.graph.env.guards()) collect(guard.condition);
  for (const auto& input : capture.inputs)
    if (const auto* symbolic = std::get_if<SymbolicInput>(&input))
      if (symbolic->storage_bytes) collect(*symbolic->storage_bytes);
  return {divisors.begin(), divisors.end()};
}

auto discriminating_facts(const Capture& capture, const Binding& sizes) -> std::vector<Expr> {
  std::vector<Expr> facts;
  for (const auto& [symbol, value] : sorted_sizes(sizes)) {
    const auto size = value.as_int();
    if (!size || symbol.type() != ExprType::integer) continue;
    for (const auto m : divisors_of(capture)) {
      const auto divides = eq(mod(symbol, m), 0);
      facts.push_back(*size % m == 0 ? divides : logic_not(divides));
    }
  }
  return facts;
}

auto shrink_sizes(const Capture& capture, const OpTable& table, const SmallestSizes& solver,
                  const CaptureTest& test) -> Capture {
  return SizeSearch(capture, table, test).run(solver);
}

auto shrink_constants(const Capture& capture, const OpTable& table, const CaptureTest& test)
    -> Capture {
  return ConstantSearch(capture, table, test).run();
}

}  // namespace assay
