#include "replay/trace/aggregates.h"

#include <array>
#include <map>

namespace assay {
namespace {

constexpr const char* kCounts = R"(
UPDATE graphs SET
  node_count = (SELECT count(*) FROM nodes WHERE graph_id = graphs.id),
  operand_count = (SELECT count(*) FROM nodes n JOIN operands o ON o.node_id = n.id
                   WHERE n.graph_id = graphs.id);
INSERT INTO op_counts(graph_id, target, nodes, findings)
  SELECT graph_id, ifnull(target, ''), count(*),
         sum(id IN (SELECT node_id FROM findings WHERE node_id > 0 AND severity IS NOT 'note'))
  FROM nodes GROUP BY 1, 2;
INSERT INTO node_text(rowid, name, target) SELECT id, name, target FROM nodes;
)";

constexpr std::string_view kByModule = R"(
SELECT graph_id, module, count(*),
       sum(id IN (SELECT node_id FROM findings WHERE node_id > 0 AND severity IS NOT 'note'))
FROM nodes WHERE module IS NOT NULL GROUP BY 1, 2)";

struct ModuleCounts {
  std::int64_t nodes = 0;
  std::int64_t findings = 0;
};
/// Ancestors sort before what they hold.
using Modules = std::map<std::pair<TraceId, std::string>, ModuleCounts>;

auto parent_path(const std::string& path) -> std::string {
  const auto dot = path.rfind('.');
  return dot == std::string::npos ? std::string() : path.substr(0, dot);
}

auto count_modules(sqlite3* database) -> Result<Modules> {
  Modules modules;
  ASSAY_TRY(const auto rows, prepare(database, kByModule));
  while (true) {
    ASSAY_TRY(const bool has_row, step(rows.get()));
    if (!has_row) return modules;
    const auto graph = std::get<std::int64_t>(column_value(rows.get(), 0));
    const auto nodes = std::get<std::int64_t>(column_value(rows.get(), 2));
    const auto findings = std::get<std::int64_t>(column_value(rows.get(), 3));
    for (auto path = std::get<std::string>(column_value(rows.get(), 1)); !path.empty();
         path = parent_path(path)) {
      auto& counts = modules[{graph, path}];
      counts.nodes += nodes;
      counts.findings += findings;
    }
  }
}

auto write_modules(sqlite3* database, const Modules& modules) -> Result<void> {
  ASSAY_TRY(const auto insert,
            prepare(database,
                    "INSERT INTO modules(graph_id, parent_id, path, nodes, findings) "
                    "VALUES (?, ?, ?, ?, ?)"));
  std::map<std::pair<TraceId, std::string>, TraceId> ids;
  for (const auto& [key, counts] : modules) {
    const auto& [graph, path] = key;
    const auto parent = ids.find({graph, parent_path(path)});
    const std::array<TraceValue, 5> values = {
        graph, parent == ids.end() ? TraceValue{} : TraceValue{parent->second}, path, counts.nodes,
        counts.findings};
    ASSAY_TRY_VOID(bind_values(insert.get(), values));
    ASSAY_TRY([[maybe_unused]] const bool has_row, step(insert.get()));
    ids[key] = last_row_id(database);
  }
  return {};
}

}  // namespace

auto write_aggregates(sqlite3* database) -> Result<void> {
  ASSAY_TRY_VOID(execute(database, kCounts));
  ASSAY_TRY(const auto modules, count_modules(database));
  return write_modules(database, modules);
}

}  // namespace assay
