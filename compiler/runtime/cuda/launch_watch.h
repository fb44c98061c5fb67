// Told what the GPU is about to do, for whoever ends a process whose launch never ends. A kernel
// that hangs cannot be stopped from within its process, and one that faults takes all of the
// process' work on the GPU along.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace assay::cuda {

/// One launch, or several that are issued at once.
struct LaunchNote {
  std::string kernel;     ///< or operator of a library call; empty: several launches
  std::string statement;  ///< of the wrapper
  int line = 0;           ///< of the statement; of several launches the first
  int last_line = 0;      ///< of several launches
  std::int64_t number = 0, launches = 0;  ///< from 1 in this run of the program; how many it has
  std::string sizes;                      ///< grid, threads and extents, in words
};

class LaunchWatch {
 public:
  LaunchWatch() = default;
  virtual ~LaunchWatch() = default;
  LaunchWatch(const LaunchWatch&) = delete;
  auto operator=(const LaunchWatch&) -> LaunchWatch& = delete;
  /// Are launches issued and waited for one by one, so that what hangs or faults is known?
  [[nodiscard]] virtual auto one_by_one() const -> bool = 0;
  /// Before it is issued.
  virtual void issues(const LaunchNote& note) = 0;
  /// The calling thread waits for the GPU, or goes on. One thread waits at a time.
  virtual void waits(bool does) = 0;
  /// The driver says that a launch went wrong in a way after which the process cannot use the GPU.
  virtual void faulted(std::string_view error) = 0;
};

}  // namespace assay::cuda
