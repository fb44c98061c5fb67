// Two partial results of a reduction or scan made one, as LLVM IR. Internal to compiler/codegen.
#pragma once
#include <vector>

#include "compiler/codegen/lane_code.h"
#include "compiler/program/kernel.h"

namespace assay {

class CombineCode {
 public:
  CombineCode(llvm::IRBuilder<>& builder, LaneCode& code) : b_(builder), code_(code) {}

  /// What changes nothing, of operand `part`. Of reductions that have one; welford's and
  /// online_softmax's are theirs too, a region has none (null).
  [[nodiscard]] auto identity(TileCombine combine, std::size_t part, DType of) -> llvm::Value*;
  /// `a` stands before `b`. `dtypes` of the operands. Null where there is no code.
  [[nodiscard]] auto combined(TileCombine combine, const std::vector<llvm::Value*>& a,
                              const std::vector<llvm::Value*>& b, const std::vector<DType>& dtypes)
      -> std::vector<llvm::Value*>;

 private:
  using Values = std::vector<llvm::Value*>;
  [[nodiscard]] auto ordered(bool is_max, const Values& a, const Values& b,
                             const std::vector<DType>& dtypes) -> Values;
  [[nodiscard]] auto welford(const Values& a, const Values& b, DType of) -> Values;
  [[nodiscard]] auto online_softmax(const Values& a, const Values& b, DType of) -> Values;

  llvm::IRBuilder<>& b_;
  LaneCode& code_;
};

}  // namespace assay
