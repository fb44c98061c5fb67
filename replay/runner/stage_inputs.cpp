#include "replay/runner/stage_inputs.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/expr/text.h"
#include "replay/interp/binding.h"
#include "replay/interp/sizes.h"
#include "replay/runner/log_inputs.h"

namespace assay {
namespace {

auto placeholders_of(const Graph& graph) -> std::vector<const Node*> {
  std::vector<const Node*> nodes;
  for (const auto& node : graph.nodes)
    if (node.kind == NodeKind::placeholder) nodes.push_back(&node);
  return nodes;
}

/// Symbols of another graph, by name.
auto binding_for(const ShapeEnv& env, const std::map<std::string, Expr>& sizes) -> Binding {
  Binding binding;
  for (const auto& symbol : env.symbols())
    if (const auto known = sizes.find(symbol.name); known != sizes.end())
      binding[symbol.expr] = known->second;
  return binding;
}

auto is_whole(DType dtype) -> bool {
  return !is_floating(dtype) && !is_complex(dtype) && dtype != DType::boolean;
}

class InputMaker {
 public:
  InputMaker(const TraceLog& log, const TraceCompilation& compilation, const Stage& first,
             std::span<const Stage> stages, const ProgramAnswers* answers, const OpTable& table)
      : log_(log),
        compilation_(compilation),
        first_(first),
        stages_(stages),
        answers_(answers),
        table_(table) {}

  auto make(const std::map<std::string, Expr>& at) -> Result<StageInputs> {
    const auto nodes = placeholders_of(first_.graph->graph);
    result_.recorded.resize(nodes.size());
    if (answers_ != nullptr) ASSAY_TRY_VOID(place_answers(nodes));
    result_.env = first_.graph->graph.env;
    auto binding = recorded_binding(nodes);
    for (const auto& [symbol, value] : binding_for(result_.env, traced_numbers()))
      binding.try_emplace(symbol, value);
    for (const auto& [symbol, value] : binding_for(result_.env, at)) binding[symbol] = value;
    ASSAY_TRY(const auto filled, inputs_at(*first_.graph, binding));
    if (answers_ != nullptr)
      for (const auto& symbol : choose_sizes(*first_.graph, binding).chosen)
        result_.made_up.emplace_back(symbol.name());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (i < filled.unknown.size() && !filled.unknown[i].empty()) continue;
      auto& value = result_.values[first_.inputs[i]];
      value.value = filled.values[i];
      const auto* tensor = value.value.real();
      if (tensor == nullptr) continue;
      const auto& position = result_.recorded[i];
      const auto* given = position && at.empty() ? &answers_->inputs[*position].tensor : nullptr;
      if (given != nullptr && given->sizes() == tensor->sizes()) {
        auto here = *given;  // contents are recorded without the device
        here.meta.device = tensor->meta.device;
        value.value = {std::move(here)};
      } else if (filled.made_up[i].values) {
        result_.made_up.push_back(nodes[i]->name);
      }
    }
    take_sizes(nodes);
    take_attributes();
    fill_whole_numbers();
    return std::move(result_);
  }

 private:
  auto place_answers(const std::vector<const Node*>& nodes) -> Result<void> {
    const auto plan = input_plan(log_, compilation_, answers_->inputs);
    std::size_t next = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i]->claim.tensor() == nullptr) continue;
      const auto position = next < plan.tensors.size() ? plan.tensors[next] : std::optional(next);
      ++next;
      if (position && *position >= answers_->inputs.size())
        return bad_input("the function takes more tensors than there are inputs");
      result_.recorded[i] = position;
    }
    return {};
  }

  /// Numbers among the inputs of code, which was made for the call that was recorded.
  [[nodiscard]] auto traced_numbers() const -> std::map<std::string, Expr> {
    std::map<std::string, Expr> numbers;
    for (const auto& stage : stages_) {
      if (!stage.program || stage.program->functions.empty()) continue;
      for (const auto& op : stage.program->functions.back().ops) {
        const auto* scalar = std::get_if<HostScalar>(&op.what);
        if (scalar == nullptr || !scalar->is_input) continue;
        if (const auto known = stage.program->example_numbers.find(scalar->name);
            known != stage.program->example_numbers.end())
          numbers.emplace(scalar->symbol.name(), Expr(known->second));
      }
    }
    return numbers;
  }

  /// Symbols solved from the layouts of the recorded tensors.
  [[nodiscard]] auto recorded_binding(const std::vector<const Node*>& nodes) const -> Binding {
    const auto& graph = first_.graph->graph;
    GraphRun run;
    run.nodes.resize(graph.nodes.size());
    std::size_t input = 0;
    for (std::size_t k = 0; k < graph.nodes.size() && input < nodes.size(); ++k) {
      if (graph.nodes[k].kind != NodeKind::placeholder) continue;
      if (const auto& position = result_.recorded[input++]) {
        run.nodes[k].status = NodeStatus::ran;
        run.nodes[k].has_value = true;
        run.nodes[k].value.tensor =
            ObservedTensor{.meta = answers_->inputs[*position].tensor.meta, .storage = -1};
      }
    }
    return bind_symbols(graph, run).values;
  }

  /// From the inputs as they are now: sizes that nobody gave were chosen.
  void take_sizes(const std::vector<const Node*>& nodes) {
    const auto& graph = first_.graph->graph;
    GraphRun run;
    run.nodes.resize(graph.nodes.size());
    std::size_t input = 0;
    for (std::size_t k = 0; k < graph.nodes.size() && input < nodes.size(); ++k) {
      if (graph.nodes[k].kind != NodeKind::placeholder) continue;
      const auto& value = result_.values[first_.inputs[input++]].value;
      auto& record = run.nodes[k];
      record.status = NodeStatus::ran;
      record.has_value = true;
      if (const auto* tensor = value.real())
        record.value.tensor = ObservedTensor{.meta = tensor->meta, .storage = -1};
      else if (value.scalar() != nullptr)
        record.value.scalar = *value.scalar();
    }
    for (const auto& [symbol, value] : bind_symbols(graph, run).values)
      result_.sizes[std::string(symbol.name())] = value;
  }

  void take_attributes() {
    for (const auto& part : compilation_.repro_scripts) {
      const auto script = read_repro_script(log_.events[part.event].payload);
      if (!script) continue;
      const auto inputs = recorded_inputs(*script);
      if (!inputs) continue;
      for (const auto& [path, tensor] : script->attributes) {
        const auto storage = static_cast<std::size_t>(tensor.storage);
        const auto value = inputs->attributes.find(path);
        if (storage < script->storages.size() && !script->storages[storage].made_up &&
            value != inputs->attributes.end())
          result_.attributes[path] = value->second;
      }
    }
  }

  void fill_whole_numbers() {
    if (answers_ != nullptr && result_.made_up.empty()) return;
    for (const double limit : {8.0, 4.0, 2.0}) {
      auto tried = result_.values;
      bool any = false;
      const auto nodes = placeholders_of(first_.graph->graph);
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        const auto* tensor = tried[first_.inputs[i]].value.real();
        if (tensor == nullptr || !is_whole(tensor->dtype()) ||
            std::ranges::find(result_.made_up, nodes[i]->name) == result_.made_up.end())
          continue;
        auto copy = DatumCopier()(tried[first_.inputs[i]].value);
        fill_storage(*copy.real()->storage, tensor->dtype(),
                     {static_cast<std::uint32_t>(i + 1), 0, limit});
        tried[first_.inputs[i]].value = std::move(copy);
        any = true;
      }
      if (!any) return;
      if (!run_stage(first_, tried, result_.attributes, table_).not_run.empty()) continue;
      result_.values = std::move(tried);
      return;
    }
  }

  const TraceLog& log_;
  const TraceCompilation& compilation_;
  const Stage& first_;
  std::span<const Stage> stages_;
  const ProgramAnswers* answers_;
  const OpTable& table_;
  StageInputs result_;
};

constexpr std::string_view kTangent = "tangent of output ";

}  // namespace

auto first_stage(std::span<const Stage> stages) -> const Stage* {
  for (const auto role : {StageRole::function, StageRole::inference, StageRole::forward})
    for (const auto& stage : stages)
      if (stage.role == role && stage.graph) return &stage;
  return nullptr;
}

auto stage_inputs(const TraceLog& log, const TraceCompilation& compilation,
                  std::span<const Stage> stages, const ProgramAnswers* answers,
                  const std::map<std::string, Expr>& at, const OpTable& table)
    -> Result<StageInputs> {
  const auto* first = first_stage(stages);
  if (first == nullptr) return unsupported("no graph of this compilation can be read");
  return InputMaker(log, compilation, *first, stages, answers, table).make(at);
}

void add_tangents(std::span<const Stage> stages, const ProgramAnswers* answers,
                  StageInputs& inputs) {
  for (const auto role : {StageRole::joint, StageRole::backward})
    for (const auto& stage : stages) {
      if (stage.role != role || !stage.graph) continue;
      const auto filled =
          inputs_at(*stage.graph, binding_for(stage.graph->graph.env, inputs.sizes));
      if (!filled) continue;
      for (std::size_t i = 0; i < stage.inputs.size(); ++i) {
        const auto& name = stage.inputs[i];
        if (!name.starts_with("tangent ") || inputs.values.contains(name)) continue;
        const auto* tensor = filled->values[i].real();
        if (tensor == nullptr) continue;
        Tensor tangent = *tensor;
        std::size_t k = 0;
        if (name.starts_with(kTangent))
          std::from_chars(name.data() + kTangent.size(), name.data() + name.size(), k);
        // What was written into an input is no part of what recorded gradients are of.
        if (answers != nullptr && name.starts_with("tangent of input "))
          from_vector(tangent, std::span<const double>(
                                   std::vector<double>(static_cast<std::size_t>(tangent.numel()))));
        if (answers != nullptr && name.starts_with(kTangent))
          if (const auto known = answered_tangent(tangent.meta, k)) copy_elems(*known, tangent);
        inputs.values[name] = {Datum{std::move(tangent)}, Randomness::none, {}};
      }
    }
}

}  // namespace assay
