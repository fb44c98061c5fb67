#include "compiler/cpu/cpu.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "compiler/cpu/thread_pool.h"
#include "compiler/interpret/host_machine.h"
#include "compiler/program/text.h"
#include "core/ops/blas.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// Beside the program that runs, in its library folder, or where the environment says.
auto library_places() -> std::vector<fs::path> {
  constexpr const char* kName = "libassay_codegen.so";
  std::vector<fs::path> places;
  if (const char* given = std::getenv("ASSAY_CODEGEN")) places.emplace_back(given);
  std::error_code error;
  auto folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  places.push_back(folder / ".." / ASSAY_LIBDIR / "assay" / kName);
  for (int up = 0; up < 4 && folder.has_relative_path(); ++up, folder = folder.parent_path())
    places.push_back(folder / kName);
  return places;
}

auto code_generator() -> Result<CompileNative> {
  static const auto kOpened = []() -> Result<CompileNative> {
    std::string problem = "libassay_codegen.so is not there";
    for (const auto& place : library_places()) {
      std::error_code error;
      if (!fs::exists(place, error)) continue;
      void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library != nullptr)
        if (auto* entry = dlsym(library, kCompileNativeSymbol))
          return reinterpret_cast<CompileNative>(entry);  // what dlsym is for
      problem = dlerror();
    }
    return std::unexpected(
        Error{ErrorCode::missing_tool, fmt::format("no machine code: {}", problem)});
  }();
  return kOpened;
}

class NativeLauncher final : public KernelLauncher {
 public:
  NativeLauncher(std::unique_ptr<NativeCode> code,
                 std::map<std::string, const NativeFunction*, std::less<>> functions, int threads)
      : code_(std::move(code)), functions_(std::move(functions)), pool_(threads) {}

  [[nodiscard]] auto threads() const -> int { return pool_.size(); }
  [[nodiscard]] auto launch(const std::string& kernel, const TileLaunch& launch) const
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
    const auto run = [&](std::int64_t begin, std::int64_t end) {
      function.run(pointers.data(), integers.data(), reals.data(), launch.extents.data(), begin,
                   end);
    };
    const auto count =
        function.split_axis < 0 ? 1 : launch.extents[static_cast<std::size_t>(function.split_axis)];
    std::int64_t elements = 1;
    for (const auto extent : launch.extents) elements *= std::max<std::int64_t>(extent, 1);
    constexpr std::int64_t kWorthThreads = 1 << 15, kGrain = 64;
    if (count < 2 || elements < kWorthThreads) {
      run(0, count);
    } else {
      // Vectors are never divided, so each thread's code is the same.
      pool_.run(count, count >= 2 * kGrain ? kGrain : 1, run);
    }
    return Result<void>();
  }

 private:
  std::unique_ptr<NativeCode> code_;
  std::map<std::string, const NativeFunction*, std::less<>> functions_;
  mutable ThreadPool pool_;
};

class CpuProgram final : public CompiledProgram {
 public:
  CpuProgram(const HostProgram& program, CompiledKernels kernels, const OpTable& table,
             std::unique_ptr<NativeLauncher> launcher)
      : program_(program),
        kernels_(std::move(kernels)),
        table_(table),
        launcher_(std::move(launcher)) {}
  [[nodiscard]] auto run(const DatumList& inputs, const ProgramRunOptions& options) const
      -> Result<ProgramRun> override {
    const BlasThreads limit(launcher_->threads());
    return HostMachine(program_, kernels_, table_, options, launcher_.get()).run(inputs);
  }

 private:
  const HostProgram& program_;
  CompiledKernels kernels_;
  const OpTable& table_;
  std::unique_ptr<NativeLauncher> launcher_;
};

}  // namespace

auto CpuExecutor::compile(const HostProgram& program) const
    -> Result<std::unique_ptr<CompiledProgram>> {
  if (program.functions.empty()) return bad_input("the program has no function");
  ASSAY_TRY(const auto generate, code_generator());
  CompiledKernels interpreted;
  std::vector<const TileKernel*> kernels;
  std::map<std::uint64_t, std::size_t> by_hash;  // equal kernels are compiled once
  std::map<std::string, std::size_t> position;
  for (const auto& [key, source] : program.kernels) {
    if (!source.kernel) return unsupported("kernel {}: {}", key, source.not_read);
    ASSAY_TRY(auto code, TileCode::compile(*source.kernel));
    interpreted.emplace(key, std::move(code));
    const auto [known, is_new] =
        by_hash.try_emplace(structural_hash(*source.kernel), kernels.size());
    if (is_new) kernels.push_back(source.kernel.get());
    position[key] = known->second;
  }
  ASSAY_TRY(auto code, generate(kernels, options_.native));
  std::map<std::string, const NativeFunction*, std::less<>> functions;
  kernels_.clear();
  for (const auto& [key, at] : position) {
    functions[key] = &code->functions()[at];
    kernels_.push_back({key, code->functions()[at].not_compiled});
  }
  const auto threads = options_.threads > 0
                           ? options_.threads
                           : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return std::make_unique<CpuProgram>(
      program, std::move(interpreted), table_,
      std::make_unique<NativeLauncher>(std::move(code), std::move(functions), threads));
}

}  // namespace assay
