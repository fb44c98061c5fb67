#include "compiler/cpu/cpu.h"

#include <atomic>
#include <map>

#include "compiler/cpu/thread_pool.h"
#include "compiler/interpret/host_machine.h"
#include "compiler/runtime/bound_run.h"
#include "core/ops/blas.h"

namespace assay {
namespace {

class NativeLauncher final : public KernelLauncher, public BoundDevice {
 public:
  NativeLauncher(NativeCode code,
                 std::map<std::string, const NativeFunction*, std::less<>> functions,
                 const CompiledKernels& kernels, int threads)
      : code_(std::move(code)),
        functions_(std::move(functions)),
        kernels_(kernels),
        pool_(threads) {}

  [[nodiscard]] auto threads() const -> int { return pool_.size(); }
  [[nodiscard]] auto launch(const std::string& kernel, const TileLaunch& launch)
      -> std::optional<Result<void>> override {
    const auto known = functions_.find(kernel);
    if (known == functions_.end() || known->second->run == nullptr) return std::nullopt;
    const auto& function = *known->second;
    std::vector<const void*> pointers;
    std::vector<std::int64_t> integers;
    std::vector<double> reals;
    for (const auto& argument : launch.arguments) {
      pointers.push_back(argument.storage == nullptr
                             ? nullptr
                             : argument.storage->bytes() + argument.offset_bytes);
      integers.push_back(argument.integer);
      reals.push_back(argument.real);
    }
    pointers.push_back(failure());
    return run(kernel, function, launch.extents, pointers.data(), integers.data(), reals.data());
  }

  [[nodiscard]] auto launch(const BoundProgram& bound, const BoundLaunch& launch,
                            const LaunchArguments& arguments, ProgramRun& result) const
      -> Result<void> override {
    const auto& kernel = bound.kernels[launch.kernel];
    const auto known = functions_.find(kernel);
    if (known == functions_.end() || known->second->run == nullptr)
      return run_tiles(kernels_.at(kernel), launch, arguments, result);
    return run(kernel, *known->second, launch.extents, arguments.pointers, arguments.integers,
               arguments.reals);
  }
  [[nodiscard]] auto failure() const -> const void* override { return &failed_; }

 private:
  auto run(const std::string& kernel, const NativeFunction& function,
           const std::vector<std::int64_t>& extents, const void* const* pointers,
           const std::int64_t* integers, const double* reals) const -> Result<void> {
    const auto part = [&](std::int64_t begin, std::int64_t end) {
      function.run(pointers, integers, reals, extents.data(), begin, end);
    };
    const auto count =
        function.split_axis < 0 ? 1 : extents[static_cast<std::size_t>(function.split_axis)];
    std::int64_t elements = 1;
    for (const auto extent : extents) elements *= std::max<std::int64_t>(extent, 1);
    constexpr std::int64_t kWorthThreads = 1 << 15, kGrain = 64;
    if (count < 2 || elements < kWorthThreads) {
      part(0, count);
    } else {
      // Vectors are never divided, so each thread's code is the same.
      pool_.run(count, count >= 2 * kGrain ? kGrain : 1, part);
    }
    const auto failed = failed_.exchange(0, std::memory_order_relaxed);
    if (failed == 0) return {};
    const auto& one = kernels_.at(kernel).kernel().body.body[static_cast<std::size_t>(failed - 1)];
    return bad_input("kernel {}: {}", kernel, std::get<TileAssert>(one.what).message);
  }

  NativeCode code_;
  std::map<std::string, const NativeFunction*, std::less<>> functions_;
  const CompiledKernels& kernels_;
  mutable ThreadPool pool_;
  mutable std::atomic<std::int64_t> failed_ = 0;  ///< written by kernels
};

using NativeFunctions = std::map<std::string, const NativeFunction*, std::less<>>;

class CpuProgram final : public CompiledProgram {
 public:
  CpuProgram(const HostProgram& program, CompiledKernels kernels, const OpTable& table,
             NativeCode code, NativeFunctions functions, const CpuOptions& options,
             std::shared_ptr<std::atomic<std::size_t>> bindings)
      : program_(program),
        kernels_(std::move(kernels)),
        table_(table),
        launcher_(std::move(code), std::move(functions), kernels_, threads_of(options)),
        cache_(program, kernels_, table, launcher_,
               {{.reuse = options.reuse, .redzone_bytes = 0}, options.is_checked}),
        bindings_(std::move(bindings)),
        is_bound_(options.is_bound) {}
  /// Bound where that can be; else, and where somebody watches, statement by statement.
  [[nodiscard]] auto run(const DatumList& inputs, const ProgramRunOptions& options) const
      -> Result<ProgramRun> override {
    const BlasThreads limit(launcher_.threads());
    if (is_bound_ && !options.tap && !options.random) {
      const auto ready = cache_.find(inputs);
      if (ready) {
        bindings_->store(cache_.bindings());
        return (*ready)->run(inputs);
      }
      if (ready.error().code == ErrorCode::unsupported) is_bound_ = false;
    }
    return HostMachine(program_, kernels_, table_, options, &launcher_).run(inputs);
  }

 private:
  static auto threads_of(const CpuOptions& options) -> int {
    if (options.threads > 0) return options.threads;
    return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  }
  const HostProgram& program_;
  CompiledKernels kernels_;
  const OpTable& table_;
  mutable NativeLauncher launcher_;
  mutable BindingCache cache_;
  std::shared_ptr<std::atomic<std::size_t>> bindings_;
  mutable std::atomic<bool> is_bound_;
};

}  // namespace

auto CpuExecutor::compile(const HostProgram& program) const
    -> Result<std::unique_ptr<CompiledProgram>> {
  if (program.functions.empty()) return bad_input("the program has no function");
  ASSAY_TRY(auto interpreted, compile_kernels(program));
  std::vector<const TileKernel*> kernels;
  for (const auto& [key, source] : program.kernels) kernels.push_back(source.kernel.get());
  ASSAY_TRY(auto code, NativeCode::make(kernels, options_.native));
  NativeFunctions functions;
  kernels_.clear();
  auto at = code.functions().begin();
  for (const auto& [key, source] : program.kernels) {
    functions[key] = &*at;
    kernels_.push_back({key, at->not_compiled});
    ++at;
  }
  bindings_ = std::make_shared<std::atomic<std::size_t>>(0);
  return std::make_unique<CpuProgram>(program, std::move(interpreted), table_, std::move(code),
                                      std::move(functions), options_, bindings_);
}

}  // namespace assay
