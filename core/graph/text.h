// The native text form: the print_readable dialect with a header of comment lines.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace assay {

/// Parses one graph: print_readable text (class with forward and annotations), with or without our
/// header; nested classes become children. Also accepts a bare `def forward`, and str(graph).
/// Unknown operators parse. Symbols that are not declared in the header are added to the
/// environment with default ranges. Defaults of parameters are dropped: inputs are always given.
/// Errors: bad_input or unsupported with `line L, column C`.
[[nodiscard]] auto parse_graph(std::string_view text) -> Result<Graph>;

/// Where a graph begins in a text that holds other things too: a log, a print of an exported
/// program, a message with remarks around the graph.
struct GraphPlace {
  std::string title;       ///< "Forward graph 0" out of a line `===== Forward graph 0 =====` above
  int line = 1;            ///< of its first line
  std::size_t search = 0;  ///< where to look for it: behind the graph before
  int search_line = 1;
};
/// All graphs of a text, in order; `first_line` is the number of the text's first line.
[[nodiscard]] auto graph_places(std::string_view text, int first_line = 1)
    -> std::vector<GraphPlace>;

/// A graph out of such a text.
struct GraphExcerpt {
  Graph graph;
  std::vector<std::string> warnings;  ///< "line 7: the text ends inside a statement; ..."
  std::size_t end = 0;                ///< byte offset of what follows the graph
  int end_line = 1;
};
/// Reads the graph that begins there and no more. A graph that is cut off is read as far as it
/// goes, with a warning; results that nothing uses stand for what it returns. Errors: as
/// parse_graph.
[[nodiscard]] auto parse_graph_at(std::string_view text, const GraphPlace& place)
    -> Result<GraphExcerpt>;

struct PrintOptions {
  bool header = true;     ///< version, symbols, guards, replacements as `# assay ...` comment lines
  bool claims = true;     ///< annotations with strides and devices
  bool origins = true;    ///< `# File: ...` comments where the origin changes
  bool liveness = false;  ///< `;  x = None` suffixes after a last use
};
/// parse_graph(print_graph(g)) has the structure, names, claims, symbols and guards of g.
[[nodiscard]] auto print_graph(const Graph& graph, const PrintOptions& options = {}) -> std::string;

/// One argument as Python text, naming nodes through `graph`.
[[nodiscard]] auto print_arg(const Graph& graph, const Arg& arg) -> std::string;
/// One call as Python text: `torch.ops.aten.add.Tensor(x, 1, alpha = 2)`.
[[nodiscard]] auto print_call(const Graph& graph, const Node& node) -> std::string;

/// Canonical target from PyTorch's spellings:
///   torch.ops.aten.add.Tensor, aten.add.Tensor                 -> aten.add.Tensor
///   <built-in function mul>, _operator.mul, operator.mul       -> operator.mul
///   <function sym_sum at 0x..>, torch.sym_sum                  -> torch.sym_sum
///   <built-in function ceil>, math.ceil, math_ceil             -> math.ceil
///   <built-in function max>, builtins.max, max                 -> builtins.max
/// abs and pow exist twice in Python and are always operator.abs and operator.pow.
[[nodiscard]] auto canonical_target(std::string_view text) -> std::string;

/// Place in a source text; columns count bytes. Both start at 1.
struct SourcePosition {
  int line = 1;
  int column = 1;
};

}  // namespace assay
