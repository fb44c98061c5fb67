// Reader of Inductor's Python wrappers.
// Source: torch/_inductor/codegen/wrapper.py, PyTorch 2.0 to 2.15.
#pragma once
#include <string_view>

#include "compiler/program/program.h"
#include "core/base/result.h"

namespace assay {

/// Reads a wrapper. `env` has the symbols and guards that are known around it; it is copied, so
/// symbols may be added. Statements that are not understood are listed, never dropped.
/// Errors: bad_input when there is no `call` function.
[[nodiscard]] auto read_wrapper(std::string_view text, const ShapeEnv& env = {})
    -> Result<HostProgram>;

/// Whether a text looks like an Inductor wrapper.
[[nodiscard]] auto is_wrapper(std::string_view text) -> bool;

}  // namespace assay
