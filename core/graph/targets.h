// Spelling of operators: which canonical targets have an infix form, and how targets are written.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace assay {

/// FX's word for a kind of node, as recorders write it: "call_function".
struct NodeKindName {
  std::string_view name;
  NodeKind kind;
};
[[nodiscard]] auto node_kinds() -> std::span<const NodeKindName>;
[[nodiscard]] auto name(NodeKind kind) -> std::string_view;

enum class OperatorShape : std::uint8_t { unary, binary };

/// `operator.NAME` and the Python symbol FX prints for it.
struct OperatorForm {
  std::string_view name;    ///< "floordiv"
  std::string_view symbol;  ///< "//"
  OperatorShape shape;
  bool comparison = false;
};
[[nodiscard]] auto operator_forms() -> std::span<const OperatorForm>;
/// Row for a target such as "operator.mul"; null if it has no infix form.
[[nodiscard]] auto operator_form(std::string_view target) -> const OperatorForm*;
/// Canonical target of a symbol: ("-", unary) -> "operator.neg"; null if there is none.
[[nodiscard]] auto operator_for_symbol(std::string_view symbol, OperatorShape shape)
    -> const OperatorForm*;
/// Canonical target of an augmented assignment: "+=" -> "operator.iadd"; empty if none.
[[nodiscard]] auto inplace_target(std::string_view symbol) -> std::string;
/// "operator.iadd" -> "+="; empty if the target is no augmented assignment.
[[nodiscard]] auto inplace_symbol(std::string_view target) -> std::string;

/// ASCII or UTF-8 identifier that is no Python keyword.
[[nodiscard]] auto is_identifier(std::string_view text) -> bool;
/// Identifiers joined by dots.
[[nodiscard]] auto is_dotted_name(std::string_view text) -> bool;
/// canonical_target for texts that name higher-order operators by a bare word (`cond`), as str() of
/// one does: operators have a namespace and functions of Python a module.
[[nodiscard]] auto recorded_target(std::string_view text) -> std::string;
/// How a canonical function target is called in Python: "torch.ops.aten.add.Tensor", "max".
[[nodiscard]] auto python_callee(std::string_view target) -> std::string;

/// Whether the node calls the submodule in which torch.export keeps the guards on a program's
/// inputs: it raises or returns nothing.
[[nodiscard]] auto is_input_guards(const Node& node) -> bool;

}  // namespace assay
