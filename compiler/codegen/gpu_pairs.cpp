// The largest or least of elements of two bytes, two at once (`max.NaN.bf16x2`): a register of the
// machine holds two of them from memory on, and no order changes the result.
#include "compiler/codegen/gpu_kernel.h"

namespace assay {
namespace {

constexpr int kPairs = 80;          ///< architectures from here on have them
constexpr std::size_t kFewest = 4;  ///< registers for which it pays

/// What an element was before it was cast to a wider type, as long as it has two bytes; or nothing.
auto halves_of(TileId id, const TileKernel& kernel, const AccessSteps& steps) -> TileId {
  if (is_half(kernel.type(id).dtype)) return id;
  const auto* maker = steps.maker(id);
  const auto* compute = maker == nullptr ? nullptr : std::get_if<TileCompute>(&maker->what);
  if (compute == nullptr || compute->op != TileOp::cast) return kNoTile;
  return is_half(kernel.type(maker->operands[0]).dtype) ? maker->operands[0] : kNoTile;
}

}  // namespace

/// Of registers, neighbours among them; null where they are not, or too few.
auto GpuKernelEmitter::extreme_of_pairs(llvm::Intrinsic::ID how, TileId id,
                                        std::vector<int> registers) -> Value* {
  const auto half = halves_of(id, kernel_, steps_);
  if (architecture_ < kPairs || half == kNoTile || registers.size() < kFewest) return nullptr;
  std::ranges::sort(registers);
  const auto of = dtype(half);
  auto* type = of == DType::bfloat16 ? b_.getBFloatTy() : b_.getHalfTy();
  const auto element = [&](int i) {
    return b_.CreateBitCast(code_.rounded_to_memory(lane(half, i), of), type);
  };
  Values pairs;
  for (std::size_t k = 0; k < registers.size(); k += 2) {
    const auto i = registers[k];
    if (i % 2 != 0 || k + 1 == registers.size() || registers[k + 1] != i + 1) return nullptr;
    Value* pair = llvm::PoisonValue::get(llvm::FixedVectorType::get(type, 2));
    pair = b_.CreateInsertElement(pair, element(i), std::uint64_t{0});
    pairs.push_back(b_.CreateInsertElement(pair, element(i + 1), std::uint64_t{1}));
  }
  auto* both = extreme(how, std::move(pairs));
  Values ends;
  for (const std::uint64_t at : {0U, 1U}) {
    auto* bits = b_.CreateBitCast(b_.CreateExtractElement(both, at), code_.memory_type(of));
    ends.push_back(code_.from_memory(bits, of));
  }
  return extreme(how, std::move(ends));
}

/// Over the axes of this reduction and of those whose results it takes: they need not be made.
auto GpuKernelEmitter::folded_by_pairs(const TileStatement& one, const TileReduce& what) -> bool {
  const auto how = what.combine;
  const bool is_extreme = how == TileCombine::max || how == TileCombine::min;
  if (!is_extreme || !layout_->is_placed() || is_single_lane_) return false;
  auto of = one.operands[0];
  auto over = AxisSet{1} << what.axis;
  const auto is_alike = [&](const TileStatement* maker) {
    const auto* reduce = maker == nullptr ? nullptr : std::get_if<TileReduce>(&maker->what);
    if (reduce == nullptr || reduce->combine != how) return false;
    over |= AxisSet{1} << reduce->axis;
    return layout_->place(reduce->axis) == TilePlace::bits;
  };
  for (const auto* maker = steps_.maker(of); is_alike(maker); maker = steps_.maker(of))
    of = maker->operands[0];
  if (halves_of(of, kernel_, steps_) == kNoTile) return false;
  const auto folded = static_cast<int>(layout_->register_mask(over & axes(of)));
  const auto id = one.results[0];
  bool has_all = true;
  auto made = per_lane(axes(id), [&](int i) {
    std::vector<int> members;
    for (int k = 0; k < layout_->registers(); ++k)
      if ((k & ~folded) == (i & ~folded)) members.push_back(k);
    auto* value = extreme_of_pairs(
        how == TileCombine::max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, of, members);
    has_all = has_all && value != nullptr;
    return value == nullptr ? lane(of, i) : code_.rounded(value, dtype(id));
  });
  if (has_all) set(id, std::move(made));
  return has_all;
}

}  // namespace assay
