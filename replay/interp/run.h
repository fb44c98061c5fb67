// Executes a graph on real tensors and keeps what was observed at every node.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/ops/counter_random.h"
#include "core/ops/domain.h"
#include "replay/interp/inputs.h"

namespace assay {

enum class NodeStatus : std::uint8_t {
  ran,
  recorded,   ///< Assay cannot run it; what eager execution recorded stands in and is compared
  failed,     ///< the operator refused its operands
  unchecked,  ///< no row, or a feature that the row lacks
  skipped,    ///< an operand has no value at all
};

struct ObservedTensor {
  RealMeta meta;
  int storage = -1;             ///< id within the run; equal ids share storage
  double sum = 0, abs_sum = 0;  ///< only with RunOptions::statistics
  bool has_nan = false;         ///< likewise
  bool has_infinity = false;    ///< likewise
};
/// Shape of a result: exactly one of tensor, scalar, items, or nothing (None).
struct ObservedValue {
  std::optional<ObservedTensor> tensor;
  std::optional<Expr> scalar;
  std::vector<ObservedValue> items;
  bool is_tuple = false;
};

struct NodeRun {
  NodeStatus status = NodeStatus::skipped;
  ObservedValue value;  ///< of failed and unchecked nodes the claim, if it can stand in
  bool has_value = false;
  bool refused = false;  ///< the operator's row refused its operands
  MadeUp refused_on;     ///< what was made up about those operands
  MadeUp made_up;
  std::string message;   ///< why it failed or was not checked
  bool is_view = false;  ///< the operator's schema says that it aliases an operand
  /// Of the random operators that it depends on, itself or through operands.
  Randomness randomness = Randomness::none;
};

struct GraphRun {
  std::vector<NodeRun> nodes;  ///< by position in Graph::nodes
  /// Placeholders that an in-place operator writes, and watched ones whose bytes changed.
  std::vector<std::string> mutated;
};

struct RunOptions {
  /// Go on behind nodes that cannot run, with what was recorded or claimed in their place.
  bool stand_ins = false;
  bool statistics = false;  ///< sums and finiteness of every tensor (one pass over it)
  /// Inputs whose bytes are compared before and after, for operators that write what their schema
  /// does not declare (running statistics). Names of placeholders.
  std::vector<std::string> watched = {};
  /// Recorded layouts to adopt where Assay's differ, so that one difference does not spread.
  const std::map<NodeId, Observation>* recorded = nullptr;
  /// The same rows without kernels (rules_of): contents are not computed where no node reads a size
  /// or number from them. Null: they are.
  const OpTable* rules = nullptr;
  /// Generators whose seed is known (core/ops/generator.h); null: random operators draw numbers of
  /// their own.
  std::shared_ptr<RandomState> random = nullptr;
  /// Called with the position and value of every node that ran, before an operator can change it.
  std::function<void(std::size_t, const Datum&)> tap = {};
  /// Called behind every call of an operator, those that nodes are composed of too, before the tap.
  RealDomain::Observer observer = {};
  /// Runs kernels of the user's own; null: it is not known what they are.
  LaunchUserKernel launch = {};
  /// Called after each node with (done, total); for progress on a terminal.
  std::function<void(std::size_t, std::size_t)> progress;
};

[[nodiscard]] auto run_graph(const Graph& graph, const RunInputs& inputs, const OpTable& table,
                             const RunOptions& options) -> GraphRun;

/// The table's rows without their kernels, for layouts alone. Texts stay those of the table, which
/// must outlive the result.
[[nodiscard]] auto rules_of(const OpTable& table) -> OpTable;

/// Converts a graph argument, looking node references up in `lookup`. Errors: unsupported for raw
/// Python text.
[[nodiscard]] auto to_datum(const Arg& arg, const std::function<const Datum*(NodeId)>& lookup)
    -> Result<Datum>;
/// The arguments of a call of an operator, one for each parameter of its schema. Errors: as
/// to_datum, bad_input (they do not fit the schema).
[[nodiscard]] auto bound_arguments(const Node& node, const OpRow& row,
                                   const std::function<const Datum*(NodeId)>& lookup)
    -> Result<DatumList>;

/// Runs one call on its operands in any domain: table rows, getitem, and higher-order operators
/// (higher_order.h). Errors: unsupported if there is no row, else the row's own.
[[nodiscard]] auto run_node(const Graph& graph, const Node& node, Domain& domain,
                            const std::function<const Datum*(NodeId)>& lookup) -> Result<Datum>;

/// Is there an implementation for this target: a row, getitem or a higher-order operator?
[[nodiscard]] auto can_run(std::string_view target, const OpTable& table) -> bool;

}  // namespace assay
