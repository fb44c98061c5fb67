// A graph as a picture: modules as containers that open and close, boxes laid out in layers, edges
// with their routes, and which of them are in sight.
#pragma once
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gui/data/graph_data.h"
#include "gui/data/layered.h"

namespace assay {

/// 48 bytes: a flat picture of a million nodes has a million.
struct SceneBox {
  int module = -1;  ///< in Scene::modules, -1 for a node
  int node = -1;    ///< position in GraphData, -1 for a module
  int parent = -1;  ///< the open container around it
  int nodes = 1;    ///< inside
  float x = 0, y = 0, width = 0, height = 0;
  std::int64_t bytes = 0;
  NodeMark mark = NodeMark::ok;  ///< the worst inside
  bool is_section = false;
  bool is_open = false;  ///< a container
  bool is_dynamic = false;
};
struct SceneEdge {
  int from = 0, to = 0;
  std::uint32_t first_bend = 0;
  std::uint16_t bends = 0;
  bool is_portal = false;
};
struct Scene {
  std::shared_ptr<const GraphData> data;
  std::vector<SceneBox> boxes;       ///< a container before what is in it
  std::vector<std::string> modules;  ///< paths of modules and sections
  std::vector<SceneEdge> edges;
  std::vector<std::pair<float, float>> bends;
  std::vector<int> box_of_node;  ///< the box that shows it, -1 if it is left out
  float width = 0, height = 0;

  std::vector<int> containers;  ///< open boxes
  /// Closed boxes in rows from top to bottom, so that what is in sight is found by bisection.
  std::vector<int> by_top;
  float tallest = 0;  ///< of closed boxes
  /// Calls f(box) for what touches the rectangle: open containers first.
  template <class F>
  void each_in(float left, float top, float right, float bottom, F&& f) const;
  [[nodiscard]] auto box_at(float x, float y) const -> int;  ///< innermost, -1 for none
  /// Path of a module or section; empty for a node.
  [[nodiscard]] auto module(const SceneBox& box) const -> std::string;
  /// What a box says in its first and its second line.
  [[nodiscard]] auto label(const SceneBox& box) const -> std::string;
  [[nodiscard]] auto detail(const SceneBox& box) const -> std::string;
};

struct SceneOptions {
  std::set<std::string> open;  ///< modules and sections that are open
  bool flat = false;           ///< no modules at all
  /// Only these nodes, by position; empty: all.
  std::vector<int> only;
};
/// Children of one container beyond this are cut into sections of this many.
inline constexpr int kMostChildren = 400;

/// Nothing if it was stopped, which is noticed within milliseconds.
[[nodiscard]] auto make_scene(const std::shared_ptr<const GraphData>& data,
                              const SceneOptions& options, const std::atomic<bool>* stop = nullptr)
    -> std::optional<Scene>;

template <class F>
void Scene::each_in(float left, float top, float right, float bottom, F&& f) const {
  const auto touches = [&](const SceneBox& box) {
    return box.x <= right && box.x + box.width >= left && box.y <= bottom &&
           box.y + box.height >= top;
  };
  for (const int i : containers)
    if (touches(boxes[static_cast<std::size_t>(i)])) f(i);
  const auto first = std::ranges::lower_bound(
      by_top, top - tallest, {}, [&](int i) { return boxes[static_cast<std::size_t>(i)].y; });
  for (auto at = first; at != by_top.end(); ++at) {
    const auto& box = boxes[static_cast<std::size_t>(*at)];
    if (box.y > bottom) break;
    if (touches(box)) f(*at);
  }
}

}  // namespace assay
