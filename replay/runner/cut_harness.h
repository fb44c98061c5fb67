// The end of a cut wrapper: what it is called with, as Python. Internal to replay/runner.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ops/datum.h"

namespace assay {

/// A tensor at some moment; `bytes` begin with its first element.
struct Recorded {
  DType dtype = DType::float32;
  Ints sizes, strides;
  std::string bytes;
};
[[nodiscard]] auto recorded(const Tensor& tensor) -> Recorded;
/// The whole storage as a row of the tensor's elements.
[[nodiscard]] auto recorded_storage(const Tensor& tensor) -> Recorded;

/// `(2, 3, )`
[[nodiscard]] auto tuple_text(const Ints& values) -> std::string;
/// `recorded(...)` with its contents, or `rand_strided(...)`.
[[nodiscard]] auto example_text(const Recorded& tensor, std::string_view device, bool has_contents)
    -> std::string;

struct Harness {
  std::vector<std::string> examples;  ///< `buf0 = rand_strided(...)`
  std::vector<std::string> inputs;    ///< names, in the order of `call`
  std::string expected;               ///< of the only output; empty: nothing is asserted
  double tolerance = 0;
};
[[nodiscard]] auto harness_text(const Harness& harness) -> std::string;

}  // namespace assay
