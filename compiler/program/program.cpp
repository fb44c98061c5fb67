#include "compiler/program/program.h"

#include <algorithm>

namespace assay {

auto find_function(const HostProgram& program, std::string_view target) -> const HostFunction* {
  std::string name(target);
  if (const auto open = target.find("partitions["); open != std::string_view::npos) {
    const auto digits = target.find_first_of("0123456789", open);
    if (digits == std::string_view::npos) return nullptr;
    const auto count = target.find_first_not_of("0123456789", digits) - digits;
    name = "partition_" + std::string(target.substr(digits, count));
  }
  const auto found = std::ranges::find(program.functions, name, &HostFunction::name);
  return found == program.functions.end() ? nullptr : &*found;
}

}  // namespace assay
