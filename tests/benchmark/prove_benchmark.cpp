// How many conditions each tier of the prover decides, and at what cost.
//   assay_prove_benchmark [options of Google Benchmark]
// Guards come from the reference corpus (ASSAY_CORPUS); addresses are made here.
#include <benchmark/benchmark.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "compiler/prove/guards.h"
#include "replay/formats/capture.h"
#include "tests/support/corpus.h"

namespace {

using namespace assay;

struct Tally {
  std::map<std::string, std::pair<int, double>> tiers;  ///< answers, microseconds

  void add(const Answer& answer, double microseconds) {
    std::string key = "unknown";
    if (const auto* proved = std::get_if<Proved>(&answer))
      key = fmt::format("proved_{}", name(proved->tier));
    if (const auto* refuted = std::get_if<Refuted>(&answer))
      key = fmt::format("refuted_{}", name(refuted->tier));
    auto& [count, spent] = tiers[key];
    ++count;
    spent += microseconds;
  }
  void report(benchmark::State& state) const {
    for (const auto& [tier, numbers] : tiers) {
      state.counters[tier] = numbers.first;
      state.counters[tier + "_us"] = numbers.second / numbers.first;
    }
  }
};

void ask(Tally& tally, const Query& query) {
  const auto start = std::chrono::steady_clock::now();
  const auto answer = Prover().prove(query);
  const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
  tally.add(answer, spent.count());
}

/// Every different guard of a model against the minimal set of the model without it.
void guards(benchmark::State& state, const std::vector<Capture>& captures) {
  Tally tally;
  for ([[maybe_unused]] auto _ : state) {
    tally = {};
    for (const auto& capture : captures) {
      const auto& env = capture.graph.env;
      const GuardSet set(env, {.prover = {}, .symbols = false});
      std::set<std::string> seen;
      for (std::size_t i = 0; i < env.guards().size(); ++i) {
        if (set.report().guards[i].verdict == GuardVerdict::duplicate) continue;
        Query query{env.replaced(env.guards()[i].condition), {}, env.ranges()};
        for (const auto k : set.report().minimal)
          if (k != i) query.assumptions.push_back(env.replaced(env.guards()[k].condition));
        ask(tally, query);
      }
    }
  }
  tally.report(state);
}

/// The guards of each model as a set, as `assay prove --guards` does.
void guard_sets(benchmark::State& state, const std::vector<Capture>& captures) {
  std::size_t count = 0;
  for ([[maybe_unused]] auto _ : state)
    for (const auto& capture : captures) {
      const GuardSet set(capture.graph.env);
      count += set.report().guards.size();
    }
  state.counters["guards"] =
      benchmark::Counter(static_cast<double>(count), benchmark::Counter::kAvgIterations);
}

/// A contiguous access of some rank, inside its footprint and one element too short.
void contiguous(benchmark::State& state) {
  ExprPool pool;
  Query query;
  Expr address = 0;
  Expr size = 1;
  for (std::int64_t dim = 0; dim < state.range(0); ++dim) {
    const Expr s = pool.symbol(fmt::format("s{}", dim));
    const Expr i = pool.symbol(fmt::format("i{}", dim));
    query.ranges[s] = {Expr(2), Expr::infinity()};
    query.ranges[i] = {Expr(0), Expr::infinity()};
    query.assumptions.push_back(lt(i, s));
    address = address * s + i;
    size = size * s;
  }
  Tally tally;
  for ([[maybe_unused]] auto _ : state) {
    query.claim = lt(address, size);
    ask(tally, query);
    query.claim = lt(address, size - 1);
    ask(tally, query);
  }
  tally.report(state);
}
BENCHMARK(contiguous)->DenseRange(1, 6)->Unit(benchmark::kMillisecond);

}  // namespace

auto main(int argc, char** argv) -> int {
  benchmark::Initialize(&argc, argv);
  std::vector<Capture> captures;
  if (const auto models = assay::testing::unpacked_corpus("models"))
    for (const auto& path : assay::testing::files_ending(*models, ".json"))
      if (auto capture = read_capture_file(path); capture && !capture->graph.env.guards().empty())
        captures.push_back(*std::move(capture));
  if (captures.empty()) {
    std::printf("%s; only made-up addresses are measured\n",
                assay::testing::corpus_missing().c_str());
  } else {
    benchmark::RegisterBenchmark("guards/by_tier", [&](auto& state) { guards(state, captures); })
        ->Iterations(1)
        ->Unit(benchmark::kSecond);
    benchmark::RegisterBenchmark("guards/as_sets",
                                 [&](auto& state) { guard_sets(state, captures); })
        ->Iterations(1)
        ->Unit(benchmark::kSecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
