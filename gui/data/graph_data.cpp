#include "gui/data/graph_data.h"

#include <map>
#include <set>

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
    data_.total = std::ssize(data_.nodes);
    if (!data_.nodes.empty()) ranges_ = {range()};
    return rest();
  }

  auto run(const std::set<TraceId>& ids) -> Result<GraphData> {
    for (const auto id : ids) {
      ranges_.push_back({id, id});
      const std::vector<TraceValue> parameters = {id};
      ASSAY_TRY(const auto answer, reader_.query(statement("node", reader_.version()), parameters));
      for (const auto& row : answer.rows) add(id, row[3], row[4], row[10], row[11]);
    }
    ASSAY_TRY_VOID(index());
    ASSAY_TRY(data_.total, count_nodes(reader_, data_.graph));
    return rest();
  }

 private:
  using Row = std::span<const TraceValue>;

  auto rest() -> Result<GraphData> {
    if (data_.nodes.empty()) return std::move(data_);
    ASSAY_TRY_VOID(of_nodes("graph claims", [](GraphNode& node, Row row, GraphReader& self) {
      if (node.dtype != 0 || node.sizes != 0) return;  // its first leaf counts
      node.dtype = self.data_.texts.number(view_of(row[1]));
      node.sizes = self.data_.texts.number(view_of(row[2]));
    }));
    ASSAY_TRY_VOID(of_nodes("graph bytes", [](GraphNode& node, Row row, GraphReader&) {
      // What a failed node left behind only stands in.
      if (node.bytes == 0 && node.mark != NodeMark::failed) node.bytes = to_number(row[1]);
    }));
    ASSAY_TRY_VOID(of_nodes("graph findings", [](GraphNode& node, Row row, GraphReader&) {
      node.mark = std::min(node.mark, mark_of("", view_of(row[1]), view_of(row[2])));
    }));
    ASSAY_TRY_VOID(edges());
    data_.edges.shrink_to_fit();
    return std::move(data_);
  }

  void add(TraceId id, const TraceValue& name, const TraceValue& target, const TraceValue& module,
           const TraceValue& status) {
    auto& node = data_.add_node(id, view_of(name), view_of(module));
    node.target = data_.texts.number(view_of(target));
    node.mark = mark_of(view_of(status), "", "");
  }

  auto nodes() -> Result<void> {
    const std::vector<TraceValue> parameters = {data_.graph};
    return reader_.each(statement("graph nodes", reader_.version()), parameters,
                        [&](Row row) -> Result<void> {
                          add(to_number(row[0]), row[1], row[2], row[3], row[4]);
                          return {};
                        });
  }

  auto index() -> Result<void> {
    data_.nodes.shrink_to_fit();
    data_.names.shrink_to_fit();
    const auto gap = std::ranges::adjacent_find(
        data_.nodes, [](const auto& a, const auto& b) { return b.id != a.id + 1; });
    if (gap == data_.nodes.end()) return {};
    data_.positions.reserve(data_.nodes.size());
    for (const auto& node : data_.nodes) {
      if (reader_.is_interrupted()) return bad_input("interrupted");
      data_.positions.emplace_back(node.id, static_cast<int>(data_.positions.size()));
    }
    std::ranges::sort(data_.positions);
    return {};
  }

  /// The least and the greatest id.
  auto range() const -> std::vector<TraceValue> {
    if (data_.positions.empty()) return {data_.nodes.front().id, data_.nodes.back().id};
    return {data_.positions.front().first, data_.positions.back().first};
  }

  template <class F>
  auto of_nodes(std::string_view name, const F& take) -> Result<void> {
    return each(name, [&](Row row) -> Result<void> {
      if (const int at = data_.find(to_number(row[0])); at >= 0)
        take(data_.nodes[static_cast<std::size_t>(at)], row, *this);
      return {};
    });
  }

  template <class F>
  auto each(std::string_view name, const F& visit) -> Result<void> {
    for (const auto& parameters : ranges_)
      ASSAY_TRY_VOID(reader_.each(statement(name, reader_.version()), parameters, visit));
    return {};
  }

  auto edges() -> Result<void> {
    std::size_t first_of_reader = 0;
    return each("graph edges", [&](Row row) -> Result<void> {
      const int to = data_.find(to_number(row[0]));
      const int from = data_.find(to_number(row[1]));
      if (from < 0 || to < 0) return {};
      auto& all = data_.edges;
      if (all.empty() || all.back().second != to) first_of_reader = all.size();
      const std::pair edge(from, to);
      if (std::find(all.begin() + static_cast<std::ptrdiff_t>(first_of_reader), all.end(), edge) ==
          all.end())
        all.push_back(edge);
      return {};
    });
  }

  const TraceReader& reader_;
  GraphData data_;
  std::vector<std::vector<TraceValue>> ranges_;  ///< of ids, ends included
};

/// The nodes at the other ends of a node's edges.
auto neighbours(const TraceReader& reader, TraceId node) -> Result<std::vector<TraceId>> {
  const std::vector<TraceValue> parameters = {node};
  ASSAY_TRY(const auto users, reader.query(statement("users", reader.version()), parameters));
  ASSAY_TRY(const auto inputs, reader.query(statement("inputs", reader.version()), parameters));
  std::vector<TraceId> ids;
  for (const auto* side : {&users, &inputs})
    for (const auto& row : side->rows) ids.push_back(to_number(row[0]));
  return ids;
}

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

auto SharedTexts::number(std::string_view text) -> std::uint32_t {
  if (text.empty()) return 0;
  if (text == texts_[last_]) return last_;
  const auto found = numbers_.find(text);
  if (found != numbers_.end()) return last_ = found->second;
  last_ = static_cast<std::uint32_t>(texts_.size());
  numbers_.emplace(texts_.emplace_back(text), last_);
  return last_;
}

auto GraphData::add_node(TraceId id, std::string_view name, std::string_view module) -> GraphNode& {
  names += name;
  auto& node = nodes.emplace_back();
  node.id = id;
  node.name_end = static_cast<std::uint32_t>(names.size());
  node.module = texts.number(module);
  return node;
}
auto GraphData::name(int node) const -> std::string_view {
  const auto at = static_cast<std::size_t>(node);
  const auto first = at == 0 ? 0 : nodes[at - 1].name_end;
  return std::string_view(names).substr(first, nodes[at].name_end - first);
}
auto GraphData::module(int node) const -> std::string_view {
  return texts.text(nodes[static_cast<std::size_t>(node)].module);
}
auto GraphData::dtype(int node) const -> std::string_view {
  return texts.text(nodes[static_cast<std::size_t>(node)].dtype);
}
auto GraphData::target(int node) const -> std::string_view {
  return texts.text(nodes[static_cast<std::size_t>(node)].target);
}
auto GraphData::sizes(int node) const -> std::string_view {
  return texts.text(nodes[static_cast<std::size_t>(node)].sizes);
}
auto GraphData::is_dynamic(int node) const -> bool {
  return std::ranges::any_of(sizes(node), [](char c) { return (c >= 'a' && c <= 'z'); });
}

auto GraphData::find(TraceId id) const -> int {
  if (positions.empty()) {
    const auto at = nodes.empty() ? -1 : id - nodes.front().id;
    return at >= 0 && at < std::ssize(nodes) ? static_cast<int>(at) : -1;
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
  const auto module = data.module(node);
  std::vector<std::string> modules;
  for (auto path = child_module(module, ""); !path.empty(); path = child_module(module, path))
    modules.emplace_back(path);
  return modules;
}

auto read_around(const TraceReader& reader, const Cursor& at, int radius, std::size_t most)
    -> Result<GraphData> {
  std::set<TraceId> ids = {at.node};
  std::vector<TraceId> open = {at.node};
  for (int far = 0; far < radius; ++far) {
    std::vector<TraceId> next;
    for (const auto one : open) {
      const std::vector<TraceValue> parameters = {one};
      ASSAY_TRY(const auto node, reader.query(statement("node", reader.version()), parameters));
      const bool is_output = !node.rows.empty() && to_text(node.rows[0][14]) == "output";
      if (is_output && far > 0) continue;
      ASSAY_TRY(const auto others, neighbours(reader, one));
      for (const auto other : others)
        if (ids.size() < most && ids.insert(other).second) next.push_back(other);
    }
    open = std::move(next);
  }
  return GraphReader(reader, at.graph).run(ids);
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
    if (one != node && readers.of(one).empty() && data.target(one) == "output") continue;
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
