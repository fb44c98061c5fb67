// How often the fake GPU (tests/fake_gpu) was called by a name.
#pragma once
#include <dlfcn.h>

namespace assay::testing {

/// Calls since this was made.
class Counted {
 public:
  explicit Counted(const char* name) : name_(name), before_(calls(name)) {}
  [[nodiscard]] auto since() const -> int { return calls(name_) - before_; }

 private:
  static auto calls(const char* name) -> int {
    static void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    static const auto count =
        reinterpret_cast<int (*)(const char*)>(::dlsym(library, "fake_gpu_calls"));
    return count(name);
  }
  const char* name_;
  int before_;
};

}  // namespace assay::testing
