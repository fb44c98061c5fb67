#include "replay/trace/pages.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace assay {
namespace {

/// Leaf rows are few a node, so the first is found in the index; of findings the worst counts.
constexpr std::string_view kSelect = R"(
SELECT n.id, n.seq, n.name, n.kind, n.target, n.module, n.file, n.line, n.status,
       c.dtype, c.sizes, c.strides, c.storage_offset, c.value,
       o.dtype, o.sizes, o.strides, o.storage_offset, o.value, o.storage_bytes, f.kind, f.blame
FROM nodes n
LEFT JOIN claims c ON c.rowid = (SELECT min(rowid) FROM claims WHERE node_id = n.id)
LEFT JOIN observations o ON o.rowid = (SELECT min(rowid) FROM observations WHERE node_id = n.id)
LEFT JOIN findings f ON f.id = (SELECT id FROM findings WHERE node_id = n.id
  ORDER BY kind LIKE 'insignificant-%', blame = 'inherited', id LIMIT 1)
)";

auto line_of(const std::vector<TraceValue>& row) -> NodeLine {
  const auto text = [&](std::size_t column) { return to_text(row[column]); };
  NodeLine line;
  line.id = to_number(row[0]);
  line.seq = to_number(row[1]);
  line.name = text(2);
  line.kind = text(3);
  line.target = text(4);
  line.module = text(5);
  line.file = text(6);
  line.line = to_number(row[7]);
  line.dtype = text(9);
  line.sizes = text(10);
  line.strides = text(11);
  line.offset = text(12);
  line.value = text(13);
  const auto status = text(8);
  line.finding = text(20);
  line.mark = mark_of(status, line.finding, text(21));
  if (status == "failed") return line;  // what it left behind only stands in
  line.real_dtype = text(14);
  line.real_sizes = text(15);
  line.real_strides = text(16);
  line.real_offset = text(17);
  line.real_value = text(18);
  if (const auto* bytes = std::get_if<std::int64_t>(&row[19])) line.storage_bytes = *bytes;
  return line;
}

auto lines_of(const TraceAnswer& answer) -> std::vector<NodeLine> {
  std::vector<NodeLine> lines;
  lines.reserve(answer.rows.size());
  for (const auto& row : answer.rows) lines.push_back(line_of(row));
  return lines;
}

auto order_column(NodeOrder order) -> std::string_view {
  constexpr std::array<std::string_view, 5> kColumns = {
      "n.seq", "n.name", "n.target", "n.module",
      "(SELECT max(storage_bytes) FROM observations WHERE node_id = n.id)"};
  return kColumns[static_cast<std::size_t>(order)];
}

auto ids_of(const TraceAnswer& answer) -> std::vector<TraceId> {
  std::vector<TraceId> ids;
  ids.reserve(answer.rows.size());
  for (const auto& row : answer.rows) ids.push_back(to_number(row[0]));
  return ids;
}

}  // namespace

auto name(NodeMark mark) -> std::string_view {
  constexpr std::array<std::string_view, 7> kNames = {"lies",   "inherited",  "note",   "unchecked",
                                                      "failed", "as claimed", "not run"};
  return kNames[static_cast<std::size_t>(mark)];
}

auto mark_of(std::string_view status, std::string_view finding, std::string_view blame)
    -> NodeMark {
  if (finding.starts_with("insignificant-")) return NodeMark::note;
  if (!finding.empty()) return blame == "inherited" ? NodeMark::inherited : NodeMark::root;
  if (status == "failed") return NodeMark::failed;
  if (status == "unchecked" || status == "skipped") return NodeMark::unchecked;
  return status.empty() ? NodeMark::not_run : NodeMark::ok;
}

auto to_text(const TraceValue& value) -> std::string {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{}", *real);
  return {};
}
auto to_number(const TraceValue& value) -> std::int64_t {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  const auto* real = std::get_if<double>(&value);
  return real ? static_cast<std::int64_t>(*real) : 0;
}

auto count_nodes(const TraceReader& reader, TraceId graph) -> Result<std::int64_t> {
  const std::array<TraceValue, 1> parameters = {graph};
  if (reader.version() >= 2) {
    ASSAY_TRY(const auto stored,
              reader.query("SELECT node_count FROM graphs WHERE id = ?", parameters));
    if (!stored.rows.empty() && stored.rows[0][0].index() != 0) return to_number(stored.rows[0][0]);
  }
  ASSAY_TRY(const auto last,
            reader.query("SELECT max(seq) + 1 FROM nodes WHERE graph_id = ?", parameters));
  return to_number(last.rows[0][0]);
}

auto read_nodes(const TraceReader& reader, TraceId graph, std::int64_t first, std::int64_t count)
    -> Result<std::vector<NodeLine>> {
  const std::array<TraceValue, 3> parameters = {graph, first, first + count};
  ASSAY_TRY(const auto answer,
            reader.query(fmt::format("{} WHERE n.graph_id = ? AND n.seq >= ? AND n.seq < ? "
                                     "ORDER BY n.graph_id, n.seq",
                                     kSelect),
                         parameters));
  return lines_of(answer);
}

auto read_nodes(const TraceReader& reader, std::span<const TraceId> ids)
    -> Result<std::vector<NodeLine>> {
  ASSAY_TRY(const auto answer,
            reader.query(fmt::format("{} WHERE n.id IN ({})", kSelect, fmt::join(ids, ","))));
  std::unordered_map<TraceId, NodeLine> found;
  for (auto& line : lines_of(answer)) found[line.id] = std::move(line);
  std::vector<NodeLine> lines;
  for (const auto id : ids)
    if (const auto at = found.find(id); at != found.end()) lines.push_back(at->second);
  return lines;
}

auto NodeHits::next(const TraceReader& reader, std::int64_t limit) -> Result<std::vector<TraceId>> {
  std::vector<TraceValue> parameters;
  std::string sql;
  if (filter_.match.empty()) {
    sql = fmt::format(
        "SELECT n.id, n.seq FROM nodes n WHERE n.graph_id = ? AND n.seq > ? AND ({}) "
        "ORDER BY n.graph_id, n.seq LIMIT {}",
        filter_.where, limit);
    parameters = {graph_, after_};
  } else {
    sql = fmt::format(
        "SELECT n.id, n.id FROM node_text CROSS JOIN nodes n ON n.id = node_text.rowid WHERE "
        "node_text MATCH ? AND node_text.rowid > ? AND n.graph_id = ? AND ({}) ORDER BY "
        "node_text.rowid LIMIT {}",
        filter_.where, limit);
    parameters = {filter_.match, after_, graph_};
  }
  parameters.insert(parameters.end(), filter_.parameters.begin(), filter_.parameters.end());
  ASSAY_TRY(const auto answer, reader.query(sql, parameters, SIZE_MAX));
  if (!answer.rows.empty()) after_ = to_number(answer.rows.back()[1]);
  return ids_of(answer);
}

auto sorted_nodes(const TraceReader& reader, TraceId graph, const Filter& filter, NodeOrder order,
                  bool descending) -> Result<std::vector<TraceId>> {
  std::vector<TraceValue> parameters = {graph};
  parameters.insert(parameters.end(), filter.parameters.begin(), filter.parameters.end());
  auto where = filter.where;
  if (!filter.match.empty()) {
    where += " AND n.id IN (SELECT rowid FROM node_text WHERE node_text MATCH ?)";
    parameters.emplace_back(filter.match);
  }
  std::vector<TraceId> ids;
  ASSAY_TRY_VOID(
      reader.each(fmt::format("SELECT n.id FROM nodes n WHERE n.graph_id = ? AND {} ORDER BY {} "
                              "{}, n.seq",
                              where, order_column(order), descending ? "DESC" : "ASC"),
                  parameters, [&](std::span<const TraceValue> row) -> Result<void> {
                    ids.push_back(to_number(row[0]));
                    return {};
                  }));
  return ids;
}

}  // namespace assay
