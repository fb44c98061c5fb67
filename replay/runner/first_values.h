// The first elements of tensors as text: what a person compares at a glance.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/program/executor.h"

namespace assay {

inline constexpr int kFirstValues = 16;

struct FirstValues {
  std::string leaf;      ///< path in a tuple ("[1]"), or the name of a buffer
  std::string layout;    ///< "f32[5, 16][16, 1]cpu"; empty for numbers
  std::string elements;  ///< at most kFirstValues in row-major order: "0.5, -1, nan, ..."
};

/// Every tensor and number in a datum. Reads no more than what it gives.
[[nodiscard]] auto first_values(const Datum& datum, const std::string& leaf = {})
    -> std::vector<FirstValues>;

/// Buffers that each launch or call left, by its statement.
using WrittenValues = std::map<const HostOp*, std::vector<FirstValues>>;
/// For ProgramRunOptions::tap; `into` must outlive the run.
[[nodiscard]] auto keep_written(WrittenValues& into) -> std::function<void(const RunWritten&)>;

}  // namespace assay
