// assay import: any input as one bundle.
#include "cli/command.h"
#include "replay/bundle/open.h"
#include "replay/formats/file.h"

namespace assay::cli {
namespace {

auto import_file(const std::string& file, const std::string& target) -> Result<int> {
  ASSAY_TRY(const auto bundle, open_bundle(file));
  ASSAY_TRY(const auto bytes, write_bundle(bundle));
  ASSAY_TRY_VOID(write_file_atomically(target, bytes));
  for (const auto& warning : bundle.capture.warnings) fmt::print(stderr, "warning: {}\n", warning);
  fmt::print("{}\n", target);
  return kNothingFound;
}

}  // namespace

auto add_import(CLI::App& app) -> Action {
  struct Options {
    std::string file, output;
  };
  const auto options = std::make_shared<Options>();
  app.add_option("FILE", options->file, "any input")->required();
  app.add_option("-o,--output", options->output, "the bundle to write, usually x.assay.zip")
      ->required();
  return [options] {
    const auto result = import_file(options->file, options->output);
    return result ? *result : report_error(result.error());
  };
}

}  // namespace assay::cli
