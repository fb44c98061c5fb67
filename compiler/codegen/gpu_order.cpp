// In which order a thread computes, so that few registers are taken at once and many loads are on
// their way.
//
// Where lanes are and which are meant takes a few steps of whole numbers, less than the registers
// and predicates (there are seven) that it would be kept in. So it is computed anew behind loads
// and reductions, from places that the compiler cannot know to be the same. What follows a row's
// last reduction is made some registers at a time.
#include <llvm/IR/InlineAsm.h>

#include <algorithm>
#include <ranges>
#include <set>

#include "compiler/codegen/gpu_kernel.h"

namespace assay {
namespace {

using Statements = GpuValues::Statements;

auto is_reduce(const TileStatement& one) -> bool {
  return std::holds_alternative<TileReduce>(one.what);
}
auto is_load(const TileStatement& one) -> bool {
  return std::holds_alternative<TileLoad>(one.what);
}
auto is_uniform(const TileStatement& one) -> bool {
  return std::holds_alternative<TileConstant>(one.what) ||
         std::holds_alternative<TileParamValue>(one.what);
}
auto is_in(const Statements& all, const TileStatement* one) -> bool {
  return std::ranges::find(all, one) != all.end();
}
auto pointers(const std::vector<TileStatement>& body) -> Statements {
  Statements all;
  for (const auto& one : body) all.push_back(&one);
  return all;
}
/// Loads and what they rest on.
auto loads_of(const Statements& all) -> Statements {
  std::set<TileId> wanted;
  Statements made;
  for (const auto* one : all | std::views::reverse) {
    const auto is_wanted = [&](TileId id) { return wanted.contains(id); };
    if (!is_load(*one) && std::ranges::none_of(one->results, is_wanted)) continue;
    wanted.insert(one->operands.begin(), one->operands.end());
    made.insert(made.begin(), one);
  }
  return made;
}

}  // namespace

/// As the tree of a reduction by halves wants them, so that few of its sums live at once.
auto GpuKernelEmitter::in_order(int number) const -> int {
  if (!layout_->is_placed()) return number;
  const auto reversed = [](int of, int bits) {
    int made = 0;
    for (int bit = 0; bit < bits; ++bit) made = made << 1 | (of >> bit & 1);
    return made;
  };
  const auto low_bits = layout_->contiguous_bits;
  const auto low_mask = (1 << low_bits) - 1;
  return reversed(number >> low_bits, layout_->register_bits - low_bits) << low_bits |
         reversed(number & low_mask, low_bits);
}

/// Whether code is made for a register now.
auto GpuKernelEmitter::is_active(int index) const -> bool {
  return (static_cast<unsigned>(index) & chunk_mask_) == chunk_;
}

auto GpuKernelEmitter::opaque(Value* value) -> Value* {
  auto* type = llvm::FunctionType::get(value->getType(), {value->getType()}, false);
  auto* copy = b_.CreateCall(llvm::InlineAsm::get(type, "mov.b32 $0, $1;", "=r,r", true), {value});
  given_.insert(copy);
  return copy;
}

void GpuKernelEmitter::forget_places() {
  for (auto& [at, count] : places_)
    if (!llvm::isa<llvm::Constant>(at)) at = opaque(at);
}

/// Indices and masks that follow from a thread's place by a few steps of whole numbers.
auto GpuKernelEmitter::positions_of(const Statements& body) const -> Statements {
  constexpr TileOp kCheap[] = {TileOp::add,     TileOp::sub,    TileOp::mul,    TileOp::lt,
                               TileOp::le,      TileOp::gt,     TileOp::ge,     TileOp::cast,
                               TileOp::bit_and, TileOp::bit_or, TileOp::bit_not};
  Statements all;
  std::set<TileId> made;
  const auto is_position = [&](const TileStatement& one) {
    if (std::holds_alternative<TileLane>(one.what)) return true;
    const auto* compute = std::get_if<TileCompute>(&one.what);
    const auto is_made = [&](TileId id) { return made.contains(id); };
    return compute != nullptr && std::ranges::count(kCheap, compute->op) > 0 &&
           std::ranges::any_of(one.operands, is_made) &&
           std::ranges::all_of(one.operands, [&](TileId id) {
             return !is_floating(dtype(id)) && (!varies(axes(id)) || is_made(id));
           });
  };
  for (const auto* one : body) {
    if (!is_position(*one)) continue;
    all.push_back(one);
    made.insert(one->results[0]);
  }
  return all;
}

void GpuKernelEmitter::emit_all(const Statements& all) {
  constexpr std::int64_t kFewLoads = 4;  // behind more of them it would be computed too often
  const auto loads_lanes = [&](const TileStatement* one) {
    return is_load(*one) && varies(axes(one->results[0]));
  };
  const auto awaits_others = [&](const TileStatement* one) {
    return is_reduce(*one) &&
           layout_->place(std::get<TileReduce>(one->what).axis) != TilePlace::bits;
  };
  // Bounds of several loads take more steps than the registers are worth that they are kept in.
  const auto is_bounded = [&](const TileStatement* one) {
    return loads_lanes(one) && bounds_in(one->operands[1], 0, 1 << layout_->contiguous_bits) > 1;
  };
  const bool renews_behind_loads = std::ranges::count_if(all, loads_lanes) <= kFewLoads &&
                                   std::ranges::count_if(all, is_bounded) <= 1;
  const bool renews = layout_->is_placed() && !is_checked_ && !is_single_lane_;
  const auto positions = renews ? positions_of(all) : Statements();
  for (std::size_t at = 0; at < all.size() && error_.empty(); ++at) {
    const auto* one = all[at];
    emit(*one);
    if (positions.empty() || (!awaits_others(one) && !(renews_behind_loads && loads_lanes(one))))
      continue;
    const auto next = std::find_if(all.begin() + static_cast<std::ptrdiff_t>(at) + 1, all.end(),
                                   [&](const TileStatement* other) {
                                     return !is_uniform(*other) && !is_in(positions, other);
                                   });
    if (next == all.end() || (*next)->what.index() == one->what.index()) continue;
    forget_places();
    for (std::size_t before = 0; before < at; ++before)
      if (is_in(positions, all[before])) emit(*all[before]);
  }
}

void GpuKernelEmitter::region(const TileRegion& region) {
  const auto& body = region.body;
  const auto outer_places = places_;
  auto outer = std::exchange(windows_, GpuWindows::of(*this, body));
  if (!windows_) emit_all(pointers(body));
  for (std::size_t at = 0; windows_ && at < body.size() && error_.empty();) {
    const auto behind = windows_->load(body, at);
    if (behind == at) emit(body[at++]);
    at = std::max(at, behind);
  }
  windows_ = std::move(outer);
  places_ = outer_places;
}

/// Where nothing is asked a chunk's loads come before the stores of the chunk before, which the
/// assembler would not move them over.
void GpuKernelEmitter::each_chunk(const Statements& all, const std::map<TileId, Held>& before,
                                  unsigned chunk) {
  const auto first = is_straight_ ? loads_of(all) : Statements();
  auto rest = all;
  std::erase_if(rest, [&](const TileStatement* one) { return is_in(first, one); });
  const auto at = [&](unsigned which, const Statements& some, std::map<TileId, Held> values) {
    values_ = std::move(values);
    chunk_ = which;
    for (const auto* one : some)
      if (error_.empty()) emit(*one);
    return values_;
  };
  const auto last = static_cast<unsigned>(layout_->registers()) - chunk;
  auto loaded = at(0, first, before);
  for (unsigned which = 0; which <= last; which += chunk) {
    auto mine = std::move(loaded);
    if (which < last) loaded = at(which + chunk, first, before);
    at(which, rest, std::move(mine));
  }
}

void GpuKernelEmitter::in_chunks(const std::vector<TileStatement>& body) {
  constexpr unsigned kFew = 8;
  // Registers at a time; neighbours are not parted.
  const auto chunk = std::max(kFew, 1U << static_cast<unsigned>(layout_->contiguous_bits));
  const auto chunk_mask = static_cast<unsigned>(layout_->registers() - 1) & ~(chunk - 1);
  const auto last = std::find_if(body.rbegin(), body.rend(), is_reduce).base();
  const auto is_simple = [](const TileStatement& one) {
    return is_load(one) || is_uniform(one) || std::holds_alternative<TileStore>(one.what) ||
           std::holds_alternative<TileCompute>(one.what);
  };
  AxisSet apart = 0;  // over what the chunk's registers differ
  for (std::size_t axis = 0; axis < kernel_.axes.size(); ++axis)
    if (const auto bits = layout_->register_mask(AxisSet{1} << axis); (bits & chunk_mask) != 0)
      apart |= AxisSet{1} << axis;
  const bool has_regions =
      std::ranges::any_of(body, [](const TileStatement& one) { return !one.regions.empty(); });
  if (chunk_mask == 0 || is_checked_ || has_regions || last == body.begin() ||
      !std::all_of(last, body.end(), is_simple))
    return region(kernel_.body);
  // What no reduction needs comes as late as it may.
  std::set<TileId> needed;
  Statements early, late;
  for (auto at = std::make_reverse_iterator(last); at != body.rend(); ++at) {
    const bool is_wanted =
        !is_simple(*at) || std::holds_alternative<TileStore>(at->what) ||
        std::ranges::any_of(at->results, [&](TileId id) { return needed.contains(id); });
    auto& into = is_wanted ? early : late;
    into.insert(into.begin(), &*at);
    if (is_wanted) needed.insert(at->operands.begin(), at->operands.end());
  }
  for (auto at = last; at != body.end(); ++at) late.push_back(&*at);
  emit_all(early);
  forget_places();
  std::ranges::copy(positions_of(early), std::back_inserter(late));
  std::ranges::sort(late);
  const auto is_apart = [&](const TileStatement& one) {
    AxisSet over = 0;
    for (const auto id : one.results) over |= axes(id);
    for (const auto id : one.operands) over |= axes(id);
    return (over & apart) != 0;
  };
  for (const auto* one : late)
    if (!is_apart(*one)) emit(*one);
  // All chunks divide by the same numbers.
  for (const auto* one : late) {
    const auto* compute = std::get_if<TileCompute>(&one->what);
    if (compute == nullptr || compute->op != TileOp::divide || varies(axes(one->operands[1])))
      continue;
    auto* by = lane(one->operands[1], 0);
    const bool is_exact = !approximate_.contains(one->operands[0]);
    if (by->getType()->isFloatTy()) reciprocals_[{by, is_exact}] = reciprocal(by, is_exact);
  }
  auto* straight = can_go_straight(late);
  std::erase_if(late, [&](const TileStatement* one) { return !is_apart(*one); });
  const auto chunks = [&, before = values_](bool is_straight) {
    is_straight_ = is_straight;
    chunk_mask_ = chunk_mask;
    each_chunk(late, before, chunk);
    chunk_mask_ = chunk_ = 0;
    is_straight_ = false;
    return Values();
  };
  if (straight == nullptr)
    chunks(false);
  else
    (void)either(straight, [&] { return chunks(true); }, [&] { return chunks(false); });
}

/// Whether all accesses of whole rows are aligned and meant, so that nothing is asked of each and
/// they can be made in any order; null: it is not known, or they are not wide.
auto GpuKernelEmitter::can_go_straight(const Statements& all) -> Value* {
  if (!layout_->is_whole) return nullptr;
  const auto positions = positions_of(all);
  for (const auto* one : positions) emit(*one);
  Value* straight = nullptr;
  for (const auto* one : all) {
    const auto* load = std::get_if<TileLoad>(&one->what);
    const auto* store = std::get_if<TileStore>(&one->what);
    if ((load == nullptr && store == nullptr) || !varies(axes(one->operands[0]))) continue;
    const auto param = load != nullptr ? load->param : store->param;
    const auto mask_id = one->operands[load != nullptr ? 1 : 2];
    const auto index_id = one->operands[0];
    const auto of = kernel_.params[param].dtype;
    if (!is_in(positions, steps_.maker(index_id)) || varies(axes(mask_id)) ||
        (store != nullptr && leader(axes(index_id) | axes(one->operands[1])) != nullptr))
      return nullptr;
    std::vector<Run> runs;
    for (int i = 0; i < layout_->registers(); i += runs.back().length) {
      runs.push_back(run_from(index_id, of, i, mask_id, nullptr));
      if (runs.back().length == 1) return nullptr;
    }
    auto* may = are_aligned(runs, index_id, param);
    if (runs[0].meant.all != nullptr) may = b_.CreateAnd(may, runs[0].meant.all);
    straight = straight == nullptr ? may : b_.CreateAnd(straight, may);
  }
  return straight;
}

}  // namespace assay
