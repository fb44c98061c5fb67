// Artifacts of torch.compiler.precompile: a graph without annotations, and what it is called with.
#pragma once
#include <string_view>

#include "replay/formats/capture.h"

namespace assay {

/// Whether a text is such an artifact. With backend "inductor" it holds a wrapper, not a graph.
[[nodiscard]] auto is_precompiled(std::string_view text) -> bool;

/// The wrapper inside an artifact, its lines numbered as in the file; empty where it holds a graph.
[[nodiscard]] auto precompiled_wrapper(std::string_view text) -> std::string;

/// Claims sizes, dtypes and devices of the inputs as the constants below the graph give them:
/// parameters, buffers, then the caller's inputs (`PARAM_SHAPES`, `BUFFER_SHAPES`,
/// `USER_INPUT_SHAPES` and the like; `None` for a size that may be any within `USER_INPUT_BOUNDS`).
/// Warns where they do not fit the graph. Source: torch/_precompile.py, PyTorch 2.15.
void read_precompiled(std::string_view text, Capture& capture);

}  // namespace assay
