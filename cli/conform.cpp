// assay conform: the operator table against recorded PyTorch calls.
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "replay/conform/conform.h"
#include "replay/conform/inferred_rows.h"

namespace assay::cli {
namespace {

struct Options {
  std::string file, filter;
  std::int64_t limit = 0;
  bool json = false, failures = false, all = false, infer = false;
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

auto counts_json(const ConformCounts& counts) -> nlohmann::ordered_json {
  return {{"overload", counts.overload},
          {"calls", counts.calls},
          {"without_row", counts.without_row},
          {"errors", counts.errors},
          {"metadata_exact", counts.metadata_exact},
          {"symbolic_exact", counts.symbolic_exact},
          {"values_agree", counts.values_agree},
          {"values_compared", counts.values_compared},
          {"mutations_agree", counts.mutations_agree},
          {"mutations_compared", counts.mutations_compared}};
}

void print_json(const ConformReport& report) {
  nlohmann::ordered_json json{{"schema", "assay.conform/1"}, {"total", counts_json(report.total)}};
  json["overloads"] = nlohmann::ordered_json::array();
  for (const auto& counts : report.overloads) json["overloads"].push_back(counts_json(counts));
  json["failures"] = nlohmann::ordered_json::array();
  for (const auto& failure : report.failures)
    json["failures"].push_back({{"case", failure.case_id},
                                {"overload", failure.overload},
                                {"aspect", to_string(failure.aspect)},
                                {"reason", failure.reason}});
  fmt::print("{}\n", json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void print_text(const ConformReport& report, const Options& options) {
  fmt::print("{:<56}{:>7}{:>7}{:>9}{:>9}{:>17}{:>13}{:>5}\n", "overload", "calls", "run",
             "metadata", "symbolic", "values", "mutations", "err");
  int missing = 0;
  for (const auto& counts : report.overloads) {
    if (with_row(counts) == 0)
      ++missing;
    else if (options.all || !is_perfect(counts))
      print_counts(counts);
  }
  print_counts(report.total);
  fmt::print("{} of {} overloads have a row; rows without any difference are {}\n",
             report.overloads.size() - static_cast<std::size_t>(missing), report.overloads.size(),
             options.all ? "shown" : "not shown (--all)");
  if (!options.failures) return;
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

}  // namespace

auto add_conform(Arguments& arguments) -> Action {
  const auto options = std::make_shared<Options>();
  arguments.option("CASES", &options->file, "SQLite file of recorded calls", kRequired);
  arguments.option("--filter", &options->filter, "only overloads whose name contains this");
  arguments.option("--limit", &options->limit, "at most this many calls of each overload");
  arguments.flag("--failures", options->failures, "list every difference with its case id");
  arguments.flag("--all", options->all, "list perfect rows too");
  arguments.flag("--infer", options->infer,
                 "infer rules of operators that have no row, and say what is known of each");
  arguments.flag("--json", options->json, "print JSON");
  return [options] {
    if (options->infer) {
      const auto code = infer_file(*options);
      return code ? *code : report_error(code.error());
    }
    const auto report = run_conformance(options->file, build_op_table(),
                                        {.filter = options->filter, .limit = options->limit});
    if (!report) return report_error(report.error());
    if (options->json)
      print_json(*report);
    else
      print_text(*report, *options);
    return static_cast<int>(report->failures.empty() ? kNothingFound : kFindings);
  };
}

}  // namespace assay::cli
