#include "compiler/cuda/cuda.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <map>
#include <optional>
#include <thread>

#include "compiler/cuda/call_kernels.h"
#include "compiler/cuda/gpu_code.h"
#include "compiler/cuda/gpu_program.h"
#include "compiler/cuda/stages.h"
#include "compiler/interpret/host_machine.h"
#include "compiler/program/text.h"
#include "compiler/runtime/codegen_library.h"
#include "core/base/clock.h"

namespace assay {
namespace {

using Variants = std::map<GpuVariantKey, GpuVariant>;
/// A kernel of a program with the variants that runs asked for.
struct LoadedKernel {
  LoadedKernel(const TileKernel& kernel, int most_ranks) : gpu(kernel, most_ranks) {}
  GpuKernel gpu;
  Variants variants;
  std::map<const GpuKernel*, Variants> parts;  ///< of what it is split into
  std::string not_compiled;
};

}  // namespace

struct CudaState {
  explicit CudaState(const OpTable& table) : call_kernels(table) {}

  std::unique_ptr<cuda::Driver> driver;
  std::unique_ptr<GpuLibraries> libraries;
  std::unique_ptr<GpuGraphs> graphs;
  std::shared_ptr<GpuArena> arena;
  CudaOptions options;
  std::map<std::uint64_t, std::unique_ptr<LoadedKernel>> kernels;  ///< by structure, or address
  std::vector<cuda::ModuleHandle*> modules;
  std::vector<std::shared_ptr<const TileKernel>> kept;
  CallKernels call_kernels;
  std::map<std::string, GpuWay> ways;  ///< of launches that were tuned, by tuning_key

  ~CudaState() {
    if (driver != nullptr) static_cast<void>(driver->wait());  // for a call that failed half-way
    for (auto* module : modules) driver->unload(module);
  }

  /// The code for this launch. Errors: unsupported (no code for the kernel), what the driver says.
  auto variant(const GpuKernel& kernel, Variants& variants, const GpuVariantKey& key)
      -> Result<GpuVariant*> {
    if (const auto known = variants.find(key.code()); known != variants.end())
      return &known->second;
    ASSAY_TRY_VOID(driver->wait());  // lest loading waits for what is not watched
    ASSAY_TRY(auto made, make(kernel, key));
    modules.push_back(made.module);
    return &variants.emplace(key.code(), std::move(made.variant)).first->second;
  }

  auto loaded(const std::shared_ptr<const TileKernel>& kernel) -> LoadedKernel* {
    // Symbols of grids belong to a program; what has exact axes is told extents instead.
    const auto identity = GpuKernel(*kernel).is_exact()
                              ? structural_hash(*kernel)
                              : reinterpret_cast<std::uintptr_t>(kernel.get());
    auto& known = kernels[identity];
    if (known == nullptr) {
      kept.push_back(kernel);
      known = std::make_unique<LoadedKernel>(*kernel, driver->facts().most_ranks);
    }
    return known.get();
  }

  struct Made {
    GpuVariant variant;
    cuda::ModuleHandle* module = nullptr;
  };
  /// Changes nothing here, so several threads may.
  [[nodiscard]] auto make(const GpuKernel& kernel, const GpuVariantKey& key) const -> Result<Made> {
    Made made;
    ASSAY_TRY(made.variant, kernel.variant(key));
    ASSAY_TRY(const auto code, machine_code(made.variant));
    ASSAY_TRY(made.module, driver->load(code));
    ASSAY_TRY(made.variant.function, driver->function(made.module, "kernel"));
    return made;
  }
  [[nodiscard]] auto tunes() const -> bool { return options.is_tuned && !options.is_checked; }
  /// As it was measured, here or in an earlier process; nothing where nobody did.
  [[nodiscard]] auto tuned(const GpuKernel& kernel, const TileLaunch& launch)
      -> std::optional<GpuWay> {
    if (!tunes()) return std::nullopt;
    const auto key = tuning_key(machine(), kernel, launch);
    if (const auto known = ways.find(key); known != ways.end()) return known->second;
    if (options.cache == nullptr) return std::nullopt;
    const auto kept_text = options.cache->find(key);
    if (!kept_text) return std::nullopt;
    const auto way = parse_way(*kept_text);
    if (way) ways[key] = *way;
    return way;
  }
  void prefer(const GpuKernel& kernel, const TileLaunch& launch, const GpuWay& way) {
    const auto key = tuning_key(machine(), kernel, launch);
    ways[key] = way;
    if (options.cache != nullptr) options.cache->keep(key, print_way(way));
  }
  [[nodiscard]] auto machine() const -> std::string {
    return fmt::format("{} {} {}", driver->facts().name, driver->facts().version, codegen_stamp());
  }

  /// Of this GPU, by this driver. Without a cache what the driver makes of PTX is its own matter.
  [[nodiscard]] auto machine_code(GpuVariant& variant) const -> Result<std::string> {
    const PtxOptions ptx{.architecture = driver->facts().capability,
                         .is_checked = options.is_checked};
    std::string key;
    if (options.cache != nullptr) {
      const auto& layout = variant.layout;
      key =
          fmt::format("cuda {} {} {} checked {} blocks {} registers {} {} placed {}\n{}",
                      driver->facts().version, ptx.architecture, codegen_stamp(), ptx.is_checked,
                      fmt::join(variant.blocks, " "), layout.contiguous_bits, layout.register_bits,
                      layout.is_placed() ? layout.threads() : 0, print_kernel(variant.kernel()));
      if (auto known = options.cache->find(key)) return *std::move(known);
    }
    ASSAY_TRY_VOID(make_ptx({&variant}, ptx));
    if (!variant.not_compiled.empty()) return unsupported("{}", variant.not_compiled);
    if (options.cache == nullptr) return variant.ptx;
    ASSAY_TRY(auto code, driver->assemble(variant.ptx));
    options.cache->keep(key, code);
    return code;
  }
};

namespace {

/// Launches of one run. A storage is on the host, on the GPU, or on both.
class CudaLauncher final : public KernelLauncher {
 public:
  CudaLauncher(CudaState& state, const std::map<std::string, LoadedKernel*>& kernels,
               const CompiledKernels& code)
      : state_(state), driver_(*state.driver), kernels_(kernels), code_(code) {}
  ~CudaLauncher() override {
    for (const auto& [storage, mirror] : mirrors_) driver_.free(mirror.address);
    if (records_ != 0) driver_.free(records_);
  }
  CudaLauncher(const CudaLauncher&) = delete;
  auto operator=(const CudaLauncher&) -> CudaLauncher& = delete;

  [[nodiscard]] auto launch(const std::string& name, const TileLaunch& launch)
      -> std::optional<Result<void>> override {
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

  [[nodiscard]] auto to_host(RunStorage& storage) -> Result<void> override {
    const auto known = mirrors_.find(&storage);
    if (known == mirrors_.end() || known->second.host_is_new) return {};
    known->second.host_is_new = true;
    return driver_.to_host({storage.bytes(), static_cast<std::size_t>(storage.size_bytes())},
                           known->second.address);
  }
  void host_wrote(RunStorage& storage) override {
    if (const auto known = mirrors_.find(&storage); known != mirrors_.end())
      known->second.device_is_new = false;
  }

  [[nodiscard]] auto calls(std::string_view name) const -> bool override {
    return GpuLibraries::has(name);
  }
  [[nodiscard]] auto call(const HostOp& op, const OpRow& row, const DatumList& args,
                          const Datum& result, const std::vector<RunStorage*>& storages,
                          std::size_t arg_tensors) -> Result<bool> override {
    BoundCall call{.op = &op, .row = &row, .args = args, .result = result, .buffers = {}};
    call.arg_tensors = arg_tensors;
    std::vector<bool> is_read(arg_tensors, true);
    visit_tensors(result, [&](const Tensor& tensor) {  // beside it there may be more
      const auto bytes = tensor.numel() * size_bytes(tensor.dtype());
      is_read.push_back(bytes < storages[is_read.size()]->size_bytes());
    });
    std::vector<cuda::Address> places;
    for (std::size_t i = 0; i < storages.size(); ++i) {
      ASSAY_TRY(auto* const mirror, on_device(*storages[i], is_read[i]));
      call.buffers.push_back(i);
      places.push_back(mirror->address);
    }
    auto works = state_.libraries->prepare(call, places);
    if (!works) return false;
    if (auto* const watch = state_.options.watch; watch != nullptr)
      watch->issues({.kernel = row.name(),
                     .statement = op.text,
                     .line = op.line,
                     .number = ++number_,
                     .sizes = {}});
    for (auto& work : *works) {
      if (!work->issue()) return false;
      works_.push_back(std::move(work));
    }
    for (std::size_t i = arg_tensors; i < storages.size(); ++i) {
      mirrors_[storages[i]].host_is_new = false;
      mirrors_[storages[i]].device_is_new = true;
    }
    return true;
  }

  [[nodiscard]] auto finish() -> Result<void> override { return collect(); }
  /// The statement that comes next.
  void at(const HostOp& op) { op_ = &op; }

 private:
  struct Mirror {
    cuda::Address address = 0;
    bool host_is_new = true, device_is_new = false;
  };
  static constexpr std::size_t kMostRecords = 4096;  ///< read when they are used up

  /// With the host's contents, unless they are about to be written.
  auto on_device(RunStorage& storage, bool is_read = true) -> Result<Mirror*> {
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

  /// What launches have left so far.
  auto collect() -> Result<void> {
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
  auto record_for(const TileKernel& kernel) -> Result<cuda::Address> {
    if (records_ == 0) {
      ASSAY_TRY(records_, driver_.allocate(kMostRecords * sizeof(GpuRecord)));
      ASSAY_TRY_VOID(driver_.fill(records_, 0, kMostRecords * sizeof(GpuRecord)));
    }
    if (launched_.size() == kMostRecords) ASSAY_TRY_VOID(collect());
    launched_.push_back(&kernel);
    return records_ + (launched_.size() - 1) * sizeof(GpuRecord);
  }

  auto run(const LoadedKernel& kernel, const GpuVariantKey& key, const GpuVariant& variant,
           const TileCode& code, const TileLaunch& launch) -> Result<void> {
    ASSAY_TRY(const auto shape, kernel.gpu.shape(key, variant, launch));
    if (shape.grid[0] == 0 || shape.grid[1] == 0 || shape.grid[2] == 0) return {};
    std::vector<std::uint64_t> values(variant.kernel().params.size(), 0);
    for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
      const auto& argument = launch.arguments[i];
      const auto& param = variant.kernel().params[i];
      if (param.kind == TileParam::Kind::buffer) {
        if (argument.storage == nullptr) continue;
        ASSAY_TRY(auto* const mirror, on_device(*argument.storage));
        values[i] = mirror->address + static_cast<std::uint64_t>(argument.offset_bytes);
      } else if (is_floating(param.dtype)) {
        values[i] = std::bit_cast<std::uint64_t>(argument.real);
      } else {
        values[i] = static_cast<std::uint64_t>(argument.integer);
      }
    }
    variant.add_numbers(launch.extents, shape, values);
    if (state_.options.is_checked) {
      std::vector<GpuMemory> memory;
      for (const auto& argument : launch.arguments)
        memory.push_back(
            {.offset = argument.offset_bytes,
             .size = argument.storage == nullptr ? 0 : argument.storage->size_bytes()});
      add_memory(variant.kernel(), memory, 1, values);
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
    for (std::size_t i = 0; i < launch.arguments.size(); ++i)
      if (auto* storage = launch.arguments[i].storage; storage != nullptr && code.writes(i))
        mirrors_[storage].host_is_new = false;
    return {};
  }

  CudaState& state_;
  cuda::Driver& driver_;
  const std::map<std::string, LoadedKernel*>& kernels_;
  const CompiledKernels& code_;
  std::map<RunStorage*, Mirror> mirrors_;
  std::vector<std::unique_ptr<cuda::GpuWork>> works_;  ///< issued, perhaps not over
  cuda::Address records_ = 0;
  std::vector<const TileKernel*> launched_;
  const HostOp* op_ = nullptr;
  std::int64_t number_ = 0;  ///< of launches so far
};

/// Bound programs get the variants that launches statement by statement use.
class StateLoader final : public GpuLoader {
 public:
  StateLoader(CudaState& state, const std::map<std::string, LoadedKernel*>& kernels)
      : state_(state), kernels_(kernels) {}
  void prepare(const std::vector<std::pair<std::string, TileLaunch>>& launches) override {
    std::vector<Wanted> wanted;
    for (const auto& [name, launch] : launches) {
      auto& kernel = *kernels_.at(name);
      const auto way = way_of(kernel.gpu, launch);
      if (const auto split = split_of(kernel.gpu, launch); split && way.is_split)
        for (std::size_t i = 0; i < split->kernels.size(); ++i)
          want(*split->kernels[i], kernel.parts[split->kernels[i]], split->extents[i], wanted);
      else
        want(kernel.gpu, kernel.variants, way.key, wanted);
    }
    make(wanted);
  }
  [[nodiscard]] auto load(const std::string& name, const TileLaunch& launch)
      -> Result<Launches> override {
    auto& kernel = *kernels_.at(name);
    const auto way = way_of(kernel.gpu, launch);
    Launches launches;
    if (const auto split = split_of(kernel.gpu, launch); split && way.is_split) {
      launches.parts_bytes = split->parts_bytes;
      launches.counters = split->counters;
      launches.numbers = split->numbers;
      for (std::size_t i = 0; i < split->kernels.size(); ++i) {
        auto& part = kernel.parts[split->kernels[i]];
        TileLaunch asked;
        asked.extents = split->extents[i];
        const auto key = split->kernels[i]->key(asked);
        ASSAY_TRY(launches.kernels.emplace_back(), load(*split->kernels[i], part, asked, key));
      }
      return launches;
    }
    ASSAY_TRY(launches.kernels.emplace_back(), load(kernel.gpu, kernel.variants, launch, way.key));
    return launches;
  }
  [[nodiscard]] auto offers(const std::string& name, const TileLaunch& launch)
      -> std::vector<Offer> override {
    auto& kernel = *kernels_.at(name);
    if (auto known = state_.tuned(kernel.gpu, launch)) return {{*std::move(known), std::nullopt}};
    auto ways = ways_of(kernel.gpu, launch);
    std::vector<Wanted> wanted;
    for (const auto& way : ways)
      if (!way.is_split) want(kernel.gpu, kernel.variants, way.key, wanted);
    make(wanted);
    std::vector<Offer> all;
    for (auto& way : ways) {
      auto& offer = all.emplace_back(std::move(way), std::nullopt);
      if (all.size() == 1) continue;  // what the program has
      if (auto one = load(kernel.gpu, kernel.variants, launch, offer.way.key))
        offer.loaded = *one;
      else
        all.pop_back();
    }
    return all;
  }
  void prefer(const std::string& name, const TileLaunch& launch, const GpuWay& way) override {
    state_.prefer(kernels_.at(name)->gpu, launch, way);
  }

 private:
  /// Code that is not there yet.
  struct Wanted {
    const GpuKernel* kernel;
    Variants* variants;
    GpuVariantKey key;
  };
  /// As one launch, unless accesses are checked.
  [[nodiscard]] auto split_of(const GpuKernel& kernel, const TileLaunch& launch) const
      -> std::optional<SplitLaunch> {
    auto split = kernel.split(launch);
    if (split && !state_.options.is_checked) split->join();
    return split;
  }
  /// Tuned, or as it usually is.
  auto way_of(const GpuKernel& kernel, const TileLaunch& launch) -> GpuWay {
    if (auto known = state_.tuned(kernel, launch)) return *std::move(known);
    return {kernel.split(launch).has_value(), kernel.key(launch)};
  }
  static void want(const GpuKernel& kernel, Variants& variants, const GpuVariantKey& key,
                   std::vector<Wanted>& wanted) {
    const auto code = key.code();
    if (variants.contains(code)) return;
    const bool is_known = std::ranges::any_of(
        wanted, [&](const Wanted& one) { return one.variants == &variants && one.key == code; });
    if (!is_known) wanted.push_back({&kernel, &variants, code});
  }
  static void want(const GpuKernel& kernel, Variants& variants, const Ints& extents,
                   std::vector<Wanted>& wanted) {
    TileLaunch launch;
    launch.extents = extents;
    want(kernel, variants, kernel.key(launch), wanted);
  }
  /// By several threads.
  void make(const std::vector<Wanted>& wanted) {
    if (wanted.empty() || !state_.driver->wait()) return;
    std::vector<std::optional<CudaState::Made>> made(wanted.size());
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      for (auto i = next++; i < wanted.size(); i = next++)
        if (auto one = state_.make(*wanted[i].kernel, wanted[i].key)) made[i] = *std::move(one);
    };
    std::vector<std::jthread> threads(
        std::min<std::size_t>(wanted.size(), std::thread::hardware_concurrency()));
    for (auto& thread : threads) thread = std::jthread(work);
    threads.clear();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (!made[i]) continue;
      state_.modules.push_back(made[i]->module);
      wanted[i].variants->emplace(wanted[i].key, std::move(made[i]->variant));
    }
  }
  auto load(const GpuKernel& kernel, Variants& variants, const TileLaunch& launch,
            const GpuVariantKey& key) -> Result<Loaded> {
    ASSAY_TRY(auto* const variant, state_.variant(kernel, variants, key));
    ASSAY_TRY(const auto shape, kernel.shape(key, *variant, launch));
    return Loaded{variant, shape, launch.extents};
  }

  CudaState& state_;
  const std::map<std::string, LoadedKernel*>& kernels_;
};

class CudaProgram final : public CompiledProgram {
 public:
  CudaProgram(const HostProgram& program, CompiledKernels code, const OpTable& table,
              std::shared_ptr<CudaState> state, std::map<std::string, LoadedKernel*> kernels)
      : program_(program),
        code_(std::move(code)),
        table_(table),
        state_(std::move(state)),
        kernels_(std::move(kernels)),
        binder_(program_, code_, table_) {}
  [[nodiscard]] auto run(const DatumList& inputs, const ProgramRunOptions& options) const
      -> Result<ProgramRun> override {
    if (!options.tap && !options.random)
      if (const auto ready = bound(inputs)) return (*ready)->run(inputs);
    CudaLauncher launcher(*state_, kernels_, code_);
    auto watched = options;
    watched.step = [&](const HostFunction& function, const HostOp& op) {
      launcher.at(op);
      if (options.step) options.step(function, op);
    };
    return HostMachine(program_, code_, table_, watched, &launcher).run(inputs);
  }
  [[nodiscard]] auto measure(const DatumList& inputs, const MeasureOptions& options) const
      -> Result<ProgramTimes> override {
    ASSAY_TRY(auto* const ready, bound(inputs));
    ASSAY_TRY(auto times, ready->measure(inputs, options));
    times.tuned = std::exchange(tuned_, {});
    return times;
  }

 private:
  /// The program at this binding; the ones used last are kept. Errors: of binding, or a kernel
  /// without code.
  auto bound(const DatumList& inputs) const -> Result<GpuProgram*> {
    for (auto at = bound_.begin(); at != bound_.end(); ++at) {
      if (!at->first.fits(inputs)) continue;
      bound_.splice(bound_.begin(), bound_, at);
      return bound_.front().second.get();
    }
    auto key = BindingKey::of(inputs);
    if (!key) return unsupported("inputs that are neither tensors nor numbers");
    ASSAY_TRY(auto ready, made_ready(inputs));
    if (state_->tunes()) {
      StateLoader loader(*state_, kernels_);
      ASSAY_TRY(tuned_, ready->tune(inputs, loader));
      ready.reset();
      ASSAY_TRY(ready, made_ready(inputs));
    }
    bound_.emplace_front(*std::move(key), std::move(ready));
    constexpr std::size_t kMostBindings = 16;
    if (bound_.size() > kMostBindings) bound_.pop_back();
    return bound_.front().second.get();
  }

  auto made_ready(const DatumList& inputs) const -> Result<std::unique_ptr<GpuProgram>> {
    const auto start = Clock::now();
    ASSAY_TRY(auto made, binder_.bind(inputs));
    state_->call_kernels.expand(
        made, [&](const BoundCall& call) { return state_->libraries->takes(call); });
    stages_.expand(made, [&](const std::string& name) -> const GpuKernel* {
      const auto known = kernels_.find(name);
      return known == kernels_.end() ? nullptr : &known->second->gpu;
    });
    for (const auto& name : made.kernels)
      if (auto& known = kernels_[name]; known == nullptr) {
        const auto stage = stages_.find(name);
        known = state_->loaded(stage ? stage : state_->call_kernels.find(name));
      }
    const auto binding = seconds_since(start);
    StateLoader loader(*state_, kernels_);
    const GpuShared shared{.driver = *state_->driver,
                           .libraries = *state_->libraries,
                           .graphs = *state_->graphs,
                           .arena = state_->arena,
                           .plan = plan_,
                           .is_checked = state_->options.is_checked,
                           .watch = state_->options.watch};
    ASSAY_TRY(auto ready, GpuProgram::make(std::move(made), shared, loader));
    ready->add_time("bind", binding);
    return ready;
  }

  const HostProgram& program_;
  CompiledKernels code_;
  const OpTable& table_;
  std::shared_ptr<CudaState> state_;
  mutable std::map<std::string, LoadedKernel*> kernels_;  ///< with those that stand for calls
  mutable KernelStages stages_;                           ///< of those
  mutable Binder binder_;
  mutable std::list<std::pair<BindingKey, std::unique_ptr<GpuProgram>>> bound_;
  mutable MemoryPlan plan_;                 ///< of the last binding that was made
  mutable std::vector<TunedLaunch> tuned_;  ///< of that binding, until it is measured
};

}  // namespace

CudaExecutor::CudaExecutor(const OpTable& table, CudaOptions options)
    : table_(table), state_(std::make_shared<CudaState>(table)) {
  state_->options = options;
}
CudaExecutor::~CudaExecutor() = default;

auto CudaExecutor::is_checked() const -> bool {
  return state_->options.is_checked;
}

auto CudaExecutor::compile(const HostProgram& program) const
    -> Result<std::unique_ptr<CompiledProgram>> {
  if (program.functions.empty()) return bad_input("the program has no function");
  if (!program.not_understood.empty()) {
    const auto& line = program.not_understood[0];
    return unsupported("line {}: `{}`: {}", line.line, line.text, line.reason);
  }
  if (state_->driver == nullptr) {
    ASSAY_TRY(state_->driver, cuda::Driver::open(state_->options.watch));
    state_->libraries = std::make_unique<GpuLibraries>(*state_->driver, state_->options.may_round);
    state_->graphs = std::make_unique<GpuGraphs>(*state_->driver);
  }
  ASSAY_TRY(auto code, compile_kernels(program));
  std::map<std::string, LoadedKernel*> kernels;
  for (const auto& [key, source] : program.kernels) kernels[key] = state_->loaded(source.kernel);
  return std::make_unique<CudaProgram>(program, std::move(code), table_, state_,
                                       std::move(kernels));
}

}  // namespace assay
