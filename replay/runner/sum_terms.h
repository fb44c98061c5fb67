// How many terms results add up, which is how far their order may move them.
#pragma once
#include <vector>

#include "core/graph/graph.h"
#include "core/ops/op_table.h"

namespace assay {

struct SumTerms {
  double count = 1;
  bool meet =
      false;  ///< in one place at indices, which kernels may add up in the result's own dtype
};

/// Terms that an element of the result of `graph.nodes[at]` adds up at most; 1 where it is no sum.
/// `values` are those of the nodes in a run, by position, nothing for nodes that have none; of
/// floats only the layout is asked for.
[[nodiscard]] auto sum_terms(const Graph& graph, std::size_t at, const std::vector<Datum>& values,
                             const OpTable& table) -> SumTerms;

}  // namespace assay
