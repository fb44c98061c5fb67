// assay run: execute a capture and print its outputs.
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "core/expr/text.h"
#include "replay/bundle/open.h"
#include "replay/interp/run.h"

namespace assay::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string file, at, graph;
  bool stats = false, json = false;
};

auto value_json(const ObservedValue& value) -> Json {
  if (value.is_tuple) {
    Json list = Json::array();
    for (const auto& item : value.items) list.push_back(value_json(item));
    return list;
  }
  if (value.scalar) return Json{{"scalar", print_expr(*value.scalar)}};
  if (!value.tensor) return nullptr;
  const auto& meta = value.tensor->meta;
  return Json{{"dtype", name(meta.dtype)},       {"size", meta.sizes},
              {"stride", meta.strides},          {"offset", meta.offset},
              {"sum", value.tensor->sum},        {"abs", value.tensor->abs_sum},
              {"storage", value.tensor->storage}};
}

auto value_text(const ObservedValue& value, const std::string& leaf) -> std::string {
  if (value.is_tuple) {
    std::string text;
    for (std::size_t i = 0; i < value.items.size(); ++i)
      text += value_text(value.items[i], fmt::format("{}[{}]", leaf, i));
    return text;
  }
  if (value.scalar) return fmt::format("{}: {}\n", leaf, print_expr(*value.scalar));
  if (!value.tensor) return fmt::format("{}: None\n", leaf);
  return fmt::format("{}: {}  sum {:.6g}  abs {:.6g}\n", leaf, to_string(value.tensor->meta),
                     value.tensor->sum, value.tensor->abs_sum);
}

/// The first node that did not run, as an error of the right kind.
auto first_failure(const Capture& capture, const GraphRun& run) -> Result<void> {
  for (std::size_t i = 0; i < run.nodes.size(); ++i) {
    const auto& record = run.nodes[i];
    if (record.status == NodeStatus::ran || record.status == NodeStatus::recorded ||
        record.status == NodeStatus::skipped)
      continue;
    const auto text = fmt::format("node {}: {}", capture.graph.nodes[i].name, record.message);
    return std::unexpected(Error{
        record.status == NodeStatus::unchecked ? ErrorCode::unsupported : ErrorCode::bad_input,
        text});
  }
  return {};
}

/// Calls that Assay did not run itself: their recorded layouts stand in, with made-up contents.
auto stood_in(const Capture& capture, const GraphRun& run) -> std::vector<std::string> {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < run.nodes.size(); ++i)
    if (run.nodes[i].status == NodeStatus::recorded)
      lines.push_back(fmt::format("{}: {}", capture.graph.nodes[i].name, run.nodes[i].message));
  return lines;
}

auto run_file(const Options& options) -> Result<int> {
  ASSAY_TRY(const auto capture, open_capture(options.file, options.graph));
  Binding at;
  if (!options.at.empty()) {
    ASSAY_TRY(at, parse_binding(capture.graph.env, options.at));
  }
  ASSAY_TRY(const auto inputs, at.empty() ? recorded_inputs(capture) : inputs_at(capture, at));
  if (!inputs.chosen_sizes.empty() && !options.json) fmt::print("{}\n", inputs.chosen_sizes);
  const auto table = build_op_table();
  Progress progress("running");
  const auto run = run_graph(
      capture.graph, inputs, table,
      {.stand_ins = at.empty() && !capture.observed.empty(),
       .statistics = true,
       .recorded = at.empty() ? &capture.observed : nullptr,
       .progress = [&](std::size_t done, std::size_t total) { progress.update(done, total); }});
  ASSAY_TRY_VOID(first_failure(capture, run));
  const auto not_run = stood_in(capture, run);
  for (const auto& line : not_run)
    fmt::print(stderr,
               "assay: warning: not run, its recorded layout stands in with made-up "
               "contents: {}\n",
               line);
  Json nodes = Json::object();
  for (std::size_t i = 0; i < run.nodes.size(); ++i) {
    const auto& node = capture.graph.nodes[i];
    const bool is_output = node.kind == NodeKind::output;
    if (!is_output && !options.stats) continue;
    if (options.json)
      nodes[node.name] = value_json(run.nodes[i].value);
    else
      fmt::print("{}", value_text(run.nodes[i].value, node.name));
  }
  if (options.json)
    fmt::print("{}\n", Json{{"schema", "assay.run/1"},
                            {"values", nodes},
                            {"chosen_sizes", inputs.chosen_sizes},
                            {"stood_in", not_run}}
                           .dump(2));
  return kNothingFound;
}

}  // namespace

auto add_run(CLI::App& app) -> Action {
  const auto options = std::make_shared<Options>();
  app.add_option("FILE", options->file, "any input")->required();
  app.add_option("--at", options->at, "run at these sizes, e.g. s77=5");
  app.add_option("--graph", options->graph, kGraphHelp);
  app.add_flag("--stats", options->stats, "print every node, not only the outputs");
  app.add_flag("--json", options->json, "print JSON");
  return [options] {
    const auto result = run_file(*options);
    return result ? *result : report_error(result.error());
  };
}

}  // namespace assay::cli
