// Verdicts and certificates of `assay prove` in a trace.
#include "cli/prove_report.h"
#include "cli/trace_record.h"
#include "core/expr/text.h"
#include "replay/interp/binding.h"

namespace assay::cli {
namespace {

class ProofRows {
 public:
  ProofRows(TraceWriter& writer, TraceId run, const std::map<NodeId, TraceId>& nodes)
      : writer_(writer), run_(run), nodes_(nodes) {}

  auto add(std::string_view kind, NodeId node, const Expr& condition, const Answer& answer)
      -> Result<void> {
    if (const auto* proved = std::get_if<Proved>(&answer))
      return row(kind, node, condition, "proved", proved->tier, {}, {}, proved->needed);
    if (const auto* refuted = std::get_if<Refuted>(&answer))
      return row(kind, node, condition, "refuted", refuted->tier,
                 to_string(refuted->witness, condition.symbols()), {}, {});
    const auto& unknown = std::get<Unknown>(answer);
    return row(kind, node, condition, "unknown", unknown.tier, {}, unknown.reason, {});
  }

  auto row(std::string_view kind, NodeId node, const Expr& condition, std::string_view verdict,
           Tier tier, std::string witness, std::string reason,
           const std::vector<std::size_t>& guards) -> Result<void> {
    const auto known = nodes_.find(node);
    ASSAY_TRY(const auto id,
              writer_.add(ProofRow{
                  .run_id = run_,
                  .node_id = known == nodes_.end() ? std::nullopt : std::optional(known->second),
                  .kind = std::string(kind),
                  .condition = print_expr(condition),
                  .verdict = std::string(verdict),
                  .tier = std::string(name(tier)),
                  .witness = std::move(witness),
                  .reason = std::move(reason)}));
    for (const auto guard : guards)
      ASSAY_TRY_VOID(writer_.add(ProofGuardRow{id, static_cast<std::int64_t>(guard)}));
    return {};
  }

 private:
  TraceWriter& writer_;
  TraceId run_;
  const std::map<NodeId, TraceId>& nodes_;
};

auto add_proofs(ProofRows rows, const Capture& capture, const ProveReport& report) -> Result<void> {
  for (std::size_t i = 0; i < report.guards.guards.size(); ++i) {
    const auto& decision = report.guards.guards[i];
    ASSAY_TRY_VOID(rows.row("guard", {}, capture.graph.env.guards()[i].condition,
                            name(decision.verdict), decision.tier, {}, decision.reason,
                            decision.by));
  }
  if (report.obligations) {
    for (const auto& fact : report.obligations->facts)
      ASSAY_TRY_VOID(rows.add("obligation", {}, fact.condition, Proved{fact.tier, fact.needed}));
    for (const auto& missing : report.obligations->missing)
      ASSAY_TRY_VOID(rows.add("obligation", NodeId{missing.obligation.node},
                              missing.obligation.condition,
                              Refuted{Tier::search, missing.witness}));
    for (const auto& open : report.obligations->undecided)
      ASSAY_TRY_VOID(rows.add("obligation", NodeId{open.obligation.node}, open.obligation.condition,
                              Unknown{open.tier, open.reason}));
  }
  if (report.bounds)
    for (const auto& check : report.bounds->checks)
      ASSAY_TRY_VOID(rows.add(name(check.kind), check.node, check.condition, check.answer));
  for (const auto& claim : report.claims)
    ASSAY_TRY_VOID(rows.add("claim", {}, claim.condition, claim.answer));
  return {};
}

}  // namespace

auto record_proofs(const std::string& path, const Capture& capture, const ProveReport& report,
                   int exit_code) -> Result<void> {
  DebugReport findings;
  findings.findings = findings_of(capture, report);
  return record_trace(path, capture, findings, "prove", "", exit_code,
                      [&](TraceWriter& writer, TraceId run, const auto& nodes) {
                        return add_proofs(ProofRows(writer, run, nodes), capture, report);
                      });
}

}  // namespace assay::cli
