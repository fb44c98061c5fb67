// Accesses of a thread: wide where its registers are neighbours in memory, all are meant and the
// place is aligned, which is asked when it runs; else one by one under a predicate.
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Module.h>

#include "compiler/codegen/gpu_kernel.h"

namespace assay {
namespace {

using llvm::BasicBlock;
using llvm::Value;

/// PTX has no registers of eight bits, so bytes travel in sixteen.
struct AccessRow {
  int size;
  const char* type;
  const char* constraint;
};
constexpr AccessRow kAccesses[] = {
    {1, "u8", "h"}, {2, "b16", "h"}, {4, "b32", "r"}, {8, "b64", "l"}};

auto access_row(unsigned bits) -> const AccessRow& {
  for (const auto& row : kAccesses)
    if (8 * static_cast<unsigned>(row.size) >= bits) return row;
  return kAccesses[3];
}
auto register_type(llvm::IRBuilder<>& b, unsigned bits) -> llvm::Type* {
  return b.getIntNTy(std::max(bits, 16U));
}

}  // namespace

auto GpuKernelEmitter::address(std::size_t param, Value* index, DType index_dtype) -> Value* {
  return b_.CreateGEP(code_.memory_type(kernel_.params[param].dtype), params_[param],
                      as_int64(index, index_dtype));
}

auto GpuKernelEmitter::mask(TileId id, int index) -> Value* {
  return id == kNoTile ? nullptr : lane(id, index);
}

/// The first thread writes; the others were not first.
void GpuKernelEmitter::record(int line, Value* param, Value* element, GpuFault fault,
                              Value* origin) {
  constexpr auto kOrigin = offsetof(GpuRecord, origin) / sizeof(std::uint64_t);
  auto* i64 = b_.getInt64Ty();
  const llvm::Align align(8);
  auto* told = b_.CreateAtomicCmpXchg(
      record_, b_.getInt64(0), b_.getInt64(static_cast<std::uint64_t>(line) + 1), align,
      llvm::AtomicOrdering::Monotonic, llvm::AtomicOrdering::Monotonic);
  when(b_.CreateExtractValue(told, 1), [&] {
    b_.CreateAlignedStore(param, b_.CreateConstGEP1_64(i64, record_, 1), align, true);
    b_.CreateAlignedStore(element, b_.CreateConstGEP1_64(i64, record_, 2), align, true);
    b_.CreateAlignedStore(b_.getInt64(static_cast<std::uint64_t>(fault)),
                          b_.CreateConstGEP1_64(i64, record_, 3), align, true);
    if (origin != nullptr)
      b_.CreateAlignedStore(origin, b_.CreateConstGEP1_64(i64, record_, kOrigin), align, true);
  });
}

/// Nothing is read where the condition is false; the value has the bits of `fill` there.
auto GpuKernelEmitter::guarded_load(llvm::Type* type, Value* place, Value* condition,
                                    std::uint64_t fill) -> Value* {
  const auto bits = static_cast<unsigned>(type->getPrimitiveSizeInBits());
  if (condition == nullptr) return b_.CreateAlignedLoad(type, place, llvm::Align(bits / 8));
  const auto& row = access_row(bits);
  auto* held = register_type(b_, bits);
  const auto text = fmt::format("mov.b{} $0, {};\n\t@$2 ld.global.{} $0, [$1];",
                                held->getPrimitiveSizeInBits().getFixedValue(), fill, row.type);
  auto* asm_type = llvm::FunctionType::get(held, {place->getType(), b_.getInt1Ty()}, false);
  auto* code = llvm::InlineAsm::get(asm_type, text,
                                    fmt::format("={},l,b,~{{memory}}", row.constraint), true);
  auto* raw = b_.CreateTrunc(b_.CreateCall(code, {place, condition}), b_.getIntNTy(bits));
  return b_.CreateBitCast(raw, type);
}

void GpuKernelEmitter::guarded_store(Value* value, Value* place, Value* condition) {
  const auto bits = static_cast<unsigned>(value->getType()->getPrimitiveSizeInBits());
  if (condition == nullptr) {
    b_.CreateAlignedStore(value, place, llvm::Align(bits / 8));
    return;
  }
  const auto& row = access_row(bits);
  auto* held = register_type(b_, bits);
  auto* raw = b_.CreateZExt(b_.CreateBitCast(value, b_.getIntNTy(bits)), held);
  const auto text = fmt::format("@$2 st.global.{} [$0], $1;", row.type);
  auto* asm_type =
      llvm::FunctionType::get(b_.getVoidTy(), {place->getType(), held, b_.getInt1Ty()}, false);
  auto* code =
      llvm::InlineAsm::get(asm_type, text, fmt::format("l,{},b,~{{memory}}", row.constraint), true);
  b_.CreateCall(code, {place, raw, condition});
}

auto GpuKernelEmitter::leader(AxisSet over) -> Value* {
  const auto every = (AxisSet{1} << kernel_.axes.size()) - 1;
  if (layout_->is_placed()) {
    Value* first = nullptr;
    for (std::size_t axis = 0; axis < kernel_.axes.size(); ++axis) {
      const auto of = layout_->place(axis);
      if (of == TilePlace::bits || (over >> axis & 1U) != 0) continue;
      auto* here = b_.CreateICmpEQ(place(of).at, b_.getInt32(0));
      first = first == nullptr ? here : b_.CreateAnd(first, here);
    }
    return first;
  }
  const auto idle = layout_->copy_mask() | layout_->thread_mask(every & ~over);
  if (idle == 0) return nullptr;
  return b_.CreateICmpEQ(b_.CreateAnd(thread_, idle), b_.getInt32(0));
}

auto GpuKernelEmitter::is_leading(AxisSet over, int index) const -> bool {
  const auto every = (AxisSet{1} << kernel_.axes.size()) - 1;
  return (static_cast<unsigned>(index) & layout_->register_mask(every & ~over)) == 0;
}

void GpuKernelEmitter::statement(const TileStatement& one, const TileStore& what) {
  if (transposed_store(one, what)) return;
  const auto of = kernel_.params[what.param].dtype;
  Values stored;
  const bool is_rounded = dtype(one.operands[1]) == of;
  for (auto* value : lanes(one.operands[1]))
    stored.push_back(value == nullptr ? nullptr
                     : is_rounded     ? code_.rounded_to_memory(value, of)
                                      : code_.to_memory(value, of));
  store_lanes(one, what.param, stored);
}

auto GpuKernelEmitter::takes_part(const TileStatement& one, int index, Value* acts) -> Value* {
  auto* given = mask(one.operands[2], index);
  if (given == nullptr || acts == nullptr) return given == nullptr ? acts : given;
  return b_.CreateAnd(given, acts);
}

namespace {
auto is_used(TileId id, const TileKernel& kernel) -> bool {
  const std::function<bool(const TileRegion&)> uses = [&](const TileRegion& region) {
    return std::ranges::find(region.yields, id) != region.yields.end() ||
           std::ranges::any_of(region.body, [&](const TileStatement& one) {
             return std::ranges::find(one.operands, id) != one.operands.end() ||
                    std::ranges::any_of(one.regions, uses);
           });
  };
  return uses(kernel.body);
}
}  // namespace

auto GpuKernelEmitter::add_lanes(const TileStatement& one, const TileAtomic& what) -> bool {
  constexpr int kWide = 4, kLeast = 90;
  const auto index_id = one.operands[0];
  const int size = static_cast<int>(size_bytes(DType::float32));
  const auto over = axes(index_id) | axes(one.operands[1]) | axes(one.operands[2]);
  if (is_checked_ || architecture_ < kLeast || what.is_exchange || what.op != TileOp::add ||
      kernel_.params[what.param].dtype != DType::float32 || is_used(one.results[0], kernel_))
    return false;
  for (int i = 0; i < layout_->registers(); i += kWide)
    if (run_length(index_id, i, size) != kWide || !is_leading(over, i)) return false;
  auto* acts = leader(over);
  const auto values = lanes(one.operands[1]);
  const auto condition = [&](int i) { return takes_part(one, i, acts); };
  auto* f32 = b_.getFloatTy();
  for (int i = 0; i < layout_->registers(); i += kWide) {
    Values conditions;
    for (int k = 0; k < kWide; ++k) conditions.push_back(condition(i + k));
    auto* place = address(what.param, lane(index_id, i), dtype(index_id));
    const auto wide = [&] {
      auto* type =
          llvm::FunctionType::get(b_.getVoidTy(), {place->getType(), f32, f32, f32, f32}, false);
      Values operands{place};
      for (int k = 0; k < kWide; ++k) operands.push_back(values[static_cast<std::size_t>(i + k)]);
      b_.CreateCall(
          llvm::InlineAsm::get(type, "red.relaxed.gpu.global.add.v4.f32 [$0], {$1, $2, $3, $4};",
                               "l,f,f,f,f,~{memory}", true),
          operands);
      return Values();
    };
    const auto narrow = [&] {
      for (int k = 0; k < kWide; ++k)
        when(conditions[static_cast<std::size_t>(k)], [&] {
          (void)b_.CreateAtomicRMW(llvm::AtomicRMWInst::FAdd,
                                   address(what.param, lane(index_id, i + k), dtype(index_id)),
                                   values[static_cast<std::size_t>(i + k)], llvm::Align(4),
                                   llvm::AtomicOrdering::Monotonic);
        });
      return Values();
    };
    (void)either(all_and_aligned(conditions, place, kWide * size), wide, narrow);
  }
  set(one.results[0],
      Values(static_cast<std::size_t>(layout_->registers()), llvm::ConstantFP::get(f32, 0.0)));
  return true;
}

void GpuKernelEmitter::statement(const TileStatement& one, const TileAtomic& what) {
  if (add_lanes(one, what)) return;
  using RMW = llvm::AtomicRMWInst;
  const auto of = kernel_.params[what.param].dtype;
  const bool is_float = is_floating(of);
  const bool is_signed = info(of).kind == DTypeKind::signed_integer;
  std::optional<RMW::BinOp> op;
  if (what.is_exchange)
    op = RMW::Xchg;
  else if (what.op == TileOp::add)
    op = is_float ? RMW::FAdd : RMW::Add;
  else if (what.op == TileOp::maximum && !is_float)
    op = is_signed ? RMW::Max : RMW::UMax;
  else if (what.op == TileOp::minimum && !is_float)
    op = is_signed ? RMW::Min : RMW::UMin;
  else if (what.op == TileOp::bit_and)
    op = RMW::And;
  else if (what.op == TileOp::bit_or)
    op = RMW::Or;
  else if (what.op == TileOp::bit_xor)
    op = RMW::Xor;
  if (!op || size_bytes(of) < 4)
    return fail(fmt::format("line {}: an atomic operation that has no code for GPUs", one.line));
  const auto id = one.results[0];
  const auto over = axes(one.operands[0]) | axes(one.operands[1]) | axes(one.operands[2]);
  auto* acts = leader(over);
  auto* none = llvm::Constant::getNullValue(code_.memory_type(of));
  Values before(static_cast<std::size_t>(layout_->registers()), none);
  for (int i = 0; i < layout_->registers(); ++i) {
    if (!is_leading(over, i)) continue;
    auto* condition = takes_part(one, i, acts);
    condition = checked(one, i, condition, what.is_exchange ? Access::exchange : Access::atomic);
    auto* place = places(what.param, one.operands[0])(i);
    auto* value = code_.to_memory(lane(one.operands[1], i), of);
    auto* entering = b_.GetInsertBlock();
    Value* got = nullptr;
    BasicBlock* inside = nullptr;
    when(condition, [&] {
      got =
          b_.CreateAtomicRMW(*op, place, value, llvm::Align(static_cast<unsigned>(size_bytes(of))),
                             llvm::AtomicOrdering::Monotonic);
      inside = b_.GetInsertBlock();
    });
    if (condition != nullptr) {
      auto* phi = b_.CreatePHI(value->getType(), 2);
      phi->addIncoming(none, entering);
      phi->addIncoming(got, inside);
      got = phi;
    }
    before[static_cast<std::size_t>(i)] = got;
  }
  set(id, per_lane(axes(id), [&](int i) {
        return code_.from_memory(before[static_cast<std::size_t>(i)], of);
      }));
}

/// An element that a search looks at; in checked code the first one where there is none.
auto GpuKernelEmitter::element(const TileStatement& one, std::size_t param, int i, Value* index,
                               DType of) -> Value* {
  const auto stored = kernel_.params[param].dtype;
  if (is_checked_) {
    auto* meant = checked_at(one, param, i, index, nullptr, Access::load);
    index = b_.CreateSelect(meant, index, watched_.at(param).low);
  }
  auto* raw = b_.CreateLoad(code_.memory_type(stored), address(param, index, DType::int64));
  return code_.compute(TileOp::cast, {code_.from_memory(raw, stored)}, stored, of);
}

/// Halving between boundaries, lane by lane.
void GpuKernelEmitter::statement(const TileStatement& one, const TileSearch& what) {
  const auto id = one.results[0];
  const auto of = dtype(one.operands[0]);
  auto* i64 = b_.getInt64Ty();
  const auto operand = [&](std::size_t at, int i) -> Value* {
    return as_int64(lane(one.operands[at], i), dtype(one.operands[at]));
  };
  set(id, per_lane(axes(id), [&](int i) -> Value* {
        auto* before = b_.GetInsertBlock();
        auto* count = operand(1, i);
        auto* head = BasicBlock::Create(module_.getContext(), "search", function_);
        auto* inside = BasicBlock::Create(module_.getContext(), "halve", function_);
        auto* after = BasicBlock::Create(module_.getContext(), "found", function_);
        b_.CreateBr(head);
        b_.SetInsertPoint(head);
        auto* low = b_.CreatePHI(i64, 2);
        auto* high = b_.CreatePHI(i64, 2);
        low->addIncoming(b_.getInt64(0), before);
        high->addIncoming(count, before);
        b_.CreateCondBr(b_.CreateICmpSLT(low, high), inside, after);
        b_.SetInsertPoint(inside);
        auto* middle = b_.CreateAdd(low, b_.CreateLShr(b_.CreateSub(high, low), 1));
        Value* number = middle;
        if (what.sorter) {
          auto* sorted = b_.CreateAdd(operand(5, i), b_.CreateMul(middle, operand(4, i)));
          number = element(one, *what.sorter, i, sorted, DType::int64);
        }
        auto* at = b_.CreateAdd(operand(3, i), b_.CreateMul(number, operand(2, i)));
        auto* bound = element(one, what.param, i, at, of);
        auto* reached = code_.compute(what.is_right ? TileOp::ge : TileOp::gt,
                                      {lane(one.operands[0], i), bound}, of, DType::boolean);
        auto* above = b_.CreateSelect(reached, b_.CreateAdd(middle, b_.getInt64(1)), low);
        low->addIncoming(above, b_.GetInsertBlock());
        high->addIncoming(b_.CreateSelect(reached, high, middle), b_.GetInsertBlock());
        b_.CreateBr(head);
        b_.SetInsertPoint(after);
        return b_.CreateTrunc(low, code_.lane_type(dtype(id)));
      }));
}

}  // namespace assay
