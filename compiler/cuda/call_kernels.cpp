#include "compiler/cuda/call_kernels.h"

#include <algorithm>
#include <array>

#include "compiler/cuda/call_launches.h"
#include "compiler/cuda/replaced_steps.h"

namespace assay {
namespace {

struct Family {
  using Append = bool (*)(const BoundCall& call, BoundProgram& bound, CallKernels& kernels);
  bool (*has)(const OpRow& row);
  Append expand;
  Append complete = nullptr;  ///< what a library takes; null: it does all
  /// What a library takes with other arguments; null: nothing.
  bool (*adapt)(const BoundCall& call, BoundProgram& bound, CallKernels& kernels,
                const CallKernels::IsTaken& is_taken) = nullptr;
};
constexpr std::array kFamilies = {
    Family{.has = is_sort, .expand = expand_sort},
    Family{.has = is_random, .expand = expand_random},
    Family{.has = is_attention,
           .expand = expand_attention,
           .complete = complete_attention,
           .adapt = adapt_attention},
};

}  // namespace

CallKernels::CallKernels(const OpTable& table)
    : table_(table), programs_(pool_.symbol("programs")) {}

void CallKernels::expand(BoundProgram& bound, const IsTaken& is_taken) {
  replace_steps(bound, [&](const BoundStep& step) {
    const auto* const call = std::get_if<BoundCall>(&step);
    if (call == nullptr) return false;
    const auto* const family =
        std::ranges::find_if(kFamilies, [&](const Family& one) { return one.has(*call->row); });
    if (family == kFamilies.end()) return false;
    if (is_taken && is_taken(*call))
      return family->complete != nullptr && family->complete(*call, bound, *this);
    if (is_taken && family->adapt != nullptr && family->adapt(*call, bound, *this, is_taken))
      return true;
    return family->expand(*call, bound, *this);
  });
}

auto CallKernels::has(std::string_view name) const -> bool {
  const auto* const row = table_.find(name);
  return row != nullptr &&
         std::ranges::any_of(kFamilies, [&](const Family& one) { return one.has(*row); });
}

auto CallKernels::find(const std::string& name) const -> std::shared_ptr<const TileKernel> {
  const auto known = kernels_.find(name);
  return known == kernels_.end() ? nullptr : known->second;
}

auto CallKernels::kernel(const std::string& name, const Maker& make) -> const TileKernel& {
  auto& known = kernels_[name];
  if (known == nullptr) known = make(programs_);
  return *known;
}

}  // namespace assay
