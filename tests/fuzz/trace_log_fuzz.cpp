// Trace logs: read, view, read the graphs and shapes in them.
#include "replay/formats/torch_trace.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" auto LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) -> int {
  const auto log = assay::read_torch_trace(assay::fuzz::as_text(data, size));
  if (!log) return 0;
  for (const auto& compilation : assay::compilations(*log)) {
    (void)assay::trace_shapes(*log, compilation);
    for (const auto& part : compilation.graphs) (void)assay::trace_graph(*log, part);
    for (const auto& part : compilation.metrics)
      (void)assay::trace_metrics(log->events[part.event]);
  }
  (void)assay::trace_capture(*log);
  return 0;
}
