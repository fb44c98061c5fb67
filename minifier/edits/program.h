// The capture that is being cut down, indexed once, and what a candidate keeps of it.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/expr/eval.h"
#include "core/ops/op_table.h"
#include "replay/formats/capture.h"

namespace assay {

/// Which call nodes of a program stay calls. A call that does not stay becomes an input with its
/// recorded value where a kept call uses it, and disappears elsewhere.
struct Selection {
  std::vector<bool> keep;  ///< by position in Graph::nodes; only calls count
  friend auto operator==(const Selection&, const Selection&) -> bool = default;
};

/// Immutable. Node ids survive every cut, so results, caches and siblings line up.
class Program {
 public:
  /// The capture is executed once, when a cut is first asked for, to learn the value of every node
  /// (a node that does not run, or values beyond `memory_bytes` in total, are known by their claim
  /// only). `table` must outlive the program.
  Program(Capture capture, const OpTable& table, std::int64_t memory_bytes = std::int64_t{1} << 30);

  [[nodiscard]] auto capture() const -> const Capture& { return capture_; }
  [[nodiscard]] auto graph() const -> const Graph& { return capture_.graph; }
  /// Positions of the calls, in execution order.
  [[nodiscard]] auto calls() const -> const std::vector<int>& { return calls_; }
  /// Positions a node refers to, each once.
  [[nodiscard]] auto operands(int position) const -> const std::vector<int>& {
    return operands_[static_cast<std::size_t>(position)];
  }
  /// Does the node reach the output?
  [[nodiscard]] auto is_live(int position) const -> bool {
    return live_[static_cast<std::size_t>(position)];
  }
  [[nodiscard]] auto position(NodeId id) const -> int;
  /// Hash of everything an oracle may look at: graph with names, inputs, guards.
  [[nodiscard]] auto content_hash() const -> std::uint64_t { return content_hash_; }

  [[nodiscard]] auto everything() const -> Selection;
  [[nodiscard]] auto nothing() const -> Selection;
  /// Adds what a selection needs to be a graph: producers of tuples whose elements are kept, since
  /// no input can be a tuple.
  void repair(Selection& selection) const;
  [[nodiscard]] auto kept_calls(const Selection& selection) const -> int;
  /// The selection as a capture of its own: inputs nobody uses are gone, a kept call that lost its
  /// last user is returned unless it was dead before, guards and symbols that no longer occur are
  /// dropped. `selection` must be repaired.
  [[nodiscard]] auto cut(const Selection& selection) const -> Capture;

 private:
  void index();
  void record() const;
  void record_once() const;
  /// What was recorded of the symbols; runs the capture once.
  [[nodiscard]] auto sizes() const -> const Binding&;
  class Cutter;

  Capture capture_;
  std::vector<int> by_id_;
  std::vector<int> calls_;
  std::vector<std::vector<int>> operands_;
  std::vector<bool> live_;
  const OpTable* table_;
  std::int64_t memory_bytes_;
  // Filled by the first cut.
  mutable bool recorded_ = false;
  mutable std::optional<Binding> sizes_;
  mutable std::vector<InputValue> values_;           ///< by position; of calls
  mutable std::vector<StorageData> value_storages_;  ///< RecordedTensor::storage of values_
  std::uint64_t content_hash_ = 0;
};

/// Calls f on every expression of a claim or an argument.
void visit_exprs(const Claim& claim, const std::function<void(const Expr&)>& f);
void visit_exprs(const Arg& arg, const std::function<void(const Expr&)>& f);

/// Hash of a capture as content_hash() takes it.
[[nodiscard]] auto content_hash_of(const Capture& capture) -> std::uint64_t;

/// Removes symbols, guards and replacements that no claim, argument or input mentions any more
/// (guards that share a symbol with what is left stay).
void drop_unused_symbols(Capture& capture);

/// Symbols that claims or arguments mention and that no input gives any more, neither as a number
/// nor by its sizes, become inputs of their own: those of `from`, or new ones. `sizes` are asked
/// for only if there are such symbols; one without a size is left alone.
void give_symbols(Capture& cut, const Capture& from, const std::function<Binding()>& sizes);

}  // namespace assay
