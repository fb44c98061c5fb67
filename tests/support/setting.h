// Variables of the environment, for tests of what reads them.
#pragma once
#include <cstdlib>

namespace assay::testing {

/// Is set while it lives.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Setting() { ::unsetenv(name_); }
  Setting(const Setting&) = delete;
  auto operator=(const Setting&) -> Setting& = delete;

 private:
  const char* name_;
};

}  // namespace assay::testing
