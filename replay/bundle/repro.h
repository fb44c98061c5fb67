// A capture as a Python program for PyTorch, so that nobody needs Assay to look at a failure.
#pragma once
#include <string>
#include <vector>

#include "core/base/result.h"
#include "replay/formats/capture.h"

namespace assay {

/// Readable Python that rebuilds the module, feeds the recorded inputs out of the bundle it lies in
/// (unpacked or not), runs it eagerly and prints the layout of each output. `hashes` as
/// storage_hashes gives them. Symbolic inputs are made at the hints of their symbols; what was not
/// recorded is None, with a comment. The graph's own text is copied: who runs the script of a
/// bundle runs what its author put into the graph.
[[nodiscard]] auto print_repro(const Capture& capture, const std::vector<std::string>& hashes)
    -> std::string;

}  // namespace assay
