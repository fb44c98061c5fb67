// What must hold for every graph that a reader accepts.
#pragma once
#include "core/base/check.h"
#include "core/graph/text.h"

namespace assay::fuzz {

/// A graph without defects prints as text that reads as the same graph.
inline void check_round_trip(const Graph& graph) {
  const auto is_sound = verify(graph).empty();
  const auto text = print_graph(graph);
  const auto again = parse_graph(text);
  if (!is_sound) return;
  ASSAY_CHECK(again.has_value(), "{}\n{}", again.error().message, text);
  ASSAY_CHECK(same_structure(graph, *again), "another graph after printing:\n{}", text);
}

}  // namespace assay::fuzz
