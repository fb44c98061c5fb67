// Our own layered layout: linear passes, deterministic, cancellable. Order of execution decides
// ties, so that a small change of the graph moves little.
#pragma once
#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace assay {

struct LayeredInput {
  std::vector<float> width, height;  ///< of each box
  /// From and to. Boxes stand in execution order; an edge that runs against it becomes a portal.
  std::vector<std::pair<int, int>> edges;
};

struct LayeredOptions {
  int longest_span = 8;  ///< layers; an edge over more of them is a portal: a stub at either end
  int sweeps = 8;        ///< of barycentres; fewer where the budget is spent
  double budget_ms = 200;
  float layer_gap = 34;
  float box_gap = 22;
};

struct LayeredOutput {
  std::vector<float> x, y;  ///< top left of each box
  std::vector<int> layer;
  std::vector<bool> is_portal;  ///< by edge
  /// Points between the ends of each edge: bends[first_bend[e] .. first_bend[e + 1]).
  std::vector<std::uint32_t> first_bend;
  std::vector<std::pair<float, float>> bends;
  float width = 0, height = 0;
};

/// Nothing if `stop` became true meanwhile, which is noticed within milliseconds.
[[nodiscard]] auto layered_layout(const LayeredInput& input, const LayeredOptions& options = {},
                                  const std::atomic<bool>* stop = nullptr)
    -> std::optional<LayeredOutput>;

}  // namespace assay
