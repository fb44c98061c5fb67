#include "replay/runner/hidden_roundings.h"

#include <algorithm>
#include <array>

#include "core/tensor/tensor.h"

namespace assay {
namespace {

auto is_convolution(std::string_view target) -> bool {
  return target.contains("conv1d") || target.contains("conv2d") || target.contains("conv3d") ||
         target.contains("convolution") || target.contains("conv_transpose");
}

/// Attention on CUDA multiplies weights, and gradients of scores, that are rounded to halves like
/// its operands, which nobody sees. Roundings of what they are multiplied with come to as much.
struct HiddenRow {
  std::string_view name;
  std::size_t operand, query;
};
constexpr std::array kHidden = {
    HiddenRow{"aten.scaled_dot_product_attention.default", 2, 0},
    HiddenRow{"aten._scaled_dot_product_flash_attention.default", 2, 0},
    HiddenRow{"aten._scaled_dot_product_efficient_attention.default", 2, 0},
    HiddenRow{"aten._scaled_dot_product_cudnn_attention.default", 2, 0},
    HiddenRow{"aten._scaled_dot_product_flash_attention_for_cpu.default", 2, 0},
    HiddenRow{"aten._scaled_dot_product_flash_attention_backward.default", 0, 1},
    HiddenRow{"aten._scaled_dot_product_efficient_attention_backward.default", 0, 1},
    HiddenRow{"aten._scaled_dot_product_cudnn_attention_backward.default", 0, 1},
    HiddenRow{"aten._scaled_dot_product_flash_attention_for_cpu_backward.default", 0, 1}};

auto hidden_roundings(const Node& node, RoundedBy by)
    -> std::vector<std::pair<std::size_t, Hidden>> {
  const auto row = std::ranges::find(kHidden, node.target, &HiddenRow::name);
  if (row != kHidden.end()) return {{row->operand, Hidden::half}, {row->query, Hidden::scores}};
  // A product may be rounded before a bias is added, which may cancel it.
  if (node.target == "aten.addmm.default") return {{1, Hidden::half}};
  if (!is_convolution(node.target)) return {};
  const bool is_backward = node.target.contains("backward");
  if (!is_backward && by == RoundedBy::assay) return {{0, Hidden::half}};
  if (!is_backward) return {{0, Hidden::half}, {0, Hidden::tf32}, {1, Hidden::tf32}};
  if (by == RoundedBy::assay) return {};
  return {{0, Hidden::tf32}, {1, Hidden::tf32}, {2, Hidden::tf32}};
}
auto applies(Hidden how, const TensorMeta& operand) -> bool {
  if (how == Hidden::scores) return operand.dtype == DType::float32;
  if (how == Hidden::half) return is_half(operand.dtype);
  return operand.device.type == "cuda" && operand.dtype == DType::float32;
}

}  // namespace

auto with_hidden_roundings(const Stage& given, RoundedBy by) -> WithHidden {
  WithHidden result{given, {}, by};
  auto& graph = result.stage.graph->graph;
  const auto& before = given.graph->graph.nodes;
  std::vector<Node> nodes;
  for (auto& node : graph.nodes) {
    for (const auto& [operand, how] : hidden_roundings(node, by)) {
      auto* id =
          operand < node.args.size() ? std::get_if<NodeId>(&node.args[operand].value) : nullptr;
      const auto maker = id == nullptr ? before.end() : std::ranges::find(before, *id, &Node::id);
      const auto* claim = maker == before.end() ? nullptr : maker->claim.tensor();
      if (claim == nullptr || !applies(how, *claim)) continue;
      Node copy;
      copy.id = NodeId{graph.next_id++};
      copy.name = fmt::format("{}_rounded_{}", maker->name, copy.id.value);
      copy.target = "aten.clone.default";
      copy.args = {node.args[operand]};
      copy.claim = maker->claim;
      *id = copy.id;
      result.copies[copy.id.value] = how;
      nodes.push_back(std::move(copy));
    }
    nodes.push_back(node);
  }
  graph.nodes = std::move(nodes);
  return result;
}

}  // namespace assay
