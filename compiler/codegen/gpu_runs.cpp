// Runs: registers of a thread that are neighbours in memory, whether they are meant, and whether
// they may travel together.
#include "compiler/codegen/gpu_kernel.h"

namespace assay {
namespace {

using llvm::Value;

/// Of truths where null is true.
auto both(llvm::IRBuilder<>& b, Value* one, Value* other) -> Value* {
  if (one == nullptr || other == nullptr) return one == nullptr ? other : one;
  return b.CreateAnd(one, other);
}

/// Comparisons that hold below a limit, of the first operand or of the second.
auto is_below(TileOp op) -> bool {
  return op == TileOp::lt || op == TileOp::le;
}

auto opposite(TileOp order) -> TileOp {
  if (is_below(order)) return order == TileOp::lt ? TileOp::ge : TileOp::gt;
  return order == TileOp::gt ? TileOp::le : TileOp::lt;
}

/// Of a number that grows by one with each register and one that stays, or the other way round.
struct Grows {
  Value* at_first = nullptr;
  bool grows = true;  ///< else the other one does
  bool is_signed = true;
};
auto span_by_order(llvm::IRBuilder<>& b, TileOp op, const Grows& one, Value* other, int length)
    -> std::optional<GpuValues::Span> {
  auto* type = other->getType();
  const auto limited = [&](Value* number) {
    using namespace llvm::Intrinsic;
    auto* low = b.CreateBinaryIntrinsic(smax, number, llvm::ConstantInt::get(type, 0));
    const auto most = static_cast<std::uint64_t>(length);
    auto* both = b.CreateBinaryIntrinsic(smin, low, llvm::ConstantInt::get(type, most));
    return b.CreateTrunc(both, b.getInt32Ty());
  };
  GpuValues::Span made{b.getInt32(0), b.getInt32(static_cast<std::uint32_t>(length))};
  // How many registers on both are equal; orders that take that in are one longer, or begin there.
  auto* equal = one.grows ? b.CreateSub(other, one.at_first) : b.CreateSub(one.at_first, other);
  if (!one.is_signed) {  // what is below 0 is large
    if (op != TileOp::lt || !one.grows) return std::nullopt;
    made.from = limited(b.CreateNeg(one.at_first));
    made.to = limited(equal);
    return made;
  }
  const bool ends = is_below(op) == one.grows;
  const bool takes_equal = op == TileOp::le || op == TileOp::ge;
  if (ends == takes_equal) equal = b.CreateAdd(equal, llvm::ConstantInt::get(type, 1));
  (ends ? made.to : made.from) = limited(equal);
  return made;
}

}  // namespace

/// The comparison of whole numbers that says a truth, or whose opposite is said; else nothing.
auto GpuKernelEmitter::order(TileId id) const -> std::optional<Order> {
  const auto* maker = steps_.maker(id);
  const auto* compute = maker == nullptr ? nullptr : std::get_if<TileCompute>(&maker->what);
  const bool is_opposite = compute != nullptr && compute->op == TileOp::bit_not;
  if (is_opposite) maker = steps_.maker(maker->operands[0]);
  if (is_opposite) compute = maker == nullptr ? nullptr : std::get_if<TileCompute>(&maker->what);
  if (compute == nullptr || !is_order(compute->op) || is_floating(dtype(maker->operands[0])))
    return std::nullopt;
  return Order{maker, is_opposite ? opposite(compute->op) : compute->op};
}

/// Whether positions are in range, which registers rarely ask for: neighbours are asked together,
/// and code for parts of them asks by itself.
auto GpuKernelEmitter::is_question(const TileStatement& one, TileOp op) const -> bool {
  if (is_checked_ || !layout_->is_placed() || !varies(axes(one.results[0]))) return false;
  return (is_order(op) && !is_floating(dtype(one.operands[0]))) ||
         (op == TileOp::bit_and && dtype(one.results[0]) == DType::boolean);
}

/// How many registers from `index` on are neighbours in memory, and one access.
auto GpuKernelEmitter::run_length(TileId index_id, int index, int size) const -> int {
  const auto& held = values_.at(index_id);
  if (held.offsets.empty() || is_checked_) return 1;
  int length = 1 << layout_->contiguous_bits;
  while (length * size > kWidestBytes) length /= 2;
  const auto fits = [&](int wanted) {
    if (index % wanted != 0) return false;
    for (int i = 1; i < wanted; ++i)
      if (!held.is_near(index, index + i) || held.offset(index + i) != held.offset(index) + i)
        return false;
    return true;
  };
  while (length > 1 && !fits(length)) length /= 2;
  return std::max(length, 1);
}

/// By how much a value of neighbouring registers moves from each to the next.
auto GpuKernelEmitter::movement(TileId id, int first, int length) const
    -> std::optional<std::int64_t> {
  const auto& held = values_.at(id);
  const auto by = length > 1 ? held.offset(first + 1) - held.offset(first) : 0;
  for (int i = 1; i < length; ++i)
    if (!held.is_near(first, first + i) || held.offset(first + i) != held.offset(first) + i * by)
      return std::nullopt;
  return by;
}

/// Where one number comes nearer to another with each register, the ends say it all.
auto GpuKernelEmitter::meant_by_order(TileId id, int first, int length) -> std::optional<Meant> {
  const auto of = order(id);
  if (!of) return std::nullopt;
  const auto& one = *of->comparison;
  const auto left = movement(one.operands[0], first, length);
  const auto right = movement(one.operands[1], first, length);
  if (!left || !right || *left == *right) return std::nullopt;
  auto* begins = lane(id, first);
  auto* ends = lane(id, first + length - 1);
  if (info(dtype(one.operands[0])).kind == DTypeKind::signed_integer)
    return is_below(of->op) == (*left > *right) ? Meant{begins, ends, false}
                                                : Meant{ends, begins, false};
  if (of->op != TileOp::lt || *left != 1 || *right != 0) return std::nullopt;
  // What is below 0 is large without a sign: those from 0 on that are below the limit.
  auto* from = lane(one.operands[0], first);
  auto* to = lane(one.operands[0], first + length - 1);
  auto* none = llvm::Constant::getNullValue(from->getType());
  auto* least = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, from, none);
  auto* reaches = b_.CreateICmpULT(least, lane(one.operands[1], first));
  return Meant{b_.CreateAnd(reaches, b_.CreateICmpSGE(to, none)), b_.CreateAnd(begins, ends),
               false};
}

auto GpuKernelEmitter::lanes(TileId id, int first, int length) -> Values {
  Values all;
  for (int i = 0; i < length; ++i) all.push_back(lane(id, first + i));
  return all;
}

auto GpuKernelEmitter::meant(TileId id, int first, int length) -> Meant {
  if (id == kNoTile) return {};
  const auto varying = varies(axes(id)) ? layout_->register_mask(axes(id)) : 0;
  if ((varying & static_cast<unsigned>(length - 1)) == 0) {
    auto* one = lane(id, first);
    return {one, one, true};
  }
  const auto* maker = steps_.maker(id);
  const auto* compute = maker == nullptr ? nullptr : std::get_if<TileCompute>(&maker->what);
  if (const auto known = meant_by_order(id, first, length)) return *known;
  if (compute != nullptr && compute->op == TileOp::bit_and) {
    if (bounds_in(id, first, length) > 1)
      if (const auto within = span(id, first, length)) {
        auto* length_of = b_.CreateSub(within->to, within->from);
        return {b_.CreateICmpSLT(within->from, within->to),
                b_.CreateICmpEQ(length_of, b_.getInt32(static_cast<std::uint32_t>(length))), false,
                true};
      }
    const auto one = meant(maker->operands[0], first, length);
    const auto other = meant(maker->operands[1], first, length);
    Meant made{both(b_, one.any, other.any), both(b_, one.all, other.all), false};
    if (one.is_whole || other.is_whole) return made;
    // Both have some, but not all: only there each is asked whether they have some in common.
    const auto in_common = [&] {
      return Values{b_.CreateAnd(made.any, b_.CreateOr(lanes(id, first, length)))};
    };
    made.any = either(made.all, [&] { return Values{b_.getTrue()}; }, in_common)[0];
    return made;
  }
  const auto all = lanes(id, first, length);
  return {b_.CreateOr(all), b_.CreateAnd(all), false};
}

/// Of a conjunction: how many comparisons there are of what moves with these registers.
auto GpuKernelEmitter::bounds_in(TileId id, int first, int length) const -> int {
  const auto* maker = steps_.maker(id);
  const auto* compute = maker == nullptr ? nullptr : std::get_if<TileCompute>(&maker->what);
  if (compute != nullptr && compute->op == TileOp::bit_and)
    return bounds_in(maker->operands[0], first, length) +
           bounds_in(maker->operands[1], first, length);
  const auto varying = varies(axes(id)) ? layout_->register_mask(axes(id)) : 0;
  return (varying & static_cast<unsigned>(length - 1)) != 0 ? 1 : 0;
}

/// Nothing where that cannot be said by numbers.
auto GpuKernelEmitter::span(TileId id, int first, int length) -> std::optional<Span> {
  Span made{b_.getInt32(0), b_.getInt32(static_cast<std::uint32_t>(length))};
  if (id == kNoTile) return made;
  const auto varying = varies(axes(id)) ? layout_->register_mask(axes(id)) : 0;
  if ((varying & static_cast<unsigned>(length - 1)) == 0) {
    made.to = b_.CreateSelect(lane(id, first), made.to, made.from);
    return made;
  }
  const auto* maker = steps_.maker(id);
  const auto* compute = maker == nullptr ? nullptr : std::get_if<TileCompute>(&maker->what);
  if (const auto of = order(id)) {
    const auto& comparison = *of->comparison;
    const auto left = movement(comparison.operands[0], first, length);
    const auto right = movement(comparison.operands[1], first, length);
    const bool is_signed = info(dtype(comparison.operands[0])).kind == DTypeKind::signed_integer;
    const bool grows = left == 1 && right == 0;
    if (!grows && !(left == 0 && right == 1)) return std::nullopt;
    const auto sides = order_operands(comparison, first);
    return span_by_order(b_, of->op, {sides[0], grows, is_signed}, sides[1], length);
  }
  if (compute == nullptr || compute->op != TileOp::bit_and) return std::nullopt;
  const auto one = span(maker->operands[0], first, length);
  const auto other = one ? span(maker->operands[1], first, length) : std::nullopt;
  if (!other) return std::nullopt;
  made.from = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, one->from, other->from);
  made.to = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, one->to, other->to);
  return made;
}

/// Neighbouring registers of the index, from register `first` on. `acts`: whether the thread does.
auto GpuKernelEmitter::run_from(TileId index_id, DType of, int first, TileId mask_id, Value* acts)
    -> Run {
  Run run;
  run.first = first;
  run.length = run_length(index_id, first, static_cast<int>(size_bytes(of)));
  run.bytes = run.length * static_cast<int>(size_bytes(of));
  run.meant = meant(mask_id, first, run.length);
  for (auto* one : {&run.meant.any, &run.meant.all}) *one = both(b_, *one, acts);
  return run;
}

/// Whether all of these registers are meant, by those at the ends; null where more is to be asked.
auto GpuKernelEmitter::all_meant(TileId id, const Registers& registers) -> Value* {
  const auto* maker = steps_.maker(id);
  const auto* compute = maker == nullptr ? nullptr : std::get_if<TileCompute>(&maker->what);
  if (compute == nullptr || !is_question(*maker, compute->op))
    return varies(axes(id)) ? nullptr : lane(id, registers[0]);
  if (compute->op == TileOp::bit_and) {
    auto* one = all_meant(maker->operands[0], registers);
    auto* other = one == nullptr ? nullptr : all_meant(maker->operands[1], registers);
    return other == nullptr ? nullptr : b_.CreateAnd(one, other);
  }
  // What moves by steps of one kind alone is farthest at the ends, whatever their sign.
  const auto& left = values_.at(maker->operands[0]);
  if (varies(axes(maker->operands[1])) || left.over != 0) return nullptr;
  std::optional<std::pair<int, int>> ends;
  const auto moves = [&](const std::function<std::int64_t(int)>& by) {
    const auto [least, most] = std::ranges::minmax(registers, {}, by);
    if (by(least) == by(most)) return true;
    const bool is_first = !ends;
    ends = {least, most};
    return is_first;
  };
  if (!moves([&](int i) { return left.offset(i); })) return nullptr;
  for (const auto& step : left.steps)
    if (!moves([&](int i) { return step.at(i); })) return nullptr;
  if (!ends) return lane(id, registers[0]);
  return b_.CreateAnd(lane(id, ends->first), lane(id, ends->second));
}

/// What `access` makes of registers that are no neighbours: of a few at a time it is asked first
/// whether all are meant, so that nothing else is asked of most.
auto GpuKernelEmitter::in_groups(TileId mask_id, const Registers& registers,
                                 const AccessSome& access) -> Values {
  auto sorted = registers;
  std::ranges::sort(sorted);
  const bool are_asked = layout_->is_placed() && !is_checked_ && mask_id != kNoTile &&
                         varies(axes(mask_id)) && std::ssize(sorted) >= kGroup;
  if (!are_asked) return access(registers, false);
  std::map<int, Value*> made;
  for (auto begin = sorted.begin(); begin != sorted.end();) {
    const auto end = begin + std::min<std::ptrdiff_t>(kGroup, sorted.end() - begin);
    const std::vector<int> group(begin, end);
    begin = end;
    auto* all = all_meant(mask_id, group);
    if (all == nullptr) return access(registers, false);
    const auto values =
        either(all, [&] { return access(group, true); }, [&] { return access(group, false); });
    for (std::size_t i = 0; i < values.size(); ++i) made[group[i]] = values[i];
  }
  Values in_order;
  for (const int i : registers)
    if (made.contains(i)) in_order.push_back(made.at(i));
  return in_order;
}

/// A choice by whether lanes are meant: of most nothing is asked one by one.
auto GpuKernelEmitter::selected_in_groups(const TileStatement& one) -> bool {
  const auto id = one.results[0], mask_id = one.operands[0];
  const auto registers = distinct(axes(id));
  const auto* question = values_.at(mask_id).late;
  const bool are_single = layout_->contiguous_bits == 0 && std::ssize(registers) >= kGroup;
  if (question == nullptr || !are_single || all_meant(mask_id, registers) == nullptr) return false;
  const auto all = in_groups(mask_id, registers, [&](const Registers& group, bool are_meant) {
    Values made;
    for (const int i : group)
      made.push_back(are_meant ? lane(one.operands[1], i) : computed(one, i));
    return made;
  });
  std::map<int, Value*> made;
  for (std::size_t k = 0; k < all.size(); ++k) made[registers[k]] = all[k];
  set(id, per_lane(axes(id), [&](int i) { return made.at(i); }));
  return true;
}

/// True where a run is meant, but not all of it.
auto GpuKernelEmitter::is_part(const Run& run) -> Value* {
  return both(b_, run.meant.any, b_.CreateNot(run.meant.all));
}

/// True where any run is; null: never.
auto GpuKernelEmitter::have_parts(const Runs& runs) -> Value* {
  Value* some = nullptr;
  for (const auto& run : runs)
    if (!run.meant.is_whole)
      some = some == nullptr ? is_part(run) : b_.CreateOr(some, is_part(run));
  return some;
}

/// True where every run may travel as a whole.
auto GpuKernelEmitter::are_aligned(const Runs& runs, TileId index_id, std::size_t param) -> Value* {
  Value* aligned = b_.getTrue();
  const auto size = static_cast<std::int64_t>(size_bytes(kernel_.params[param].dtype));
  const auto& held = values_.at(index_id);
  const Run* known = nullptr;
  std::map<int, Value*> places;  // by width, all of them: the bits that one has, they have
  for (const auto& run : runs) {
    if (run.length == 1) continue;
    // Places that are apart by a multiple of the width are aligned alike.
    const auto is_apart = [&](std::int64_t elements) { return elements * size % run.bytes == 0; };
    if (known != nullptr && held.base(known->first) == held.base(run.first) &&
        known->bytes >= run.bytes && is_apart(held.offset(run.first) - held.offset(known->first)) &&
        std::ranges::all_of(held.steps, [&](const Step& step) {
          return is_apart(step.at(run.first) - step.at(known->first));
        }))
      continue;
    known = &run;
    auto* place = b_.CreatePtrToInt(address(param, lane(index_id, run.first), dtype(index_id)),
                                    b_.getInt32Ty());
    auto& all = places[run.bytes];
    all = all == nullptr ? place : b_.CreateOr(all, place);
  }
  for (const auto& [bytes, all] : places) {
    auto* low = b_.CreateAnd(all, static_cast<std::uint64_t>(bytes - 1));
    aligned = b_.CreateAnd(aligned, b_.CreateICmpEQ(low, b_.getInt32(0)));
  }
  return aligned;
}

auto GpuKernelEmitter::all_and_aligned(const Values& masks, Value* place, int bytes) -> Value* {
  auto* number = b_.CreatePtrToInt(place, b_.getInt32Ty());
  auto* low = b_.CreateAnd(number, static_cast<std::uint64_t>(bytes - 1));
  auto* all = b_.CreateICmpEQ(low, b_.getInt32(0));
  for (auto* one : masks)
    if (one != nullptr) all = b_.CreateAnd(all, one);
  return all;
}

}  // namespace assay
