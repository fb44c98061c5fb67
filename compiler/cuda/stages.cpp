#include "compiler/cuda/stages.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/cuda/kernel_copier.h"
#include "compiler/cuda/replaced_steps.h"

namespace assay {
namespace {

/// Blocks that leave most of a GPU idle, and elements for each that are worth launches more.
constexpr std::int64_t kFewBlocks = 100, kManyElements = 1 << 15;

class Stager final : KernelCopier {
 public:
  Stager(const TileKernel& kernel, const KernelPlan& plan) : KernelCopier(kernel, plan) {}

  auto run() -> Result<StagedKernel> {
    for (const auto& planned : plan_.statements) {
      const auto& what = planned.statement->what;
      if (std::holds_alternative<TileAssert>(what) || std::holds_alternative<TileAtomic>(what) ||
          (!planned.reduction && std::holds_alternative<TileScan>(what)) ||
          !planned.statement->regions.empty())
        return unsupported("what it does has an order");
    }
    for (const auto& reduction : plan_.reductions)
      for (const auto id : reduction.results) {
        kept_[id] = {staged_.reduced.size(), reduction.level};
        given_.insert(id);
        staged_.reduced.push_back(from_.type(id).dtype);
      }
    staged_.parallel = plan_.parallel;
    for (int level = 0; level + 1 < plan_.levels; ++level) staged_.kernels.push_back(stage(level));
    if (auto rest = elements()) staged_.kernels.push_back(std::move(rest));
    return std::move(staged_);
  }

 private:
  void start(KernelBuilder& b, const std::string& part) {
    KernelCopier::start(b, part);
    first_ = b.kernel().params.size();
    for (std::size_t i = 0; i < staged_.reduced.size(); ++i)
      (void)b.buffer_param(fmt::format("reduced_{}", i), staged_.reduced[i]);
    place_ = place_of_row();
  }
  /// What reductions of earlier levels have left in memory.
  void load_reduced(int level) {
    for (const auto& [id, kept] : kept_)
      if (kept.level < level && needed_.contains(id))
        values_[id] = b_->add(TileLoad{first_ + kept.buffer}, {place_, kNoTile, kNoTile},
                              from_.type(id).dtype, b_->axes_of({place_}));
  }
  void reduce(const PlannedReduction& reduction) {
    std::vector<TileId> made;
    for (const auto id : reduction.operands) made.push_back(value(id));
    for (const auto axis : plan_.reduced)
      made = b_->reduce(reduction.combine, axis, std::move(made));
    for (std::size_t part = 0; part < made.size(); ++part) {
      const auto id = reduction.results[part];
      values_[id] = made[part];
      store(first_ + kept_.at(id).buffer, place_, made[part]);
    }
  }

  /// The reductions of a level, and stores of what has a value behind them and none before.
  auto stage(int level) -> std::shared_ptr<const TileKernel> {
    KernelBuilder b;
    start(b, fmt::format("stage_{}", level));
    const auto is_reduced = [&](const PlannedStatement& planned) {
      return planned.reduction && plan_.reductions[*planned.reduction].level == level;
    };
    const auto is_stored = [&](const PlannedStatement& planned) {
      const bool is_here = planned.level == level + 1 || (level == 0 && planned.level == 0);
      return is_store(planned) && !varies(planned.axes) && is_here;
    };
    for (const auto& planned : plan_.statements)
      if (is_reduced(planned))
        for (const auto id : plan_.reductions[*planned.reduction].operands) need(id);
      else if (is_stored(planned))
        need_operands(*planned.statement);
    load_reduced(level);
    for (const auto& planned : plan_.statements)
      if (is_reduced(planned))
        reduce(plan_.reductions[*planned.reduction]);
      else if (is_stored(planned) || (!planned.reduction && is_needed(*planned.statement)))
        copy(*planned.statement);
    return std::make_shared<TileKernel>(std::move(b.kernel()));
  }
  /// What is stored of every element; null: nothing.
  auto elements() -> std::shared_ptr<const TileKernel> {
    KernelBuilder b;
    start(b, "elements");
    for (const auto axis : plan_.reduced) b.kernel().axes[axis].kind = TileAxis::Kind::parallel;
    const auto is_stored = [&](const PlannedStatement& planned) {
      return is_store(planned) && varies(planned.axes);
    };
    if (std::ranges::none_of(plan_.statements, is_stored)) return nullptr;
    for (const auto& planned : plan_.statements)
      if (is_stored(planned)) need_operands(*planned.statement);
    load_reduced(plan_.levels);
    for (const auto& planned : plan_.statements)
      if (is_stored(planned) || (!planned.reduction && is_needed(*planned.statement)))
        copy(*planned.statement);
    return std::make_shared<TileKernel>(std::move(b.kernel()));
  }

  struct Kept {
    std::size_t buffer = 0;
    int level = 0;  ///< of the reduction
  };
  std::map<TileId, Kept> kept_;  ///< results of reductions
  StagedKernel staged_;
  // Of the kernel that is made
  std::size_t first_ = 0;   ///< parameter of the first buffer
  TileId place_ = kNoTile;  ///< in those buffers
};

}  // namespace

auto stage_kernel(const TileKernel& kernel, const KernelPlan& plan) -> Result<StagedKernel> {
  return Stager(kernel, plan).run();
}

namespace {

auto scans(const KernelPlan& plan) -> bool {
  return std::ranges::any_of(plan.statements, [](const PlannedStatement& one) {
    return !one.reduction && std::holds_alternative<TileScan>(one.statement->what);
  });
}
/// Something of every element is wanted behind a reduction, which no parts can give.
auto reads_again(const KernelPlan& plan) -> bool {
  AxisSet reduced = 0;
  for (const auto axis : plan.reduced) reduced |= AxisSet{1} << axis;
  return std::ranges::any_of(plan.statements, [&](const PlannedStatement& one) {
    return one.level > 0 && (one.axes & reduced) != 0;
  });
}
void add_number(std::vector<BoundArgument>& arguments, std::int64_t number) {
  arguments.emplace_back().integer = number;
}
/// A buffer between the launches, which all take it.
auto add_buffer_of(BoundProgram& bound, DType dtype, std::int64_t elements,
                   std::vector<BoundArgument>& arguments) -> std::size_t {
  const auto buffer = add_buffer(bound, "reduced", dtype, elements);
  auto& argument = arguments.emplace_back();
  argument.buffer = buffer;
  argument.element_bytes = size_bytes(dtype);
  return buffer;
}

}  // namespace

void KernelStages::expand(BoundProgram& bound,
                          const std::function<const GpuKernel*(const std::string&)>& kernel) {
  replace_steps(bound, [&](const BoundStep& step) {
    const auto* launch = std::get_if<BoundLaunch>(&step);
    if (launch == nullptr) return false;
    const auto name = bound.kernels[launch->kernel];
    const auto* gpu = kernel(name);
    if (gpu == nullptr || gpu->loops() == nullptr) return false;
    const bool is_scan = scans(*gpu->loops());
    if (!is_scan && !reads_again(*gpu->loops())) return false;
    std::int64_t elements = 1;
    for (const auto extent : launch->extents) elements *= extent;
    TileLaunch asked;
    asked.extents = launch->extents;
    const auto blocks = gpu->blocks(asked);
    if (blocks <= 0 || blocks >= kFewBlocks || elements / blocks < kManyElements) return false;
    if (is_scan) {
      const auto* parted = made_of(parted_, *gpu, name, part_scan);
      return parted != nullptr && expand(bound, *launch, *parted, blocks);
    }
    const auto* staged = made_of(staged_, *gpu, name, stage_kernel);
    return staged != nullptr && expand(bound, *launch, *staged);
  });
}

template <class T>
auto KernelStages::made_of(std::map<std::string, T>& known, const GpuKernel& kernel,
                           const std::string& name,
                           Result<T> (*make)(const TileKernel&, const KernelPlan&)) -> const T* {
  const auto [at, is_new] = known.try_emplace(name);
  if (is_new)
    if (auto made = make(kernel.kernel(), *kernel.loops())) {
      at->second = *std::move(made);
      for (const auto& one : at->second.kernels) kernels_[one->name] = one;
    }
  return at->second.kernels.empty() ? nullptr : &at->second;
}

auto KernelStages::expand(BoundProgram& bound, const BoundLaunch& launch,
                          const StagedKernel& staged) -> bool {
  std::int64_t rows = 1;
  for (const auto axis : staged.parallel) rows *= launch.extents[axis];
  auto arguments = launch.arguments;
  std::vector<std::size_t> buffers;
  for (const auto dtype : staged.reduced)
    buffers.push_back(add_buffer_of(bound, dtype, rows, arguments));
  for (const auto axis : staged.parallel) add_number(arguments, launch.extents[axis]);
  for (const auto& kernel : staged.kernels) {
    auto made = launch;
    made.kernel = kernel_number(bound, kernel->name);
    made.arguments = arguments;
    for (const auto buffer : buffers) used_by_next(bound, buffer);
    bound.steps.emplace_back(std::move(made));
  }
  return true;
}

auto KernelStages::expand(BoundProgram& bound, const BoundLaunch& launch, const PartedScan& parted,
                          std::int64_t blocks) -> bool {
  constexpr std::int64_t kBusyBlocks = 512, kLeastLength = 2048, kGrain = 64;
  const auto extent = launch.extents[parted.axis];
  const auto wanted = std::min(kBusyBlocks / blocks, extent / kLeastLength);
  if (wanted < 2) return false;
  const auto length = ((extent + wanted - 1) / wanted + kGrain - 1) / kGrain * kGrain;
  const auto parts = (extent + length - 1) / length;
  std::int64_t rows = 1;
  for (const auto axis : parted.parallel) rows *= launch.extents[axis];
  auto arguments = launch.arguments;
  std::vector<std::size_t> buffers;
  for (int i = 0; i < 2; ++i)
    buffers.push_back(add_buffer_of(bound, parted.dtype, rows * parts, arguments));
  for (const auto number : {length, extent, parts}) add_number(arguments, number);
  for (const auto axis : parted.parallel) add_number(arguments, launch.extents[axis]);
  for (std::size_t i = 0; i < parted.kernels.size(); ++i) {
    auto made = launch;
    made.kernel = kernel_number(bound, parted.kernels[i]->name);
    made.arguments = arguments;
    made.extents[parted.axis] = i == 1 ? 1 : length;
    made.extents.push_back(parts);
    if (!made.blocks.empty()) {  // what is scanned or reduced is one tile's
      made.blocks[parted.axis] = made.extents[parted.axis];
      made.blocks.push_back(i == 1 ? parts : 1);
    }
    for (const auto buffer : buffers) used_by_next(bound, buffer);
    bound.steps.emplace_back(std::move(made));
  }
  return true;
}

auto KernelStages::find(const std::string& name) const -> std::shared_ptr<const TileKernel> {
  const auto known = kernels_.find(name);
  return known == kernels_.end() ? nullptr : known->second;
}

}  // namespace assay
