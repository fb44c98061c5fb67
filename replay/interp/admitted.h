// What a captured program demands of its symbols, and numbers that meet it.
#pragma once
#include <optional>
#include <vector>

#include "core/expr/eval.h"
#include "core/graph/graph.h"

namespace assay {

/// A condition that a graph asserts about scalars while it runs: `_assert_scalar`,
/// `sym_constrain_range`, `sym_constrain_range_for_size`.
struct Asserted {
  std::size_t node = 0;  ///< position
  Expr condition;
};
/// In node order.
[[nodiscard]] auto asserted_conditions(const Graph& graph) -> std::vector<Asserted>;

/// A value of the symbol that its range, the guards and the graph's asserts admit, next to what is
/// known of other symbols: `own` if it is one, else the symbol's hint, else the smallest found from
/// 2 on (0 and 1 are special sizes). Nothing if none of the first thousand is admitted.
[[nodiscard]] auto admitted_value(const Graph& graph, const Expr& symbol, const Expr& own,
                                  const Binding& known) -> std::optional<Expr>;

}  // namespace assay
