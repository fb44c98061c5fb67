#include "replay/runner/stage_run.h"

#include <algorithm>

#include "compiler/interpret/interpret.h"
#include "replay/runner/open_results.h"

namespace assay {
namespace {

/// Copies in the order of the stage's inputs, and the names of those it may write.
struct Given {
  DatumList values;
  std::string missing;
  Randomness randomness = Randomness::none;
  bool is_open = false;
};

auto give(const Stage& stage, const StageValues& inputs) -> Given {
  Given given;
  DatumCopier copy;
  for (const auto& name : stage.inputs) {
    const auto found = inputs.find(name);
    if (found == inputs.end() && is_token(name)) {
      given.values.emplace_back(*Tensor::contiguous(DType::float32, {0}));
      continue;
    }
    if (found == inputs.end()) {
      given.missing = fmt::format("nothing gives its {}", name);
      return given;
    }
    given.randomness = std::max(given.randomness, found->second.randomness);
    given.is_open = given.is_open || found->second.is_open;
    given.values.push_back(copy(found->second.value));
  }
  return given;
}

/// Inputs as the stage left them, under "input 2 after".
void keep_inputs(const Stage& stage, const Given& given, StageRun& run) {
  if (stage.role == StageRole::backward) return;
  for (std::size_t i = 0; i < stage.inputs.size(); ++i)
    if (stage.inputs[i].starts_with("input ") && given.values[i].is_tensor())
      run.values.try_emplace(
          stage.inputs[i] + " after",
          StageValue{given.values[i], given.randomness,
                     stage.program ? stage.program->functions.back().inputs[i] : std::string(),
                     given.is_open});
}

auto with_copies_for_views(Graph graph) -> Graph {
  for (auto& node : graph.nodes)
    if (node.target == "aten.view.default") node.target = "aten.reshape.default";
  return graph;
}

void run_graph_stage(const Stage& stage, const Given& given,
                     const std::map<std::string, Datum>& attributes, const OpTable& table,
                     const StageTaps& taps, StageRun& run) {
  std::optional<Graph> lowered;
  if (stage.views_may_copy) lowered = with_copies_for_views(stage.graph->graph);
  const auto& graph = lowered ? *lowered : stage.graph->graph;
  RunInputs inputs;
  inputs.values = given.values;
  inputs.attributes = attributes;
  inputs.made_up.resize(given.values.size());
  inputs.defects.resize(given.values.size());
  std::optional<Datum> output;
  RunOptions options;
  OpenResults open;
  options.observer = [&](const OpRow& row, const DatumList& args, const Datum& result, int depth) {
    open.called(row, args, result);
    if (taps.inner && depth > 1) taps.inner(result);
  };
  options.tap = [&](std::size_t i, const Datum& value) {
    open.add(graph.nodes[i], value);
    if (graph.nodes[i].kind == NodeKind::output) output = value;
    if (taps.node) taps.node(i, value);
  };
  if (stage.kernels)
    options.launch = [&](const UserKernelCall& call) { return stage.kernels->launch(call); };
  run.graph = run_graph(graph, inputs, table, options);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto& record = run.graph.nodes[i];
    if (record.status == NodeStatus::ran || record.status == NodeStatus::skipped) continue;
    run.not_run = fmt::format("{}: {}", graph.nodes[i].name, record.message);
    if (record.status != NodeStatus::failed) return;
    run.refused_at = graph.nodes[i].name;
    run.refusal = record.message;
    return;
  }
  if (!output) {
    run.not_run = "it returns nothing";
    return;
  }
  const auto items = output->list() != nullptr ? *output->list() : DatumList{*output};
  if (items.size() != stage.outputs.size()) {
    run.not_run = "another number of results than it names";
    return;
  }
  const auto* returned = std::get_if<SequenceArg>(&graph.output()->args[0].value);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (stage.outputs[i].empty() || items[i].is_none()) continue;
    StageValue value{items[i], given.randomness, {}, given.is_open || open.has(items[i])};
    if (const auto* id = returned ? std::get_if<NodeId>(&returned->items[i].value) : nullptr)
      for (std::size_t k = 0; k < graph.nodes.size(); ++k)
        if (graph.nodes[k].id == *id) {
          value.producer = graph.nodes[k].name;
          value.randomness = std::max(value.randomness, run.graph.nodes[k].randomness);
          value.is_open = value.is_open || open.has(*id);
        }
    run.values[stage.outputs[i]] = std::move(value);
  }
}

/// The buffer that an item of the return statement shows.
auto buffer_of(const HostArg& arg) -> std::string {
  if (const auto* view = std::get_if<HostView>(&arg.value)) return view->base;
  return arg.mentions.empty() ? std::string() : arg.mentions.back();
}

void run_program_stage(const Stage& stage, const Given& given, const OpTable& table,
                       const StageTaps& taps, StageRun& run) {
  const Interpreter executor(table);
  ProgramRunOptions options;
  options.tap = taps.written;
  auto ready = executor.compile(*stage.program);
  auto done = ready ? (*ready)->run(given.values, options)
                    : Result<ProgramRun>(std::unexpected(ready.error()));
  if (!done) {
    run.not_run = done.error().message;
    return;
  }
  run.findings = done->findings;
  run.launches = done->launches + done->calls;
  if (done->outputs.size() != stage.outputs.size()) {
    run.not_run =
        fmt::format("it gives {} values, its graph {}", done->outputs.size(), stage.outputs.size());
    return;
  }
  const HostReturn* returned = nullptr;
  for (const auto& op : stage.program->functions.back().ops)
    if (const auto* last = std::get_if<HostReturn>(&op.what)) returned = last;
  for (std::size_t i = 0; i < done->outputs.size(); ++i) {
    if (stage.outputs[i].empty() || done->outputs[i].is_none()) continue;
    StageValue value{done->outputs[i], std::max(given.randomness, done->randomness), {}};
    if (returned != nullptr && i < returned->values.size())
      value.producer = buffer_of(returned->values[i]);
    run.values[stage.outputs[i]] = std::move(value);
  }
}

}  // namespace

auto DatumCopier::operator()(const Datum& datum) -> Datum {
  const auto* tensor = datum.real();
  if (tensor == nullptr) return datum;
  auto& copy = copies_[tensor->storage.get()];
  if (!copy) {
    copy = std::make_shared<Storage>(tensor->storage->size_bytes());
    std::ranges::copy(tensor->storage->bytes(), copy->bytes().begin());
  }
  Tensor own = *tensor;
  own.storage = copy;
  return {std::move(own)};
}

auto run_stage(const Stage& stage, const StageValues& inputs,
               const std::map<std::string, Datum>& attributes, const OpTable& table,
               const StageTaps& taps) -> StageRun {
  StageRun run;
  run.not_run = stage.not_read;
  if (!run.not_run.empty()) return run;
  const auto given = give(stage, inputs);
  run.not_run = given.missing;
  if (!run.not_run.empty()) return run;
  if (stage.graph)
    run_graph_stage(stage, given, attributes, table, taps, run);
  else
    run_program_stage(stage, given, table, taps, run);
  if (run.not_run.empty()) keep_inputs(stage, given, run);
  return run;
}

}  // namespace assay
