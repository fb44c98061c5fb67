// assay prove: guards and storage bounds, for all sizes.
#include <algorithm>

#include "cli/command.h"
#include "cli/prove_log.h"
#include "cli/prove_programs.h"
#include "cli/prove_report.h"
#include "core/expr/text.h"
#include "replay/bundle/open.h"
#include "replay/runner/asserted.h"

namespace assay::cli {
namespace {

struct Options {
  std::string file, smt_lib, trace;
  std::vector<std::string> claims;
  bool guards = false, bounds = false, json = false, all = false, notes = false;
  bool no_solver = false;
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

/// One file per proof that used guards: unsat means that any other solver agrees.
auto dump_proofs(const std::string& folder, const Capture& capture, const ProveReport& report)
    -> Result<int> {
  const auto& env = capture.graph.env;
  int written = 0;
  const auto dump = [&](const std::string& stem, const Expr& claim,
                        const std::vector<std::size_t>& needed) -> Result<void> {
    Query query{env.replaced(claim), {}, env.ranges()};
    for (const auto index : needed)
      query.assumptions.push_back(env.replaced(env.guards()[index].condition));
    ASSAY_TRY_VOID(write_smt_lib(folder, stem, print_expr(claim), query));
    ++written;
    return {};
  };
  for (std::size_t i = 0; i < report.guards.guards.size(); ++i)
    if (report.guards.guards[i].verdict == GuardVerdict::implied)
      ASSAY_TRY_VOID(
          dump(fmt::format("guard_{}", i), env.guards()[i].condition, report.guards.guards[i].by));
  if (report.obligations)
    for (std::size_t i = 0; i < report.obligations->facts.size(); ++i)
      ASSAY_TRY_VOID(dump(fmt::format("obligation_{}", i), report.obligations->facts[i].condition,
                          report.obligations->facts[i].needed));
  if (report.bounds)
    for (std::size_t i = 0; i < report.bounds->checks.size(); ++i)
      if (const auto* proved = std::get_if<Proved>(&report.bounds->checks[i].answer))
        ASSAY_TRY_VOID(
            dump(fmt::format("bound_{}", i), report.bounds->checks[i].condition, proved->needed));
  return written;
}

auto prove(const Options& options, const Capture& capture) -> Result<ProveReport> {
  const auto& env = capture.graph.env;
  ProveReport report;
  std::vector<Expr> claims;
  for (const auto& text : options.claims) {
    ASSAY_TRY(claims.emplace_back(), parse_claim(env, text));
  }
  const bool everything = !options.guards && !options.bounds && claims.empty();
  report.guards_asked = everything || options.guards;
  GuardSet guards(env,
                  {.prover = {.use_solver = !options.no_solver}, .symbols = report.guards_asked});
  const auto table = build_op_table();
  for (std::size_t i = 0; i < claims.size(); ++i)
    report.claims.push_back({options.claims[i], claims[i], guards.implies(claims[i])});
  if (report.guards_asked) {
    report.obligations = find_missing_guards(capture.graph, table, guards);
    constexpr std::size_t kRuns = 3;  // a look at real tensors for the first few
    auto& missing = report.obligations->missing;
    for (std::size_t i = 0; i < std::min(missing.size(), kRuns); ++i)
      run_at_witness(capture, table, missing[i]);
    auto bounds = check_bounds(capture, table, guards);
    auto facts = report.obligations->facts;
    facts.insert(facts.end(), bounds.facts.begin(), bounds.facts.end());
    if (missing.empty()) report.stronger = find_stronger_guards(env, guards.report(), facts);
    if (everything || options.bounds) report.bounds = std::move(bounds);
  } else if (options.bounds) {
    report.bounds = check_bounds(capture, table, guards);
  }
  report.guards = guards.report();
  if (!report.guards_asked) {  // what was not asked for is not reported
    report.guards.specialisations.clear();
    for (auto& decision : report.guards.guards)
      if (decision.verdict == GuardVerdict::undecided) decision.verdict = GuardVerdict::needed;
  }
  return report;
}

auto run_prove(const Options& options) -> Result<int> {
  ASSAY_TRY(const auto bytes, read_file(options.file));
  if (is_trace_or_wrapper(bytes))
    return prove_log(bytes, options.file,
                     {.json = options.json,
                      .all = options.all,
                      .smt_lib = options.smt_lib,
                      .trace = options.trace});
  ASSAY_TRY(auto capture, open_capture(options.file));
  capture.graph = with_asserted(std::move(capture.graph), build_op_table());
  ASSAY_TRY(const auto report, prove(options, capture));
  if (!options.smt_lib.empty()) {
    ASSAY_TRY(const int written, dump_proofs(options.smt_lib, capture, report));
    fmt::print(stderr, "wrote {} to {}\n", counted(written, "proof"), options.smt_lib);
  }
  fmt::print("{}", options.json ? prove_json(capture, report)
                                : print_prove(capture, report, {options.all, options.notes}));
  const bool found = !root_findings(findings_of(capture, report)).empty();
  const bool decided = undecided_of(capture, report).empty();
  const int exit = found ? kFindings : (decided ? kNothingFound : kUndecided);
  if (!options.trace.empty()) ASSAY_TRY_VOID(record_proofs(options.trace, capture, report, exit));
  return exit;
}

}  // namespace

auto refutations(const Capture& given) -> Result<std::vector<Finding>> {
  Capture capture = given;
  capture.graph = with_asserted(std::move(capture.graph), build_op_table());
  ASSAY_TRY(const auto report, prove({}, capture));
  return findings_of(capture, report);
}

auto add_prove(CLI::App& app) -> Action {
  const auto options = std::make_shared<Options>();  // the parsed command line outlives this call
  app.add_option("FILE", options->file,
                 "graph text, repro script, capture JSON, .pt2, bundle, TORCH_TRACE log or wrapper")
      ->required();
  app.add_flag("--guards", options->guards, "only guards: what they say, repeat, and miss");
  app.add_flag("--bounds", options->bounds, "only storage bounds of views and buffers");
  app.add_option("--claim", options->claims,
                 "only this condition: does it follow? May be repeated");
  app.add_flag("--all", options->all, "every guard and finding, not only the first ten");
  app.add_flag("--notes", options->notes, "list notes too (guards stronger than needed)");
  app.add_flag("--no-solver", options->no_solver, "without the tiers that use a solver");
  app.add_flag("--json", options->json, "print the report as JSON");
  app.add_option("--smt-lib", options->smt_lib, "write proofs as SMT-LIB scripts into this folder");
  app.add_option("--trace", options->trace, "write an SQLite trace with verdicts and certificates");
  return [options] {
    const auto result = run_prove(*options);
    return result ? *result : report_error(result.error());
  };
}

}  // namespace assay::cli
