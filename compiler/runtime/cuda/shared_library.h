// Libraries that are opened when somebody asks for them: nothing is linked.
#pragma once
#include <initializer_list>

#include "core/base/result.h"

namespace assay::cuda {

/// The first of the names that the loader finds; it stays open. Errors: missing_tool.
[[nodiscard]] auto open_library(std::initializer_list<const char*> names) -> Result<void*>;
/// Errors: missing_tool (the library has no such function).
[[nodiscard]] auto find_symbol(void* library, const char* name) -> Result<void*>;

// NOLINTBEGIN(bugprone-macro-parentheses): the libraries' own names
/// For a list of X(name, signature) of functions that return an int: members of a struct.
#define ASSAY_LIBRARY_MEMBER(name, signature) int(*name) signature = nullptr;
/// Fills the members of `functions` from `library`; the enclosing function returns what is missing.
#define ASSAY_LIBRARY_LOAD(name, signature)                     \
  if (const auto symbol = find_symbol(library, #name); !symbol) \
    return std::unexpected(symbol.error());                     \
  else                                                          \
    functions.name = reinterpret_cast<int(*) signature>(*symbol);
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace assay::cuda
