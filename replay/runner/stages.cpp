#include "replay/runner/stages.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ranges>

#include "core/expr/text.h"
#include "replay/interp/debug.h"
#include "replay/runner/log_inputs.h"
#include "replay/runner/stage_constants.h"
#include "replay/runner/stage_inputs.h"

namespace assay {
namespace {

constexpr std::size_t kRecorded = static_cast<std::size_t>(-1);
constexpr std::string_view kEager = "eager";
constexpr std::string_view kCompiled = "compiled";

/// A value that counts as right, and the stage that gave it.
struct Agreed {
  StageValue value;
  std::size_t stage = kRecorded;
};
struct Difference {
  std::size_t stage = 0;
  std::string value;
  std::size_t before = kRecorded;
  std::string_view recorded;  ///< kEager or kCompiled
  StageDistance distance;
};

class StageDebugger {
 public:
  StageDebugger(const std::vector<Stage>& stages, StageInputs inputs, const ProgramAnswers* answers,
                const OpTable& table)
      : stages_(stages),
        inputs_(std::move(inputs)),
        answers_(answers),
        table_(table),
        runs_(stages.size()),
        given_(stages.size()) {}

  auto run() -> CompilationStages {
    result_.made_up = inputs_.made_up;
    add_tangents(stages_, answers_, inputs_);
    add_constants(stages_, inputs_, table_);
    std::vector<std::string> sizes;
    for (const auto& [symbol, value] : inputs_.sizes)
      sizes.push_back(fmt::format("{} = {}", symbol, print_expr(value)));
    result_.witness = fmt::format("{}", fmt::join(sizes, ", "));
    for (std::size_t i = 0; i < stages_.size(); ++i) step(i);
    compare_answers();
    for (const auto& difference : differences_) explain(difference);
    for (std::size_t i = 0; i < stages_.size(); ++i) explain_refusal(i);
    return std::move(result_);
  }

 private:
  /// Values for the stage: what the function got, and what the forward stages saved.
  void prepare(std::size_t i) {
    given_[i] = inputs_.values;
    if (stages_[i].role != StageRole::backward) return;
    for (const auto& [name, agreed] : agreed_)
      if (name.starts_with("saved ") || name.starts_with("output ") || name.starts_with("base "))
        given_[i][name] = agreed.value;
    if (!stages_[i].program) return;
    // The strides of what is saved are the programs' own business; what is in it is not.
    for (std::size_t k = 0; k < i; ++k)
      if (stages_[k].program && stages_[k].role == StageRole::forward &&
          result_.rows[k].state == StageState::agrees)
        for (const auto& [name, value] : runs_[k].values)
          if (name.starts_with("saved ")) given_[i][name] = laid_out_as(value, given_[i][name]);
  }

  /// The contents of another value where they fit.
  static auto laid_out_as(const StageValue& value, const StageValue& contents) -> StageValue {
    const auto *to = value.value.real(), *from = contents.value.real();
    if (to == nullptr || from == nullptr || to->dtype() != from->dtype() ||
        to->sizes() != from->sizes() || !are_comparable(value, contents))
      return value;
    auto copy = Tensor::allocate(to->dtype(), to->sizes(), to->strides(), to->meta.device);
    if (!copy) return value;
    copy_elems(*from, *copy);
    return {Datum{*std::move(copy)}, value.randomness, value.producer, value.is_open};
  }

  void step(std::size_t i) {
    const auto& stage = stages_[i];
    auto& row = result_.rows.emplace_back();
    row.name = stage.name;
    row.role = stage.role;
    row.log_line = stage.log_line;
    row.is_program = stage.program.has_value() || stage.name.starts_with("inductor_output_code");
    if (stage.graph) row.size = stage.graph->graph.call_count();
    prepare(i);
    runs_[i] = run_stage(stage, given_[i], inputs_.attributes, table_);
    auto& run = runs_[i];
    if (stage.program) row.size = run.launches;
    for (auto& [name, value] : run.values)  // a program's are as open as its graph's
      if (const auto known = agreed_.find(name); stage.program && known != agreed_.end())
        value.is_open = value.is_open || known->second.value.is_open;
    if (!run.not_run.empty() || !run.findings.empty()) {
      row.state = StageState::not_run;
      row.reason = run.not_run;
      if (!run.findings.empty()) found(i);
      if (row.state == StageState::not_run) return;
    }
    compare(i);
  }

  /// A stage with the same names runs on these inputs, this one refuses them.
  void explain_refusal(std::size_t i) {
    const auto& run = runs_[i];
    if (run.refused_at.empty()) return;
    const auto partner = partner_of(i, {});
    if (!partner || !stages_[*partner].has_same_names(stages_[i])) return;
    result_.rows[i].state = StageState::differs;
    result_.rows[i].reason.clear();
    auto problem = problem_of(i, {});
    problem.before = stages_[*partner].name;
    problem.blame =
        blame_node(stages_[i], stages_[*partner], context_of(i), context_of(*partner), {}, {});
    if (const auto* node = stages_[i].graph->graph.find(std::string_view(run.refused_at));
        node != nullptr && !problem.blame.found()) {
      problem.blame.name = node->name;
      problem.blame.target = node->target;
      problem.blame.origin = node->origin;
      problem.blame.line = node->line;
    }
    problem.distance.message = fmt::format("{}: {}", run.refused_at, run.refusal);
    finish(std::move(problem));
  }

  /// What the program's own checks found.
  void found(std::size_t i) {
    if (last_graph(i) == kRecorded) {
      result_.rows[i].reason = "no graph of its role runs on these inputs";
      return;
    }
    result_.rows[i].state = StageState::differs;
    result_.rows[i].reason.clear();
    // What is not written is found where it is used at last.
    const auto& first = *std::ranges::min_element(runs_[i].findings, {}, &RunFinding::line);
    auto problem = problem_of(i, {});
    problem.blame.name = first.buffer;
    problem.blame.target = first.kernel;
    problem.blame.call = first.statement;
    problem.blame.line = first.line;
    const auto& program = *stages_[i].program;
    if (first.fault == RunFault::uninitialised) blame_writer(program, first, problem);
    if (const auto source = program.kernels.find(problem.blame.target);
        source != program.kernels.end())
      problem.blame.nodes = source->second.nodes;
    for (const auto& name : problem.blame.nodes | std::views::reverse)
      if (const auto* node = stages_[last_graph(i)].graph->graph.find(std::string_view(name));
          node != nullptr && !problem.blame.origin)
        problem.blame.origin = node->origin;
    problem.distance.message =
        fmt::format("{}: {} (element {})", assay::name(first.fault), first.message, first.element);
    if (!first.kernel.empty())
      problem.distance.message +=
          fmt::format(", line {} of {}", first.kernel_line,
                      first.kernel == problem.blame.target ? "the kernel" : first.kernel);
    finish(std::move(problem));
  }

  /// What is read and was not written: by who should have.
  static void blame_writer(const HostProgram& program, const RunFinding& finding,
                           StageProblem& problem) {
    const auto* op = last_writer(program, finding.buffer, finding.line);
    if (op == nullptr) return;
    problem.blame.target = std::get<HostLaunch>(op->what).kernel;
    problem.blame.call = op->text;
    problem.blame.line = op->line;
  }

  auto rounding_of(std::size_t i, const std::string& value, RoundingRuns runs,
                   RoundedBy by = RoundedBy::assay) -> const Rounding* {
    if (i == kRecorded || !stages_[i].graph) return nullptr;
    const auto [known, is_new] = roundings_.try_emplace({i, by, runs});
    auto& all = known->second;
    if (is_new) all = measure_rounding(stages_[i], given_[i], inputs_.attributes, table_, by, runs);
    const auto found = all.find(value);
    return found == all.end() ? nullptr : &found->second;
  }

  void compare(std::size_t i) {
    auto& row = result_.rows[i];
    std::vector<Difference> here;
    if (answers_ != nullptr && answers_->eager) here = against(i, *answers_->eager, kEager);
    for (const auto& [name, value] : runs_[i].values) {
      const auto known = agreed_.find(name);
      if (known == agreed_.end() || std::ranges::find(here, name, &Difference::value) != here.end())
        continue;
      auto difference = compare_one(i, name, value, known->second);
      if (difference.message.empty()) continue;
      here.push_back({i, name, known->second.stage, kEager, std::move(difference)});
    }
    if (here.empty()) {
      if (row.state != StageState::differs) accept(i);
      return;
    }
    if (row.state == StageState::differs) return;
    row.state = StageState::differs;
    // Where only strides differ, what it saves is right; others take it.
    const auto in_strides = [](const Difference& one) { return one.distance.is_of_strides; };
    if (std::ranges::all_of(here, in_strides))
      for (const auto& [name, value] : runs_[i].values)
        if (name.starts_with("saved ")) agreed_.try_emplace(name, value, i);
    std::erase_if(here, [&](const Difference& now) {
      for (const auto& earlier : differences_)
        if (is_first_difference_of(now, earlier)) {
          row.reason = stages_[earlier.stage].name;
          return true;
        }
      return false;
    });
    if (here.empty()) {
      row.state = StageState::follows;
      return;
    }
    row.reason.clear();
    differences_.push_back(worst_of(here));
  }

  /// Every stage draws the same seeds, but graphs before and after Inductor's passes, which bring
  /// the seeds in, other numbers.
  static auto are_comparable(const StageValue& a, const StageValue& b) -> bool {
    return a.randomness == b.randomness && a.randomness != Randomness::numbers && !a.is_open &&
           !b.is_open;
  }

  auto compare_one(std::size_t i, const std::string& name, const StageValue& value,
                   const Agreed& expected) -> StageDistance {
    auto& row = result_.rows[i];
    ++row.compared;
    if (!are_comparable(value, expected.value)) {
      ++row.layouts_only;
      const auto *a = expected.value.value.real(), *b = value.value.real();
      if (a == nullptr || b == nullptr || (a->dtype() == b->dtype() && a->sizes() == b->sizes()))
        return {};
    }
    const bool has_strides = name.starts_with("output ") && !restores_strides(i) &&
                             !chooses_layout(i) && !chooses_layout(expected.stage);
    return compare_values(expected.value.value, value.value, has_strides, [&](RoundingRuns runs) {
      if (expected.stage == kRecorded) return rounding_on_device(i, name, runs);
      return rounding_of(expected.stage, name, runs);
    });
  }

  /// Of what a device gave. Its gradients rest on what it saved, not on what stages here save:
  /// roundings of both passes count.
  auto rounding_on_device(std::size_t i, const std::string& name, RoundingRuns runs)
      -> const Rounding* {
    if (stages_[i].role == StageRole::backward)
      for (std::size_t k = 0; k < i; ++k)
        if (stages_[k].role == StageRole::joint && runs_[k].not_run.empty())
          if (const auto* both = rounding_of(k, name, runs, RoundedBy::device)) return both;
    return rounding_of(last_graph(i), name, runs, RoundedBy::device);
  }

  auto is_first_difference_of(const Difference& now, const Difference& earlier) -> bool {
    const auto& values = runs_[earlier.stage].values;
    const auto known = values.find(now.value);
    if (known == values.end()) return false;
    const auto mine = runs_[now.stage].values.at(now.value);
    return compare_values(
               known->second.value, mine.value, false,
               [&](RoundingRuns runs) { return rounding_of(earlier.stage, now.value, runs); })
        .message.empty();
  }

  /// Outputs before what is saved or left in an input.
  static auto worst_of(const std::vector<Difference>& here) -> Difference {
    const auto rank = [](const Difference& d) {
      return d.value.starts_with("output ") ? 0 : d.value.starts_with("gradient ") ? 1 : 2;
    };
    return *std::ranges::min_element(here, {}, rank);
  }

  /// The last graph is lowered to a program whose outputs have the strides of the graph before the
  /// passes, whatever those made of them (`user_visible_output_strides` of torch/_inductor).
  [[nodiscard]] auto restores_strides(std::size_t i) const -> bool {
    return stages_[i].name.starts_with("inductor_post_grad_graph");
  }

  /// Which kernel computes attention is CUDA's choice, and with it the layout of the result.
  [[nodiscard]] auto chooses_layout(std::size_t i) const -> bool {
    if (i == kRecorded || !stages_[i].graph) return false;
    return std::ranges::any_of(stages_[i].graph->graph.nodes, [](const Node& node) {
      const auto* claim = node.claim.tensor();
      return claim != nullptr && claim->device.type == "cuda" &&
             (node.target.ends_with("scaled_dot_product_attention") ||
              node.target.ends_with("scaled_dot_product_attention.default"));
    });
  }

  /// Also where nothing is known yet.
  static auto has_same_strides(const Datum& known, const Datum& now) -> bool {
    const auto *a = known.real(), *b = now.real();
    return a == nullptr || b == nullptr || a->strides() == b->strides();
  }

  void accept(std::size_t i) {
    for (const auto& [name, value] : runs_[i].values) {
      auto& agreed = agreed_[name];
      if (restores_strides(i) && !has_same_strides(agreed.value.value, value.value)) continue;
      if (agreed.stage != kRecorded && !stages_[i].graph) continue;  // graphs can be measured
      agreed = {value, i};
    }
    last_ = i;
  }

  /// Does every recorded output have a tangent of its own? What the base of several views gets is
  /// the sum of theirs, which no stage computes; older logs do not say whose a tangent is.
  [[nodiscard]] auto knows_tangents(const Answers& answers) const -> bool {
    const auto outputs = std::ranges::count_if(answers.outputs, [](const AnsweredTensor& output) {
      return is_floating(output.tensor.dtype());
    });
    return std::ranges::all_of(stages_, [&](const Stage& stage) {
      const auto tangents = std::ranges::count_if(
          stage.inputs, [](const std::string& name) { return name.starts_with("tangent "); });
      return tangents == 0 || (tangents == outputs &&
                               std::ranges::none_of(stage.inputs, [](const std::string& name) {
                                 return name.starts_with("tangent of base ");
                               }));
    });
  }

  /// Recorded answers by the names of stages.
  [[nodiscard]] auto named(const Answers& answers) const
      -> std::map<std::string, const AnsweredTensor*> {
    std::map<std::string, const AnsweredTensor*> all;
    for (std::size_t k = 0; k < answers.outputs.size(); ++k)
      all[fmt::format("output {}", k)] = &answers.outputs[k];
    std::map<std::size_t, std::size_t> inputs;  // by position among the recorded ones
    for (std::size_t k = 0; k < inputs_.recorded.size(); ++k)
      if (inputs_.recorded[k]) inputs[*inputs_.recorded[k]] = k;
    for (std::size_t p = 0; p < answers.inputs_after.size(); ++p)
      if (const auto k = inputs.find(p); k != inputs.end())
        all[fmt::format("input {} after", k->second)] = &answers.inputs_after[p];
    std::size_t next = 0;
    for (std::size_t p = 0; p < answers_->inputs.size() && knows_tangents(answers); ++p) {
      if (!answers_->inputs[p].requires_grad || next >= answers.gradients.size()) continue;
      if (const auto k = inputs.find(p); k != inputs.end())
        all[fmt::format("gradient of input {}", k->second)] = &answers.gradients[next];
      ++next;
    }
    return all;
  }

  /// Differences of a stage from recorded answers. With those of eager execution only what no stage
  /// gave yet is compared; where it differs, what was recorded counts as right from then on.
  auto against(std::size_t i, const Answers& answers, std::string_view which)
      -> std::vector<Difference> {
    std::vector<Difference> here;
    for (const auto& [name, answer] : named(answers)) {
      const auto mine = runs_[i].values.find(name);
      if ((which == kEager && agreed_.contains(name)) || mine == runs_[i].values.end() ||
          mine->second.randomness != Randomness::none || mine->second.is_open ||
          !inputs_.made_up.empty())
        continue;
      const auto* tensor = mine->second.value.real();
      if (tensor == nullptr) continue;
      ++result_.answers;
      const auto roughly = compare_tensors(*tensor, *answer);
      if (roughly.message.empty()) continue;
      StageDistance distance;
      if (answer->has_data)
        distance =
            compare_values(Datum{answer->tensor}, mine->second.value, false,
                           [&](RoundingRuns runs) { return rounding_on_device(i, name, runs); });
      else
        distance.message = roughly.message;
      if (distance.message.empty()) continue;
      if (answer->has_data && which == kEager)
        agreed_[name] = {{Datum{answer->tensor}, Randomness::none, {}}, kRecorded};
      here.push_back({i, name, kRecorded, which, std::move(distance)});
    }
    return here;
  }

  /// The stage itself if it is a graph, else the last graph of its role.
  [[nodiscard]] auto last_graph(std::size_t i) const -> std::size_t {
    for (auto k = i + 1; k-- > 0;)
      if (stages_[k].graph && stages_[k].role == stages_[i].role && runs_[k].not_run.empty())
        return k;
    return kRecorded;
  }

  /// The last stage of each role against what the compiled function really gave. Behind one that
  /// did not run, it is to blame.
  void compare_answers() {
    if (answers_ == nullptr || !answers_->compiled) return;
    std::map<StageRole, std::size_t> last, last_run;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      if (stages_[i].role == StageRole::joint || stages_[i].role == StageRole::function) continue;
      last[stages_[i].role] = i;
      if (runs_[i].not_run.empty()) last_run[stages_[i].role] = i;
    }
    for (const auto& [role, i] : last_run) {
      if (result_.rows[i].state != StageState::agrees) continue;
      auto here = against(i, *answers_->compiled, kCompiled);
      if (here.empty()) continue;
      const auto behind = last.at(role);
      result_.rows[behind].state = StageState::differs;
      if (behind == i)
        differences_.push_back(worst_of(here));
      else
        blame_unseen(behind, worst_of(here));
    }
  }

  /// A stage that did not run stands between a stage that is right and answers that are wrong.
  void blame_unseen(std::size_t i, const Difference& difference) {
    auto problem = problem_of(i, {});
    problem.before = stages_[difference.stage].name;
    problem.blame.name = difference.value;
    // What was recorded is what it gave, the stage before it what it should have given.
    auto& distance = problem.distance = difference.distance;
    std::swap(distance.expected, distance.actual);
    std::swap(distance.expected_error, distance.actual_error);
    const auto what = distance.element.empty()
                          ? distance.message
                          : fmt::format("element {} is {}, not {}", distance.element,
                                        distance.actual, distance.expected);
    distance.message =
        fmt::format("what it gave differs from {} in {}: {}; it was not run here: {}",
                    problem.before, difference.value, what, result_.rows[i].reason);
    finish(std::move(problem));
  }

  auto problem_of(std::size_t i, const std::string& value) -> StageProblem {
    StageProblem problem;
    problem.stage = stages_[i].name;
    problem.value = value;
    problem.is_decided = inputs_.made_up.empty();
    if (last_) problem.before = stages_[*last_].name;
    if (stages_[i].program)
      for (const auto& input : stages_[i].inputs)
        if (const auto known = given_[i].find(input); known != given_[i].end())
          problem.inputs.push_back(known->second.value);
    return problem;
  }

  /// The stage that is right and closest: with the same names before others, earlier before later.
  [[nodiscard]] auto partner_of(std::size_t i, const std::string& value) const
      -> std::optional<std::size_t> {
    std::optional<std::size_t> best;
    int best_rank = 0;
    for (std::size_t k = 0; k < stages_.size(); ++k) {
      if (k == i || !stages_[k].graph || result_.rows[k].state != StageState::agrees ||
          (!value.empty() && !runs_[k].values.contains(value)))
        continue;
      const int rank = (stages_[k].has_same_names(stages_[i]) ? 8 : 0) +
                       (stages_[k].role == stages_[i].role ? 4 : 0) + (k < i ? 2 : 1);
      // Of equal ones the nearest: the last before it, the first behind it.
      if (rank > best_rank || (rank == best_rank && k < i)) {
        best = k;
        best_rank = rank;
      }
    }
    return best;
  }

  [[nodiscard]] auto context_of(std::size_t i) const -> StageContext {
    return {given_[i], inputs_.attributes, table_};
  }

  void explain(const Difference& difference) {
    const auto i = difference.stage;
    auto problem = problem_of(i, difference.value);
    problem.before = difference.before == kRecorded ? std::string(difference.recorded)
                                                    : stages_[difference.before].name;
    problem.distance = difference.distance;
    const auto& producer = runs_[i].values.at(difference.value).producer;
    if (const auto partner = partner_of(i, difference.value)) {
      const auto &stage = stages_[i], &right = stages_[*partner];
      const auto mine = context_of(i), theirs = context_of(*partner);
      problem.blame = stage.graph ? blame_node(stage, right, mine, theirs, producer,
                                               runs_[*partner].values.at(difference.value).producer)
                                  : blame_launch(stage, right, mine, theirs, producer);
    }
    if (!problem.blame.found()) problem.blame.name = producer;
    if (auto& shown = problem.blame.shown; shown && !shown->expected)
      if (const auto known = agreed_.find(difference.value); known != agreed_.end())
        if (const auto* right = known->second.value.value.real()) shown->expected = *right;
    finish(std::move(problem));
  }

  void finish(StageProblem problem) {
    auto& finding = problem.finding;
    const auto& blame = problem.blame;
    const auto& at = blame.distance.message.empty() ? problem.distance : blame.distance;
    finding.kind = FindingKind::stage_differs;
    finding.node_name = blame.name;
    finding.target = blame.target;
    finding.leaf = at.element;
    finding.claimed = at.expected;
    finding.observed = at.actual;
    finding.witness = result_.witness;
    finding.origin = blame.origin;
    finding.message = problem.value.empty()
                          ? fmt::format("{}: {}", problem.stage, problem.distance.message)
                          : fmt::format("{} differs from {} in {}: {}", problem.stage,
                                        problem.before, problem.value, problem.distance.message);
    if (blame.line > 0)
      for (const auto& row : result_.rows)
        if (row.name == problem.stage) problem.log_line = row.log_line + blame.line;
    result_.problems.push_back(std::move(problem));
  }

  const std::vector<Stage>& stages_;
  StageInputs inputs_;
  const ProgramAnswers* answers_;
  const OpTable& table_;
  std::vector<StageRun> runs_;
  std::vector<StageValues> given_;
  std::map<std::string, Agreed> agreed_;
  std::map<std::tuple<std::size_t, RoundedBy, RoundingRuns>, Roundings> roundings_;
  std::vector<Difference> differences_;
  std::optional<std::size_t> last_;
  CompilationStages result_;
};

/// The bindings to run at: as asked, and for a sweep those around it.
auto bindings_of(const StageInputs& base, const Stage& first, const StageOptions& options)
    -> std::vector<std::map<std::string, Expr>> {
  std::vector<std::map<std::string, Expr>> all{options.at};
  if (!options.sweep) return all;
  Binding binding;
  for (const auto& symbol : first.graph->graph.env.symbols())
    if (const auto known = base.sizes.find(symbol.name); known != base.sizes.end())
      binding[symbol.expr] = known->second;
  for (const auto& point : sweep_bindings(first.graph->graph, binding)) {
    auto& sizes = all.emplace_back();
    for (const auto& [symbol, value] : point) sizes[std::string(symbol.name())] = value;
  }
  return all;
}

}  // namespace

auto name(StageState state) -> std::string_view {
  constexpr std::array<std::string_view, 4> kStates = {"agrees", "differs", "follows", "not run"};
  return kStates.at(static_cast<std::size_t>(state));
}

auto debug_stages(std::string_view bytes, const std::string& name, const OpTable& table,
                  const StageOptions& options) -> Result<StageReport> {
  auto log = read_torch_trace(bytes);
  if (!log) return with_context(std::move(log).error(), name);
  StageReport report;
  report.warnings = log->warnings;
  const auto all = compilations(*log);
  const bool in_parts = are_of_parts(*log, all, options.answers);
  const auto answered = answered_compilations(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].is_last_attempt || all[i].graphs.empty()) continue;
    const auto stages = read_stages(*log, all[i], table);
    const bool is_answered = &all[i] == (in_parts ? answered.front() : answered.back());
    const auto* answers = is_answered ? options.answers : nullptr;
    CompilationStages failed;
    failed.name = all[i].compile_id;
    auto base = stage_inputs(*log, all[i], stages, answers, options.at, table);
    if (!base) {
      failed.error = base.error().message;
      report.compilations.push_back(std::move(failed));
      continue;
    }
    const auto points = bindings_of(*base, *first_stage(stages), options);
    for (std::size_t k = 0; k < points.size(); ++k) {
      auto inputs =
          k == 0 ? std::move(base) : stage_inputs(*log, all[i], stages, answers, points[k], table);
      if (!inputs) continue;
      const auto* recorded = points[k].empty() && !in_parts ? answers : nullptr;
      auto done = StageDebugger(stages, *std::move(inputs), recorded, table).run();
      // Sizes that nothing takes are none that the guards of the program admit.
      const auto ran = [](const StageRow& row) { return row.state != StageState::not_run; };
      if (k > 0 && std::ranges::none_of(done.rows, ran)) continue;
      done.name = all[i].compile_id;
      done.is_part = in_parts && options.answers != nullptr;
      report.compilations.push_back(std::move(done));
    }
  }
  if (report.compilations.empty())
    return unsupported("{}: the log has no compilation with a graph{}", name, trace_failures(*log));
  return report;
}

}  // namespace assay
