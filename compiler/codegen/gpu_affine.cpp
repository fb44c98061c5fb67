// Whole numbers that move with a thread's registers: by constants, and by steps that all registers
// share (a stride, or how many threads there are). They are one value, from which a register's is
// added up where it is wanted, so that addresses are sums and not products.
//
// Positions stay far from where their numbers wrap (launches have 64-bit code where they may not),
// so a sum may be extended part by part.
#include <cstdlib>
#include <limits>

#include "compiler/codegen/gpu_kernel.h"

namespace assay {
namespace {

using llvm::Value;

auto signed_number(llvm::Type* type, std::int64_t value) -> Value* {
  return llvm::ConstantInt::getSigned(type, value);
}

constexpr unsigned kNarrowBits = 32;
constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
/// Positions of 32 bits are this far from where they wrap, and not as far below 0; so a limit may
/// be moved there, and both subtracted.
constexpr std::int64_t kLimit = 1 << 19;
constexpr std::int64_t kNear = 1 << 17;  ///< of what may be added to them

auto is_extended(const Value* value) -> bool {
  const auto* extended = llvm::dyn_cast<llvm::SExtInst>(value);
  return value->getType()->isIntegerTy(kNarrowBits) ||
         (extended != nullptr && extended->getSrcTy()->isIntegerTy(kNarrowBits));
}

/// A position as a number of 32 bits; null where it is none, or may need more.
auto narrow_position(llvm::IRBuilder<>& b, GpuNumbers& numbers, Value* value) -> Value* {
  if (value->getType()->isIntegerTy(kNarrowBits))
    return numbers.is_position(value) ? value : nullptr;
  if (auto* extended = llvm::dyn_cast<llvm::SExtInst>(value))
    return narrow_position(b, numbers, extended->getOperand(0));
  auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(value);
  const auto* more = sum == nullptr || sum->getOpcode() != llvm::Instruction::Add
                         ? nullptr
                         : llvm::dyn_cast<llvm::ConstantInt>(sum->getOperand(1));
  if (more == nullptr || std::abs(more->getSExtValue()) > kNear) return nullptr;
  auto* position = narrow_position(b, numbers, sum->getOperand(0));
  if (position == nullptr) return nullptr;
  return b.CreateAdd(position, signed_number(position->getType(), more->getSExtValue()));
}

}  // namespace

auto GpuValues::Held::moving() const -> unsigned {
  unsigned bits = 0;
  const auto add = [&](const std::vector<std::int64_t>& all) {
    for (std::size_t i = 0; i < all.size(); ++i)
      for (unsigned bit = 1; bit < all.size(); bit <<= 1)
        if (all[i] != all[i ^ bit]) bits |= bit;
  };
  add(offsets);
  for (const auto& step : steps) add(step.times);
  return bits;
}

auto GpuValues::Held::is_near(int index, int other) const -> bool {
  return base(index) == base(other) && std::ranges::all_of(steps, [&](const Step& step) {
           return step.at(index) == step.at(other);
         });
}

auto GpuKernelEmitter::stepped(const Held& held, int index) -> Value* {
  auto* value = held.base(index);
  for (const auto& step : held.steps) {
    const auto times = step.at(index);
    if (times == 0) continue;
    value = b_.CreateAdd(value, b_.CreateMul(step.by, signed_number(step.by->getType(), times)));
  }
  return value;
}

auto GpuKernelEmitter::lane(TileId id, int index) -> Value* {
  const auto& held = values_.at(id);
  if (held.late != nullptr) return computed(*held.late, index);
  auto* value = stepped(held, index);
  const auto offset = held.offset(index);
  return offset == 0 ? value : b_.CreateAdd(value, signed_number(value->getType(), offset));
}

auto GpuKernelEmitter::order_operands(const TileStatement& one, int index) -> Values {
  using namespace llvm::Intrinsic;
  Values sides = {lane(one.operands[0], index), lane(one.operands[1], index)};
  if (!layout_->is_placed() || dtype(one.operands[0]) != DType::int64) return sides;
  for (const auto at : {0UZ, 1UZ}) {
    auto* position = narrow_position(b_, numbers_, sides[at]);
    if (position == nullptr || axes(one.operands[1 - at]) != 0) continue;
    auto* limit =
        b_.CreateBinaryIntrinsic(smax, sides[1 - at], signed_number(b_.getInt64Ty(), -kLimit));
    limit = b_.CreateBinaryIntrinsic(smin, limit, signed_number(b_.getInt64Ty(), kMost - kLimit));
    sides[at] = position;
    sides[1 - at] = b_.CreateTrunc(limit, position->getType());
    break;
  }
  return sides;
}

/// Where elements of a buffer are, by register. What moves by steps of 64 bits is one step from one
/// before it; steps of 32 bits are multiplied and added at once. Of one block of code.
auto GpuKernelEmitter::places(std::size_t param, TileId index_id) -> std::function<Value*(int)> {
  const auto held = values_.at(index_id);
  const auto size = static_cast<std::int64_t>(size_bytes(kernel_.params[param].dtype));
  unsigned bits = 0;
  for (const auto& step : held.steps)
    for (unsigned bit = 1; bit < step.times.size() && !is_extended(step.by); bit <<= 1)
      if (step.times[bit] != step.times[0]) bits |= bit;
  const auto moved = [this, size, of = dtype(index_id)](Value* place, const Step& step,
                                                        std::int64_t times) -> Value* {
    if (times == 0) return place;
    auto* bytes = b_.CreateMul(as_int64(step.by, of), signed_number(b_.getInt64Ty(), size * times));
    return b_.CreateGEP(b_.getInt8Ty(), place, bytes);
  };
  std::map<unsigned, Value*> made;  // by bits that steps of 64 bits vary over
  return [=, this](int index) mutable -> Value* {
    const bool is_shared = held.over == 0;
    auto* place = is_shared ? made[0] : nullptr;
    if (place == nullptr)
      place = address(param, is_shared ? held.base(index) : stepped(held, index), dtype(index_id));
    if (is_shared) made[0] = place;
    unsigned at = 0;
    for (unsigned left = is_shared ? static_cast<unsigned>(index) & bits : 0; left != 0;) {
      const auto before = static_cast<int>(at);
      at |= left & (~left + 1);
      left &= left - 1;
      auto& known = made[at];
      for (const auto& step : held.steps)
        if (known == nullptr && !is_extended(step.by))
          place = moved(place, step, step.at(static_cast<int>(at)) - step.at(before));
      place = known = known == nullptr ? place : known;
    }
    for (const auto& step : held.steps)
      if (is_shared && is_extended(step.by)) place = moved(place, step, step.at(index));
    const auto offset = held.offset(index);
    if (offset == 0) return place;
    return b_.CreateGEP(code_.memory_type(kernel_.params[param].dtype), place,
                        signed_number(b_.getInt64Ty(), offset));
  };
}

/// Sums, differences and multiples of what moves with the registers do so too, as far as what else
/// varies does so over other registers.
auto GpuKernelEmitter::affine(const TileStatement& one, TileOp op) -> bool {
  const auto id = one.results[0];
  const auto of = dtype(id);
  if (is_floating(of) || of == DType::boolean || !varies(axes(id))) return false;
  std::vector<Held> in;
  unsigned over = 0, moving = 0;
  for (const auto operand : one.operands) {
    if (is_floating(dtype(operand))) return false;
    in.push_back(values_.at(operand));
    over |= in.back().over;
    moving |= in.back().moving();
  }
  if (moving == 0 || (over & moving) != 0) return false;
  const auto made = [&](const std::function<Value*(int)>& base,
                        const std::function<std::int64_t(int)>& offset, std::vector<Step> steps) {
    Held held;
    held.over = over;
    held.steps = std::move(steps);
    std::map<unsigned, Value*> bases;
    for (int i = 0; i < layout_->registers(); ++i) {
      held.offsets.push_back(offset(i));
      auto& known = bases[static_cast<unsigned>(i) & over];
      if (known == nullptr && is_active(i)) known = base(i);
      if (over != 0) held.bases.push_back(is_active(i) ? known : nullptr);
    }
    if (over == 0) held.bases = {bases.at(0)};
    values_[id] = std::move(held);
    return true;
  };
  const auto& left = in.front();
  const auto& right = in.back();
  auto* type = code_.lane_type(of);
  if (op == TileOp::cast && dtype(one.operands[0]) != DType::boolean) {
    const auto from = dtype(one.operands[0]);
    const bool is_signed = info(from).kind == DTypeKind::signed_integer;
    if (size_bytes(of) < size_bytes(from)) return false;
    if (!left.steps.empty() && !is_signed && size_bytes(of) > size_bytes(from)) return false;
    const auto extended = [&](Value* value) -> Value* {
      return is_signed ? b_.CreateSExtOrTrunc(value, type) : b_.CreateZExtOrTrunc(value, type);
    };
    auto steps = left.steps;
    for (auto& step : steps) step.by = extended(step.by);
    return made([&](int i) { return extended(left.base(i)); },
                [&](int i) { return left.offset(i); }, std::move(steps));
  }
  if (op == TileOp::add || op == TileOp::sub) {
    const std::int64_t sign = op == TileOp::add ? 1 : -1;
    auto steps = left.steps;
    for (const auto& step : right.steps) {
      auto same = std::ranges::find(steps, step.by, &Step::by);
      if (same == steps.end())
        same = steps.insert(same, {step.by, std::vector<std::int64_t>(step.times.size())});
      for (std::size_t i = 0; i < step.times.size(); ++i) same->times[i] += sign * step.times[i];
    }
    return made(
        [&](int i) {
          return sign > 0 ? b_.CreateAdd(left.base(i), right.base(i))
                          : b_.CreateSub(left.base(i), right.base(i));
        },
        [&](int i) { return left.offset(i) + sign * right.offset(i); }, std::move(steps));
  }
  if (op != TileOp::mul) return false;
  const auto& by = left.moving() == 0 ? left : right;
  const auto& moves = left.moving() == 0 ? right : left;
  if (by.moving() != 0 || by.bases.size() != 1) return false;
  auto* factor = by.bases[0];
  if (by.offset(0) != 0) factor = b_.CreateAdd(factor, signed_number(type, by.offset(0)));
  const auto base = [&](int i) { return b_.CreateMul(moves.base(i), factor); };
  auto steps = moves.steps;
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(factor)) {
    const auto number = constant->getSExtValue();
    for (auto& step : steps)
      for (auto& times : step.times) times *= number;
    return made(base, [&](int i) { return number * moves.offset(i); }, std::move(steps));
  }
  for (auto& step : steps) step.by = b_.CreateMul(step.by, factor);
  if (!moves.offsets.empty()) steps.push_back({factor, moves.offsets});
  return made(base, [](int) { return std::int64_t{0}; }, std::move(steps));
}

}  // namespace assay
