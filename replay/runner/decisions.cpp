#include "replay/runner/decisions.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace assay {
namespace {

using enum CompileDecision::Kind;

auto kind_of(std::string_view text) -> std::optional<CompileDecision::Kind> {
  for (const auto kind : {store, fuse, merge})
    if (name(kind) == text) return kind;
  return std::nullopt;
}

auto names(const DecisionName& wanted, const CompileDecision& decision) -> bool {
  return wanted.kind == decision.kind && wanted.subject == decision.subject &&
         (wanted.other.empty() || wanted.other == decision.other);
}

}  // namespace

auto parse_decision(std::string_view text) -> Result<DecisionName> {
  const auto first = text.find(':');
  const auto kind = kind_of(text.substr(0, first));
  if (!kind || first == std::string_view::npos || first + 1 == text.size())
    return std::unexpected(Error{
        ErrorCode::usage,
        fmt::format("decision {}: fuse:NODE, fuse:NODE:KERNEL, merge:NODE or store:NODE", text)});
  const auto rest = text.substr(first + 1);
  const auto second = rest.find(':');
  DecisionName made{*kind, std::string(rest.substr(0, second)), {}};
  if (second != std::string_view::npos) made.other = rest.substr(second + 1);
  return made;
}

auto text_of(const CompileDecision& decision) -> std::string {
  return fmt::format("{}:{}:{}", name(decision.kind), decision.subject, decision.other);
}

auto read_decisions(std::string_view json, const std::string& file)
    -> Result<std::vector<DecisionName>> {
  const auto root = nlohmann::json::parse(json, nullptr, false);
  if (!root.is_object() || !root.contains("decisions") || !root["decisions"].is_array())
    return bad_input("{}: no decisions in it", file);
  std::vector<DecisionName> accepted;
  for (const auto& one : root["decisions"]) {
    if (!one.is_object()) return bad_input("{}: a decision is no object", file);
    const auto kind = kind_of(one.value("kind", ""));
    if (!kind || !one.value("accepted", false)) continue;
    accepted.push_back({*kind, one.value("subject", ""), one.value("other", "")});
  }
  return accepted;
}

auto forbids(const DecisionFilter& filter, const CompileDecision& decision) -> bool {
  const auto matches = [&](const DecisionName& wanted) { return names(wanted, decision); };
  if (std::ranges::any_of(filter.banned, matches)) return true;
  if (!filter.has_only) return false;
  const bool is_about =
      decision.kind == fuse || std::ranges::any_of(filter.only, [&](const DecisionName& wanted) {
        return wanted.kind == decision.kind;
      });
  return is_about && std::ranges::none_of(filter.only, matches);
}

}  // namespace assay
