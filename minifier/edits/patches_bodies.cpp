// Patches of higher-order operators and of the graphs that they run.
#include <algorithm>
#include <map>

#include "core/expr/text.h"
#include "core/graph/annotation.h"
#include "minifier/edits/patch_families.h"
#include "replay/interp/higher_order.h"

namespace assay {
namespace {

auto unused_name(const Graph& graph, const std::string& wish) -> std::string {
  auto name = wish;
  for (int i = 1; graph.find(name); ++i) name = fmt::format("{}_{}", wish, i);
  return name;
}

/// Operands of the body: what follows the last body among the arguments, lists flattened. Nothing
/// where something else than values of the graph is passed.
auto body_operands(const Graph& graph, const Node& node) -> std::optional<std::vector<Arg>> {
  std::vector<Arg> operands;
  const auto is_body = [&](const Arg& arg) {
    const auto* id = std::get_if<NodeId>(&arg.value);
    const auto* attribute = id ? graph.find(*id) : nullptr;
    return attribute && attribute->kind == NodeKind::get_attr && graph.child(attribute->target);
  };
  const auto last = std::find_if(node.args.rbegin(), node.args.rend(), is_body);
  for (auto it = last.base(); it != node.args.end(); ++it) {
    if (std::holds_alternative<std::string>(it->value)) continue;  // the name of the body
    if (const auto* list = std::get_if<SequenceArg>(&it->value))
      operands.insert(operands.end(), list->items.begin(), list->items.end());
    else
      operands.push_back(*it);
  }
  return operands;
}

/// Claims and numbers of a body, told in the symbols of the graph that it comes into.
class Translator {
 public:
  explicit Translator(ShapeEnv& env) : reader_(env) { reader_.set_offsets_stated(true); }
  auto claim(Claim from) -> Claim {
    from.alias_group = -1;
    auto to = reader_.claim(print_claim(from)).value_or(Claim{});
    const auto noted = apply_claim_notes(claim_notes(from, true), to, reader_);
    return noted ? to : Claim{};
  }
  auto arg(const Arg& from, const std::map<NodeId, Arg>& values) -> std::optional<Arg> {
    if (const auto* id = std::get_if<NodeId>(&from.value)) {
      const auto found = values.find(*id);
      return found == values.end() ? std::nullopt : std::optional(found->second);
    }
    if (const auto* e = std::get_if<Expr>(&from.value); e && !e->is_const()) {
      const auto here = reader_.expr(print_expr(*e));
      return here ? std::optional(Arg{*here}) : std::nullopt;
    }
    if (const auto* list = std::get_if<SequenceArg>(&from.value)) {
      SequenceArg items{{}, list->is_tuple};
      for (const auto& item : list->items) {
        auto here = arg(item, values);
        if (!here) return std::nullopt;
        items.items.push_back(*std::move(here));
      }
      return Arg{std::move(items)};
    }
    return from;
  }
  auto node(const Node& from, const std::map<NodeId, Arg>& values) -> std::optional<Node> {
    Node to = from;
    const auto move_here = [&](Arg& place) {
      auto here = arg(place, values);
      if (!here) return false;
      place = *std::move(here);
      return true;
    };
    if (!std::ranges::all_of(to.args, move_here)) return std::nullopt;
    for (auto& [key, value] : to.kwargs)
      if (!move_here(value)) return std::nullopt;
    to.claim = claim(from.claim);
    return to;
  }

 private:
  ClaimReader reader_;
};

/// Calls and results of a body, told in the values of the graph that it comes into.
struct Translated {
  std::vector<Node> calls;
  std::vector<Arg> results;
};

/// Nothing where the body takes other operands, has bodies itself, or returns no list.
auto translated(Graph& graph, const Graph& body, const std::vector<Arg>& operands)
    -> std::optional<Translated> {
  Translator translate(graph.env);
  Translated result;
  std::map<NodeId, Arg> values;
  for (const auto& inner : body.nodes) {
    if (inner.kind == NodeKind::placeholder) {
      const auto next = values.size();  // placeholders come first
      if (next == operands.size()) return std::nullopt;
      values[inner.id] = operands[next];
      continue;
    }
    if (result.calls.empty() && values.size() != operands.size()) return std::nullopt;
    auto copy = translate.node(inner, values);
    if (!copy) return std::nullopt;
    if (inner.kind == NodeKind::output) {
      const auto* list =
          copy->args.empty() ? nullptr : std::get_if<SequenceArg>(&copy->args[0].value);
      if (!list) return std::nullopt;
      result.results = list->items;
      return result;
    }
    if (inner.kind != NodeKind::call_function) return std::nullopt;
    copy->id = {graph.next_id++};
    copy->name = unused_name(graph, inner.name);
    values[inner.id] = Arg{copy->id};
    result.calls.push_back(*std::move(copy));
  }
  return std::nullopt;
}

/// What each user of the node takes of it; nothing if one takes more than an element.
auto elements_of(const Graph& graph, NodeId id, const std::vector<Arg>& results)
    -> std::optional<std::vector<std::pair<NodeId, Arg>>> {
  std::vector<std::pair<NodeId, Arg>> elements;
  for (const auto& user : graph.nodes) {
    const auto ids = operands(user);
    if (std::ranges::find(ids, id) == ids.end()) continue;
    const auto* index = user.target == "operator.getitem" && user.args.size() == 2
                            ? std::get_if<Expr>(&user.args[1].value)
                            : nullptr;
    const auto at = index ? index->as_int().value_or(-1) : -1;
    if (at < 0 || at >= std::ssize(results)) return std::nullopt;
    elements.emplace_back(user.id, results[static_cast<std::size_t>(at)]);
  }
  return elements;
}

/// Puts the body's calls in front of the node and its results in the place of the node's elements.
auto inline_body(Capture& capture, NodeId id, std::size_t which) -> bool {
  auto& graph = capture.graph;
  const auto* node = graph.find(id);
  if (!node) return false;
  const auto bodies = bodies_of(graph, *node);
  const auto operands = body_operands(graph, *node);
  if (which >= bodies.size() || !operands) return false;
  auto body = translated(graph, Graph(*bodies[which]), *operands);
  if (!body) return false;
  const auto elements = elements_of(graph, id, body->results);
  if (!elements) return false;
  const auto at = std::ranges::find(graph.nodes, id, &Node::id);
  graph.nodes.insert(at, std::make_move_iterator(body->calls.begin()),
                     std::make_move_iterator(body->calls.end()));
  for (const auto& [element, value] : *elements) {
    if (const auto* by = std::get_if<NodeId>(&value.value))
      replace_uses(graph, element, *by);
    else
      replace_uses(graph, element, value);
    erase_node(capture, element);
  }
  erase_node(capture, id);
  return true;
}

}  // namespace

auto inlined_bodies(const Capture& capture) -> std::vector<Patch> {
  std::vector<Patch> patches;
  for (const auto& node : capture.graph.nodes) {
    if (node.kind != NodeKind::call_function || !is_higher_order(node.target)) continue;
    for (std::size_t i = 0; i < bodies_of(capture.graph, node).size(); ++i)
      patches.push_back({fmt::format("{} -> its body {}", node.name, i),
                         [id = node.id, i](Capture& cut) { return inline_body(cut, id, i); }});
  }
  return patches;
}

auto bypasses_in_bodies(const Capture& capture) -> std::vector<Patch> {
  std::vector<Patch> patches;
  for (const auto& [name, body] : capture.graph.children)
    for (const auto& node : body.nodes) {
      const auto by = like_operand(body, node);
      if (!by) continue;
      patches.push_back({fmt::format("{}: {} -> {}", name, node.name, body.find(*by)->name),
                         [name, id = node.id](Capture& cut) {
                           auto& children = cut.graph.children;
                           const auto child = std::ranges::find(
                               children, name, &std::pair<std::string, Graph>::first);
                           if (child == children.end()) return false;
                           auto& graph = child->second;
                           const auto at = std::ranges::find(graph.nodes, id, &Node::id);
                           const auto other =
                               at == graph.nodes.end() ? std::nullopt : like_operand(graph, *at);
                           if (!other) return false;
                           replace_uses(graph, id, *other);
                           graph.nodes.erase(at);
                           return true;
                         }});
    }
  return patches;
}

}  // namespace assay
