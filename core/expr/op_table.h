// One row per operator: its names in the three spellings, its types and its number of operands.
// Parser, printer, type checks and folding all read this table.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/expr/expr.h"

namespace assay {

/// How the type of a node follows from its operands.
enum class TypeRule : std::uint8_t {
  leaf,        ///< no operands; the type is given
  integer,     ///< integer operands, integer result
  promote,     ///< numbers; real when any operand is real
  real,        ///< numbers; real result
  to_integer,  ///< a number; integer result
  comparison,  ///< two numbers, or two booleans for eq and ne
  boolean,     ///< boolean operands, boolean result
  where,       ///< boolean, then two branches of one kind
  opaque,      ///< anything; the type follows from the name
};

struct OpRow {
  ExprOp op;
  std::string_view name;    ///< as our own messages and the sympy spelling write the function
  std::string_view srepr;   ///< class name in srepr text; dots allowed
  std::string_view python;  ///< function in Python source, empty when an infix form is used
  std::string_view infix;   ///< binary operator, same in sympy and Python spelling; empty if none
  TypeRule type;
  std::uint8_t min_args;
  std::uint8_t max_args;  ///< kAnyNumber for n-ary operators
};

inline constexpr std::uint8_t kAnyNumber = 255;

/// The row of an operator.
[[nodiscard]] auto op_row(ExprOp op) -> const OpRow&;

/// The operator a function name stands for (any spelling, class path already removed).
[[nodiscard]] auto find_function(std::string_view name) -> std::optional<ExprOp>;

/// Type of a node with these operands, or nothing when the operands do not fit the operator.
[[nodiscard]] auto result_type(ExprOp op, std::span<const Expr> args, std::string_view name)
    -> std::optional<ExprType>;

/// Type of a function kept by name.
[[nodiscard]] auto opaque_type(std::string_view name) -> ExprType;

}  // namespace assay
