// assay show LOG: events, compilations, symbols, guards, graphs and programs of a TORCH_TRACE log.
#include <array>
#include <map>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/trace_log.h"
#include "core/expr/text.h"
#include "core/graph/text.h"
#include "replay/formats/torch_trace.h"

namespace assay::cli {
namespace {

using Json = nlohmann::ordered_json;

/// What of the metrics people look for first; --json has all.
constexpr std::array<std::string_view, 14> kMetrics = {"co_name",
                                                       "co_filename",
                                                       "co_firstlineno",
                                                       "guard_count",
                                                       "shape_env_guard_count",
                                                       "graph_op_count",
                                                       "graph_node_count",
                                                       "graph_input_count",
                                                       "entire_frame_compile_time_s",
                                                       "backend_compile_time_s",
                                                       "fail_type",
                                                       "fail_reason",
                                                       "restart_reasons",
                                                       "recompile_reason"};

struct Hashes {
  int verified = 0, repaired = 0, different = 0;
};

auto hashes_of(const TraceLog& log) -> Hashes {
  Hashes hashes;
  for (const auto& event : log.events) {
    hashes.verified += event.hash == PayloadHash::verified;
    hashes.repaired += event.hash == PayloadHash::repaired;
    hashes.different += event.hash == PayloadHash::differs;
  }
  return hashes;
}

auto kinds_of(const TraceLog& log) -> std::map<std::string, int> {
  std::map<std::string, int> kinds;
  for (const auto& event : log.events) ++kinds[event.kind];
  return kinds;
}

/// Guards with how often each was recorded, in order.
auto counted_guards(const TraceCompilation& compilation)
    -> std::vector<std::pair<TraceGuard, int>> {
  std::vector<std::pair<TraceGuard, int>> result;
  for (const auto& guard : compilation.guards) {
    const auto known = std::ranges::find_if(
        result, [&](const auto& entry) { return entry.first.text == guard.text; });
    if (known == result.end())
      result.emplace_back(guard, 1);
    else
      ++known->second;
  }
  return result;
}

auto behind(std::string_view text, std::string_view mark) -> std::string {
  return text.empty() ? std::string() : fmt::format("{}{}", mark, text);
}

auto print_shapes(const TraceLog& log, const TraceCompilation& compilation) -> std::string {
  std::string text;
  const auto shapes = trace_shapes(log, compilation);
  for (const auto& symbol : shapes.env.symbols()) {
    text += fmt::format("  symbol {} in [{}, {}]", symbol.name, print_expr(symbol.range.low),
                        print_expr(symbol.range.high));
    if (symbol.hint) text += ", hint " + print_expr(*symbol.hint);
    for (const auto& source : symbol.sources) text += ", " + source;
    text += "\n";
  }
  for (const auto& one : compilation.specializations)
    text += fmt::format("  specialized {} = {}{}{}\n", one.symbol, one.value,
                        behind(one.reason, ", "), behind(one.where, ", "));
  for (const auto& [guard, times] : counted_guards(compilation)) {
    text += fmt::format("  guard {}{}{}\n", guard.text,
                        times > 1 ? fmt::format(" (x{})", times) : "", behind(guard.where, ", "));
    if (!guard.code.empty()) text += fmt::format("      {}\n", guard.code);
  }
  for (const auto& what : shapes.skipped) text += fmt::format("  not read: {}\n", what);
  return text;
}

auto print_parts(const TraceLog& log, const TraceCompilation& compilation) -> std::string {
  std::string text;
  for (const auto& part : compilation.graphs) {
    const auto graph = trace_graph(log, part);
    text += graph ? fmt::format("  graph {}: {}\n", part.name, counted(graph->call_count(), "call"))
                  : fmt::format("  graph {}: not read: {}\n", part.name, graph.error().message);
  }
  for (const auto* parts : {&compilation.output_codes, &compilation.repro_scripts})
    for (const auto& part : *parts)
      text += fmt::format("  program {}: {}\n", part.name,
                          counted(log.events[part.event].payload_lines, "line"));
  for (const auto& part : compilation.metrics) {
    text += fmt::format("  {}\n", part.name);
    for (const auto& [key, value] : trace_metrics(log.events[part.event]))
      if (std::ranges::find(kMetrics, key) != kMetrics.end())
        text += fmt::format("    {}: {}\n", key, value);
  }
  return text;
}

auto print_log(const TraceLog& log, const std::string& name) -> std::string {
  const auto all = compilations(log);
  const auto hashes = hashes_of(log);
  auto text = fmt::format("{}: torch trace, {}, {}, {}\n", name, counted(log.lines, "line"),
                          counted(std::ssize(log.events), "event"),
                          counted(std::ssize(all), "compilation attempt"));
  text +=
      fmt::format("payload hashes: {} verified, {} verified with blank lines mended, {} wrong\n",
                  hashes.verified, hashes.repaired, hashes.different);
  for (const auto& [kind, times] : kinds_of(log)) text += fmt::format("{:6} {}\n", times, kind);
  for (const auto& compilation : all) {
    text +=
        fmt::format("\ncompile {}, attempt {}{}{}\n", compilation.compile_id, compilation.attempt,
                    compilation.rank ? fmt::format(", rank {}", *compilation.rank) : "",
                    compilation.is_last_attempt ? "" : " (restarted)");
    text += print_shapes(log, compilation) + print_parts(log, compilation);
  }
  for (const auto& warning : log.warnings) text += "warning: " + warning + "\n";
  return text;
}

auto json_of(const TraceLog& log, const TraceCompilation& compilation) -> Json {
  Json json = {{"compile_id", compilation.compile_id},
               {"attempt", compilation.attempt},
               {"last_attempt", compilation.is_last_attempt},
               {"events", compilation.events.size()}};
  if (compilation.rank) json["rank"] = *compilation.rank;
  for (const auto* list : {"symbols", "specializations", "guards", "graphs", "programs", "metrics"})
    json[list] = Json::array();
  for (const auto& s : compilation.symbols)
    json["symbols"].push_back({{"name", s.name},
                               {"value", s.value},
                               {"range", s.range},
                               {"source", s.source},
                               {"where", s.where}});
  for (const auto& s : compilation.specializations)
    json["specializations"].push_back({{"symbol", s.symbol},
                                       {"value", s.value},
                                       {"reason", s.reason},
                                       {"source", s.source},
                                       {"where", s.where}});
  for (const auto& [guard, times] : counted_guards(compilation))
    json["guards"].push_back(
        {{"text", guard.text}, {"times", times}, {"where", guard.where}, {"code", guard.code}});
  for (const auto& part : compilation.graphs) {
    const auto graph = trace_graph(log, part);
    Json entry = {{"name", part.name}, {"line", log.events[part.event].line}};
    if (graph)
      entry["calls"] = graph->call_count();
    else
      entry["error"] = graph.error().message;
    json["graphs"].push_back(entry);
  }
  for (const auto* parts : {&compilation.output_codes, &compilation.repro_scripts})
    for (const auto& part : *parts)
      json["programs"].push_back({{"name", part.name},
                                  {"line", log.events[part.event].line},
                                  {"lines", log.events[part.event].payload_lines}});
  for (const auto& part : compilation.metrics) {
    Json values = Json::object();
    for (const auto& [key, value] : trace_metrics(log.events[part.event])) values[key] = value;
    json["metrics"].push_back({{"name", part.name}, {"values", values}});
  }
  return json;
}

auto log_json(const TraceLog& log, const std::string& name) -> std::string {
  const auto hashes = hashes_of(log);
  Json json = {
      {"schema", "assay.trace_log/1"},
      {"file", name},
      {"lines", log.lines},
      {"skipped_lines", log.skipped_lines},
      {"events", kinds_of(log)},
      {"hashes",
       {{"verified", hashes.verified}, {"mended", hashes.repaired}, {"wrong", hashes.different}}},
      {"compilations", Json::array()},
      {"warnings", log.warnings}};
  for (const auto& compilation : compilations(log))
    json["compilations"].push_back(json_of(log, compilation));
  // Payloads and file names may hold bytes that are not UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// The graph with the symbols and guards of its compilation, or the program as it is.
auto print_part(const TraceLog& log, std::string_view wanted) -> Result<std::string> {
  std::string known;
  const auto all = compilations(log);
  for (const auto want_last : {true, false})
    for (const auto& compilation : all) {
      if (compilation.is_last_attempt != want_last) continue;
      for (const auto* parts :
           {&compilation.graphs, &compilation.output_codes, &compilation.repro_scripts})
        for (const auto& part : *parts) {
          const auto full = fmt::format("{} {}", compilation.compile_id, part.name);
          if (wanted != part.name && wanted != full) {
            known += "\n  " + full;
            continue;
          }
          if (parts != &compilation.graphs) return log.events[part.event].payload + "\n";
          ASSAY_TRY(const auto graph, trace_graph(log, part));
          return print_graph(graph, {.header = false});
        }
    }
  return std::unexpected(
      Error{ErrorCode::usage, fmt::format("--graph: the log has no {}; it has:{}", wanted,
                                          known.empty() ? std::string(" none") : known)});
}

}  // namespace

auto show_trace_log(std::string_view bytes, const std::string& name, const ShowLogOptions& options)
    -> int {
  const auto log = read_torch_trace(bytes);
  if (!log) return report_error({log.error().code, name + ": " + log.error().message});
  if (!options.part.empty()) {
    const auto text = print_part(*log, options.part);
    if (!text) return report_error(text.error());
    fmt::print("{}", *text);
  } else {
    fmt::print("{}", options.json ? log_json(*log, name) : print_log(*log, name));
  }
  return kNothingFound;
}

}  // namespace assay::cli
