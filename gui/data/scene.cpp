#include "gui/data/scene.h"

#include <deque>
#include <unordered_map>

namespace assay {
namespace {

constexpr float kBoxHeight = 40;
constexpr float kModuleHeight = 46;
constexpr float kHeader = 24;
constexpr float kInset = 14;
constexpr float kCharWidth = 7.2F;

auto short_target(std::string_view target) -> std::string_view {
  const auto text = target.starts_with("aten.") ? target.substr(5) : target;
  return text.ends_with(".default") ? text.substr(0, text.size() - 8) : text;
}

/// Children of a container: its nodes sorted by child, each a range of them.
struct Children {
  struct Child {
    std::string_view module;  ///< empty: a node
    std::uint32_t first = 0, count = 0;
    bool is_section = false;
  };
  std::vector<Child> all;
  std::vector<int> nodes;
  [[nodiscard]] auto of(const Child& child) const -> std::span<const int> {
    return {nodes.data() + child.first, child.count};
  }
};

class Builder {
 public:
  Builder(const std::shared_ptr<const GraphData>& data, const SceneOptions& options, StopFlag stop)
      : data_(*data), options_(options), stop_(stop) {
    scene_.data = data;
    scene_.box_of_node.assign(data_.nodes.size(), -1);
    child_of_.assign(data_.nodes.size(), -1);
  }

  auto run() -> std::optional<Scene> {
    std::vector<int> nodes = options_.only;
    if (nodes.empty()) {
      nodes.resize(data_.nodes.size());
      for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i] = static_cast<int>(i);
    }
    if (!std::ranges::is_sorted(nodes)) std::ranges::sort(nodes);
    readers_ = adjacency(data_.nodes.size(), data_.edges, true, stop_);
    if (is_set(stop_)) return std::nullopt;
    const bool flat = options_.flat || !options_.only.empty();
    const auto size = container("", nodes, -1, flat, false);
    if (!size) return std::nullopt;
    scene_.width = size->first;
    scene_.height = size->second;
    absolute();
    if (!index()) return std::nullopt;
    return std::move(scene_);
  }

 private:
  static auto at(int i) -> std::size_t { return static_cast<std::size_t>(i); }

  auto children_of(std::string_view path, std::span<const int> nodes, bool flat, bool in_section)
      -> Children {
    Children children;
    std::vector<std::uint32_t> child(nodes.size());
    std::unordered_map<std::string_view, std::uint32_t> by_module;
    for (std::size_t i = 0; i < nodes.size() && !is_set(stop_); ++i) {
      const auto module = flat ? std::string_view() : child_module(data_.module(nodes[i]), path);
      child[i] = static_cast<std::uint32_t>(children.all.size());
      if (!module.empty()) child[i] = by_module.try_emplace(module, child[i]).first->second;
      if (child[i] == children.all.size()) children.all.push_back({module});
      ++children.all[child[i]].count;
    }
    std::uint32_t first = 0;
    for (auto& one : children.all) {
      one.first = first;
      first += one.count;
      if (one.count == 1) one.module = {};  // a module that holds one node is no help
    }
    children.nodes.resize(nodes.size());
    std::vector<std::uint32_t> next(children.all.size());
    for (std::size_t i = 0; i < nodes.size() && !is_set(stop_); ++i)
      children.nodes[children.all[child[i]].first + next[child[i]]++] = nodes[i];
    if (!options_.flat && !in_section && std::ssize(children.all) > kMostChildren)
      cut_into_sections(path, children);
    return children;
  }

  void cut_into_sections(std::string_view path, Children& children) {
    const auto parts = (children.all.size() + kMostChildren / 2 - 1) / (kMostChildren / 2);
    std::vector<Children::Child> sections;
    for (std::size_t i = 0; i < children.all.size(); ++i) {
      const auto part = i * parts / children.all.size();
      if (part == sections.size()) {
        const auto& name =
            section_names_.emplace_back(fmt::format("{}#{} of {}", path, part + 1, parts));
        sections.push_back({name, children.all[i].first, 0, true});
      }
      sections.back().count += children.all[i].count;
    }
    children.all = std::move(sections);
  }

  /// Lays out what is in a container, relative to its inside. Size, or nothing if stopped.
  auto container(std::string_view path, std::span<const int> nodes, int parent, bool flat,
                 bool in_section) -> std::optional<std::pair<float, float>> {
    auto children = children_of(path, nodes, flat, in_section);
    LayeredInput input;
    if (parent < 0) scene_.boxes.reserve(children.all.size());
    std::vector<int> boxes;
    for (const auto& child : children.all) {
      if (is_set(stop_)) return std::nullopt;
      const int box = add_box(child, children.of(child), parent);
      boxes.push_back(box);
      if (!child.module.empty() && options_.open.contains(std::string(child.module))) {
        const auto inside = child.is_section ? path : child.module;
        const auto size = container(inside, children.of(child), box, flat, child.is_section);
        if (!size) return std::nullopt;
        scene_.boxes[at(box)].is_open = true;
        scene_.boxes[at(box)].width = std::max(size->first + 2 * kInset, 120.0F);
        scene_.boxes[at(box)].height = size->second + kHeader + 2 * kInset;
      }
      input.width.push_back(scene_.boxes[at(box)].width);
      input.height.push_back(scene_.boxes[at(box)].height);
    }
    if (!edges_between(children, input.edges)) return std::nullopt;
    children = {};  // a layout needs much room itself
    if (parent < 0) {
      readers_ = {};
      child_of_ = {};
    }
    const auto layout = layered_layout(input, {}, stop_);
    if (!layout) return std::nullopt;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      scene_.boxes[at(boxes[i])].x = layout->x[i];
      scene_.boxes[at(boxes[i])].y = layout->y[i];
    }
    add_edges(*layout, input, boxes, parent);
    return std::pair(layout->width, layout->height);
  }

  /// Each once. False if it was stopped.
  auto edges_between(const Children& children, std::vector<std::pair<int, int>>& edges) -> bool {
    for (std::size_t i = 0; i < children.all.size(); ++i)
      for (const int node : children.of(children.all[i])) child_of_[at(node)] = static_cast<int>(i);
    const bool as_in_graph = children.all.size() == children.nodes.size();
    if (as_in_graph) edges.reserve(std::min(readers_.to.size(), children.nodes.size() * 2));
    for (const int node : children.nodes) {
      if (is_set(stop_)) return false;
      for (const int reader : readers_.of(node)) {
        const std::pair edge(child_of_[at(node)], child_of_[at(reader)]);
        if (edge.second >= 0 && edge.first != edge.second) edges.push_back(edge);
      }
    }
    for (const int node : children.nodes) child_of_[at(node)] = -1;
    if (as_in_graph) return true;  // each as often as there, which is once
    if (!sort_in_parts(edges, std::less<std::pair<int, int>>(), stop_)) return false;
    edges.erase(std::ranges::unique(edges).begin(), edges.end());
    return true;
  }

  auto add_box(const Children::Child& child, std::span<const int> nodes, int parent) -> int {
    SceneBox box;
    box.parent = parent;
    if (!child.module.empty()) {
      box.module = static_cast<int>(scene_.modules.size());
      scene_.modules.emplace_back(child.module);
    }
    box.is_section = child.is_section;
    box.nodes = static_cast<int>(nodes.size());
    box.mark = NodeMark::not_run;
    for (const int node : nodes) {
      const auto& one = data_.nodes[at(node)];
      box.mark = std::min(box.mark, one.mark);
      box.bytes += one.bytes;
      box.is_dynamic = box.is_dynamic || data_.is_dynamic(node);
      scene_.box_of_node[at(node)] = static_cast<int>(scene_.boxes.size());
    }
    if (child.module.empty()) box.node = nodes.front();
    box.height = child.module.empty() ? kBoxHeight : kModuleHeight;
    const auto [label, detail] = lengths(box);
    const auto longest = std::max(label, std::min<std::size_t>(detail, 34));
    box.width = std::clamp(static_cast<float>(longest) * kCharWidth + 30, 90.0F, 270.0F);
    scene_.boxes.push_back(box);
    return static_cast<int>(scene_.boxes.size()) - 1;
  }
  /// Of label and detail, without making them for a million boxes.
  auto lengths(const SceneBox& box) const -> std::pair<std::size_t, std::size_t> {
    // A module has a triangle before its name.
    if (box.node < 0) return {scene_.label(box).size() + 3, scene_.detail(box).size()};
    const auto sizes = data_.sizes(box.node);
    return {data_.name(box.node).size(),
            short_target(data_.target(box.node)).size() + (sizes.empty() ? 0 : 2 + sizes.size())};
  }

  void add_edges(const LayeredOutput& layout, const LayeredInput& input,
                 const std::vector<int>& boxes, int parent) {
    if (parent < 0) scene_.edges.reserve(scene_.edges.size() + input.edges.size());
    const auto before = static_cast<std::uint32_t>(scene_.bends.size());
    bends_of_.emplace_back(before, parent);
    scene_.bends.insert(scene_.bends.end(), layout.bends.begin(), layout.bends.end());
    for (std::size_t e = 0; e < input.edges.size() && !is_set(stop_); ++e) {
      const auto [from, to] = input.edges[e];
      const auto first = layout.first_bend[e];
      scene_.edges.push_back({boxes[at(from)], boxes[at(to)], before + first,
                              static_cast<std::uint16_t>(layout.first_bend[e + 1] - first),
                              layout.is_portal[e]});
    }
  }

  /// A container stands before what is in it, so one pass makes all places absolute.
  void absolute() {
    const auto origin = [&](int parent) {
      if (parent < 0) return std::pair(0.0F, 0.0F);
      const auto& box = scene_.boxes[at(parent)];
      return std::pair(box.x + kInset, box.y + kHeader + kInset);
    };
    for (auto& box : scene_.boxes) {
      if (is_set(stop_)) return;
      const auto [x, y] = origin(box.parent);
      box.x += x;
      box.y += y;
    }
    for (std::size_t k = 0; k < bends_of_.size(); ++k) {
      const auto end = k + 1 < bends_of_.size() ? bends_of_[k + 1].first : scene_.bends.size();
      const auto [x, y] = origin(bends_of_[k].second);
      for (std::size_t i = bends_of_[k].first; i < end && !is_set(stop_); ++i) {
        scene_.bends[i].first += x;
        scene_.bends[i].second += y;
      }
    }
    // Nodes of closed containers are shown by these; inner boxes have overwritten outer ones.
  }

  /// What is found by place. False if it was stopped.
  auto index() -> bool {
    std::vector<std::pair<float, int>> tops;
    for (std::size_t i = 0; i < scene_.boxes.size(); ++i) {
      const auto& box = scene_.boxes[i];
      if (box.is_open) {
        scene_.containers.push_back(static_cast<int>(i));
        continue;
      }
      tops.emplace_back(box.y, static_cast<int>(i));
      scene_.tallest = std::max(scene_.tallest, box.height);
    }
    if (!sort_in_parts(tops, std::less<std::pair<float, int>>(), stop_)) return false;
    scene_.by_top.reserve(tops.size());
    for (const auto& [top, box] : tops) scene_.by_top.push_back(box);
    return true;
  }

  const GraphData& data_;
  const SceneOptions& options_;
  StopFlag stop_;
  Scene scene_;
  Adjacency readers_;
  std::vector<int> child_of_;  ///< by node, within the container that is being laid out
  std::vector<std::pair<std::uint32_t, int>> bends_of_;  ///< first bend and its container
  std::deque<std::string> section_names_;
};

}  // namespace

auto Scene::box_at(float x, float y) const -> int {
  int found = -1;
  each_in(x, y, x, y, [&](int box) { found = box; });
  return found;
}

auto Scene::module(const SceneBox& box) const -> std::string {
  return box.module < 0 ? std::string() : modules[static_cast<std::size_t>(box.module)];
}
auto Scene::label(const SceneBox& box) const -> std::string {
  if (box.node >= 0) return std::string(data->name(box.node));
  const auto path = module(box);
  if (box.is_section) return "part " + path.substr(path.rfind('#') + 1);
  return path.substr(path.rfind('.') + 1);
}
auto Scene::detail(const SceneBox& box) const -> std::string {
  if (box.node < 0) return fmt::format("{} nodes", box.nodes);
  const auto sizes = data->sizes(box.node);
  return fmt::format("{}{}{}", short_target(data->target(box.node)), sizes.empty() ? "" : "  ",
                     sizes);
}

auto make_scene(const std::shared_ptr<const GraphData>& data, const SceneOptions& options,
                const std::atomic<bool>* stop) -> std::optional<Scene> {
  return Builder(data, options, stop).run();
}

}  // namespace assay
