#include "compiler/prove/wrapper_findings.h"

#include "compiler/prove/wrapper_walk.h"

namespace assay {
namespace {

auto kind_of(WrapperClaim kind) -> FindingKind {
  switch (kind) {
    case WrapperClaim::view_in_storage:
      return FindingKind::storage_too_small;
    case WrapperClaim::access_in_bounds:
      return FindingKind::access_out_of_bounds;
    case WrapperClaim::fits_32_bits:
      return FindingKind::integer_overflow;
    case WrapperClaim::assert_holds:
      return FindingKind::assert_fails;
    case WrapperClaim::operands_live:
      return FindingKind::dead_storage_used;
    case WrapperClaim::shapes_agree:
      return FindingKind::wrong_size;
  }
  return FindingKind::wrong_structure;
}

}  // namespace

auto witness_text(const Refuted& refuted) -> std::string {
  return print_witness(refuted.witness);
}

auto wrapper_findings(const WrapperReport& report) -> std::vector<Finding> {
  std::vector<Finding> findings;
  for (const auto& obligation : report.obligations) {
    const auto* refuted = std::get_if<Refuted>(&obligation.answer);
    if (refuted == nullptr) continue;
    Finding finding;
    finding.kind = kind_of(obligation.kind);
    finding.target = obligation.kernel.empty() ? obligation.statement : obligation.kernel;
    finding.leaf = obligation.access;
    finding.claimed = obligation.claim;
    finding.message = obligation.message;
    finding.witness = witness_text(*refuted);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace assay
