// A capture as a Python program for PyTorch, so that nobody needs Assay to look at a failure.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "replay/formats/capture.h"

namespace assay {

/// How a repro script compares torch.compile with eager execution when it is run.
struct CompileCheck {
  std::string backend = "inductor";
  std::string dynamic;         ///< "", "true", "false"
  std::string options = "{}";  ///< of torch.compile, a JSON object
  double tolerance = 1e-3;     ///< of values, relative and absolute
};

/// Readable Python that rebuilds the module, feeds the recorded inputs out of the bundle it lies in
/// (unpacked or not), runs it eagerly and prints the layout of each output; with `check` (or
/// --compile) it compiles it too, and fails as the compiler does or where the outputs differ.
/// `hashes` as storage_hashes gives them. Symbolic inputs are made at the hints of their symbols;
/// what was not recorded is None, with a comment. The graph's own text is copied: who runs the
/// script of a bundle runs what its author put into the graph.
[[nodiscard]] auto print_repro(const Capture& capture, const std::vector<std::string>& hashes,
                               const std::optional<CompileCheck>& check = std::nullopt)
    -> std::string;

}  // namespace assay
