#include "replay/runner/mutants.h"

#include <algorithm>
#include <ranges>
#include <set>

#include "compiler/interpret/interpret.h"
#include "replay/interp/debug.h"
#include "replay/runner/missing_guards.h"
#include "replay/runner/program_memory.h"

namespace assay {
namespace {

using Lines = std::vector<std::string>;

/// What is refuted, or, with `unknown`, all that is not proved.
void prove(const Capture& capture, const CompiledGraph& compiled, bool unknown, Lines& said) {
  for (const auto& one : prove_compiled(capture.graph, compiled).obligations)
    if (std::holds_alternative<Refuted>(one.answer) ||
        (unknown && std::holds_alternative<Unknown>(one.answer)))
      said.push_back(
          fmt::format("{}: {} {} {}", name(one.kind), one.statement, one.claim, one.message));
}

/// Wrong accesses and false asserts, then what differs. False where nothing is compared, since
/// random numbers were drawn.
auto run(const Capture& capture, const CompiledGraph& compiled, const RunInputs& inputs,
         const OpTable& table, bool is_blind, Lines& accesses, Lines& differences) -> bool {
  const auto result =
      compare_with_reference(capture.graph, compiled, Interpreter(table), inputs, table, is_blind);
  if (!result) {
    accesses.push_back(result.error().message);
    return true;
  }
  for (const auto& finding : result->run.findings)
    accesses.push_back(fmt::format("{} {} {} {}", name(finding.fault), finding.statement,
                                   finding.buffer, finding.message));
  for (const auto& one : result->compared)
    if (!one.message.empty()) differences.push_back(one.what + ": " + one.message);
  return result->run.randomness == Randomness::none;
}

auto debug(const Capture& capture, const OpTable& table) -> Result<Lines> {
  ASSAY_TRY(const auto report, debug_capture(capture, table, {}));
  Lines said;
  for (const auto* root : root_findings(report.findings))
    said.push_back(fmt::format("{}: {}", root->node_name, root->message));
  return said;
}

/// False where an early death changes no place.
auto plan(const Capture& capture, CompiledGraph& compiled, const RunInputs& inputs,
          const OpTable& table, Lines& said) -> Result<bool> {
  MemoryPlanOptions options;
  ASSAY_TRY(const auto right, plan_compiled(capture.graph, compiled, inputs, table, options));
  options.dies_early = true;
  ASSAY_TRY(const auto wrong, plan_compiled(capture.graph, compiled, inputs, table, options));
  said = wrong.broken;
  return wrong.plan.offsets != right.plan.offsets;
}

/// What a program does, without what its texts are called.
auto program_text(const CompiledGraph& compiled) -> std::string {
  std::string text;
  for (const auto& op : compiled.program.functions.back().ops) text += op.text + "\n";
  for (const auto& [key, source] : compiled.program.kernels) text += source.text;
  return text;
}

class Planter {
 public:
  Planter(const FaultRow& row, const Capture& capture, const RunInputs& inputs,
          const OpTable& table, const MutantOptions& options)
      : row_(row), capture_(capture), inputs_(inputs), table_(table), options_(options) {
    mutant_.fault = row.fault;
  }

  auto run() -> Result<Mutant> {
    if (row_.place == FaultPlace::claims) {
      ASSAY_TRY_VOID(claims());
    } else if (row_.place != FaultPlace::tool) {
      ASSAY_TRY_VOID(program());
    }
    mutant_.is_seen = mutant_.is_planted && is_blamed();
    return std::move(mutant_);
  }

 private:
  auto claims() -> Result<void> {
    auto wrong = capture_;
    const auto node = mistrace(row_.fault, wrong.graph, table_);
    if (!node) return {};
    mutant_.is_planted = true;
    mutant_.node = *node;
    ASSAY_TRY(mutant_.said, debug(wrong, table_));
    return {};
  }

  auto program() -> Result<void> {
    CompileOptions asked;
    asked.schedule = options_.schedule;
    if (row_.fault == Fault::early_death) asked.schedule.fuse = false;  // more temporaries
    ASSAY_TRY(const auto right, compile_graph(capture_, table_, asked));
    asked.fault = row_.fault;
    auto wrong = compile_graph(capture_, table_, asked);
    if (!wrong) return {};
    mutant_.is_planted =
        row_.place != FaultPlace::lowered || program_text(*wrong) != program_text(right);
    if (!mutant_.is_planted) return {};
    if (row_.fault == Fault::looping_rules) mutant_.is_planted = !wrong->not_ended.empty();
    const bool has_other = options_.elsewhere != nullptr;
    const bool is_elsewhere = row_.fault == Fault::specialised && has_other;
    ASSAY_TRY_VOID(ask(*wrong, right, is_elsewhere ? *options_.elsewhere : inputs_));
    // What shows at some sizes only: a tail, an offset that is 0 where it was recorded.
    const bool runs = row_.catcher == FaultCatcher::compare || row_.catcher == FaultCatcher::run;
    if (mutant_.is_planted && runs && has_other && !is_elsewhere && !is_blamed()) {
      mutant_.said.clear();
      Lines before;  // what is said of the right program there is no merit
      (void)assay::run(capture_, right, *options_.elsewhere, table_, false, before, before);
      if (before.empty()) return ask(*wrong, right, *options_.elsewhere);
    }
    return {};
  }

  auto ask(CompiledGraph& wrong, const CompiledGraph& right, const RunInputs& inputs)
      -> Result<void> {
    Lines accesses, differences;
    switch (row_.catcher) {
      case FaultCatcher::prove:
        prove(capture_, wrong, true, mutant_.said);
        prove(capture_, right, true, accesses);  // what no prover can know is no merit
        std::erase_if(mutant_.said, [&](const std::string& line) {
          return std::ranges::find(accesses, line) != accesses.end();
        });
        return {};
      case FaultCatcher::check:
      case FaultCatcher::compare:
      case FaultCatcher::run:
        if (!assay::run(capture_, wrong, inputs, table_, options_.is_blind, accesses,
                        differences) &&
            accesses.empty())
          mutant_.is_planted = false;
        mutant_.said = row_.catcher == FaultCatcher::compare ? differences : accesses;
        if (row_.catcher == FaultCatcher::run)
          mutant_.said.insert(mutant_.said.end(), differences.begin(), differences.end());
        return {};
      case FaultCatcher::plan: {
        const auto planned = plan(capture_, wrong, inputs, table_, mutant_.said);
        mutant_.is_planted = planned && *planned;  // what depends on data has no plan
        return {};
      }
      case FaultCatcher::steps:
        mutant_.said = wrong.not_ended;
        return {};
      case FaultCatcher::debug:
      case FaultCatcher::mutants:
        break;
    }
    return {};
  }

  /// Only that call is accused, or somebody says what is wrong.
  [[nodiscard]] auto is_blamed() const -> bool {
    if (!mutant_.node.empty())
      return !mutant_.said.empty() && std::ranges::all_of(mutant_.said, [&](const auto& line) {
        return line.starts_with(mutant_.node + ": ");
      });
    return std::ranges::any_of(mutant_.said, [&](const std::string& line) {
      return std::ranges::any_of(row_.blame | std::views::split('|'), [&](const auto& word) {
        return line.contains(std::string_view(word));
      });
    });
  }

  const FaultRow& row_;
  const Capture& capture_;
  const RunInputs& inputs_;
  const OpTable& table_;
  const MutantOptions& options_;
  Mutant mutant_;
};

/// The last two dimensions change places in memory; nothing where that is the same layout.
auto other_order(const Graph& graph, const TensorMeta& meta) -> std::optional<Dims> {
  const auto rank = meta.sizes.size();
  if (rank < 2 || meta.strides.size() != rank) return std::nullopt;
  const auto hints = graph.env.hints();
  for (const auto& size : {meta.sizes[rank - 1], meta.sizes[rank - 2]}) {
    const auto value = evaluate_int(size, hints);
    if (!value || *value < 2) return std::nullopt;
  }
  auto strides = meta.strides;
  if (!strides[rank - 1].is_int(1)) return std::nullopt;
  strides[rank - 1] = meta.sizes[rank - 2];
  strides[rank - 2] = 1;
  return strides;
}

/// The call gets the strides, and what is behind it what follows.
auto with_strides(const Graph& graph, const OpTable& table, std::size_t at, Dims strides) -> Graph {
  auto wrong = graph;
  auto meta = *wrong.nodes[at].claim.tensor();
  meta.strides = std::move(strides);
  wrong.nodes[at].claim.value = std::move(meta);
  std::set<NodeId> behind;
  for (auto i = at + 1; i < wrong.nodes.size(); ++i) behind.insert(wrong.nodes[i].id);
  renew_claims(wrong, table, [&](NodeId id) { return behind.contains(id); });
  return wrong;
}

/// Does a view refuse what it gets?
auto has_failing_view(const Graph& graph, const OpTable& table, std::size_t from) -> bool {
  const auto run = run_symbolic(graph, table, {.samples = 2, .seed = 1});
  for (auto i = from; i < graph.nodes.size(); ++i)
    if (run.nodes[i].verdict == ClaimVerdict::fails && graph.nodes[i].target == "aten.view.default")
      return true;
  return false;
}

}  // namespace

auto mistrace(Fault fault, Graph& graph, const OpTable& table) -> std::optional<std::string> {
  int tries = 0;
  for (std::size_t at = 0; at < graph.nodes.size() && tries < 16; ++at) {
    const auto& node = graph.nodes[at];
    const auto* row = table.find(node.target);
    const auto* meta = node.claim.tensor();
    // Calls whose results have memory of their own.
    if (node.kind != NodeKind::call_function || row == nullptr || meta == nullptr ||
        (row->promotion == Promotion::none && node.target != "aten.mm.default" &&
         node.target != "aten.bmm.default" && node.target != "aten.clone.default"))
      continue;
    if (row->schema.is_mutating() || !node.claim.stated.strides) continue;
    const auto id = node.id;
    const bool is_viewed = std::ranges::any_of(graph.nodes, [&](const Node& user) {
      return user.target == "aten.view.default" && std::ranges::count(operands(user), id) > 0;
    });
    if (fault == Fault::failing_view && !is_viewed) continue;
    auto strides = other_order(graph, *meta);
    if (!strides) continue;
    ++tries;
    auto name = node.name;
    auto wrong = with_strides(graph, table, at, *std::move(strides));
    if (fault == Fault::failing_view && !has_failing_view(wrong, table, at)) continue;
    graph = std::move(wrong);
    return name;
  }
  return std::nullopt;
}

auto inputs_elsewhere(const Capture& capture) -> std::optional<RunInputs> {
  const auto hints = capture.graph.env.hints();
  for (const auto& [symbol, hint] : hints) {
    const bool is_given = std::ranges::any_of(capture.graph.nodes, [&](const Node& node) {
      const auto* scalar = node.claim.scalar();
      return node.kind == NodeKind::placeholder && scalar != nullptr && *scalar == symbol;
    });
    if (!is_given || !hint.as_int()) continue;
    for (const std::int64_t step : {1, -1, 2, -2, 8, 16, 32}) {
      auto binding = hints;
      binding[symbol] = Expr(*hint.as_int() + step);
      if (!admits(capture.graph, binding)) continue;
      for (const auto data : {IntegerData::recorded, IntegerData::zero})
        if (auto inputs = inputs_at(capture, binding, data)) return *std::move(inputs);
    }
  }
  return std::nullopt;
}

auto plant_fault(Fault fault, const Capture& capture, const RunInputs& inputs, const OpTable& table,
                 const MutantOptions& options) -> Result<Mutant> {
  return Planter(row(fault), capture, inputs, table, options).run();
}

auto plant_faults(const Capture& capture, const RunInputs& inputs, const OpTable& table,
                  const MutantOptions& options) -> Result<std::vector<Mutant>> {
  std::vector<Mutant> mutants;
  for (const auto& row : fault_rows()) {
    if (row.place == FaultPlace::tool) continue;
    ASSAY_TRY(mutants.emplace_back(), plant_fault(row.fault, capture, inputs, table, options));
  }
  return mutants;
}

auto not_seen(const std::vector<Mutant>& mutants) -> std::vector<std::string> {
  std::vector<std::string> lines;
  for (const auto& mutant : mutants)
    if (mutant.is_planted && !mutant.is_seen)
      lines.push_back(fmt::format("{} is not seen by {}", row(mutant.fault).name,
                                  name(row(mutant.fault).catcher)));
  return lines;
}

auto complaints(const Capture& capture, const RunInputs& inputs, const OpTable& table)
    -> Result<std::vector<std::string>> {
  ASSAY_TRY(auto compiled, compile_graph(capture, table));
  Lines said = compiled.not_ended, accesses, differences;
  prove(capture, compiled, false, said);
  (void)run(capture, compiled, inputs, table, false, accesses, differences);
  said.insert(said.end(), accesses.begin(), accesses.end());
  said.insert(said.end(), differences.begin(), differences.end());
  // What depends on data has no plan.
  if (const auto memory = plan_compiled(capture.graph, compiled, inputs, table, {}))
    said.insert(said.end(), memory->broken.begin(), memory->broken.end());
  ASSAY_TRY(const auto roots, debug(capture, table));
  said.insert(said.end(), roots.begin(), roots.end());
  return said;
}

}  // namespace assay
