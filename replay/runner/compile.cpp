#include "replay/runner/compile.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "compiler/lower/lowering_domain.h"
#include "core/base/clock.h"
#include "core/expr/rewriting.h"
#include "replay/interp/autocast.h"
#include "replay/interp/run.h"
#include "replay/runner/open_results.h"
#include "replay/runner/stage_rounding.h"

namespace assay {
namespace {

/// Walks a graph in the lowering domain.
class GraphCompiler {
 public:
  GraphCompiler(const Capture& capture, const OpTable& table, const CompileOptions& options)
      : capture_(capture),
        graph_(capture.graph),
        context_(graph_.env),
        domain_(table, context_, options.not_lowered),
        casts_(graph_),
        values_(static_cast<std::size_t>(std::max(graph_.next_id, 0))) {}

  auto run() -> Result<ScheduleInput> {
    for (const auto& node : graph_.nodes)
      if (node.kind == NodeKind::placeholder) ASSAY_TRY_VOID(placeholder(node));
    for (const auto& name : attribute_inputs(graph_)) ASSAY_TRY_VOID(attribute(name));
    for (const auto& node : graph_.nodes) ASSAY_TRY_VOID(step(node));
    for (const auto& obligation : context_.obligations()) {
      if (obligation.assumed || !obligation.condition.is_valid()) continue;
      if (facts_.insert(obligation.condition).second) input_.facts.push_back(obligation.condition);
    }
    input_.graph = domain_.take();
    input_.env = graph_.env;
    return std::move(input_);
  }

 private:
  [[nodiscard]] auto value(NodeId id) -> Datum& {
    return values_[static_cast<std::size_t>(id.value)];
  }

  auto add_tensor(const std::string& name, const TensorMeta& meta, int group) -> Datum {
    if (group < 0 || !storages_.contains(group)) storages_[group] = context_.fresh_storage();
    const auto datum = domain_.add_input(name, meta, storages_[group]);
    input_.inputs.push_back({name, domain_.find(*datum.fake()), std::nullopt});
    return datum;
  }

  auto placeholder(const Node& node) -> Result<void> {
    if (const auto* scalar = node.claim.scalar()) {
      value(node.id) = {*scalar};
      input_.inputs.push_back({node.name, std::nullopt, *scalar});
    } else if (const auto* meta = node.claim.tensor()) {
      value(node.id) = add_tensor(node.name, *meta, node.claim.alias_group);
    } else {
      input_.inputs.push_back({node.name, std::nullopt, std::nullopt});
    }
    return {};
  }

  auto attribute(const std::string& target) -> Result<void> {
    for (const auto& node : graph_.nodes) {
      if (node.kind != NodeKind::get_attr || node.target != target) continue;
      if (value(node.id).fake() != nullptr) continue;
      const auto known = capture_.attributes.find(target);
      const auto* claim = node.claim.tensor();
      if (claim == nullptr && known == capture_.attributes.end())
        return unsupported("node {}: nothing is known of the attribute {}", node.name, target);
      if (!attributes_.contains(target))
        attributes_[target] =
            add_tensor(node.name, claim ? *claim : to_claim(known->second.meta), -1);
      value(node.id) = attributes_[target];
    }
    return {};
  }

  auto step(const Node& node) -> Result<void> {
    const auto lookup = [this](NodeId id) { return &value(id); };
    if (node.kind == NodeKind::placeholder || node.kind == NodeKind::get_attr) return {};
    if (node.kind == NodeKind::output) {
      ASSAY_TRY(const auto returned, to_datum(node.args.at(0), lookup));
      return outputs(returned);
    }
    context_.set_node(node.id.value, node.target);
    domain_.set_origin(node.name);
    auto made = casts_.run(node, domain_, lookup);
    if (!made) return with_context(made.error(), fmt::format("node {}", node.name));
    value(node.id) = *std::move(made);
    return {};
  }

  auto outputs(const Datum& datum) -> Result<void> {
    if (const auto* list = datum.list()) {
      for (const auto& item : *list) ASSAY_TRY_VOID(outputs(item));
      return {};
    }
    CallArg arg;
    arg.value = datum;
    if (const auto* fake = datum.fake()) {
      arg.tensor = domain_.find(*fake);
      arg.value = {};
      if (!arg.tensor) return unsupported("an output from nowhere");
    }
    input_.outputs.push_back(std::move(arg));
    return {};
  }

  const Capture& capture_;
  const Graph& graph_;
  ShapeContext context_;
  LoweringDomain domain_;
  AutocastScopes casts_;
  std::vector<Datum> values_;
  std::unordered_map<int, int> storages_;  ///< by alias group
  std::map<std::string, Datum> attributes_;
  std::unordered_set<Expr> facts_;
  ScheduleInput input_;
};

/// Measures rounding of a graph when it is first asked for, of the outputs that have names.
class MeasuredRounding {
 public:
  MeasuredRounding(const Graph& graph, const RunInputs& inputs, std::vector<std::string> outputs,
                   const OpTable& table)
      : graph_(graph), inputs_(inputs), outputs_(std::move(outputs)), table_(table) {}

  auto of(const std::string& what, RoundingRuns runs) -> const Rounding* {
    const auto [known, is_new] = measured_.try_emplace(runs);
    if (is_new) known->second = measure(runs);
    const auto found = known->second.find(what);
    return found == known->second.end() ? nullptr : &found->second;
  }

 private:
  auto measure(RoundingRuns runs) -> Roundings {
    Stage stage;
    stage.role = StageRole::inference;
    stage.graph.emplace();
    stage.graph->graph = graph_;
    StageValues given;
    for (std::size_t i = 0; i < inputs_.values.size(); ++i) {
      stage.inputs.push_back(fmt::format("input {}", i));
      given[stage.inputs.back()] = {inputs_.values[i], Randomness::none, {}};
    }
    stage.outputs = outputs_;
    return measure_rounding(stage, given, inputs_.attributes, table_, RoundedBy::assay, runs);
  }

  const Graph& graph_;
  const RunInputs& inputs_;
  const std::vector<std::string> outputs_;
  const OpTable& table_;
  std::map<RoundingRuns, Roundings> measured_;
};

/// What differs by more than a tolerance differs if rounding does not explain it.
void judge(TensorDifference& difference, const Datum& actual, const Datum& expected,
           MeasuredRounding& rounding, std::vector<std::string>& notes) {
  if (difference.message.empty()) return;
  const auto distance = compare_values(expected, actual, true, [&](RoundingRuns runs) {
    return rounding.of(difference.what, runs);
  });
  if (distance.undecided > 0)
    notes.push_back(fmt::format("{}: {} elements are undecided: numbers overflow on these inputs",
                                difference.what, distance.undecided));
  if (distance.ties > 0)
    notes.push_back(fmt::format("{}: {} integers are undecided: rounded numbers are compared",
                                difference.what, distance.ties));
  if (distance.message.empty())
    difference = {difference.what, {}, 0};
  else
    difference.message =
        fmt::format("{}; rounding explains {:.3g} there", distance.message, distance.allowed);
}

void flatten(const Datum& datum, DatumList& flat) {
  if (const auto* list = datum.list())
    for (const auto& item : *list) flatten(item, flat);
  else
    flat.push_back(datum);
}

/// What the graph returns when the reference kernels run it, and its inputs after that.
auto reference_outputs(const Graph& graph, RunInputs& inputs, const OpTable& table,
                       OpenResults& open) -> Result<DatumList> {
  RunOptions options;
  options.observer = [&](const OpRow& row, const DatumList& args, const Datum& result,
                         int /*depth*/) { open.called(row, args, result); };
  options.tap = [&](std::size_t at, const Datum& value) { open.add(graph.nodes[at], value); };
  const auto run = run_graph(graph, inputs, table, options);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto& node = graph.nodes[i];
    if (node.kind == NodeKind::output || run.nodes[i].status == NodeStatus::ran) continue;
    return unsupported("node {}: {}", node.name, run.nodes[i].message);
  }
  DatumList flat;
  const auto* output = graph.output();
  if (output == nullptr) return flat;
  ASSAY_TRY(const auto returned,
            to_datum(output->args.at(0), [&](NodeId id) { return open.of(id); }));
  flatten(returned, flat);
  return flat;
}

/// Conjugated or negated where it is read: programs make such views at once, in their own memory.
auto is_made_when_read(const Datum& datum) -> bool {
  const auto* tensor = datum.real();
  return tensor != nullptr && tensor->meta.lazy != Lazy::none;
}

/// By output, the first of the inputs and outputs before it whose memory it shares. `expected` are
/// the graph's.
auto shared_with(const DatumList& inputs, const DatumList& outputs, const DatumList& expected)
    -> std::vector<std::optional<std::string>> {
  std::map<const void*, std::string> first;
  const auto memory = [](const Datum& datum) -> const void* {
    const auto* tensor = datum.real();
    return tensor == nullptr || numel(tensor->meta) == 0 ? nullptr : tensor->storage.get();
  };
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (const auto* there = memory(inputs[i])) first.emplace(there, fmt::format("input {}", i));
  std::vector<std::optional<std::string>> shared;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto* there = is_made_when_read(expected[i]) ? nullptr : memory(outputs[i]);
    const auto [known, is_new] = first.emplace(there, fmt::format("output {}", i));
    shared.push_back(there == nullptr || is_new ? std::nullopt : std::optional(known->second));
  }
  return shared;
}

/// Whoever writes one of two outputs must change the other exactly where the graph's do.
void compare_sharing(CompiledComparison& result, const DatumList& inputs, const DatumList& expected,
                     const DatumList& reference_inputs) {
  const auto mine = shared_with(inputs, result.run.outputs, expected);
  const auto wanted = shared_with(reference_inputs, expected, expected);
  const auto words = [](const std::optional<std::string>& other) {
    return other ? fmt::format("is in the memory of {}", *other)
                 : std::string("is in its own memory");
  };
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (mine[i] != wanted[i] && result.compared[i].message.empty())
      result.compared[i] = {result.compared[i].what,
                            fmt::format("{}, the graph's {}", words(mine[i]), words(wanted[i])),
                            INFINITY};
}

auto have_one_layout(const Datum& actual, const Datum& expected) -> bool {
  const auto *a = actual.real(), *b = expected.real();
  return a != nullptr && b != nullptr && a->dtype() == b->dtype() && a->sizes() == b->sizes() &&
         a->strides() == b->strides();
}

/// Is an element that should have become another one what it was before?
auto is_left_unwritten(const Tensor& actual, const Tensor& expected, const Tensor& before) -> bool {
  const auto a = to_vector<Complex>(actual), b = to_vector<Complex>(expected);
  const auto was = to_vector<Complex>(before);
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i] && a[i] == was[i]) return true;
  return false;
}

auto compare(const Datum& actual, const Datum& expected, std::string what) -> TensorDifference {
  TensorDifference result;
  const auto* tensor = actual.real();
  const auto* wanted = expected.real();
  if (tensor != nullptr && wanted != nullptr) {
    result = compare_tensors(*tensor, *wanted);
  } else if (to_string(actual) != to_string(expected)) {
    result.message = fmt::format("is {}, not {}", to_string(actual), to_string(expected));
    result.error = INFINITY;
  }
  result.what = std::move(what);
  return result;
}

}  // namespace

auto attribute_inputs(const Graph& graph) -> std::vector<std::string> {
  std::vector<std::string> names;
  for (const auto& node : graph.nodes)
    if (node.kind == NodeKind::get_attr && graph.child(node.target) == nullptr &&
        std::ranges::find(names, node.target) == names.end())
      names.push_back(node.target);
  return names;
}

auto program_inputs(const Graph& graph, const RunInputs& inputs) -> DatumList {
  DatumList given = inputs.values;
  for (const auto& name : attribute_inputs(graph)) {
    const auto known = inputs.attributes.find(name);
    given.push_back(known == inputs.attributes.end() ? Datum{} : known->second);
  }
  return given;
}

auto compile_graph(const Capture& capture, const OpTable& table, const CompileOptions& options)
    -> Result<CompiledGraph> {
  const auto nothing = bad_input("the fault finds nothing in this program");
  const RewriteWatch watch(options.fault == Fault::looping_rules);
  std::optional<Capture> wrong;
  if (options.fault && row(*options.fault).place == FaultPlace::graph) {
    wrong = capture;
    if (!apply_fault(*options.fault, wrong->graph)) return nothing;
  }
  ASSAY_TRY(auto input, GraphCompiler(wrong ? *wrong : capture, table, options).run());
  if (options.fault && !apply_fault(*options.fault, input)) return nothing;
  auto chosen = options.schedule;
  // What is padded in place is in memory.
  chosen.fuse = chosen.fuse && options.fault != Fault::negative_pad;
  ASSAY_TRY(auto compiled, schedule(std::move(input), chosen));
  if (options.fault && !apply_fault(*options.fault, compiled.program, options.fault_at))
    return nothing;
  compiled.not_ended = watch.not_ended();
  return compiled;
}

auto prove_compiled(const Graph& graph, const CompiledGraph& compiled) -> WrapperReport {
  WrapperOptions options;
  for (const auto& node : graph.nodes)
    if (const auto* meta = node.claim.tensor(); meta && node.kind == NodeKind::placeholder)
      options.claims[node.name] = *meta;
  return check_wrapper(compiled.program, options);
}

auto compare_with_reference(const Graph& graph, const CompiledGraph& compiled,
                            const Executor& executor, const RunInputs& inputs, const OpTable& table,
                            bool is_blind) -> Result<CompiledComparison> {
  ASSAY_TRY(const auto program, executor.compile(compiled.program));
  const auto given = program_inputs(graph, inputs);
  DatumCopier copier;
  DatumList mine;
  for (const auto& datum : given) mine.push_back(copier(datum));
  CompiledComparison result;
  result.is_checked = executor.is_checked();
  const auto start = Clock::now();
  ASSAY_TRY(result.run, program->run(mine, {}));
  result.seconds = seconds_since(start);
  auto reference = inputs;
  DatumCopier other;
  for (auto& datum : reference.values) datum = other(datum);
  for (auto& [name, datum] : reference.attributes) datum = other(datum);
  OpenResults open;
  ASSAY_TRY(const auto expected, reference_outputs(graph, reference, table, open));
  if (expected.size() != result.run.outputs.size())
    return bad_input("{} outputs, the graph has {}", result.run.outputs.size(), expected.size());
  // Seeds are drawn alike, and what is made of them is a function.
  if (result.run.randomness == Randomness::numbers) {
    result.notes.emplace_back("values are not compared: random numbers were drawn");
    return result;
  }
  struct Pair {
    const Datum& actual;
    const Datum& wanted;
    const Tensor* before;  ///< of inputs: what was there
  };
  std::vector<Pair> pairs;
  const auto add = [&](const Pair& pair, std::string what) {
    pairs.push_back(pair);
    result.compared.push_back(compare(pair.actual, pair.wanted, std::move(what)));
    if (is_blind) result.compared.back() = {result.compared.back().what, {}, 0};
  };
  for (std::size_t i = 0; i < expected.size(); ++i)
    add({result.run.outputs[i], expected[i], nullptr}, fmt::format("output {}", i));
  for (std::size_t i = 0; i < inputs.values.size(); ++i)
    if (const auto* before = inputs.values[i].real())
      add({mine[i], reference.values[i], before}, fmt::format("input {} after", i));
  std::vector<std::string> unequal;
  for (std::size_t i = 0; i < expected.size(); ++i)
    unequal.push_back(result.compared[i].message.empty() ? "" : result.compared[i].what);
  MeasuredRounding rounding(graph, inputs, std::move(unequal), table);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    auto& difference = result.compared[i];
    const auto& [actual, wanted, before] = pairs[i];
    judge(difference, actual, wanted, rounding, result.notes);
    const bool is_open =
        !difference.message.empty() && open.has(wanted) && have_one_layout(actual, wanted) &&
        (before == nullptr || !is_left_unwritten(*actual.real(), *wanted.real(), *before));
    if (!is_open) continue;
    result.notes.push_back(
        fmt::format("{} is undecided: on these inputs PyTorch leaves open what it is (elements "
                    "written to one place, or indices of no pool)",
                    difference.what));
    difference = {difference.what, {}, 0};
  }
  if (!is_blind) compare_sharing(result, mine, expected, reference.values);
  return result;
}

auto compared_values(const Graph& graph, const CompiledGraph& compiled, const Executor& executor,
                     const RunInputs& inputs, const OpTable& table) -> Result<ComparedValues> {
  ComparedValues values;
  ASSAY_TRY(const auto program, executor.compile(compiled.program));
  DatumCopier mine;
  DatumList given = program_inputs(graph, inputs);
  for (auto& datum : given) datum = mine(datum);
  ProgramRunOptions asked;
  asked.tap = keep_written(values.program);
  ASSAY_TRY([[maybe_unused]] const auto done, program->run(given, asked));
  DatumCopier other;
  auto reference = inputs;
  for (auto& datum : reference.values) datum = other(datum);
  for (auto& [name, datum] : reference.attributes) datum = other(datum);
  RunOptions options;
  options.tap = [&](std::size_t at, const Datum& value) {
    values.graph[graph.nodes[at].id] = first_values(value);
  };
  (void)run_graph(graph, reference, table, options);
  return values;
}

}  // namespace assay
