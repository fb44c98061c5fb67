#include "core/ops/pointwise.h"

#include <numeric>

namespace assay {

auto broadcast_strides(const Tensor& tensor, const Ints& sizes) -> Ints {
  Ints strides(sizes.size(), 0);
  const auto lead = sizes.size() - tensor.sizes().size();
  for (std::size_t i = 0; i < tensor.sizes().size(); ++i)
    if (tensor.sizes()[i] != 1 || sizes[lead + i] == 1) strides[lead + i] = tensor.strides()[i];
  return strides;
}

auto common_sizes(const Ints& a, const Ints& b) -> std::optional<Ints> {
  auto sizes = a.size() >= b.size() ? a : b;
  const auto& shorter = a.size() >= b.size() ? b : a;
  const auto lead = sizes.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    auto& size = sizes[lead + i];
    if (size == 1)
      size = shorter[i];
    else if (shorter[i] != 1 && shorter[i] != size)
      return std::nullopt;
  }
  return sizes;
}

auto expanded_view(const Tensor& tensor, const Ints& sizes) -> Tensor {
  Tensor view = tensor;
  view.meta.strides = broadcast_strides(tensor, sizes);
  view.meta.sizes = sizes;
  return view;
}

auto plan_runs(const Ints& sizes, std::vector<Ints> strides) -> RunPlan {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] != 1) order.push_back(i);
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t d) { return strides[0][d]; });
  RunPlan plan{{}, std::vector<Ints>(strides.size())};
  for (const auto dim : order) {
    const auto merges = [&](std::size_t k) {
      return plan.strides[k].back() == strides[k][dim] * sizes[dim];
    };
    bool merge = !plan.sizes.empty();
    for (std::size_t k = 0; merge && k < strides.size(); ++k) merge = merges(k);
    if (merge) {
      plan.sizes.back() *= sizes[dim];
      for (std::size_t k = 0; k < strides.size(); ++k) plan.strides[k].back() = strides[k][dim];
      continue;
    }
    plan.sizes.push_back(sizes[dim]);
    for (std::size_t k = 0; k < strides.size(); ++k) plan.strides[k].push_back(strides[k][dim]);
  }
  return plan;
}

}  // namespace assay
