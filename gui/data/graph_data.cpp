#include "gui/data/graph_data.h"

#include <deque>
#include <map>

#include "gui/data/statements.h"

namespace assay {
namespace {

auto view_of(const TraceValue& value) -> std::string_view {
  const auto* text = std::get_if<std::string>(&value);
  return text ? std::string_view(*text) : std::string_view();
}

class GraphReader {
 public:
  GraphReader(const TraceReader& reader, TraceId graph) : reader_(reader) { data_.graph = graph; }

  auto run() -> Result<GraphData> {
    ASSAY_TRY_VOID(nodes());
    ASSAY_TRY_VOID(index());
    if (data_.nodes.empty()) return std::move(data_);
    ASSAY_TRY_VOID(of_nodes("graph claims", [](GraphNode& node, Row row, GraphReader& self) {
      if (!node.dtype.empty() || !node.sizes.empty()) return;  // its first leaf counts
      node.dtype = self.shared(view_of(row[1]));
      node.sizes = self.shared(view_of(row[2]));
    }));
    ASSAY_TRY_VOID(of_nodes("graph bytes", [](GraphNode& node, Row row, GraphReader&) {
      // What a failed node left behind only stands in.
      if (node.bytes == 0 && node.mark != NodeMark::failed) node.bytes = to_number(row[1]);
    }));
    ASSAY_TRY_VOID(of_nodes("graph findings", [](GraphNode& node, Row row, GraphReader&) {
      node.mark = std::min(node.mark, mark_of("", view_of(row[1]), view_of(row[2])));
    }));
    ASSAY_TRY_VOID(edges());
    return std::move(data_);
  }

 private:
  using Row = std::span<const TraceValue>;

  auto shared(std::string_view text) -> std::string_view {
    if (text == last_) return last_;  // neighbours mostly say the same
    if (text.empty()) return {};
    return last_ = *data_.texts.emplace(text).first;
  }

  auto nodes() -> Result<void> {
    const std::vector<TraceValue> parameters = {data_.graph};
    return reader_.each(statement("graph nodes", reader_.version()), parameters,
                        [&](Row row) -> Result<void> {
                          GraphNode node;
                          node.id = to_number(row[0]);
                          node.name = view_of(row[1]);
                          node.target = shared(view_of(row[2]));
                          node.module = shared(view_of(row[3]));
                          node.mark = mark_of(view_of(row[4]), "", "");
                          data_.nodes.push_back(std::move(node));
                          return {};
                        });
  }

  auto index() -> Result<void> {
    data_.positions.reserve(data_.nodes.size());
    for (const auto& node : data_.nodes) {
      if (reader_.is_interrupted()) return bad_input("interrupted");
      data_.positions.emplace_back(node.id, static_cast<int>(data_.positions.size()));
    }
    // Mostly they are in order already, which makes this quick.
    if (!std::ranges::is_sorted(data_.positions)) std::ranges::sort(data_.positions);
    return {};
  }

  template <class F>
  auto of_nodes(std::string_view name, const F& take) -> Result<void> {
    const std::vector<TraceValue> parameters = {data_.positions.front().first,
                                                data_.positions.back().first};
    return reader_.each(statement(name, reader_.version()), parameters,
                        [&](Row row) -> Result<void> {
                          if (const int at = data_.find(to_number(row[0])); at >= 0)
                            take(data_.nodes[static_cast<std::size_t>(at)], row, *this);
                          return {};
                        });
  }

  auto edges() -> Result<void> {
    const std::vector<TraceValue> parameters = {data_.positions.front().first,
                                                data_.positions.back().first};
    std::size_t first_of_reader = 0;
    return reader_.each(statement("graph edges", reader_.version()), parameters,
                        [&](Row row) -> Result<void> {
                          const int to = data_.find(to_number(row[0]));
                          const int from = data_.find(to_number(row[1]));
                          if (from < 0 || to < 0) return {};
                          auto& all = data_.edges;
                          if (all.empty() || all.back().second != to) first_of_reader = all.size();
                          const std::pair edge(from, to);
                          if (std::find(all.begin() + static_cast<std::ptrdiff_t>(first_of_reader),
                                        all.end(), edge) == all.end())
                            all.push_back(edge);
                          return {};
                        });
  }

  const TraceReader& reader_;
  GraphData data_;
  std::string_view last_;
};

/// Edges from a start to everything that it reaches, -1 for the rest.
auto distances(const Adjacency& next, std::size_t items, int start, StopFlag stop)
    -> std::vector<int> {
  std::vector<int> distance(items, -1);
  std::vector<int> open = {start};
  distance[static_cast<std::size_t>(start)] = 0;
  for (std::size_t i = 0; i < open.size() && !is_set(stop); ++i)
    for (const int one : next.of(open[i]))
      if (distance[static_cast<std::size_t>(one)] < 0) {
        distance[static_cast<std::size_t>(one)] = distance[static_cast<std::size_t>(open[i])] + 1;
        open.push_back(one);
      }
  return distance;
}

}  // namespace

auto GraphNode::is_dynamic() const -> bool {
  return std::ranges::any_of(sizes, [](char c) { return (c >= 'a' && c <= 'z'); });
}

auto GraphData::find(TraceId id) const -> int {
  if (positions.empty()) return -1;
  const auto first = positions.front().first;
  if (positions.back().first - first + 1 == std::ssize(positions)) {  // without gaps
    const bool inside = id >= first && id <= positions.back().first;
    return inside ? positions[static_cast<std::size_t>(id - first)].second : -1;
  }
  const auto found = std::ranges::lower_bound(positions, id, {}, &std::pair<TraceId, int>::first);
  return found != positions.end() && found->first == id ? found->second : -1;
}

auto read_graph(const TraceReader& reader, TraceId graph) -> Result<GraphData> {
  return GraphReader(reader, graph).run();
}

auto child_module(std::string_view module, std::string_view below) -> std::string_view {
  if (module.size() <= below.size()) return {};
  const auto start = below.empty() ? 0 : below.size() + 1;
  if (!below.empty() && (!module.starts_with(below) || module[below.size()] != '.')) return {};
  return module.substr(0, module.find('.', start));
}

auto modules_above(const GraphData& data, int node) -> std::vector<std::string> {
  const auto module = data.nodes[static_cast<std::size_t>(node)].module;
  std::vector<std::string> modules;
  for (auto path = child_module(module, ""); !path.empty(); path = child_module(module, path))
    modules.emplace_back(path);
  return modules;
}

auto neighbourhood(const GraphData& data, int node, int radius, std::size_t most, StopFlag stop)
    -> std::vector<int> {
  const auto readers = adjacency(data.nodes.size(), data.edges, true, stop);
  const auto producers = adjacency(data.nodes.size(), data.edges, false, stop);
  if (is_set(stop)) return {};
  std::map<int, int> distance = {{node, 0}};
  std::deque<int> open = {node};
  while (!open.empty() && distance.size() < most) {
    const int one = open.front();
    open.pop_front();
    if (distance[one] == radius) continue;
    for (const auto* side : {&readers, &producers})
      for (const int other : side->of(one))
        if (distance.size() < most && distance.try_emplace(other, distance[one] + 1).second)
          open.push_back(other);
  }
  std::vector<int> nodes;
  for (const auto& [one, far] : distance) nodes.push_back(one);
  return nodes;
}

auto path_between(const GraphData& data, int a, int b, std::size_t most, StopFlag stop)
    -> std::vector<int> {
  if (a > b) std::swap(a, b);
  const auto items = data.nodes.size();
  const auto readers = adjacency(items, data.edges, true, stop);
  const auto producers = adjacency(items, data.edges, false, stop);
  if (is_set(stop)) return {};
  const auto from = distances(readers, items, a, stop);
  const auto to = distances(producers, items, b, stop);
  std::vector<std::pair<int, int>> nodes;  // length of the shortest way through it
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] >= 0 && to[i] >= 0) nodes.emplace_back(from[i] + to[i], static_cast<int>(i));
  const auto less = std::less<std::pair<int, int>>();
  if (!sort_in_parts(nodes, less, stop)) return {};
  if (nodes.size() > most) nodes.resize(most);
  std::vector<int> result;
  for (const auto& [length, node] : nodes) result.push_back(node);
  std::ranges::sort(result);
  return result;
}

}  // namespace assay
