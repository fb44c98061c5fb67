// Faults of layouts that lowering gives to tensors.
#include <algorithm>
#include <set>

#include "compiler/faults/faults.h"
#include "compiler/schedule/schedule.h"
#include "core/expr/eval.h"

namespace assay {
namespace {

void collect(const CallArg& arg, std::set<DefId>& ids) {
  if (arg.tensor) ids.insert(*arg.tensor);
  for (const auto& item : arg.items) collect(item, ids);
}

/// A buffer that a kernel of the program fills, with nothing else to say how it is laid out.
auto is_own(const TensorDef& def, DefId id) -> bool {
  return def.is_computed() && def.owner == id && !def.is_input && !def.call;
}

auto is_negative(const Expr& e, const Binding& hints) -> bool {
  const auto value = evaluate_int(e, hints);
  return value && *value < 0;
}

/// The view's strides become those of the tensor that it looks at.
auto share_layouts(ScheduleInput& input) -> bool {
  auto& defs = input.graph.defs;
  std::set<DefId> outside;  // of loops
  for (const auto& output : input.outputs) collect(output, outside);
  for (const auto& call : input.graph.calls)
    for (const auto& arg : call.args) collect(arg, outside);
  for (const auto id : outside) {
    const auto& view = defs[id];
    auto& base = defs[view.owner];
    if (view.owner == id || !is_own(base, view.owner) || view.meta.dtype != base.meta.dtype ||
        view.meta.strides.size() != base.meta.strides.size() ||
        view.meta.strides == base.meta.strides || !view.meta.offset.is_int(0))
      continue;
    base.meta.strides = view.meta.strides;
    return true;
  }
  return false;
}

/// Rows of what is padded stand apart as if there were room for the pad, once more than there is,
/// whatever its sign.
auto pad_in_place(ScheduleInput& input) -> bool {
  auto& defs = input.graph.defs;
  const auto hints = input.env.hints();
  bool any = false;
  for (const auto& def : defs) {
    if (def.target != "aten.constant_pad_nd.default" || def.reads.size() != 1) continue;
    auto& from = defs[def.reads[0]];
    const auto rank = def.meta.sizes.size();
    if (!is_own(from, def.reads[0]) || rank < 2 || from.meta.sizes.size() != rank) continue;
    bool cuts = false;
    for (auto d = rank; d-- > 1;) {
      const auto pad = def.meta.sizes[d] - from.meta.sizes[d];
      cuts = cuts || is_negative(pad, hints);
      from.meta.strides[d - 1] = from.meta.strides[d] * (def.meta.sizes[d] + pad);
    }
    from.cost = 1000;  // what is padded in place is in memory
    any = any || cuts;
  }
  return any;
}

}  // namespace

auto apply_fault(Fault fault, ScheduleInput& input) -> bool {
  if (fault == Fault::shared_layout) return share_layouts(input);
  if (fault == Fault::negative_pad) return pad_in_place(input);
  return true;
}

}  // namespace assay
