// Philox 4x32 and what Triton and Inductor make of its words; core/ops/counter_random.h has the
// same on the host.
#include <llvm/IR/Module.h>

#include <array>
#include <numbers>

#include "compiler/codegen/gpu_kernel.h"

namespace assay {
namespace {

constexpr std::uint32_t kRoundA = 0xD2511F53U, kRoundB = 0xCD9E8D57U;
constexpr std::uint32_t kKeyA = 0x9E3779B9U, kKeyB = 0xBB67AE85U;
constexpr int kRounds = 10;
constexpr double kToUnit = 4.6566127342e-10F;

}  // namespace

auto GpuKernelEmitter::philox_words(Value* seed, Value* offset) -> Values {
  auto* word = b_.getInt32Ty();
  auto* wide = b_.getInt64Ty();
  Value* c0 = b_.CreateTrunc(offset, word);
  Value *c1 = b_.getInt32(0), *c2 = c1, *c3 = c1;
  Value* k0 = b_.CreateTrunc(seed, word);
  Value* k1 = b_.CreateTrunc(b_.CreateLShr(seed, 32), word);
  const auto product = [&](std::uint32_t by, Value* x) {
    return b_.CreateMul(b_.CreateZExt(x, wide), b_.getInt64(by));
  };
  for (int round = 0; round < kRounds; ++round) {
    auto* a = product(kRoundA, c0);
    auto* b = product(kRoundB, c2);
    const auto high = [&](Value* x) { return b_.CreateTrunc(b_.CreateLShr(x, 32), word); };
    c0 = b_.CreateXor(b_.CreateXor(high(b), c1), k0);
    c2 = b_.CreateXor(b_.CreateXor(high(a), c3), k1);
    c1 = b_.CreateTrunc(b, word);
    c3 = b_.CreateTrunc(a, word);
    k0 = b_.CreateAdd(k0, b_.getInt32(kKeyA));
    k1 = b_.CreateAdd(k1, b_.getInt32(kKeyB));
  }
  return {c0, c1, c2, c3};
}

void GpuKernelEmitter::statement(const TileStatement& one, const TileRandom& what) {
  using enum TileOp;
  if (what.is_cpu) return fail("random numbers of C++ kernels have no code for GPUs");
  constexpr auto kFloat = DType::float32;
  const auto number = [&](double x) { return code_.constant(kFloat, x); };
  const auto op = [&](TileOp which, const Values& operands) {
    return code_.compute(which, operands, kFloat, kFloat);
  };
  /// The sign folded away, so that both ends of the range are met evenly.
  const auto uniform = [&](Value* word) {
    auto* folded = b_.CreateXor(word, b_.CreateAShr(word, 31));
    return op(mul, {b_.CreateSIToFP(folded, b_.getFloatTy()), number(kToUnit)});
  };
  const auto id = one.results[0];
  set(id, per_lane(axes(id), [&](int i) -> Value* {
        const auto operand = [&](std::size_t at) {
          return as_int64(lane(one.operands[at], i), dtype(one.operands[at]));
        };
        const auto words = philox_words(operand(0), operand(1));
        const auto narrowed = [&](Value* value, DType of) {
          return code_.compute(cast, {value}, of, dtype(id));
        };
        switch (what.kind) {
          case TileRandomKind::uniform:
            return narrowed(uniform(words[0]), kFloat);
          case TileRandomKind::normal: {
            auto* radius = op(maximum, {uniform(words[0]), number(1.0e-7F)});
            auto* angle = op(mul, {number(2 * std::numbers::pi_v<float>), uniform(words[1])});
            auto* length = op(sqrt, {op(mul, {number(-2), op(log, {radius})})});
            return narrowed(op(mul, {length, op(cos, {angle})}), kFloat);
          }
          case TileRandomKind::integer:
            return narrowed(words[0], DType::uint32);
          case TileRandomKind::integer64:
            break;
        }
        auto* wide = b_.getInt64Ty();
        auto* whole = b_.CreateOr(b_.CreateShl(b_.CreateZExt(words[1], wide), 32),
                                  b_.CreateZExt(words[0], wide));
        auto* size = b_.CreateSub(operand(3), operand(2));
        auto* none = b_.CreateICmpEQ(size, b_.getInt64(0));
        auto* by = b_.CreateSelect(none, b_.getInt64(1), size);
        auto* rest = b_.CreateSelect(none, whole, b_.CreateURem(whole, by));
        return narrowed(b_.CreateAdd(rest, operand(2)), DType::int64);
      }));
}

}  // namespace assay
