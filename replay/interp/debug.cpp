#include "replay/interp/debug.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/expr/text.h"
#include "replay/interp/compare.h"

namespace assay {
namespace {

auto leaf_count_text(const ObservedValue& value) -> std::string {
  if (value.is_tuple) return fmt::format("a tuple of {}", value.items.size());
  if (value.tensor) return to_string(value.tensor->meta);
  return value.scalar ? print_expr(*value.scalar) : "None";
}

/// What eager execution recorded, in the shape of a run's observation.
/// `groups`: take the recorded sharing of storage too (it was recorded for every tensor).
auto from_recording(const Observation& recorded, const ObservedValue& own, bool groups)
    -> ObservedValue {
  ObservedValue value = own;
  if (recorded.tensor && own.tensor) {
    value.tensor->meta = *recorded.tensor;
    value.tensor->meta.storage_bytes =
        std::max(recorded.tensor->storage_bytes, own.tensor->meta.storage_bytes);
    if (groups) value.tensor->storage = recorded.alias_group;
  } else if (recorded.scalar && own.scalar) {
    value.scalar = recorded.scalar;
  } else if (recorded.items.size() == own.items.size()) {
    for (std::size_t i = 0; i < own.items.size(); ++i)
      value.items[i] = from_recording(recorded.items[i], own.items[i], groups);
  }
  return value;
}

/// Does every tensor of the value have a recorded alias group?
auto has_groups(const Observation& recorded) -> bool {
  if (recorded.tensor) return recorded.alias_group >= 0;
  return std::ranges::all_of(recorded.items, has_groups);
}

class Debugger {
 public:
  Debugger(const Capture& capture, const DebugOptions& options)
      : capture_(capture),
        graph_(capture.graph),
        options_(options),
        dirty_(graph_.nodes.size(), false) {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) position_[graph_.nodes[i].id] = i;
  }

  auto run(const OpTable& table, const Binding& at) -> Result<DebugReport> {
    const bool recorded_sizes = at.empty();
    ASSAY_TRY(const auto inputs,
              recorded_sizes ? recorded_inputs(capture_) : inputs_at(capture_, at));
    auto run = run_graph(graph_, inputs, table,
                         {.statistics = options_.find_not_finite,
                          .recorded = recorded_sizes ? &capture_.observed : nullptr,
                          .progress = options_.progress});
    if (options_.symbolic) report_.symbolic = run_symbolic(graph_, table);
    return compare(std::move(run), at);
  }

  auto compare(GraphRun run, const Binding& at) -> DebugReport {
    const bool recorded_sizes = at.empty();
    report_.run = std::move(run);
    if (recorded_sizes) use_recording();
    report_.binding = bind_symbols(graph_, report_.run);
    for (const auto& [symbol, value] : at) report_.binding.values[symbol] = value;
    check_symbols();
    check_guards();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) check_node(i);
    check_aliases();
    if (recorded_sizes) check_mutation();
    finish();
    return std::move(report_);
  }

 private:
  /// At the recorded sizes the recording is the truth; where Assay's own run disagrees with it,
  /// that is worth a note but not a finding about the capture.
  void use_recording() {
    const bool groups = std::ranges::all_of(graph_.nodes, [&](const Node& node) {
      const auto found = capture_.observed.find(node.id);
      return found != capture_.observed.end() && has_groups(found->second);
    });
    for (const auto& [id, recorded] : capture_.observed) {
      const auto found = position_.find(id);
      if (found == position_.end()) continue;
      auto& node = report_.run.nodes[found->second];
      if (node.status != NodeStatus::ran) continue;
      auto merged = from_recording(recorded, node.value, groups);
      const auto own = leaf_count_text(node.value);
      const auto theirs = leaf_count_text(merged);
      if (own != theirs) {
        auto note = about(found->second, FindingKind::recording_differs);
        note.observed = theirs;
        note.rule = own;
        note.message = fmt::format("the recording says {}, Assay computes {}", theirs, own);
        report_.findings.push_back(std::move(note));
      }
      node.value = std::move(merged);
    }
  }

  [[nodiscard]] auto about(std::size_t i, FindingKind kind) const -> Finding {
    const auto& node = graph_.nodes[i];
    Finding finding;
    finding.kind = kind;
    finding.node = node.id;
    finding.node_name = node.name;
    finding.target = node.target;
    finding.origin = node.origin;
    for (const auto id : operands(node)) {
      const auto found = position_.find(id);
      if (found == position_.end() || !dirty_[found->second]) continue;
      const auto& name = graph_.nodes[found->second].name;
      if (std::ranges::find(finding.dirty_operands, name) == finding.dirty_operands.end())
        finding.dirty_operands.push_back(name);
    }
    if (!finding.dirty_operands.empty()) finding.blame = Blame::inherited;
    return finding;
  }

  /// Assay's own opinion on the node, for findings.
  [[nodiscard]] auto rule_text(std::size_t i) const -> std::string {
    if (report_.symbolic && !report_.symbolic->nodes[i].rule.empty())
      return report_.symbolic->nodes[i].rule;
    const auto& record = report_.run.nodes[i];
    return record.status == NodeStatus::ran ? leaf_count_text(record.value) : std::string();
  }

  void add(std::size_t i, std::vector<Finding> findings) {
    for (auto& finding : findings) {
      if (finding.rule.empty()) finding.rule = rule_text(i);
      if (info(finding.kind).severity == Severity::finding) dirty_now_ = true;
      report_.findings.push_back(std::move(finding));
    }
  }

  /// A finding at the first node whose claim mentions the symbol: that is what bound it.
  [[nodiscard]] auto about_symbol(const Expr& symbol) const -> Finding {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto* scalar = graph_.nodes[i].claim.scalar();
      const auto* meta = graph_.nodes[i].claim.tensor();
      const auto mentions = [&](const Expr& e) {
        const auto symbols = e.symbols();
        return std::ranges::find(symbols, symbol) != symbols.end();
      };
      if ((scalar && mentions(*scalar)) || (meta && std::ranges::any_of(meta->sizes, mentions)))
        return about(i, FindingKind::symbol_out_of_range);
    }
    return {};
  }

  void check_symbols() {
    for (const auto& symbol : graph_.env.symbols()) {
      const auto bound = report_.binding.values.find(symbol.expr);
      if (bound == report_.binding.values.end() || symbol.range.contains(bound->second)) continue;
      Finding finding = about_symbol(symbol.expr);
      finding.kind = FindingKind::symbol_out_of_range;
      finding.claimed = fmt::format("{} in [{}, {}]", symbol.name, print_expr(symbol.range.low),
                                    print_expr(symbol.range.high));
      finding.observed = print_expr(bound->second);
      finding.message = fmt::format("{} is {}, outside its recorded range [{}, {}]", symbol.name,
                                    finding.observed, print_expr(symbol.range.low),
                                    print_expr(symbol.range.high));
      report_.findings.push_back(std::move(finding));
    }
  }

  void check_guards() {
    for (const auto& guard : graph_.env.guards()) {
      const auto value = evaluate(guard.condition, report_.binding.values);
      if (!value || value->as_bool().value_or(true)) continue;
      if (is_rounding(guard.condition)) continue;
      Finding finding;
      finding.kind = FindingKind::guard_false;
      finding.claimed = guard.text;
      finding.observed = "False";
      finding.witness = to_string(report_.binding.values, guard.condition.symbols());
      finding.message = fmt::format("guard `{}` is false for {}", guard.text, finding.witness);
      if (!guard.where.empty())
        finding.origin =
            Origin{.file = guard.where, .line = 0, .function = {}, .code = {}, .module = {}};
      report_.findings.push_back(std::move(finding));
    }
  }

  /// Captures print floats with 15 digits, so an equality of floats is only as exact as that.
  [[nodiscard]] auto is_rounding(const Expr& condition) const -> bool {
    const auto sides = condition.args();
    if (sides.size() != 2) return false;
    const auto a = evaluate(sides[0], report_.binding.values);
    const auto b = evaluate(sides[1], report_.binding.values);
    if (!a || !b || (!a->as_real() && !b->as_real())) return false;
    const double x = a->as_number().value_or(0);
    const double y = b->as_number().value_or(0);
    return std::fabs(x - y) <= 1e-13 * std::max(std::fabs(x), std::fabs(y));
  }

  void check_node(std::size_t i) {
    const auto& node = graph_.nodes[i];
    const auto& record = report_.run.nodes[i];
    dirty_now_ = false;
    count(record);
    if (record.status == NodeStatus::failed) check_failed(i);
    if (record.status == NodeStatus::ran && !node.claim.empty()) {
      const auto blank = about(i, FindingKind::wrong_structure);
      add(i, compare_value(node.claim, record.value, report_.binding.values, blank));
    }
    if (options_.find_not_finite && !not_finite_reported_) check_finite(i);
    if (!dirty_now_) check_generality(i);
    dirty_[i] = dirty_now_;
  }

  void count(const NodeRun& record) {
    auto& counts = report_.counts;
    ++counts.nodes;
    if (record.status == NodeStatus::ran) ++counts.checked;
    if (record.status == NodeStatus::unchecked) ++counts.unchecked;
    if (record.status == NodeStatus::skipped) ++counts.skipped;
    if (record.status == NodeStatus::failed) ++counts.failed;
    if (record.random) ++counts.random;
  }

  /// A call that refuses its operands. When the claimed layout does not fit the operand's storage,
  /// that is the reason to give.
  void check_failed(std::size_t i) {
    const auto& node = graph_.nodes[i];
    auto finding = about(i, FindingKind::call_fails);
    finding.claimed = node.claim.tensor() ? to_string(*node.claim.tensor()) : std::string();
    finding.observed = "error";
    finding.message = report_.run.nodes[i].message;
    if (const auto shortage = storage_shortage(i)) {
      finding.kind = FindingKind::storage_too_small;
      finding.claimed_value = fmt::format("{} bytes", shortage->needed_bytes);
      finding.observed = fmt::format("{} bytes", shortage->storage_bytes);
      finding.message = shortage->message();
    }
    add(i, {std::move(finding)});
  }

  [[nodiscard]] auto storage_shortage(std::size_t i) const -> std::optional<Shortage> {
    const auto& node = graph_.nodes[i];
    const auto* claim = node.claim.tensor();
    if (!claim) return std::nullopt;
    if (node.kind == NodeKind::placeholder) {
      const auto index = static_cast<std::size_t>(
          std::count_if(graph_.nodes.begin(), graph_.nodes.begin() + static_cast<std::ptrdiff_t>(i),
                        [](const Node& n) { return n.kind == NodeKind::placeholder; }));
      const auto* recorded = index < capture_.inputs.size()
                                 ? std::get_if<RecordedTensor>(&capture_.inputs[index])
                                 : nullptr;
      if (!recorded) return std::nullopt;
      return shortage_of(recorded->meta,
                         capture_.storages[static_cast<std::size_t>(recorded->storage)].size_bytes);
    }
    if (!report_.run.nodes[i].is_view) return std::nullopt;
    for (const auto id : operands(node)) {
      const auto& operand = report_.run.nodes[position_.at(id)].value;
      if (!operand.tensor) continue;
      const auto layout = evaluate_claim(*claim, report_.binding.values);
      return layout ? shortage_of(*layout, operand.tensor->meta.storage_bytes) : std::nullopt;
    }
    return std::nullopt;
  }

  void check_finite(std::size_t i) {
    const auto& seen = report_.run.nodes[i].value.tensor;
    if (report_.run.nodes[i].status != NodeStatus::ran || !seen || seen->finite) return;
    auto finding = about(i, FindingKind::not_finite);
    finding.observed = to_string(seen->meta);
    finding.message = "this is the first result with a NaN or an infinity";
    not_finite_reported_ = true;
    add(i, {std::move(finding)});
  }

  /// The claim holds here; does it hold for all sizes?
  void check_generality(std::size_t i) {
    if (!report_.symbolic) return;
    const auto& verdict = report_.symbolic->nodes[i];
    if (verdict.verdict != ClaimVerdict::differs) return;
    auto note = about(i, FindingKind::claim_not_general);
    note.blame = Blame::root;
    const auto* claim = graph_.nodes[i].claim.tensor();
    const auto* scalar = graph_.nodes[i].claim.scalar();
    note.claimed = claim ? to_string(*claim) : scalar ? print_expr(*scalar) : "a tuple";
    note.rule = verdict.rule;
    note.witness = verdict.witness;
    note.message = fmt::format("true at these sizes, but not for {}", verdict.witness);
    report_.findings.push_back(std::move(note));
  }

  /// Claimed alias groups against who really shares storage.
  void check_aliases() {
    AliasCheck check;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto& node = graph_.nodes[i];
      const auto& record = report_.run.nodes[i];
      if (record.status != NodeStatus::ran) continue;
      check.add(i, node.claim, record.value);
    }
    for (const auto& conflict : check.conflicts()) {
      auto finding = about(conflict.node, FindingKind::wrong_alias);
      finding.blame = Blame::root;
      finding.claimed = conflict.claimed_with
                            ? "shares storage with " + graph_.nodes[*conflict.claimed_with].name
                            : "has a storage of its own";
      finding.observed = conflict.observed_with
                             ? "shares storage with " + graph_.nodes[*conflict.observed_with].name
                             : "has a storage of its own";
      finding.message = fmt::format("claimed: {}; real: {}", finding.claimed, finding.observed);
      report_.findings.push_back(std::move(finding));
    }
  }

  /// Inputs that eager execution mutated against those that the graph (with its epilogue) mutates.
  void check_mutation() {
    if (!capture_.mutated_inputs) return;
    std::set<std::string> claimed(report_.run.mutated.begin(), report_.run.mutated.end());
    for (const auto& role : capture_.output_roles)
      if (role.kind == OutputRole::Kind::input_mutation ||
          role.kind == OutputRole::Kind::buffer_mutation)
        claimed.insert(role.target);
    const std::set<std::string> real(capture_.mutated_inputs->begin(),
                                     capture_.mutated_inputs->end());
    const auto report = [&](const std::string& name, bool is_claimed) {
      Finding finding;
      if (const auto* node = graph_.find(name)) finding = about(position_.at(node->id), {});
      finding.kind = FindingKind::wrong_mutation;
      finding.node_name = name;
      finding.claimed = is_claimed ? "mutated" : "not mutated";
      finding.observed = is_claimed ? "not mutated" : "mutated";
      finding.message = fmt::format("input {} is {} by the graph but {} by eager execution", name,
                                    finding.claimed, finding.observed);
      report_.findings.push_back(std::move(finding));
    };
    for (const auto& name : claimed)
      if (!real.contains(name)) report(name, true);
    for (const auto& name : real)
      if (!claimed.contains(name)) report(name, false);
  }

  void finish() {
    std::ranges::stable_sort(report_.findings, {}, [&](const Finding& finding) {
      const auto found = position_.find(finding.node);
      return found == position_.end() ? -1 : static_cast<std::ptrdiff_t>(found->second);
    });
    std::map<std::string, int> unchecked;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (report_.run.nodes[i].status == NodeStatus::unchecked)
        ++unchecked[graph_.nodes[i].target.empty() ? graph_.nodes[i].name : graph_.nodes[i].target];
    for (const auto& [target, times] : unchecked)
      report_.unchecked_targets.push_back(fmt::format("{} ({})", target, times));
    for (const auto& finding : report_.findings) {
      if (info(finding.kind).severity == Severity::note)
        ++report_.counts.notes;
      else
        ++(finding.blame == Blame::root ? report_.counts.roots : report_.counts.inherited);
    }
    report_.warnings = capture_.warnings;
    for (const auto& conflict : report_.binding.conflicts)
      report_.warnings.push_back("claims disagree on a symbol, the most supported value is used: " +
                                 conflict);
  }

  const Capture& capture_;
  const Graph& graph_;
  const DebugOptions& options_;
  std::map<NodeId, std::size_t> position_;
  std::vector<bool> dirty_;
  bool dirty_now_ = false;
  bool not_finite_reported_ = false;
  DebugReport report_;
};

}  // namespace

auto debug_run(const Capture& capture, GraphRun run, const DebugOptions& options) -> DebugReport {
  return Debugger(capture, options).compare(std::move(run), options.at);
}

auto debug_capture(const Capture& capture, const OpTable& table, const DebugOptions& options)
    -> Result<DebugReport> {
  ASSAY_TRY(auto report, Debugger(capture, options).run(table, options.at));
  if (!options.sweep) return report;
  for (const auto& binding : sweep_bindings(capture.graph, report.binding.values)) {
    auto point_options = options;
    point_options.symbolic = false;
    auto point = Debugger(capture, point_options).run(table, binding);
    if (!point) {
      report.warnings.push_back(
          fmt::format("sweep point {} was not run: {}", to_string(binding), point.error().message));
      continue;
    }
    ++report.counts.sweep_points;
    for (auto& finding : point->findings) {
      const bool known = std::ranges::any_of(report.findings, [&](const Finding& other) {
        return other.node == finding.node && other.kind == finding.kind &&
               other.leaf == finding.leaf;
      });
      if (known || info(finding.kind).severity == Severity::note) continue;
      if (finding.witness.empty()) finding.witness = to_string(binding);
      ++(finding.blame == Blame::root ? report.counts.roots : report.counts.inherited);
      report.findings.push_back(std::move(finding));
    }
  }
  return report;
}

}  // namespace assay
