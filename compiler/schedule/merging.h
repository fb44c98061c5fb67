// Neighbouring axes that every index of a kernel uses like one. Internal to compiler/schedule.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "compiler/lower/loop_builder.h"

namespace assay {

/// `expressions` are all that the kernel computes with its axes. Two neighbours o and i, both
/// reduced or both not, become one axis m = o * extent(i) + i if o is in none of them once i is
/// written as m - o * extent(i). `allow` is asked with what would be merged, "s0, s1", before it
/// is.
[[nodiscard]] auto merged_form(const std::vector<LoopAxis>& axes,
                               const std::vector<Expr>& expressions, ExprPool& pool,
                               const std::function<bool(const std::string&)>& allow) -> LoopForm;

}  // namespace assay
