#include "compiler/cuda/splitting.h"

#include <algorithm>
#include <map>

#include "compiler/program/kernel_builder.h"

namespace assay {
namespace {

/// Programs that keep any GPU busy (of columns, whose threads hold more, fewer are at work at
/// once); into how many a sum over everything is taken apart, so that the last of them end together
/// (columns lose by it: their parts are rows in memory); and the least work that is worth one.
constexpr std::int64_t kManyPrograms = 512, kManyColumns = 264, kPartsOfAll = 4096,
                       kLeastElements = 8192, kLeastLength = 16;

class Splitter {
 public:
  Splitter(const TileKernel& kernel, const KernelPlan& plan, std::size_t axis, std::int64_t run)
      : from_(kernel), plan_(plan), axis_(axis), run_(run), clips_(plan.reduced.front() == axis) {}

  auto run() -> Result<SplitKernel> {
    for (const auto& planned : plan_.statements) {
      if (std::holds_alternative<TileAssert>(planned.statement->what))
        return unsupported("it asserts something");
      if (std::holds_alternative<TileScan>(planned.statement->what))
        return unsupported("it takes in what stands before");
      if (varies(planned.axes) && planned.level > 0)
        return unsupported("what is reduced is read again");
    }
    SplitKernel split;
    split.parts_axis = from_.axes.size();
    split.parallel = plan_.parallel;
    for (const auto& reduction : plan_.reductions)
      for (const auto id : reduction.operands) split.parts.push_back(from_.type(id).dtype);
    split.first = first(split);
    split.second = second(split);
    split.counter = counter_;
    return split;
  }

 private:
  [[nodiscard]] auto varies(AxisSet axes) const -> bool {
    return std::ranges::any_of(plan_.reduced,
                               [&](std::size_t axis) { return (axes >> axis & 1U) != 0; });
  }
  void start(KernelBuilder& b, const SplitKernel& split, std::string_view part) {
    auto& kernel = b.kernel();
    b.start_as_part(from_, std::string(part));
    auto parts = from_.axes[axis_];
    parts.name = "part";
    kernel.axes.push_back(std::move(parts));
    buffers_.clear();
    for (const auto dtype : split.parts)
      buffers_.push_back(b.buffer_param(fmt::format("parts_{}", buffers_.size() + 1), dtype));
    counter_ = b.buffer_param("arrived", DType::int32);
    length_ = b.scalar_param("length");
    extent_ = b.scalar_param("extent");
    extents_.clear();
    for (const auto axis : plan_.parallel)
      extents_.push_back(b.scalar_param("extent_" + from_.axes[axis].name));
    values_.clear();
  }
  auto index(KernelBuilder& b, std::size_t axis) -> TileId {
    return b.add(TileIndex{axis}, {}, DType::int64, AxisSet{1} << axis);
  }
  /// part * (product of the parallel extents) + position among them
  auto place(KernelBuilder& b, std::size_t parts_axis) -> TileId {
    auto at = index(b, parts_axis);
    for (std::size_t i = 0; i < plan_.parallel.size(); ++i) {
      const auto extent = b.param(extents_[i], DType::int64);
      at = b.compute(TileOp::add,
                     {b.compute(TileOp::mul, {at, extent}), index(b, plan_.parallel[i])});
    }
    return at;
  }
  void copy(KernelBuilder& b, const TileStatement& one) {
    auto made = one;
    for (auto& id : made.operands)
      if (id != kNoTile) id = values_.at(id);
    b.set_line(one.line);
    if (made.results.empty()) return b.append(std::move(made));
    const auto& type = from_.type(one.results[0]);
    auto axes = b.axes_of(made.operands) | type.axes;
    values_[one.results[0]] = made.results[0] = b.value(type.dtype, axes);
    b.append(std::move(made));
  }

  auto first(SplitKernel& split) -> TileKernel {
    KernelBuilder b;
    start(b, split, "parts");
    auto& kernel = b.kernel();
    kernel.axes[split.parts_axis].kind = TileAxis::Kind::parallel;
    // Lengths are multiples of the grain, and code shall see it.
    const auto length = b.compute(
        TileOp::bit_and, {b.param(length_, DType::int64), b.number(DType::int64, -kPartGrain)});
    const auto origin = b.compute(TileOp::mul, {index(b, split.parts_axis), length});
    const auto divided = b.compute(TileOp::add, {origin, index(b, axis_)});
    if (clips_) split.clip = {axis_, split.parts_axis, length_, extent_, run_};
    auto inside = kNoTile;
    if (!clips_) {
      const auto asked = run_ == 1
                             ? divided
                             : b.compute(TileOp::bit_and, {divided, b.number(DType::int64, -run_)});
      inside = b.compute(TileOp::lt, {asked, b.param(extent_, DType::int64)});
    }
    const auto bit = AxisSet{1} << axis_;
    std::size_t next = 0;
    const auto at = place(b, split.parts_axis);
    for (const auto& planned : plan_.statements) {
      const auto& one = *planned.statement;
      if (planned.reduction) {
        const auto& reduction = plan_.reductions[*planned.reduction];
        std::vector<TileId> operands;
        for (std::size_t part = 0; part < reduction.operands.size(); ++part) {
          const auto id = values_.at(reduction.operands[part]);
          const auto none = b.identity(reduction.combine, part, b.type(id).dtype);
          operands.push_back(clips_ ? id : b.compute(TileOp::select, {inside, id, none}));
        }
        for (const auto axis : plan_.reduced)
          if (axis != axis_) operands = b.reduce(reduction.combine, axis, std::move(operands));
        for (const auto id : b.reduce(reduction.combine, axis_, std::move(operands))) {
          TileStatement store;
          store.what = TileStore{buffers_[next++]};
          store.operands = {at, id, kNoTile};
          b.append(std::move(store));
        }
        continue;
      }
      const bool is_store = std::holds_alternative<TileStore>(one.what);
      if (planned.level > 0 || (is_store && !varies(planned.axes))) continue;
      if (const auto* axis = std::get_if<TileIndex>(&one.what); axis && axis->axis == axis_) {
        values_[one.results[0]] = divided;
        continue;
      }
      copy(b, one);
      const bool is_load = std::holds_alternative<TileLoad>(one.what);
      if (auto& last = b.last(); (is_load || is_store) && (b.axes_of(last.operands) & bit) != 0) {
        const std::size_t mask = is_store ? 2 : 1;
        auto guarded = std::move(last);
        b.drop_last();
        guarded.operands[mask] = b.both(guarded.operands[mask], inside);
        b.append(std::move(guarded));
      }
    }
    return std::move(kernel);
  }

  auto second(const SplitKernel& split) -> TileKernel {
    KernelBuilder b;
    start(b, split, "whole");
    auto& kernel = b.kernel();
    kernel.axes[split.parts_axis].kind = TileAxis::Kind::reduction;
    // Axes that were reduced are gone: one element each.
    for (const auto axis : plan_.reduced) kernel.axes[axis].extent = Expr(1);
    const auto at = place(b, split.parts_axis);
    std::size_t next = 0;
    for (const auto& planned : plan_.statements) {
      if (planned.reduction) {
        const auto& reduction = plan_.reductions[*planned.reduction];
        std::vector<TileId> operands;
        for (std::size_t part = 0; part < reduction.operands.size(); ++part) {
          const auto buffer = buffers_[next++];
          operands.push_back(b.add(TileLoad{buffer}, {at, kNoTile, kNoTile},
                                   kernel.params[buffer].dtype, b.axes_of({at})));
        }
        const auto made = b.reduce(reduction.combine, split.parts_axis, std::move(operands));
        for (std::size_t i = 0; i < made.size(); ++i) values_[reduction.results[i]] = made[i];
        continue;
      }
      if (!varies(planned.axes)) copy(b, *planned.statement);
    }
    return std::move(kernel);
  }

  const TileKernel& from_;
  const KernelPlan& plan_;
  std::size_t axis_;
  std::int64_t run_;
  bool clips_;  ///< the axis' extent is the part's, and not only a mask
  std::vector<std::size_t> buffers_, extents_;
  std::size_t counter_ = 0, length_ = 0, extent_ = 0;
  std::map<TileId, TileId> values_;
};

}  // namespace

auto choose_split(const KernelPlan& plan, const std::vector<std::int64_t>& extents,
                  std::int64_t programs) -> std::optional<SplitChoice> {
  if (plan.reduced.empty() || plan.levels != 2 || programs <= 0 || programs * 2 >= kManyPrograms)
    return std::nullopt;
  std::int64_t elements = 1;
  for (const auto axis : plan.reduced) elements *= extents[axis];
  for (const auto axis : plan.parallel) elements *= extents[axis];
  // The longest axis, but the contiguous one only if it is the only long one.
  SplitChoice choice;
  std::int64_t longest = 0;
  for (const auto axis : plan.reduced) {
    const bool is_contiguous =
        static_cast<int>(axis) == plan.vector_axis && plan.reduced.size() > 1;
    const auto worth = is_contiguous ? extents[axis] / 64 : extents[axis];
    if (worth <= longest) continue;
    longest = worth;
    choice.axis = axis;
  }
  const auto extent = extents[choice.axis];
  const auto most = plan.parallel.empty()    ? kPartsOfAll
                    : plan.vector_is_reduced ? kManyPrograms
                                             : std::max(kManyColumns, 2 * programs);
  auto parts =
      std::min({most / programs, elements / kLeastElements / programs, extent / kLeastLength});
  if (parts < 2) return std::nullopt;
  choice.length = (extent + parts - 1) / parts;
  choice.length = (choice.length + kPartGrain - 1) / kPartGrain * kPartGrain;
  choice.parts = (extent + choice.length - 1) / choice.length;
  if (choice.parts < 2) return std::nullopt;
  constexpr std::int64_t kRun = 8;
  if (static_cast<int>(choice.axis) == plan.vector_axis && extent % kRun == 0) choice.run = kRun;
  return choice;
}

auto split_kernel(const TileKernel& kernel, const KernelPlan& plan, std::size_t axis,
                  std::int64_t run) -> Result<SplitKernel> {
  return Splitter(kernel, plan, axis, run).run();
}

}  // namespace assay
