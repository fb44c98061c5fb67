// Conformance as pages to read: the report of a run, and the list of all operators.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "replay/conform/conform.h"
#include "replay/conform/schemas.h"

namespace assay {

enum class PageFormat : std::uint8_t { html, markdown };

/// The report as JSON (`assay.conform/1`), which read_conform_json takes back. The reader keeps
/// counts and failures and leaves predictions out. Errors: bad_input.
[[nodiscard]] auto conform_json(const ConformReport& report) -> std::string;
[[nodiscard]] auto read_conform_json(const std::string& text) -> Result<ConformReport>;

/// Pass rates by family, every failure with the command that shows it, and the calls in which
/// PyTorch's fake prediction is wrong. Against an older run also what changed: rates, operators,
/// failures that are new and those that are gone. Self-contained.
[[nodiscard]] auto conform_page(const ConformReport& report, const std::string& cases,
                                const std::optional<ConformReport>& older, PageFormat format)
    -> std::string;

/// Every operator of the table with kind, coverage by recorded calls of each device (reports may be
/// empty), known deviations, derived forms and schema; where the operators of PyTorch's list (which
/// may be empty) stand, and why some are not there; where PyTorch's fake predictions are wrong.
/// Markdown.
[[nodiscard]] auto operators_page(const OpTable& table, const ConformReport& cpu,
                                  const ConformReport& cuda, const SchemaList& list) -> std::string;

/// "linear algebra", "pointwise", ... by name.
[[nodiscard]] auto family_of(std::string_view overload) -> std::string_view;

}  // namespace assay
