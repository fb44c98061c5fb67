#include "replay/interp/debug.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include "core/expr/text.h"
#include "replay/interp/blame.h"
#include "replay/interp/chosen_numbers.h"
#include "replay/interp/compare.h"
#include "replay/interp/doubt.h"
#include "replay/interp/not_finite.h"
#include "replay/interp/recording.h"

namespace assay {
namespace {

auto is_numeric_lie(FindingKind kind) -> bool {
  return kind == FindingKind::wrong_stride || kind == FindingKind::wrong_offset ||
         kind == FindingKind::insignificant_stride;
}

class Debugger {
 public:
  Debugger(const Capture& capture, const OpTable& table, const DebugOptions& options,
           const SymbolicRun* symbolic = nullptr, const OpTable* rules = nullptr)
      : capture_(capture),
        graph_(capture.graph),
        table_(table),
        options_(options),
        symbolic_(symbolic),
        rules_(rules),
        probe_(graph_, table),
        false_claims_(graph_) {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) position_[graph_.nodes[i].id] = i;
  }

  auto run() -> Result<DebugReport> {
    ASSAY_TRY(auto run, options_.at.empty() ? run_recorded() : run_elsewhere());
    if (options_.symbolic) {
      report_.symbolic = run_symbolic(graph_, table_);
      symbolic_ = &*report_.symbolic;
    }
    return compare(std::move(run));
  }

  auto compare(GraphRun run) -> DebugReport {
    const bool recorded_sizes = options_.at.empty();
    report_.run = std::move(run);
    forget_devices(report_.run);
    if (recorded_sizes) use_recording();
    bind();
    quiet_.emplace(graph_, table_, report_.run, report_.binding.values);
    if (options_.find_not_finite) not_finite_ = first_not_finite(graph_, report_.run);
    doubtful_ = doubtful_symbols(graph_, report_.run);
    check_symbols();
    check_guards();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) check_node(i);
    check_aliases();
    if (recorded_sizes) check_mutation();
    finish();
    return std::move(report_);
  }

 private:
  auto run_recorded() -> Result<GraphRun> {
    ASSAY_TRY(const auto inputs, with_chosen_numbers(recorded_inputs(capture_), graph_, table_));
    chosen_sizes_ = inputs.chosen_sizes;
    return run_graph(graph_, inputs, table_,
                     {.stand_ins = true,
                      .statistics = options_.find_not_finite,
                      .watched = capture_.mutated_inputs.value_or(std::vector<std::string>{}),
                      .recorded = &capture_.observed,
                      .random = options_.random,
                      .tap = options_.tap,
                      .progress = options_.progress});
  }

  /// Where recorded indices fit other sizes no more, zeros do, if more of the graph runs so.
  auto run_elsewhere() -> Result<GraphRun> {
    const auto run_with = [&](IntegerData integers) -> Result<GraphRun> {
      auto given = inputs_at(capture_, options_.at, integers);
      ASSAY_TRY(const auto inputs, with_chosen_numbers(std::move(given), graph_, table_));
      chosen_sizes_ = inputs.chosen_sizes;
      return run_graph(graph_, inputs, table_,
                       {.stand_ins = true,
                        .statistics = options_.find_not_finite,
                        .rules = options_.find_not_finite ? nullptr : rules_,
                        .progress = options_.progress});
    };
    const auto failures = [](const auto& run) {
      return std::ranges::count(run.nodes, NodeStatus::failed, &NodeRun::status);
    };
    ASSAY_TRY(auto run, run_with(IntegerData::recorded));
    if (failures(run) == 0) return run;
    ASSAY_TRY(auto other, run_with(IntegerData::zero));
    return failures(other) < failures(run) ? std::move(other) : std::move(run);
  }

  void bind() {
    report_.binding = bind_symbols(graph_, report_.run);
    for (const auto& [symbol, value] : options_.at) {
      // What only data tell is as this run's data tell it.
      const auto* declared = graph_.env.find(symbol);
      const bool from_data = declared && (declared->kind == SymbolKind::unbacked ||
                                          declared->kind == SymbolKind::unbacked_float);
      if (!from_data || !report_.binding.values.contains(symbol))
        report_.binding.values[symbol] = value;
    }
  }

  /// At the recorded sizes the recording is the truth; where Assay's own run disagrees with it,
  /// that is worth a note but not a finding about the capture.
  void use_recording() {
    for (auto& difference : merge_recording(capture_, report_.run)) {
      auto note = about(difference.at, FindingKind::recording_differs);
      note.observed = std::move(difference.recorded);
      note.rule = std::move(difference.own);
      note.message =
          fmt::format("the recording says {}, Assay computes {}", note.observed, note.rule);
      report_.findings.push_back(std::move(note));
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
    finding.dirty_operands = false_claims_.behind(i);
    if (!finding.dirty_operands.empty()) finding.blame = Blame::inherited;
    return finding;
  }

  /// Assay's own opinion on the node, for findings.
  [[nodiscard]] auto rule_text(std::size_t i) const -> std::string {
    const auto* row = table_.find(graph_.nodes[i].target);
    const std::string mark = row && row->inferred ? "inferred from recorded calls: " : "";
    if (symbolic_ && !symbolic_->nodes[i].rule.empty()) return mark + symbolic_->nodes[i].rule;
    const auto& record = report_.run.nodes[i];
    return record.status == NodeStatus::ran ? mark + describe(record.value) : "";
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
      if (!states_range(capture_, symbol)) continue;
      if (const auto at = doubtful_.find(symbol.expr); at != doubtful_.end()) {
        leave_open(at->second, fmt::format("{} is {} there, outside its range", symbol.name,
                                           print_expr(bound->second)));
        continue;
      }
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
      if (is_rounding(guard.condition, report_.binding.values)) continue;
      if (const auto at = doubt_of(guard.condition)) {
        leave_open(*at, fmt::format("guard `{}` is false there", guard.text));
        continue;
      }
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

  [[nodiscard]] auto doubt_of(const Expr& condition) const -> std::optional<std::size_t> {
    for (const auto& symbol : condition.symbols())
      if (const auto at = doubtful_.find(symbol); at != doubtful_.end()) return at->second;
    return std::nullopt;
  }

  /// Something is off at this node, but it rests on what was made up.
  void leave_open(std::size_t i, std::string message) {
    const auto& node = graph_.nodes[i];
    undecided_.insert(i);
    report_.undecided.push_back({node.id, node.name, node.target, std::move(message),
                                 made_up_sources(graph_, report_.run, i)});
  }

  void check_node(std::size_t i) {
    const auto& node = graph_.nodes[i];
    const auto& record = report_.run.nodes[i];
    dirty_now_ = false;
    if (record.status == NodeStatus::failed) check_failed(i);
    const bool is_compared =
        record.status == NodeStatus::ran || record.status == NodeStatus::recorded;
    if (is_compared && !node.claim.empty()) {
      const auto blank = about(i, FindingKind::wrong_structure);
      add(i, judge(i, compare_value(node.claim, record.value, report_.binding.values, blank)));
    }
    for (const auto liar : quiet_->read_offsets(i))
      accuse(liar, FindingKind::insignificant_offset, FindingKind::wrong_offset, i,
             "reads the offset");
    if (not_finite_ && not_finite_->at == i) add(i, {not_finite_finding(i)});
    if (!dirty_now_) check_generality(i);
    if (dirty_now_) false_claims_.add(i);
    false_claims_.pass_on(i);
  }

  /// Sorts differences: findings of this node, notes, and what cannot be decided.
  auto judge(std::size_t i, std::vector<Finding> differences) -> std::vector<Finding> {
    std::vector<Finding> kept;
    for (auto& difference : differences) {
      if (difference.kind == FindingKind::insignificant_stride) quiet_->add_stride(i);
      if (difference.kind == FindingKind::wrong_offset) soften_offset(i, difference);
      if (is_doubtful(i, difference.kind)) {
        leave_open(i, difference.message);
        continue;
      }
      if (!chosen_sizes_.empty() && difference.kind != FindingKind::wrong_dtype &&
          holds_at_other_sizes(capture_, symbolic_, i)) {
        leave_open(i, fmt::format("{}; at sizes that were chosen", difference.message));
        continue;
      }
      const auto chosen = chosen_sizes_.empty() ? "" : free_number(capture_, symbolic_, i);
      if (!chosen.empty() && difference.kind != FindingKind::wrong_dtype) {
        leave_open(i, fmt::format("{}; {} was chosen", difference.message, chosen));
        continue;
      }
      if (difference.kind == FindingKind::wrong_stride && difference.blame == Blame::root)
        follow_quiet_lies(i, difference);
      kept.push_back(std::move(difference));
    }
    return kept;
  }

  /// Does the difference rest on something made up? Where the rule contradicts the claim on symbols
  /// as well, it does not.
  [[nodiscard]] auto is_doubtful(std::size_t i, FindingKind kind) const -> bool {
    if (info(kind).severity == Severity::note) return false;
    const auto& made_up = report_.run.nodes[i].made_up;
    if (made_up.strides && (is_numeric_lie(kind) || kind == FindingKind::wrong_scalar)) return true;
    if (!made_up.sizes || kind == FindingKind::wrong_dtype || kind == FindingKind::wrong_device)
      return false;
    return !symbolic_ || symbolic_->nodes[i].verdict != ClaimVerdict::differs;
  }

  /// Where a storage of its own begins is nobody's business until somebody reads it.
  void soften_offset(std::size_t i, Finding& difference) {
    const auto& record = report_.run.nodes[i];
    const auto* claim = graph_.nodes[i].claim.tensor();
    if (!claim || !record.value.tensor || record.status != NodeStatus::ran) return;
    const auto claimed = evaluate_int(claim->offset, report_.binding.values);
    if (!claimed) return;
    const auto error = *claimed - record.value.tensor->meta.offset;
    const bool own_storage =
        graph_.nodes[i].kind == NodeKind::call_function && !record.is_view && !shares_storage(i);
    if (!own_storage && !quiet_->follows_offset(i, error)) return;
    quiet_->add_offset(i, error);
    difference.kind = FindingKind::insignificant_offset;
  }

  /// Is the result in a storage of one of the operands?
  [[nodiscard]] auto shares_storage(std::size_t i) const -> bool {
    const auto storage = report_.run.nodes[i].value.tensor->storage;
    return std::ranges::any_of(operands(graph_.nodes[i]), [&](NodeId id) {
      const auto found = position_.find(id);
      if (found == position_.end()) return false;
      const auto& seen = report_.run.nodes[found->second].value.tensor;
      return seen && seen->storage == storage;
    });
  }

  /// A node that believed the insignificant strides of an operand follows it; the operand lied.
  void follow_quiet_lies(std::size_t i, Finding& difference) {
    for (const auto liar : quiet_->believed_strides(i)) {
      accuse(liar, FindingKind::insignificant_stride, FindingKind::misleading_stride, i,
             "chooses its layout by it");
      difference.dirty_operands.push_back(graph_.nodes[liar].name);
      difference.blame = Blame::inherited;
    }
  }

  /// Turns a note about a node into a finding, since `by` takes it at its word.
  void accuse(std::size_t liar, FindingKind note, FindingKind kind, std::size_t by,
              std::string_view how) {
    for (auto& finding : report_.findings) {
      if (finding.kind != note || finding.node != graph_.nodes[liar].id) continue;
      finding.kind = kind;
      finding.blame = finding.dirty_operands.empty() ? Blame::root : Blame::inherited;
      finding.message += fmt::format("; {} {}", graph_.nodes[by].name, how);
      false_claims_.add(liar);
    }
  }

  /// A call that refuses its operands. When the claimed layout does not fit the operand's storage,
  /// that is the reason to give. What only made-up data or storages break is left open.
  void check_failed(std::size_t i) {
    const auto& node = graph_.nodes[i];
    const auto& record = report_.run.nodes[i];
    auto finding = about(i, FindingKind::call_fails);
    finding.claimed = node.claim.tensor() ? to_string(*node.claim.tensor()) : std::string();
    finding.observed = "error";
    finding.message = record.message;
    const auto shortage = storage_shortage(i);
    if (shortage && !record.refused_on.storage) {
      finding.kind = FindingKind::storage_too_small;
      finding.claimed_value = fmt::format("{} bytes", shortage->needed_bytes);
      finding.observed = fmt::format("{} bytes", shortage->storage_bytes);
      finding.message = shortage->message();
    } else if ((record.refused_on.any() && !rule_refuses(i)) ||
               (!chosen_sizes_.empty() && rests_on_free_sizes(capture_, i))) {
      return leave_open(i, record.message);
    }
    add(i, {std::move(finding)});
  }

  /// Does the rule refuse these layouts whatever their contents?
  [[nodiscard]] auto rule_refuses(std::size_t i) const -> bool {
    const auto& made_up = report_.run.nodes[i].refused_on;
    if (made_up.sizes || made_up.strides) return false;
    const auto probed = probe_.run(graph_.nodes[i], [&](NodeId id) {
      const auto found = position_.find(id);
      return found == position_.end() ? Datum{} : fake_of(report_.run.nodes[found->second].value);
    });
    return !probed && probed.error().code == ErrorCode::bad_input;
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

  [[nodiscard]] auto not_finite_finding(std::size_t i) const -> Finding {
    auto finding = about(i, FindingKind::not_finite);
    finding.observed = describe(report_.run.nodes[i].value);
    finding.message =
        fmt::format("this is the first result with {}",
                    not_finite_->is_nan ? "a NaN" : "an infinity that nobody asked for");
    return finding;
  }

  /// The claim holds here; does it hold for all sizes?
  void check_generality(std::size_t i) {
    if (!report_.symbolic) return;  // a sweep repeats what the first run said
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
      if (record.status != NodeStatus::ran && record.status != NodeStatus::recorded) continue;
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
    const auto unknown = inputs_of_unknown_calls(graph_, report_.run);
    for (const auto& name : real) {
      if (claimed.contains(name)) continue;
      const auto* node = graph_.find(name);
      if (!unknown.contains(name))
        report(name, false);
      else if (node)
        leave_open(position_.at(node->id),
                   "eager execution changes it; a call that was not run may be what does");
    }
  }

  void finish() {
    std::ranges::stable_sort(report_.findings, {}, [&](const Finding& finding) {
      const auto found = position_.find(finding.node);
      return found == position_.end() ? -1 : static_cast<std::ptrdiff_t>(found->second);
    });
    count_nodes();
    for (const auto& finding : report_.findings) {
      if (info(finding.kind).severity == Severity::note)
        ++report_.counts.notes;
      else
        ++(finding.blame == Blame::root ? report_.counts.roots : report_.counts.inherited);
    }
    report_.warnings = capture_.warnings;
    if (!chosen_sizes_.empty()) report_.warnings.push_back(chosen_sizes_);
    for (const auto& conflict : report_.binding.conflicts)
      report_.warnings.push_back("claims disagree on a symbol, the most supported value is used: " +
                                 conflict);
  }

  void count_nodes() {
    std::map<std::string, int> unchecked;
    auto& counts = report_.counts;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto& node = graph_.nodes[i];
      const auto& record = report_.run.nodes[i];
      ++counts.nodes;
      if (record.randomness != Randomness::none) ++counts.random;
      if (undecided_.contains(i)) {
        ++counts.undecided;
        continue;
      }
      switch (record.status) {
        case NodeStatus::ran:
          ++counts.checked;
          break;
        case NodeStatus::recorded:
          ++counts.recorded;
          break;
        case NodeStatus::failed:
          ++counts.failed;
          break;
        case NodeStatus::unchecked:
          ++counts.unchecked;
          ++unchecked[fmt::format("{}: {}", node.target.empty() ? node.name : node.target,
                                  record.message)];
          break;
        case NodeStatus::skipped:
          ++counts.skipped;
          break;
      }
    }
    for (const auto& [target, times] : unchecked)
      report_.unchecked_targets.push_back(times == 1 ? target
                                                     : fmt::format("{} ({} nodes)", target, times));
  }

  const Capture& capture_;
  const Graph& graph_;
  const OpTable& table_;
  const DebugOptions& options_;
  const SymbolicRun* symbolic_;  ///< of these claims, perhaps made by another run; may be null
  const OpTable* rules_;         ///< for runs in which contents do not matter; may be null
  RuleProbe probe_;
  std::optional<QuietLies> quiet_;
  std::map<NodeId, std::size_t> position_;
  FalseClaims false_claims_;
  bool dirty_now_ = false;
  std::optional<NotFinite> not_finite_;
  std::set<std::size_t> undecided_;
  std::unordered_map<Expr, std::size_t> doubtful_;
  std::string chosen_sizes_;
  DebugReport report_;
};

/// Adds what a sweep point found at nodes where nothing of that kind was found before.
void add_point(const Graph& graph, DebugReport point, const Binding& binding, DebugReport& report) {
  for (auto& finding : point.findings) {
    const bool known = std::ranges::any_of(report.findings, [&](const Finding& other) {
      return other.node == finding.node && other.kind == finding.kind && other.leaf == finding.leaf;
    });
    if (known || info(finding.kind).severity == Severity::note) continue;
    if (finding.witness.empty())
      finding.witness = to_string(binding, symbols_around(graph, finding.node));
    ++(finding.blame == Blame::root ? report.counts.roots : report.counts.inherited);
    report.findings.push_back(std::move(finding));
  }
  for (auto& open : point.undecided) {
    const bool known = std::ranges::any_of(
        report.undecided, [&](const Undecided& other) { return other.node == open.node; });
    if (known) continue;
    open.message += " (at " + to_string(binding, symbols_around(graph, open.node)) + ")";
    report.undecided.push_back(std::move(open));
  }
}

}  // namespace

auto debug_run(const Capture& capture, const OpTable& table, GraphRun run,
               const DebugOptions& options) -> DebugReport {
  return Debugger(capture, table, options).compare(std::move(run));
}

auto debug_capture(const Capture& capture, const OpTable& table, const DebugOptions& options)
    -> Result<DebugReport> {
  ASSAY_TRY(auto report, Debugger(capture, table, options).run());
  if (!options.sweep) return report;
  const auto* symbolic = report.symbolic ? &*report.symbolic : nullptr;
  const auto rules = rules_of(table);
  for (const auto& binding : sweep_bindings(capture.graph, report.binding.values)) {
    auto point_options = options;
    point_options.symbolic = false;
    point_options.at = binding;
    auto point = Debugger(capture, table, point_options, symbolic, &rules).run();
    if (!point) {
      report.warnings.push_back(
          fmt::format("sweep point {} was not run: {}", to_string(binding), point.error().message));
      continue;
    }
    ++report.counts.sweep_points;
    add_point(capture.graph, *std::move(point), binding, report);
  }
  return report;
}

}  // namespace assay
