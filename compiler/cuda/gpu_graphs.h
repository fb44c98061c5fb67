// Graphs of the driver, ready to run.
#pragma once
#include <algorithm>
#include <cstddef>
#include <list>
#include <vector>

#include "compiler/runtime/cuda/driver.h"

namespace assay {

/// Instantiated graphs, which are few: a program that needs one takes over the one whose use is the
/// longest ago, since an update costs less than an instantiation.
class GpuGraphs {
 public:
  explicit GpuGraphs(cuda::Driver& driver) : driver_(driver) {}
  ~GpuGraphs();
  GpuGraphs(const GpuGraphs&) = delete;
  auto operator=(const GpuGraphs&) -> GpuGraphs& = delete;
  /// What runs `graph`. Errors: of the driver.
  [[nodiscard]] auto exec_for(cuda::GraphHandle* graph) -> Result<cuda::GraphExecHandle*>;
  /// Programs of so many graphs come: a few of them shall keep theirs.
  void make_room(std::size_t graphs) { most_ = std::max(most_, 4 * graphs); }
  /// The graph is about to be destroyed.
  void forget(const cuda::GraphHandle* graph);

 private:
  struct Entry {
    const cuda::GraphHandle* graph = nullptr;  ///< nothing: free
    cuda::GraphExecHandle* exec = nullptr;
    std::vector<unsigned> clusters;  ///< which an update would leave as they are
  };
  cuda::Driver& driver_;
  std::list<Entry> entries_;  ///< the one used last is first
  std::size_t most_ = 4;
};

}  // namespace assay
