#include "replay/report/log_rows.h"

#include <charconv>
#include <set>

#include "replay/formats/torch_trace.h"

namespace assay {
namespace {

using Metrics = std::map<std::string, std::string>;

auto metrics_of(const TraceLog& log, const TraceCompilation& compilation) -> Metrics {
  Metrics metrics;
  for (const auto& part : compilation.metrics)
    for (auto& [key, value] : trace_metrics(log.events[part.event]))
      metrics.try_emplace(key, std::move(value));
  return metrics;
}

auto text(const Metrics& metrics, const std::string& key) -> std::string {
  const auto found = metrics.find(key);
  if (found == metrics.end() || found->second == "[]") return {};
  return found->second;
}
template <class T>
auto number(const Metrics& metrics, const std::string& key) -> std::optional<T> {
  const auto value = text(metrics, key);
  T result{};
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  return error == std::errc() && end != value.data() ? std::optional(result) : std::nullopt;
}

auto row_of(TraceId run, const TraceLog& log, const TraceCompilation& compilation)
    -> CompilationRow {
  const auto metrics = metrics_of(log, compilation);
  CompilationRow row;
  row.run_id = run;
  row.name = compilation.compile_id;
  row.attempt = compilation.attempt;
  row.rank = compilation.rank;
  const auto failure = text(metrics, "fail_reason");
  row.outcome = !compilation.is_last_attempt ? "restarted"
                : failure.empty()            ? "compiled"
                                             : "failed";
  for (const auto* key : {"fail_reason", "restart_reasons", "recompile_reason"})
    if (row.reason.empty()) row.reason = text(metrics, key);
  row.function = text(metrics, "co_name");
  row.file = text(metrics, "co_filename");
  row.line = number<std::int64_t>(metrics, "co_firstlineno");
  row.seconds = number<double>(metrics, "entire_frame_compile_time_s");
  row.guards = std::ssize(compilation.guards);
  if (!compilation.events.empty()) row.log_line = log.events[compilation.events.front()].line;
  return row;
}

auto record_stages(TraceWriter& writer, TraceId run, TraceId id, const TraceLog& log,
                   const TraceCompilation& compilation, std::map<std::string, TraceId>& nodes)
    -> Result<void> {
  std::vector<std::string> not_read;
  for (const auto& part : compilation.graphs) {
    GraphRow row{.run_id = run,
                 .parent_id = {},
                 .name = part.name,
                 .kind = "stage",
                 .hash = {},
                 .text = {},
                 .compilation_id = id,
                 .log_line = log.events[part.event].line};
    const auto graph = trace_graph(log, part);
    if (graph) {
      ASSAY_TRY(const auto ids, record_graph(writer, *graph, row));
      for (const auto& node : graph->nodes)
        if (const auto found = ids.nodes.find(node.id); found != ids.nodes.end())
          nodes.try_emplace(node.name, found->second);
      continue;
    }
    not_read.push_back(
        fmt::format("{} {}: {}", compilation.compile_id, part.name, graph.error().message));
    row.text = log.events[part.event].payload;
    ASSAY_TRY_VOID(writer.add(row));
  }
  for (const auto& what : trace_shapes(log, compilation).skipped)
    not_read.push_back(fmt::format("{}: {}", compilation.compile_id, what));
  return record_problems(writer, run, "not-read", not_read);
}

}  // namespace

auto record_compilations(TraceWriter& writer, TraceId run, std::string_view bytes)
    -> Result<RecordedLog> {
  ASSAY_TRY(const auto log, read_torch_trace(bytes));
  RecordedLog recorded;
  for (const auto& compilation : compilations(log)) {
    ASSAY_TRY(const auto id, writer.add(row_of(run, log, compilation)));
    for (const auto event : compilation.events) recorded.compilations[log.events[event].line] = id;
    ASSAY_TRY_VOID(record_stages(writer, run, id, log, compilation, recorded.nodes[id]));
  }
  ASSAY_TRY_VOID(record_problems(writer, run, "warning", log.warnings));
  return recorded;
}

auto source_nodes(std::string_view line) -> std::vector<std::string> {
  constexpr std::string_view kMark = "Source Nodes: [";
  const auto mark = line.find(kMark);
  if (mark == std::string_view::npos || line.find('#') > mark) return {};
  line = line.substr(mark + kMark.size());
  line = line.substr(0, line.find(']'));
  std::vector<std::string> names;
  while (!line.empty()) {
    const auto comma = line.find(',');
    auto name = line.substr(0, comma);
    line = comma == std::string_view::npos ? "" : line.substr(comma + 1);
    while (name.starts_with(' ')) name.remove_prefix(1);
    if (!name.empty()) names.emplace_back(name);
  }
  return names;
}

auto record_line_links(TraceWriter& writer, TraceId graph, std::string_view wrapper,
                       const std::map<std::string, TraceId>& nodes) -> Result<void> {
  std::set<TraceId> current;
  std::int64_t number = 0;
  while (!wrapper.empty()) {
    const auto end = wrapper.find('\n');
    const auto line = wrapper.substr(0, end);
    wrapper = end == std::string_view::npos ? "" : wrapper.substr(end + 1);
    ++number;
    if (const auto names = source_nodes(line); !names.empty()) {
      current.clear();
      for (const auto& name : names)
        if (const auto found = nodes.find(name); found != nodes.end())
          current.insert(found->second);
    } else if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
      current.clear();
    }
    for (const auto node : current) ASSAY_TRY_VOID(writer.add(LineLinkRow{graph, number, node}));
  }
  return {};
}

}  // namespace assay
