// Constants of graphs whose values no log holds.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "replay/runner/stage_run.h"

namespace assay {

/// What a function makes of numbers (`torch.tensor(3)`) is an attribute of the graphs behind it,
/// `_tensor_constant0` and so on in the order of the calls (get_fresh_qualname of
/// torch/fx/proxy.py).
class StageConstants {
 public:
  /// What a node of the function's graph gave.
  void add(const Node& node, const Datum& value);
  /// Adds those that the stage wants and nothing gives yet. One that is not as the graph says is
  /// left out.
  void give(const Stage& stage, std::map<std::string, Datum>& attributes) const;

 private:
  std::vector<Datum> made_;
};

}  // namespace assay
