// Machine code for kernels: what the code generator, a library of its own that needs LLVM, gives to
// the executor. Nothing here knows LLVM.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/program/kernel.h"
#include "compiler/runtime/code_cache.h"
#include "core/base/result.h"

namespace assay {

/// A compiled kernel. `pointers`, `integers` and `reals` are by parameter, `extents` by axis;
/// iterations begin .. end-1 of the split axis run. Behind the last parameter stands a pointer to
/// an int64, which gets 1 + the position of a statement that asserts what is false.
using NativeKernel = void (*)(const void* const* pointers, const std::int64_t* integers,
                              const double* reals, const std::int64_t* extents, std::int64_t begin,
                              std::int64_t end);

struct NativeFunction {
  NativeKernel run = nullptr;
  int split_axis = -1;       ///< whose iterations may be divided among threads; -1: none
  std::string not_compiled;  ///< why `run` is null
};

/// Kernels in the memory of this process; the code lives as long as this.
class NativeCode {
 public:
  virtual ~NativeCode() = default;
  /// In the order that they were given.
  [[nodiscard]] virtual auto functions() const -> const std::vector<NativeFunction>& = 0;
  /// Text of the code before and after optimisation, for people.
  [[nodiscard]] virtual auto text() const -> std::string = 0;
};

struct NativeOptions {
  int lanes = 0;  ///< of float32 vectors: a power of two up to 64; 0: as the machine has them
  bool keep_text = false;
  CodeCache* cache = nullptr;  ///< null: code is generated anew; nothing is kept with its text
  std::string stamp = {};      ///< of the generator, for keys
};

/// Entry of the code generator's library.
using CompileNative = Result<std::unique_ptr<NativeCode>> (*)(
    const std::vector<const TileKernel*>& kernels, const NativeOptions& options);
inline constexpr const char* kCompileNativeSymbol = "assay_compile_native";

}  // namespace assay
