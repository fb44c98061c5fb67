#include "compiler/program/executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace assay {
namespace {

/// Median of the runs after one that is not counted.
template <class Call>
auto median(const MeasureOptions& options, const Call& call) -> Result<double> {
  using Clock = std::chrono::steady_clock;
  std::vector<double> seconds;
  for (int i = 0; i <= options.runs; ++i) {
    const auto start = Clock::now();
    for (int j = 0; j < options.burst; ++j) ASSAY_TRY_VOID(call());
    const std::chrono::duration<double> passed = Clock::now() - start;
    if (i > 0) seconds.push_back(passed.count() / options.burst);
  }
  std::ranges::nth_element(seconds, seconds.begin() + options.runs / 2);
  return seconds[static_cast<std::size_t>(options.runs / 2)];
}

/// One thread, memory beyond the caches.
auto copy_bandwidth() -> double {
  constexpr std::size_t kBytes = 256 << 20;
  std::vector<std::byte> from(kBytes, std::byte{1}), to(kBytes);
  const auto once = [&]() -> Result<void> {
    std::memcpy(to.data(), from.data(), kBytes);
    return {};
  };
  return 2.0 * kBytes / median({.runs = 5}, once).value_or(1);
}

}  // namespace

void add_once(std::vector<RunFinding>& findings, RunFinding finding) {
  const auto is_same = [&](const RunFinding& known) {
    return known.fault == finding.fault && known.line == finding.line &&
           known.kernel == finding.kernel && known.kernel_line == finding.kernel_line &&
           known.buffer == finding.buffer;
  };
  const bool is_known =
      finding.fault == RunFault::uninitialised && std::ranges::any_of(findings, is_same);
  if (!is_known) findings.push_back(std::move(finding));
}

auto bytes_of(const DatumList& data) -> double {
  double bytes = 0;
  for (const auto& datum : data)
    if (const auto* tensor = datum.real())
      bytes += static_cast<double>(tensor->numel() * size_bytes(tensor->dtype()));
  return bytes;
}

auto CompiledProgram::measure(const DatumList& inputs, const MeasureOptions& options) const
    -> Result<ProgramTimes> {
  ProgramTimes times;
  times.bytes = bytes_of(inputs);
  bool is_first = true;
  ASSAY_TRY(times.seconds, median(options, [&]() -> Result<void> {
              ASSAY_TRY(const auto done, run(inputs, {}));
              if (std::exchange(is_first, false)) times.bytes += bytes_of(done.outputs);
              return {};
            }));
  times.copy_bytes_per_s = copy_bandwidth();
  return times;
}

}  // namespace assay
