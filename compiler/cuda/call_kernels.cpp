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
  Append complete;  ///< what a library takes; null: it does all
};
constexpr std::array kFamilies = {
    Family{is_sort, expand_sort, nullptr},
    Family{is_random, expand_random, nullptr},
    Family{is_attention, expand_attention, complete_attention},
};

}  // namespace

CallKernels::CallKernels(const OpTable& table)
    : table_(table), programs_(pool_.symbol("programs")) {}

void CallKernels::expand(BoundProgram& bound,
                         const std::function<bool(const BoundCall&)>& is_taken) {
  replace_steps(bound, [&](const BoundStep& step) {
    const auto* const call = std::get_if<BoundCall>(&step);
    if (call == nullptr) return false;
    const bool stays = is_taken && is_taken(*call);
    return std::ranges::any_of(kFamilies, [&](const Family& one) {
      const auto append = stays ? one.complete : one.expand;
      return append != nullptr && one.has(*call->row) && append(*call, bound, *this);
    });
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
