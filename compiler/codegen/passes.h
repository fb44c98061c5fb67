// Runs passes of LLVM over a module. Internal to compiler/codegen.
#pragma once
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

namespace assay {

/// `pipeline` in LLVM's words; one that LLVM does not know is a bug of ours.
void run_passes(llvm::Module& module, llvm::TargetMachine& machine, const char* pipeline);

}  // namespace assay
