#include "compiler/program/program.h"

#include <algorithm>

namespace assay {

HostValue::HostValue() = default;
HostValue::HostValue(const HostValue& other) = default;
HostValue::HostValue(HostValue&& other) noexcept = default;
auto HostValue::operator=(const HostValue& other) -> HostValue& = default;
auto HostValue::operator=(HostValue&& other) noexcept -> HostValue& = default;
HostValue::~HostValue() = default;

HostWhat::HostWhat() = default;
HostWhat::HostWhat(const HostWhat& other) = default;
HostWhat::HostWhat(HostWhat&& other) noexcept = default;
auto HostWhat::operator=(const HostWhat& other) -> HostWhat& = default;
auto HostWhat::operator=(HostWhat&& other) noexcept -> HostWhat& = default;
HostWhat::~HostWhat() = default;

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
