#include "replay/runner/decision_blame.h"

#include <algorithm>
#include <array>

namespace assay {
namespace {

struct Switch {
  std::string_view name;
  bool CompileVariant::* flag;
};
constexpr std::array kSwitches = {
    Switch{"vectors", &CompileVariant::vectors}, Switch{"merged axes", &CompileVariant::merge},
    Switch{"reuse", &CompileVariant::reuse}, Switch{"bound steps", &CompileVariant::bound}};

}  // namespace

auto blame_decisions(const std::vector<CompileDecision>& accepted, const VariantDiffers& differs)
    -> Result<DecisionBlame> {
  DecisionBlame blame;
  CompileVariant variant;
  for (const auto& one : accepted)
    if (one.accepted && one.kind == CompileDecision::Kind::fuse)
      variant.fusions.push_back({one.kind, one.subject, one.other});
  const auto attempt = [&](CompileVariant candidate) -> Result<bool> {
    ++blame.runs;
    ASSAY_TRY(const bool stays, differs(candidate));
    if (stays) variant = std::move(candidate);
    return stays;
  };
  for (const auto& one : kSwitches) {
    auto candidate = variant;
    candidate.*one.flag = false;
    ASSAY_TRY_VOID(attempt(std::move(candidate)));
  }
  // Larger parts first; where one is gone the same size is tried again behind it.
  for (auto part = variant.fusions.size(); part > 0; part /= 2) {
    for (std::size_t from = 0; from < variant.fusions.size();) {
      auto candidate = variant;
      const auto to = std::min(from + part, candidate.fusions.size());
      candidate.fusions.erase(candidate.fusions.begin() + static_cast<std::ptrdiff_t>(from),
                              candidate.fusions.begin() + static_cast<std::ptrdiff_t>(to));
      ASSAY_TRY(const bool gone, attempt(std::move(candidate)));
      if (!gone) from = to;
    }
  }
  for (const auto& one : kSwitches)
    if (variant.*one.flag) blame.needed.emplace_back(one.name);
  for (const auto& fusion : variant.fusions)
    blame.needed.push_back(fmt::format("fuse:{}:{}", fusion.subject, fusion.other));
  return blame;
}

}  // namespace assay
