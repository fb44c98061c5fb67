// Neighbours of every item in one array.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace assay {

/// Polled in every loop over items of a graph; null: never stops.
using StopFlag = const std::atomic<bool>*;
[[nodiscard]] inline auto is_set(StopFlag stop) -> bool {
  return stop != nullptr && stop->load(std::memory_order_relaxed);
}

struct Adjacency {
  std::vector<std::uint32_t> first;  ///< one more than there are items
  std::vector<int> to;
  [[nodiscard]] auto of(int item) const -> std::span<const int> {
    const auto at = static_cast<std::size_t>(item);
    return {to.data() + first[at], to.data() + first[at + 1]};
  }
};
/// Readers of each item where `forward`, else its producers. Unfinished if it was stopped.
[[nodiscard]] auto adjacency(std::size_t items, std::span<const std::pair<int, int>> edges,
                             bool forward, StopFlag stop = nullptr) -> Adjacency;

/// Sorts in parts that are merged, so that it can be left in between. False if it was stopped.
template <class T, class Less>
[[nodiscard]] auto sort_in_parts(std::vector<T>& items, const Less& less, StopFlag stop) -> bool {
  constexpr std::size_t kPart = 1 << 16;
  const auto at = [&](std::size_t i) {
    return items.begin() + static_cast<std::ptrdiff_t>(std::min(i, items.size()));
  };
  for (std::size_t i = 0; i < items.size(); i += kPart) {
    if (is_set(stop)) return false;
    std::stable_sort(at(i), at(i + kPart), less);
  }
  for (std::size_t width = kPart; width < items.size(); width *= 2)
    for (std::size_t i = 0; i + width < items.size(); i += 2 * width) {
      if (is_set(stop)) return false;
      std::inplace_merge(at(i), at(i + width), at(i + 2 * width), less);
    }
  return !is_set(stop);
}

}  // namespace assay
