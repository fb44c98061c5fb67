// The operator table for one capture: all rows, and those inferred from calls recorded beside it.
#pragma once
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/ops/op_table.h"
#include "replay/formats/capture.h"

namespace assay::cli {

struct CaptureTable {
  OpTable table;
  /// What was inferred, or could not be, about operators that the capture calls; one line each.
  std::vector<std::string> inferred;
};

/// Errors: a case file beside the capture that cannot be read.
[[nodiscard]] auto table_for(const Capture& capture) -> Result<CaptureTable>;

}  // namespace assay::cli
