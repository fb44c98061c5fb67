// Where temporaries of a bound program stand in one arena.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/runtime/bound.h"

namespace assay {

inline constexpr std::int64_t kArenaAlignment = 64;

struct MemoryPlanOptions {
  bool reuse = true;               ///< false: every buffer has a place of its own
  bool dies_early = false;         ///< a fault: buffers are dead one step before they are
  std::int64_t redzone_bytes = 0;  ///< before and behind every buffer, a multiple of the alignment
};

/// What became of one buffer's memory, with its reason.
struct ReuseDecision {
  std::string buffer, other;
  bool accepted = false;
  std::string reason;
};

struct MemoryPlan {
  std::vector<std::int64_t> offsets;  ///< by buffer, in the arena; -1: it stands elsewhere
  std::int64_t arena_bytes = 0;
  /// Largest sum of temporaries that live at one step, each rounded up to the alignment; nothing is
  /// said of those that are written over an operand.
  std::int64_t live_bytes = 0;
  std::int64_t sum_bytes = 0;  ///< of all temporaries, as without reuse
  /// What the search found: the first buffers of what stands in one place, as they were placed, and
  /// whether buffers stand over others.
  std::vector<std::size_t> order = {};
  bool in_place = false;
};

/// Temporaries get places one after the other in the smallest gap that fits, in the best of some
/// orders. `like`: a plan of the same program at other sizes. Its order is taken where it packs as
/// well here, since a search takes milliseconds.
[[nodiscard]] auto plan_memory(const BoundProgram& bound, const MemoryPlanOptions& options = {},
                               const MemoryPlan* like = nullptr) -> MemoryPlan;

/// What became of every buffer's memory. `options`: those of the plan.
[[nodiscard]] auto reuse_decisions(const BoundProgram& bound, const MemoryPlan& plan,
                                   const MemoryPlanOptions& options = {})
    -> std::vector<ReuseDecision>;

/// Every broken rule as a line: buffers out of the arena, not aligned, or two in the same bytes
/// while both live. Knows nothing of how the plan was made.
[[nodiscard]] auto check_plan(const BoundProgram& bound, const MemoryPlan& plan)
    -> std::vector<std::string>;

}  // namespace assay
