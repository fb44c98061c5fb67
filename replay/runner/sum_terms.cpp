#include "replay/runner/sum_terms.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "replay/interp/run.h"
#include "replay/runner/written_places.h"

namespace assay {
namespace {

/// Terms are those of a dimension of an operand (the last but one, or the one that the second
/// argument names), all of its dimensions but the first, or as many as the operand has per element
/// of the result.
/// Of attention those of a score and of an output, features and keys.
enum class Terms : std::uint8_t { inner, along, kernel, reduced, attended };
struct SumRow {
  std::string_view name;
  std::size_t operand;  ///< parameter
  Terms terms;
};
constexpr std::array kSums = {
    SumRow{"aten.mm.default", 1, Terms::inner},
    SumRow{"aten.bmm.default", 1, Terms::inner},
    SumRow{"aten.addmm.default", 2, Terms::inner},
    SumRow{"aten.baddbmm.default", 2, Terms::inner},
    SumRow{"aten.convolution.default", 1, Terms::kernel},
    SumRow{"aten.sum.default", 0, Terms::reduced},
    SumRow{"aten.sum.dim_IntList", 0, Terms::reduced},
    SumRow{"aten.mean.default", 0, Terms::reduced},
    SumRow{"aten.mean.dim", 0, Terms::reduced},
    SumRow{"aten.var.correction", 0, Terms::reduced},
    SumRow{"aten.var_mean.correction", 0, Terms::reduced},
    SumRow{"aten.native_layer_norm.default", 0, Terms::reduced},
    SumRow{"aten._native_batch_norm_legit.default", 0, Terms::reduced},
    SumRow{"aten._native_batch_norm_legit_functional.default", 0, Terms::reduced},
    SumRow{"aten.cumsum.default", 0, Terms::along},
    SumRow{"aten._scaled_dot_product_flash_attention.default", 1, Terms::attended},
    SumRow{"aten._scaled_dot_product_efficient_attention.default", 1, Terms::attended},
    SumRow{"aten._scaled_dot_product_cudnn_attention.default", 1, Terms::attended},
    SumRow{"aten._scaled_dot_product_flash_attention_for_cpu.default", 1, Terms::attended},
    SumRow{"aten._scaled_dot_product_flash_attention_backward.default", 2, Terms::attended},
    SumRow{"aten._scaled_dot_product_efficient_attention_backward.default", 2, Terms::attended},
    SumRow{"aten._scaled_dot_product_cudnn_attention_backward.default", 2, Terms::attended},
    SumRow{"aten._scaled_dot_product_flash_attention_for_cpu_backward.default", 2,
           Terms::attended}};

auto count_of(const Ints& sizes, std::size_t first = 0) -> double {
  double count = 1;
  for (std::size_t d = first; d < sizes.size(); ++d) count *= static_cast<double>(sizes[d]);
  return count;
}

/// The size of the dimension that an argument names.
auto size_along(const Datum& dim, const Ints& sizes) -> double {
  const auto* scalar = dim.scalar();
  const auto known = scalar == nullptr ? std::nullopt : scalar->as_int();
  const auto rank = static_cast<std::int64_t>(sizes.size());
  if (!known || *known < -rank || *known >= rank) return 1;
  return static_cast<double>(sizes[static_cast<std::size_t>(*known < 0 ? *known + rank : *known)]);
}

}  // namespace

auto sum_terms(const Graph& graph, std::size_t at, const std::vector<Datum>& values,
               const OpTable& table) -> SumTerms {
  const auto position = [&](NodeId id) -> std::size_t {
    return static_cast<std::size_t>(std::ranges::find(graph.nodes, id, &Node::id) -
                                    graph.nodes.begin());
  };
  const auto* maker = &graph.nodes[at];
  if (const auto ids = operands(*maker);
      maker->target == "operator.getitem" && !ids.empty() && position(ids[0]) < at)
    maker = &graph.nodes[position(ids[0])];
  const auto* const made = values[at].real();
  const auto* const op = table.find(maker->target);
  if (made == nullptr || op == nullptr) return {};
  const auto args = bound_arguments(*maker, *op, [&](NodeId id) -> const Datum* {
    const auto known = position(id);
    return known < values.size() ? &values[known] : nullptr;
  });
  if (!args) return {};
  if (const auto places = written_places(*op, *args))
    return places->are_added ? SumTerms{static_cast<double>(places->most), true} : SumTerms();
  const auto row = std::ranges::find(kSums, maker->target, &SumRow::name);
  const auto* const operand = row == kSums.end() ? nullptr : (*args)[row->operand].real();
  if (operand == nullptr) return {};
  const auto& sizes = operand->sizes();
  switch (row->terms) {
    case Terms::inner:
      return {sizes.size() < 2 ? 1 : static_cast<double>(sizes[sizes.size() - 2])};
    case Terms::along:
      return {size_along((*args)[1], sizes)};
    case Terms::kernel:
      return {count_of(sizes, 1)};
    case Terms::reduced:
      return {count_of(sizes) / std::max(1.0, count_of(made->sizes()))};
    case Terms::attended:
      return {sizes.size() < 2 ? 1 : static_cast<double>(sizes.back() + sizes[sizes.size() - 2])};
  }
  return {};
}

}  // namespace assay
