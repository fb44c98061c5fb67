// Kernels in the memory of this process: generated, or as they were kept. LLVM is opened only where
// something is generated.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "compiler/cpu/loaded_object.h"
#include "compiler/cpu/native.h"
#include "compiler/runtime/code_cache.h"

namespace assay {

struct NativeOptions {
  int lanes = 0;               ///< see GenerateNative
  CodeCache* cache = nullptr;  ///< null: code is generated anew
};

struct NativeFunction {
  NativeKernel run = nullptr;
  int split_axis = -1;       ///< whose iterations may be divided among threads; -1: none
  std::string not_compiled;  ///< why `run` is null
};

/// The functions can be called as long as this lives.
class NativeCode {
 public:
  /// Kernels that differ in names only have the same code.
  /// Errors: missing_tool where code has to be generated and the generator cannot be opened.
  [[nodiscard]] static auto make(const std::vector<const TileKernel*>& kernels,
                                 const NativeOptions& options) -> Result<NativeCode>;
  /// In the order that the kernels were given.
  [[nodiscard]] auto functions() const -> const std::vector<NativeFunction>& { return functions_; }

 private:
  [[nodiscard]] auto load(const NativeObjects& objects) -> Result<void>;
  std::vector<LoadedObject> objects_;
  std::vector<NativeFunction> functions_;
};

// How objects are kept: per kernel without code a line with its position and why; an empty line;
// the files, each behind a line with its length.
[[nodiscard]] auto packed(const NativeObjects& objects) -> std::string;
/// Errors: bad_input where the text is not what `packed` makes of so many kernels.
[[nodiscard]] auto unpacked(std::string_view text, std::size_t kernels) -> Result<NativeObjects>;

}  // namespace assay
