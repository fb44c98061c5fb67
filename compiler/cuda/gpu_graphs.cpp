#include "compiler/cuda/gpu_graphs.h"

namespace assay {

GpuGraphs::~GpuGraphs() {
  for (const auto& entry : entries_) driver_.destroy(nullptr, entry.exec);
}

auto GpuGraphs::exec_for(cuda::GraphHandle* graph) -> Result<cuda::GraphExecHandle*> {
  const auto known = std::ranges::find(entries_, graph, &Entry::graph);
  if (known != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, known);
    return known->exec;
  }
  ASSAY_TRY(auto clusters, driver_.clusters(graph));
  // From the one whose use is the longest ago, as far as they may be taken over.
  auto at = entries_.end();
  while (at != entries_.begin()) {
    --at;
    if (at->graph != nullptr && entries_.size() < most_) continue;
    if (at->clusters != clusters || !driver_.update(at->exec, graph)) continue;
    at->graph = graph;
    entries_.splice(entries_.begin(), entries_, at);
    return entries_.front().exec;
  }
  ASSAY_TRY(auto* const exec, driver_.instantiate(graph));
  entries_.push_front({graph, exec, std::move(clusters)});
  if (entries_.size() > most_) {
    driver_.destroy(nullptr, entries_.back().exec);
    entries_.pop_back();
  }
  return exec;
}

void GpuGraphs::forget(const cuda::GraphHandle* graph) {
  for (auto& entry : entries_)
    if (entry.graph == graph) entry.graph = nullptr;
}

}  // namespace assay
