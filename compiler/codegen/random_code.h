// Philox 4x32 and what Triton, and Inductor's C++, make of its words; core/ops/counter_random.h has
// the same on the host. Of vectors of lanes or of single ones. Internal to compiler/codegen.
#pragma once
#include <array>
#include <vector>

#include "compiler/codegen/lane_code.h"
#include "compiler/program/kernel.h"

namespace assay {

class RandomCode {
 public:
  RandomCode(llvm::IRBuilder<>& builder, LaneCode& code) : b_(builder), code_(code) {}

  /// What is no `words`: operands of 64 bits, as the statement has them; in `to`.
  [[nodiscard]] auto number(const TileRandom& what, const std::vector<llvm::Value*>& operands,
                            DType to) -> llvm::Value*;
  /// All four, of a counter whose halves these are.
  using Words = std::array<llvm::Value*, 4>;
  [[nodiscard]] auto words(llvm::Value* seed, llvm::Value* low, llvm::Value* high) -> Words;

 private:
  using Value = llvm::Value;
  [[nodiscard]] auto philox(Value* seed, Words counter) -> Words;
  [[nodiscard]] auto halves(Value* wide) -> std::array<Value*, 2>;  ///< the lower one first
  [[nodiscard]] auto with(DType of, Value* like) -> llvm::Type*;
  [[nodiscard]] auto whole(Value* like, std::uint64_t number) -> Value*;
  [[nodiscard]] auto real(DType of, Value* like, double number) -> Value*;
  [[nodiscard]] auto op(TileOp which, const std::vector<Value*>& operands, DType of) -> Value*;
  [[nodiscard]] auto converted(Value* value, DType from, DType to) -> Value*;
  [[nodiscard]] auto uniform(Value* word, bool is_cpu) -> Value*;
  [[nodiscard]] auto normal(const Words& words) -> Value*;
  [[nodiscard]] auto normal_of_cpu(const Words& words) -> Value*;
  [[nodiscard]] auto between(const Words& words, Value* low, Value* high) -> Value*;

  llvm::IRBuilder<>& b_;
  LaneCode& code_;
};

}  // namespace assay
