// Calls of torch.nn modules in repro scripts.
#include <algorithm>

#include "replay/formats/repro_values.h"

namespace assay {
namespace {

class Inliner {
 public:
  Inliner(Graph& graph, const InitValue& value, const std::string& full_name, Capture& capture)
      : graph_(graph), value_(value), full_name_(full_name), capture_(capture) {}

  auto run() -> Result<void> {
    const auto call = *nn_call(*value_.module);
    if (!call) return std::unexpected(call.error());
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      auto& node = graph_.nodes[i];
      if (node.kind != NodeKind::call_module || node.target != value_.name) continue;
      if (node.args.size() != 1 || !node.kwargs.empty())
        return unsupported("{} is called with more than its input", full_name_);
      ASSAY_TRY(const auto added, replace(i, *call));
      i += added;
    }
    return {};
  }

 private:
  /// The call at `position` becomes one of the operator. Gives how many nodes came before it.
  auto replace(std::size_t position, const NnCall& call) -> Result<std::size_t> {
    const auto input = graph_.nodes[position].args.front();
    std::vector<Arg> args;
    std::size_t added = 0;
    for (const auto& operand : call.args) {
      if (const auto* constant = std::get_if<Arg>(&operand)) {
        args.push_back(*constant);
      } else if (const auto* parameter = std::get_if<NnParameter>(&operand)) {
        ASSAY_TRY(const auto id, attribute(*parameter, position + added));
        args.push_back({id});
        ++added;
      } else {
        args.push_back(input);
      }
    }
    auto& node = graph_.nodes[position + added];
    node.kind = NodeKind::call_function;
    node.target = call.target;
    node.args = std::move(args);
    return added;
  }

  /// A node at `position` that reads the parameter.
  auto attribute(const NnParameter& parameter, std::size_t position) -> Result<NodeId> {
    const auto path = full_name_ + "." + parameter.name;
    if (!capture_.attributes.contains(path)) {
      ASSAY_TRY(const auto tensor,
                unknown_tensor(capture_, parameter.sizes, parameter.dtype, value_.module->device));
      auto& storage = capture_.storages.back();
      storage.made_up = true;
      if (auto* fill = std::get_if<Fill>(&storage.content); fill && parameter.is_positive)
        fill->lo = 0.5, fill->hi = 1.5;
      capture_.attributes.emplace(path, tensor);
    }
    Node node;
    node.id = NodeId{graph_.next_id++};
    node.kind = NodeKind::get_attr;
    node.target = value_.name + "." + parameter.name;
    auto name = node.target;
    std::ranges::replace(name, '.', '_');
    node.name = name;
    for (int k = 1; graph_.find(node.name) != nullptr; ++k)
      node.name = fmt::format("{}_{}", name, k);
    node.line = graph_.nodes[position].line;
    const auto id = node.id;
    graph_.nodes.insert(graph_.nodes.begin() + static_cast<std::ptrdiff_t>(position),
                        std::move(node));
    return id;
  }

  Graph& graph_;
  const InitValue& value_;
  const std::string& full_name_;
  Capture& capture_;
};

}  // namespace

auto inline_module(Graph& graph, const InitValue& value, const std::string& full_name,
                   Capture& capture) -> Result<void> {
  return Inliner(graph, value, full_name, capture).run();
}

}  // namespace assay
