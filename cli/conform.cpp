// assay conform: the operator table against recorded PyTorch calls.
#include <array>
#include <fstream>
#include <sstream>

#include "cli/command.h"
#include "replay/conform/conform.h"
#include "replay/conform/inferred_rows.h"
#include "replay/conform/page.h"

namespace assay::cli {
namespace {

struct Options {
  std::string file, filter, report, against, cuda_cases, schemas;
  std::int64_t limit = 0, only = 0;
  bool json = false, failures = false, all = false, infer = false, operators = false;
};

auto with_row(const ConformCounts& counts) -> int {
  return counts.calls - counts.without_row;
}

auto is_perfect(const ConformCounts& counts) -> bool {
  const int calls = with_row(counts);
  return counts.metadata_exact == calls && counts.symbolic_exact == calls &&
         counts.values_agree == counts.values_compared &&
         counts.mutations_agree == counts.mutations_compared && counts.errors == 0;
}

void print_counts(const ConformCounts& counts) {
  fmt::print("{:<56}{:>7}{:>7}{:>9}{:>9}{:>8}/{:<8}{:>6}/{:<6}{:>5}\n",
             counts.overload.empty() ? "total" : counts.overload, counts.calls, with_row(counts),
             counts.metadata_exact, counts.symbolic_exact, counts.values_agree,
             counts.values_compared, counts.mutations_agree, counts.mutations_compared,
             counts.errors);
}

void print_text(const ConformReport& report, const Options& options) {
  fmt::print("{:<56}{:>7}{:>7}{:>9}{:>9}{:>17}{:>13}{:>5}\n", "overload", "calls", "run",
             "metadata", "symbolic", "values", "mutations", "err");
  int missing = 0;
  for (const auto& counts : report.overloads) {
    if (with_row(counts) == 0)
      ++missing;
    else if (options.all || options.only != 0 || !is_perfect(counts))
      print_counts(counts);
  }
  print_counts(report.total);
  fmt::print("{} of {} overloads have a row; rows without any difference are {}\n",
             report.overloads.size() - static_cast<std::size_t>(missing), report.overloads.size(),
             options.all ? "shown" : "not shown (--all)");
  if (const int calls = report.total.agree_as_conjugated)
    fmt::print(
        "a complex operand is taken as lazily conjugated, which recordings do not say, in {}\n",
        counted(calls, "call"));
  if (!options.failures && options.only == 0) return;
  for (const auto& failure : report.failures)
    fmt::print("case {} {} {}: {}\n", failure.case_id, failure.overload, to_string(failure.aspect),
               failure.reason);
}

/// What the calls say about operators without a row.
auto infer_file(const Options& options) -> Result<int> {
  ASSAY_TRY(const auto operators, infer_operators(options.file, build_op_table()));
  bool all_known = true;
  for (const auto& op : operators) {
    if (op.overload.find(options.filter) == std::string::npos) continue;
    fmt::print("{}\n", to_string(op));
    all_known = all_known && op.rule->state == InferenceState::confirmed;
  }
  return all_known ? kNothingFound : kUndecided;
}

auto read_text(const std::string& path) -> Result<std::string> {
  std::ifstream file(path);
  if (!file) return bad_input("{}: cannot be read", path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}
/// Writes the page that --report names, by its ending.
auto write_report(const ConformReport& report, const Options& options) -> Result<void> {
  const std::filesystem::path path = options.report;
  const bool is_html = path.extension() == ".html";
  if (!is_html && path.extension() != ".md")
    return bad_input("--report {}: the name ends in .html or .md", options.report);
  std::optional<ConformReport> older;
  if (!options.against.empty()) {
    ASSAY_TRY(const auto text, read_text(options.against));
    auto read = read_conform_json(text);
    if (!read) return with_context(read.error(), options.against);
    older = *std::move(read);
  }
  std::ofstream file(path);
  file << conform_page(report, options.file, older,
                       is_html ? PageFormat::html : PageFormat::markdown);
  if (!file) return bad_input("{}: cannot be written", options.report);
  return {};
}

auto run_calls(const Options& options, const OpTable& table) -> Result<ConformReport> {
  if (options.only == 0)
    return run_conformance(options.file, table, {.filter = options.filter, .limit = options.limit});
  ASSAY_TRY(const auto record, read_case(options.file, options.only));
  ConformReport report;
  check_case(record, table, report);
  report.total = report.overloads.front();
  report.total.overload.clear();
  return report;
}

auto print_operators(const Options& options, const OpTable& table) -> Result<int> {
  std::array<ConformReport, 2> reports;
  const std::array files{options.file, options.cuda_cases};
  for (std::size_t i = 0; i < files.size(); ++i)
    if (!files[i].empty()) {
      ASSAY_TRY(reports[i], run_conformance(files[i], table, {}));
    }
  SchemaList list;
  if (!options.schemas.empty()) {
    ASSAY_TRY(const auto text, read_text(options.schemas));
    auto read = read_schema_list(text);
    if (!read) return with_context(read.error(), options.schemas);
    list = *std::move(read);
  }
  fmt::print("{}", operators_page(table, reports[0], reports[1], list));
  return kNothingFound;
}

auto check_file(const Options& options) -> Result<int> {
  const auto table = build_op_table();
  if (options.operators) return print_operators(options, table);
  if (options.file.empty()) {
    fmt::print(stderr, "assay: error: CASES is required\n");
    return kUsage;
  }
  ASSAY_TRY(const auto report, run_calls(options, table));
  if (!options.report.empty()) {
    ASSAY_TRY_VOID(write_report(report, options));
  }
  if (options.json)
    fmt::print("{}\n", conform_json(report));
  else
    print_text(report, options);
  return static_cast<int>(report.failures.empty() ? kNothingFound : kFindings);
}

}  // namespace

auto add_conform(Arguments& arguments) -> Action {
  const auto options = std::make_shared<Options>();
  arguments.option("CASES", &options->file, "SQLite file of recorded calls");
  arguments.option("--filter", &options->filter, "only overloads whose name contains this");
  arguments.option("--limit", &options->limit, "at most this many calls of each overload");
  arguments.option("--case", &options->only, "only the call with this id, with its differences");
  arguments.flag("--failures", options->failures, "list every difference with its case id");
  arguments.flag("--all", options->all, "list perfect rows too");
  arguments.flag("--infer", options->infer,
                 "infer rules of operators that have no row, and say what is known of each");
  arguments.option("--report", &options->report,
                   "write a page FILE.html or FILE.md: pass rates by family, failures with the "
                   "command that shows each, wrong predictions of PyTorch");
  arguments.option("--against", &options->against,
                   "an older run's --json output, to show what changed");
  arguments.flag("--operators", options->operators,
                 "print every operator of the table as a Markdown page (docs/operators.md); with "
                 "CASES, how far each is covered");
  arguments.option("--cuda-cases", &options->cuda_cases,
                   "with --operators: recorded calls of CUDA, for a column of their own");
  arguments.option(
      "--schemas", &options->schemas,
      "with --operators: PyTorch's list (tests/torch/list_schemas.py), to tell what is "
      "there, what is composite, and what is missing why");
  arguments.flag("--json", options->json, "print JSON");
  return [options] {
    if (options->infer) {
      const auto code = infer_file(*options);
      return code ? *code : report_error(code.error());
    }
    const auto code = check_file(*options);
    return code ? *code : report_error(code.error());
  };
}

}  // namespace assay::cli
