// The code generator's entry: kernels through LLVM's ORC into memory.
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include "compiler/codegen/kernel_code.h"
#include "compiler/codegen/passes.h"
#include "compiler/cpu/native.h"

namespace assay {
namespace {

template <class T>
auto taken(llvm::Expected<T> value, std::string_view doing) -> Result<T> {
  if (value) return std::move(*value);
  return unsupported("{}: {}", doing, llvm::toString(value.takeError()));
}

/// Explicit vectors need cleaning up, not vectorising.
constexpr const char* kPasses =
    "function(early-cse,instcombine<no-verify-fixpoint>,loop-simplify,loop-mssa(licm),"
    "early-cse,instcombine<no-verify-fixpoint>,simplifycfg,adce)";

class Jitted final : public NativeCode {
 public:
  explicit Jitted(std::unique_ptr<llvm::orc::LLJIT> jit) : jit_(std::move(jit)) {}
  [[nodiscard]] auto functions() const -> const std::vector<NativeFunction>& override {
    return functions_;
  }
  [[nodiscard]] auto text() const -> std::string override { return text_; }

  auto compile(const std::vector<const TileKernel*>& kernels,
               const llvm::orc::JITTargetMachineBuilder& host, const NativeOptions& options)
      -> Result<void> {
    functions_.resize(kernels.size());
    const auto parts = options.keep_text ? 1 : part_count(kernels.size());
    std::vector<Result<void>> done(parts);
    {
      std::vector<std::jthread> threads;
      for (std::size_t part = 1; part < parts; ++part)
        threads.emplace_back(
            [&, part] { done[part] = compile_part(kernels, part, parts, host, options); });
      done[0] = compile_part(kernels, 0, parts, host, options);
    }
    for (auto& one : done) ASSAY_TRY_VOID(one);
    return {};
  }

 private:
  /// Modules that are compiled at the same time.
  static auto part_count(std::size_t kernels) -> std::size_t {
    constexpr std::size_t kMost = 8, kWorthAThread = 4;
    const std::size_t processors =
        std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kMost);
    return std::clamp<std::size_t>(kernels / kWorthAThread, 1, processors);
  }

  /// Every kernel whose position leaves `part` when it is divided by `parts`.
  auto compile_part(const std::vector<const TileKernel*>& kernels, std::size_t part,
                    std::size_t parts, llvm::orc::JITTargetMachineBuilder host,
                    const NativeOptions& options) -> Result<void> {
    ASSAY_TRY(const auto machine, taken(host.createTargetMachine(), "this machine"));
    auto context = std::make_unique<llvm::LLVMContext>();
    auto module = std::make_unique<llvm::Module>(fmt::format("assay{}", part), *context);
    module->setDataLayout(machine->createDataLayout());
    module->setTargetTriple(machine->getTargetTriple().str());
    const auto lanes = options.lanes > 0 ? static_cast<unsigned>(options.lanes) : widest(*machine);
    const auto symbol = [](std::size_t i) { return fmt::format("kernel{}", i); };
    for (auto i = part; i < kernels.size(); i += parts)
      if (const auto added = add(*module, *kernels[i], lanes, symbol(i), functions_[i]); !added)
        functions_[i].not_compiled = added.error().message;
    run_passes(*module, *machine, kPasses);
    if (options.keep_text) {
      llvm::raw_string_ostream stream(text_);
      module->print(stream, nullptr);
    }
    if (auto error =
            jit_->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))))
      return unsupported("code: {}", llvm::toString(std::move(error)));
    for (auto i = part; i < kernels.size(); i += parts) {
      if (!functions_[i].not_compiled.empty()) continue;
      ASSAY_TRY(const auto address, taken(jit_->lookup(symbol(i)), "code"));
      functions_[i].run = address.toPtr<NativeKernel>();
    }
    return {};
  }

  static auto widest(const llvm::TargetMachine& machine) -> unsigned {
    return machine.getTargetFeatureString().contains("+avx512f") ? 16 : 8;
  }

  static auto add(llvm::Module& module, const TileKernel& kernel, unsigned lanes,
                  const std::string& name, NativeFunction& function) -> Result<void> {
    ASSAY_TRY(const auto plan, plan_kernel(kernel));
    if (!plan.parallel.empty() && !plan.is_serial)
      function.split_axis = static_cast<int>(plan.parallel[0]);
    const auto emitted = emit_kernel(module, kernel, plan, lanes, name);
    if (!emitted)
      if (auto* half = module.getFunction(name)) half->eraseFromParent();
    return emitted;
  }

  std::unique_ptr<llvm::orc::LLJIT> jit_;
  std::vector<NativeFunction> functions_;
  std::string text_;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) auto assay_compile_native(
    const std::vector<const TileKernel*>& kernels, const NativeOptions& options)
    -> Result<std::unique_ptr<NativeCode>> {
  static std::once_flag started;
  std::call_once(started, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  ASSAY_TRY(auto host, taken(llvm::orc::JITTargetMachineBuilder::detectHost(), "this machine"));
  host.setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  ASSAY_TRY(auto jit, taken(llvm::orc::LLJITBuilder()
                                .setJITTargetMachineBuilder(host)
                                .setSupportConcurrentCompilation(true)
                                .create(),
                            "just-in-time compilation"));
  auto code = std::make_unique<Jitted>(std::move(jit));
  ASSAY_TRY_VOID(code->compile(kernels, host, options));
  return std::unique_ptr<NativeCode>(std::move(code));
}

}  // namespace assay
