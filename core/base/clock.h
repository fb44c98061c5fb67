// Wall-clock time that passed.
#pragma once
#include <chrono>

namespace assay {

using Clock = std::chrono::steady_clock;

[[nodiscard]] inline auto seconds_since(Clock::time_point start) -> double {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace assay
