#include "gui/data/scene.h"

#include <deque>
#include <map>
#include <unordered_map>

#include "gui/data/statements.h"

namespace assay {
namespace {

constexpr float kBoxHeight = 40;
constexpr float kModuleHeight = 46;
constexpr float kHeader = 24;
constexpr float kInset = 14;
constexpr float kCharWidth = 7.2F;

auto short_target(const std::string& target) -> std::string {
  auto text = target.starts_with("aten.") ? target.substr(5) : target;
  const auto dot = text.rfind('.');
  return dot != std::string::npos && text.substr(dot) == ".default" ? text.substr(0, dot) : text;
}

/// Children of a module path: what comes behind it up to the next dot.
auto child_module(const std::string& module, const std::string& below) -> std::string {
  if (module.size() <= below.size()) return {};
  const auto start = below.empty() ? 0 : below.size() + 1;
  if (!below.empty() && (!module.starts_with(below) || module[below.size()] != '.')) return {};
  const auto dot = module.find('.', start);
  return module.substr(0, dot);
}

class Builder {
 public:
  Builder(const std::shared_ptr<const GraphData>& data, const SceneOptions& options,
          const std::atomic<bool>* stop)
      : data_(*data), options_(options), stop_(stop) {
    scene_.data = data;
    scene_.box_of_node.assign(data_.nodes.size(), -1);
  }

  auto run() -> std::optional<Scene> {
    std::vector<int> nodes = options_.only;
    if (nodes.empty()) {
      nodes.resize(data_.nodes.size());
      for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i] = static_cast<int>(i);
    }
    std::ranges::sort(nodes);
    readers_.resize(data_.nodes.size());
    for (const auto& [from, to] : data_.edges) readers_[at(from)].push_back(to);
    const bool flat = options_.flat || !options_.only.empty();
    const auto size = container("", nodes, -1, flat, false);
    if (!size) return std::nullopt;
    scene_.width = size->first;
    scene_.height = size->second;
    absolute();
    for (std::size_t i = 0; i < scene_.boxes.size(); ++i)
      if (!scene_.boxes[i].is_open) {
        scene_.by_top.push_back(static_cast<int>(i));
        scene_.tallest = std::max(scene_.tallest, scene_.boxes[i].height);
      }
    std::ranges::sort(scene_.by_top, {}, [&](int i) { return scene_.boxes[at(i)].y; });
    return std::move(scene_);
  }

 private:
  struct Child {
    std::string module;
    std::vector<int> nodes;
    bool is_section = false;
  };
  static auto at(int i) -> std::size_t { return static_cast<std::size_t>(i); }

  auto children_of(const std::string& path, const std::vector<int>& nodes, bool flat,
                   bool in_section) -> std::vector<Child> {
    std::vector<Child> children;
    std::unordered_map<std::string, std::size_t> by_module;
    for (const int node : nodes) {
      const auto module = flat ? "" : child_module(data_.nodes[at(node)].module, path);
      if (module.empty()) {
        children.push_back({"", {node}});
        continue;
      }
      const auto [found, is_new] = by_module.try_emplace(module, children.size());
      if (is_new) children.push_back({module, {}});
      children[found->second].nodes.push_back(node);
    }
    // A module that holds one node is no help.
    for (auto& child : children)
      if (child.nodes.size() == 1) child.module.clear();
    if (options_.flat || in_section || std::ssize(children) <= kMostChildren) return children;
    const auto parts = (children.size() + kMostChildren / 2 - 1) / (kMostChildren / 2);
    std::vector<Child> sections;
    for (std::size_t i = 0; i < children.size(); ++i) {
      const auto part = i * parts / children.size();
      if (part == sections.size())
        sections.push_back({fmt::format("{}#{} of {}", path, part + 1, parts), {}, true});
      for (const int node : children[i].nodes) sections.back().nodes.push_back(node);
    }
    return sections;
  }

  /// Lays out what is in a container, relative to its inside. Size, or nothing if stopped.
  auto container(const std::string& path, const std::vector<int>& nodes, int parent, bool flat,
                 bool in_section) -> std::optional<std::pair<float, float>> {
    const auto children = children_of(path, nodes, flat, in_section);
    LayeredInput input;
    std::vector<int> boxes;
    std::unordered_map<int, int> child_of;
    for (std::size_t i = 0; i < children.size(); ++i)
      for (const int node : children[i].nodes) child_of[node] = static_cast<int>(i);
    for (const auto& child : children) {
      const int box = add_box(child, parent);
      boxes.push_back(box);
      if (!child.module.empty() && options_.open.contains(child.module)) {
        const auto inside = child.is_section ? path : child.module;
        const auto size = container(inside, child.nodes, box, flat, child.is_section);
        if (!size) return std::nullopt;
        scene_.boxes[at(box)].is_open = true;
        scene_.boxes[at(box)].width = std::max(size->first + 2 * kInset, 120.0F);
        scene_.boxes[at(box)].height = size->second + kHeader + 2 * kInset;
      }
      input.width.push_back(scene_.boxes[at(box)].width);
      input.height.push_back(scene_.boxes[at(box)].height);
    }
    std::set<std::pair<int, int>> seen;
    for (const int node : nodes)
      for (const int reader : readers_[at(node)])
        if (const auto to = child_of.find(reader); to != child_of.end()) {
          const auto edge = std::pair(child_of[node], to->second);
          if (edge.first != edge.second &&
              (children.size() == nodes.size() || seen.insert(edge).second))
            input.edges.push_back(edge);
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

  auto add_box(const Child& child, int parent) -> int {
    SceneBox box;
    box.parent = parent;
    box.module = child.module;
    box.nodes = static_cast<int>(child.nodes.size());
    box.mark = NodeMark::not_run;
    for (const int node : child.nodes) {
      const auto& one = data_.nodes[at(node)];
      box.mark = std::min(box.mark, one.mark);
      box.bytes += one.bytes;
      box.is_dynamic = box.is_dynamic || one.is_dynamic();
      scene_.box_of_node[at(node)] = static_cast<int>(scene_.boxes.size());
    }
    if (child.module.empty()) {
      const auto& node = data_.nodes[at(child.nodes.front())];
      box.node = child.nodes.front();
      box.label = node.name;
      box.detail = short_target(node.target) + (node.sizes.empty() ? "" : "  " + node.sizes);
      box.height = kBoxHeight;
    } else {
      const auto dot = child.module.rfind('.');
      box.label = child.is_section ? "section " + child.module.substr(child.module.rfind('#') + 1)
                  : dot == std::string::npos ? child.module
                                             : child.module.substr(dot + 1);
      box.detail = fmt::format("{} nodes", box.nodes);
      box.height = kModuleHeight;
    }
    const auto longest = std::max(box.label.size(), std::min<std::size_t>(box.detail.size(), 34));
    box.width = std::clamp(static_cast<float>(longest) * kCharWidth + 30, 90.0F, 270.0F);
    scene_.boxes.push_back(std::move(box));
    return static_cast<int>(scene_.boxes.size()) - 1;
  }

  void add_edges(const LayeredOutput& layout, const LayeredInput& input,
                 const std::vector<int>& boxes, int parent) {
    for (std::size_t e = 0; e < input.edges.size(); ++e) {
      const auto [from, to] = input.edges[e];
      SceneEdge edge{boxes[at(from)], boxes[at(to)], layout.is_portal[e],
                     static_cast<std::uint32_t>(scene_.bends.size()),
                     layout.first_bend[e + 1] - layout.first_bend[e]};
      for (auto b = layout.first_bend[e]; b < layout.first_bend[e + 1]; ++b) {
        scene_.bends.push_back(layout.bends[b]);
        bend_parent_.push_back(parent);
      }
      scene_.edges.push_back(edge);
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
      const auto [x, y] = origin(box.parent);
      box.x += x;
      box.y += y;
    }
    for (std::size_t i = 0; i < scene_.bends.size(); ++i) {
      const auto [x, y] = origin(bend_parent_[i]);
      scene_.bends[i].first += x;
      scene_.bends[i].second += y;
    }
    // Nodes of closed containers are shown by these; inner boxes have overwritten outer ones.
  }

  const GraphData& data_;
  const SceneOptions& options_;
  const std::atomic<bool>* stop_;
  Scene scene_;
  std::vector<std::vector<int>> readers_;
  std::vector<int> bend_parent_;
};

}  // namespace

auto GraphNode::is_dynamic() const -> bool {
  return std::ranges::any_of(sizes, [](char c) { return (c >= 'a' && c <= 'z'); });
}

auto read_graph(const TraceReader& reader, TraceId graph) -> Result<GraphData> {
  GraphData data;
  data.graph = graph;
  const std::vector<TraceValue> parameters = {graph};
  ASSAY_TRY(const auto count, count_nodes(reader, graph));
  std::unordered_map<TraceId, int> position;
  constexpr std::int64_t kAtOnce = 20'000;
  for (std::int64_t first = 0; first < count; first += kAtOnce) {
    ASSAY_TRY(auto lines, read_nodes(reader, graph, first, kAtOnce));
    for (auto& line : lines) {
      position[line.id] = static_cast<int>(data.nodes.size());
      data.nodes.push_back({line.id, std::move(line.name), std::move(line.target),
                            std::move(line.module), std::move(line.dtype), std::move(line.sizes),
                            line.mark, line.storage_bytes.value_or(0)});
    }
  }
  ASSAY_TRY(const auto edges,
            reader.query(statement("edges", reader.version()), parameters, SIZE_MAX));
  for (const auto& row : edges.rows) {
    const auto from = position.find(to_number(row[0]));
    const auto to = position.find(to_number(row[1]));
    if (from == position.end() || to == position.end()) continue;
    const std::pair edge(from->second, to->second);
    if (data.edges.empty() || data.edges.back() != edge) data.edges.push_back(edge);
  }
  return data;
}

auto Scene::box_at(float x, float y) const -> int {
  int found = -1;
  each_in(x, y, x, y, [&](int box) { found = box; });
  return found;
}

auto make_scene(const std::shared_ptr<const GraphData>& data, const SceneOptions& options,
                const std::atomic<bool>* stop) -> std::optional<Scene> {
  return Builder(data, options, stop).run();
}

auto modules_above(const GraphData& data, int node) -> std::vector<std::string> {
  const auto& module = data.nodes[static_cast<std::size_t>(node)].module;
  std::vector<std::string> modules;
  for (std::string path = child_module(module, ""); !path.empty();
       path = child_module(module, path))
    modules.push_back(path);
  return modules;
}

namespace {

auto both_ways(const GraphData& data)
    -> std::pair<std::vector<std::vector<int>>, std::vector<std::vector<int>>> {
  std::pair<std::vector<std::vector<int>>, std::vector<std::vector<int>>> result;
  result.first.resize(data.nodes.size());
  result.second.resize(data.nodes.size());
  for (const auto& [from, to] : data.edges) {
    result.first[static_cast<std::size_t>(from)].push_back(to);
    result.second[static_cast<std::size_t>(to)].push_back(from);
  }
  return result;
}

/// Edges from a start to everything that it reaches, -1 for the rest.
auto distances(const std::vector<std::vector<int>>& next, int start) -> std::vector<int> {
  std::vector<int> distance(next.size(), -1);
  std::deque<int> open = {start};
  distance[static_cast<std::size_t>(start)] = 0;
  while (!open.empty()) {
    const int node = open.front();
    open.pop_front();
    for (const int one : next[static_cast<std::size_t>(node)])
      if (distance[static_cast<std::size_t>(one)] < 0) {
        distance[static_cast<std::size_t>(one)] = distance[static_cast<std::size_t>(node)] + 1;
        open.push_back(one);
      }
  }
  return distance;
}

}  // namespace

auto neighbourhood(const GraphData& data, int node, int radius, std::size_t most)
    -> std::vector<int> {
  const auto [readers, producers] = both_ways(data);
  std::map<int, int> distance = {{node, 0}};
  std::deque<int> open = {node};
  while (!open.empty() && distance.size() < most) {
    const int one = open.front();
    open.pop_front();
    if (distance[one] == radius) continue;
    for (const auto* side : {&readers, &producers})
      for (const int other : (*side)[static_cast<std::size_t>(one)])
        if (distance.size() < most && distance.try_emplace(other, distance[one] + 1).second)
          open.push_back(other);
  }
  std::vector<int> nodes;
  for (const auto& [one, far] : distance) nodes.push_back(one);
  return nodes;
}

auto path_between(const GraphData& data, int a, int b, std::size_t most) -> std::vector<int> {
  if (a > b) std::swap(a, b);
  const auto [readers, producers] = both_ways(data);
  const auto from = distances(readers, a);
  const auto to = distances(producers, b);
  std::vector<std::pair<int, int>> nodes;  // length of the shortest way through it
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] >= 0 && to[i] >= 0) nodes.emplace_back(from[i] + to[i], static_cast<int>(i));
  std::ranges::sort(nodes);
  if (nodes.size() > most) nodes.resize(most);
  std::vector<int> result;
  for (const auto& [length, node] : nodes) result.push_back(node);
  std::ranges::sort(result);
  return result;
}

}  // namespace assay
