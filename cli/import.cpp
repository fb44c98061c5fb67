// assay import: any input as one bundle.
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "replay/bundle/open.h"
#include "replay/formats/detect.h"
#include "replay/formats/file.h"
#include "replay/runner/programs.h"

namespace assay::cli {
namespace {

struct Options {
  std::string file, graph, output;
  bool json = false, programs = false;
};

/// A wrapper or log as it is.
auto import_program(const Options& options, const ProgramBundle& program) -> Result<int> {
  ASSAY_TRY(const auto bytes, write_bundle(program));
  ASSAY_TRY_VOID(write_file_atomically(options.output, bytes));
  if (!options.json) {
    fmt::print("{}\n", options.output);
    return kNothingFound;
  }
  const nlohmann::ordered_json report = {{"schema", "assay.import/1"},
                                         {"source", options.file},
                                         {"format", "program"},
                                         {"bundle", options.output},
                                         {"bytes", bytes.size()}};
  fmt::print("{}\n", report.dump(2));
  return kNothingFound;
}

auto import_file(const Options& options) -> Result<int> {
  ASSAY_TRY(const auto program, open_program(options.file));
  const bool is_log = detect_format(program.text) == InputFormat::torch_trace;
  if (holds_programs(program.text) && (options.programs || !is_log))
    return import_program(options, program);
  if (options.programs)
    return std::unexpected(Error{
        ErrorCode::usage, fmt::format("{}: the file holds no compiled program", options.file)});
  ASSAY_TRY(const auto bundle, open_bundle(options.file, options.graph));
  ASSAY_TRY(const auto bytes, write_bundle(bundle));
  ASSAY_TRY_VOID(write_file_atomically(options.output, bytes));
  const auto& capture = bundle.capture;
  if (options.json) {
    const nlohmann::ordered_json report = {
        {"schema", "assay.import/1"},  {"source", options.file},
        {"format", capture.format},    {"bundle", options.output},
        {"bytes", bytes.size()},       {"calls", capture.graph.call_count()},
        {"warnings", capture.warnings}};
    fmt::print("{}\n", report.dump(2));
    return kNothingFound;
  }
  for (const auto& warning : capture.warnings) fmt::print(stderr, "warning: {}\n", warning);
  fmt::print("{}\n", options.output);
  return kNothingFound;
}

}  // namespace

auto add_import(Arguments& arguments) -> Action {
  const auto options = std::make_shared<Options>();
  arguments.option("FILE", &options->file, "any input", kRequired);
  arguments.option("-o,--output", &options->output, "the bundle to write, usually x.assay.zip",
                   kRequired);
  arguments.option("--graph", &options->graph, kGraphHelp);
  arguments.flag("--programs", options->programs,
                 "of a log: its compiled programs, not one of its graphs");
  arguments.flag("--json", options->json, "print JSON");
  return [options] {
    const auto result = import_file(*options);
    return result ? *result : report_error(result.error());
  };
}

}  // namespace assay::cli
