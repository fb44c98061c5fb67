// The code generator's entry: kernels as object files of this machine.
#include <llvm/ExecutionEngine/Orc/CompileUtils.h>
#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/Support/TargetSelect.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include "compiler/codegen/kernel_code.h"
#include "compiler/codegen/lane_wide.h"
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
    "function(sroa,early-cse,instcombine<no-verify-fixpoint>,loop-simplify,loop-mssa(licm),"
    "early-cse,instcombine<no-verify-fixpoint>,simplifycfg,adce)";

class Generator {
 public:
  Generator(const std::vector<const TileKernel*>& kernels, int lanes,
            llvm::orc::JITTargetMachineBuilder host)
      : kernels_(kernels), lanes_(lanes), host_(std::move(host)) {}

  auto run() -> Result<NativeObjects> {
    const auto parts = part_count(kernels_.size());
    made_.files.resize(parts);
    made_.not_compiled.resize(kernels_.size());
    std::vector<Result<void>> done(parts);
    {
      std::vector<std::jthread> threads;
      for (std::size_t part = 1; part < parts; ++part)
        threads.emplace_back([&, part] { done[part] = generate(part); });
      done[0] = generate(0);
    }
    for (auto& one : done) ASSAY_TRY_VOID(one);
    return std::move(made_);
  }

 private:
  /// Modules that are compiled at the same time.
  static auto part_count(std::size_t kernels) -> std::size_t {
    constexpr std::size_t kMost = 8, kWorthAThread = 4;
    const std::size_t processors =
        std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kMost);
    return std::clamp<std::size_t>(kernels / kWorthAThread, 1, processors);
  }

  /// Every kernel whose position leaves `part` when it is divided by the number of parts.
  auto generate(std::size_t part) -> Result<void> {
    auto host = host_;
    ASSAY_TRY(const auto machine, taken(host.createTargetMachine(), "this machine"));
    const auto lanes = lanes_ > 0 ? static_cast<unsigned>(lanes_) : widest(*machine);
    llvm::LLVMContext context;
    llvm::Module module(fmt::format("assay{}", part), context);
    module.setDataLayout(machine->createDataLayout());
    module.setTargetTriple(machine->getTargetTriple().str());
    if (widest(*machine) > 8) module.addModuleFlag(llvm::Module::Warning, lane::kHasScale, 1);
    for (auto i = part; i < kernels_.size(); i += made_.files.size())
      if (const auto added = add(module, *kernels_[i], lanes, native_symbol(i)); !added)
        made_.not_compiled[i] = added.error().message;
    run_passes(module, *machine, kPasses);
    ASSAY_TRY(const auto object, taken(llvm::orc::SimpleCompiler(*machine)(module), "code"));
    made_.files[part] = object->getBuffer().str();
    return {};
  }

  static auto widest(const llvm::TargetMachine& machine) -> unsigned {
    return machine.getTargetFeatureString().contains("+avx512f") ? 16 : 8;
  }
  static auto add(llvm::Module& module, const TileKernel& kernel, unsigned lanes,
                  const std::string& name) -> Result<void> {
    ASSAY_TRY(const auto plan, plan_kernel(kernel));
    const auto emitted = emit_kernel(module, kernel, plan, lanes, name);
    if (!emitted)
      if (auto* half = module.getFunction(name)) half->eraseFromParent();
    return emitted;
  }

  const std::vector<const TileKernel*>& kernels_;
  int lanes_;
  llvm::orc::JITTargetMachineBuilder host_;
  NativeObjects made_;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) auto assay_generate_native(
    const std::vector<const TileKernel*>& kernels, int lanes) -> Result<NativeObjects> {
  static std::once_flag started;
  std::call_once(started, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  ASSAY_TRY(auto host, taken(llvm::orc::JITTargetMachineBuilder::detectHost(), "this machine"));
  host.setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  host.setRelocationModel(llvm::Reloc::PIC_);  // loaded anywhere
  host.setCodeModel(llvm::CodeModel::Small);
  return Generator(kernels, lanes, std::move(host)).run();
}

}  // namespace assay
