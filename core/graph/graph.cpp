// Lookup, growth and traversal of graphs.
#include "core/graph/graph.h"

#include <algorithm>

#include "core/base/check.h"

namespace assay {

ArgValue::ArgValue() noexcept = default;
ArgValue::ArgValue(const ArgValue& other) = default;
ArgValue::ArgValue(ArgValue&& other) noexcept = default;
auto ArgValue::operator=(const ArgValue& other) -> ArgValue& = default;
auto ArgValue::operator=(ArgValue&& other) noexcept -> ArgValue& = default;
ArgValue::~ArgValue() = default;

ClaimValue::ClaimValue() noexcept = default;
ClaimValue::ClaimValue(const ClaimValue& other) = default;
ClaimValue::ClaimValue(ClaimValue&& other) noexcept = default;
auto ClaimValue::operator=(const ClaimValue& other) -> ClaimValue& = default;
auto ClaimValue::operator=(ClaimValue&& other) noexcept -> ClaimValue& = default;
ClaimValue::~ClaimValue() = default;

Node::Node() = default;
Node::Node(const Node& other) = default;
Node::Node(Node&& other) noexcept = default;
auto Node::operator=(const Node& other) -> Node& = default;
auto Node::operator=(Node&& other) noexcept -> Node& = default;
Node::~Node() = default;

Graph::Graph() = default;
Graph::Graph(const Graph& other) = default;
Graph::Graph(Graph&& other) noexcept = default;
auto Graph::operator=(const Graph& other) -> Graph& = default;
auto Graph::operator=(Graph&& other) noexcept -> Graph& = default;
Graph::~Graph() = default;
namespace {

template <class ArgType, class Visit>
void visit_all(ArgType& arg, const Visit& visit);

template <class Items, class Visit>
void visit_items(Items& items, const Visit& visit) {
  for (auto& item : items) visit_all(item, visit);
}

/// One walk for const and mutable arguments.
template <class ArgType, class Visit>
void visit_all(ArgType& arg, const Visit& visit) {
  if (auto* id = std::get_if<NodeId>(&arg.value)) {
    visit(*id);
  } else if (auto* sequence = std::get_if<SequenceArg>(&arg.value)) {
    visit_items(sequence->items, visit);
  } else if (auto* slice = std::get_if<SliceArg>(&arg.value)) {
    visit_items(slice->parts, visit);
  } else if (auto* dict = std::get_if<DictArg>(&arg.value)) {
    for (auto& [key, item] : dict->items) visit_all(item, visit);
  }
}

/// Position of the node with that id, -1 if there is none. Ids grow along the list until somebody
/// edits it, and removals only move nodes forward, so the search starts at the id and goes back.
auto position_of(const std::vector<Node>& nodes, NodeId id) -> std::ptrdiff_t {
  const auto count = static_cast<std::ptrdiff_t>(nodes.size());
  if (id.value < 0 || count == 0) return -1;
  const auto start = std::min<std::ptrdiff_t>(id.value, count - 1);
  for (auto i = start; i >= 0; --i)
    if (nodes[static_cast<std::size_t>(i)].id == id) return i;
  for (auto i = start + 1; i < count; ++i)
    if (nodes[static_cast<std::size_t>(i)].id == id) return i;
  return -1;
}

}  // namespace

auto operator==(const SequenceArg& a, const SequenceArg& b) -> bool {
  return a.is_tuple == b.is_tuple && a.items == b.items;
}
auto operator==(const SliceArg& a, const SliceArg& b) -> bool {
  return a.parts == b.parts;
}
auto operator==(const DictArg& a, const DictArg& b) -> bool {
  return a.items == b.items;
}

auto Graph::add(Node node) -> NodeId {
  if (node.id.value < 0) {
    node.id.value = next_id++;
  } else {
    next_id = std::max(next_id, node.id.value + 1);
  }
  nodes.push_back(std::move(node));
  return nodes.back().id;
}

auto Graph::find(NodeId id) const -> const Node* {
  const auto position = position_of(nodes, id);
  return position < 0 ? nullptr : &nodes[static_cast<std::size_t>(position)];
}

auto Graph::find(NodeId id) -> Node* {
  const auto position = position_of(nodes, id);
  return position < 0 ? nullptr : &nodes[static_cast<std::size_t>(position)];
}

auto Graph::find(std::string_view name) const -> const Node* {
  for (const auto& node : nodes)
    if (node.name == name) return &node;
  return nullptr;
}

auto Graph::output() const -> const Node* {
  // Well-formed graphs have it last; the search serves graphs that are being edited.
  const auto it = std::find_if(nodes.rbegin(), nodes.rend(),
                               [](const Node& n) { return n.kind == NodeKind::output; });
  return it == nodes.rend() ? nullptr : &*it;
}

auto Graph::child(std::string_view attribute) const -> const Graph* {
  for (const auto& [name, graph] : children)
    if (name == attribute) return &graph;
  return nullptr;
}

auto Graph::call_count() const -> int {
  return static_cast<int>(std::count_if(nodes.begin(), nodes.end(), [](const Node& n) {
    return n.kind != NodeKind::placeholder && n.kind != NodeKind::output;
  }));
}

void visit_refs(Arg& arg, const std::function<void(NodeId&)>& f) {
  visit_all(arg, f);
}
void visit_refs(const Arg& arg, const std::function<void(NodeId)>& f) {
  visit_all(arg, f);
}

auto operands(const Node& node) -> std::vector<NodeId> {
  std::vector<NodeId> ids;
  const auto collect = [&ids](NodeId id) { ids.push_back(id); };
  for (const auto& arg : node.args) visit_all(arg, collect);
  for (const auto& [name, arg] : node.kwargs) visit_all(arg, collect);
  return ids;
}

}  // namespace assay
