#include "compiler/cuda/replaced_steps.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace assay {

void replace_steps(BoundProgram& bound, const std::function<bool(const BoundStep&)>& replace) {
  std::vector<std::size_t> begins;  // by step as it was: the first one as it is
  auto steps = std::exchange(bound.steps, {});
  const auto given = bound.buffers.size();
  for (auto& step : steps) {
    begins.push_back(bound.steps.size());
    if (!replace(step)) bound.steps.push_back(std::move(step));
  }
  begins.push_back(bound.steps.size());
  for (std::size_t i = 0; i < given; ++i) {
    auto& buffer = bound.buffers[i];
    if (!buffer.is_used) continue;
    const bool is_end = buffer.last + 1 >= begins.size();
    buffer.first = begins[buffer.first];
    buffer.last = is_end ? begins.back() : begins[buffer.last + 1] - 1;
  }
}

auto add_buffer(BoundProgram& bound, const std::string& name, DType dtype, std::int64_t elements)
    -> std::size_t {
  BoundBuffer made;
  made.name = name;
  made.dtype = dtype;
  made.size_bytes = elements * size_bytes(dtype);
  made.first = made.last = bound.steps.size();
  made.is_used = true;
  bound.buffers.push_back(std::move(made));
  return bound.buffers.size() - 1;
}

void used_by_next(BoundProgram& bound, std::size_t buffer) {
  bound.buffers[buffer].last = bound.steps.size();
}

auto kernel_number(BoundProgram& bound, const std::string& kernel) -> std::size_t {
  const auto known = std::ranges::find(bound.kernels, kernel);
  const auto number = static_cast<std::size_t>(known - bound.kernels.begin());
  if (known == bound.kernels.end()) bound.kernels.push_back(kernel);
  return number;
}

}  // namespace assay
