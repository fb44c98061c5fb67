// Real captures: Assay's rules reproduce what PyTorch claimed, its run reproduces what PyTorch's
// eager mode produced, clean captures are clean, and planted lies are found where they were
// planted.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <random>
#include <unordered_map>

#include <gtest/gtest.h>

#include "core/expr/text.h"
#include "replay/formats/capture.h"
#include "replay/interp/compare.h"
#include "replay/interp/debug.h"
#include "tests/support/corpus.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

struct LoadedGraph {
  std::string name;
  Capture capture;
};

class DebugCorpus : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::unpacked_corpus("models")) GTEST_SKIP() << testing::corpus_missing();
    paths_ = testing::graph_captures();
    ASSERT_FALSE(paths_.empty());
  }
  static auto load(const fs::path& path) -> LoadedGraph {
    auto capture = read_capture_file(path);
    EXPECT_TRUE(capture) << path << ": " << (capture ? "" : capture.error().message);
    return {path.parent_path().filename().string() + "/" + path.stem().string(),
            capture ? *std::move(capture) : Capture{}};
  }
  static auto table() -> const OpTable& {
    static const OpTable kTable = build_op_table();
    return kTable;
  }
  std::vector<fs::path> paths_;
};

TEST_F(DebugCorpus, RulesReproduceTheClaimsSymbolically) {
  int claims = 0;
  std::map<std::string, int> missed;
  int misses = 0;
  for (const auto& path : paths_) {
    const auto graph = load(path);
    const auto run = run_symbolic(graph.capture.graph, table());
    for (std::size_t i = 0; i < run.nodes.size(); ++i) {
      const auto& node = graph.capture.graph.nodes[i];
      const auto verdict = run.nodes[i].verdict;
      if (node.kind != NodeKind::call_function || verdict == ClaimVerdict::no_claim) continue;
      ++claims;
      if (verdict == ClaimVerdict::equal || verdict == ClaimVerdict::equal_sampled) continue;
      ++misses;
      if (missed[node.target]++ == 0)
        std::cout << graph.name << " " << node.name << " " << node.target << ": "
                  << run.nodes[i].rule << " " << run.nodes[i].witness << "\n";
    }
  }
  std::cout << claims - misses << " of " << claims << " claims reproduced\n";
  for (const auto& [target, times] : missed)
    std::cout << "  not: " << target << " " << times << "\n";
  EXPECT_LE(misses, claims / 1000);
}

/// Strides that address nothing (dimensions of size 1, empty tensors) replaced by 0.
auto significant(RealMeta meta) -> RealMeta {
  const bool empty = numel(meta.sizes) == 0;
  for (std::size_t i = 0; i < meta.strides.size(); ++i)
    if (empty || meta.sizes[i] == 1) meta.strides[i] = 0;
  return meta;
}

/// Layouts must agree; a recording may say less than the run (storage bytes). Counts leaves whose
/// insignificant strides differ.
void expect_same_layout(const Observation& recorded, const ObservedValue& own,
                        const std::string& where, int& insignificant) {
  if (recorded.tensor && own.tensor) {
    auto layout = own.tensor->meta;
    layout.storage_bytes = recorded.tensor->storage_bytes;
    layout.device = recorded.tensor->device;
    EXPECT_EQ(to_string(significant(layout)), to_string(significant(*recorded.tensor))) << where;
    EXPECT_EQ(layout.offset, recorded.tensor->offset) << where;
    insignificant += layout.strides != recorded.tensor->strides ? 1 : 0;
  }
  for (std::size_t i = 0; i < recorded.items.size() && i < own.items.size(); ++i)
    expect_same_layout(recorded.items[i], own.items[i], where, insignificant);
}

TEST_F(DebugCorpus, RunReproducesRecordedLayoutsAndSums) {
  int nodes = 0;
  int floats = 0;
  int close = 0;
  int random = 0;
  int insignificant = 0;
  for (const auto& path : paths_) {
    const auto graph = load(path);
    const auto inputs = recorded_inputs(graph.capture);
    ASSERT_TRUE(inputs) << graph.name << ": " << inputs.error().message;
    const bool has_values = graph.capture.kind != "bwd";
    RunOptions options;
    options.statistics = has_values;
    const auto run = run_graph(graph.capture.graph, *inputs, table(), options);
    for (std::size_t i = 0; i < run.nodes.size(); ++i) {
      const auto& node = graph.capture.graph.nodes[i];
      const auto where = graph.name + " " + node.name + " " + node.target;
      EXPECT_EQ(run.nodes[i].status, NodeStatus::ran) << where << ": " << run.nodes[i].message;
      const auto recorded = graph.capture.observed.find(node.id);
      if (recorded == graph.capture.observed.end() || run.nodes[i].status != NodeStatus::ran)
        continue;
      ++nodes;
      expect_same_layout(recorded->second, run.nodes[i].value, where, insignificant);
      const auto& seen = run.nodes[i].value.tensor;
      if (!has_values || !seen || !is_floating(seen->meta.dtype) || !recorded->second.sum) continue;
      if (run.nodes[i].randomness != Randomness::none) {
        ++random;
        continue;
      }
      ++floats;
      const double scale = recorded->second.abs_sum.value_or(0);
      const auto agrees = [&](double own, double theirs) {
        if (!std::isfinite(own) || !std::isfinite(theirs))
          return own == theirs || (std::isnan(own) && std::isnan(theirs));
        return std::fabs(own - theirs) <= 1e-3 * scale;
      };
      if (agrees(seen->sum, *recorded->second.sum) && agrees(seen->abs_sum, scale))
        ++close;
      else if (floats - close <= 60)
        std::cout << "  sum differs: " << where << "\n";
    }
  }
  std::cout << nodes << " layouts compared, sums of " << close << " of " << floats
            << " float nodes agree, " << random << " depend on random operators\n";
  std::cout << insignificant << " layouts differ in insignificant strides only\n";
  EXPECT_GE(close, floats - floats / 100);
  EXPECT_LE(insignificant, nodes / 1000);
}

TEST_F(DebugCorpus, CleanCapturesHaveNoRootFinding) {
  for (const auto& path : paths_) {
    const auto graph = load(path);
    const auto report = debug_capture(graph.capture, table(), {});
    ASSERT_TRUE(report) << graph.name << ": " << report.error().message;
    for (const auto* finding : root_findings(report->findings))
      ADD_FAILURE() << graph.name << " " << finding->node_name << ": " << finding->message;
  }
}

/// A false claim to plant: what kind, and where it went.
enum class Lie { dtype, size, stride, offset, alias, scalar };
constexpr Lie kLies[] = {Lie::dtype, Lie::size, Lie::stride, Lie::offset, Lie::alias, Lie::scalar};

/// Claims every tensor's true alias group, so that one can be made false.
void claim_true_aliases(Graph& graph, const GraphRun& run) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[i].claim.tensor() && run.nodes[i].value.tensor)
      graph.nodes[i].claim.alias_group = run.nodes[i].value.tensor->storage;
}

/// Changes the claim of one node; false if this lie cannot be told there.
auto tell(Lie lie, Node& node, const ObservedValue& seen, std::mt19937_64& random,
          const std::vector<int>& shared) -> bool {
  auto* meta = std::get_if<TensorMeta>(&node.claim.value);
  auto* scalar = std::get_if<Expr>(&node.claim.value);
  if (lie == Lie::scalar) {
    // The scalar claim of an input is what binds its symbol; only results can contradict it.
    if (!scalar || scalar->type() != ExprType::integer || node.kind == NodeKind::placeholder)
      return false;
    *scalar = *scalar + Expr(std::uniform_int_distribution<int>(1, 9)(random));
    return true;
  }
  if (!meta || !seen.tensor || node.kind == NodeKind::output) return false;
  const auto delta = Expr(std::uniform_int_distribution<int>(1, 9)(random));
  const auto& real = seen.tensor->meta;
  const auto dim = real.sizes.empty() ? 0 : random() % real.sizes.size();
  switch (lie) {
    case Lie::dtype:
      meta->dtype = meta->dtype == DType::float32 ? DType::float64 : DType::float32;
      return true;
    case Lie::size:
      if (real.sizes.empty()) return false;
      meta->sizes[dim] = meta->sizes[dim] + delta;
      return true;
    case Lie::stride:
      if (real.sizes.empty() || real.sizes[dim] < 2 || numel(real.sizes) == 0) return false;
      meta->strides[dim] = meta->strides[dim] + delta;
      return true;
    case Lie::offset:
      meta->offset = meta->offset + delta;
      return true;
    case Lie::alias:
      // With two tensors alone against each other nobody could say which of them lies.
      if (shared.empty()) return false;
      node.claim.alias_group = shared[random() % shared.size()];
      return node.claim.alias_group != seen.tensor->storage;
    case Lie::scalar:
      return false;
  }
  return false;
}

TEST_F(DebugCorpus, PlantedLiesAreTheOnlyRootWhereTheyWerePlanted) {
  const char* chosen = std::getenv("ASSAY_SEED");
  const auto seed = chosen ? std::strtoull(chosen, nullptr, 10) : 7;
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 random(seed);
  constexpr int kWanted = 2000;
  const int per_graph = kWanted / static_cast<int>(paths_.size()) + 1;
  int planted = 0;
  std::map<int, int> by_kind;
  for (const auto& path : paths_) {
    auto graph = load(path);
    // One run serves all lies of a graph: claims do not influence execution.
    DebugOptions concrete;
    concrete.symbolic = false;
    const auto clean = debug_capture(graph.capture, table(), concrete);
    ASSERT_TRUE(clean) << graph.name;
    claim_true_aliases(graph.capture.graph, clean->run);
    std::map<int, int> members;
    for (std::size_t i = 0; i < clean->run.nodes.size(); ++i)
      if (graph.capture.graph.nodes[i].claim.alias_group >= 0)
        ++members[graph.capture.graph.nodes[i].claim.alias_group];
    std::vector<int> shared;
    for (const auto& [group, count] : members)
      if (count > 1) shared.push_back(group);
    const auto original = graph.capture.graph.nodes;
    for (int k = 0, tries = 0; k < per_graph && tries < 400; ++tries) {
      auto& nodes = graph.capture.graph.nodes;
      const auto at = random() % nodes.size();
      const auto lie = kLies[random() % std::size(kLies)];
      if (clean->run.nodes[at].status != NodeStatus::ran) continue;
      if (!tell(lie, nodes[at], clean->run.nodes[at].value, random, shared)) {
        nodes[at] = original[at];
        continue;
      }
      const auto report = debug_run(graph.capture, table(), clean->run, concrete);
      const auto roots = root_findings(report.findings);
      // Where a storage of its own begins is a note until somebody reads it.
      const bool quiet = lie == Lie::offset && nodes[at].kind == NodeKind::call_function &&
                         !clean->run.nodes[at].is_view;
      const bool noted = std::ranges::any_of(report.findings, [&](const Finding& finding) {
        return finding.kind == FindingKind::insignificant_offset && finding.node == nodes[at].id;
      });
      EXPECT_TRUE(quiet ? noted || !roots.empty() : !roots.empty())
          << graph.name << " " << nodes[at].name << " lie " << static_cast<int>(lie)
          << " was not found";
      for (const auto* finding : roots)
        EXPECT_EQ(finding->node_name, nodes[at].name)
            << graph.name << " lie " << static_cast<int>(lie) << ": " << finding->message;
      nodes[at] = original[at];
      ++k;
      ++planted;
      ++by_kind[static_cast<int>(lie)];
    }
  }
  std::cout << planted << " lies planted\n";
  EXPECT_GE(planted, kWanted);
  EXPECT_EQ(by_kind.size(), std::size(kLies));
}

}  // namespace
}  // namespace assay
