// Conformance as pages to read: the report of a run, and the list of all operators.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "replay/conform/conform.h"

namespace assay {

enum class PageFormat : std::uint8_t { html, markdown };

/// The report as JSON (`assay.conform/1`), which read_conform_json takes back. The reader keeps
/// counts and leaves failures out. Errors: bad_input.
[[nodiscard]] auto conform_json(const ConformReport& report) -> std::string;
[[nodiscard]] auto read_conform_json(const std::string& text) -> Result<ConformReport>;

/// Pass rates by family (against an older run if there is one), every failure with the command
/// that shows it, and the calls in which PyTorch's fake prediction is wrong. Self-contained.
[[nodiscard]] auto conform_page(const ConformReport& report, const std::string& cases,
                                const std::optional<ConformReport>& older, PageFormat format)
    -> std::string;

/// Every operator of the table with kind, coverage by recorded calls of each device (reports may be
/// empty), known deviations, derived forms and schema; then what PyTorch has and the table has not,
/// with the reason. Markdown.
[[nodiscard]] auto operators_page(const OpTable& table, const ConformReport& cpu,
                                  const ConformReport& cuda) -> std::string;

/// "linear algebra", "pointwise", ... by name.
[[nodiscard]] auto family_of(std::string_view overload) -> std::string_view;

/// A family of PyTorch operators without rows: all names that begin so.
struct AbsentOperators {
  std::string_view prefix;
  std::string_view reason;
};
[[nodiscard]] auto absent_operators() -> std::span<const AbsentOperators>;

}  // namespace assay
