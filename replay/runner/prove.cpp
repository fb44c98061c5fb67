#include "replay/runner/prove.h"

#include <algorithm>

namespace assay {

auto prove_capture(const Capture& capture, const OpTable& table, const ProveOptions& options)
    -> ProveReport {
  const auto& env = capture.graph.env;
  ProveReport report;
  const bool everything = !options.guards && !options.bounds && options.claims.empty();
  report.guards_asked = everything || options.guards;
  GuardSet guards(env,
                  {.prover = {.use_solver = options.use_solver}, .symbols = report.guards_asked});
  for (const auto& claim : options.claims)
    report.claims.push_back({claim.text, claim.condition, guards.implies(claim.condition)});
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

}  // namespace assay
