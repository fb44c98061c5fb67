#include "compiler/cuda/gpu_code.h"

#include <algorithm>
#include <array>
#include <limits>

#include "compiler/cuda/blocks.h"
#include "compiler/runtime/codegen_library.h"

namespace assay {
namespace {

constexpr const char* kEntry = "kernel";
constexpr std::int64_t kAnyRun = 16;  ///< kernels with blocks of their own: bytes, 16 at once

}  // namespace

struct GpuKernel::Split {
  Split(SplitKernel made, const std::string& name, std::int64_t most_ranks)
      : kernels(std::move(made)),
        both(kernels.first),
        first(kernels.first, most_ranks, kernels.clip),
        second(kernels.second, most_ranks) {
    if (auto tail = first.plan_ ? plan_tail(kernels, *first.plan_) : std::nullopt)
      together.emplace(both, most_ranks, kernels.clip, *std::move(tail));
    both.name = name;
  }
  SplitKernel kernels;
  TileKernel both;  ///< the first one, by the name of the kernel
  GpuKernel first, second;
  std::optional<GpuKernel> together;
};

void SplitLaunch::join() {
  if (together == nullptr) return;
  kernels = {together};
  extents.resize(1);
}

GpuKernel::~GpuKernel() = default;

GpuKernel::GpuKernel(const TileKernel& kernel, std::int64_t most_ranks,
                     std::optional<TileClip> clip, const TileTail& tail)
    : kernel_(kernel), most_ranks_(most_ranks), tail_(tail) {
  is_exact_ = kernel.grid.empty() &&
              std::ranges::all_of(kernel.axes, [](const TileAxis& axis) { return axis.exact; });
  if (!is_exact_) return;
  auto plan = plan_tiles(kernel, clip);
  if (plan)
    plan_ = std::move(*plan);
  else
    not_planned_ = plan.error().message;
}

auto GpuKernel::key(const TileLaunch& launch) const -> GpuVariantKey {
  if (plan_) return {choose_tiles(*plan_, launch.extents, most_ranks_), {}};
  return {{}, choose_gpu_blocks(kernel_, launch.extents)};
}

auto GpuKernel::blocks(const TileLaunch& launch) const -> std::int64_t {
  if (!plan_) return 0;
  const auto choice = choose_tiles(*plan_, launch.extents, most_ranks_);
  return tiled_programs(*plan_, choice, launch.extents) * choice.threads.ranks;
}

auto GpuKernel::candidates(const TileLaunch& launch) const -> std::vector<GpuVariantKey> {
  std::vector<GpuVariantKey> all;
  if (plan_)
    for (const auto& choice : tile_candidates(*plan_, launch.extents, most_ranks_))
      all.push_back({choice, {}});
  else
    for (const auto& blocks : gpu_block_candidates(kernel_, launch.extents))
      all.push_back({{}, blocks});
  return all;
}

auto GpuKernel::split(const TileLaunch& launch) const -> std::optional<SplitLaunch> {
  if (!plan_) return std::nullopt;
  const auto programs =
      tiled_programs(*plan_, choose_tiles(*plan_, launch.extents, most_ranks_), launch.extents);
  const auto choice = choose_split(plan_->loops, launch.extents, programs);
  if (!choice) return std::nullopt;
  const auto [known, is_new] = splits_.try_emplace({choice->axis, choice->run});
  if (is_new)
    if (auto made = split_kernel(kernel_, plan_->loops, choice->axis, choice->run))
      known->second = std::make_unique<Split>(*std::move(made), kernel_.name, most_ranks_);
  if (known->second == nullptr) return std::nullopt;
  const auto& split = *known->second;
  SplitLaunch launches;
  launches.kernels = {&split.first, &split.second};
  launches.extents.assign(2, launch.extents);
  launches.extents[0][choice->axis] = choice->length;
  for (const auto axis : plan_->loops.reduced) launches.extents[1][axis] = 1;
  for (auto& extents : launches.extents) extents.push_back(choice->parts);
  launches.numbers = {choice->length, launch.extents[choice->axis]};
  std::int64_t elements = choice->parts;
  for (const auto axis : split.kernels.parallel) {
    launches.numbers.push_back(launch.extents[axis]);
    elements *= launch.extents[axis];
  }
  for (const auto dtype : split.kernels.parts)
    launches.parts_bytes.push_back(elements * size_bytes(dtype));
  if (!split.together) return launches;
  TileLaunch first;
  first.extents = launches.extents[0];
  const auto tiles = split.first.key(first).choice;
  // A cluster's blocks would be counted one by one.
  if (tiles.threads.ranks > 1) return launches;
  launches.together = &*split.together;
  first.extents[split.kernels.parts_axis] = 1;  // one for the programs of a tile of columns
  launches.counters = tiled_programs(*split.first.plan_, tiles, first.extents);
  return launches;
}

auto GpuKernel::variant(const GpuVariantKey& key) const -> Result<GpuVariant> {
  if (is_exact_ && !plan_) return unsupported("{}", not_planned_);
  GpuVariant variant;
  variant.given = &kernel_;
  auto& kernel = variant.tiled.kernel;
  if (plan_) {
    ASSAY_TRY(variant.tiled, tile_kernel(kernel_, *plan_, key.choice));
    if (tail_.kernel != nullptr) {
      ASSAY_TRY(variant.tiled, with_tail(std::move(variant.tiled), tail_, key.choice));
    }
    for (const auto& axis : kernel.axes) variant.blocks.push_back(axis.max_block);
    if (key.choice.is_placed()) {
      variant.layout = placed_layout(variant.blocks, variant.tiled.places,
                                     static_cast<int>(key.choice.neighbours),
                                     static_cast<int>(most_threads(*plan_)));
      variant.layout.fills_warps = key.choice.fills_warps;
      variant.layout.is_whole = key.choice.is_whole;
      variant.most_registers = most_registers(*plan_, key.choice);
      return variant;
    }
  } else {
    kernel = kernel_;
    variant.blocks = key.blocks;
    // Blocks are constants of the code.
    for (std::size_t i = 0; i < kernel_.axes.size(); ++i)
      for (auto& param : kernel.params)
        if (param.kind == TileParam::Kind::block && param.symbol == kernel_.axes[i].block)
          param.fixed = key.blocks[i];
  }
  ASSAY_TRY(variant.layout, layout_for(kernel, variant.blocks, plan_ ? key.choice.run : kAnyRun,
                                       key.choice.registers));
  return variant;
}

void GpuVariant::add_numbers(const std::vector<std::int64_t>& extents,
                             const cuda::LaunchShape& shape,
                             std::vector<std::uint64_t>& values) const {
  for (std::size_t i = 0; i < tiled.extents.size(); ++i)
    values[tiled.extents[i]] = static_cast<std::uint64_t>(extents[i]);
  const auto& threads = shape.threads;
  for (std::size_t i = 0; i < tiled.threads.size(); ++i)
    values[tiled.threads[i]] = i < threads.size() ? threads[i] : shape.ranks;
}

auto GpuKernel::shape(const GpuVariantKey& key, const GpuVariant& variant,
                      const TileLaunch& launch) const -> Result<cuda::LaunchShape> {
  cuda::LaunchShape shape;
  shape.begins_early = variant.begins_early;
  shape.threads[0] = static_cast<unsigned>(variant.layout.threads());
  std::array<std::int64_t, 3> grid = {1, 1, 1};
  if (plan_) {
    const auto [across, down] = tiled_grid(*plan_, key.choice, launch.extents);
    grid = {across, down, 1};
    if (key.choice.is_placed()) {
      const auto& threads = key.choice.threads;
      shape.threads = {static_cast<unsigned>(threads.x), static_cast<unsigned>(threads.y),
                       static_cast<unsigned>(threads.z)};
      shape.ranks = static_cast<unsigned>(threads.ranks);
      grid[1] *= threads.ranks;
    }
  } else {
    if (kernel_.grid.empty()) return unsupported("the grid of {} is not known", kernel_.name);
    auto scalars = launch.scalars;
    for (std::size_t i = 0; i < kernel_.axes.size(); ++i)
      if (!kernel_.axes[i].block.is_const()) scalars[kernel_.axes[i].block] = key.blocks[i];
    for (std::size_t i = 0; i < kernel_.grid.size() && i < grid.size(); ++i) {
      ASSAY_TRY(grid[i], evaluate_int(kernel_.grid[i], scalars));
    }
  }
  constexpr std::array<std::int64_t, 3> kMost = {std::numeric_limits<std::int32_t>::max(),
                                                 kMostProgramsDown, kMostProgramsDown};
  for (std::size_t i = 0; i < grid.size(); ++i) {
    if (grid[i] > kMost[i]) return unsupported("a grid of {} programs", grid[i]);
    shape.grid[i] = static_cast<unsigned>(std::max<std::int64_t>(grid[i], 0));
  }
  return shape;
}

void add_memory(const TileKernel& kernel, const std::vector<GpuMemory>& memory,
                std::uint64_t launch, std::vector<std::uint64_t>& values) {
  for (std::size_t i = 0; i < kernel.params.size(); ++i) {
    if (kernel.params[i].kind != TileParam::Kind::buffer) continue;
    const auto size = static_cast<std::int64_t>(size_bytes(kernel.params[i].dtype));
    const auto known = i < memory.size() ? memory[i] : GpuMemory{};
    const auto first = known.offset / size;
    values.push_back(static_cast<std::uint64_t>(-first));
    values.push_back(static_cast<std::uint64_t>((known.size - known.offset) / size));
    const bool is_watched = known.shadow != 0 && known.offset % size == 0;
    values.push_back(
        is_watched ? known.shadow + static_cast<std::uint64_t>(first) * sizeof(GpuShadow) : 0);
    values.push_back(launch << kLaunchShift);
  }
}

namespace {
/// In the order of GpuFault.
struct FaultRow {
  GpuFault fault;
  RunFault means;
  const char* message;  ///< of an element and a parameter, where there are any
};
constexpr std::array kFaults = {
    FaultRow{GpuFault::false_assert, RunFault::device_assert, "the assert is false"},
    FaultRow{GpuFault::out_of_bounds, RunFault::out_of_bounds,
             "element {} of {} is outside of its memory"},
    FaultRow{GpuFault::uninitialised, RunFault::uninitialised,
             "element {} of {} is read, but nobody wrote it"},
    FaultRow{GpuFault::write_conflict, RunFault::write_conflict,
             "element {} of {} is written by two programs of the grid, or by two lanes of one"},
    FaultRow{
        GpuFault::read_conflict, RunFault::read_conflict,
        "element {} of {} is read by one program of the grid, or lane, and written by another"},
};
static_assert(std::ranges::all_of(kFaults, [](const FaultRow& row) {
  return &row - kFaults.data() == static_cast<std::ptrdiff_t>(row.fault);
}));
}  // namespace

auto finding_of(const GpuRecord& record, const TileKernel& kernel) -> std::optional<RunFinding> {
  if (record.line == 0) return std::nullopt;
  RunFinding finding;
  finding.kernel = kernel.name;
  finding.kernel_line = static_cast<int>(record.line - 1);
  const auto& row = kFaults.at(static_cast<std::size_t>(record.fault));
  finding.fault = row.means;
  finding.element = record.element;
  if (record.param >= 0)
    finding.param = kernel.params.at(static_cast<std::size_t>(record.param)).name;
  finding.message = fmt::format(fmt::runtime(row.message), record.element, finding.param);
  return finding;
}

auto sizes_text(const cuda::LaunchShape& shape, const TileKernel& kernel,
                const std::vector<std::int64_t>& extents) -> std::string {
  auto text =
      fmt::format("grid {}, {} threads", fmt::join(shape.grid, "x"), fmt::join(shape.threads, "x"));
  if (shape.ranks > 1) text += fmt::format(", clusters of {}", shape.ranks);
  for (std::size_t i = 0; i < std::min(extents.size(), kernel.axes.size()); ++i)
    text += fmt::format(", {}={}", kernel.axes[i].name, extents[i]);
  return text;
}

auto make_ptx(std::vector<GpuVariant*> variants, const PtxOptions& options) -> Result<void> {
  ASSAY_TRY(void* const entry, codegen_entry(kCompilePtxSymbol));
  const auto generate = reinterpret_cast<CompilePtx>(entry);  // what dlsym is for
  std::vector<PtxRequest> requests;
  for (const auto* variant : variants)
    requests.push_back({&variant->kernel(), variant->layout, kEntry, variant->most_registers});
  ASSAY_TRY(auto code, generate(requests, options));
  for (std::size_t i = 0; i < variants.size(); ++i) {
    variants[i]->ptx = std::move(code[i].text);
    variants[i]->not_compiled = std::move(code[i].not_compiled);
  }
  return {};
}

namespace {

/// Code of a launch, after what it is launched with where its sizes are known.
auto launch_text(const GpuKernel& gpu, const TileLaunch& launch, const PtxOptions& options,
                 bool has_sizes) -> Result<std::string> {
  auto text = fmt::format("// kernel {}\n", gpu.kernel().name);
  const auto key = gpu.key(launch);
  auto variant = gpu.variant(key);
  if (!variant) return text + fmt::format("// no code: {}\n", variant.error().message);
  ASSAY_TRY_VOID(make_ptx({&*variant}, options));
  if (const auto shape = gpu.shape(key, *variant, launch); shape && has_sizes)
    text += fmt::format("// {}\n", sizes_text(*shape, gpu.kernel(), launch.extents));
  const auto& problem = variant->not_compiled;
  return text + (problem.empty() ? variant->ptx : fmt::format("// no code: {}\n", problem));
}

}  // namespace

auto ptx_text(const HostProgram& program, const PtxOptions& options,
              const std::map<std::string, std::vector<std::int64_t>>& extents)
    -> Result<std::string> {
  constexpr std::int64_t kUsualExtent = 1000;
  std::string text;
  for (const auto& [name, source] : program.kernels) {
    if (!source.kernel) {
      text += fmt::format("// kernel {}\n// not read: {}\n", name, source.not_read);
      continue;
    }
    const GpuKernel gpu(*source.kernel);
    TileLaunch launch;
    launch.extents.assign(source.kernel->axes.size(), kUsualExtent);
    const auto known = extents.find(name);
    const bool has_sizes = known != extents.end();
    if (has_sizes) launch.extents = known->second;
    auto split = has_sizes ? gpu.split(launch) : std::nullopt;
    if (split && !options.is_checked) split->join();
    for (std::size_t i = 0; i < (split ? split->kernels.size() : 1); ++i) {
      if (split) launch.extents = split->extents[i];
      ASSAY_TRY(const auto one,
                launch_text(split ? *split->kernels[i] : gpu, launch, options, has_sizes));
      text += one;
    }
  }
  return text;
}

}  // namespace assay
