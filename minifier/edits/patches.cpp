#include "minifier/edits/patches.h"

#include <algorithm>
#include <array>
#include <set>

#include "minifier/edits/patch_families.h"
#include "minifier/edits/program.h"
#include "replay/interp/symbolic.h"

namespace assay {
namespace {

constexpr std::array kKinds = {
    PatchKind{.name = "bodies", .enumerate = inlined_bodies},
    PatchKind{.name = "calls in bodies", .enumerate = bypasses_in_bodies, .changes_values = true},
    PatchKind{.name = "returned", .enumerate = returned_operands, .changes_values = true},
    PatchKind{.name = "bypass", .enumerate = bypasses, .changes_values = true},
    PatchKind{.name = "views", .enumerate = views_of_operands, .changes_values = true},
    PatchKind{.name = "numbers", .enumerate = constant_numbers, .renews_claims = true},
    PatchKind{.name = "merge inputs", .enumerate = merged_inputs, .changes_values = true},
    PatchKind{.name = "simpler operators", .enumerate = simpler_operators, .changes_values = true},
    PatchKind{.name = "constants", .enumerate = constant_tensors, .changes_values = true},
    PatchKind{.name = "scalars", .enumerate = simpler_scalars, .changes_values = true},
    PatchKind{.name = "layouts",
              .enumerate = contiguous_inputs,
              .changes_values = true,
              .renews_claims = true},
    PatchKind{
        .name = "dtypes", .enumerate = plain_dtypes, .changes_values = true, .renews_claims = true},
    PatchKind{.name = "requires_grad", .enumerate = without_gradients},
    PatchKind{.name = "guards", .enumerate = fewer_guards},
    PatchKind{.name = "zeros", .enumerate = zeros, .changes_values = true},
    PatchKind{.name = "ones", .enumerate = ones, .changes_values = true},
    PatchKind{.name = "one-hot", .enumerate = one_hot, .changes_values = true},
    PatchKind{.name = "counting", .enumerate = counting, .changes_values = true},
};

/// An output that is an input says nothing; at least one call must be returned.
auto clean_output(Capture& capture) -> bool {
  auto& nodes = capture.graph.nodes;
  if (nodes.empty() || nodes.back().kind != NodeKind::output || nodes.back().args.empty())
    return false;
  auto* items = std::get_if<SequenceArg>(&nodes.back().args[0].value);
  if (!items) return true;
  std::set<std::int32_t> seen;
  std::erase_if(items->items, [&](const Arg& item) {
    const auto* id = std::get_if<NodeId>(&item.value);
    const auto* node = id ? capture.graph.find(*id) : nullptr;
    return !node || node->kind == NodeKind::placeholder || !seen.insert(id->value).second;
  });
  return !items->items.empty();
}

void drop_unused_inputs(Capture& capture) {
  std::vector<NodeId> unused;
  for (const auto& node : capture.graph.nodes)
    if ((node.kind == NodeKind::placeholder || node.kind == NodeKind::get_attr) &&
        !is_used(capture.graph, node.id))
      unused.push_back(node.id);
  for (const auto id : unused) erase_node(capture, id);
}

/// Bodies that no call names any more.
void drop_unused_bodies(Graph& graph) {
  std::erase_if(graph.children, [&](const auto& child) {
    return std::ranges::none_of(graph.nodes, [&](const Node& node) {
      return node.kind == NodeKind::get_attr && node.target == child.first;
    });
  });
}

}  // namespace

auto patch_kinds() -> std::span<const PatchKind> {
  return kKinds;
}

auto honest_calls(const Graph& graph, const OpTable& table) -> std::set<NodeId> {
  const auto judged = run_symbolic(graph, table, {.samples = 4});
  std::set<NodeId> honest;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (judged.nodes[i].verdict == ClaimVerdict::equal ||
        judged.nodes[i].verdict == ClaimVerdict::equal_sampled)
      honest.insert(graph.nodes[i].id);
  return honest;
}

void renew_true_claims(const Graph& before, Graph& after, const OpTable& table) {
  const auto honest = honest_calls(before, table);
  renew_claims(after, table, [&](NodeId id) { return honest.contains(id); });
}

/// Points every use of one value at another.
void replace_uses(Graph& graph, NodeId from, NodeId to) {
  for (auto& node : graph.nodes) {
    const auto redirect = [&](NodeId& id) {
      if (id == from) id = to;
    };
    for (auto& arg : node.args) visit_refs(arg, redirect);
    for (auto& [key, arg] : node.kwargs) visit_refs(arg, redirect);
  }
}

void replace_uses(Graph& graph, NodeId from, const Arg& literal) {
  const auto replace = [&](auto& self, Arg& arg) -> void {
    if (const auto* id = std::get_if<NodeId>(&arg.value); id && *id == from) arg = literal;
    if (auto* list = std::get_if<SequenceArg>(&arg.value))
      for (auto& item : list->items) self(self, item);
    if (auto* slice = std::get_if<SliceArg>(&arg.value))
      for (auto& part : slice->parts) self(self, part);
    if (auto* dict = std::get_if<DictArg>(&arg.value))
      for (auto& [key, item] : dict->items) self(self, item);
  };
  for (auto& node : graph.nodes) {
    for (auto& arg : node.args) replace(replace, arg);
    for (auto& [key, arg] : node.kwargs) replace(replace, arg);
  }
}

auto is_used(const Graph& graph, NodeId id) -> bool {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    const auto ids = operands(node);
    return std::ranges::find(ids, id) != ids.end();
  });
}

void erase_node(Capture& capture, NodeId id) {
  auto& nodes = capture.graph.nodes;
  std::size_t input = 0;
  for (auto it = nodes.begin(); it != nodes.end(); ++it) {
    const bool is_input = it->kind == NodeKind::placeholder;
    if (it->id == id) {
      if (is_input && input < capture.inputs.size())
        capture.inputs.erase(capture.inputs.begin() + static_cast<std::ptrdiff_t>(input));
      nodes.erase(it);
      capture.observed.erase(id);
      return;
    }
    if (is_input) ++input;
  }
}

auto same_layout(const Node& a, const Node& b) -> bool {
  const auto* x = a.claim.tensor();
  const auto* y = b.claim.tensor();
  if (!x || !y) return false;
  auto left = *x;
  left.requires_grad = y->requires_grad;
  return left == *y;
}

auto like_operand(const Graph& graph, const Node& node) -> std::optional<NodeId> {
  if (node.kind != NodeKind::call_function) return std::nullopt;
  for (const auto id : operands(node))
    if (const auto* operand = graph.find(id); operand && same_layout(node, *operand)) return id;
  return std::nullopt;
}

auto input_position(const Graph& graph, NodeId id) -> int {
  int position = 0;
  for (const auto& node : graph.nodes) {
    if (node.kind != NodeKind::placeholder) continue;
    if (node.id == id) return position;
    ++position;
  }
  return -1;
}

auto fewer_guards(const Capture& capture) -> std::vector<Patch> {
  std::vector<Patch> patches;
  for (const auto& guard : capture.graph.env.guards())
    patches.push_back({"without guard " + guard.text, [text = guard.text](Capture& cut) {
                         ShapeEnv env = cut.graph.env;
                         const auto guards = env.guards();
                         auto mark = env.mark();
                         mark.guards = 0;
                         env.rollback(mark);
                         bool dropped = false;
                         for (const auto& old : guards) {
                           if (!dropped && old.text == text)
                             dropped = true;
                           else
                             env.add_guard(old);
                         }
                         cut.graph.env = std::move(env);
                         return dropped;
                       }});
  return patches;
}

auto apply_patches(const Capture& capture, const PatchKind& kind, const std::vector<Patch>& patches,
                   const std::vector<int>& withheld, const OpTable& table)
    -> std::optional<Capture> {
  Capture cut = capture;
  int applied = 0;
  auto next = withheld.begin();
  for (std::size_t i = 0; i < patches.size(); ++i) {
    if (next != withheld.end() && *next == static_cast<int>(i)) {
      ++next;
      continue;
    }
    applied += patches[i].apply(cut) ? 1 : 0;
  }
  if (applied == 0 || !clean_output(cut)) return std::nullopt;
  drop_unused_inputs(cut);
  drop_unused_bodies(cut.graph);
  if (kind.renews_claims) renew_true_claims(capture.graph, cut.graph, table);
  if (kind.changes_values || kind.renews_claims) {
    cut.observed.clear();
    cut.mutated_inputs.reset();
  }
  drop_unused_symbols(cut);
  give_symbols(cut, capture, [&] { return sizes_of(capture, table); });
  return cut;
}

auto count_refusals(const Capture& capture, const OpTable& table) -> int {
  const auto run = run_symbolic(capture.graph, table, {.samples = 1});
  return static_cast<int>(
      std::ranges::count(run.nodes, ClaimVerdict::fails, &SymbolicNode::verdict));
}

auto is_sound(const Capture& capture, const OpTable& table, int refusals) -> bool {
  return verify(capture.graph).empty() && count_refusals(capture, table) <= refusals;
}

}  // namespace assay
