// Where inside a stage that gives something else the difference begins.
#pragma once
#include "replay/runner/stage_rounding.h"

namespace assay {

struct StageBlame {
  std::string name;    ///< node, or the buffer that a launch wrote
  std::string target;  ///< operator, kernel or library call
  std::string call;    ///< the statement
  std::string before;  ///< the same node's call in the stage it is compared with
  /// Where the difference shows for certain, if what lies between has no counterpart: the node or
  /// launch is the first of several that may be it.
  std::string through;
  /// The buffer that shows it there, who wrote it, and what it holds.
  struct Shown {
    std::string buffer, target;
    std::optional<Tensor> wrote, expected;
  };
  std::optional<Shown> shown;
  std::vector<std::string> nodes;  ///< of the graph that the kernel computes
  std::optional<Origin> origin;
  int line = 0;  ///< in the payload
  StageDistance distance;
  /// Of a launch: what it wrote, and the graph's value of that size and dtype, if there is one.
  std::optional<Tensor> wrote, expected;
  [[nodiscard]] auto found() const -> bool { return !name.empty(); }
};

/// What a stage is run on.
struct StageContext {
  const StageValues& inputs;
  const std::map<std::string, Datum>& attributes;
  const OpTable& table;
};

/// The stages differ in what `producer` gives here and `right_producer` there; empty: any node.
/// Nodes of stages with the same names are compared by name; else a node counts as right if its
/// value comes up anywhere in `right`. A node of `right` that is not here, and whose operand is
/// returned in its place, is named itself.
[[nodiscard]] auto blame_node(const Stage& stage, const Stage& right, const StageContext& context,
                              const StageContext& right_context, const std::string& producer,
                              const std::string& right_producer) -> StageBlame;
/// The last launch above line `before` (0: of all) that takes the buffer as what it writes, by the
/// name of its parameter, whether it stores there or not. Null if there is none.
[[nodiscard]] auto last_writer(const HostProgram& program, const std::string& buffer, int before)
    -> const HostOp*;
/// The launch or library call whose buffer is the first on the way to `producer` that no node of
/// `right` has as its value.
[[nodiscard]] auto blame_launch(const Stage& program, const Stage& right,
                                const StageContext& context, const StageContext& right_context,
                                const std::string& producer) -> StageBlame;

}  // namespace assay
