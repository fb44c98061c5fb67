// A kernel as an LLVM function. Internal to compiler/codegen.
#pragma once
#include "compiler/codegen/lane_code.h"
#include "compiler/program/kernel_plan.h"

namespace assay {

/// Adds a function of NativeKernel's type to the module. Errors: unsupported (dtypes, statements).
[[nodiscard]] auto emit_kernel(llvm::Module& module, const TileKernel& kernel,
                               const KernelPlan& plan, unsigned lanes, const std::string& name)
    -> Result<void>;

}  // namespace assay
