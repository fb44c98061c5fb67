#include "compiler/cuda/cuda.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <map>
#include <optional>
#include <thread>

#include "compiler/cuda/cuda_launcher.h"
#include "compiler/cuda/cuda_state.h"
#include "compiler/cuda/stages.h"
#include "core/base/clock.h"

namespace assay {
namespace {

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
    CudaLauncher launcher(*state_, kernels_, code_, options.random != nullptr);
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
