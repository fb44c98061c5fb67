#include "gui/data/adjacency.h"

#include <numeric>

namespace assay {

auto adjacency(std::size_t items, std::span<const std::pair<int, int>> edges, bool forward,
               StopFlag stop) -> Adjacency {
  Adjacency result;
  result.first.assign(items + 1, 0);
  const auto key = [&](const std::pair<int, int>& edge) {
    return static_cast<std::size_t>(forward ? edge.first : edge.second);
  };
  for (const auto& edge : edges) {
    if (is_set(stop)) return result;
    ++result.first[key(edge) + 1];
  }
  std::partial_sum(result.first.begin(), result.first.end(), result.first.begin());
  result.to.resize(edges.size());
  auto next = result.first;
  for (const auto& edge : edges) {
    if (is_set(stop)) return result;
    result.to[next[key(edge)]++] = forward ? edge.second : edge.first;
  }
  return result;
}

}  // namespace assay
