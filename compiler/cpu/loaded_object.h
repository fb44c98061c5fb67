// Relocatable object files in the memory of this process, ready to be called. A linker's work for
// the one kind of file that the code generator writes, so that code which is kept runs without
// LLVM.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace assay {

/// Code and constants of an ELF object for x86-64, each with the rights that it needs and no more.
class LoadedObject {
 public:
  /// The bytes need not live on. What the object leaves undefined is looked up in this process.
  /// Errors: bad_input (not such a file, or one that points outside itself), unsupported (another
  /// machine, sections that are written, a relocation of another kind, a symbol that nobody has, no
  /// memory).
  [[nodiscard]] static auto load(std::string_view object) -> Result<LoadedObject>;
  /// Null where the object has no such function.
  [[nodiscard]] auto find(std::string_view function) const -> const void*;

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(std::byte* memory) const;
  };
  friend class ObjectLoader;
  std::unique_ptr<std::byte, Unmap> memory_;
  std::map<std::string, const std::byte*, std::less<>> functions_;
};

}  // namespace assay
