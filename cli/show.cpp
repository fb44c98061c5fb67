// assay show: a capture as text, a trace log as an overview.
#include <map>

#include "cli/command.h"
#include "cli/trace_log.h"
#include "core/expr/text.h"
#include "core/graph/text.h"
#include "replay/bundle/open.h"
#include "replay/formats/detect.h"

namespace assay::cli {
namespace {

struct Options {
  std::string file, graph;
  bool summary = false, plain = false, json = false;
};

auto summary(const Capture& capture, const OpTable& table) -> std::string {
  const auto& graph = capture.graph;
  std::map<std::string, int> targets;
  int inputs = 0;
  for (const auto& node : graph.nodes) {
    if (node.kind == NodeKind::placeholder) ++inputs;
    if (node.kind == NodeKind::call_function) ++targets[node.target];
  }
  auto text = fmt::format("{}: {}{}, {}, {}\n", capture.source_path, capture.format,
                          capture.kind.empty() ? "" : " (" + capture.kind + ")",
                          counted(graph.call_count(), "call"), counted(inputs, "input"));
  for (const auto& symbol : graph.env.symbols()) {
    text += fmt::format("symbol {} in [{}, {}]", symbol.name, print_expr(symbol.range.low),
                        print_expr(symbol.range.high));
    if (symbol.hint) text += ", hint " + print_expr(*symbol.hint);
    for (const auto& source : symbol.sources) text += ", " + source;
    text += "\n";
  }
  text += counted(std::ssize(graph.env.guards()), "guard") + "\n";
  for (const auto& [target, times] : targets) {
    const bool known = table.find(target) || target == "operator.getitem";
    text += fmt::format("{:6} {}{}\n", times, target, known ? "" : "   (no row: cannot be run)");
  }
  for (const auto& [key, value] : capture.environment) text += fmt::format("{}: {}\n", key, value);
  for (const auto& warning : capture.warnings) text += "warning: " + warning + "\n";
  return text;
}

auto run_show(const Options& options) -> int {
  const auto bytes = read_file(options.file);
  if (!bytes) return report_error(bytes.error());
  if (detect_format(*bytes) == InputFormat::torch_trace)
    return show_trace_log(*bytes, options.file, {.json = options.json, .part = options.graph});
  if (options.json || !options.graph.empty())
    return report_error({ErrorCode::usage, "--json and --graph are for TORCH_TRACE logs"});
  const auto capture = open_capture(options.file);
  if (!capture) return report_error(capture.error());
  if (options.summary)
    fmt::print("{}", summary(*capture, build_op_table()));
  else
    fmt::print("{}", print_graph(capture->graph, {.header = !options.plain}));
  return kNothingFound;
}

}  // namespace

auto add_show(CLI::App& app) -> Action {
  const auto options = std::make_shared<Options>();
  app.add_option("FILE", options->file, "any input")->required();
  app.add_flag("--summary", options->summary, "symbols, guards and operators, not the graph");
  app.add_flag("--plain", options->plain, "without the header of comment lines");
  app.add_option("--graph", options->graph,
                 "of a trace log: print this graph or program, e.g. aot_forward_graph");
  app.add_flag("--json", options->json, "of a trace log: everything as JSON");
  return [options] { return run_show(*options); };
}

}  // namespace assay::cli
