// assay show: a capture as text, a compiled program as a list, a trace log as an overview.
#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/show_program.h"
#include "cli/trace_log.h"
#include "core/expr/text.h"
#include "core/graph/targets.h"
#include "core/graph/text.h"
#include "replay/bundle/open.h"
#include "replay/formats/detect.h"
#include "replay/interp/run.h"
#include "replay/runner/programs.h"

namespace assay::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string file, graph;
  bool summary = false, plain = false, json = false;
};

struct OperatorCount {
  int calls = 0;
  bool known = false;  ///< there is a row: it can be run
};

auto count_operators(const Graph& graph, const OpTable& table)
    -> std::map<std::string, OperatorCount> {
  std::map<std::string, OperatorCount> counts;
  for (const auto& node : graph.nodes) {
    if (node.kind != NodeKind::call_function) continue;
    auto& count = counts[node.target];
    ++count.calls;
    count.known = can_run(node.target, table);
  }
  return counts;
}

auto count_inputs(const Graph& graph) -> std::int64_t {
  return std::ranges::count(graph.nodes, NodeKind::placeholder, &Node::kind);
}

auto summary(const Capture& capture, const OpTable& table) -> std::string {
  const auto& graph = capture.graph;
  auto text =
      fmt::format("{}: {}{}, {}, {}\n", capture.source_path, capture.format,
                  capture.kind.empty() ? "" : " (" + capture.kind + ")",
                  counted(graph.call_count(), "call"), counted(count_inputs(graph), "input"));
  for (const auto& symbol : graph.env.symbols()) {
    text += fmt::format("symbol {} in [{}, {}]", symbol.name, print_expr(symbol.range.low),
                        print_expr(symbol.range.high));
    if (symbol.hint) text += ", hint " + print_expr(*symbol.hint);
    for (const auto& source : symbol.sources) text += ", " + source;
    text += "\n";
  }
  text += counted(std::ssize(graph.env.guards()), "guard") + "\n";
  for (const auto& [target, count] : count_operators(graph, table))
    text += fmt::format("{:6} {}{}\n", count.calls, target,
                        count.known ? "" : "   (no row: cannot be run)");
  for (const auto& [key, value] : capture.environment) text += fmt::format("{}: {}\n", key, value);
  for (const auto& warning : capture.warnings) text += "warning: " + warning + "\n";
  return text;
}

auto claim_json(const Claim& claim) -> Json {
  if (const auto* scalar = claim.scalar()) return Json{{"scalar", print_expr(*scalar)}};
  if (const auto* items = claim.items()) {
    Json list = Json::array();
    for (const auto& item : *items) list.push_back(claim_json(item));
    return list;
  }
  const auto* meta = claim.tensor();
  if (!meta) return nullptr;
  const auto texts = [](const Dims& dims) {
    Json list = Json::array();
    for (const auto& dim : dims) list.push_back(print_expr(dim));
    return list;
  };
  return Json{{"dtype", name(meta->dtype)},
              {"size", texts(meta->sizes)},
              {"stride", texts(meta->strides)},
              {"offset", print_expr(meta->offset)},
              {"device", to_string(meta->device)}};
}

auto node_json(const Graph& graph, const Node& node) -> Json {
  const bool called = node.kind != NodeKind::placeholder && node.kind != NodeKind::get_attr;
  Json json{{"name", node.name}, {"kind", name(node.kind)}, {"target", node.target}};
  if (called) json["text"] = print_call(graph, node);
  json["claim"] = claim_json(node.claim);
  if (node.origin && !node.origin->file.empty())
    json["source"] =
        Json{{"file", node.origin->file}, {"line", node.origin->line}, {"code", node.origin->code}};
  return json;
}

auto show_json(const Capture& capture, const OpTable& table, bool with_nodes) -> Json {
  const auto& graph = capture.graph;
  Json json{{"schema", "assay.show/1"},      {"source", capture.source_path},
            {"format", capture.format},      {"kind", capture.kind},
            {"inputs", count_inputs(graph)}, {"calls", graph.call_count()}};
  for (const char* list : {"symbols", "guards", "operators"}) json[list] = Json::array();
  for (const auto& symbol : graph.env.symbols())
    json["symbols"].push_back({{"name", symbol.name},
                               {"low", print_expr(symbol.range.low)},
                               {"high", print_expr(symbol.range.high)},
                               {"hint", symbol.hint ? Json(print_expr(*symbol.hint)) : Json()},
                               {"sources", symbol.sources}});
  for (const auto& guard : graph.env.guards())
    json["guards"].push_back({{"expr", guard.text}, {"where", guard.where}});
  for (const auto& [target, count] : count_operators(graph, table))
    json["operators"].push_back(
        {{"target", target}, {"calls", count.calls}, {"has_row", count.known}});
  json["environment"] = Json::object();
  for (const auto& [key, value] : capture.environment) json["environment"][key] = value;
  json["warnings"] = capture.warnings;
  if (!with_nodes) return json;
  json["nodes"] = Json::array();
  for (const auto& node : graph.nodes) json["nodes"].push_back(node_json(graph, node));
  return json;
}

auto text_of(const Capture& capture, bool with_header) -> std::string {
  auto text = print_graph(capture.graph, {.header = with_header});
  const bool is_open = !capture.guards_recorded && !capture.graph.env.symbols().empty();
  if (with_header && is_open)
    text.insert(text.find('\n') + 1, fmt::format("{}\n", kGuardsNotRecorded));
  return text;
}

auto run_show(const Options& options) -> int {
  const auto program = open_program(options.file);
  if (!program) return report_error(program.error());
  const auto& bytes = program->text;
  if (detect_format(bytes) == InputFormat::torch_trace)
    return show_trace_log(bytes, options.file, {.json = options.json, .part = options.graph});
  if (options.graph.empty() && holds_programs(bytes))
    return show_programs(bytes, options.file, {.json = options.json, .summary = options.summary});
  const auto capture = open_capture(options.file, options.graph);
  if (!capture) return report_error(capture.error());
  if (options.json)
    fmt::print("{}\n", show_json(*capture, build_op_table(), !options.summary).dump(2));
  else if (options.summary)
    fmt::print("{}", summary(*capture, build_op_table()));
  else
    fmt::print("{}", text_of(*capture, !options.plain));
  if (!options.json && !options.summary)
    for (const auto& warning : capture->warnings) fmt::print(stderr, "warning: {}\n", warning);
  return kNothingFound;
}

}  // namespace

auto add_show(Arguments& arguments) -> Action {
  const auto options = std::make_shared<Options>();
  arguments.option("FILE", &options->file, "any input", kRequired);
  arguments.flag("--summary", options->summary, "symbols, guards and operators, not the graph");
  arguments.flag("--plain", options->plain, "without the header of comment lines");
  arguments.option("--graph", &options->graph,
                   "of a log or text: print this graph or program, e.g. aot_forward_graph, or 2");
  arguments.flag("--json", options->json, "print JSON; with --summary without the nodes");
  return [options] { return run_show(*options); };
}

}  // namespace assay::cli
