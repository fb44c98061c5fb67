#include "core/expr/text.h"
#include "replay/report/run_report.h"

namespace assay {
namespace {

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

}  // namespace

auto run_text(const Capture& capture, const GraphRun& run, bool all) -> std::string {
  std::string text;
  for (std::size_t i = 0; i < run.nodes.size(); ++i)
    if (const auto& node = capture.graph.nodes[i]; all || node.kind == NodeKind::output)
      text += value_text(run.nodes[i].value, node.name);
  return text;
}

}  // namespace assay
