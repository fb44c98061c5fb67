// Exponentials of what is not above 0, being some lanes less the largest of them. Where all that is
// stored has two bytes the GPU's own is enough: its error is far below theirs. Else they are the
// CPU's: where no lane is far below 0, which is asked once, none needs bounds, nor do quotients
// later; lanes that are not meant are 0, which a warp asks for where it has any.
#include <algorithm>
#include <map>
#include <numbers>

#include <llvm/IR/IntrinsicsNVPTX.h>

#include "compiler/codegen/gpu_kernel.h"
#include "compiler/codegen/lane_math.h"

namespace assay {
namespace {

constexpr std::size_t kFew = 4;  ///< of so many lanes each goes its own way as well
constexpr auto kLeast = llvm::Intrinsic::minimum;

auto computes(const TileStatement* one, TileOp op) -> bool {
  const auto* compute = one == nullptr ? nullptr : std::get_if<TileCompute>(&one->what);
  return compute != nullptr && compute->op == op;
}

}  // namespace

/// Of one statement.
class GpuExponentials {
 public:
  using Value = llvm::Value;
  using Values = std::vector<Value*>;
  using Registers = GpuValues::Registers;

  GpuExponentials(GpuKernelEmitter& emitter, const TileStatement& one)
      : e_(emitter),
        one_(one),
        difference_(emitter.steps_.maker(one.operands[0])),
        registers_(emitter.distinct(emitter.axes(one.results[0]))) {}

  [[nodiscard]] auto are_below_zero() const -> bool {
    const auto of = one_.operands[0];
    return e_.code_.lane_type(e_.dtype(of))->isFloatTy() && computes(difference_, TileOp::sub) &&
           is_largest(difference_->operands[1], difference_->operands[0]);
  }
  void emit() {
    std::map<int, Value*> made;
    const auto all = values();
    for (std::size_t k = 0; k < registers_.size(); ++k) made[registers_[k]] = all[k];
    const auto id = one_.results[0];
    e_.set(id, e_.per_lane(e_.axes(id), [&](int i) { return made.at(i); }));
  }

 private:
  using Bundle = GpuValues::Bundle;

  /// Whether a value is the largest of another one's lanes.
  [[nodiscard]] auto is_largest(TileId id, TileId of) const -> bool {
    bool is_reduced = false;
    for (const auto* one = e_.steps_.maker(id); one != nullptr; one = e_.steps_.maker(id)) {
      const auto* reduce = std::get_if<TileReduce>(&one->what);
      if (reduce == nullptr || reduce->combine != TileCombine::max || one->operands.size() != 1)
        break;
      is_reduced = true;
      id = one->operands[0];
    }
    return is_reduced && id == of;
  }

  auto values() -> Values {
    if (e_.steps_.stores_halves()) {
      e_.approximate_.insert(one_.results[0]);
      return powers([](llvm::IRBuilder<>& b, Value* x) -> Value* {
        auto* power = b.CreateFMul(x, llvm::ConstantFP::get(x->getType(), std::numbers::log2e));
        return b.CreateIntrinsic(llvm::Intrinsic::nvvm_ex2_approx_ftz_f, {}, {power});
      });
    }
    return registers_.size() < kFew ? powers(emit_exp_below_one) : many();
  }
  auto powers(const std::function<GpuValues::Power>& power) -> Values {
    Values made;
    for (auto* x : lanes(one_.operands[0], registers_))
      made.push_back(e_.code_.rounded(power(e_.b_, x), e_.dtype(one_.results[0])));
    return made;
  }
  auto lanes(TileId of, const Registers& registers) -> Values {
    Values all;
    for (const auto i : registers) all.push_back(e_.lane(of, i));
    return all;
  }

  /// Which lanes of a value are meant, where others are infinitely small; none: unknown.
  auto meant_lanes(TileId id) -> TileId {
    const auto is_lowest = [&](TileId other) {
      const auto* number =
          other == kNoTile ? nullptr : llvm::dyn_cast<llvm::ConstantFP>(e_.lane(other, 0));
      return number != nullptr && number->isNegative() && number->isInfinity();
    };
    const auto* one = e_.steps_.maker(id);
    if (one == nullptr) return kNoTile;
    if (std::holds_alternative<TileLoad>(one->what))
      return is_lowest(one->operands[2]) ? one->operands[1] : kNoTile;
    if (computes(one, TileOp::cast)) return meant_lanes(one->operands[0]);
    const bool chooses = computes(one, TileOp::select) && is_lowest(one->operands[2]);
    return chooses ? one->operands[0] : kNoTile;
  }

  /// Registers in bundles, and of each whether all are meant: neighbours that are so together, or
  /// single ones of which the ends say it. Nothing is known of any where that cannot be asked.
  auto bundles() -> std::vector<Bundle> {
    const auto run = 1 << e_.layout_->contiguous_bits;
    const bool are_single = run == 1;
    auto sorted = registers_;
    std::ranges::sort(sorted);
    std::vector<Bundle> all;
    for (const auto i : sorted) {
      const auto has_room = [&](const Bundle& some) {
        return are_single ? std::ssize(some.registers) < GpuValues::kGroup
                          : (some.registers[0] ^ i) < run;
      };
      if (all.empty() || !has_room(all.back())) all.emplace_back();
      all.back().registers.push_back(i);
    }
    bool are_known =
        mask_ != kNoTile && (!are_single || (e_.layout_->is_placed() && !e_.is_checked_));
    for (auto& some : all) {
      if (!are_known) break;
      const auto together =
          are_single ? GpuValues::Meant() : e_.meant(mask_, some.registers[0] & ~(run - 1), run);
      some.is_whole = !are_single;
      some.all = are_single ? e_.all_meant(mask_, some.registers) : together.any;
      are_known = together.is_whole && some.all != nullptr;
    }
    for (auto& some : all)
      if (!are_known) some.all = nullptr;
    return all;
  }
  /// Of all bundles together, by their ends or each; null where that is unknown.
  auto are_all_meant() -> Value* {
    if (bundles_[0].all == nullptr) return nullptr;
    if (auto* by_ends = e_.all_meant(mask_, registers_); by_ends != nullptr) return by_ends;
    Value* all = e_.b_.getTrue();
    for (const auto& some : bundles_) all = e_.b_.CreateAnd(all, some.all);
    return all;
  }
  /// Of values by register of a bundle, `none` in place of those that are not meant.
  auto without_others(const Bundle& some, Values values, Value* none) -> Values {
    for (std::size_t k = 0; k < values.size(); ++k) {
      auto* condition = some.is_whole ? some.all : e_.lane(mask_, some.registers[k]);
      values[k] = e_.b_.CreateSelect(condition, values[k], none);
    }
    return values;
  }

  /// The least of the lanes that are meant; `largest` where none is.
  auto least_meant(TileId of, Value* largest) -> Value* {
    const auto lowest = [&](const Registers& registers) {
      auto* by_pairs = e_.extreme_of_pairs(kLeast, of, registers);
      return Values{by_pairs != nullptr ? by_pairs : e_.extreme(kLeast, lanes(of, registers))};
    };
    const auto all = [&] { return lowest(registers_); };
    const auto some_of_each = [&] {
      Values least;
      for (const auto& some : bundles_) {
        const auto mine = [&] { return lowest(some.registers); };
        const auto others = [&] {
          return Values{
              e_.extreme(kLeast, without_others(some, lanes(of, some.registers), largest))};
        };
        least.push_back(some.is_whole ? e_.b_.CreateSelect(some.all, mine()[0], largest)
                                      : e_.either(some.all, mine, others)[0]);
      }
      return Values{e_.extreme(kLeast, least)};
    };
    return all_are_meant_ == nullptr ? all()[0] : e_.either(all_are_meant_, all, some_of_each)[0];
  }
  /// Of values by register, 0 in place of those that are not meant.
  auto without_any_others(const Values& values) -> Values {
    std::map<int, Value*> made;
    for (std::size_t k = 0; k < values.size(); ++k) made[registers_[k]] = values[k];
    auto* none = llvm::ConstantFP::get(e_.b_.getFloatTy(), 0.0);
    for (const auto& some : bundles_) {
      Values mine;
      for (const auto i : some.registers) mine.push_back(made.at(i));
      const auto others = [&] { return without_others(some, mine, none); };
      mine = some.is_whole ? others() : e_.either(some.all, [&] { return mine; }, others);
      for (std::size_t k = 0; k < mine.size(); ++k) made[some.registers[k]] = mine[k];
    }
    Values all;
    for (const auto i : registers_) all.push_back(made.at(i));
    return all;
  }

  auto many() -> Values {
    constexpr double kFar = -41;  // e^-41 is above 2^-60
    auto& b = e_.b_;
    mask_ = meant_lanes(difference_->operands[0]);
    bundles_ = bundles();
    all_are_meant_ = are_all_meant();
    // Where all lanes are less the same number the least is so before it is taken away.
    const bool is_shared = !e_.varies(e_.axes(difference_->operands[1]));
    auto* largest = is_shared ? e_.lane(difference_->operands[1], 0)
                              : llvm::ConstantFP::get(b.getFloatTy(), 0.0);
    auto* least = least_meant(is_shared ? difference_->operands[0] : one_.operands[0], largest);
    // Each thread for itself: a vote of the warp before would be uniform, but the driver's
    // assembler (580, linking) asks for it again in here, where threads have parted and the answer
    // is anything.
    const auto near = [&] {
      auto values = powers(emit_exp_of_number);
      if (all_are_meant_ != nullptr)
        values = e_.either(
            all_are_meant_, [&] { return values; }, [&] { return without_any_others(values); });
      values.push_back(b.getTrue());
      return values;
    };
    const auto any = [&] {
      auto values = powers(emit_exp_below_one);
      values.push_back(e_.are_moderate(values));
      return values;
    };
    auto* are_near =
        b.CreateFCmpOGE(b.CreateFSub(least, largest), llvm::ConstantFP::get(b.getFloatTy(), kFar));
    auto made = e_.either(are_near, near, any);
    e_.moderate_[one_.results[0]] = made.back();
    made.pop_back();
    return made;
  }

  GpuKernelEmitter& e_;
  const TileStatement& one_;
  const TileStatement* difference_;
  Registers registers_;
  TileId mask_ = kNoTile;
  std::vector<Bundle> bundles_;
  Value* all_are_meant_ = nullptr;  ///< in this thread
};

auto GpuKernelEmitter::small_exponentials(const TileStatement& one) -> bool {
  GpuExponentials of(*this, one);
  if (!of.are_below_zero()) return false;
  of.emit();
  return true;
}

}  // namespace assay
