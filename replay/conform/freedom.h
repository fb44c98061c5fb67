// What PyTorch leaves open about the values of some operators, and how such results are judged.
#pragma once
#include <span>
#include <string_view>

#include "core/ops/op_table.h"
#include "replay/conform/values.h"

namespace assay {

/// One call whose results are tensors (or None) in the order of the schema.
struct JudgedCall {
  const OpRow& row;
  const OpTable& table;
  const DatumList& args;      ///< one per parameter, as before the call
  const DatumList& actual;    ///< leaves of our results
  const DatumList& expected;  ///< leaves of eager's results
};

/// An operator with results that are not a function of its arguments: signs of eigenvectors, which
/// of several equal elements an index names, elements that are never written, digits that the
/// device leaves out.
struct Freedom {
  std::string_view overload;
  std::string_view judged_by;  ///< "U diag(S) Vh = A, U and Vh unitary"
  /// Nothing if both results mean the same, else what does not hold.
  Difference (*judge)(const JudgedCall& call);
};
[[nodiscard]] auto freedoms() -> std::span<const Freedom>;
/// Null if the operator's values are fixed.
[[nodiscard]] auto find_freedom(std::string_view overload) -> const Freedom*;
/// The same of a row, or of the one whose results it writes into given tensors.
[[nodiscard]] auto find_freedom(const OpRow& row) -> const Freedom*;

}  // namespace assay
