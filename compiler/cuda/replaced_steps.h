// Steps of a bound program in the place of others, before it gets its memory.
#pragma once
#include <cstddef>
#include <functional>
#include <string>

#include "compiler/runtime/bound.h"

namespace assay {

/// `replace` is given each step in turn, and appends what stands in its place to the program's
/// steps; false: it stays. Buffers that were there live as long as the steps that used them; those
/// that are added along with it have lives of their own.
void replace_steps(BoundProgram& bound, const std::function<bool(const BoundStep&)>& replace);
/// A buffer between steps; it lives as long as `used_by_next` says.
[[nodiscard]] auto add_buffer(BoundProgram& bound, const std::string& name, DType dtype,
                              std::int64_t elements) -> std::size_t;
/// The step that is appended next uses a buffer that was added.
void used_by_next(BoundProgram& bound, std::size_t buffer);
/// The number of a kernel's name among the program's.
[[nodiscard]] auto kernel_number(BoundProgram& bound, const std::string& kernel) -> std::size_t;

}  // namespace assay
