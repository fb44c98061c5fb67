// How many oracle calls the minifier needs where the answer is known: the failure needs given nodes
// of a real graph. The rows are those PyTorch's fx_minifier was measured on.
//   minify_benchmark [GRAPH...]     (default: forward graphs of the reference corpus)
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "minifier/search/minify.h"
#include "replay/bundle/open.h"
#include "tests/support/corpus.h"

namespace {

using assay::Capture;
using assay::NodeKind;

auto calls_of(const assay::Graph& graph) -> std::vector<const assay::Node*> {
  std::vector<const assay::Node*> calls;
  for (const auto& node : graph.nodes)
    if (node.kind == NodeKind::call_function) calls.push_back(&node);
  return calls;
}

struct Row {
  std::string name;
  std::vector<std::string> nodes;
  bool chain = false;
};

/// Calls on one path of data flow, `k` of them evenly spaced, in order.
auto on_a_path(const assay::Graph& graph, std::size_t k) -> std::vector<std::string> {
  std::vector<std::string> path;
  const auto calls = calls_of(graph);
  const auto* node = calls[calls.size() * 9 / 10];
  while (node) {
    path.push_back(node->name);
    const assay::Node* next = nullptr;
    for (const auto id : assay::operands(*node)) {
      const auto* operand = graph.find(id);
      if (operand && operand->kind == NodeKind::call_function && (!next || operand->id > next->id))
        next = operand;
    }
    node = next;
  }
  std::ranges::reverse(path);
  std::vector<std::string> chosen;
  for (std::size_t i = 0; i < k && path.size() > k; ++i)
    chosen.push_back(path[i * (path.size() - 1) / std::max<std::size_t>(k - 1, 1)]);
  return chosen;
}

auto rows_for(const assay::Graph& graph) -> std::vector<Row> {
  const auto calls = calls_of(graph);
  const auto at = [&](double share) {
    return calls[std::min(calls.size() - 1,
                          static_cast<std::size_t>(share * static_cast<double>(calls.size())))]
        ->name;
  };
  std::vector<Row> rows{{"k1_mid", {at(0.5)}},
                        {"k1_late", {at(0.95)}},
                        {"k2_adjacent", {at(0.5), calls[calls.size() / 2 + 1]->name}},
                        {"k3_spread", {at(0.25), at(0.5), at(0.75)}},
                        {"k10_spread", {}}};
  for (int j = 0; j < 10; ++j) rows.back().nodes.push_back(at(0.05 + 0.09 * j));
  for (const std::size_t k : {3UL, 10UL})
    rows.push_back({fmt::format("chain{}", k), on_a_path(graph, k), true});
  return rows;
}

void run_row(const Capture& capture, const Row& row, const assay::OpTable& table) {
  if (row.nodes.empty()) return;
  const auto oracle = assay::node_oracle(row.nodes, row.chain);
  assay::AnswerStore store;
  assay::MinifyOptions options;
  options.values = false;
  options.default_timeout = false;
  const auto start = std::chrono::steady_clock::now();
  // From the first answer to the last: without reading, and without the run that records values.
  auto first = start;
  auto last = start;
  int answers = 0;
  options.progress = [&](const std::string& phase, int left, const assay::SessionCounts&) {
    if (phase != "calls" || left != capture.graph.call_count()) return;  // the first round only
    last = std::chrono::steady_clock::now();
    if (answers++ == 0) first = last;
  };
  const auto result = assay::minify(capture, *oracle, store, table, options);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (!result) return;
  const auto calls = static_cast<double>(capture.graph.call_count());
  const auto k = static_cast<double>(row.nodes.size());
  const double bound = 3 * k * std::log2(calls) + 30;
  const std::chrono::duration<double, std::milli> search = last - first;
  fmt::print("{:<44}{:>6}{:>13}{:>8}{:>8.0f}{:>7}{:>9.2f}{:>10.3f}{}\n",
             std::filesystem::path(capture.source_path).parent_path().filename().string(),
             capture.graph.call_count(), row.name, result->queries, bound,
             result->minimal.graph.call_count(), seconds.count(),
             search.count() / std::max(answers - 1, 1), result->queries > bound ? "  OVER" : "");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> paths(argv + 1, argv + argc);
  if (paths.empty()) {
    const auto folder = assay::testing::unpacked_corpus("models");
    if (!folder) {
      fmt::print("{}\n", assay::testing::corpus_missing());
      return 0;
    }
    for (const char* name : {"hf_t5", "timm_densenet121", "timm_vit_tiny_patch16_224", "mini_attn"})
      for (const auto& path : assay::testing::files_ending(*folder / "models" / name, "_fwd.json"))
        paths.push_back(path);
  }
  const auto table = assay::build_op_table();
  fmt::print("{:<44}{:>6}{:>13}{:>8}{:>8}{:>7}{:>9}{:>10}\n", "graph", "calls", "needed", "asked",
             "bound", "left", "seconds", "ms/ask");
  for (const auto& path : paths) {
    const auto capture = assay::open_capture(path);
    if (!capture) {
      fmt::print("{}: {}\n", path.string(), capture.error().message);
      continue;
    }
    for (const auto& row : rows_for(capture->graph)) run_row(*capture, row, table);
  }
  return 0;
}
