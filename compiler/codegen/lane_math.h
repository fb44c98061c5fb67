// Functions of float32 lanes, computed in float64 and rounded once: wrong by at most one unit in
// the last place, as a rule right. Internal to compiler/codegen.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include "compiler/program/op_table.h"

namespace assay {

/// Null for functions that have no code here.
[[nodiscard]] auto emit_function(llvm::IRBuilder<>& builder, TileOp op, llvm::Value* x)
    -> llvm::Value*;

}  // namespace assay
