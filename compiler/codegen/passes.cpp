#include "compiler/codegen/passes.h"

#include <llvm/Passes/PassBuilder.h>

#include "core/base/check.h"

namespace assay {

void run_passes(llvm::Module& module, llvm::TargetMachine& machine, const char* pipeline) {
  llvm::PassBuilder builder(&machine);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(calls);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, calls, modules);
  llvm::ModulePassManager passes;
  auto error = builder.parsePassPipeline(passes, pipeline);
  const bool is_known = !error;
  llvm::consumeError(std::move(error));
  ASSAY_CHECK(is_known);
  passes.run(module, modules);
}

}  // namespace assay
