// A finding as a few lines of text: headline, sentence, and what differs, one row each.
#pragma once
#include <string>

#include "core/finding/finding.h"
#include "replay/report/paint.h"

namespace assay {

/// What a report says in the end. Findings weigh more than open questions.
enum class ReportState : std::uint8_t { clean, findings, undecided };
[[nodiscard]] auto name(ReportState state) -> std::string_view;

/// "model.py:12 in forward"; empty where the file is not known.
[[nodiscard]] auto place_of(const Finding& finding) -> std::string;

/// "add_3[0] = aten.add.Tensor  [wrong-stride]".
[[nodiscard]] auto headline(const Finding& finding) -> std::string;

/// Rows below the message: what is claimed, what is there, where. Named as fits the kind: a missing
/// guard *needs* a condition, a lying node *claims* a layout.
[[nodiscard]] auto rows_of(const Finding& finding) -> std::string;

/// All of it, with the sentence between headline and rows.
[[nodiscard]] auto describe(const Finding& finding, const Paint& paint = {}) -> std::string;

}  // namespace assay
