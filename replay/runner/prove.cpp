#include "replay/runner/prove.h"

#include <algorithm>

#include "replay/interp/compare.h"

namespace assay {

namespace {

auto as_observed(const Observation& recorded) -> ObservedValue {
  ObservedValue value;
  if (recorded.tensor) value.tensor = ObservedTensor{.meta = *recorded.tensor};
  value.scalar = recorded.scalar;
  value.is_tuple = recorded.is_tuple;
  for (const auto& item : recorded.items) value.items.push_back(as_observed(item));
  return value;
}

/// Where the recording says what the claim says, the rule is wrong and judges nothing.
void believe_recording(const Capture& capture, ObligationReport& report) {
  const auto recorded_sizes = completed(capture.graph.env, {});
  std::erase_if(report.contradicted, [&](const ContradictedClaim& one) {
    const auto seen = capture.observed.find(one.node);
    const auto* node = capture.graph.find(one.node);
    if (seen == capture.observed.end() || node == nullptr) return false;
    const auto differences =
        compare_value(node->claim, as_observed(seen->second), recorded_sizes, {});
    if (!root_findings(differences).empty()) return false;
    if (report.unjudged.empty() || report.unjudged.back().node != one.node)
      report.unjudged.push_back(
          {one.node, fmt::format("its rule gives {}, but claim and recording agree", one.ruled)});
    return true;
  });
}

}  // namespace

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
    believe_recording(capture, *report.obligations);
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
