// What we found out about the user's program. The same fields go to terminal, JSON and trace.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace assay {

enum class FindingKind : std::uint8_t {
  wrong_structure,
  wrong_dtype,
  wrong_rank,
  wrong_size,
  wrong_stride,
  misleading_stride,
  wrong_offset,
  wrong_device,
  storage_too_small,
  wrong_alias,
  wrong_mutation,
  wrong_scalar,
  symbol_out_of_range,
  guard_false,
  call_fails,
  not_finite,
  insignificant_stride,
  insignificant_offset,
  claim_not_general,
  recording_differs,
  missing_guard,
  contradicting_guards,
  over_specialised,
  out_of_bounds,
  internal_overlap,
  claim_refuted,
  strong_guard,
  access_out_of_bounds,
  integer_overflow,
  assert_fails,
  dead_storage_used,
  stage_differs,
};

/// A finding fails the check and sets exit code 1; a note is worth knowing and does not.
enum class Severity : std::uint8_t { finding, note };

struct FindingKindInfo {
  FindingKind kind;
  std::string_view name;   ///< "wrong-stride", stable across versions
  std::string_view title;  ///< one line for people
  Severity severity;
};
[[nodiscard]] auto finding_kinds() -> std::span<const FindingKindInfo>;
[[nodiscard]] auto info(FindingKind kind) -> const FindingKindInfo&;
[[nodiscard]] auto finding_kind(std::string_view name) -> std::optional<FindingKind>;

/// Root: every operand is as claimed, so the trouble starts here. Inherited: an operand is already
/// wrong, this node may only follow it.
enum class Blame : std::uint8_t { root, inherited };

struct Finding {
  FindingKind kind = FindingKind::wrong_structure;
  Blame blame = Blame::root;
  NodeId node;
  std::string node_name;  ///< empty for findings about the whole capture
  std::string target;
  std::string leaf;                         ///< "[1]" for an element of a tuple result, else empty
  std::string claimed;                      ///< what the capture says
  std::string claimed_value;                ///< the same at the binding, empty if it has no symbols
  std::string observed;                     ///< what is there
  std::string rule;                         ///< what Assay's own rule says, empty if there is none
  std::string message;                      ///< one sentence with the numbers
  std::string witness;                      ///< "s77 = 68, s53 = 7", empty without symbols
  std::vector<std::string> dirty_operands;  ///< for inherited findings
  std::optional<Origin> origin;
};

/// Findings (not notes) that are roots.
[[nodiscard]] auto root_findings(std::span<const Finding> findings) -> std::vector<const Finding*>;

}  // namespace assay
