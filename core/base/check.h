// Internal invariants. A failed check is a bug in Assay, never a property of the input.
#pragma once
#include <string>

#include <fmt/format.h>

namespace assay {

/// Prints location and message to stderr and exits with code 70 (EX_SOFTWARE) via abort handling.
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& message);

}  // namespace assay

/// On in every build: `ASSAY_CHECK(id < size, "node {} of {}", id, size);`
#define ASSAY_CHECK(condition, ...)                                                       \
  do {                                                                                    \
    if (!(condition)) [[unlikely]]                                                        \
      ::assay::check_failed(__FILE__, __LINE__, #condition, fmt::format("" __VA_ARGS__)); \
  } while (false)
