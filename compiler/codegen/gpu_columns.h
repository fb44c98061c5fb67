// Reductions over threads along y, each column of threads by itself, through shared memory.
// Internal to compiler/codegen.
#pragma once
#include <vector>

#include "compiler/codegen/gpu_kernel.h"

namespace assay {

/// Each thread leaves its registers. Then eight, four or two threads' values become one between two
/// barriers, by halves of halves, so that results are those of halving once per barrier, to the
/// bit. All threads have a part in it: who is further along y takes a later register.
class GpuColumns {
 public:
  using Parts = GpuValues::Parts;
  using Values = GpuValues::Values;
  using Value = llvm::Value;

  /// `registers`: those that differ in what stays.
  GpuColumns(GpuKernelEmitter& e, const TileStatement& one, TileCombine how,
             std::vector<std::size_t> registers);
  /// By operand, then by register; others than `registers` stay as they are.
  [[nodiscard]] auto folded(Parts parts) -> Parts;

 private:
  [[nodiscard]] auto fold(const Parts& parts) -> Values;
  void step(unsigned many, Value* left);
  void halve(unsigned many, Value* first, Value* apart);
  /// Where a thread's register is, the same in the room of each operand.
  [[nodiscard]] auto at(std::size_t number, Value* thread) -> Value*;
  [[nodiscard]] auto slot(std::size_t operand, Value* place) -> Value*;
  [[nodiscard]] auto held(std::size_t operand, Value* place) -> Value*;

  GpuKernelEmitter& e_;
  llvm::IRBuilder<>& b_;
  const TileStatement& one_;
  TileCombine how_;
  std::vector<std::size_t> registers_;
  GpuValues::Place x_, y_;
  std::vector<llvm::GlobalVariable*> rooms_;  ///< by operand
  std::vector<llvm::Type*> types_;            ///< of operands
  Value* column_ = nullptr;                   ///< the first thread of this one's
};

}  // namespace assay
