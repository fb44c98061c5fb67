// What in a run rests on data that the capture does not hold.
#pragma once
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/expr/eval.h"
#include "replay/interp/run.h"
#include "replay/interp/symbolic.h"

namespace assay {

/// Symbols that first appear where made-up contents were read, and the position of that node: the
/// run bound them, but the program may bind them otherwise.
[[nodiscard]] auto doubtful_symbols(const Graph& graph, const GraphRun& run)
    -> std::unordered_map<Expr, std::size_t>;

/// Names of the inputs, attributes and calls without a row whose made-up data flow into the node at
/// this position. In node order.
[[nodiscard]] auto made_up_sources(const Graph& graph, const GraphRun& run, std::size_t at)
    -> std::vector<std::string>;

/// Do sizes of this call's operands rest on symbols, where no guard says which sizes go together?
/// What it refuses at sizes that somebody had to choose accuses nobody then.
[[nodiscard]] auto rests_on_free_sizes(const Capture& capture, std::size_t at) -> bool;

/// Sizes of its operands being free in that way: does the rule agree with the node's claim on
/// symbols? At sizes that somebody chose it takes another way then, which a guard that the capture
/// does not tell may exclude.
[[nodiscard]] auto holds_at_other_sizes(const Capture& capture, const SymbolicRun* symbolic,
                                        std::size_t at) -> bool;

/// The name of a symbol in the claim of this node, or in the strides of its operands, that is a
/// free number: an input that was not
/// recorded, no input's size, with no guard that says what it may be, so that another sign or 0
/// would do as well. Empty if there is none, and where the rule contradicts the claim whatever it
/// is.
[[nodiscard]] auto free_number(const Capture& capture, const SymbolicRun* symbolic, std::size_t at)
    -> std::string;

/// Does the capture say what the symbol may be, or is its range the default of its kind?
[[nodiscard]] auto states_range(const Capture& capture, const Symbol& symbol) -> bool;

/// Captures print floats with 15 digits, so a comparison of floats is only as exact as that: are
/// its two sides the same but for their last digits?
[[nodiscard]] auto is_rounding(const Expr& condition, const Binding& binding) -> bool;

/// Names of inputs that flow into calls Assay did not run: those may write what they please.
[[nodiscard]] auto inputs_of_unknown_calls(const Graph& graph, const GraphRun& run)
    -> std::set<std::string>;

}  // namespace assay
