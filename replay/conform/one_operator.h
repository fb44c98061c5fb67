// A recorded call as a program of one node, so that the debugger can be run on it.
#pragma once
#include "replay/conform/case_file.h"
#include "replay/formats/capture.h"

namespace assay {

/// Is PyTorch's fake prediction of some result wrong in a size, the dtype, the offset, or the
/// stride of a dimension larger than 1 of a non-empty tensor?
/// What the fake prediction gets wrong of the results, "dtype, strides"; strides only where the
/// sizes are right. Empty if it is right, or failed.
[[nodiscard]] auto wrong_parts(const OperatorCase& record) -> std::string;
[[nodiscard]] auto has_significant_fake_error(const OperatorCase& record) -> bool;

/// Placeholders for the tensor arguments with the recorded bytes, one call whose claims are
/// PyTorch's fake predictions, and what eager really did as observations. Errors: unsupported (a
/// result that is neither a tensor nor None).
[[nodiscard]] auto one_operator_capture(const OperatorCase& record) -> Result<Capture>;

}  // namespace assay
