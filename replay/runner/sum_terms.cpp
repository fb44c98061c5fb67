#include "replay/runner/sum_terms.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "core/ops/pointwise.h"

namespace assay {
namespace {

/// Terms are those of a dimension of an operand (the last but one, or the one that an argument
/// names), all of its dimensions but the first, as many as the operand has per element of the
/// result, or as often as one place is among indices.
enum class Terms : std::uint8_t { inner, along, kernel, reduced, placed };
struct SumRow {
  std::string_view name;
  std::size_t operand;  ///< among those that are tensors
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
    SumRow{"aten.scatter_add.default", 1, Terms::along},
    SumRow{"aten.scatter_reduce.two", 1, Terms::along},
    SumRow{"aten.index_add.default", 1, Terms::placed},
    SumRow{"aten.index_put.default", 1, Terms::placed},
    SumRow{"aten._unsafe_index_put.default", 1, Terms::placed},
    SumRow{"aten.embedding_dense_backward.default", 1, Terms::placed}};

auto count_of(const Ints& sizes, std::size_t first = 0) -> double {
  double count = 1;
  for (std::size_t d = first; d < sizes.size(); ++d) count *= static_cast<double>(sizes[d]);
  return count;
}

/// The size of the dimension that the second argument names.
auto size_along(const Node& node, const Ints& sizes) -> double {
  const auto* dim = node.args.size() < 2 ? nullptr : std::get_if<Expr>(&node.args[1].value);
  const auto known = dim == nullptr ? std::nullopt : dim->as_int();
  const auto rank = static_cast<std::int64_t>(sizes.size());
  if (!known || *known < -rank || *known >= rank) return 1;
  return static_cast<double>(sizes[static_cast<std::size_t>(*known < 0 ? *known + rank : *known)]);
}

/// How often the place that is most often there is among the elements of indices, which are as many
/// as `all` where they are repeated. Only of several tensors of indices together a place is one.
auto most_often(const Tensor& indices, double all) -> double {
  std::map<double, double> counts;
  double most = 0;
  for (const auto place : to_vector<double>(indices)) most = std::max(most, ++counts[place]);
  return most * all / std::max(1.0, count_of(indices.sizes()));
}
auto most_often(const std::vector<const Tensor*>& indices) -> double {
  std::optional<Ints> together = Ints();
  for (const auto* one : indices) {
    together = common_sizes(*together, one->sizes());
    if (!together) return 1;
  }
  double least = count_of(*together);
  for (const auto* one : indices) least = std::min(least, most_often(*one, count_of(*together)));
  return least;
}

}  // namespace

auto sum_terms(const Graph& graph, std::size_t at, const std::vector<Datum>& values) -> double {
  const auto position = [&](NodeId id) -> std::size_t {
    return static_cast<std::size_t>(std::ranges::find(graph.nodes, id, &Node::id) -
                                    graph.nodes.begin());
  };
  const auto* maker = &graph.nodes[at];
  auto ids = operands(*maker);
  if (maker->target == "operator.getitem" && !ids.empty() && position(ids[0]) < at) {
    maker = &graph.nodes[position(ids[0])];
    ids = operands(*maker);
  }
  const auto row = std::ranges::find(kSums, maker->target, &SumRow::name);
  const auto* const made = values[at].real();
  if (row == kSums.end() || ids.size() <= row->operand || made == nullptr) return 1;
  const auto tensor = [&](NodeId id) -> const Tensor* {
    const auto known = position(id);
    return known < values.size() ? values[known].real() : nullptr;
  };
  const auto* const operand = tensor(ids[row->operand]);
  if (operand == nullptr) return 1;
  const auto& sizes = operand->sizes();
  switch (row->terms) {
    case Terms::inner:
      return sizes.size() < 2 ? 1 : static_cast<double>(sizes[sizes.size() - 2]);
    case Terms::along:
      return size_along(*maker, sizes);
    case Terms::kernel:
      return count_of(sizes, 1);
    case Terms::reduced:
      return count_of(sizes) / std::max(1.0, count_of(made->sizes()));
    case Terms::placed: {
      std::vector<const Tensor*> indices;
      for (auto i = row->operand; i < ids.size(); ++i)
        if (const auto* one = tensor(ids[i]);
            one != nullptr && !is_floating(one->dtype()) && one->dtype() != DType::boolean)
          indices.push_back(one);
      return indices.empty() ? 1 : most_often(indices);
    }
  }
  return 1;
}

}  // namespace assay
