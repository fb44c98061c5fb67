#include "replay/report/finding_text.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace assay {
namespace {

/// What the rows of a kind are called. Proofs put the sizes first: they are what was found.
struct RowNames {
  FindingKind kind;
  std::string_view claimed, observed, rule;
};
constexpr RowNames kOfRuns{FindingKind::wrong_structure, "claimed", "real", "rule"};
constexpr std::array kOfProofs{
    RowNames{FindingKind::missing_guard, "needs", "then", "and"},
    RowNames{FindingKind::contradicting_guards, "guards", "then", "rule"},
    RowNames{FindingKind::over_specialised, "guards", "then", "rule"},
    RowNames{FindingKind::strong_guard, "guards", "then", "rule"},
    RowNames{FindingKind::out_of_bounds, "claimed", "then", "rule"},
    RowNames{FindingKind::internal_overlap, "claimed", "then", "rule"},
    RowNames{FindingKind::claim_refuted, "claimed", "then", "rule"},
    RowNames{FindingKind::stage_differs, "before", "here", "rule"},
};

constexpr std::array kAboutGuards{FindingKind::contradicting_guards, FindingKind::over_specialised,
                                  FindingKind::strong_guard};

}  // namespace

auto name(ReportState state) -> std::string_view {
  switch (state) {
    case ReportState::clean:
      return "clean";
    case ReportState::findings:
      return "findings";
    case ReportState::undecided:
      return "undecided";
  }
  return {};
}

auto place_of(const Finding& finding) -> std::string {
  if (!finding.origin || finding.origin->file.empty()) return {};
  const auto& origin = *finding.origin;
  auto text = origin.line > 0 ? fmt::format("{}:{}", origin.file, origin.line) : origin.file;
  if (!origin.function.empty()) text += " in " + origin.function;
  return text;
}

auto headline(const Finding& finding) -> std::string {
  auto where = finding.node_name + finding.leaf;
  if (where.empty())
    where = std::ranges::find(kAboutGuards, finding.kind) != kAboutGuards.end() ? "the guards"
                                                                                : "the capture";
  const auto what = finding.target.empty() || finding.target == finding.node_name
                        ? std::string()
                        : " = " + finding.target;
  return fmt::format("{}{}  [{}]", where, what, info(finding.kind).name);
}

auto rows_of(const Finding& finding) -> std::string {
  std::string text;
  const auto row = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) text += fmt::format("    {:<9}{}\n", name, value);
  };
  const auto* proof = std::ranges::find(kOfProofs, finding.kind, &RowNames::kind);
  const bool is_proof = proof != kOfProofs.end();
  const auto& names = is_proof ? *proof : kOfRuns;
  if (is_proof) row("sizes", finding.witness);
  row(names.claimed, finding.claimed_value.empty()
                         ? finding.claimed
                         : fmt::format("{}  = {}", finding.claimed, finding.claimed_value));
  row(names.observed, finding.observed);
  row(names.rule, finding.rule);
  if (!is_proof) row("sizes", finding.witness);
  row("source", place_of(finding));
  if (finding.origin) {
    row("code", finding.origin->code);
    row("module", finding.origin->module);
  }
  row("follows", fmt::format("{}", fmt::join(finding.dirty_operands, ", ")));
  return text;
}

auto describe(const Finding& finding, const Paint& paint) -> std::string {
  return fmt::format("  {}\n    {}\n{}", paint(headline(finding), Style::bold), finding.message,
                     rows_of(finding));
}

}  // namespace assay
