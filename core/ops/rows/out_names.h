// How PyTorch calls the overloads that write into given tensors.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/ops/op_table.h"

namespace assay {

/// The overload, "out", and the tensors' names, "values indices".
struct OutForm {
  std::string overload;
  std::string parameters;
};
/// Nothing if PyTorch has no such form of the row: of operators with a kernel of their own few have
/// none, of compositions some have one.
[[nodiscard]] auto out_form(const OpRow& row) -> std::optional<OutForm>;
/// An `out` of another size takes the result's, and its strides too if the kernel itself resizes it;
/// where PyTorch runs the functional overload and copies, it becomes row-major.
[[nodiscard]] auto resizes_row_major(std::string_view functional) -> bool;

}  // namespace assay
