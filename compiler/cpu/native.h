// Machine code for kernels: what the executor asks of the code generator, a library of its own that
// needs LLVM. Nothing here knows LLVM.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/program/kernel.h"
#include "core/base/result.h"

namespace assay {

/// A compiled kernel. `pointers`, `integers` and `reals` are by parameter, `extents` by axis;
/// iterations begin .. end-1 of the split axis run. Behind the last parameter stands a pointer to
/// an int64, which gets 1 + the position of a statement that asserts what is false.
using NativeKernel = void (*)(const void* const* pointers, const std::int64_t* integers,
                              const double* reals, const std::int64_t* extents, std::int64_t begin,
                              std::int64_t end);

/// Relocatable files of this machine, which together define native_symbol(i) for every kernel i
/// that has code.
struct NativeObjects {
  std::vector<std::string> files;
  std::vector<std::string> not_compiled;  ///< by kernel: why it has no code, or empty
};
inline auto native_symbol(std::size_t kernel) -> std::string {
  return "kernel" + std::to_string(kernel);
}

/// Entry of the code generator's library. `lanes` of float32 vectors: a power of two up to 64; 0:
/// as the machine has them.
using GenerateNative = Result<NativeObjects> (*)(const std::vector<const TileKernel*>& kernels,
                                                 int lanes);
inline constexpr const char* kGenerateNativeSymbol = "assay_generate_native";

}  // namespace assay
