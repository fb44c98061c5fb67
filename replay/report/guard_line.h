// A guard as one line: what it says and where it was made.
#pragma once
#include <string>

#include "core/shape/shape_env.h"

namespace assay {

[[nodiscard]] auto guard_line(const ShapeEnv& env, std::size_t index) -> std::string;

}  // namespace assay
