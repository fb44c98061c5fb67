// Well-formedness of graphs: every rule that readers, editors and interpreters rely on.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/graph/graph.h"
#include "core/graph/targets.h"

namespace assay {
namespace {

auto is_self_path(std::string_view target) -> bool {
  return !target.empty() && !target.starts_with('.') && !target.ends_with('.') &&
         !target.contains("..");
}

/// Real targets have a handful of parts; more would not read back.
constexpr auto kMostTargetDots = 60;

class Verifier {
 public:
  Verifier(const Graph& graph, std::string place) : graph_(graph), place_(std::move(place)) {}

  auto run() -> std::vector<Defect> {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      positions_.try_emplace(graph_.nodes[i].id.value, i);
    for (position_ = 0; position_ < graph_.nodes.size(); ++position_)
      check_node(graph_.nodes[position_]);
    check_output_is_last();
    check_children();
    return std::move(defects_);
  }

 private:
  template <class... Args>
  void report(const Node& node, fmt::format_string<Args...> text, Args&&... args) {
    defects_.push_back({node.id, place_ + fmt::format("node {}: ", node.name) +
                                     fmt::format(text, std::forward<Args>(args)...)});
  }
  void report_graph(const std::string& message) {
    defects_.push_back({NodeId{}, place_ + message});
  }

  void check_node(const Node& node) {
    check_identity(node);
    check_kind(node);
    for (const auto id : operands(node)) check_operand(node, id);
    std::unordered_set<std::string_view> keys;
    for (const auto& [key, arg] : node.kwargs) {
      if (!keys.insert(key).second) report(node, "keyword argument {} is given twice", key);
      if (!is_identifier(key)) report(node, "\"{}\" is no name of a keyword argument", key);
    }
    for (const auto& arg : node.args) check_arg(node, arg);
    for (const auto& [key, arg] : node.kwargs) check_arg(node, arg);
    check_claim(node, node.claim);
  }

  void check_identity(const Node& node) {
    if (node.id.value < 0) report(node, "has no id");
    if (node.id.value >= graph_.next_id)
      report(node, "id {} is not below next_id {}", node.id.value, graph_.next_id);
    if (positions_.at(node.id.value) != position_)
      report(node, "id {} is used before", node.id.value);
    if (!names_.insert(node.name).second) report(node, "name is used before");
    if (!is_identifier(node.name)) report(node, "name is not a Python identifier");
  }

  void check_kind(const Node& node) {
    if (std::ranges::count(node.target, '.') > kMostTargetDots)
      report(node, "target has more than {} parts", kMostTargetDots);
    const bool has_arguments = !node.args.empty() || !node.kwargs.empty();
    switch (node.kind) {
      case NodeKind::placeholder:
        if (has_arguments) report(node, "placeholder has arguments");
        return check_parameter(node);
      case NodeKind::get_attr:
        if (has_arguments) report(node, "get_attr has arguments");
        if (!is_self_path(node.target)) report(node, "\"{}\" is no attribute path", node.target);
        break;
      case NodeKind::call_function:
        if (node.target.empty()) report(node, "call without a target");
        check_callee(node);
        break;
      case NodeKind::call_method:
        if (!is_identifier(node.target)) report(node, "\"{}\" is no method name", node.target);
        if (node.args.empty() || !std::holds_alternative<NodeId>(node.args[0].value))
          report(node, "method call without a node as its receiver");
        break;
      case NodeKind::call_module:
        if (!is_self_path(node.target)) report(node, "\"{}\" is no module path", node.target);
        break;
      case NodeKind::output:
        check_output(node);
        break;
    }
    body_began_ = true;
  }

  void check_parameter(const Node& node) {
    if (!is_identifier(node.target) && !is_identifier(starless(node.target)))
      report(node, "target \"{}\" is not a parameter name", node.target);
    if (!parameters_.insert(node.target).second)
      report(node, "parameter {} is there twice", node.target);
    if (body_began_) report(node, "placeholder follows other nodes");
  }

  void check_output(const Node& node) {
    if (node.args.size() != 1 || !node.kwargs.empty())
      report(node, "output has {} arguments instead of one", node.args.size() + node.kwargs.size());
    if (position_ + 1 != graph_.nodes.size()) report(node, "output is not the last node");
  }

  /// In Python a node's name hides a function or module of that name.
  void check_callee(const Node& node) {
    const auto callee = python_callee(node.target);
    const auto first = std::string_view(callee).substr(0, callee.find('.'));
    if (!operator_form(node.target) && names_.contains(first))
      report(node, "target \"{}\" is hidden by the node {}", node.target, first);
  }

  static auto starless(std::string_view target) -> std::string_view {
    const auto start = target.find_first_not_of('*');
    return start == std::string_view::npos || start > 2 ? std::string_view{} : target.substr(start);
  }

  void check_operand(const Node& node, NodeId id) {
    const auto it = positions_.find(id.value);
    if (it == positions_.end()) {
      report(node, "refers to unknown node id {}", id.value);
    } else if (it->second >= position_) {
      report(node, "refers to {}, which is not defined before it", graph_.nodes[it->second].name);
    } else if (graph_.nodes[it->second].kind == NodeKind::output) {
      report(node, "refers to the output node");
    }
  }

  void check_arg(const Node& node, const Arg& arg) {
    if (const auto* e = std::get_if<Expr>(&arg.value)) {
      check_expr(node, *e, "argument");
      check_hidden(node, *e);
    }
    if (const auto* sequence = std::get_if<SequenceArg>(&arg.value))
      for (const auto& item : sequence->items) check_arg(node, item);
    if (const auto* dict = std::get_if<DictArg>(&arg.value))
      for (const auto& [key, item] : dict->items) check_arg(node, item);
    if (const auto* slice = std::get_if<SliceArg>(&arg.value)) {
      if (slice->parts.size() != 3) report(node, "slice has {} parts", slice->parts.size());
      for (const auto& part : slice->parts) check_arg(node, part);
    }
  }

  void check_claim(const Node& node, const Claim& claim) {
    if (const auto* scalar = claim.scalar()) check_expr(node, *scalar, "claim");
    if (const auto* items = claim.items())
      for (const auto& item : *items) check_claim(node, item);
    const auto* meta = claim.tensor();
    if (meta == nullptr) return;
    if (meta->sizes.size() != meta->strides.size())
      report(node, "claim has {} sizes but {} strides", meta->sizes.size(), meta->strides.size());
    for (const auto& size : meta->sizes) check_expr(node, size, "claimed size");
    for (const auto& stride : meta->strides) check_expr(node, stride, "claimed stride");
    check_expr(node, meta->offset, "claimed offset");
  }

  /// Names of symbols and functions that read as a node's.
  void check_hidden(const Node& node, const Expr& e) {
    if (names_.contains(e.name()))
      report(node, "{} in an argument is hidden by the node of that name", e.name());
    for (const auto& arg : e.args()) check_hidden(node, arg);
  }

  void check_expr(const Node& node, const Expr& e, std::string_view what) {
    if (!e.is_valid()) report(node, "{} is not a valid expression", what);
    if (e.pool() != nullptr && e.pool() != &graph_.env.pool())
      report(node, "{} belongs to another capture", what);
  }

  void check_output_is_last() {
    const auto outputs = std::count_if(graph_.nodes.begin(), graph_.nodes.end(),
                                       [](const Node& n) { return n.kind == NodeKind::output; });
    if (outputs != 1) report_graph(fmt::format("graph has {} output nodes", outputs));
  }

  void check_children() {
    std::unordered_set<std::string_view> attributes;
    for (const auto& [attribute, child] : graph_.children) {
      if (!attributes.insert(attribute).second)
        report_graph(fmt::format("sub-graph {} is there twice", attribute));
      auto inner = Verifier(child, fmt::format("{}{}: ", place_, attribute)).run();
      std::move(inner.begin(), inner.end(), std::back_inserter(defects_));
    }
  }

  const Graph& graph_;
  std::string place_;
  std::vector<Defect> defects_;
  std::unordered_map<std::int32_t, std::size_t> positions_;
  std::unordered_set<std::string_view> names_;
  std::unordered_set<std::string_view> parameters_;
  std::size_t position_ = 0;
  bool body_began_ = false;
};

}  // namespace

auto verify(const Graph& graph) -> std::vector<Defect> {
  return Verifier(graph, "").run();
}

}  // namespace assay
