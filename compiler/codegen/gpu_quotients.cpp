// What is cheaper for many lanes than for one: quotients by the same divisor, functions of
// arguments that are all usual ones, which is asked once.
#include <algorithm>
#include <array>
#include <map>

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "compiler/codegen/gpu_kernel.h"
#include "compiler/codegen/lane_math.h"

namespace assay {
namespace {

constexpr std::size_t kFew = 4;  ///< of so many lanes each goes its own way as well
constexpr std::uint32_t kBias = 127, kMantissa = 23, kLeast = kBias - 60;

/// PTX's `div.full`: two units wrong at most, of any numbers, and no call as `div.rn` may be one.
auto near_quotient(llvm::IRBuilder<>& b, llvm::Value* dividend, llvm::Value* divisor)
    -> llvm::Value* {
  auto* f32 = b.getFloatTy();
  auto* type = llvm::FunctionType::get(f32, {f32, f32}, false);
  return b.CreateCall(llvm::InlineAsm::get(type, "div.full.f32 $0, $1, $2;", "=f,f,f", false),
                      {dividend, divisor});
}

}  // namespace

/// By halves, so that no lane waits for many others.
auto GpuState::extreme(llvm::Intrinsic::ID how, Values all) -> Value* {
  for (std::size_t apart = 1; apart < all.size(); apart *= 2)
    for (std::size_t i = 0; i + apart < all.size(); i += 2 * apart)
      all[i] = b_.CreateBinaryIntrinsic(how, all[i], all[i + apart]);
  return all[0];
}

/// Truth where all numbers are 0 or lie between 2^-60 and 2^60.
auto GpuState::are_moderate(const Values& numbers) -> Value* {
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

/// 1/x rounded, or what the GPU has for it: a unit wrong, and 0 of what is no normal number.
auto GpuState::reciprocal(Value* of, bool is_exact) -> Value* {
  if (const auto known = reciprocals_.find({of, is_exact}); known != reciprocals_.end())
    return known->second;
  if (is_exact) return b_.CreateFDiv(llvm::ConstantFP::get(of->getType(), 1.0), of);
  return b_.CreateIntrinsic(llvm::Intrinsic::nvvm_rcp_approx_ftz_f, {}, {of});
}

/// Markstein's: with r = 1/b rounded, q = a*r, then q + (a - q*b)*r is a/b rounded, if nothing on
/// the way leaves the normal range. Where something may (a zero is fine), each lane divides. Of
/// dividends that have errors of their own (`moderate` is null) q is as good, with any r.
auto GpuKernelEmitter::quotients(const Values& dividends, Value* divisor, Value* moderate)
    -> Values {
  constexpr std::uint32_t kLeastDivisor = kBias - 30, kMostDivisor = kBias + 60;
  const bool is_exact = moderate != nullptr;
  auto* f32 = b_.getFloatTy();
  auto* size = b_.CreateShl(b_.CreateBitCast(divisor, b_.getInt32Ty()), 1);
  auto* above = b_.CreateSub(size, b_.getInt32(kLeastDivisor << (kMantissa + 1)));
  auto* may =
      b_.CreateICmpULT(above, b_.getInt32((kMostDivisor - kLeastDivisor) << (kMantissa + 1)));
  if (is_exact) may = b_.CreateAnd(may, moderate);
  const auto fma = [&](Value* x, Value* y, Value* z) {
    return b_.CreateIntrinsic(llvm::Intrinsic::fma, {f32}, {x, y, z});
  };
  const auto multiplied = [&] {
    auto* inverse = reciprocal(divisor, is_exact);
    auto* negative = b_.CreateFNeg(divisor);
    Values made;
    for (auto* x : dividends) {
      auto* quotient = b_.CreateFMul(x, inverse);
      made.push_back(is_exact ? fma(fma(quotient, negative, x), inverse, quotient) : quotient);
    }
    return made;
  };
  const auto divided = [&] {
    Values made;
    for (auto* x : dividends)
      made.push_back(is_exact ? b_.CreateFDiv(x, divisor) : near_quotient(b_, x, divisor));
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

/// Where an argument of a thread is not usual its other lanes go the long way as well.
auto GpuKernelEmitter::usual_functions(const TileStatement& one, TileOp op) -> bool {
  const auto id = one.results[0];
  const auto usual = usual_arguments(op);
  if (!usual || !code_.lane_type(dtype(one.operands[0]))->isFloatTy()) return false;
  // All arguments are there at once, for which few registers may be too few.
  constexpr int kFewRegisters = 32;
  const auto loads = std::ranges::count_if(steps_.accesses(), [](const TileStatement* access) {
    return std::holds_alternative<TileLoad>(access->what);
  });
  if (most_registers_ > 0 && most_registers_ <= kFewRegisters && loads > 1) return false;
  const auto registers = distinct(axes(id));
  if (registers.size() < kFew) return false;
  Values arguments;
  for (const auto i : registers) arguments.push_back(lane(one.operands[0], i));
  const auto limit = [&](double number) { return llvm::ConstantFP::get(b_.getFloatTy(), number); };
  auto compared = arguments;
  if (usual->of_magnitude)
    for (auto*& x : compared) x = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  auto* are_usual =
      b_.CreateFCmpOLT(extreme(llvm::Intrinsic::maximum, compared), limit(usual->high));
  if (!usual->of_magnitude)
    are_usual = b_.CreateAnd(
        are_usual,
        b_.CreateFCmpOGE(extreme(llvm::Intrinsic::minimum, compared), limit(usual->low)));
  const auto all = [&](const auto& function) {
    Values made;
    for (auto* x : arguments) made.push_back(code_.rounded(function(x), dtype(id)));
    return made;
  };
  const auto made = either(
      are_usual, [&] { return all([&](Value* x) { return emit_usual(b_, op, x); }); },
      [&] { return all([&](Value* x) { return emit_function(b_, op, std::array{x}); }); });
  std::map<int, Value*> by_register;
  for (std::size_t k = 0; k < registers.size(); ++k) by_register[registers[k]] = made[k];
  set(id, per_lane(axes(id), [&](int i) { return by_register.at(i); }));
  return true;
}

}  // namespace assay
