// The one headless binary. Thin: parses the command line and calls the libraries.
#include <new>

#include "cli/command.h"

namespace {

auto run(int argc, char** argv) -> int {
  using namespace assay::cli;
  CLI::App app("assay - tells fake from real in captured tensor graphs", "assay");
  app.set_version_flag("--version", ASSAY_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 nothing found, 1 findings, 2 usage, 3 bad or unsupported input,\n"
      "4 a needed device or tool is missing, 5 undecided or out of budget, 70 bug in assay.\n"
      "Inputs: graph text (print_readable), repro.py / fx_graph_runnable, capture JSON, .pt2,\n"
      ".assay.zip bundles, and for prove and show TORCH_TRACE logs; the kind is recognised from\n"
      "the content.");
  std::vector<std::pair<CLI::App*, Action>> actions;
  for (const auto& command : commands()) {
    auto* sub = app.add_subcommand(std::string(command.name), std::string(command.summary));
    sub->footer("Examples:\n" + std::string(command.examples));
    actions.emplace_back(sub, command.add(*sub));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {  // CLI11 reports everything by exception
    return app.exit(error) == 0 ? kNothingFound : kUsage;
  }
  for (const auto& [sub, action] : actions)
    if (sub->parsed()) return action();
  return kUsage;
}

}  // namespace

auto main(int argc, char** argv) -> int {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    return assay::cli::report_error({assay::ErrorCode::bad_input, "out of memory on this input"});
  }
}
