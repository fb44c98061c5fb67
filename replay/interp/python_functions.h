// Functions of Python whose parameters are not those of the ATen operator that does the work.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/ops/datum.h"

namespace assay {

using Keywords = std::vector<std::pair<std::string, Datum>>;

/// Arguments as Python got them.
struct PythonArgs {
  DatumList positional;
  Keywords keywords;
};

/// A call of an operator by name; its overload is still to be chosen.
struct NamedCall {
  std::string name;  ///< "aten.batch_norm"
  PythonArgs args;
  std::optional<std::size_t> item;  ///< the part of the result that the function gives
};

/// A truth value that is true.
[[nodiscard]] inline auto is_true(const Datum& datum) -> bool {
  return datum.scalar() && datum.scalar()->as_bool().value_or(false);
}

/// The argument by Python's position or name; None if it is not given.
[[nodiscard]] auto argument_of(const PythonArgs& args, std::size_t position, std::string_view name)
    -> Datum;

/// The call that `torch.nn.functional.FUNCTION(...)` makes, with Python's defaults and without what
/// the operator does not take. Nothing where parameters and names are the operator's own. Source:
/// torch/nn/functional.py.
[[nodiscard]] auto python_function(std::string_view function, const PythonArgs& args)
    -> std::optional<NamedCall>;

/// `[1, 2] * 3`, `[1] + [2]`; nothing for other operators and operands.
[[nodiscard]] auto python_list(std::string_view target, const DatumList& args)
    -> std::optional<Datum>;

/// Where such a function takes `inplace`; nothing where it does not.
[[nodiscard]] auto inplace_position(std::string_view function) -> std::optional<std::size_t>;

/// Calls that change modes, which no run shows, or ask what Dynamo has put in already.
[[nodiscard]] auto is_mode(std::string_view target) -> bool;

/// Runs an operator by name, its overload chosen by the arguments.
using RunOperator =
    std::function<Result<Datum>(std::string_view name, const DatumList& args, Keywords keywords)>;

/// Functions of torch.nn.functional that Python itself composes of several operators. Nothing for
/// others. Errors: those of the operators.
[[nodiscard]] auto run_composed(std::string_view function, const PythonArgs& args,
                                const RunOperator& run) -> std::optional<Result<Datum>>;

/// What holds for every function: "mean" is 1, `inplace=True` is the operator with `_`, arguments
/// that say nothing are left out.
[[nodiscard]] auto as_operator(NamedCall call) -> NamedCall;

/// The call that reads an attribute of a tensor, `x.real` or `x.mT`; nothing for other attributes.
[[nodiscard]] auto python_attribute(std::string_view attribute, const Datum& tensor)
    -> std::optional<NamedCall>;

/// "__radd__" -> "operator.add" and true: with exchanged operands. Nothing for other methods.
[[nodiscard]] auto operator_of_method(std::string_view method)
    -> std::optional<std::pair<std::string, bool>>;

}  // namespace assay
