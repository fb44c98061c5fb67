// assay prove: storage and index bounds of compiled programs, for all sizes.
#include "cli/command.h"
#include "cli/prove_log.h"
#include "replay/formats/capture.h"

namespace assay::cli {
namespace {

struct Options {
  std::string file;
  bool json = false, all = false;
};

auto run_prove(const Options& options) -> int {
  const auto bytes = read_file(options.file);
  if (!bytes) return report_error(bytes.error());
  if (is_trace_or_wrapper(*bytes))
    return prove_log(*bytes, options.file, {.json = options.json, .all = options.all});
  return report_error({ErrorCode::unsupported,
                       options.file + ": neither a TORCH_TRACE log nor an Inductor wrapper"});
}

}  // namespace

auto add_prove(CLI::App& app) -> Action {
  const auto options = std::make_shared<Options>();
  app.add_option("FILE", options->file, "TORCH_TRACE log or Inductor wrapper")->required();
  app.add_flag("--all", options->all, "list every obligation, proved ones too");
  app.add_flag("--json", options->json, "print the report as JSON");
  return [options] { return run_prove(*options); };
}

}  // namespace assay::cli
