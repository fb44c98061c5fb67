// Which values of a kernel matter: what a compiler may leave out does not.
#pragma once
#include <vector>

#include "compiler/program/kernel.h"

namespace assay {

/// By TileId: does what is stored, added in memory or asserted depend on it? Loads, reductions and
/// whatever else has no effect but its result are left out by compilers where it does not.
[[nodiscard]] auto live_values(const TileKernel& kernel) -> std::vector<bool>;

}  // namespace assay
