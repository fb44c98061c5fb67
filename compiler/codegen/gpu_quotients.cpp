// What is cheaper for many lanes than for one, or for what is known of it: quotients by the same
// divisor, exponentials of what is not above 0.
#include <algorithm>
#include <map>
#include <numbers>

#include <llvm/IR/IntrinsicsNVPTX.h>

#include "compiler/codegen/gpu_kernel.h"
#include "compiler/codegen/lane_math.h"

namespace assay {
namespace {

constexpr std::size_t kFew = 4;  ///< of so many lanes each goes its own way as well
constexpr std::uint32_t kBias = 127, kMantissa = 23, kLeast = kBias - 60;

}  // namespace

/// By halves, so that no lane waits for many others.
auto GpuKernelEmitter::extreme(llvm::Intrinsic::ID how, Values all) -> Value* {
  for (std::size_t apart = 1; apart < all.size(); apart *= 2)
    for (std::size_t i = 0; i + apart < all.size(); i += 2 * apart)
      all[i] = b_.CreateBinaryIntrinsic(how, all[i], all[i + apart]);
  return all[0];
}

/// Truth where all numbers are 0 or lie between 2^-60 and 2^60.
auto GpuKernelEmitter::are_moderate(const Values& numbers) -> Value* {
  auto* i32 = b_.getInt32Ty();
  Values least, most;
  for (auto* x : numbers) {
    most.push_back(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x));
    // Without the sign; zeros are the largest of numbers that begin at 1.
    auto* size = b_.CreateShl(b_.CreateBitCast(x, i32), 1);
    least.push_back(b_.CreateSub(size, b_.getInt32(1)));
  }
  auto* smallest = extreme(llvm::Intrinsic::umin, least);
  auto* largest = extreme(llvm::Intrinsic::maximum, most);
  return b_.CreateAnd(b_.CreateICmpUGE(smallest, b_.getInt32((kLeast << (kMantissa + 1)) - 1)),
                      b_.CreateFCmpOLT(largest, llvm::ConstantFP::get(b_.getFloatTy(), 0x1p60)));
}

/// Markstein's: with r = 1/b rounded, q = a*r, then q + (a - q*b)*r is a/b rounded, if nothing on
/// the way leaves the normal range. Where something may (a zero is fine), each lane divides. Of
/// dividends that have errors of their own (`moderate` is null) q is as good.
auto GpuKernelEmitter::quotients(const Values& dividends, Value* divisor, Value* moderate)
    -> Values {
  constexpr std::uint32_t kLeastDivisor = kBias - 30, kMostDivisor = kBias + 60;
  auto* f32 = b_.getFloatTy();
  auto* size = b_.CreateShl(b_.CreateBitCast(divisor, b_.getInt32Ty()), 1);
  auto* above = b_.CreateSub(size, b_.getInt32(kLeastDivisor << (kMantissa + 1)));
  auto* may =
      b_.CreateICmpULT(above, b_.getInt32((kMostDivisor - kLeastDivisor) << (kMantissa + 1)));
  if (moderate != nullptr) may = b_.CreateAnd(may, moderate);
  const auto fma = [&](Value* x, Value* y, Value* z) {
    return b_.CreateIntrinsic(llvm::Intrinsic::fma, {f32}, {x, y, z});
  };
  const auto multiplied = [&] {
    auto* reciprocal = b_.CreateFDiv(llvm::ConstantFP::get(f32, 1.0), divisor);
    auto* negative = b_.CreateFNeg(divisor);
    Values made;
    for (auto* x : dividends) {
      auto* quotient = b_.CreateFMul(x, reciprocal);
      made.push_back(moderate == nullptr
                         ? quotient
                         : fma(fma(quotient, negative, x), reciprocal, quotient));
    }
    return made;
  };
  const auto divided = [&] {
    Values made;
    for (auto* x : dividends) made.push_back(b_.CreateFDiv(x, divisor));
    return made;
  };
  return either(may, multiplied, divided);
}

auto GpuKernelEmitter::shared_quotients(const TileStatement& one) -> bool {
  const auto id = one.results[0];
  const auto dividend = one.operands[0], divisor = one.operands[1];
  if (!code_.lane_type(dtype(dividend))->isFloatTy() || !varies(axes(dividend))) return false;
  // Lanes of a row, by where its divisor stands.
  const auto rows = layout_->register_mask(axes(divisor));
  const auto lanes_of = layout_->register_mask(axes(dividend) | axes(divisor));
  std::map<unsigned, std::vector<std::size_t>> groups;
  for (unsigned i = 0; i < static_cast<unsigned>(layout_->registers()); ++i)
    if ((i & ~lanes_of) == 0 && is_active(static_cast<int>(i))) groups[i & rows].push_back(i);
  if (groups.begin()->second.size() < kFew) return false;
  Values made(static_cast<std::size_t>(layout_->registers()));
  for (const auto& [row, members] : groups) {
    Values dividends;
    for (const auto i : members) dividends.push_back(lane(dividend, static_cast<int>(i)));
    const auto known = moderate_.find(dividend);
    auto* moderate = approximate_.contains(dividend) ? nullptr
                     : known == moderate_.end()      ? are_moderate(dividends)
                                                     : known->second;
    const auto all = quotients(dividends, lane(divisor, static_cast<int>(row)), moderate);
    for (std::size_t k = 0; k < members.size(); ++k)
      made[members[k]] = code_.rounded(all[k], dtype(id));
  }
  for (std::size_t i = 0; i < made.size(); ++i)
    if (made[i] == nullptr) made[i] = made[i & lanes_of];
  set(id, std::move(made));
  return true;
}

/// Whether a value is some lanes less the largest of them all.
auto GpuKernelEmitter::is_below_zero(TileId id) const -> bool {
  const auto* difference = steps_.maker(id);
  const auto is = [](const TileStatement* one, TileOp op) {
    const auto* compute = one == nullptr ? nullptr : std::get_if<TileCompute>(&one->what);
    return compute != nullptr && compute->op == op;
  };
  if (!is(difference, TileOp::sub)) return false;
  auto of = difference->operands[1];
  bool is_largest = false;
  for (const auto* one = steps_.maker(of); one != nullptr; one = steps_.maker(of)) {
    const auto* reduce = std::get_if<TileReduce>(&one->what);
    if (reduce == nullptr || reduce->combine != TileCombine::max || one->operands.size() != 1)
      break;
    is_largest = true;
    of = one->operands[0];
  }
  return is_largest && of == difference->operands[0];
}

/// Which lanes of a value are meant, where others are infinitely small; null: unknown.
auto GpuKernelEmitter::meant_lanes(TileId id) -> TileId {
  const auto is_lowest = [&](TileId other) {
    const auto* number =
        other == kNoTile ? nullptr : llvm::dyn_cast<llvm::ConstantFP>(lane(other, 0));
    return number != nullptr && number->isNegative() && number->isInfinity();
  };
  const auto* one = steps_.maker(id);
  if (one == nullptr) return kNoTile;
  if (std::holds_alternative<TileLoad>(one->what))
    return is_lowest(one->operands[2]) ? one->operands[1] : kNoTile;
  const auto* compute = std::get_if<TileCompute>(&one->what);
  if (compute == nullptr) return kNoTile;
  if (compute->op == TileOp::cast) return meant_lanes(one->operands[0]);
  return compute->op == TileOp::select && is_lowest(one->operands[2]) ? one->operands[0] : kNoTile;
}

/// Registers in bundles, and of each whether all are meant: neighbours that are so together, or
/// single ones of which the ends say it. Nothing is known of any where that cannot be asked.
auto GpuKernelEmitter::in_bundles(TileId mask, std::vector<int> registers) -> std::vector<Bundle> {
  const auto run = 1 << layout_->contiguous_bits;
  const bool are_single = run == 1;
  std::ranges::sort(registers);
  std::vector<Bundle> all;
  for (const auto i : registers) {
    const auto has_room = [&](const Bundle& some) {
      return are_single ? std::ssize(some.registers) < kGroup : (some.registers[0] ^ i) < run;
    };
    if (all.empty() || !has_room(all.back())) all.emplace_back();
    all.back().registers.push_back(i);
  }
  bool are_known = mask != kNoTile && (!are_single || (layout_->is_placed() && !is_checked_));
  for (auto& some : all) {
    if (!are_known) break;
    const auto together = are_single ? Meant() : meant(mask, some.registers[0] & ~(run - 1), run);
    some.is_whole = !are_single;
    some.all = are_single ? all_meant(mask, some.registers) : together.any;
    are_known = together.is_whole && some.all != nullptr;
  }
  for (auto& some : all)
    if (!are_known) some.all = nullptr;
  return all;
}

/// Of all bundles together, by their ends or each; null where that is unknown.
auto GpuKernelEmitter::are_all_meant(TileId mask, const std::vector<Bundle>& bundles,
                                     const std::vector<int>& registers) -> Value* {
  if (bundles[0].all == nullptr) return nullptr;
  if (auto* by_ends = all_meant(mask, registers); by_ends != nullptr) return by_ends;
  Value* all = b_.getTrue();
  for (const auto& some : bundles) all = b_.CreateAnd(all, some.all);
  return all;
}

/// Of values by register of a bundle, `none` in place of those that are not meant.
auto GpuKernelEmitter::without_others(const Bundle& some, TileId mask, Values values, Value* none)
    -> Values {
  for (std::size_t k = 0; k < values.size(); ++k) {
    auto* condition = some.is_whole ? some.all : lane(mask, some.registers[k]);
    values[k] = b_.CreateSelect(condition, values[k], none);
  }
  return values;
}

/// Where no lane is far below 0, which is asked once, none needs bounds, nor do quotients later.
/// Lanes that are not meant are 0, which a warp asks for where it has any. Where all
/// that is stored has two bytes the GPU's own is enough: its error is far below theirs.
auto GpuKernelEmitter::small_exponentials(const TileStatement& one) -> bool {
  const auto id = one.results[0], of = one.operands[0];
  if (!code_.lane_type(dtype(of))->isFloatTy() || !is_below_zero(of)) return false;
  if (stores_halves()) {
    approximate_.insert(id);
    set(id, per_lane(axes(id), [&](int i) {
          auto* power = b_.CreateFMul(lane(of, i), code_.constant(dtype(of), std::numbers::log2e));
          return code_.rounded(
              b_.CreateIntrinsic(llvm::Intrinsic::nvvm_ex2_approx_ftz_f, {}, {power}), dtype(id));
        }));
    return true;
  }
  const auto registers = distinct(axes(id));
  const auto powers = [&](auto* power) {
    Values made;
    for (const auto i : registers) made.push_back(code_.rounded(power(b_, lane(of, i)), dtype(id)));
    return made;
  };
  const auto made = registers.size() < kFew ? powers(emit_exp_below_one)
                                            : many_exponentials(one, registers, powers);
  std::map<int, Value*> by_register;
  for (std::size_t k = 0; k < registers.size(); ++k) by_register[registers[k]] = made[k];
  set(id, per_lane(axes(id), [&](int i) { return by_register.at(i); }));
  return true;
}

/// The least of the lanes that are meant; `largest` where none is.
auto GpuKernelEmitter::least_meant(TileId of, TileId mask, const std::vector<Bundle>& bundles,
                                   Value* largest, Value* all_are_meant) -> Value* {
  constexpr auto kLeast = llvm::Intrinsic::minimum;
  const auto lanes_of = [&](const std::vector<int>& registers) {
    Values lanes;
    for (const auto i : registers) lanes.push_back(lane(of, i));
    return lanes;
  };
  const auto lowest = [&](const std::vector<int>& registers) {
    auto* by_pairs = extreme_of_pairs(kLeast, of, registers);
    return Values{by_pairs != nullptr ? by_pairs : extreme(kLeast, lanes_of(registers))};
  };
  const auto all = [&] {
    std::vector<int> registers;
    for (const auto& some : bundles) std::ranges::copy(some.registers, std::back_inserter(registers));
    return lowest(registers);
  };
  const auto some_of_each = [&] {
    Values least;
    for (const auto& some : bundles) {
      const auto others = [&] {
        return Values{extreme(kLeast, without_others(some, mask, lanes_of(some.registers), largest))};
      };
      const auto mine = [&] { return lowest(some.registers); };
      least.push_back(some.is_whole ? b_.CreateSelect(some.all, mine()[0], largest)
                                    : either(some.all, mine, others)[0]);
    }
    return Values{extreme(kLeast, least)};
  };
  return all_are_meant == nullptr ? all()[0] : either(all_are_meant, all, some_of_each)[0];
}

auto GpuKernelEmitter::many_exponentials(const TileStatement& one,
                                         const std::vector<int>& registers,
                                         const std::function<Values(Power*)>& powers) -> Values {
  constexpr double kFar = -41;  // e^-41 is above 2^-60
  constexpr std::uint32_t kWarp = 0xffffffff;
  const auto& difference = *steps_.maker(one.operands[0]);
  const auto mask = meant_lanes(difference.operands[0]);
  const auto bundles = in_bundles(mask, registers);
  auto* none = llvm::ConstantFP::get(b_.getFloatTy(), 0.0);
  auto* all_are_meant = are_all_meant(mask, bundles, registers);
  // Where all lanes are less the same number the least is so before it is taken away.
  const bool is_shared = !varies(axes(difference.operands[1]));
  auto* largest = is_shared ? lane(difference.operands[1], 0) : none;
  auto* least = least_meant(is_shared ? difference.operands[0] : one.operands[0], mask, bundles,
                            largest, all_are_meant);
  if (all_are_meant != nullptr)
    all_are_meant = b_.CreateIntrinsic(llvm::Intrinsic::nvvm_vote_all_sync, {},
                                       {b_.getInt32(kWarp), all_are_meant});
  auto* are_near = b_.CreateFCmpOGE(b_.CreateFSub(least, largest),
                                    llvm::ConstantFP::get(none->getType(), kFar));
  const auto near = [&] {
    auto values = powers(emit_exp_of_number);
    const auto masked = [&] {
      std::map<int, Value*> made;
      for (std::size_t k = 0; k < values.size(); ++k) made[registers[k]] = values[k];
      for (const auto& some : bundles) {
        Values lanes;
        for (const auto i : some.registers) lanes.push_back(made.at(i));
        const auto others = [&] { return without_others(some, mask, lanes, none); };
        lanes = some.is_whole ? others() : either(some.all, [&] { return lanes; }, others);
        for (std::size_t k = 0; k < lanes.size(); ++k) made[some.registers[k]] = lanes[k];
      }
      Values all;
      for (const auto i : registers) all.push_back(made.at(i));
      return all;
    };
    if (all_are_meant != nullptr) values = either(all_are_meant, [&] { return values; }, masked);
    values.push_back(b_.getTrue());
    return values;
  };
  const auto any = [&] {
    auto values = powers(emit_exp_below_one);
    values.push_back(are_moderate(values));
    return values;
  };
  auto made = either(are_near, near, any);
  moderate_[one.results[0]] = made.back();
  made.pop_back();
  return made;
}

}  // namespace assay
