#include "replay/runner/hidden_roundings.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <numbers>

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

/// Calls whose result is a difference of products.
constexpr std::array<std::string_view, 4> kProducts = {
    "torch.cross", "torch.linalg.cross", "aten.cross.default", "aten.linalg_cross.default"};
/// Distances between many points are roots of a^2 - 2 a b + b^2
/// (aten/src/ATen/native/Distance.cpp).
constexpr std::array<std::string_view, 4> kDistances = {
    "torch.cdist", "torch.functional.cdist", "aten.cdist.default", "aten._cdist_forward.default"};
constexpr std::int64_t kManyPoints = 25;

/// Unless few points are known to be compared, or more than two operands are given: another norm,
/// or whether to multiply at all.
auto is_distance_of_many(const Graph& graph, const Node& node) -> bool {
  const auto is_two = [](const Arg& arg) {
    const auto* p = std::get_if<Expr>(&arg.value);
    return p != nullptr && (p->as_int() == 2 || p->as_real() == 2.0);
  };
  const bool is_plain =
      node.kwargs.empty() &&
      (node.args.size() == 2 ||
       (node.args.size() > 2 && is_two(node.args[2]) &&
        (node.args.size() == 3 || std::holds_alternative<NoneArg>(node.args[3].value))));
  if (!is_plain || std::ranges::find(kDistances, std::string_view(node.target)) == kDistances.end())
    return false;
  const auto is_few = [&](const Arg& arg) {
    const auto* id = std::get_if<NodeId>(&arg.value);
    const auto maker =
        id == nullptr ? graph.nodes.end() : std::ranges::find(graph.nodes, *id, &Node::id);
    const auto* claim = maker == graph.nodes.end() ? nullptr : maker->claim.tensor();
    const auto points = claim == nullptr || claim->rank() < 2
                            ? std::nullopt
                            : claim->sizes[claim->sizes.size() - 2].as_int();
    return points && *points <= kManyPoints;
  };
  return !is_few(node.args[0]) || !is_few(node.args[1]);
}

auto hidden_roundings(const Node& node, RoundedBy by)
    -> std::vector<std::pair<std::size_t, Hidden>> {
  if (is_bit_view(node)) return {{0, Hidden::bits}};
  if (std::ranges::find(kProducts, std::string_view(node.target)) != kProducts.end())
    return {{0, Hidden::product}};
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
  if (how == Hidden::product) return is_floating(operand.dtype);
  if (how == Hidden::scores) return operand.dtype == DType::float32;
  if (how == Hidden::half) return is_half(operand.dtype);
  // Products of complex numbers are three of real ones.
  return operand.device.type == "cuda" &&
         (operand.dtype == DType::float32 || operand.dtype == DType::complex64);
}

/// GELU is half its operand times 1 + erf(x / sqrt 2), or 1 + tanh of a polynomial, which leaves
/// few digits where that is near 0 (aten/src/ATen/native/cpu/Gelu.h).
constexpr std::array<std::string_view, 3> kGelu = {"aten.gelu.default", "torch._C._nn.gelu",
                                                   "torch.nn.functional.gelu"};

/// The steps of a call in its place, the last one by its name; nothing where it is no such call, or
/// makes halves, which are rounded once.
auto steps_of_gelu(const Node& node, std::int32_t& next_id) -> std::vector<Node> {
  const auto* claim = node.claim.tensor();
  if (std::ranges::find(kGelu, std::string_view(node.target)) == kGelu.end() || claim == nullptr ||
      is_half(claim->dtype) || node.args.empty())
    return {};
  const auto is_tanh = [](const Arg& arg) {
    const auto* text = std::get_if<std::string>(&arg.value);
    return text != nullptr && *text == "tanh";
  };
  const bool by_tanh =
      std::ranges::any_of(node.args, is_tanh) ||
      std::ranges::any_of(node.kwargs, is_tanh, [](const auto& one) { return one.second; });
  std::vector<Node> steps;
  const auto step = [&](std::string_view target, std::vector<Arg> args) {
    auto& made = steps.emplace_back();
    made.id = NodeId{next_id++};
    made.name = fmt::format("{}_step_{}", node.name, steps.size());
    made.target = target;
    made.args = std::move(args);
    made.claim = node.claim;
    return Arg{made.id};
  };
  const auto number = [](double value) { return Arg{Expr::real(value)}; };
  const auto x = node.args[0];
  auto inner = x;
  if (by_tanh) {
    const auto cube = step("aten.pow.Tensor_Scalar", {x, number(3)});
    inner = step("aten.add.Tensor", {x, step("aten.mul.Tensor", {cube, number(0.044715)})});
  }
  using namespace std::numbers;
  inner = step("aten.mul.Tensor", {inner, number(by_tanh ? sqrt2 * inv_sqrtpi : 1 / sqrt2)});
  const auto odd = step(by_tanh ? "aten.tanh.default" : "aten.erf.default", {inner});
  const auto share = step("aten.add.Tensor", {odd, number(1)});
  (void)step("aten.mul.Tensor", {step("aten.mul.Tensor", {x, number(0.5)}), share});
  steps.back().id = node.id;
  steps.back().name = node.name;
  return steps;
}

}  // namespace

auto with_hidden_roundings(const Stage& given, RoundedBy by) -> WithHidden {
  WithHidden result{given, {}, by};
  auto& graph = result.stage.graph->graph;
  const auto& before = given.graph->graph;
  std::vector<Node> nodes;
  const auto copy_of = [&](const Node& node, NodeId id) {
    Node copy;
    copy.id = id;
    copy.name = fmt::format("{}_rounded_{}", node.name, graph.next_id);
    copy.target = "aten.clone.default";
    copy.claim = node.claim;
    return copy;
  };
  for (auto& node : graph.nodes) {
    for (const auto& [operand, how] : hidden_roundings(node, by)) {
      auto* id =
          operand < node.args.size() ? std::get_if<NodeId>(&node.args[operand].value) : nullptr;
      const auto maker =
          id == nullptr ? before.nodes.end() : std::ranges::find(before.nodes, *id, &Node::id);
      if (maker == before.nodes.end()) continue;
      const auto* claim = maker->claim.tensor();
      if (how != Hidden::bits && (claim == nullptr || !applies(how, *claim))) continue;
      auto copy = copy_of(*maker, NodeId{graph.next_id++});
      copy.args = {node.args[operand]};
      *id = copy.id;
      result.copies[copy.id.value] = how;
      nodes.push_back(std::move(copy));
    }
    if (is_distance_of_many(before, node)) {
      node.kind = NodeKind::call_function;
      node.target = "aten._euclidean_dist.default";
      node.args.resize(2);
      node.kwargs.clear();
    }
    if (auto steps = steps_of_gelu(node, graph.next_id); !steps.empty()) {
      std::ranges::move(steps, std::back_inserter(nodes));
      continue;
    }
    nodes.push_back(node);
    if (!is_bit_view(node)) continue;
    // What reads the view reads its copy.
    auto copy = copy_of(node, node.id);
    nodes.back().id = NodeId{graph.next_id++};
    copy.args = {{nodes.back().id}};
    result.copies[copy.id.value] = Hidden::of_bits;
    nodes.push_back(std::move(copy));
  }
  graph.nodes = std::move(nodes);
  return result;
}

auto is_bit_view(const Node& node) -> bool {
  const bool is_view =
      node.kind == NodeKind::call_method
          ? node.target == "view"
          : node.target == "aten.view.dtype" || node.target == "prims.view_of_dtype.default";
  return is_view && node.args.size() == 2 && std::holds_alternative<DType>(node.args[1].value);
}

}  // namespace assay
