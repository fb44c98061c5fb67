// Block products: operands through shared memory, then in the order of k, or by tensor cores.
//
// Tensor cores (`mma.sync`, PTX ISA 7.0, compute capability 8.0) take operands of float16 and
// bfloat16, whose products are exact in float32, and of float32 where it may be rounded to TF32.
// They add the products of 16 (TF32: 8) places along k in an order of their own. All else is one
// fma after the other, which gives the interpreter's bits.
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include "compiler/codegen/gpu_kernel.h"

namespace assay {
namespace {

using llvm::BasicBlock;
using llvm::Value;

constexpr unsigned kShared = 3;
constexpr int kPadBytes = 16;  ///< behind each row, so that rows fall into different banks
constexpr std::uint64_t kMostSharedBytes = 40960;
constexpr int kTensorCores = 80;

/// What `mma` takes: a row per dtype.
struct FragmentRow {
  DType dtype;
  llvm::Intrinsic::ID product;
  int places;         ///< along k
  int in_word;        ///< elements of a 32-bit word
  bool needs_permit;  ///< it rounds
};
constexpr FragmentRow kFragments[] = {
    {DType::float16, llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32, 16, 2, false},
    {DType::bfloat16, llvm::Intrinsic::nvvm_mma_m16n8k16_row_col_bf16, 16, 2, false},
    {DType::float32, llvm::Intrinsic::nvvm_mma_m16n8k8_row_col_tf32, 8, 1, true},
};

auto fragments_of(DType dtype) -> const FragmentRow* {
  for (const auto& row : kFragments)
    if (row.dtype == dtype) return &row;
  return nullptr;
}

}  // namespace

auto GpuKernelEmitter::is_left_to_products(const TileStatement& one) -> bool {
  if (std::holds_alternative<TileDot>(one.what)) return false;
  const auto over_k = [&](const std::vector<TileId>& ids) {
    return std::ranges::any_of(ids, [&](TileId id) { return (axes(id) & dots_->k) != 0; });
  };
  if (over_k(one.results) && one.regions.empty()) return true;
  if (!over_k(one.results) && !over_k(one.operands)) return false;
  fail(fmt::format("line {}: values along a summed axis are wanted outside of its product",
                   one.line));
  return true;
}

auto GpuKernelEmitter::operand_slice(TileId id, std::vector<const TileStatement*>& slice) -> bool {
  if (id == kNoTile || axes(id) == 0) return true;
  const auto* one = steps_.maker(id);
  if (one == nullptr) return false;  // carried by a loop
  if (std::ranges::find(slice, one) != slice.end()) return true;
  const auto* load = std::get_if<TileLoad>(&one->what);
  if (load == nullptr && !std::holds_alternative<TileLane>(one->what) &&
      !std::holds_alternative<TileCompute>(one->what))
    return false;
  if (load != nullptr)
    for (const auto* access : steps_.accesses()) {
      const auto* store = std::get_if<TileStore>(&access->what);
      const auto* atomic = std::get_if<TileAtomic>(&access->what);
      if ((store != nullptr && store->param == load->param) ||
          (atomic != nullptr && atomic->param == load->param))
        return false;
    }
  for (const auto operand : one->operands)
    if (!operand_slice(operand, slice)) return false;
  slice.push_back(one);
  return true;
}

auto GpuKernelEmitter::shared_operand(TileId id, std::size_t row, std::size_t k)
    -> std::optional<SharedOperand> {
  std::vector<const TileStatement*> slice;
  if (!operand_slice(id, slice)) {
    fail("an operand of a block product that is neither loaded nor calculated beside it");
    return std::nullopt;
  }
  auto fastest = k;
  for (const auto* one : slice)
    if (std::holds_alternative<TileLoad>(one->what) && steps_.step(one->operands[0], row) == 1 &&
        steps_.step(one->operands[0], k) != 1)
      fastest = row;
  const auto size = static_cast<int>(size_bytes(dtype(id)));
  const auto rows = std::int64_t{1} << layout_->axes[row].bits;
  const auto length = std::int64_t{1} << layout_->axes[k].apart;
  const auto layout = operand_layout(*layout_, row, k, rows, length, fastest, size);
  if (!layout) {
    fail(layout.error().message);
    return std::nullopt;
  }
  SharedOperand made{.dtype = dtype(id), .stride = length + kPadBytes / size, .length = length};
  auto* type = code_.memory_type(made.dtype);
  auto* room = llvm::ArrayType::get(type, static_cast<std::uint64_t>(rows * made.stride));
  operand_bytes_ += static_cast<std::uint64_t>(rows * made.stride * size);
  if (operand_bytes_ > kMostSharedBytes) {
    fail(fmt::format("block products with {} bytes of operands", operand_bytes_));
    return std::nullopt;
  }
  made.room = new llvm::GlobalVariable(module_, room, false, llvm::GlobalValue::InternalLinkage,
                                       llvm::UndefValue::get(room), "operand", nullptr,
                                       llvm::GlobalValue::NotThreadLocal, kShared);
  made.room->setAlignment(llvm::Align(16));
  const auto* const outer_layout = std::exchange(layout_, &*layout);
  const auto outer_values = values_;
  makes_operand_ = true;
  for (const auto* one : slice)
    if (error_.empty()) emit(*one);
  if (error_.empty())
    for (int i = 0; i < layout_->registers(); ++i) {
      auto* down =
          b_.CreateMul(coordinate(row, i), b_.getInt32(static_cast<std::uint32_t>(made.stride)));
      auto* place = b_.CreateGEP(type, made.room, b_.CreateAdd(down, coordinate(k, i)));
      b_.CreateAlignedStore(code_.to_memory(lane(id, i), made.dtype), place,
                            llvm::Align(static_cast<std::uint64_t>(size)));
    }
  makes_operand_ = false;
  layout_ = outer_layout;
  values_ = outer_values;
  return made;
}

auto GpuKernelEmitter::operand_word(const SharedOperand& of, Value* row, Value* at, unsigned bits)
    -> Value* {
  auto* down = b_.CreateMul(row, b_.getInt32(static_cast<std::uint32_t>(of.stride)));
  auto* place = b_.CreateGEP(code_.memory_type(of.dtype), of.room, b_.CreateAdd(down, at));
  auto* type = bits == 0 ? code_.memory_type(of.dtype) : b_.getIntNTy(bits);
  return b_.CreateAlignedLoad(type, place, llvm::Align(type->getPrimitiveSizeInBits() / 8));
}

/// Each lane for itself.
auto GpuKernelEmitter::summed_in_order(const TileStatement& one, const SharedOperand& a,
                                       const SharedOperand& b) -> Values {
  const auto of = dtype(one.results[0]);
  auto* type = code_.lane_type(of);
  const auto rows = AxisSet{1} << dots_->m, columns = AxisSet{1} << dots_->n;
  const auto entering = per_lane(rows | columns, [&](int i) -> Value* {
    return one.operands[2] == kNoTile ? llvm::Constant::getNullValue(type)
                                      : lane(one.operands[2], i);
  });
  auto* before = b_.GetInsertBlock();
  auto* inside = BasicBlock::Create(module_.getContext(), "products", function_);
  auto* after = BasicBlock::Create(module_.getContext(), "summed", function_);
  b_.CreateBr(inside);
  b_.SetInsertPoint(inside);
  auto* k = b_.CreatePHI(b_.getInt32Ty(), 2);
  k->addIncoming(b_.getInt32(0), before);
  std::vector<llvm::PHINode*> sums;
  for (auto* value : entering) {
    sums.push_back(b_.CreatePHI(type, 2));
    sums.back()->addIncoming(value, before);
  }
  const auto factor = [&](const SharedOperand& operand, std::size_t axis, int i) -> Value* {
    auto* word = operand_word(operand, coordinate(axis, i), k, 0);
    auto* value = code_.from_memory(word, operand.dtype);
    return code_.compute(TileOp::cast, {value}, operand.dtype, of);
  };
  const auto left = per_lane(rows, [&](int i) { return factor(a, dots_->m, i); });
  const auto right = per_lane(columns, [&](int i) { return factor(b, dots_->n, i); });
  const auto at = [](const Values& all, std::size_t i) {
    return all.size() == 1 ? all[0] : all[i];
  };
  Values sum;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    auto *x = at(left, i), *y = at(right, i);
    sum.push_back(is_floating(of)
                      ? b_.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {x, y, sums[i]})
                      : b_.CreateAdd(b_.CreateMul(x, y), sums[i]));
  }
  auto* end = b_.GetInsertBlock();
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i]->addIncoming(sum[i], end);
  auto* next = b_.CreateAdd(k, b_.getInt32(1));
  k->addIncoming(next, end);
  b_.CreateCondBr(b_.CreateICmpULT(next, b_.getInt32(static_cast<std::uint32_t>(a.length))), inside,
                  after);
  b_.SetInsertPoint(after);
  return sum;
}

/// Of a warp's thread t: rows t / 4 and 8 more, columns t / 4 of b, places t mod 4 along k.
auto GpuKernelEmitter::summed_by_fragments(const TileStatement& one, const SharedOperand& a,
                                           const SharedOperand& b) -> Values {
  constexpr int kColumn = 1, kRow = 2, kTile = 4;  // of a register's number: bits, and beyond
  const auto& row = *fragments_of(a.dtype);
  auto* f32 = b_.getFloatTy();
  auto* pair = llvm::FixedVectorType::get(b_.getHalfTy(), 2);
  Values sums;
  for (int i = 0; i < layout_->registers(); ++i)
    sums.push_back(one.operands[2] == kNoTile ? llvm::ConstantFP::get(f32, 0)
                                              : lane(one.operands[2], i));
  const auto number = [&](std::int64_t value) {
    return b_.getInt32(static_cast<std::uint32_t>(value));
  };
  auto* quad = b_.CreateMul(b_.CreateAnd(thread_, 3), number(row.in_word));
  auto* eighth = b_.CreateAnd(b_.CreateLShr(thread_, 2), 7);
  const auto fragment = [&](const SharedOperand& operand, Value* line, std::int64_t place) {
    Value* word = operand_word(operand, line, b_.CreateAdd(quad, number(place)), 32);
    if (operand.dtype == DType::float32)
      word =
          b_.CreateIntrinsic(llvm::Intrinsic::nvvm_f2tf32_rna, {}, {b_.CreateBitCast(word, f32)});
    return operand.dtype == DType::float16 ? b_.CreateBitCast(word, pair) : word;
  };
  const auto rows = static_cast<int>(layout_->register_mask(AxisSet{1} << dots_->m));
  const auto columns = static_cast<int>(layout_->register_mask(AxisSet{1} << dots_->n));
  const auto half = row.places / 2;
  for (std::int64_t k = 0; k < a.length; k += row.places) {
    std::map<int, std::array<Value*, 4>> left;
    std::map<int, std::array<Value*, 2>> right;
    for (int i = 0; i < layout_->registers(); i += kTile) {
      if (const int tile = i & rows; !left.contains(tile)) {
        auto *upper = coordinate(dots_->m, tile), *lower = coordinate(dots_->m, tile | kRow);
        left[tile] = {fragment(a, upper, k), fragment(a, lower, k), fragment(a, upper, k + half),
                      fragment(a, lower, k + half)};
      }
      if (const int tile = i & columns; !right.contains(tile)) {
        auto* first = b_.CreateAnd(coordinate(dots_->n, tile), 0xFFFFFFF8U);
        auto* line = b_.CreateOr(first, eighth);
        right[tile] = {fragment(b, line, k), fragment(b, line, k + half)};
      }
      const std::array at = {i, i | kColumn, i | kRow, i | kRow | kColumn};
      const auto& x = left.at(i & rows);
      const auto& y = right.at(i & columns);
      Values operands(x.begin(), x.end());
      operands.insert(operands.end(), y.begin(), y.end());
      for (const int index : at) operands.push_back(sums[static_cast<std::size_t>(index)]);
      auto* made = b_.CreateIntrinsic(row.product, {}, operands);
      for (unsigned j = 0; j < at.size(); ++j)
        sums[static_cast<std::size_t>(at[j])] = b_.CreateExtractValue(made, j);
    }
  }
  return sums;
}

void GpuKernelEmitter::statement(const TileStatement& one, const TileDot& what) {
  if (is_single_lane_) return fail("a block product of single lanes");
  barrier();  // nobody reads what an earlier round left
  const auto a = shared_operand(one.operands[0], dots_->m, what.axis);
  if (!a) return;
  const auto b = shared_operand(one.operands[1], dots_->n, what.axis);
  if (!b) return;
  barrier();
  const auto* fragments = fragments_of(a->dtype);
  const bool by_fragments = fragments != nullptr && architecture_ >= kTensorCores &&
                            (what.may_round || !fragments->needs_permit) && a->dtype == b->dtype &&
                            dtype(one.results[0]) == DType::float32 &&
                            has_fragments(*layout_, *dots_) && a->length % fragments->places == 0;
  set(one.results[0],
      by_fragments ? summed_by_fragments(one, *a, *b) : summed_in_order(one, *a, *b));
}

}  // namespace assay
