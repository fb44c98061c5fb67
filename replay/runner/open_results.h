// What in a run of a graph rests on results that PyTorch leaves open.
#pragma once
#include <map>
#include <set>

#include "core/graph/graph.h"
#include "core/ops/op_table.h"

namespace assay {

/// Told of every call and every node of a run, in order (RunOptions::observer and tap).
class OpenResults {
 public:
  /// An operator gave this; `args` has one for each parameter.
  void called(const OpRow& row, const DatumList& args, const Datum& result);
  /// The next node of the run.
  void add(const Node& node, const Datum& value);
  /// Null where the node did not run.
  [[nodiscard]] auto of(NodeId id) const -> const Datum*;
  /// Is it, or a part of it, in memory that such a result was written to?
  [[nodiscard]] auto has(const Datum& value) const -> bool;
  /// Does the node rest on such a result?
  [[nodiscard]] auto has(NodeId id) const -> bool { return nodes_.contains(id); }

 private:
  void insert(const Datum& value);

  std::map<NodeId, Datum> seen_;  ///< keeps all memory, so that no other takes its place
  DatumList kept_;                ///< of calls inside of nodes
  std::set<NodeId> nodes_;        ///< numbers among them
  std::set<const Storage*> memory_;
};

}  // namespace assay
