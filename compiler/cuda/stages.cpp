#include "compiler/cuda/stages.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/cuda/replaced_steps.h"
#include "compiler/program/kernel_builder.h"

namespace assay {
namespace {

/// Blocks that leave most of a GPU idle, and elements for each that are worth launches more.
constexpr std::int64_t kFewBlocks = 100, kManyElements = 1 << 15;

class Stager {
 public:
  Stager(const TileKernel& kernel, const KernelPlan& plan) : from_(kernel), plan_(plan) {}

  auto run() -> Result<StagedKernel> {
    for (const auto& planned : plan_.statements) {
      const auto& what = planned.statement->what;
      if (std::holds_alternative<TileAssert>(what) || std::holds_alternative<TileAtomic>(what) ||
          (!planned.reduction && std::holds_alternative<TileScan>(what)) ||
          !planned.statement->regions.empty())
        return unsupported("what it does has an order");
      if (planned.reduction) continue;
      for (const auto id : planned.statement->results) makers_[id] = planned.statement;
    }
    StagedKernel staged;
    staged.parallel = plan_.parallel;
    for (std::size_t i = 0; i < plan_.reductions.size(); ++i)
      for (std::size_t part = 0; part < plan_.reductions[i].results.size(); ++part) {
        const auto id = plan_.reductions[i].results[part];
        kept_[id] = staged.reduced.size();
        staged.reduced.push_back(from_.type(id).dtype);
      }
    for (int level = 0; level + 1 < plan_.levels; ++level)
      staged.kernels.push_back(stage(staged, level));
    if (auto rest = elements(staged)) staged.kernels.push_back(std::move(rest));
    return staged;
  }

 private:
  [[nodiscard]] auto varies(AxisSet axes) const -> bool {
    return std::ranges::any_of(plan_.reduced,
                               [&](std::size_t axis) { return (axes >> axis & 1U) != 0; });
  }
  void start(KernelBuilder& b, const StagedKernel& staged, const std::string& part) {
    auto& kernel = b.kernel();
    b.start_as_part(from_, part);
    first_ = kernel.params.size();
    for (const auto dtype : staged.reduced)
      (void)b.buffer_param(fmt::format("reduced_{}", kernel.params.size() - first_), dtype);
    extents_.clear();
    for (const auto axis : plan_.parallel)
      extents_.push_back(b.scalar_param("extent_" + from_.axes[axis].name));
    values_.clear();
    b_ = &b;
    place_ = b.number(DType::int64, 0);
    for (std::size_t i = 0; i < plan_.parallel.size(); ++i) {
      const auto axis = plan_.parallel[i];
      const auto at = b.add(TileIndex{axis}, {}, DType::int64, AxisSet{1} << axis);
      const auto before = b.compute(TileOp::mul, {place_, b.param(extents_[i], DType::int64)});
      place_ = i == 0 ? at : b.compute(TileOp::add, {before, at});
    }
  }

  /// A value of the kernel here: of a reduction that is over from memory, else made anew.
  auto value(TileId id) -> TileId {
    if (id == kNoTile) return id;
    if (const auto known = values_.find(id); known != values_.end()) return known->second;
    if (const auto kept = kept_.find(id); kept != kept_.end()) {
      const auto made = b_->add(TileLoad{first_ + kept->second}, {place_, kNoTile, kNoTile},
                                from_.type(id).dtype, b_->axes_of({place_}));
      return values_[id] = made;
    }
    const auto& one = *makers_.at(id);
    put(one);
    return values_.at(id);
  }
  void put(const TileStatement& one) {
    auto made = one;
    for (auto& operand : made.operands) operand = value(operand);
    b_->set_line(one.line);
    for (auto& result : made.results) {
      const auto& type = from_.type(result);
      const auto here = b_->value(type.dtype, b_->axes_of(made.operands) | type.axes);
      values_[std::exchange(result, here)] = here;
    }
    b_->append(std::move(made));
  }

  /// The reductions of a level, and stores of what has a value behind them and none before.
  auto stage(const StagedKernel& staged, int level) -> std::shared_ptr<const TileKernel> {
    KernelBuilder b;
    start(b, staged, fmt::format("stage_{}", level));
    for (const auto& reduction : plan_.reductions) {
      if (reduction.level != level) continue;
      std::vector<TileId> made;
      for (const auto id : reduction.operands) made.push_back(value(id));
      for (const auto axis : plan_.reduced)
        made = b.reduce(reduction.combine, axis, std::move(made));
      for (std::size_t part = 0; part < made.size(); ++part) {
        const auto id = reduction.results[part];
        values_[id] = made[part];
        TileStatement store;
        store.what = TileStore{first_ + kept_.at(id)};
        store.operands = {place_, made[part], kNoTile};
        b.append(std::move(store));
      }
    }
    for (const auto& planned : plan_.statements) {
      const bool is_here = planned.level == level + 1 || (level == 0 && planned.level == 0);
      if (is_store(planned) && !varies(planned.axes) && is_here) put(*planned.statement);
    }
    return std::make_shared<TileKernel>(std::move(b.kernel()));
  }
  /// What is stored of every element; null: nothing.
  auto elements(const StagedKernel& staged) -> std::shared_ptr<const TileKernel> {
    KernelBuilder b;
    start(b, staged, "elements");
    for (const auto axis : plan_.reduced) b.kernel().axes[axis].kind = TileAxis::Kind::parallel;
    bool any = false;
    for (const auto& planned : plan_.statements) {
      if (!is_store(planned) || !varies(planned.axes)) continue;
      put(*planned.statement);
      any = true;
    }
    return any ? std::make_shared<TileKernel>(std::move(b.kernel())) : nullptr;
  }
  [[nodiscard]] static auto is_store(const PlannedStatement& planned) -> bool {
    return !planned.reduction && std::holds_alternative<TileStore>(planned.statement->what);
  }

  const TileKernel& from_;
  const KernelPlan& plan_;
  std::map<TileId, const TileStatement*> makers_;
  std::map<TileId, std::size_t> kept_;  ///< results of reductions: which buffer
  // Of the kernel that is made
  KernelBuilder* b_ = nullptr;
  std::size_t first_ = 0;  ///< parameter of the first buffer
  std::vector<std::size_t> extents_;
  TileId place_ = kNoTile;  ///< in those buffers
  std::map<TileId, TileId> values_;
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
