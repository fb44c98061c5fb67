// The code generator's entry for GPUs: tile kernels through LLVM's NVPTX back end to PTX.
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>

#include <mutex>

#include "compiler/codegen/gpu_kernel.h"
#include "compiler/codegen/passes.h"
#include "compiler/cuda/ptx.h"

extern "C" void LLVMInitializeNVPTXTargetInfo();
extern "C" void LLVMInitializeNVPTXTarget();
extern "C" void LLVMInitializeNVPTXTargetMC();
extern "C" void LLVMInitializeNVPTXAsmPrinter();

namespace assay {
namespace {

/// What the back end of LLVM 19 knows, newest first; drivers translate for what came later.
struct ArchitectureRow {
  int least;
  const char* processor;
  const char* features;
};
constexpr ArchitectureRow kArchitectures[] = {{90, "sm_90", "+ptx81"},
                                              {86, "sm_86", "+ptx71"},
                                              {80, "sm_80", "+ptx71"},
                                              {70, "sm_70", "+ptx70"}};

auto machine_for(int architecture) -> Result<std::unique_ptr<llvm::TargetMachine>> {
  static std::once_flag started;
  std::call_once(started, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  constexpr const char* kTriple = "nvptx64-nvidia-cuda";
  std::string problem;
  const auto* target = llvm::TargetRegistry::lookupTarget(kTriple, problem);
  if (target == nullptr) return unsupported("PTX: {}", problem);
  for (const auto& row : kArchitectures)
    if (architecture >= row.least)
      return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
          kTriple, row.processor, row.features, llvm::TargetOptions{}, llvm::Reloc::PIC_,
          std::nullopt, llvm::CodeGenOptLevel::Aggressive));
  return unsupported("GPUs of compute capability {}.{}", architecture / 10, architecture % 10);
}

/// Arithmetic of addresses dominates; nothing is vectorised or unrolled by chance.
constexpr const char* kPasses =
    "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,loop-simplify,"
    "loop-mssa(licm),gvn,instcombine<no-verify-fixpoint>,simplifycfg,adce)";

/// What one instruction alone wants is computed right before it: a tree is walked to its leaves,
/// not level by level, so that a few of its nodes live at once.
void compute_late(llvm::Function& function) {
  for (auto& block : function) {
    std::vector<llvm::Instruction*> all;
    for (auto& one : block) all.push_back(&one);
    for (auto at = all.rbegin(); at != all.rend(); ++at) {
      auto* one = *at;
      if (!one->hasOneUse() || one->mayHaveSideEffects() || one->mayReadFromMemory() ||
          llvm::isa<llvm::PHINode>(one) || one->isTerminator())
        continue;
      auto* user = llvm::cast<llvm::Instruction>(*one->user_begin());
      if (user->getParent() == &block && !llvm::isa<llvm::PHINode>(user)) one->moveBefore(user);
    }
  }
}

auto compile(const PtxRequest& request, const PtxOptions& options, llvm::TargetMachine& machine)
    -> Result<std::string> {
  llvm::LLVMContext context;
  llvm::Module module(request.name, context);
  module.setDataLayout(machine.createDataLayout());
  module.setTargetTriple(machine.getTargetTriple().str());
  ASSAY_TRY_VOID(GpuKernelEmitter(module, request, options).run(request.name));
  run_passes(module, machine, kPasses);
  for (auto& function : module) compute_late(function);
  llvm::SmallString<0> code;
  llvm::raw_svector_ostream stream(code);
  llvm::legacy::PassManager emit;
  if (machine.addPassesToEmitFile(emit, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return unsupported("PTX: no code for {}", request.name);
  emit.run(module);
  return code.str().str();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) auto assay_compile_ptx(
    const std::vector<PtxRequest>& requests, const PtxOptions& options)
    -> Result<std::vector<PtxCode>> {
  ASSAY_TRY(const auto machine, machine_for(options.architecture));
  std::vector<PtxCode> all;
  for (const auto& request : requests) {
    const auto text = compile(request, options, *machine);
    all.push_back(text ? PtxCode{*text, ""} : PtxCode{"", text.error().message});
  }
  return all;
}

}  // namespace assay
