// How reductions combine values. Internal to compiler/codegen.
#pragma once
#include "compiler/codegen/lane_code.h"
#include "compiler/program/kernel.h"

namespace assay {

/// What changes nothing: each operand's share.
[[nodiscard]] auto combine_identity(llvm::IRBuilder<>& b, LaneCode& code, TileCombine combine,
                                    std::size_t part, DType of) -> llvm::Value*;
/// Two partial results as one, part by part; `of` is the first part's dtype.
[[nodiscard]] auto combined(llvm::IRBuilder<>& b, LaneCode& code, TileCombine combine,
                            const std::vector<llvm::Value*>& x, const std::vector<llvm::Value*>& y,
                            DType of) -> std::vector<llvm::Value*>;

}  // namespace assay
