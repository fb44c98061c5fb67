// TORCH_TRACE logs on the command line: what `assay show` and `assay prove` do with one.
#pragma once
#include <string>
#include <string_view>

namespace assay::cli {

struct ShowLogOptions {
  bool json = false;
  /// One graph, output code or repro script to print instead: "aot_forward_graph",
  /// "0/1 inductor_output_code#2".
  std::string part;
};

/// Prints the log; gives the exit code. `name` is what messages call the file.
[[nodiscard]] auto show_trace_log(std::string_view bytes, const std::string& name,
                                  const ShowLogOptions& options) -> int;

}  // namespace assay::cli
