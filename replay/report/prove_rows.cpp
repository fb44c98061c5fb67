// Verdicts and certificates of `assay prove` in a trace.
#include "core/expr/text.h"
#include "replay/interp/binding.h"
#include "replay/report/trace_rows.h"

namespace assay {

namespace {

class ProofRows {
 public:
  ProofRows(TraceWriter& writer, const RecordedIds& ids) : writer_(writer), ids_(ids) {}

  auto add(std::string_view kind, NodeId node, const Expr& condition, const Answer& answer)
      -> Result<void> {
    auto row = this->row(kind, node, condition);
    fill_answer(row, answer, [&](const Refuted& refuted) {
      return to_string(refuted.witness, condition.symbols());
    });
    const auto* proved = std::get_if<Proved>(&answer);
    return write(row, proved ? proved->needed : std::vector<std::size_t>{});
  }

  auto add(const Expr& guard, const GuardDecision& decision) -> Result<void> {
    auto row = this->row("guard", {}, guard);
    row.verdict = name(decision.verdict);
    row.tier = name(decision.tier);
    row.reason = decision.reason;
    return write(row, decision.by);
  }

 private:
  auto row(std::string_view kind, NodeId node, const Expr& condition) const -> ProofRow {
    ProofRow row;
    row.run_id = ids_.run;
    row.graph_id = ids_.graph;
    if (const auto known = ids_.nodes.find(node); known != ids_.nodes.end())
      row.node_id = known->second;
    row.kind = kind;
    row.condition = print_expr(condition);
    return row;
  }
  auto write(const ProofRow& row, const std::vector<std::size_t>& guards) -> Result<void> {
    ASSAY_TRY(const auto id, writer_.add(row));
    for (const auto guard : guards)
      ASSAY_TRY_VOID(writer_.add(ProofGuardRow{id, static_cast<std::int64_t>(guard)}));
    return {};
  }

  TraceWriter& writer_;
  const RecordedIds& ids_;
};

auto add_proofs(ProofRows rows, const Capture& capture, const ProveReport& report) -> Result<void> {
  for (std::size_t i = 0; i < report.guards.guards.size(); ++i) {
    const auto& guard = capture.graph.env.guards()[i];
    ASSAY_TRY_VOID(rows.add(guard.condition, report.guards.guards[i]));
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

void fill_answer(ProofRow& row, const Answer& answer,
                 const std::function<std::string(const Refuted&)>& witness) {
  if (const auto* proved = std::get_if<Proved>(&answer)) {
    row.verdict = "proved";
    row.tier = name(proved->tier);
  } else if (const auto* refuted = std::get_if<Refuted>(&answer)) {
    row.verdict = "refuted";
    row.tier = name(refuted->tier);
    row.witness = witness(*refuted);
  } else {
    const auto& unknown = std::get<Unknown>(answer);
    row.verdict = "unknown";
    row.tier = name(unknown.tier);
    row.reason = unknown.reason;
  }
}

auto proof_rows(const Capture& capture, const ProveReport& report) -> MoreRows {
  return [&](TraceWriter& writer, const RecordedIds& ids) {
    return add_proofs(ProofRows(writer, ids), capture, report);
  };
}

auto record_proofs(const std::string& path, const Capture& capture, const ProveReport& report,
                   int exit_code) -> Result<void> {
  DebugReport findings;
  findings.findings = findings_of(capture, report);
  return record_trace(path, capture, findings, "prove", "", exit_code, proof_rows(capture, report));
}

}  // namespace assay
