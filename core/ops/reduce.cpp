#include "core/ops/reduce.h"

namespace assay {

auto moved_last(const Tensor& tensor, const std::vector<bool>& chosen) -> Tensor {
  Tensor moved = tensor;
  moved.meta.sizes.clear();
  moved.meta.strides.clear();
  for (const bool pass : {false, true})
    for (std::size_t i = 0; i < chosen.size(); ++i)
      if (chosen[i] == pass) {
        moved.meta.sizes.push_back(tensor.sizes()[i]);
        moved.meta.strides.push_back(tensor.strides()[i]);
      }
  return moved;
}

auto mark_dim(int dim, int rank) -> std::vector<bool> {
  std::vector<bool> chosen(static_cast<std::size_t>(rank), false);
  if (rank > 0) chosen[static_cast<std::size_t>(dim < 0 ? dim + rank : dim)] = true;
  return chosen;
}

auto chosen_dims(const Call& c, int arg, int rank) -> std::vector<bool> {
  const auto dims = arg < 0             ? Ints{}
                    : c.arg(arg).list() ? c.integers(arg)
                    : c.has(arg)        ? Ints{c.integer(arg)}
                                        : Ints{};
  std::vector<bool> chosen(static_cast<std::size_t>(rank), dims.empty());
  for (const auto dim : dims)
    if (rank > 0) chosen[static_cast<std::size_t>(dim < 0 ? dim + rank : dim)] = true;
  return chosen;
}

}  // namespace assay
