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

}  // namespace assay
