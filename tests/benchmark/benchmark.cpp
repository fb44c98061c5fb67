// How long reading, checking and running real captures takes, and how much memory it needs.
//   assay_benchmark [options of Google Benchmark] [GRAPH...]
// Without graphs it takes the reference corpus (ASSAY_CORPUS).
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "replay/bundle/open.h"
#include "replay/interp/debug.h"
#include "tests/support/corpus.h"

namespace {

namespace fs = std::filesystem;
using assay::Capture;
using assay::OpTable;

/// Largest resident set of this process so far.
auto peak_mib() -> double {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;  // Linux counts in KiB
}

void finish(benchmark::State& state, std::size_t nodes) {
  state.counters["nodes"] = static_cast<double>(nodes);
  state.counters["nodes/s"] =
      benchmark::Counter(static_cast<double>(nodes), benchmark::Counter::kIsIterationInvariantRate);
  state.counters["peak_MiB"] = peak_mib();
}

void read_text(benchmark::State& state, const fs::path& path) {
  const auto text = assay::testing::read_text(path);
  std::size_t nodes = 0;
  for ([[maybe_unused]] auto _ : state) {
    const auto capture = assay::read_graph_text(text);
    if (!capture) return state.SkipWithError(capture.error().message.c_str());
    nodes = capture->graph.nodes.size();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * state.iterations());
  finish(state, nodes);
}

void fake_run(benchmark::State& state, const fs::path& path, const OpTable& table) {
  const auto capture = assay::open_capture(path);
  if (!capture) return state.SkipWithError(capture.error().message.c_str());
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(assay::run_symbolic(capture->graph, table));
  finish(state, capture->graph.nodes.size());
}

/// Reads and debugs every graph; those that cannot be read or run are counted.
void debug_all(benchmark::State& state, const std::vector<fs::path>& paths, const OpTable& table) {
  std::size_t nodes = 0;
  std::size_t failed = 0;
  for ([[maybe_unused]] auto _ : state) {
    nodes = failed = 0;
    for (const auto& path : paths) {
      const auto capture = assay::open_capture(path);
      const auto report =
          capture ? assay::debug_capture(*capture, table, {}) : std::unexpected(capture.error());
      failed += report ? 0U : 1U;
      nodes += report ? capture->graph.nodes.size() : 0;
    }
  }
  state.counters["graphs"] = static_cast<double>(paths.size());
  state.counters["failed"] = static_cast<double>(failed);
  finish(state, nodes);
}

/// 20,000 sizes of tiles, in a fresh pool each time.
void build_expressions(benchmark::State& state) {
  std::size_t nodes = 0;
  for ([[maybe_unused]] auto _ : state) {
    assay::ExprPool pool;
    const auto a = pool.symbol("a");
    const auto b = pool.symbol("b");
    for (int i = 0; i < 20000; ++i)
      benchmark::DoNotOptimize(max(floor_div(a * assay::Expr(2 * i + 3) + b, assay::Expr(i + 2)),
                                   mod(b, assay::Expr(i + 2))));
    nodes = pool.node_count();
  }
  finish(state, nodes);
}
BENCHMARK(build_expressions)->Unit(benchmark::kMillisecond);

auto largest(const std::vector<fs::path>& paths) -> fs::path {
  return *std::ranges::max_element(paths, {}, [](const fs::path& p) { return fs::file_size(p); });
}

void register_graph(const fs::path& path, const OpTable& table) {
  const auto name = path.parent_path().filename() / path.filename();
  const auto add = [&](const char* what) { return fmt::format("{}/{}", what, name.string()); };
  if (path.extension() == ".txt")
    benchmark::RegisterBenchmark(add("read_text").c_str(), read_text, path)
        ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark(add("fake_run").c_str(), [path, &table](auto& state) {
    fake_run(state, path, table);
  })->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark(add("debug").c_str(), [paths = std::vector{path},
                                                      &table](auto& state) {
    debug_all(state, paths, table);
  })->Unit(benchmark::kMillisecond);
}

auto register_corpus(const OpTable& table) -> bool {
  const auto models = assay::testing::unpacked_corpus("models");
  if (!models) return false;
  const auto text = largest(assay::testing::files_ending(*models, ".fx.txt"));
  const auto name = text.parent_path().filename().string();
  benchmark::RegisterBenchmark(fmt::format("read_text/{}", name).c_str(), read_text, text)
      ->Unit(benchmark::kMillisecond);
  auto json = text.string();
  json.replace(json.rfind(".fx.txt"), std::string::npos, ".json");
  benchmark::RegisterBenchmark(fmt::format("fake_run/{}", name).c_str(), [json,
                                                                          &table](auto& state) {
    fake_run(state, json, table);
  })->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("debug/all_models",
                               [paths = assay::testing::graph_captures(), &table](auto& state) {
                                 debug_all(state, paths, table);
                               })
      ->Iterations(1)
      ->Unit(benchmark::kSecond);
  return true;
}

}  // namespace

auto main(int argc, char** argv) -> int {
  benchmark::Initialize(&argc, argv);
  const auto table = assay::build_op_table();
  for (int i = 1; i < argc; ++i) register_graph(argv[i], table);
  if (argc < 2 && !register_corpus(table)) {
    std::printf("%s; nothing to measure\n", assay::testing::corpus_missing().c_str());
    return 0;
  }
  benchmark::RunSpecifiedBenchmarks();
  std::printf("peak memory: %.0f MiB\n", peak_mib());
  return 0;
}
