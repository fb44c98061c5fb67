// Graph texts that run on given tensors, for tests.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/graph/text.h"
#include "core/ops/op_table.h"
#include "replay/interp/run.h"

namespace assay::testing {

/// All operators, built once.
inline auto rows() -> const OpTable& {
  static const OpTable kTable = build_op_table();
  return kTable;
}

struct TextRun {
  GraphRun run;
  std::vector<Tensor> returned;  ///< of a list of tensors
  int taps = 0;                  ///< values that a tap was told of
};

/// Runs the text; inputs are taken in order, and nothing about them is made up. `launch`: kernels
/// of the user's own.
inline auto run_text(const std::string& text, const DatumList& inputs,
                     const LaunchUserKernel& launch = {}) -> TextRun {
  const auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().message) << "\n" << text;
  if (!graph) return {};
  RunInputs feed;
  feed.values = inputs;
  feed.made_up.resize(inputs.size());
  feed.defects.resize(inputs.size());
  TextRun seen;
  RunOptions options{.statistics = true, .progress = {}};
  options.launch = launch;
  options.tap = [&](std::size_t i, const Datum& value) {
    ++seen.taps;
    if (graph->nodes[i].kind != NodeKind::output || !value.list()) return;
    for (const auto& one : *value.list())
      if (one.real()) seen.returned.push_back(*one.real());
  };
  seen.run = run_graph(*graph, feed, rows(), options);
  return seen;
}

}  // namespace assay::testing
