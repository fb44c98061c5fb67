// Which tensors go into memory. Internal to compiler/schedule.
#pragma once
#include "compiler/schedule/schedule.h"

namespace assay {

struct MemoryChoice {
  std::vector<bool> needed;  ///< by definition: somebody wants it
  std::vector<bool> stored;  ///< owners: computed once and kept, in memory or by a kernel
  std::vector<bool> calls;   ///< library calls that are needed
  /// Tensors that somebody outside of loops wants: outputs, arguments of calls.
  std::vector<bool> wanted;
  /// What a loop reads that computes a tensor where it wants it: itself, if it is kept.
  void visit_read(const LoweredGraph& graph, DefId id,
                  const std::function<void(DefId)>& visit) const;
};

[[nodiscard]] auto choose_memory(const ScheduleInput& input, const ScheduleOptions& options,
                                 std::vector<CompileDecision>& decisions) -> MemoryChoice;

/// Calls `visit` for each tensor in an argument.
void visit_tensors(const CallArg& arg, const std::function<void(DefId)>& visit);

}  // namespace assay
