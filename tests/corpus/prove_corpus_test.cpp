// Guards, obligations and storage bounds of the recorded models.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <unordered_map>

#include "core/expr/text.h"
#include "replay/interp/symbolic.h"
#include "replay/runner/missing_guards.h"
#include "replay/runner/storage_bounds.h"
#include "tests/support/corpus.h"

namespace assay {
namespace {

using testing::corpus_missing;
using testing::graph_captures;

auto short_name(const std::filesystem::path& path) -> std::string {
  return path.parent_path().filename().string() + "/" + path.stem().string();
}

auto holds(const ShapeEnv& env, std::span<const std::size_t> guards, const Binding& sizes) -> bool {
  return std::ranges::all_of(guards, [&](std::size_t i) {
    const auto truth = evaluate(env.guards()[i].condition, sizes);
    return truth && truth->as_bool() == true;
  });
}

/// Points around the hints and in the ranges, by means that share nothing with the prover's.
auto points_of(const ShapeEnv& env, int count) -> std::vector<Binding> {
  std::mt19937_64 random(7);
  std::vector<Binding> points{completed(env, {})};
  for (int i = 0; i < count; ++i) {
    Binding point;
    for (const auto& symbol : env.symbols()) {
      if (symbol.expr.type() != ExprType::integer || random() % 3 == 0) continue;
      const auto hint = symbol.hint ? symbol.hint->as_int().value_or(2) : 2;
      auto value = hint - 40 + static_cast<std::int64_t>(random() % 200);
      value = std::max(value, symbol.range.low.as_int().value_or(value));
      point[symbol.expr] = std::min(value, symbol.range.high.as_int().value_or(value));
    }
    points.push_back(completed(env, std::move(point)));
  }
  return points;
}

struct GuardTotals {
  std::size_t guards = 0, undecided = 0, graphs = 0;
  std::vector<double> milliseconds;
};

void check_guards(const std::filesystem::path& path, GuardTotals& totals) {
  const auto capture = read_capture_file(path);
  ASSERT_TRUE(capture) << capture.error().message;
  const auto& env = capture->graph.env;
  const auto start = std::chrono::steady_clock::now();
  const GuardSet set(env);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  const auto& report = set.report();
  ASSERT_EQ(report.guards.size(), env.guards().size());
  EXPECT_TRUE(report.contradiction.empty());
  std::size_t undecided = 0;
  for (const auto& decision : report.guards)
    undecided += decision.verdict == GuardVerdict::undecided ? 1U : 0U;
  // Where the minimal set holds, every guard holds.
  std::vector<std::size_t> all(env.guards().size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  for (const auto& point : points_of(env, all.size() > 300 ? 60 : 300)) {
    if (holds(env, report.minimal, point)) {
      for (const auto i : all) {
        const auto& condition = env.guards()[i].condition;
        const auto truth = evaluate(condition, point);
        // Equalities of floats are recorded with too few digits to be evaluated.
        if (condition.op() == ExprOp::eq && condition.args()[0].type() == ExprType::real) continue;
        EXPECT_TRUE(!truth || truth->as_bool() == true)
            << short_name(path) << ": " << print_expr(condition);
      }
    }
  }
  fmt::print("{:<44} guards {:4} minimal {:3} unknown {:2} {:8.1f} ms\n", short_name(path),
             env.guards().size(), report.minimal.size(), undecided, spent.count());
  totals.guards += env.guards().size();
  totals.undecided += undecided;
  ++totals.graphs;
  totals.milliseconds.push_back(spent.count());
}

TEST(ProveCorpus, All_guards_are_decided_and_the_minimal_set_is_equivalent) {
  const auto paths = graph_captures();
  if (paths.empty()) GTEST_SKIP() << corpus_missing();
  GuardTotals totals;
  for (const auto& path : paths) check_guards(path, totals);
  std::ranges::sort(totals.milliseconds);
  fmt::print("{} graphs, {} guards, {} unknown; median {:.1f} ms, most {:.1f} ms\n", totals.graphs,
             totals.guards, totals.undecided, totals.milliseconds[totals.milliseconds.size() / 2],
             totals.milliseconds.back());
  EXPECT_LE(static_cast<double>(totals.undecided), 0.005 * static_cast<double>(totals.guards));
}

TEST(ProveCorpus, Recorded_graphs_miss_no_guard_and_stay_inside_their_storages) {
  const auto paths = graph_captures();
  if (paths.empty()) GTEST_SKIP() << corpus_missing();
  const auto table = build_op_table();
  std::size_t obligations = 0, implied = 0, undecided = 0, bounds = 0, unknown_bounds = 0;
  for (const auto& path : paths) {
    const auto capture = read_capture_file(path);
    ASSERT_TRUE(capture) << capture.error().message;
    GuardSet set(capture->graph.env, {.prover = {}, .symbols = false});
    const auto report = find_missing_guards(capture->graph, table, set);
    for (const auto& claim : report.contradicted)
      ADD_FAILURE() << short_name(path) << ": " << claim.claimed << ", the rule says "
                    << claim.ruled;
    for (const auto& missing : report.missing)
      ADD_FAILURE() << short_name(path) << ": " << missing.obligation.why << ": "
                    << print_expr(missing.obligation.condition) << ": " << missing.consequence;
    obligations += static_cast<std::size_t>(report.total);
    implied += static_cast<std::size_t>(report.implied + report.from_ranges);
    undecided += report.undecided.size();
    const auto checked = check_bounds(*capture, table, set);
    bounds += checked.checks.size();
    for (const auto& check : checked.checks) {
      EXPECT_FALSE(std::holds_alternative<Refuted>(check.answer))
          << short_name(path) << ": " << print_expr(check.condition);
      unknown_bounds += std::holds_alternative<Unknown>(check.answer) ? 1U : 0U;
    }
  }
  fmt::print("{} obligations, {} implied, {} undecided; {} bounds, {} undecided\n", obligations,
             implied, undecided, bounds, unknown_bounds);
  EXPECT_GT(obligations, 1000U);
  EXPECT_LE(static_cast<double>(undecided), 0.005 * static_cast<double>(obligations));
  EXPECT_LE(static_cast<double>(unknown_bounds), 0.005 * static_cast<double>(bounds));
}

/// Does some node misbehave at sizes that pass the guards? By trying, without any proof.
auto breaks_somewhere(const Graph& graph, const OpTable& table) -> bool {
  const auto run = run_symbolic(graph, table);
  auto facts = run.obligations;
  facts.insert(facts.end(), run.claims.begin(), run.claims.end());
  for (const auto& sizes : points_of(graph.env, 100)) {
    if (!admits(graph, sizes)) continue;
    std::unordered_map<Expr, bool> holds_there;  // many nodes rely on the same
    for (const auto& fact : facts) {
      const auto [at, is_new] = holds_there.try_emplace(fact.condition, true);
      if (is_new) {
        const auto truth = evaluate(fact.condition, sizes);
        at->second = !truth || truth->as_bool() == true;
      }
      const auto* node = graph.find(NodeId{fact.node});
      if (!node || fact.assumed || at->second) continue;
      const auto text = misbehaviour_at(graph, *node, table, sizes);
      if (text && !text->empty()) return true;
    }
  }
  return false;
}

TEST(ProveCorpus, A_removed_guard_that_the_graph_needs_is_missed_and_a_redundant_one_is_not) {
  const auto paths = graph_captures();
  if (paths.empty()) GTEST_SKIP() << corpus_missing();
  const auto table = build_op_table();
  constexpr std::size_t kGraphs = 30, kRemovals = 8;
  std::size_t tried = 0, removed = 0, reported = 0, by_trying = 0, redundant = 0;
  for (const auto& path : paths) {
    const auto capture = read_capture_file(path);
    ASSERT_TRUE(capture) << capture.error().message;
    const GuardSet set(capture->graph.env, {.prover = {}, .symbols = false});
    const auto minimal = set.report().minimal;
    if (minimal.empty()) continue;
    if (++tried > kGraphs) break;
    auto graph = capture->graph;
    for (std::size_t k = 0; k < std::min(minimal.size(), kRemovals); ++k) {
      auto others = minimal;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(k));
      graph.env = with_guards(capture->graph.env, others);
      GuardSet rest(graph.env, {.prover = {}, .symbols = false});
      const auto report = find_missing_guards(graph, table, rest);
      const bool breaks = breaks_somewhere(graph, table);
      ++removed;
      reported += report.missing.empty() ? 0U : 1U;
      by_trying += breaks ? 1U : 0U;
      EXPECT_FALSE(breaks && report.missing.empty())
          << short_name(path) << ": "
          << print_expr(capture->graph.env.guards()[minimal[k]].condition);
    }
    graph.env = with_guards(capture->graph.env, minimal);  // all redundant ones at once
    GuardSet rest(graph.env, {.prover = {}, .symbols = false});
    const auto report = find_missing_guards(graph, table, rest);
    EXPECT_TRUE(report.missing.empty()) << short_name(path);
    redundant += capture->graph.env.guards().size() - minimal.size();
  }
  fmt::print(
      "{} graphs: {} needed guards removed, {} missed by the graph ({} by trying sizes); "
      "{} redundant ones removed\n",
      std::min(tried, kGraphs), removed, reported, by_trying, redundant);
  EXPECT_GE(tried, kGraphs);
  EXPECT_GT(reported, 0U);
}

}  // namespace
}  // namespace assay
