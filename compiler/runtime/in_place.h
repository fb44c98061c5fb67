// Results written over operands that die: proved for a binding, launch by launch.
#pragma once
#include "compiler/runtime/bound.h"

namespace assay {

/// Sets `over` of temporaries whose first launch may write them over an operand: the kernel has one
/// nest of exact parallel axes, reads the operand at the very index that it writes, before it
/// writes, and no two lanes write one element. Symbols go into the program's pool.
void find_in_place(BoundProgram& bound, const HostProgram& program);

}  // namespace assay
