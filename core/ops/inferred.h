// Rules of operators that nobody wrote a row for, inferred from recorded calls.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/ops/call.h"
#include "core/ops/op_table.h"

namespace assay {

/// One recorded call, layouts alone. Arguments are lined up with the schema's parameters; tensors
/// are fake, with constant sizes, and share storage where they shared it in the recording.
struct OperatorSample {
  std::int64_t id = 0;  ///< of the recorded case
  DatumList args;
  Datum result;
};

/// How far the recorded calls carry.
enum class InferenceState : std::uint8_t {
  confirmed,  ///< predicts a call that it was not made from
  undecided,  ///< several rules fit and differ where they were not recorded, or too few calls
  refuted,    ///< what fits some calls fails on another: not a rule of the kinds that are searched
};

/// Everything that fits the calls of one kind of arguments: every hypothesis is kept, and an answer
/// counts only where all of them agree. Defined in inferred.cpp.
struct RuleSpace;

struct InferredRule {
  InferenceState state = InferenceState::undecided;
  std::string schema_text;                 ///< as PyTorch prints it
  std::string reason;                      ///< why it is not confirmed, or what is not
  std::vector<std::int64_t> confirmed_by;  ///< ids of the calls it was made from
  std::int64_t held_back = -1;             ///< the call that it predicted, or failed on
  std::string formula;                     ///< "[x.size(0), x.size(1) + 2*pad], row-major"
  std::vector<std::shared_ptr<const RuleSpace>> spaces;  ///< one per kind of arguments
};

/// Searches sizes, strides, offset, dtype and aliasing of every result as expressions of the sizes,
/// strides and integers of the arguments: constants, one argument plus or times a constant, sums,
/// differences and products of two, quotients, rounding up to multiples, windows
/// `(x + 2*p - k)//s + 1`; layouts like an argument's, row-major, channels-last, permuted, or as a
/// pointwise operator's. Calls are grouped by ranks, flags and what is None; each group needs at
/// least three calls, one of which is held back and must be predicted.
[[nodiscard]] auto infer_rule(const Schema& schema, std::span<const OperatorSample> samples)
    -> InferredRule;

/// The row for a confirmed rule. It has no kernel: contents of its results are made up. At
/// arguments that the calls do not decide it is unsupported.
[[nodiscard]] auto inferred_row(std::shared_ptr<const InferredRule> rule) -> OpRow;

}  // namespace assay
