#include "replay/interp/block_tables.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace assay {
namespace {

/// Members of the tuple (query length, key length, ...) of torch.nn.attention.flex_attention: for
/// each block how many others are listed, and which; of those that are masked and of full ones.
enum class Table : std::uint8_t { none, counts, blocks, full };
constexpr std::array kMembers = {Table::none, Table::none, Table::counts, Table::blocks,
                                 Table::full, Table::full, Table::counts, Table::blocks,
                                 Table::full, Table::full};

struct Place {
  Table table = Table::none;
  const Node* blocks = nullptr;  ///< of counts: the table that is counted
};
auto place_of(const Graph& graph, NodeId input) -> Place {
  for (const auto& node : graph.nodes) {
    if (!node.target.starts_with("higher_order.flex_attention")) continue;
    for (const auto& arg : node.args) {
      const auto* tuple = std::get_if<SequenceArg>(&arg.value);
      if (tuple == nullptr || tuple->items.size() <= kMembers.size()) continue;
      for (std::size_t i = 0; i < kMembers.size(); ++i) {
        const auto* id = std::get_if<NodeId>(&tuple->items[i].value);
        if (id == nullptr || *id != input) continue;
        const auto* next = std::get_if<NodeId>(&tuple->items[i + 1].value);
        return {kMembers[i], next ? graph.find(*next) : nullptr};
      }
    }
  }
  return {};
}

}  // namespace

auto fill_block_table(const Graph& graph, const Binding& sizes, NodeId input, Tensor& tensor)
    -> bool {
  const auto place = place_of(graph, input);
  if (place.table == Table::none) return false;
  std::vector<std::int64_t> values(static_cast<std::size_t>(tensor.numel()), 0);
  if (place.table == Table::counts) {
    const auto* blocks = place.blocks ? place.blocks->claim.tensor() : nullptr;
    if (blocks == nullptr || blocks->rank() == 0) return false;
    const auto most = evaluate(blocks->sizes.back(), sizes);
    if (!most || !most->as_int()) return false;
    std::ranges::fill(values, *most->as_int());
  } else if (place.table == Table::blocks && !tensor.sizes().empty()) {
    const auto row = static_cast<std::size_t>(std::max<std::int64_t>(tensor.sizes().back(), 1));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i % row);
  }
  from_vector(tensor, std::span<const std::int64_t>(values));
  return true;
}

}  // namespace assay
