// Redzones and poison around the temporaries of a bound program.
#include <algorithm>

#include "compiler/runtime/bound_run.h"

namespace assay {
namespace {

constexpr std::byte kPoison{0xCB};

/// All bits set are a NaN in every float.
auto poison_of(DType dtype) -> std::byte {
  return is_floating(dtype) || is_complex(dtype) ? std::byte{0xFF} : kPoison;
}

}  // namespace

auto ReadyProgram::redzones(std::size_t buffer) const -> std::array<std::span<std::byte>, 2> {
  const auto bytes = arena_->bytes();
  const auto begin = static_cast<std::size_t>(places_[buffer].offset_bytes);
  const auto size = static_cast<std::size_t>(bound_.buffers[buffer].size_bytes);
  const auto zone = static_cast<std::size_t>(options_.memory.redzone_bytes);
  return {bytes.subspan(begin - zone, zone), bytes.subspan(begin + size, zone)};
}

void ReadyProgram::birth(std::size_t at) {
  for (std::size_t i = 0; i < bound_.buffers.size(); ++i) {
    const auto& buffer = bound_.buffers[i];
    const bool stands_over = buffer.over && plan_.offsets[i] == plan_.offsets[*buffer.over];
    if (plan_.offsets[i] < 0 || buffer.first != at || stands_over) continue;
    for (const auto zone : redzones(i)) std::ranges::fill(zone, kPoison);
    std::ranges::fill(bytes_of(i), poison_of(buffer.dtype));
  }
}

void ReadyProgram::death(std::size_t at, ProgramRun& run) {
  const auto handed_over = [&](std::size_t i) {
    return std::ranges::any_of(bound_.buffers, [&](const BoundBuffer& other) {
      return other.over == i &&
             plan_.offsets[static_cast<std::size_t>(&other - bound_.buffers.data())] ==
                 plan_.offsets[i];
    });
  };
  const auto* op = std::visit([](const auto& step) { return step.op; }, bound_.steps[at]);
  for (std::size_t i = 0; i < bound_.buffers.size(); ++i) {
    const auto& buffer = bound_.buffers[i];
    if (plan_.offsets[i] < 0 || at < buffer.first || at > buffer.last) continue;
    for (const auto zone : redzones(i)) {
      const auto hit = std::ranges::find_if(zone, [](std::byte b) { return b != kPoison; });
      if (hit == zone.end()) continue;
      RunFinding finding;
      finding.fault = RunFault::out_of_bounds;
      finding.line = op->line;
      finding.statement = op->text;
      if (const auto* launch = std::get_if<HostLaunch>(&op->what)) finding.kernel = launch->kernel;
      finding.buffer = buffer.name;
      const auto distance = &*hit - bytes_of(i).data();
      finding.element = distance / size_bytes(buffer.dtype);
      finding.message = fmt::format("byte {} of {}, which has {}, is written", distance,
                                    buffer.name, buffer.size_bytes);
      run.findings.push_back(std::move(finding));
      std::ranges::fill(zone, kPoison);
    }
    if (buffer.last == at && !handed_over(i))
      std::ranges::fill(bytes_of(i), poison_of(buffer.dtype));
  }
}

}  // namespace assay
