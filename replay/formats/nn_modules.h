// Modules of torch.nn as the operator that they call, for scripts that say `Linear(10, 5)`.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/tensor/tensor.h"

namespace assay {

/// A module as a script makes it: `Conv2d(3, 8, kernel_size=(3, 3))`, `.cuda()`, `.eval()`.
struct NnModule {
  std::string class_name;
  std::vector<Arg> args;
  std::vector<std::pair<std::string, Arg>> kwargs;
  Device device;
  bool is_training = true;
};

/// A parameter or buffer of a module, row-major; its values are not in the script.
struct NnParameter {
  std::string name;  ///< "weight"
  Ints sizes;
  DType dtype = DType::float32;
  bool is_positive = false;  ///< variances
};
/// What the module is called with.
struct NnInput {};

/// The call that stands for a call of the module.
struct NnCall {
  std::string target;  ///< "aten.linear.default"
  std::vector<std::variant<NnInput, NnParameter, Arg>> args;
};

/// Is there a row for this class?
[[nodiscard]] auto is_nn_module(std::string_view class_name) -> bool;
/// Nothing for a class without a row. Errors: unsupported (an argument that the row does not
/// follow, as `padding_mode='circular'`), bad_input (arguments that the class does not take).
/// Source: torch/nn/modules, PyTorch 2.0 to 2.15.
[[nodiscard]] auto nn_call(const NnModule& module) -> std::optional<Result<NnCall>>;

}  // namespace assay
