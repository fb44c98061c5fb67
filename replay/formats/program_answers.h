// Inputs of a compiled function and what it really gave: the JSON that stands beside a recorded
// TORCH_TRACE log.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/tensor/tensor.h"

namespace assay {

struct AnsweredInput {
  Tensor tensor;  ///< as recorded: a fill, or the contents themselves
  bool requires_grad = false;
  /// What Dynamo may call its placeholder, `L_self_modules_fc_parameters_weight_`, of a parameter
  /// that several modules share each way to it; empty where nobody recorded that: then guards say
  /// which parameter of the function is which.
  std::vector<std::string> placeholders;
};
struct AnsweredTensor {
  Tensor tensor;
  bool has_data = true;         ///< large tensors are recorded by their sums alone
  double sum = 0, abs_sum = 0;  ///< in float64
};
struct Answers {
  std::vector<AnsweredTensor> outputs, gradients;  ///< gradients of the inputs that require them
  std::vector<AnsweredTensor> inputs_after;
};
struct ProgramAnswers {
  std::string name, device;
  std::vector<AnsweredInput> inputs;  ///< in order of the function's parameters
  std::optional<Answers> eager, compiled;
};

/// Errors: bad_input, naming `name` and the place in it.
[[nodiscard]] auto read_program_answers(std::string_view text, const std::string& name)
    -> Result<ProgramAnswers>;

/// What output `k` was multiplied by before the sum whose gradients are recorded: row-major.
[[nodiscard]] auto answered_tangent(const RealMeta& output, std::size_t k) -> Result<Tensor>;

}  // namespace assay
