// Rows of compiled programs: what they launch, where their memory stands, why they are as they are.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace assay {

using TraceId = std::int64_t;

struct KernelRow {
  TraceId graph_id = 0;
  std::string name, language, text, nodes;
};
struct LaunchRow {
  TraceId graph_id = 0;
  std::int64_t seq = 0;
  std::string kind, target;
  std::optional<TraceId> kernel_id;
  std::int64_t line = 0;
  std::string grid, extents, text;
};
struct BufferRow {
  TraceId graph_id = 0;
  std::string name, kind, dtype;
  std::int64_t size_bytes = 0;
  std::optional<std::int64_t> offset_bytes, first_step, last_step;
  std::string written_over;
};
struct LaunchBufferRow {
  TraceId launch_id = 0;
  std::int64_t position = 0;
  TraceId buffer_id = 0;
  std::string access;
};
struct MemoryPlanRow {
  TraceId graph_id = 0;
  std::int64_t arena_bytes = 0, live_bytes = 0, sum_bytes = 0, steps = 0;
  std::string sizes;
};
struct DecisionRow {
  TraceId graph_id = 0;
  std::int64_t seq = 0;
  std::optional<TraceId> node_id;
  std::string kind, verdict, subject, other, reason;
};
struct TensorValuesRow {
  std::optional<TraceId> node_id, launch_id;
  std::string leaf, source, layout, elements;
};
struct StageVerdictRow {
  TraceId run_id = 0;
  std::optional<TraceId> compilation_id;
  std::int64_t seq = 0;
  std::string compilation, name, verdict;
  std::int64_t calls = 0, compared = 0;
  double ratio = 0;
  std::string reason, sizes;
  std::optional<std::int64_t> log_line;
};

}  // namespace assay
