// PTX for kernels: what the code generator, a library of its own that needs LLVM, gives to the
// executor. Nothing here knows LLVM, and nothing here needs a GPU.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/cuda/gpu_record.h"
#include "compiler/cuda/tile_layout.h"
#include "compiler/program/kernel.h"
#include "core/base/result.h"

namespace assay {

/// A tile kernel (no axis is exact) with everything that is chosen before its code is made.
struct PtxRequest {
  const TileKernel* kernel = nullptr;
  TileLayout layout;
  std::string name;        ///< of the entry
  int most_registers = 0;  ///< of unchecked code's threads; 0: as many as it wants
};

/// The entry takes eight bytes per parameter of the kernel, in order (pointers, int64, float64),
/// and last a pointer to a GpuRecord. Checked code takes four int64 per buffer before the record:
/// the first index that may be accessed, and the first that may not any more (other accesses do not
/// happen); the address of the GpuShadow of index 0, or 0; the launch's number, shifted to its
/// place there. Its first thread leaves the launch_word of what it was given.
struct PtxCode {
  std::string text;
  std::string not_compiled;  ///< why there is no text
};

struct PtxOptions {
  int architecture = 80;  ///< compute capability, ten times the major one
  bool is_checked = false;
  /// Code waits itself for what is before it in its stream, so that its launch may come while that
  /// ends (programmatic dependent launch).
  [[nodiscard]] auto begins_early() const -> bool {
    constexpr int kWaits = 90;  // architectures from here on have it
    return architecture >= kWaits && !is_checked;
  }
};

/// Entry of the code generator's library.
using CompilePtx = Result<std::vector<PtxCode>> (*)(const std::vector<PtxRequest>& requests,
                                                    const PtxOptions& options);
inline constexpr const char* kCompilePtxSymbol = "assay_compile_ptx";

}  // namespace assay
