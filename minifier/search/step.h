// One answer of an oracle, as a timeline shows it.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "minifier/oracle/oracle.h"

namespace assay {

struct MinifyStep {
  int seq = 0;
  int parent = -1;  ///< the step that was the best so far when this was asked, -1 for none
  std::string phase = {};
  std::uint64_t key = 0;
  int calls = 0;  ///< of a graph; of a compiled program its lines
  Observed observed = {};
  bool is_wanted = false;  ///< it fails the way that is looked for
  double at_seconds = 0;   ///< since the search began
  std::string text = {};   ///< of the candidate; empty where it is large
};
/// Gets every answer; texts of candidates are made only if somebody listens.
using StepListener = std::function<void(const MinifyStep&)>;
/// Candidates of more calls are not kept as text.
inline constexpr int kMostStepCalls = 600;
/// Nor programs of more lines.
inline constexpr int kMostStepLines = 2000;

}  // namespace assay
