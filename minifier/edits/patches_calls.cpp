// Patches of calls: other operands, other operators, numbers and tensors that are constants.
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "core/expr/text.h"
#include "minifier/edits/patch_families.h"

namespace assay {
namespace {

/// An operator that a simpler one of the same layout may stand in for, on the first operands.
struct Simpler {
  std::string_view target;
  std::string_view by;
  std::size_t operands;
};
constexpr std::array kSimpler = {
    Simpler{"aten.gelu.default", "aten.relu.default", 1},
    Simpler{"aten.silu.default", "aten.relu.default", 1},
    Simpler{"aten.tanh.default", "aten.relu.default", 1},
    Simpler{"aten.sigmoid.default", "aten.relu.default", 1},
    Simpler{"aten.erf.default", "aten.relu.default", 1},
    Simpler{"aten.exp.default", "aten.relu.default", 1},
    Simpler{"aten.sin.default", "aten.relu.default", 1},
    Simpler{"aten.cos.default", "aten.relu.default", 1},
    Simpler{"aten.rsqrt.default", "aten.relu.default", 1},
    Simpler{"aten._softmax.default", "aten.exp.default", 1},
    Simpler{"aten._log_softmax.default", "aten.exp.default", 1},
    Simpler{"aten.sub.Tensor", "aten.add.Tensor", 2},
    Simpler{"aten.div.Tensor", "aten.add.Tensor", 2},
    Simpler{"aten.mul.Tensor", "aten.add.Tensor", 2},
    Simpler{"aten.maximum.default", "aten.add.Tensor", 2},
    Simpler{"aten.minimum.default", "aten.add.Tensor", 2},
};

/// Operators that only look at their operand otherwise, or look at nothing.
constexpr std::array<std::string_view, 6> kPlain = {
    "aten.view.default",    "aten.expand.default", "aten.slice.Tensor",
    "aten.reshape.default", "aten.full.default",   "aten._unsafe_view.default"};

auto is_plain(const Node& node) -> bool {
  return std::ranges::find(kPlain, node.target) != kPlain.end();
}

auto list_of(const Dims& sizes) -> Arg {
  SequenceArg sequence;
  for (const auto& size : sizes) sequence.items.push_back(Arg{size});
  return {std::move(sequence)};
}

/// Symbolic sizes can be written only as "whatever is left".
auto view_sizes(const TensorMeta& meta) -> std::optional<Dims> {
  auto sizes = meta.sizes;
  if (std::ranges::count_if(sizes, [](const Expr& e) { return !e.is_const(); }) > 1)
    return std::nullopt;
  for (auto& size : sizes)
    if (!size.is_const()) size = -1;
  return sizes;
}

auto elements(const TensorMeta& meta) -> Expr {
  Expr count = 1;
  for (const auto& size : meta.sizes) count = count * size;
  return count;
}

/// A call of a view operator on one operand.
struct ViewCall {
  std::string_view target;
  std::vector<Arg> args;  ///< behind the operand
};

auto as_view(const TensorMeta& to, const TensorMeta& from) -> std::optional<ViewCall> {
  const bool both_dense =
      to.strides == contiguous_strides(to.sizes) && from.strides == contiguous_strides(from.sizes);
  const auto sizes = view_sizes(to);
  if (!both_dense || !sizes || to.offset != from.offset || elements(to) != elements(from))
    return std::nullopt;
  return ViewCall{"aten.view.default", {list_of(*sizes)}};
}

auto as_expand(const TensorMeta& to, const TensorMeta& from) -> std::optional<ViewCall> {
  if (to.rank() < from.rank() || to.offset != from.offset) return std::nullopt;
  Dims sizes = to.sizes;
  const auto added = to.sizes.size() - from.sizes.size();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const bool kept = i >= added && from.sizes[i - added] == to.sizes[i];
    const bool repeated = i < added || from.sizes[i - added].is_int(1);
    if (!kept && !repeated) return std::nullopt;
    if (to.strides[i] != (kept ? from.strides[i - added] : Expr(0))) return std::nullopt;
    if (kept) sizes[i] = -1;
    if (!sizes[i].is_const()) return std::nullopt;
  }
  return ViewCall{"aten.expand.default", {list_of(sizes)}};
}

auto as_slice(const TensorMeta& to, const TensorMeta& from) -> std::optional<ViewCall> {
  if (to.strides != from.strides || to.offset != from.offset) return std::nullopt;
  std::optional<std::size_t> dim;
  for (std::size_t i = 0; i < to.sizes.size(); ++i) {
    if (to.sizes[i] == from.sizes[i]) continue;
    const auto small = to.sizes[i].as_int();
    const auto large = from.sizes[i].as_int();
    if (dim || !small || !large || *small > *large) return std::nullopt;
    dim = i;
  }
  if (!dim) return std::nullopt;
  return ViewCall{"aten.slice.Tensor",
                  {Arg{Expr(static_cast<std::int64_t>(*dim))}, Arg{Expr(0)}, Arg{to.sizes[*dim]}}};
}

auto view_between(const Node& node, const Node& operand) -> std::optional<ViewCall> {
  const auto* to = node.claim.tensor();
  const auto* from = operand.claim.tensor();
  if (!to || !from || to->dtype != from->dtype || to->device != from->device) return std::nullopt;
  for (const auto make : {as_view, as_expand, as_slice})
    if (auto call = make(*to, *from)) return call;
  return std::nullopt;
}

/// A node that has a storage of its own now. What is a view of it claims the old one no longer.
void leave_alias_group(Graph& graph, NodeId id) {
  const int group = std::exchange(graph.find(id)->claim.alias_group, -1);
  std::set<NodeId> left{id};
  for (auto& node : graph.nodes) {
    const auto ids = operands(node);
    const bool reads = std::ranges::any_of(ids, [&](NodeId x) { return left.contains(x); });
    if (!reads || group < 0 || node.claim.alias_group != group) continue;
    node.claim.alias_group = -1;
    left.insert(node.id);
  }
}

auto returned_items(Graph& graph) -> SequenceArg* {
  auto& nodes = graph.nodes;
  if (nodes.empty() || nodes.back().kind != NodeKind::output || nodes.back().args.empty())
    return nullptr;
  return std::get_if<SequenceArg>(&nodes.back().args[0].value);
}

/// Operands that are calls, of a call that is returned once and used nowhere else.
auto calls_behind(const Graph& graph, const Node& node) -> std::vector<NodeId> {
  const auto* output = graph.output();
  if (node.kind != NodeKind::call_function || output == nullptr || output->args.empty()) return {};
  const auto* items = std::get_if<SequenceArg>(&output->args[0].value);
  if (items == nullptr || std::ranges::count(items->items, Arg{node.id}) != 1) return {};
  for (const auto& user : graph.nodes)
    if (user.kind != NodeKind::output && std::ranges::count(operands(user), node.id) > 0) return {};
  std::vector<NodeId> calls;
  for (const auto id : operands(node)) {
    const auto* operand = graph.find(id);
    if (operand != nullptr && operand->kind == NodeKind::call_function && operand->claim.tensor() &&
        std::ranges::find(calls, id) == calls.end())
      calls.push_back(id);
  }
  return calls;
}

}  // namespace

auto bypasses(const Capture& capture) -> std::vector<Patch> {
  std::vector<Patch> patches;
  for (const auto& node : capture.graph.nodes)
    if (const auto by = like_operand(capture.graph, node))
      patches.push_back({fmt::format("{} -> {}", node.name, capture.graph.find(*by)->name),
                         [id = node.id](Capture& cut) {
                           const auto* found = cut.graph.find(id);
                           const auto other =
                               found ? like_operand(cut.graph, *found) : std::nullopt;
                           if (!other) return false;
                           replace_uses(cut.graph, id, *other);
                           erase_node(cut, id);
                           return true;
                         }});
  return patches;
}

auto returned_operands(const Capture& capture) -> std::vector<Patch> {
  std::vector<Patch> patches;
  for (const auto& node : capture.graph.nodes)
    if (const auto by = calls_behind(capture.graph, node); !by.empty())
      patches.push_back({fmt::format("{} operands of {} returned", by.size(), node.name),
                         [id = node.id](Capture& cut) {
                           const auto* found = cut.graph.find(id);
                           const auto parts =
                               found ? calls_behind(cut.graph, *found) : std::vector<NodeId>{};
                           if (parts.empty()) return false;
                           auto& items = returned_items(cut.graph)->items;
                           const auto at = std::ranges::find(items, Arg{id});
                           for (auto to = items.erase(at); const auto part : parts)
                             if (std::ranges::find(items, Arg{part}) == items.end())
                               to = items.insert(to, Arg{part}) + 1;
                           erase_node(cut, id);
                           return true;
                         }});
  return patches;
}

auto views_of_operands(const Capture& capture) -> std::vector<Patch> {
  std::vector<Patch> patches;
  for (const auto& node : capture.graph.nodes) {
    if (node.kind != NodeKind::call_function || is_plain(node)) continue;
    for (const auto id : operands(node)) {
      const auto* operand = capture.graph.find(id);
      const auto view = operand ? view_between(node, *operand) : std::nullopt;
      if (!view) continue;
      patches.push_back({fmt::format("{} -> {} of {}", node.name, view->target, operand->name),
                         [id = node.id, by = id](Capture& cut) {
                           auto* found = cut.graph.find(id);
                           const auto* base = cut.graph.find(by);
                           auto call = found && base ? view_between(*found, *base) : std::nullopt;
                           if (!call) return false;
                           found->target = call->target;
                           found->args = {Arg{by}};
                           std::ranges::move(call->args, std::back_inserter(found->args));
                           found->kwargs.clear();
                           found->claim.alias_group = base->claim.alias_group;
                           return true;
                         }});
      break;
    }
  }
  return patches;
}

auto constant_numbers(const Capture& capture) -> std::vector<Patch> {
  std::vector<Patch> patches;
  const auto hints = capture.graph.env.hints();
  for (const auto& node : capture.graph.nodes) {
    const auto* claim = node.claim.scalar();
    if (!claim || node.kind != NodeKind::call_function) continue;
    const auto seen = capture.observed.find(node.id);
    auto value = evaluate(*claim, hints);
    if (seen != capture.observed.end())
      if (const auto& scalar = seen->second.scalar) value = *scalar;
    if (!value) continue;
    patches.push_back({fmt::format("{} -> {}", node.name, print_expr(*value)),
                       [id = node.id, value = *value](Capture& cut) {
                         if (!cut.graph.find(id)) return false;
                         replace_uses(cut.graph, id, Arg{value});
                         erase_node(cut, id);
                         return true;
                       }});
  }
  return patches;
}

auto constant_tensors(const Capture& capture) -> std::vector<Patch> {
  std::vector<Patch> patches;
  for (const auto& node : capture.graph.nodes) {
    const auto* meta = node.claim.tensor();
    if (node.kind != NodeKind::call_function || !meta || operands(node).empty() ||
        meta->strides != contiguous_strides(meta->sizes) || !meta->offset.is_int(0) ||
        !std::ranges::all_of(meta->sizes, &Expr::is_const))
      continue;
    patches.push_back({node.name + " -> full of ones", [id = node.id](Capture& cut) {
                         auto* found = cut.graph.find(id);
                         const auto* claim = found ? found->claim.tensor() : nullptr;
                         if (!claim) return false;
                         found->target = "aten.full.default";
                         found->args = {list_of(claim->sizes), Arg{Expr(1)}};
                         found->kwargs = {{"dtype", Arg{claim->dtype}},
                                          {"layout", Arg{Layout::strided}},
                                          {"device", Arg{claim->device}},
                                          {"pin_memory", Arg{Expr::boolean(false)}}};
                         leave_alias_group(cut.graph, id);
                         return true;
                       }});
  }
  return patches;
}

auto simpler_operators(const Capture& capture) -> std::vector<Patch> {
  std::vector<Patch> patches;
  for (const auto& node : capture.graph.nodes) {
    const auto* row = std::ranges::find(kSimpler, node.target, &Simpler::target);
    if (row == kSimpler.end() || node.args.size() < row->operands) continue;
    patches.push_back({fmt::format("{}: {} -> {}", node.name, row->target, row->by),
                       [id = node.id, row](Capture& cut) {
                         auto* found = cut.graph.find(id);
                         if (!found || found->target != row->target) return false;
                         found->target = std::string(row->by);
                         found->args.resize(row->operands);
                         found->kwargs.clear();
                         return true;
                       }});
  }
  return patches;
}

auto simpler_scalars(const Capture& capture) -> std::vector<Patch> {
  std::vector<Patch> patches;
  for (const auto& node : capture.graph.nodes) {
    if (node.kind != NodeKind::call_function) continue;
    for (std::size_t i = 0; i < node.args.size(); ++i) {
      const auto* e = std::get_if<Expr>(&node.args[i].value);
      const auto value = e ? e->as_real() : std::nullopt;
      if (!value || *value == 0 || *value == 1) continue;
      patches.push_back(
          {fmt::format("{}: {} -> 1.0", node.name, *value), [id = node.id, i](Capture& cut) {
             auto* found = cut.graph.find(id);
             if (!found || i >= found->args.size()) return false;
             found->args[i] = Arg{Expr::real(1)};
             return true;
           }});
    }
  }
  return patches;
}

}  // namespace assay
