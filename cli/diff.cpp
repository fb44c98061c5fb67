// assay diff: the graphs of two traces, node by node.
#include <charconv>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "replay/trace/diff.h"

namespace assay::cli {
namespace {

struct Options {
  std::string left, right;
  bool json = false, all = false;
};

/// `file.sqlite#2` names a graph; without a number it is the first.
auto read_side(const std::string& text) -> Result<std::vector<DiffNode>> {
  const auto hash = text.rfind('#');
  TraceId graph = 1;
  const auto number = hash == std::string::npos ? std::string("1") : text.substr(hash + 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), graph);
  if (error != std::errc() || end != number.data() + number.size())
    return std::unexpected(
        Error{ErrorCode::usage, fmt::format("{}: behind # stands the number of a graph", text)});
  ASSAY_TRY(const auto reader, TraceReader::open(text.substr(0, hash)));
  ASSAY_TRY(auto nodes, read_diff_nodes(reader, graph));
  if (nodes.empty()) return bad_input("{}: has no nodes in graph {}", text, graph);
  return nodes;
}

auto mark(DiffKind kind) -> std::string {
  switch (kind) {
    case DiffKind::same:
      return "  ";
    case DiffKind::changed:
      return styled("~ ", Style::yellow);
    case DiffKind::added:
      return styled("+ ", Style::green);
    case DiffKind::removed:
      return styled("- ", Style::red);
  }
  return {};
}

auto line_of(const GraphDiff& diff, const DiffPair& pair) -> const NodeLine& {
  return pair.right >= 0 ? diff.right[static_cast<std::size_t>(pair.right)].line
                         : diff.left[static_cast<std::size_t>(pair.left)].line;
}

void print_text(const GraphDiff& diff, bool all) {
  for (const auto& pair : diff.pairs) {
    if (pair.kind == DiffKind::same && !all) continue;
    const auto& line = line_of(diff, pair);
    fmt::print("{}{} = {}\n", mark(pair.kind), line.name, line.target);
    for (const auto& change : pair.changes) fmt::print("    {}\n", change);
  }
  fmt::print("{} same, {} changed, {} added, {} removed\n", diff.count(DiffKind::same),
             diff.count(DiffKind::changed), diff.count(DiffKind::added),
             diff.count(DiffKind::removed));
}

void print_json(const GraphDiff& diff) {
  nlohmann::ordered_json json{{"schema", "assay.diff/1"}};
  for (const auto kind : {DiffKind::same, DiffKind::changed, DiffKind::added, DiffKind::removed})
    json[std::string(name(kind))] = diff.count(kind);
  json["nodes"] = nlohmann::ordered_json::array();
  for (const auto& pair : diff.pairs) {
    if (pair.kind == DiffKind::same) continue;
    const auto& line = line_of(diff, pair);
    json["nodes"].push_back({{"kind", name(pair.kind)},
                             {"name", line.name},
                             {"target", line.target},
                             {"matched_by", name(pair.by)},
                             {"changes", pair.changes}});
  }
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

auto run_diff(const Options& options) -> Result<int> {
  ASSAY_TRY(auto left, read_side(options.left));
  ASSAY_TRY(auto right, read_side(options.right));
  const auto diff = diff_graphs(std::move(left), std::move(right));
  if (options.json)
    print_json(diff);
  else
    print_text(diff, options.all);
  return diff.count(DiffKind::same) == std::ssize(diff.pairs) ? kNothingFound : kFindings;
}

}  // namespace

auto add_diff(Arguments& arguments) -> Action {
  const auto options = std::make_shared<Options>();
  arguments.option("A", &options->left, "a trace; #N behind it names a graph in it", kRequired);
  arguments.option("B", &options->right, "another, or another graph of it", kRequired);
  arguments.flag("--all", options->all, "list nodes that are the same too");
  arguments.flag("--json", options->json, "print JSON");
  return [options] {
    const auto result = run_diff(*options);
    return result ? *result : report_error(result.error());
  };
}

}  // namespace assay::cli
