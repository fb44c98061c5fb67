// Presence of named nodes: the failure of benchmarks, whose answer is known.
#include <algorithm>

#include "minifier/oracle/oracle.h"

namespace assay {
namespace {

class NodeOracle final : public Oracle {
 public:
  NodeOracle(std::vector<std::string> nodes, bool chain)
      : nodes_(std::move(nodes)), chain_(chain) {}

  [[nodiscard]] auto identity() const -> std::string override {
    return fmt::format("node{} {}", chain_ ? " chain" : "", fmt::join(nodes_, ","));
  }

  [[nodiscard]] auto judge(std::span<const Candidate> candidates, const OracleLimits&)
      -> std::vector<Observed> override {
    std::vector<Observed> answers;
    for (const auto& candidate : candidates) {
      Observed answer;
      if (is_there(candidate)) {
        answer.outcome = Outcome::fails;
        answer.signature = {.stage = "node", .error_class = "present"};
      }
      answers.push_back(std::move(answer));
    }
    return answers;
  }

 private:
  [[nodiscard]] auto is_there(const Candidate& candidate) const -> bool {
    if (const auto* program = candidate.program())
      return is_there(program->graph(),
                      [&](std::size_t at) { return candidate.selection().keep[at]; });
    const auto capture = candidate.capture();
    const auto& nodes = capture.graph.nodes;
    return is_there(capture.graph,
                    [&](std::size_t at) { return nodes[at].kind == NodeKind::call_function; });
  }

  template <class IsCall>
  [[nodiscard]] auto is_there(const Graph& graph, const IsCall& is_call) const -> bool {
    std::vector<std::size_t> places;
    for (const auto& name : nodes_) {
      const auto found = std::ranges::find(graph.nodes, name, &Node::name);
      const auto at = static_cast<std::size_t>(found - graph.nodes.begin());
      if (found == graph.nodes.end() || !is_call(at)) return false;
      places.push_back(at);
    }
    for (std::size_t i = 0; chain_ && i + 1 < places.size(); ++i)
      if (!reaches(graph, is_call, places[i], places[i + 1])) return false;
    return true;
  }

  /// Through calls that are kept.
  template <class IsCall>
  static auto reaches(const Graph& graph, const IsCall& is_call, std::size_t from, std::size_t to)
      -> bool {
    std::vector<bool> reached(static_cast<std::size_t>(std::max(graph.next_id, 0)), false);
    const auto mark = [&](const Node& node) -> std::vector<bool>::reference {
      return reached[static_cast<std::size_t>(node.id.value)];
    };
    mark(graph.nodes[from]) = true;
    for (auto i = from + 1; i <= to; ++i) {
      const auto& node = graph.nodes[i];
      if (!is_call(i)) continue;
      for (const auto id : operands(node))
        if (reached[static_cast<std::size_t>(id.value)]) mark(node) = true;
    }
    return mark(graph.nodes[to]);
  }

  std::vector<std::string> nodes_;
  bool chain_;
};

}  // namespace

auto node_oracle(std::vector<std::string> nodes, bool chain) -> std::unique_ptr<Oracle> {
  return std::make_unique<NodeOracle>(std::move(nodes), chain);
}

}  // namespace assay
