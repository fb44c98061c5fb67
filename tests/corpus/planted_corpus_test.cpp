// Failures of many kinds planted into real captures: the cause is what is left, and no more than a
// little beside it. ASSAY_PLANTED=60 plants each kind into that many graphs (default 8).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <utility>

#include "core/expr/text.h"
#include "core/graph/text.h"
#include "minifier/edits/patches.h"
#include "minifier/search/minify.h"
#include "replay/interp/binding.h"
#include "replay/interp/run.h"
#include "replay/runner/missing_guards.h"
#include "replay/runner/storage_bounds.h"
#include "tests/support/corpus.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

auto table() -> const OpTable& {
  static const OpTable kTable = build_op_table();
  return kTable;
}

/// Judges in this process: what is planted neither hangs nor crashes.
class PlantedOracle final : public Oracle {
 public:
  using Judge = std::function<Observed(const Candidate&)>;
  explicit PlantedOracle(Judge judge) : judge_(std::move(judge)) {}
  [[nodiscard]] auto identity() const -> std::string override { return "planted"; }
  [[nodiscard]] auto judge(std::span<const Candidate> candidates, const OracleLimits&)
      -> std::vector<Observed> override {
    std::vector<Observed> answers;
    for (const auto& candidate : candidates) answers.push_back(judge_(candidate));
    return answers;
  }

 private:
  Judge judge_;
};

auto failure(const std::string& error_class) -> Observed {
  Observed seen;
  seen.outcome = Outcome::fails;
  seen.signature = {.stage = "planted", .error_class = error_class};
  return seen;
}

auto is_call(const Graph& graph, const std::string& name) -> bool {
  const auto* node = graph.find(name);
  return node && node->kind == NodeKind::call_function;
}
auto has_call(const Candidate& candidate, const std::string& name) -> bool {
  const auto* program = candidate.program();
  if (!program) return is_call(candidate.capture().graph, name);
  const auto* node = program->graph().find(name);
  return node && node->kind == NodeKind::call_function &&
         candidate.selection().keep[static_cast<std::size_t>(program->position(node->id))];
}

class Planted : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::unpacked_corpus("models")) GTEST_SKIP() << testing::corpus_missing();
    paths_ = testing::graph_captures();
    ASSERT_FALSE(paths_.empty());
    std::shuffle(paths_.begin(), paths_.end(), random_);
  }

  /// Plants into one graph after the other until there are enough; `plant` says whether it could.
  /// Larger graphs are left to runs that ask for many.
  void for_graphs(std::size_t most_nodes, const std::function<bool(Capture)>& plant,
                  bool with_inputs = true) {
    constexpr std::size_t kAll = 10'000;
    if (std::getenv("ASSAY_PLANTED")) most_nodes = kAll;
    int planted = 0;
    for (const auto& path : paths_) {
      if (planted >= testing::wanted_graphs(8)) break;
      if (with_inputs && testing::is_backward(path)) continue;
      auto capture = read_capture_file(path);
      ASSERT_TRUE(capture);
      if (capture->graph.nodes.size() > most_nodes) continue;
      path_ = path.parent_path().filename().string() + "/" + path.filename().string();
      planted += plant(*std::move(capture)) ? 1 : 0;
    }
    std::cout << planted << " graphs, " << calls_asked_ << " oracle calls, " << extra_calls_
              << " calls beside the planted ones in all results\n";
    EXPECT_GT(planted, 0);
  }

  auto run(Capture capture, Oracle& oracle, bool values, int confirmations = 1) -> MinifyResult {
    AnswerStore store;
    MinifyOptions options;
    options.values = values;
    options.limits.seconds = 120;
    options.default_timeout = false;
    options.confirmations = confirmations;
    auto result = minify(std::move(capture), oracle, store, table(), options);
    EXPECT_TRUE(result) << path_ << (result ? "" : result.error().message);
    EXPECT_TRUE(result->reproduced) << path_;
    EXPECT_TRUE(verify(result->minimal.graph).empty()) << path_;
    calls_asked_ += result->queries;
    return *std::move(result);
  }

  void expect_calls(const MinifyResult& result, const std::vector<std::string>& needed,
                    int most_beside) {
    for (const auto& name : needed)
      EXPECT_TRUE(is_call(result.minimal.graph, name)) << path_ << ": " << name << " is gone from\n"
                                                       << print_graph(result.minimal.graph);
    const int beside = result.minimal.graph.call_count() - static_cast<int>(needed.size());
    extra_calls_ += std::max(beside, 0);
    EXPECT_LE(beside, most_beside) << path_ << "\n" << print_graph(result.minimal.graph);
  }

  auto any_call(const Graph& graph, const std::function<bool(const Node&)>& fits = {})
      -> const Node* {
    std::vector<const Node*> calls;
    for (const auto& node : graph.nodes)
      if (node.kind == NodeKind::call_function && (!fits || fits(node))) calls.push_back(&node);
    return calls.empty() ? nullptr : calls[random_() % calls.size()];
  }

  std::mt19937 random_{20251122};
  std::vector<fs::path> paths_;
  std::string path_;
  int calls_asked_ = 0;
  int extra_calls_ = 0;
};

/// The first layout that leaves its storage, by whose storage it is.
auto short_storages(const Capture& capture) -> Result<std::vector<Finding>> {
  GuardSet guards(capture.graph.env, {.prover = {.use_solver = false}, .symbols = false});
  for (const auto& check : check_bounds(capture, table(), guards).checks)
    if (std::holds_alternative<Refuted>(check.answer)) {
      Finding finding;
      finding.kind = FindingKind::out_of_bounds;
      finding.node_name = capture.graph.find(check.owner)->name;
      return std::vector<Finding>{std::move(finding)};
    }
  return std::vector<Finding>{};
}

/// An input that a call reads gets a storage of half its bytes.
TEST_F(Planted, AStorageThatIsTooShort) {
  for_graphs(1500, [&](Capture capture) {
    std::vector<std::pair<std::size_t, std::string>> inputs;
    std::size_t position = 0;
    for (const auto& node : capture.graph.nodes) {
      if (node.kind != NodeKind::placeholder) continue;
      const auto* tensor = std::get_if<RecordedTensor>(&capture.inputs[position]);
      if (tensor && tensor->meta.storage_bytes >= 64 && numel(tensor->meta) > 8)
        inputs.emplace_back(position, node.name);
      ++position;
    }
    if (inputs.empty()) return false;
    const auto [at, name] = inputs[random_() % inputs.size()];
    const auto& meta = std::get<RecordedTensor>(capture.inputs[at]).meta;
    const auto bytes =
        required_elems(meta.sizes, meta.strides, meta.offset).value_or(0) * size_bytes(meta.dtype);
    capture.inputs[at] = SymbolicInput{to_claim(meta), Expr(bytes / 2), -1};
    const auto found = short_storages(capture);
    if (!found || found->empty()) return false;  // not decided for all sizes
    const auto oracle = finding_oracle("prove", short_storages, "");
    const auto result = run(std::move(capture), *oracle, false);
    const auto* input = result.minimal.graph.find(name);
    EXPECT_TRUE(input && input->kind == NodeKind::placeholder) << path_ << " " << name;
    expect_calls(result, {}, 2);
    return true;
  });
}

/// Nodes that rely on something that the guards do not say.
auto missing_guards(const Capture& capture) -> Result<std::vector<Finding>> {
  GuardSet guards(capture.graph.env, {.prover = {}, .symbols = false});
  std::vector<Finding> findings;
  for (const auto& missing : find_missing_guards(capture.graph, table(), guards).missing) {
    const auto* node = capture.graph.find(NodeId{missing.obligation.node});
    Finding finding;
    finding.kind = FindingKind::missing_guard;
    finding.node_name = node ? node->name : "";
    finding.target = node ? node->target : "";
    findings.push_back(std::move(finding));
  }
  return findings;
}

/// A guard that the graph needs is taken away, and all that repeat it.
TEST_F(Planted, AMissingGuard) {
  int taken = 0;
  for_graphs(1500, [&](const Capture& capture) {
    const auto& env = capture.graph.env;
    const auto minimal = GuardSet(env, {.prover = {}, .symbols = false}).report().minimal;
    const int before = taken;
    for (std::size_t k = 0; k < minimal.size() && taken < testing::wanted_graphs(8); ++k) {
      auto others = minimal;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(k));
      Capture without = capture;
      without.graph.env = with_guards(env, others);
      const auto found = missing_guards(without);
      if (!found || found->empty()) continue;  // the graph does not need it
      ++taken;
      const auto name = found->front().node_name;
      const auto oracle = finding_oracle("prove", missing_guards, "");
      const auto result = run(std::move(without), *oracle, false);
      EXPECT_EQ(result.wanted.node, name) << path_;
      expect_calls(result, {name}, 2);
    }
    return taken > before;
  });
  std::cout << taken << " guards taken away\n";
}

/// Sums of what a graph returns; the calls of `wrong` give a first element that is too large.
auto sums_of_outputs(const Capture& capture, std::string_view wrong) -> std::vector<double> {
  const auto inputs = recorded_inputs(capture);
  if (!inputs) return {};
  RunOptions options{.statistics = true, .progress = {}};
  options.tap = [&](std::size_t at, const Datum& datum) {
    if (capture.graph.nodes[at].target != wrong || !datum.real()) return;
    auto tensor = *datum.real();
    auto values = to_vector<double>(tensor);
    if (values.empty()) return;
    values[0] += 1000;
    from_vector<double>(tensor, values);
  };
  const auto run = run_graph(capture.graph, *inputs, table(), options);
  std::vector<double> sums;
  const auto add = [&](const auto& self, const ObservedValue& value) -> void {
    if (value.tensor) sums.push_back(value.tensor->sum);
    for (const auto& item : value.items) self(self, item);
  };
  add(add, run.nodes.back().value);
  return sums;
}

/// A kernel that is wrong in one element, for an operator that the graph calls once.
TEST_F(Planted, AWrongValueAtOneNode) {
  for_graphs(400, [&](Capture capture) {
    std::map<std::string, int> times;
    for (const auto& node : capture.graph.nodes) ++times[node.target];
    const auto* node = any_call(capture.graph, [&](const Node& call) {
      const auto* row = table().find(call.target);
      const auto* meta = call.claim.tensor();
      return times[call.target] == 1 && row && row->kernel && !row->random && meta &&
             is_floating(meta->dtype);
    });
    if (!node) return false;
    const auto target = node->target;
    const auto name = node->name;
    const PlantedOracle::Judge judge = [&](const Candidate& candidate) {
      const auto cut = candidate.capture();
      const auto a = sums_of_outputs(cut, "");
      const auto b = sums_of_outputs(cut, target);
      for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        if (std::fabs(a[i] - b[i]) > 1) {
          auto seen = failure("wrong values");
          seen.first_output = static_cast<int>(i);
          return seen;
        }
      return Observed{};
    };
    if (judge(Candidate(capture)).outcome != Outcome::fails) return false;  // it never shows
    PlantedOracle oracle(judge);
    const auto result = run(std::move(capture), oracle, false);
    expect_calls(result, {name}, 1);
    EXPECT_LE(result.queries, 8) << path_;  // every tensor was looked at once
    return true;
  });
}

/// The size of the named call's claim in one dimension, in numbers.
auto size_at(const Capture& capture, const std::string& name, std::size_t dim)
    -> std::optional<std::int64_t> {
  const auto* node = capture.graph.find(name);
  const auto* meta = node ? node->claim.tensor() : nullptr;
  if (!meta || dim >= meta->sizes.size()) return std::nullopt;
  const auto size = evaluate_int(meta->sizes[dim], sizes_of(capture, table()));
  return size ? std::optional(*size) : std::nullopt;
}

/// A call that fails only where one of its sizes, a symbol, is no multiple of m.
TEST_F(Planted, OnlyAtCertainSizes) {
  int explained = 0;
  for_graphs(700, [&](Capture capture) {
    const auto env = capture.graph.env;
    const auto sizes = sizes_of(capture, table());
    const auto* node = any_call(capture.graph, [&](const Node& call) {
      const auto* meta = call.claim.tensor();
      return meta &&
             std::ranges::any_of(meta->sizes, [&](const Expr& e) { return sizes.contains(e); });
    });
    if (!node) return false;
    const auto& dims = node->claim.tensor()->sizes;
    const auto found = std::ranges::find_if(dims, [&](const Expr& e) { return sizes.contains(e); });
    const auto symbol = *found;
    const auto dim = static_cast<std::size_t>(found - dims.begin());
    const auto now = sizes.at(symbol).as_int();
    const auto name = node->name;
    for (const std::int64_t m : {8, 3, 5, 7}) {
      if (!now || *now % m == 0) continue;
      const PlantedOracle::Judge judge = [&](const Candidate& candidate) {
        if (!has_call(candidate, name)) return Observed{};
        const auto size = size_at(candidate.capture(), name, dim);
        return size && *size % m != 0 ? failure("odd size") : Observed{};
      };
      PlantedOracle oracle(judge);
      const auto result = run(std::move(capture), oracle, true);
      expect_calls(result, {name}, 1);
      auto smallest = sizes;  // that the recorded guards admit while all other sizes stay
      std::int64_t least = 0;
      for (bool good = false; !good && least < *now; ++least) {
        smallest[symbol] = Expr(least);
        good = least % m != 0 && admits(env, smallest);
        if (good) break;
      }
      const auto size = size_at(result.minimal, name, dim);
      EXPECT_TRUE(size && *size % m != 0 && *size <= least)
          << path_ << " " << name << ": " << size.value_or(-1) << ", not " << least;
      explained += result.fails_iff.starts_with("Ne(Mod(") ? 1 : 0;
      std::cout << path_ << " " << name << " m=" << m << " size " << *now << " -> "
                << size.value_or(-1) << ", fails iff " << result.fails_iff << "\n";
      return true;
    }
    return false;
  });
  std::cout << explained << " results name the condition\n";
  EXPECT_GT(explained, 0);
}

/// A call that fails only while its operand shares its storage with another value.
TEST_F(Planted, OnlyWithAnAlias) {
  for_graphs(700, [&](Capture capture) {
    const auto inputs = recorded_inputs(capture);
    if (!inputs) return false;
    const auto reads_view = [&](const Node& call) {
      const auto ids = operands(call);
      const auto* operand = ids.empty() ? nullptr : capture.graph.find(ids[0]);
      return operand && operand->kind == NodeKind::call_function && operand->claim.tensor() &&
             (operand->target == "aten.view.default" || operand->target == "aten.permute.default");
    };
    const auto* node = any_call(capture.graph, reads_view);
    if (!node) return false;
    const auto name = node->name;
    const PlantedOracle::Judge judge = [&](const Candidate& candidate) {
      if (!has_call(candidate, name)) return Observed{};
      const auto cut = candidate.capture();
      const auto given = recorded_inputs(cut);
      const auto* call = cut.graph.find(name);
      const auto ids = operands(*call);
      if (!given || ids.empty()) return Observed{};
      const auto run = run_graph(cut.graph, *given, table(), {});
      std::map<NodeId, int> storages;
      for (std::size_t i = 0; i < cut.graph.nodes.size(); ++i)
        if (const auto& tensor = run.nodes[i].value.tensor)
          storages[cut.graph.nodes[i].id] = tensor->storage;
      for (const auto& [id, storage] : storages)
        if (id != ids[0] && id != call->id && storages.contains(ids[0]) &&
            storage == storages[ids[0]])
          return failure("alias");
      return Observed{};
    };
    if (judge(Candidate(capture)).outcome != Outcome::fails) return false;
    PlantedOracle oracle(judge);
    const auto result = run(std::move(capture), oracle, false);
    expect_calls(result, {name}, 2);
    EXPECT_EQ(judge(Candidate(result.minimal)).outcome, Outcome::fails) << path_;
    return true;
  });
}

TEST_F(Planted, AFailureThatShowsInThreeOfTenRuns) {
  for_graphs(
      7000,
      [&](Capture capture) {
        const auto* node = any_call(capture.graph);
        if (!node) return false;
        const auto name = node->name;
        PlantedOracle oracle([&](const Candidate& candidate) {
          return has_call(candidate, name) && random_() % 10 < 3 ? failure("flaky") : Observed{};
        });
        const auto result = run(std::move(capture), oracle, false, 40);
        expect_calls(result, {name}, 5);
        EXPECT_GT(result.failure_rate, 0.05) << path_;
        EXPECT_LT(result.failure_rate, 0.6) << path_;
        return true;
      },
      false);
}

TEST_F(Planted, OneCandidateInFiveIsInvalid) {
  for_graphs(
      7000,
      [&](const Capture& capture) {
        const auto* node = any_call(capture.graph);
        if (!node) return false;
        const auto name = node->name;
        bool is_first = true;  // the original, which is valid
        PlantedOracle oracle([&](const Candidate& candidate) {
          Observed seen;
          if (!std::exchange(is_first, false) && candidate.key() % 5 == 0)
            seen.outcome = Outcome::invalid;
          else if (has_call(candidate, name))
            seen = failure("there");
          return seen;
        });
        const auto result = run(capture, oracle, false);
        expect_calls(result, {name}, 12);
        return true;
      },
      false);
}

}  // namespace
}  // namespace assay
