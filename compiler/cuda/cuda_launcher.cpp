#include "compiler/cuda/cuda_launcher.h"

#include <bit>
#include <span>

#include "core/ops/random_launch.h"

namespace assay {
namespace {

constexpr std::size_t kMostRecords = 4096;  ///< read when they are used up

}  // namespace

CudaLauncher::CudaLauncher(CudaState& state, const std::map<std::string, LoadedKernel*>& kernels,
                           const CompiledKernels& code, bool is_seeded)
    : state_(state),
      driver_(*state.driver),
      kernels_(kernels),
      code_(code),
      is_seeded_(is_seeded) {}

CudaLauncher::~CudaLauncher() {
  for (const auto& [storage, mirror] : mirrors_) driver_.free(mirror.address);
  if (records_ != 0) driver_.free(records_);
}

auto CudaLauncher::launch(const std::string& name, const TileLaunch& launch)
    -> std::optional<Result<void>> {
  const auto known = kernels_.find(name);
  if (known == kernels_.end()) return std::nullopt;
  auto& kernel = *known->second;
  const auto& code = code_.at(name);
  if (kernel.not_compiled.empty()) {
    const auto key = kernel.gpu.key(launch);
    const auto variant = state_.variant(kernel.gpu, kernel.variants, key);
    if (variant) return run(kernel, key, **variant, code, launch);
    kernel.not_compiled = variant.error().message;
  }
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    auto* storage = launch.arguments[i].storage;
    if (storage == nullptr) continue;
    if (auto here = to_host(*storage); !here) return here;
    if (code.writes(i)) host_wrote(*storage);
  }
  return std::nullopt;
}

auto CudaLauncher::to_host(RunStorage& storage) -> Result<void> {
  const auto known = mirrors_.find(&storage);
  if (known == mirrors_.end() || known->second.host_is_new) return {};
  known->second.host_is_new = true;
  return driver_.to_host({storage.bytes(), static_cast<std::size_t>(storage.size_bytes())},
                         known->second.address);
}

void CudaLauncher::host_wrote(RunStorage& storage) {
  if (const auto known = mirrors_.find(&storage); known != mirrors_.end())
    known->second.device_is_new = false;
}

auto CudaLauncher::calls(std::string_view name) const -> bool {
  return GpuLibraries::has(name) || state_.call_kernels.has(name);
}

auto CudaLauncher::call(const HostOp& op, const OpRow& row, const DatumList& args,
                        const Datum& result, const std::vector<RunStorage*>& storages,
                        std::size_t arg_tensors) -> Result<bool> {
  if (is_seeded_ && random_law(row)) return false;
  BoundCall given{.op = &op, .row = &row, .args = args, .result = result, .buffers = {}};
  given.arg_tensors = arg_tensors;
  const auto made = steps_of(std::move(given), storages);
  std::vector<bool> is_read(arg_tensors, true);
  visit_tensors(result, [&](const Tensor& tensor) {  // beside it there may be more
    const auto bytes = tensor.numel() * size_bytes(tensor.dtype());
    is_read.push_back(bytes < storages[is_read.size()]->size_bytes());
  });
  std::vector<cuda::Address> places;
  for (std::size_t i = 0; i < storages.size(); ++i) {
    ASSAY_TRY(auto* const mirror, on_device(*storages[i], is_read[i]));
    places.push_back(mirror->address);
  }
  for (std::size_t i = storages.size(); i < made.buffers.size(); ++i) {
    const auto bytes = static_cast<std::size_t>(made.buffers[i].size_bytes);
    ASSAY_TRY(places.emplace_back(), driver_.allocate(bytes));
  }
  auto done = issue(made, places);
  for (std::size_t i = storages.size(); i < places.size(); ++i) driver_.free(places[i]);
  if (!done || !*done) return done;
  for (std::size_t i = arg_tensors; i < storages.size(); ++i) {
    mirrors_[storages[i]].host_is_new = false;
    mirrors_[storages[i]].device_is_new = true;
  }
  return true;
}

auto CudaLauncher::on_device(RunStorage& storage, bool is_read) -> Result<Mirror*> {
  auto& mirror = mirrors_[&storage];
  const auto bytes = static_cast<std::size_t>(storage.size_bytes());
  if (mirror.address == 0) {
    ASSAY_TRY(mirror.address, driver_.allocate(bytes));
  }
  if (!mirror.device_is_new && is_read) {
    ASSAY_TRY_VOID(driver_.to_device(mirror.address, {storage.bytes(), bytes}));
    mirror.device_is_new = true;
  }
  return &mirror;
}

auto CudaLauncher::steps_of(BoundCall call, const std::vector<RunStorage*>& storages) const
    -> BoundProgram {
  BoundProgram made;
  for (auto* const storage : storages) {
    call.buffers.push_back(made.buffers.size());
    auto& buffer = made.buffers.emplace_back();
    buffer.size_bytes = storage->size_bytes();
    buffer.is_used = true;
  }
  made.steps.emplace_back(std::move(call));
  state_.call_kernels.expand(made,
                             [&](const BoundCall& one) { return state_.libraries->takes(one); });
  return made;
}

auto CudaLauncher::issue(const BoundProgram& made, const Places& places) -> Result<bool> {
  for (const auto& step : made.steps) {
    if (const auto* launch = std::get_if<BoundLaunch>(&step)) {
      ASSAY_TRY(const bool done, issue(made, *launch, places));
      if (!done) return false;
    } else if (const auto* call = std::get_if<BoundCall>(&step)) {
      if (!issue(*call, places)) return false;
    }
  }
  return true;
}

auto CudaLauncher::issue(const BoundCall& call, const Places& places) -> bool {
  auto works = state_.libraries->prepare(call, places);
  if (!works) return false;
  if (auto* const watch = state_.options.watch; watch != nullptr)
    watch->issues({.kernel = call.row->name(),
                   .statement = call.op->text,
                   .line = call.op->line,
                   .number = ++number_,
                   .sizes = {}});
  for (auto& work : *works) {
    if (!work->issue()) return false;
    works_.push_back(std::move(work));
  }
  return true;
}

auto CudaLauncher::issue(const BoundProgram& made, const BoundLaunch& launch, const Places& places)
    -> Result<bool> {
  auto& kernel = *state_.loaded(state_.call_kernels.find(made.kernels[launch.kernel]));
  auto asked = GpuProgram::asked(launch);
  std::vector<Memory> memory;
  for (const auto& argument : launch.arguments) {
    TileArgument value;
    value.offset_bytes = argument.offset_bytes;
    value.integer = argument.integer;
    value.real = argument.real;
    asked.arguments.push_back(std::move(value));
    memory.push_back(argument.buffer ? Memory{places[*argument.buffer],
                                              made.buffers[*argument.buffer].size_bytes}
                                     : Memory{});
  }
  const auto key = kernel.gpu.key(asked);
  const auto variant = state_.variant(kernel.gpu, kernel.variants, key);
  if (!variant) return false;
  ASSAY_TRY_VOID(run(kernel, key, **variant, asked, memory));
  return true;
}

auto CudaLauncher::collect() -> Result<void> {
  ASSAY_TRY_VOID(driver_.wait());
  std::vector<GpuRecord> records(launched_.size());
  ASSAY_TRY_VOID(driver_.to_host(std::as_writable_bytes(std::span(records)), records_));
  for (std::size_t i = 0; i < records.size(); ++i)
    if (const auto finding = finding_of(records[i], *launched_[i]))
      return bad_input("kernel {}, line {}: {}", finding->kernel, finding->kernel_line,
                       finding->message);
  launched_.clear();
  return {};
}

auto CudaLauncher::record_for(const TileKernel& kernel) -> Result<cuda::Address> {
  if (records_ == 0) {
    ASSAY_TRY(records_, driver_.allocate(kMostRecords * sizeof(GpuRecord)));
    ASSAY_TRY_VOID(driver_.fill(records_, 0, kMostRecords * sizeof(GpuRecord)));
  }
  if (launched_.size() == kMostRecords) ASSAY_TRY_VOID(collect());
  launched_.push_back(&kernel);
  return records_ + (launched_.size() - 1) * sizeof(GpuRecord);
}

auto CudaLauncher::run(const LoadedKernel& kernel, const GpuVariantKey& key,
                       const GpuVariant& variant, const TileCode& code, const TileLaunch& launch)
    -> Result<void> {
  std::vector<Memory> memory(launch.arguments.size());
  for (std::size_t i = 0; i < memory.size(); ++i) {
    auto* const storage = launch.arguments[i].storage;
    if (storage == nullptr) continue;
    ASSAY_TRY(auto* const mirror, on_device(*storage));
    memory[i] = {mirror->address, storage->size_bytes()};
  }
  ASSAY_TRY_VOID(run(kernel, key, variant, launch, memory));
  for (std::size_t i = 0; i < launch.arguments.size(); ++i)
    if (auto* storage = launch.arguments[i].storage; storage != nullptr && code.writes(i))
      mirrors_[storage].host_is_new = false;
  return {};
}

auto CudaLauncher::run(const LoadedKernel& kernel, const GpuVariantKey& key,
                       const GpuVariant& variant, const TileLaunch& launch,
                       const std::vector<Memory>& memory) -> Result<void> {
  ASSAY_TRY(const auto shape, kernel.gpu.shape(key, variant, launch));
  if (shape.grid[0] == 0 || shape.grid[1] == 0 || shape.grid[2] == 0) return {};
  std::vector<std::uint64_t> values(variant.kernel().params.size(), 0);
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    const auto& argument = launch.arguments[i];
    const auto& param = variant.kernel().params[i];
    if (param.kind == TileParam::Kind::buffer) {
      if (memory[i].address == 0) continue;
      values[i] = memory[i].address + static_cast<std::uint64_t>(argument.offset_bytes);
    } else if (is_floating(param.dtype)) {
      values[i] = std::bit_cast<std::uint64_t>(argument.real);
    } else {
      values[i] = static_cast<std::uint64_t>(argument.integer);
    }
  }
  variant.add_numbers(launch.extents, shape, values);
  if (state_.options.is_checked) {
    std::vector<GpuMemory> bounds;
    for (std::size_t i = 0; i < launch.arguments.size(); ++i)
      bounds.push_back({.offset = launch.arguments[i].offset_bytes, .size = memory[i].size_bytes});
    add_memory(variant.kernel(), bounds, 1, values);
  }
  ASSAY_TRY(values.emplace_back(), record_for(variant.kernel()));
  std::vector<void*> arguments;
  for (auto& value : values) arguments.push_back(&value);
  auto* const watch = state_.options.watch;
  if (watch != nullptr)
    watch->issues({.kernel = variant.kernel().name,
                   .statement = op_ == nullptr ? "" : op_->text,
                   .line = op_ == nullptr ? 0 : op_->line,
                   .number = ++number_,
                   .sizes = sizes_text(shape, *variant.given, launch.extents)});
  ASSAY_TRY_VOID(driver_.launch(variant.function, shape, arguments));
  if (watch != nullptr && watch->one_by_one()) ASSAY_TRY_VOID(driver_.wait());
  return {};
}

}  // namespace assay
