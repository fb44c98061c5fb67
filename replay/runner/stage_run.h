// Runs one stage on named values.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "compiler/program/executor.h"
#include "core/ops/op_table.h"
#include "replay/interp/run.h"
#include "replay/runner/stage.h"

namespace assay {

struct StageValue {
  Datum value;
  Randomness randomness = Randomness::none;  ///< of what Assay drew itself
  std::string producer = {};  ///< node or buffer that the stage returns; empty for inputs
  bool is_open = false;       ///< rests on a result that PyTorch leaves open (undefined_results.h)
};
/// By the names of Stage.
using StageValues = std::map<std::string, StageValue>;

struct StageRun {
  StageValues values;   ///< what it gave, and inputs after it
  std::string not_run;  ///< why there are none; empty where it ran
  /// The call that refused its operands, or what the program's checks found first: no stage may.
  std::string refused_at, refusal;
  GraphRun graph;  ///< of a graph
  std::vector<RunFinding> findings;
  std::int64_t launches = 0;
};

struct StageTaps {
  std::function<void(std::size_t node, const Datum&)> node = {};
  std::function<void(const Datum&)> inner = {};  ///< of operators that a node is composed of
  std::function<void(const RunWritten&)> written = {};
};

/// Inputs are copied first, so that each stage has its own to write on. A value that the stage
/// takes and nobody gave is a reason not to run.
[[nodiscard]] auto run_stage(const Stage& stage, const StageValues& inputs,
                             const std::map<std::string, Datum>& attributes, const OpTable& table,
                             const StageTaps& taps = {}) -> StageRun;

/// Copies of the storages, each once: what shared one still does.
class DatumCopier {
 public:
  auto operator()(const Datum& datum) -> Datum;

 private:
  std::map<const Storage*, std::shared_ptr<Storage>> copies_;
};

}  // namespace assay
