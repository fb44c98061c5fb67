// Which tensors one kernel computes. Internal to compiler/schedule.
#pragma once
#include <map>

#include "compiler/lower/loop_builder.h"
#include "compiler/schedule/memory.h"

namespace assay {

/// One step of the program: a kernel with the tensors it computes, or a library call.
struct ScheduleUnit {
  std::vector<LoopAxis> axes;
  std::vector<DefId> roots;
  std::vector<LoopPlace> places;  ///< by root
  std::optional<std::size_t> call;
  std::vector<std::size_t> after;  ///< units it depends on
  std::size_t epoch = 0;           ///< how many calls before it write memory
};

struct Grouping {
  std::vector<ScheduleUnit> units;
  std::vector<std::optional<std::size_t>> unit_of;    ///< by definition
  std::vector<std::size_t> order;                     ///< of units
  std::map<DefId, std::vector<std::size_t>> readers;  ///< kernels that read a tensor
};

/// Errors: unsupported (an element that no kernel can compute).
[[nodiscard]] auto group(const ScheduleInput& input, const MemoryChoice& memory,
                         const ScheduleOptions& options, std::vector<CompileDecision>& decisions)
    -> Result<Grouping>;

/// Where a tensor of these extents stands in a nest; nothing if it does not fit. Dimensions of
/// size 1 have no axis; several axes may be one dimension and the other way round.
[[nodiscard]] auto place_in(const Dims& extents, const std::vector<LoopAxis>& axes,
                            const std::vector<std::size_t>& allowed) -> std::optional<LoopPlace>;

}  // namespace assay
