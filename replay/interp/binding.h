// Values of the symbols in a run, solved from what was observed, never from hints.
#pragma once
#include <string>
#include <vector>

#include "core/expr/eval.h"
#include "replay/interp/run.h"

namespace assay {

struct SymbolBinding {
  Binding values;
  std::vector<std::string> unbound;  ///< symbols that occur in claims and got no value
  /// Symbols for which equations disagreed, with the counts: "s77: 4 (12 equations), 5 (1)".
  std::vector<std::string> conflicts;
};

/// Every observed size, stride, offset and scalar gives an equation `claim == value`. Equations
/// with one unknown symbol are solved (bare symbols, then compound ones) and the value with most
/// support wins, inputs counting before other nodes; so one false claim cannot bend the binding.
[[nodiscard]] auto bind_symbols(const Graph& graph, const GraphRun& run) -> SymbolBinding;

/// The symbols in the claims of a node and of its operands: those that its findings can turn on.
[[nodiscard]] auto symbols_around(const Graph& graph, NodeId node) -> std::vector<Expr>;

/// "s53 = 13, s77 = 2", by name; only symbols in `of` if that is not empty.
[[nodiscard]] auto to_string(const Binding& binding, const std::vector<Expr>& of = {})
    -> std::string;

}  // namespace assay
