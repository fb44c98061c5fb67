// Functions of float lanes. float32 is wrong by at most one unit in the last place (`sigmoid` two):
// what is rare is computed in float64 and rounded once. Internal to compiler/codegen.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <optional>
#include <span>

#include "compiler/program/op_table.h"

namespace assay {

/// Operands are all float32 or all float64. Null for operations that are no functions.
[[nodiscard]] auto emit_function(llvm::IRBuilder<>& builder, TileOp op,
                                 std::span<llvm::Value* const> operands) -> llvm::Value*;

/// The exponential of a float32 that is not above 0 (or NaN): the same bits by fewer steps.
[[nodiscard]] auto emit_exp_below_one(llvm::IRBuilder<>& builder, llvm::Value* x) -> llvm::Value*;
/// The exponential of a float32 between -87 and 88, and not NaN: the same bits by fewer still.
[[nodiscard]] auto emit_exp_of_number(llvm::IRBuilder<>& builder, llvm::Value* x) -> llvm::Value*;

/// 1 + erf(x) of float32, as precise as the sum of both and without erf's two ranges.
[[nodiscard]] auto emit_erf_and_one(llvm::IRBuilder<>& builder, llvm::Value* x) -> llvm::Value*;

/// Arguments of float32 for which a function has the same bits by fewer steps.
struct UsualArguments {
  double low = 0, high = 0;   ///< at least, and below
  bool of_magnitude = false;  ///< |x| is below `high`
};
/// Nothing where there are no fewer.
[[nodiscard]] auto usual_arguments(TileOp op) -> std::optional<UsualArguments>;
[[nodiscard]] auto emit_usual(llvm::IRBuilder<>& builder, TileOp op, llvm::Value* x)
    -> llvm::Value*;

}  // namespace assay
