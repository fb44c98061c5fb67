#include "compiler/codegen/random_code.h"

#include <numbers>

namespace assay {
namespace {

constexpr std::uint32_t kRoundA = 0xD2511F53U, kRoundB = 0xCD9E8D57U;
constexpr std::uint32_t kKeyA = 0x9E3779B9U, kKeyB = 0xBB67AE85U;
constexpr int kRounds = 10;
constexpr double kToUnit = 4.6566127342e-10F;
constexpr auto kFloat = DType::float32, kDouble = DType::float64;

}  // namespace

auto RandomCode::with(DType of, Value* like) -> llvm::Type* {
  auto* lane = code_.lane_type(of);
  return like->getType()->isVectorTy() ? code_.vector_of(lane) : lane;
}
auto RandomCode::whole(Value* like, std::uint64_t number) -> Value* {
  return llvm::ConstantInt::get(like->getType(), number);
}
auto RandomCode::real(DType of, Value* like, double number) -> Value* {
  return llvm::ConstantFP::get(with(of, like), number);
}
auto RandomCode::op(TileOp which, const std::vector<Value*>& operands, DType of) -> Value* {
  return code_.compute(which, operands, of, of);
}
auto RandomCode::converted(Value* value, DType from, DType to) -> Value* {
  return code_.compute(TileOp::cast, {value}, from, to);
}
auto RandomCode::halves(Value* wide) -> std::array<Value*, 2> {
  auto* word = with(DType::uint32, wide);
  return {b_.CreateTrunc(wide, word), b_.CreateTrunc(b_.CreateLShr(wide, whole(wide, 32)), word)};
}

auto RandomCode::philox(Value* seed, Words counter) -> Words {
  auto [c0, c1, c2, c3] = counter;
  auto [k0, k1] = halves(seed);
  const auto product = [&](std::uint32_t by, Value* x) {
    auto* wide = b_.CreateZExt(x, with(DType::uint64, x));
    return b_.CreateMul(wide, whole(wide, by));
  };
  for (int round = 0; round < kRounds; ++round) {
    const auto [low_a, high_a] = halves(product(kRoundA, c0));
    const auto [low_b, high_b] = halves(product(kRoundB, c2));
    c0 = b_.CreateXor(b_.CreateXor(high_b, c1), k0);
    c2 = b_.CreateXor(b_.CreateXor(high_a, c3), k1);
    c1 = low_b;
    c3 = low_a;
    k0 = b_.CreateAdd(k0, whole(k0, kKeyA));
    k1 = b_.CreateAdd(k1, whole(k1, kKeyB));
  }
  return {c0, c1, c2, c3};
}

auto RandomCode::words(Value* seed, Value* low, Value* high) -> Words {
  const auto [c0, c1] = halves(low);
  const auto [c2, c3] = halves(high);
  return philox(seed, {c0, c1, c2, c3});
}

/// Triton folds the sign away, so that both ends of the range are met evenly; C++ takes 31 bits.
auto RandomCode::uniform(Value* word, bool is_cpu) -> Value* {
  auto* folded = is_cpu ? b_.CreateAnd(word, whole(word, 0x7FFFFFFF))
                        : b_.CreateXor(word, b_.CreateAShr(word, whole(word, 31)));
  return op(TileOp::mul, {converted(folded, DType::int32, kFloat), real(kFloat, word, kToUnit)},
            kFloat);
}

auto RandomCode::normal(const Words& words) -> Value* {
  using enum TileOp;
  const auto number = [&](double x) { return real(kFloat, words[0], x); };
  auto* radius = op(maximum, {uniform(words[0], false), number(1.0e-7F)}, kFloat);
  auto* angle = op(mul, {number(2 * std::numbers::pi_v<float>), uniform(words[1], false)}, kFloat);
  auto* length = op(sqrt, {op(mul, {number(-2), op(log, {radius}, kFloat)}, kFloat)}, kFloat);
  return op(mul, {length, op(cos, {angle}, kFloat)}, kFloat);
}

/// Root and angle in double.
auto RandomCode::normal_of_cpu(const Words& words) -> Value* {
  using enum TileOp;
  const auto number = [&](double x) { return real(kDouble, words[0], x); };
  const auto rest = [&](Value* word) {
    return op(sub, {real(kFloat, word, 1), uniform(word, true)}, kFloat);
  };
  auto* logarithm = converted(op(log, {rest(words[0])}, kFloat), kFloat, kDouble);
  auto* length = op(sqrt, {op(mul, {number(-2), logarithm}, kDouble)}, kDouble);
  auto* angle =
      op(mul, {number(2 * std::numbers::pi), converted(rest(words[1]), kFloat, kDouble)}, kDouble);
  return converted(op(mul, {length, op(cos, {angle}, kDouble)}, kDouble), kDouble, kFloat);
}

auto RandomCode::between(const Words& words, Value* low, Value* high) -> Value* {
  auto* wide = with(DType::uint64, words[0]);
  auto* upper = b_.CreateZExt(words[1], wide);
  auto* all = b_.CreateOr(b_.CreateShl(upper, whole(upper, 32)), b_.CreateZExt(words[0], wide));
  auto* size = b_.CreateSub(high, low);
  auto* none = b_.CreateICmpEQ(size, whole(size, 0));
  auto* by = b_.CreateSelect(none, whole(size, 1), size);
  auto* rest = b_.CreateSelect(none, all, b_.CreateURem(all, by));
  return b_.CreateAdd(rest, low);
}

auto RandomCode::number(const TileRandom& what, const std::vector<Value*>& operands, DType to)
    -> Value* {
  auto* seed = operands[0];
  if (what.is_cpu) seed = b_.CreateAnd(seed, whole(seed, 0xFFFFFFFF));
  auto* position = halves(operands[1])[0];
  auto* none = whole(position, 0);
  const auto drawn = philox(seed, {position, none, none, none});
  switch (what.kind) {
    case TileRandomKind::uniform:
      return converted(uniform(drawn[0], what.is_cpu), kFloat, to);
    case TileRandomKind::normal:
      return converted(what.is_cpu ? normal_of_cpu(drawn) : normal(drawn), kFloat, to);
    case TileRandomKind::integer:
      return converted(drawn[0], DType::uint32, to);
    case TileRandomKind::integer64:
      return converted(between(drawn, operands[2], operands[3]), DType::int64, to);
    case TileRandomKind::words:
      break;
  }
  return nullptr;
}

}  // namespace assay
