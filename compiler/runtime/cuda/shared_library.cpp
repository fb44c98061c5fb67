#include "compiler/runtime/cuda/shared_library.h"

#include <dlfcn.h>

namespace assay::cuda {

auto open_library(std::initializer_list<const char*> names) -> Result<void*> {
  for (const char* name : names)
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL); library != nullptr) return library;
  return std::unexpected(
      Error{ErrorCode::missing_tool, fmt::format("{} is not on this machine", *names.begin())});
}

auto find_symbol(void* library, const char* name) -> Result<void*> {
  if (void* symbol = dlsym(library, name); symbol != nullptr) return symbol;
  return std::unexpected(
      Error{ErrorCode::missing_tool, fmt::format("the library is too old: it has no {}", name)});
}

}  // namespace assay::cuda
