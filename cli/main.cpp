// The one headless binary. Thin: parses the command line and calls the libraries.
#include <new>

#include "cli/command.h"

namespace {

auto run(int argc, char** argv) -> int {
  using namespace assay::cli;
  const Program program{
      .name = "assay",
      .summary = "assay - tells fake from real in captured tensor graphs",
      .version = ASSAY_VERSION,
      .footer =
          "Exit codes: 0 nothing found, 1 findings, 2 usage, 3 bad or unsupported input,\n"
          "4 a needed device or tool is missing, 5 undecided or out of budget, 70 bug in assay.\n"
          "Inputs: graph text (print_readable), repro.py / fx_graph_runnable, capture JSON, .pt2,\n"
          ".assay.zip bundles, and for prove and show TORCH_TRACE logs; the kind is recognised "
          "from\n"
          "the content."};
  return run_command(program, commands(), argc, argv, kUsage);
}

}  // namespace

auto main(int argc, char** argv) -> int {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    return assay::cli::report_error({assay::ErrorCode::bad_input, "out of memory on this input"});
  }
}
