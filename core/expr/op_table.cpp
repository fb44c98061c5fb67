#include "core/expr/op_table.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace assay {
namespace {

#define ASSAY_TORCH "torch.utils._sympy.functions."

using enum ExprOp;

constexpr auto kRows = std::to_array<OpRow>({
    {int_const, "Integer", "Integer", "", "", TypeRule::leaf, 0, 0},
    {float_const, "Float", "Float", "", "", TypeRule::leaf, 0, 0},
    {bool_const, "bool", "bool", "", "", TypeRule::leaf, 0, 0},
    {int_oo, "int_oo", "int_oo", "", "", TypeRule::leaf, 0, 0},
    {neg_int_oo, "-int_oo", "-int_oo", "", "", TypeRule::leaf, 0, 0},
    {invalid, "invalid", "invalid", "", "", TypeRule::leaf, 0, 0},
    {symbol, "Symbol", "Symbol", "", "", TypeRule::leaf, 0, 0},
    {add, "Add", "Add", "", "+", TypeRule::promote, 1, kAnyNumber},
    {mul, "Mul", "Mul", "", "*", TypeRule::promote, 1, kAnyNumber},
    {pow, "Pow", "Pow", "", "**", TypeRule::promote, 2, 2},
    {floor_div, "FloorDiv", ASSAY_TORCH "FloorDiv", "", "//", TypeRule::integer, 2, 2},
    {clean_div, "CleanDiv", ASSAY_TORCH "CleanDiv", "CleanDiv", "", TypeRule::integer, 2, 2},
    {ceil_div, "CeilDiv", ASSAY_TORCH "CeilDiv", "CeilDiv", "", TypeRule::integer, 2, 2},
    {mod, "Mod", ASSAY_TORCH "Mod", "", "%", TypeRule::integer, 2, 2},
    {python_mod, "PythonMod", ASSAY_TORCH "PythonMod", "PythonMod", "", TypeRule::integer, 2, 2},
    {modular_indexing, "ModularIndexing", ASSAY_TORCH "ModularIndexing", "ModularIndexing", "",
     TypeRule::integer, 3, 3},
    {min, "Min", "Min", "min", "", TypeRule::promote, 1, kAnyNumber},
    {max, "Max", "Max", "max", "", TypeRule::promote, 1, kAnyNumber},
    {where, "Where", ASSAY_TORCH "Where", "", "", TypeRule::where, 3, 3},
    {int_true_div, "IntTrueDiv", ASSAY_TORCH "IntTrueDiv", "", "", TypeRule::real, 2, 2},
    {float_true_div, "FloatTrueDiv", ASSAY_TORCH "FloatTrueDiv", "", "", TypeRule::real, 2, 2},
    {pow_by_natural, "PowByNatural", ASSAY_TORCH "PowByNatural", "PowByNatural", "",
     TypeRule::integer, 2, 2},
    {float_pow, "FloatPow", ASSAY_TORCH "FloatPow", "", "", TypeRule::real, 2, 2},
    {ceil_to_int, "CeilToInt", ASSAY_TORCH "CeilToInt", "math.ceil", "", TypeRule::to_integer, 1,
     1},
    {floor_to_int, "FloorToInt", ASSAY_TORCH "FloorToInt", "math.floor", "", TypeRule::to_integer,
     1, 1},
    {trunc_to_int, "TruncToInt", ASSAY_TORCH "TruncToInt", "math.trunc", "", TypeRule::to_integer,
     1, 1},
    {trunc_to_float, "TruncToFloat", ASSAY_TORCH "TruncToFloat", "TruncToFloat", "", TypeRule::real,
     1, 1},
    {round_to_int, "RoundToInt", ASSAY_TORCH "RoundToInt", "round", "", TypeRule::to_integer, 1, 1},
    {round_decimal, "RoundDecimal", ASSAY_TORCH "RoundDecimal", "round", "", TypeRule::real, 2, 2},
    {to_float, "ToFloat", ASSAY_TORCH "ToFloat", "float", "", TypeRule::real, 1, 1},
    {abs_, "Abs", "Abs", "abs", "", TypeRule::promote, 1, 1},
    {identity, "Identity", ASSAY_TORCH "Identity", "Identity", "", TypeRule::promote, 1, 1},
    {bit_and, "BitwiseFn_bitwise_and", ASSAY_TORCH "BitwiseFn_bitwise_and", "", "&",
     TypeRule::integer, 2, 2},
    {bit_or, "BitwiseFn_bitwise_or", ASSAY_TORCH "BitwiseFn_bitwise_or", "", "|", TypeRule::integer,
     2, 2},
    {bit_xor, "BitwiseFn_bitwise_xor", ASSAY_TORCH "BitwiseFn_bitwise_xor", "", "^",
     TypeRule::integer, 2, 2},
    {lshift, "LShift", ASSAY_TORCH "LShift", "", "<<", TypeRule::integer, 2, 2},
    {rshift, "RShift", ASSAY_TORCH "RShift", "", ">>", TypeRule::integer, 2, 2},
    {eq, "Eq", "Equality", "", "==", TypeRule::comparison, 2, 2},
    {ne, "Ne", "Unequality", "", "!=", TypeRule::comparison, 2, 2},
    {lt, "Lt", "StrictLessThan", "", "<", TypeRule::comparison, 2, 2},
    {le, "Le", "LessThan", "", "<=", TypeRule::comparison, 2, 2},
    {gt, "Gt", "StrictGreaterThan", "", ">", TypeRule::comparison, 2, 2},
    {ge, "Ge", "GreaterThan", "", ">=", TypeRule::comparison, 2, 2},
    {logic_and, "And", "And", "", "", TypeRule::boolean, 1, kAnyNumber},
    {logic_or, "Or", "Or", "", "", TypeRule::boolean, 1, kAnyNumber},
    {logic_not, "Not", "Not", "", "", TypeRule::boolean, 1, 1},
    {opaque, "opaque", "opaque", "", "", TypeRule::opaque, 0, kAnyNumber},
});
#undef ASSAY_TORCH

static_assert(std::ranges::is_sorted(kRows, {}, &OpRow::op) &&
              kRows.size() == static_cast<std::size_t>(opaque) + 1);

struct Alias {
  std::string_view name;
  ExprOp op;
};

constexpr auto kAliases = std::to_array<Alias>({
    {"abs", abs_},
    {"bitwise_and", bit_and},
    {"bitwise_or", bit_or},
    {"bitwise_xor", bit_xor},
    {"ceil", ceil_to_int},
    {"ceiling", ceil_to_int},
    {"float", to_float},
    {"floor", floor_to_int},
    {"int", trunc_to_int},
    {"max", max},
    {"min", min},
    {"pow", pow},
    {"round", round_to_int},
    {"sym_float", to_float},
    {"sym_int", trunc_to_int},
    {"sym_max", max},
    {"sym_min", min},
    {"sym_not", logic_not},
    {"trunc", trunc_to_int},
    {"ITE", where},

});

constexpr auto kRealFunctions =
    std::to_array<std::string_view>({"sqrt", "exp", "log", "log2", "sin", "cos", "tan", "sinh",
                                     "cosh", "tanh", "asin", "acos", "atan", "truediv"});

auto last_part(std::string_view path) -> std::string_view {
  const auto dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

}  // namespace

auto op_row(ExprOp op) -> const OpRow& {
  return kRows[static_cast<std::size_t>(op)];
}

auto find_function(std::string_view name) -> std::optional<ExprOp> {
  for (const OpRow& row : kRows) {
    if (row.type == TypeRule::leaf || row.op == opaque) continue;
    if (name == row.name || name == last_part(row.srepr)) return row.op;
  }
  for (const Alias& alias : kAliases) {
    if (name == alias.name) return alias.op;
  }
  return std::nullopt;
}

auto opaque_type(std::string_view name) -> ExprType {
  constexpr std::string_view kUnary = "OpaqueUnaryFn_";
  if (name.starts_with(kUnary)) return ExprType::real;
  return std::ranges::find(kRealFunctions, name) != kRealFunctions.end() ? ExprType::real
                                                                         : ExprType::integer;
}

namespace {

auto is_number(const Expr& e) -> bool {
  return e.type() != ExprType::boolean;
}
auto is_integer(const Expr& e) -> bool {
  return e.type() == ExprType::integer;
}
auto is_boolean(const Expr& e) -> bool {
  return e.type() == ExprType::boolean;
}

auto promoted(std::span<const Expr> args) -> std::optional<ExprType> {
  if (!std::ranges::all_of(args, is_number)) return std::nullopt;
  return std::ranges::all_of(args, is_integer) ? ExprType::integer : ExprType::real;
}

auto comparison_type(ExprOp op, std::span<const Expr> args) -> std::optional<ExprType> {
  const bool numbers = std::ranges::all_of(args, is_number);
  const bool booleans = std::ranges::all_of(args, is_boolean) && (op == eq || op == ne);
  return numbers || booleans ? std::optional(ExprType::boolean) : std::nullopt;
}

auto where_type(std::span<const Expr> args) -> std::optional<ExprType> {
  if (!is_boolean(args[0])) return std::nullopt;
  if (is_boolean(args[1]) && is_boolean(args[2])) return ExprType::boolean;
  return promoted(args.subspan(1));
}

}  // namespace

auto result_type(ExprOp op, std::span<const Expr> args, std::string_view name)
    -> std::optional<ExprType> {
  const OpRow& row = op_row(op);
  if (args.size() < row.min_args) return std::nullopt;
  if (row.max_args != kAnyNumber && args.size() > row.max_args) return std::nullopt;
  const auto given = [](bool fits, ExprType type) {
    return fits ? std::optional(type) : std::nullopt;
  };
  switch (row.type) {
    case TypeRule::leaf:
      return std::nullopt;
    case TypeRule::integer:
      return given(std::ranges::all_of(args, is_integer), ExprType::integer);
    case TypeRule::promote:
      return promoted(args);
    case TypeRule::real:
      return given(std::ranges::all_of(args, is_number), ExprType::real);
    case TypeRule::to_integer:
      return given(std::ranges::all_of(args, is_number), ExprType::integer);
    case TypeRule::comparison:
      return comparison_type(op, args);
    case TypeRule::boolean:
      return given(std::ranges::all_of(args, is_boolean), ExprType::boolean);
    case TypeRule::where:
      return where_type(args);
    case TypeRule::opaque:
      return opaque_type(name);
  }
  std::unreachable();
}

}  // namespace assay
