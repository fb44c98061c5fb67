#include "replay/runner/stage.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "compiler/read/wrapper.h"
#include "replay/runner/log_inputs.h"

namespace assay {
namespace {

/// Stages whose role is in their name.
struct StageName {
  std::string_view prefix;
  StageRole role;
};
constexpr std::array kNames = {
    StageName{"dynamo_output_graph", StageRole::function},
    StageName{"before_pre_grad_graph", StageRole::function},
    StageName{"after_pre_grad_graph", StageRole::function},
    StageName{"aot_joint_graph", StageRole::joint},
    StageName{"aot_forward_graph", StageRole::forward},
    StageName{"aot_backward_graph", StageRole::backward},
    StageName{"aot_inference_graph", StageRole::inference},
};

/// AOTAutograd's descriptions of inputs and outputs, and the names they have here. What stands
/// between the ends is a position.
struct Description {
  std::string_view text, end;
  std::string_view name;
};
constexpr std::array kDescriptions = {
    Description{"PlainAOTInput(idx=", ")", "input {}"},
    Description{"TangentAOTInput(output=PlainAOTOutput(idx=", "))", "tangent of output {}"},
    Description{"TangentAOTInput(output=IntermediateBaseAOTOutput(base_of=PlainAOTOutput(idx=",
                ")))", "tangent of base {}"},
    Description{"TangentAOTInput(output=InputMutationAOTOutput(mutated_input=PlainAOTInput(idx=",
                ")))", "tangent of input {}"},
    Description{"PlainAOTOutput(idx=", ")", "output {}"},
    Description{"GradAOTOutput(grad_of=PlainAOTInput(idx=", "))", "gradient of input {}"},
    Description{"SavedForBackwardsAOTOutput(idx=", ")", "saved {}"},
    Description{"IntermediateBaseAOTOutput(base_of=PlainAOTOutput(idx=", "))", "base {}"},
    Description{"InputMutationAOTOutput(mutated_input=PlainAOTInput(idx=", "))", "input {} after"},
};

auto described(std::string_view text) -> std::string {
  for (const auto& row : kDescriptions) {
    if (!text.starts_with(row.text) || !text.ends_with(row.end)) continue;
    const auto number =
        text.substr(row.text.size(), text.size() - row.text.size() - row.end.size());
    return fmt::format(fmt::runtime(row.name), number);
  }
  return text == "None" ? std::string() : std::string(text);
}

/// The comment behind the statement or item on this line.
auto comment_of(std::string_view line) -> std::string_view {
  const auto at = line.find("  # ");
  return at == std::string_view::npos ? std::string_view() : line.substr(at + 4);
}

auto placeholders_of(const Graph& graph) -> std::vector<const Node*> {
  std::vector<const Node*> nodes;
  for (const auto& node : graph.nodes)
    if (node.kind == NodeKind::placeholder) nodes.push_back(&node);
  return nodes;
}

auto returned(const Graph& graph) -> std::vector<Arg> {
  const auto* output = graph.output();
  if (output == nullptr || output->args.empty()) return {};
  const auto* list = std::get_if<SequenceArg>(&output->args[0].value);
  return list == nullptr ? std::vector<Arg>{output->args[0]} : list->items;
}

/// How many tokens of effects the graph ends in itself.
auto sunk_tokens(const Graph& graph) -> std::size_t {
  std::size_t count = 0;
  for (const auto& node : graph.nodes)
    if (node.target.starts_with("prims._sink_tokens") && !node.args.empty())
      if (const auto* list = std::get_if<SequenceArg>(&node.args[0].value))
        count += list->items.size();
  return count;
}

/// PyTorch 2.15 takes the outputs that are tokens away and leaves their descriptions in front: each
/// is one of the output behind it, and those of the last outputs are lost.
void move_past_tokens(std::vector<std::string>& names, std::size_t tokens) {
  const auto first = std::ranges::find_if_not(names, is_token);
  if (first - names.begin() != static_cast<std::ptrdiff_t>(tokens)) return;
  names.erase(names.begin(), first);
  while (tokens-- > 0 && !names.empty()) {
    const auto digit = names.back().find_first_of("0123456789");
    std::size_t k = 0;
    if (digit != std::string::npos)
      std::from_chars(names.back().data() + digit, names.back().data() + names.back().size(), k);
    names.push_back(digit == std::string::npos
                        ? std::string()
                        : fmt::format("{}{}", names.back().substr(0, digit), k + 1));
  }
}

auto is_tangent(const std::string& name) -> bool {
  return name.starts_with("tangents_");
}

class StageReader {
 public:
  StageReader(const TraceLog& log, const TraceCompilation& compilation)
      : log_(log), compilation_(compilation), env_(trace_shapes(log, compilation).env) {}

  auto read() -> std::vector<Stage> {
    std::vector<std::pair<TracePart, bool>> parts;
    for (const auto& part : compilation_.graphs) parts.emplace_back(part, false);
    for (const auto& part : compilation_.output_codes) parts.emplace_back(part, true);
    std::ranges::stable_sort(parts, {}, [](const auto& part) { return part.first.event; });
    for (const auto& [part, is_program] : parts) {
      Stage stage;
      stage.name = part.name;
      stage.log_line = log_.events[part.event].line;
      if (is_program)
        program(stage, part);
      else
        graph(stage, part);
      stages_.push_back(std::move(stage));
    }
    return std::move(stages_);
  }

 private:
  void program(Stage& stage, const TracePart& part) {
    const auto& text = log_.events[part.event].payload;
    const auto role = role_of(text);
    stage.role = role == "backward"  ? StageRole::backward
                 : role == "forward" ? StageRole::forward
                                     : StageRole::inference;
    auto program = read_wrapper(text, env_);
    if (!program) {
      stage.not_read = program.error().message;
      return;
    }
    stage.program = *std::move(program);
    const auto* sibling = last_graph(stage.role);
    if (sibling == nullptr) {
      stage.not_read = "the log has no graph that says what its inputs and outputs are";
      return;
    }
    const auto nodes = placeholders_of(sibling->graph->graph);
    for (const auto& input : stage.program->functions.back().inputs) {
      const auto found = std::ranges::find(nodes, input, &Node::name);
      stage.inputs.push_back(
          found == nodes.end() ? input
                               : sibling->inputs[static_cast<std::size_t>(found - nodes.begin())]);
    }
    stage.outputs = sibling->outputs;
  }

  void graph(Stage& stage, const TracePart& part) {
    auto capture = trace_graph_capture(log_, compilation_, part);
    stage.role = role_of_graph(part.name, capture ? &capture->graph : nullptr);
    if (!capture) {
      stage.not_read = capture.error().message;
      return;
    }
    stage.graph = *std::move(capture);
    const auto* sibling = last_graph(stage.role);
    const auto& graph = stage.graph->graph;
    const auto inputs = placeholders_of(graph).size(), outputs = returned(graph).size();
    if (sibling != nullptr && sibling->inputs.size() == inputs &&
        sibling->outputs.size() == outputs) {
      stage.inputs = sibling->inputs;
      stage.outputs = sibling->outputs;
      return;
    }
    name_inputs(stage, log_.events[part.event].payload);
    name_outputs(stage, log_.events[part.event].payload);
  }

  [[nodiscard]] auto role_of_graph(std::string_view part, const Graph* graph) const -> StageRole {
    for (const auto& row : kNames)
      if (part.starts_with(row.prefix)) return row.role;
    if (graph != nullptr && std::ranges::any_of(graph->nodes, [](const Node& node) {
          return node.kind == NodeKind::placeholder && is_tangent(node.name);
        }))
      return StageRole::backward;
    const bool is_training = std::ranges::any_of(compilation_.graphs, [](const TracePart& known) {
      return known.name.starts_with("aot_forward_graph") ||
             known.name.starts_with("aot_joint_graph");
    });
    return is_training ? StageRole::forward : StageRole::inference;
  }

  [[nodiscard]] auto last_graph(StageRole role) const -> const Stage* {
    for (auto i = stages_.size(); i-- > 0;)
      if (stages_[i].role == role && stages_[i].graph) return &stages_[i];
    return nullptr;
  }

  void name_inputs(Stage& stage, std::string_view text) const {
    const auto nodes = placeholders_of(stage.graph->graph);
    std::size_t tangents = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto& name = nodes[i]->name;
      std::string known;
      if (stage.role == StageRole::backward) known = saved_under(name);
      if (known.empty() && stage.role != StageRole::function) {
        const auto at = text.find(fmt::format("  {}: \"", name));
        if (at != std::string_view::npos)
          known = described(comment_of(text.substr(at + 2, text.find('\n', at) - at - 2)));
      }
      if (known.empty())
        known = is_tangent(name) ? fmt::format("tangent of output {}", tangents)
                                 : fmt::format("input {}", i);
      if (is_tangent(name)) ++tangents;
      stage.inputs.push_back(std::move(known));
    }
  }

  /// Under which name the forward stage gives what the backward one calls `name`.
  [[nodiscard]] auto saved_under(const std::string& name) const -> std::string {
    for (const auto& stage : stages_) {
      if (stage.role != StageRole::forward || !stage.graph) continue;
      const auto items = returned(stage.graph->graph);
      for (std::size_t i = items.size(); i-- > 0;)
        if (const auto* id = std::get_if<NodeId>(&items[i].value))
          if (stage.graph->graph.find(*id)->name == name) return stage.outputs[i];
    }
    return {};
  }

  void name_outputs(Stage& stage, std::string_view text) const {
    const auto items = returned(stage.graph->graph);
    const auto at = text.rfind("\n        return ");
    std::vector<std::string> comments;
    if (at != std::string_view::npos)
      for (auto line = text.find('\n', at + 1); line != std::string_view::npos;
           line = text.find('\n', line + 1))
        if (const auto comment =
                comment_of(text.substr(line + 1, text.find('\n', line + 1) - line - 1));
            !comment.empty())
          comments.push_back(described(comment));
    if (const auto tokens = sunk_tokens(stage.graph->graph); tokens != 0)
      move_past_tokens(comments, tokens);
    if (comments.size() == items.size()) {
      stage.outputs = std::move(comments);
      return;
    }
    // Older versions say nothing: positions do.
    const auto gradients = stage.role == StageRole::joint
                               ? std::ranges::count_if(stage.inputs,
                                                       [](const std::string& input) {
                                                         return input.starts_with("input ");
                                                       })
                               : 0;
    const auto direct = std::ssize(items) - gradients;
    for (std::ptrdiff_t i = 0; i < std::ssize(items); ++i)
      stage.outputs.push_back(stage.role == StageRole::backward
                                  ? fmt::format("gradient of input {}", i)
                              : i >= direct ? fmt::format("gradient of input {}", i - direct)
                                            : positional(stage.role, i));
  }

  /// Outputs first, then what is saved.
  [[nodiscard]] auto positional(StageRole role, std::ptrdiff_t i) const -> std::string {
    const auto* function = last_graph(StageRole::function);
    const auto outputs = function == nullptr ? 0 : std::ssize(function->outputs);
    if (role != StageRole::forward || i < outputs) return fmt::format("output {}", i);
    return fmt::format("saved {}", i - outputs);
  }

  const TraceLog& log_;
  const TraceCompilation& compilation_;
  ShapeEnv env_;
  std::vector<Stage> stages_;
};

}  // namespace

auto is_token(const std::string& name) -> bool {
  return name.contains("TokenAOT");
}

auto name(StageRole role) -> std::string_view {
  constexpr std::array<std::string_view, 5> kRoles = {"function", "joint", "inference", "forward",
                                                      "backward"};
  return kRoles.at(static_cast<std::size_t>(role));
}

auto Stage::has_same_names(const Stage& other) const -> bool {
  return graph && other.graph &&
         (role == StageRole::function) == (other.role == StageRole::function);
}

auto read_stages(const TraceLog& log, const TraceCompilation& compilation, const OpTable& table)
    -> std::vector<Stage> {
  auto stages = StageReader(log, compilation).read();
  const auto kernels = std::make_shared<UserKernels>(table);
  for (const auto& stage : stages)
    if (stage.program) kernels->add(*stage.program);
  for (auto& stage : stages) {
    if (!kernels->empty()) stage.kernels = kernels;
    stage.views_may_copy = std::ranges::none_of(
        kNames, [&](const StageName& row) { return stage.name.starts_with(row.prefix); });
  }
  return stages;
}

}  // namespace assay
