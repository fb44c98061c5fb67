// Programs that Inductor generated on the command line: what `assay show` prints of a wrapper.
#pragma once
#include <string>
#include <string_view>

namespace assay::cli {

struct ShowProgramOptions {
  bool json = false;
  bool summary = false;  ///< counts, symbols and what was not read, not the statements
};

/// Prints the wrappers of a text; gives the exit code. `name` is what messages call the file.
[[nodiscard]] auto show_programs(std::string_view bytes, const std::string& name,
                                 const ShowProgramOptions& options) -> int;

}  // namespace assay::cli
