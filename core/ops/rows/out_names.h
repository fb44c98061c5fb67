// How PyTorch calls the overloads that write into given tensors.
#pragma once
#include <cstddef>
#include <cstdint>
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
/// What becomes of an `out` in PyTorch. One that has the result's sizes keeps its strides, if
/// nothing else is said.
enum class OutLayout : std::uint8_t {
  proposed,         ///< of other sizes it takes the result's strides: the kernel resizes it
  fresh_if_empty,   ///< as `proposed`, and without elements it takes the result's strides as well
  fresh_if_turned,  ///< the same where its transpose is row-major
  copied,  ///< of other sizes it becomes row-major: PyTorch runs the functional overload and copies
  iterated,   ///< as `proposed`, by a TensorIterator, where the functional overload uses empty_like
  restrided,  ///< takes the result's strides at any sizes: resize_ with a memory format
  raw,        ///< is written as if it were row-major, whatever its strides are
  raw_zeros,  ///< as `raw`, after all of it became zero
  format,     ///< takes the result's strides if that is channels last, else as `raw`
  format_zeros,  ///< as `format`, after all of it became zero
  when_empty,    ///< without elements it takes the result's strides, else as `copied`
  lost,          ///< is row-major, or stays as it is: the kernel writes into a copy
  lost_zeros,    ///< as `lost`, after all of it became zero
  untouched,     ///< is not looked at
  if_made,       ///< is not looked at if the result has no elements
  together,      ///< `copied` if one of the outs has other sizes; else `when_empty`, or `untouched`
                 ///< where the call computes no result for it
  left,          ///< of other sizes it stays as it is, and its memory takes the result
  turned,        ///< of other sizes it becomes the transpose of the result, row-major
  counted,       ///< of as many elements it keeps its sizes
};
/// Which result an out is for.
struct OutResult {
  const Call& call;
  std::size_t index = 0;
  std::size_t rank = 0;
  bool is_cuda = false;
};
[[nodiscard]] auto out_layout(std::string_view functional, const OutResult& result) -> OutLayout;

}  // namespace assay
