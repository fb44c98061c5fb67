#include "core/finding/finding.h"

#include <array>

#include "core/base/check.h"

namespace assay {
namespace {

using enum FindingKind;
// clang-format off
constexpr std::array kKinds = {
    FindingKindInfo{wrong_structure, "wrong-structure", "number or nesting of results differs", Severity::finding},
    FindingKindInfo{wrong_dtype, "wrong-dtype", "the claimed dtype is not what the operator produces", Severity::finding},
    FindingKindInfo{wrong_rank, "wrong-rank", "the claimed number of dimensions is wrong", Severity::finding},
    FindingKindInfo{wrong_size, "wrong-size", "a claimed size is wrong", Severity::finding},
    FindingKindInfo{wrong_stride, "wrong-stride", "a claimed stride of a dimension larger than 1 is wrong", Severity::finding},
    FindingKindInfo{misleading_stride, "misleading-stride", "a claimed stride of a dimension of size 1 is wrong, and a node downstream chooses its layout by it", Severity::finding},
    FindingKindInfo{wrong_offset, "wrong-offset", "the claimed storage offset is wrong", Severity::finding},
    FindingKindInfo{wrong_device, "wrong-device", "the claimed device is not the one the result is on", Severity::finding},
    FindingKindInfo{storage_too_small, "storage-too-small", "the claimed layout runs past its storage", Severity::finding},
    FindingKindInfo{wrong_alias, "wrong-alias", "the claimed sharing of storage is wrong", Severity::finding},
    FindingKindInfo{wrong_mutation, "wrong-mutation", "inputs are not mutated as claimed", Severity::finding},
    FindingKindInfo{wrong_scalar, "wrong-scalar", "a symbolic scalar does not have its claimed value", Severity::finding},
    FindingKindInfo{symbol_out_of_range, "symbol-out-of-range", "a symbol is bound outside its recorded range", Severity::finding},
    FindingKindInfo{guard_false, "guard-false", "a recorded guard is false at these sizes", Severity::finding},
    FindingKindInfo{call_fails, "call-fails", "the operator cannot run on these operands", Severity::finding},
    FindingKindInfo{not_finite, "not-finite", "the first NaN or infinity appears here", Severity::finding},
    FindingKindInfo{insignificant_stride, "insignificant-stride", "a stride of a dimension of size 1 or of an empty tensor differs", Severity::note},
    FindingKindInfo{insignificant_offset, "insignificant-offset", "the offset of a storage of its own differs and nothing reads it", Severity::note},
    FindingKindInfo{claim_not_general, "claim-not-general", "the claim holds at these sizes but not for all", Severity::note},
    FindingKindInfo{recording_differs, "recording-differs", "the recorded run and Assay's own rule disagree", Severity::note},
    FindingKindInfo{missing_guard, "missing-guard", "sizes that pass the guards break the graph", Severity::finding},
    FindingKindInfo{contradicting_guards, "contradicting-guards", "no sizes pass the guards", Severity::finding},
    FindingKindInfo{over_specialised, "over-specialised", "guards leave a symbol few values although none says so alone", Severity::finding},
    FindingKindInfo{out_of_bounds, "out-of-bounds", "a layout leaves its storage at sizes that pass the guards", Severity::finding},
    FindingKindInfo{internal_overlap, "internal-overlap", "a tensor that is written has elements with several indices", Severity::finding},
    FindingKindInfo{claim_refuted, "claim-refuted", "a condition asked about does not follow from the guards", Severity::finding},
    FindingKindInfo{strong_guard, "strong-guard", "a guard excludes sizes at which the graph works", Severity::note},
    FindingKindInfo{access_out_of_bounds, "access-out-of-bounds", "a kernel reads or writes outside of a storage", Severity::finding},
    FindingKindInfo{integer_overflow, "integer-overflow", "an integer does not fit the 32 bits it is computed or passed in", Severity::finding},
    FindingKindInfo{assert_fails, "assert-fails", "an assert of the compiled program can fail", Severity::finding},
    FindingKindInfo{dead_storage_used, "dead-storage-used", "a buffer is used after it was deleted or its storage was reused", Severity::finding},
    FindingKindInfo{stage_differs, "stage-differs", "a stage of the compilation gives something else than the stage before it", Severity::finding},
};
// clang-format on

}  // namespace

auto finding_kinds() -> std::span<const FindingKindInfo> {
  return kKinds;
}

auto info(FindingKind kind) -> const FindingKindInfo& {
  const auto& row = kKinds[static_cast<std::size_t>(kind)];
  ASSAY_CHECK(row.kind == kind, "finding table is out of order");
  return row;
}

auto finding_kind(std::string_view name) -> std::optional<FindingKind> {
  for (const auto& row : kKinds)
    if (row.name == name) return row.kind;
  return std::nullopt;
}

auto root_findings(std::span<const Finding> findings) -> std::vector<const Finding*> {
  std::vector<const Finding*> roots;
  for (const auto& finding : findings)
    if (finding.blame == Blame::root && info(finding.kind).severity == Severity::finding)
      roots.push_back(&finding);
  return roots;
}

}  // namespace assay
