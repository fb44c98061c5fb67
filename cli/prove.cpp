// assay prove: guards and storage bounds, for all sizes.
#include "cli/command.h"
#include "cli/operators.h"
#include "cli/report_files.h"
#include "cli/smt_lib.h"
#include "compiler/prove/wrapper_findings.h"
#include "core/expr/text.h"
#include "replay/bundle/open.h"
#include "replay/formats/file.h"
#include "replay/report/link.h"
#include "replay/report/trace_rows.h"
#include "replay/runner/asserted.h"

namespace assay::cli {
namespace {

struct Options {
  std::string file, smt_lib, trace;
  std::vector<std::string> claims;
  bool guards = false, bounds = false, json = false, all = false, notes = false;
  bool no_solver = false, links = false, allow_unchecked = false;
  ReportFiles files;
};

/// A condition over the capture's symbols. Errors: usage.
auto parse_claim(const ShapeEnv& env, const std::string& text) -> Result<Expr> {
  const auto usage = [&](std::string_view problem) {
    return std::unexpected(
        Error{ErrorCode::usage, fmt::format("--claim \"{}\": {}", text, problem)});
  };
  const auto claim = parse_expr(env.pool(), text);
  if (!claim) return usage(claim.error().message);
  if (!claim->is_valid() || claim->type() != ExprType::boolean) return usage("not a condition");
  for (const Expr& symbol : claim->symbols())
    if (!env.find(symbol)) return usage(fmt::format("there is no symbol {}", symbol.name()));
  return *claim;
}

auto say_written(int scripts, const std::string& folder) -> void {
  fmt::print(stderr, "wrote {} to {}\n", counted(scripts, "proof"), folder);
}

/// A TORCH_TRACE log or a wrapper.
auto prove_compiled(const Options& options, std::string_view bytes) -> Result<int> {
  const Progress clock;
  const auto table = build_op_table();
  ASSAY_TRY(const auto programs, prove_programs(bytes, options.file, table));
  if (!options.smt_lib.empty()) {
    ASSAY_TRY(const int written, dump_programs(options.smt_lib, programs));
    say_written(written, options.smt_lib);
  }
  fmt::print("{}", options.json ? programs_json(programs, options.file)
                                : programs_text(programs, options.all, paint()));
  std::vector<Finding> findings;
  for (const auto& program : programs)
    for (auto& finding : wrapper_findings(program.report)) findings.push_back(std::move(finding));
  ASSAY_TRY_VOID(write_report_files(options.files, "assay prove", test_cases(programs),
                                    sarif_results(findings, options.file), clock.seconds()));
  const int exit = exit_code(state_of(programs), options.allow_unchecked);
  if (!options.trace.empty())
    ASSAY_TRY_VOID(record_programs(options.trace, options.file, bytes, programs, table, exit));
  return exit;
}

auto run_prove(const Options& options) -> Result<int> {
  const Progress clock;
  ASSAY_TRY(const auto program, open_program(options.file));
  if (holds_programs(program.text)) return prove_compiled(options, program.text);
  ASSAY_TRY(auto capture, open_capture(options.file));
  ASSAY_TRY(const auto known, table_for(capture));
  capture.graph = with_asserted(std::move(capture.graph), known.table);
  ProveOptions asked{.claims = {},
                     .guards = options.guards,
                     .bounds = options.bounds,
                     .use_solver = !options.no_solver};
  for (const auto& text : options.claims) {
    ASSAY_TRY(auto condition, parse_claim(capture.graph.env, text));
    asked.claims.push_back({text, condition, {}});
  }
  const auto report = prove_capture(capture, known.table, asked);
  if (!options.smt_lib.empty()) {
    ASSAY_TRY(const int written, dump_proofs(options.smt_lib, capture, report));
    say_written(written, options.smt_lib);
  }
  fmt::print("{}",
             options.json
                 ? prove_json(capture, report)
                 : prove_text(capture, report,
                              {.all = options.all, .notes = options.notes, .paint = paint()}));
  ASSAY_TRY_VOID(write_report_files(
      options.files, "assay prove", test_cases(capture, report),
      sarif_results(findings_of(capture, report), capture.source_path), clock.seconds()));
  if (options.links && !options.json)
    fmt::print("{}", links_text(findings_of(capture, report), options.file));
  const int exit = exit_code(state_of(capture, report), options.allow_unchecked);
  if (!options.trace.empty()) ASSAY_TRY_VOID(record_proofs(options.trace, capture, report, exit));
  return exit;
}

}  // namespace

auto add_prove(Arguments& arguments) -> Action {
  const auto options = std::make_shared<Options>();  // the parsed command line outlives this call
  arguments.option(
      "FILE", &options->file,
      "graph text, repro script, capture JSON, .pt2, bundle, TORCH_TRACE log or wrapper",
      kRequired);
  arguments.flag("--guards", options->guards, "only guards: what they say, repeat, and miss");
  arguments.flag("--bounds", options->bounds, "only storage bounds of views and buffers");
  arguments.option("--claim", &options->claims,
                   "only this condition: does it follow? May be repeated");
  arguments.flag("--all", options->all, "every guard and finding, not only the first ten");
  arguments.flag("--notes", options->notes, "list notes too (guards stronger than needed)");
  arguments.flag("--no-solver", options->no_solver, "without the tiers that use a solver");
  arguments.flag("--allow-unchecked", options->allow_unchecked,
                 "exit code 0 although calls were not judged or conditions are undecided");
  arguments.flag("--json", options->json, "print the report as JSON");
  arguments.flag("--links", options->links, kLinksHelp);
  add_report_files(arguments, options->files);
  arguments.option("--smt-lib", &options->smt_lib,
                   "write proofs as SMT-LIB scripts into this folder");
  arguments.option("--trace", &options->trace,
                   "write an SQLite trace with verdicts and certificates");
  return [options] {
    const auto result = run_prove(*options);
    return result ? *result : report_error(result.error());
  };
}

}  // namespace assay::cli
