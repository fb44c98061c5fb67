#include "replay/interp/chosen_numbers.h"

#include <algorithm>
#include <array>
#include <set>

#include "replay/interp/run.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 4> kAsserts = {"aten._assert_scalar", "aten._assert_async",
                                                      "aten.sym_constrain_range",
                                                      "aten.sym_constrain_range_for_size"};
constexpr std::int64_t kMostNumbers =
    8;  ///< all up to here are tried, then the sizes that are known

auto is_assert(const Node& node) -> bool {
  return std::ranges::any_of(kAsserts, [&](std::string_view one) {
    return node.target == one || (node.target.starts_with(one) && node.target[one.size()] == '.');
  });
}

/// A number, or a tensor of one element.
auto is_single(const Datum& value) -> bool {
  const auto* tensor = value.real();
  return tensor ? tensor->numel() == 1 : value.scalar() != nullptr;
}

auto holds_made_up_integer(const Datum& value, const MadeUp& made_up) -> bool {
  const auto* tensor = value.real();
  return made_up.values && tensor && tensor->numel() == 1 &&
         info(tensor->dtype()).kind == DTypeKind::signed_integer;
}

class Choice {
 public:
  Choice(const Graph& graph, const OpTable& table, RunInputs& inputs)
      : table_(table), inputs_(inputs) {
    std::vector<const Node*> placeholders;
    for (const auto& node : graph.nodes)
      if (node.kind == NodeKind::placeholder) placeholders.push_back(&node);
    std::set<NodeId> kept;
    for (const auto& node : graph.nodes)
      if (is_assert(node) && rests_on_numbers(graph, node, placeholders)) keep(graph, node, kept);
    if (kept.empty()) return;
    for (std::size_t i = 0; i < placeholders.size(); ++i)
      if (kept.contains(placeholders[i]->id) &&
          holds_made_up_integer(inputs.values[i], inputs.made_up[i]))
        free_.push_back(i);
    part_ = graph;
    std::erase_if(part_.nodes, [&](const Node& node) {
      return node.kind != NodeKind::placeholder && !kept.contains(node.id);
    });
  }

  void run() {
    if (free_.empty() || failures() == 0) return;
    std::vector<std::int64_t> numbers;
    for (std::int64_t n = 0; n <= kMostNumbers; ++n) numbers.push_back(n);
    for (const auto& value : inputs_.values)
      if (const auto* scalar = value.scalar(); scalar && scalar->as_int())
        numbers.push_back(*scalar->as_int());
    for (const auto i : free_) choose(i, numbers);
  }

 private:
  [[nodiscard]] auto rests_on_numbers(const Graph& graph, const Node& assertion,
                                      const std::vector<const Node*>& placeholders) const -> bool {
    std::set<NodeId> needed;
    keep(graph, assertion, needed);
    for (std::size_t i = 0; i < placeholders.size(); ++i)
      if (needed.contains(placeholders[i]->id) && !is_single(inputs_.values[i])) return false;
    return std::ranges::none_of(graph.nodes, [&](const Node& node) {
      return node.kind == NodeKind::get_attr && needed.contains(node.id);
    });
  }

  /// The node and all that it is computed from.
  static void keep(const Graph& graph, const Node& node, std::set<NodeId>& kept) {
    if (!kept.insert(node.id).second) return;
    for (const auto id : operands(node))
      if (const auto* operand = graph.find(id)) keep(graph, *operand, kept);
  }

  [[nodiscard]] auto failures() const -> std::ptrdiff_t {
    const auto result = run_graph(part_, inputs_, table_, {});
    return std::ranges::count(result.nodes, NodeStatus::failed, &NodeRun::status);
  }

  void choose(std::size_t input, const std::vector<std::int64_t>& numbers) {
    auto tensor = *inputs_.values[input].real();  // shares its storage
    const auto set = [&](std::int64_t number) {
      from_vector(tensor, std::span<const std::int64_t>(&number, 1));
    };
    auto best = to_vector<std::int64_t>(tensor).front();
    auto fewest = failures();
    for (const auto number : numbers) {
      if (fewest == 0) break;
      set(number);
      if (const auto failed = failures(); failed < fewest) {
        fewest = failed;
        best = number;
      }
    }
    set(best);
  }

  const OpTable& table_;
  RunInputs& inputs_;
  Graph part_;
  std::vector<std::size_t> free_;  ///< positions of inputs that may be changed
};

}  // namespace

auto with_chosen_numbers(Result<RunInputs> inputs, const Graph& graph, const OpTable& table)
    -> Result<RunInputs> {
  if (inputs) Choice(graph, table, *inputs).run();
  return inputs;
}

}  // namespace assay
