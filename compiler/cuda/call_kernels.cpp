#include "compiler/cuda/call_kernels.h"

#include <algorithm>
#include <array>

#include "compiler/cuda/call_launches.h"
#include "compiler/cuda/replaced_steps.h"

namespace assay {

CallKernels::CallKernels(const OpTable& table)
    : table_(table), programs_(pool_.symbol("programs")) {}

void CallKernels::expand(BoundProgram& bound,
                         const std::function<bool(const BoundCall&)>& is_taken) {
  constexpr std::array kFamilies = {expand_sort, expand_random, expand_attention};
  replace_steps(bound, [&](const BoundStep& step) {
    const auto* call = std::get_if<BoundCall>(&step);
    return call != nullptr && !(is_taken && is_taken(*call)) &&
           std::ranges::any_of(kFamilies,
                               [&](const auto& expand) { return expand(*call, bound, *this); });
  });
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
