// Operations on vectors of lanes as LLVM IR. Internal to compiler/codegen.
#pragma once
#include <llvm/IR/IRBuilder.h>

#include <optional>
#include <unordered_map>

#include "compiler/program/kernel.h"
#include "core/base/result.h"

namespace assay {

/// Errors: unsupported (dtypes and operations of lanes that have no code).
[[nodiscard]] auto has_code(const TileKernel& kernel) -> Result<void>;

/// Emits operations of the table for values of `lanes` lanes, or of one.
class LaneCode {
 public:
  LaneCode(llvm::IRBuilder<>& builder, unsigned lanes) : b_(builder), lanes_(lanes) {}

  /// The machine rounds to bfloat16 by itself.
  void use_bfloat_conversions(bool has_them) { has_bfloat_ = has_them; }
  /// Type that a lane is computed in: i1 for truth values, float for narrower floats.
  [[nodiscard]] auto lane_type(DType dtype) -> llvm::Type*;
  /// Type in memory.
  [[nodiscard]] auto memory_type(DType dtype) -> llvm::Type*;
  [[nodiscard]] auto vector_of(llvm::Type* lane) -> llvm::Type*;
  [[nodiscard]] auto splat(llvm::Value* scalar) -> llvm::Value*;
  [[nodiscard]] auto constant(DType dtype, double value) -> llvm::Value*;
  [[nodiscard]] auto constant(DType dtype, std::int64_t value) -> llvm::Value*;

  /// Every operation of the table has code, without calls and for any dtypes that its row takes; it
  /// may end the basic block. Operands are all vectors or all scalars. `from` is the operands'
  /// dtype (of select that of its branches), `to` the result's.
  [[nodiscard]] auto compute(TileOp op, const std::vector<llvm::Value*>& operands, DType from,
                             DType to) -> llvm::Value*;
  /// The value as it is kept in memory, and back.
  [[nodiscard]] auto to_memory(llvm::Value* value, DType dtype) -> llvm::Value*;
  /// Of a value that is rounded to the dtype already.
  [[nodiscard]] auto rounded_to_memory(llvm::Value* value, DType dtype) -> llvm::Value*;
  /// Two numbers made by it for bfloat16, as the word that they are together, rounded at once; null
  /// where they are others.
  [[nodiscard]] auto rounded_pair(llvm::Value* low, llvm::Value* high) -> llvm::Value*;
  /// Such a number by itself, rounded to where it is stored from; any other value as it is.
  [[nodiscard]] auto rounded_alone(llvm::Value* half) -> llvm::Value*;
  [[nodiscard]] auto from_memory(llvm::Value* value, DType dtype) -> llvm::Value*;
  /// Truth values as bytes; all else as it is.
  [[nodiscard]] auto to_memory_if_truth(llvm::Value* value, DType dtype) -> llvm::Value* {
    return dtype == DType::boolean ? to_memory(value, dtype) : value;
  }
  /// Rounds float lanes to a narrower float.
  [[nodiscard]] auto rounded(llvm::Value* value, DType dtype) -> llvm::Value*;

  /// Elements from `place` on, under a mask: stored, or what `combine` makes of what is there.
  void write_neighbours(llvm::Value* place, llvm::Value* values, llvm::Value* mask,
                        std::optional<TileOp> combine, DType of);
  /// The same at a place per lane, one after the other: places may be equal.
  void write_in_order(const std::vector<llvm::Value*>& places, llvm::Value* values,
                      llvm::Value* mask, std::optional<TileOp> combine, DType of);

  /// As many vectors as there are lanes, as rows of a square: its columns.
  [[nodiscard]] auto transposed(std::vector<llvm::Value*> rows) -> std::vector<llvm::Value*>;

 private:
  [[nodiscard]] auto cast(llvm::Value* value, DType from, DType to) -> llvm::Value*;
  [[nodiscard]] auto divided(TileOp op, llvm::Value* a, llvm::Value* b, bool is_signed)
      -> llvm::Value*;
  [[nodiscard]] auto shift(TileOp op, llvm::Value* a, llvm::Value* by, bool is_signed)
      -> llvm::Value*;
  [[nodiscard]] auto upper_product(llvm::Value* a, llvm::Value* b, bool is_signed) -> llvm::Value*;
  [[nodiscard]] auto to_integer(llvm::Value* value, DType to) -> llvm::Value*;
  [[nodiscard]] auto saturated(llvm::Value* value, llvm::Type* to, unsigned bits, bool is_signed)
      -> llvm::Value*;
  [[nodiscard]] auto bitcast(llvm::Value* value, DType from, DType to) -> llvm::Value*;
  [[nodiscard]] auto integers(TileOp op, const std::vector<llvm::Value*>& operands, DType dtype)
      -> llvm::Value*;
  [[nodiscard]] auto floats(TileOp op, const std::vector<llvm::Value*>& operands) -> llvm::Value*;
  [[nodiscard]] auto erf_and_one(TileOp op, const std::vector<llvm::Value*>& operands)
      -> llvm::Value*;
  [[nodiscard]] auto like(llvm::Type* type, double value) -> llvm::Value*;

  llvm::IRBuilder<>& b_;
  unsigned lanes_;
  bool has_bfloat_ = false;
  std::unordered_map<llvm::Value*, llvm::Value*> erf_of_;  ///< arguments by results, of float32
};

}  // namespace assay
