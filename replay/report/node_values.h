// The first values of a graph's nodes, gathered while it runs.
#pragma once
#include <functional>
#include <map>
#include <vector>

#include "replay/report/trace_rows.h"
#include "replay/runner/first_values.h"

namespace assay {

class NodeValues {
 public:
  /// For DebugOptions::tap; this must outlive the run.
  [[nodiscard]] auto tap() -> std::function<void(std::size_t, const Datum&)>;
  /// Rows behind those of the capture, then those of `more`. This, capture and report must
  /// outlive the result.
  [[nodiscard]] auto rows(const Capture& capture, const DebugReport& report,
                          const MoreRows& more = {}) const -> MoreRows;

 private:
  std::map<std::size_t, std::vector<FirstValues>> values_;  ///< by position in the graph
};

}  // namespace assay
