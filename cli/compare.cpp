// assay compare: where two recorded runs part.
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "replay/formats/capture.h"
#include "replay/formats/debug_mode.h"

namespace assay::cli {
namespace {

struct Options {
  std::string a, b;
  double tolerance = 1e-5;
  bool json = false, all = false;
};

using Calls = std::vector<DebugModeCall>;

auto read_log(const std::string& path) -> Result<Calls> {
  ASSAY_TRY(const auto bytes, read_file(path));
  auto calls = read_debug_mode_log(bytes);
  if (!calls) return with_context(std::move(calls).error(), path);
  return calls;
}

auto describe(const DebugModeCall& call) -> std::string {
  return fmt::format("{}({}) -> {}", call.name, call.operands, call.result);
}

auto print_divergence(const Calls& a, const Calls& b, const Divergence& found) -> std::string {
  const auto& left = a[found.a];
  const auto& right = b[found.b];
  auto text = fmt::format("  call {} of the first run, {} of the second\n    {}\n", found.a + 1,
                          found.b + 1, describe(left));
  if (left.operands != right.operands)
    text += fmt::format("    {:<9}{}\n", "second", describe(right));
  text += fmt::format("    {:<9}{} against {}\n", "checksum", fmt::join(left.outputs, ", "),
                      fmt::join(right.outputs, ", "));
  text += fmt::format("    {:<9}{}\n", "inputs", found.is_root ? "agree" : "differ already");
  for (const auto* where : {&left.where, &right.where})
    if (!where->empty()) text += fmt::format("    {:<9}{}\n", "source", *where);
  return text;
}

struct Summary {
  std::size_t pairs = 0, only_a = 0, only_b = 0, with_checksums = 0;
};
auto summarise(const Calls& a, const RunAlignment& alignment) -> Summary {
  Summary summary;
  for (const auto& step : alignment.steps) {
    if (step.a && step.b)
      ++summary.pairs;
    else
      ++(step.a ? summary.only_a : summary.only_b);
    if (step.a && step.b && !a[*step.a].outputs.empty()) ++summary.with_checksums;
  }
  return summary;
}

auto to_json(const Calls& a, const Calls& b, const Summary& summary,
             const std::vector<Divergence>& found) -> std::string {
  nlohmann::ordered_json out{{"schema", "assay.compare/1"},
                             {"pairs", summary.pairs},
                             {"only_first", summary.only_a},
                             {"only_second", summary.only_b},
                             {"divergences", nlohmann::ordered_json::array()}};
  for (const auto& one : found)
    out["divergences"].push_back({{"first", one.a + 1},
                                  {"second", one.b + 1},
                                  {"call", describe(a[one.a])},
                                  {"call_of_second", describe(b[one.b])},
                                  {"root", one.is_root},
                                  {"relative", one.relative}});
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

auto compare(const Options& options) -> Result<int> {
  ASSAY_TRY(const auto a, read_log(options.a));
  ASSAY_TRY(const auto b, read_log(options.b));
  const auto alignment = align_runs(a, b);
  const auto found = divergences(a, b, alignment, options.tolerance);
  const auto summary = summarise(a, alignment);
  const int exit = !found.empty()                                            ? kFindings
                   : summary.with_checksums == 0 && !alignment.steps.empty() ? kUndecided
                                                                             : kNothingFound;
  if (options.json) {
    fmt::print("{}", to_json(a, b, summary, found));
    return exit;
  }
  const auto root = std::ranges::find(found, true, &Divergence::is_root);
  if (exit == kUndecided)
    fmt::print("{}\n",
               styled("no checksums to compare (DebugMode.log_tensor_hashes)", Style::yellow));
  else if (found.empty())
    fmt::print("{}\n", styled("no call diverges", Style::green));
  else
    fmt::print("{}\n\n{}\n", styled("the first call that diverges", Style::red),
               print_divergence(a, b, root == found.end() ? found.front() : *root));
  if (options.all)
    for (const auto& one : found)
      if (&one != (root == found.end() ? &found.front() : &*root))
        fmt::print("{}\n", print_divergence(a, b, one));
  fmt::print("{} in both runs, {} only in the first, {} only in the second, {} diverge\n",
             summary.pairs, summary.only_a, summary.only_b, found.size());
  for (const auto& step : alignment.steps) {
    if (step.a && step.b) continue;
    fmt::print("first difference in what is called: {} (only in the {})\n",
               describe(step.a ? a[*step.a] : b[*step.b]), step.a ? "first" : "second");
    break;
  }
  if (!alignment.is_exact)
    fmt::print("{}the runs differ in too many calls to pair all of them\n",
               styled("warning: ", Style::yellow));
  return exit;
}

}  // namespace

auto add_compare(Arguments& arguments) -> Action {
  const auto options = std::make_shared<Options>();
  arguments.option("FIRST", &options->a, "what DebugMode.save_logs wrote of one run", kRequired);
  arguments.option("SECOND", &options->b, "and of the other", kRequired);
  arguments.option("--tolerance", &options->tolerance,
                   "relative difference of checksums that counts as none (default 1e-5)");
  arguments.flag("--all", options->all, "every call that diverges, not only the first");
  arguments.flag("--json", options->json, "print JSON");
  return [options] {
    const auto result = compare(*options);
    return result ? *result : report_error(result.error());
  };
}

}  // namespace assay::cli
