#include "compiler/read/cpp_value.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "compiler/program/expr_ops.h"

namespace assay {
namespace {

struct TypeRow {
  std::string_view name;
  DType dtype;
};
constexpr std::array kTypes = {
    TypeRow{"float", DType::float32},
    TypeRow{"double", DType::float64},
    TypeRow{"bool", DType::boolean},
    TypeRow{"int64_t", DType::int64},
    TypeRow{"long", DType::int64},
    TypeRow{"long long", DType::int64},
    TypeRow{"long int", DType::int64},
    TypeRow{"size_t", DType::uint64},
    TypeRow{"uint64_t", DType::uint64},
    TypeRow{"unsigned long", DType::uint64},
    TypeRow{"int", DType::int32},
    TypeRow{"int32_t", DType::int32},
    TypeRow{"unsigned int", DType::uint32},
    TypeRow{"unsigned", DType::uint32},
    TypeRow{"uint32_t", DType::uint32},
    TypeRow{"short", DType::int16},
    TypeRow{"int16_t", DType::int16},
    TypeRow{"uint16_t", DType::uint16},
    TypeRow{"int8_t", DType::int8},
    TypeRow{"signed char", DType::int8},
    TypeRow{"uint8_t", DType::uint8},
    TypeRow{"unsigned char", DType::uint8},
    TypeRow{"BFloat16", DType::bfloat16},
    TypeRow{"bfloat16", DType::bfloat16},
    TypeRow{"Half", DType::float16},
    TypeRow{"half", DType::float16},
    TypeRow{"Float8_e4m3fn", DType::float8_e4m3fn},
    TypeRow{"float8_e4m3fn", DType::float8_e4m3fn},
    TypeRow{"Float8_e5m2", DType::float8_e5m2},
    TypeRow{"float8_e5m2", DType::float8_e5m2},
};

struct BinaryRow {
  std::string_view text;
  TileOp on_integers, on_floats;
};
constexpr std::array kBinary = {
    BinaryRow{"+", TileOp::add, TileOp::add},
    BinaryRow{"-", TileOp::sub, TileOp::sub},
    BinaryRow{"*", TileOp::mul, TileOp::mul},
    BinaryRow{"/", TileOp::quotient, TileOp::divide},
    BinaryRow{"%", TileOp::remainder, TileOp::remainder},
    BinaryRow{"&", TileOp::bit_and, TileOp::bit_and},
    BinaryRow{"|", TileOp::bit_or, TileOp::bit_or},
    BinaryRow{"^", TileOp::bit_xor, TileOp::bit_xor},
    BinaryRow{"<<", TileOp::shift_left, TileOp::shift_left},
    BinaryRow{">>", TileOp::shift_right, TileOp::shift_right},
    BinaryRow{"==", TileOp::eq, TileOp::eq},
    BinaryRow{"!=", TileOp::ne, TileOp::ne},
    BinaryRow{"<", TileOp::lt, TileOp::lt},
    BinaryRow{"<=", TileOp::le, TileOp::le},
    BinaryRow{">", TileOp::gt, TileOp::gt},
    BinaryRow{">=", TileOp::ge, TileOp::ge},
};

auto is_unsigned(DType dtype) -> bool {
  return info(dtype).kind == DTypeKind::unsigned_integer;
}
auto float_rank(DType dtype) -> int {
  if (!is_floating(dtype)) return 0;
  return dtype == DType::float64 ? 3 : dtype == DType::float32 ? 2 : 1;
}
/// Integers narrower than int are computed in int.
auto promote(DType dtype) -> DType {
  return dtype == DType::boolean || size_bytes(dtype) < 4 ? DType::int32 : dtype;
}

}  // namespace

auto CppValue::of_index(Expr expr, DType dtype) -> CppValue {
  CppValue result;
  result.kind = Kind::index;
  result.expr = expr;
  result.dtype = dtype;
  return result;
}
auto CppValue::of_tile(TileId id, DType dtype, bool is_vector) -> CppValue {
  CppValue result;
  result.kind = Kind::tile;
  result.id = id;
  result.dtype = dtype;
  result.is_vector = is_vector;
  return result;
}

auto extreme_of(DType dtype, bool is_highest) -> std::variant<std::int64_t, double> {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (is_floating(dtype)) return is_highest ? kInfinity : -kInfinity;
  if (dtype == DType::boolean) return std::int64_t{is_highest ? 1 : 0};
  if (is_unsigned(dtype) && !is_highest) return std::int64_t{0};
  const int bits = 8 * size_bytes(dtype) - (is_unsigned(dtype) ? 0 : 1);
  if (bits >= 63) return is_highest ? INT64_MAX : INT64_MIN;
  const auto top = (std::int64_t{1} << bits) - 1;
  return is_highest ? top : -top - 1;
}

auto cpp_dtype(std::string_view name) -> std::optional<DType> {
  for (const auto& row : kTypes)
    if (row.name == name) return row.dtype;
  return std::nullopt;
}

auto CppBuilder::take_body() -> std::vector<TileStatement> {
  numbers_.clear();
  constants_.clear();
  return std::exchange(body_, {});
}
auto CppBuilder::save() const -> State {
  return {kernel_.values.size(), body_.size(), numbers_, constants_};
}
void CppBuilder::restore(const State& state) {
  kernel_.values.resize(state.values);
  body_.resize(state.statements);
  numbers_ = state.numbers;
  constants_ = state.constants;
}

auto CppBuilder::emit(decltype(TileStatement::what) what, std::vector<TileId> operands, DType dtype)
    -> TileId {
  AxisSet axes = 0;
  for (const auto id : operands)
    if (id != kNoTile) axes |= type(id).axes;
  if (const auto* index = std::get_if<TileIndex>(&what)) axes |= AxisSet{1} << index->axis;
  kernel_.values.push_back({{dtype, axes}, {}});
  const auto id = static_cast<TileId>(kernel_.values.size() - 1);
  body_.push_back({std::move(what), std::move(operands), {id}, {}, line_, {}});
  return id;
}
void CppBuilder::emit_effect(decltype(TileStatement::what) what, std::vector<TileId> operands) {
  body_.push_back({std::move(what), std::move(operands), {}, {}, line_, {}});
}
auto CppBuilder::reduce(TileCombine combine, std::size_t axis, const std::vector<TileId>& operands)
    -> std::vector<TileId> {
  AxisSet axes = 0;
  for (const auto id : operands) axes |= type(id).axes;
  axes &= ~(AxisSet{1} << axis);
  std::vector<TileId> results;
  for (const auto id : operands) {
    results.push_back(static_cast<TileId>(kernel_.values.size()));
    kernel_.values.push_back({{type(id).dtype, axes}, {}});
  }
  body_.push_back({TileReduce{combine, axis}, operands, results, {}, line_, {}});
  return results;
}

auto CppBuilder::constant(std::variant<std::int64_t, double> value, DType dtype) -> TileId {
  if (is_floating(dtype) && std::holds_alternative<std::int64_t>(value))
    value = static_cast<double>(std::get<std::int64_t>(value));
  const auto* real = std::get_if<double>(&value);
  const auto key = real != nullptr ? fmt::format("{}:{}", name(dtype), *real)
                                   : fmt::format("{}:{}", name(dtype), std::get<0>(value));
  if (const auto known = constants_.find(key); known != constants_.end()) return known->second;
  return constants_[key] = emit(TileConstant{value}, {}, dtype);
}

auto CppBuilder::axis_symbol(std::size_t axis) -> Expr {
  const auto symbol = pool_.symbol(fmt::format("cpp.index{:02}", axis));
  lanes_[symbol] = {axis, 0};
  return symbol;
}
auto CppBuilder::lane_symbol(std::size_t axis, std::int64_t width) -> Expr {
  const auto symbol = pool_.symbol(fmt::format("cpp.lane{:02}.{}", axis, width));
  lanes_[symbol] = {axis, width};
  return symbol;
}
auto CppBuilder::value_symbol(TileId id) -> Expr {
  const auto symbol = pool_.symbol(fmt::format("cpp.value{:06}", id));
  value_symbols_[symbol] = id;
  return symbol;
}
auto CppBuilder::is_value_symbol(const Expr& symbol) const -> bool {
  return value_symbols_.contains(symbol);
}
auto CppBuilder::axis_of(const Expr& symbol) const -> std::optional<std::size_t> {
  const auto found = lanes_.find(symbol);
  return found == lanes_.end() ? std::nullopt : std::optional(found->second.axis);
}

auto CppBuilder::symbol(const Expr& e) -> Result<TileId> {
  if (const auto value = value_symbols_.find(e); value != value_symbols_.end())
    return cast(value->second, DType::int64);
  if (const auto lane = lanes_.find(e); lane != lanes_.end()) {
    if (lane->second.width == 0) return emit(TileIndex{lane->second.axis}, {}, DType::int64);
    ASSAY_TRY(const auto index, number(axis_symbol(lane->second.axis)));
    return compute(TileOp::floor_remainder, {index, constant(lane->second.width, DType::int64)});
  }
  for (std::size_t i = 0; i < kernel_.params.size(); ++i)
    if (kernel_.params[i].kind == TileParam::Kind::scalar && kernel_.params[i].symbol == e)
      return cast(emit(TileParamValue{i}, {}, kernel_.params[i].dtype), DType::int64);
  return bad_input("an index over `{}`", e.name());
}

auto CppBuilder::fold(TileOp op, const Expr& e) -> Result<TileId> {
  std::optional<TileId> result;
  for (const auto& arg : e.args()) {
    ASSAY_TRY(const auto one, number(arg));
    if (!result) {
      result = one;
      continue;
    }
    ASSAY_TRY(result, compute(op, {*result, one}));
  }
  if (!result) return bad_input("an index of no operands");
  return *result;
}

auto CppBuilder::real_expr(const CppValue& value) const -> std::optional<Expr> {
  if (!value.is_number() || value.is_vector || value.dtype != DType::float64) return std::nullopt;
  if (value.real) return value.real;
  if (value.known) return Expr::real(*value.known);
  if (!value.is_index()) return std::nullopt;
  const auto symbols = value.expr.symbols();
  const bool is_size = std::ranges::all_of(symbols, [&](const Expr& symbol) {
    return std::ranges::find(kernel_.params, symbol, &TileParam::symbol) != kernel_.params.end();
  });
  return is_size ? std::optional(make(ExprOp::to_float, std::array{value.expr})) : std::nullopt;
}

/// `TruncToInt(1.7*ToFloat(ks0))`: computed in float64 as it is written.
auto CppBuilder::rounded(TileOp op, const Expr& e) -> Result<TileId> {
  ASSAY_TRY(const auto real, real_number(e.args()[0]));
  ASSAY_TRY(const auto whole, compute(op, {real}));
  return cast(whole, DType::int64);
}
auto CppBuilder::real_number(const Expr& e) -> Result<TileId> {
  if (const auto value = e.as_number()) return constant(*value, DType::float64);
  if (e.op() == ExprOp::to_float) {
    ASSAY_TRY(const auto whole, number(e.args()[0]));
    return cast(whole, DType::float64);
  }
  if (e.op() != ExprOp::mul && e.op() != ExprOp::add)
    return bad_input("an index that rests on such a float");
  ASSAY_TRY(auto result, real_number(e.args()[0]));
  for (const auto& arg : e.args().subspan(1)) {
    ASSAY_TRY(const auto one, real_number(arg));
    ASSAY_TRY(result, compute(e.op() == ExprOp::mul ? TileOp::mul : TileOp::add, {result, one}));
  }
  return result;
}

auto CppBuilder::number(const Expr& e) -> Result<TileId> {
  if (!e.is_valid()) return bad_input("an index that has no value");
  if (const auto value = e.as_int()) return constant(*value, DType::int64);
  if (const auto known = numbers_.find(e); known != numbers_.end()) return known->second;
  const auto keep = [&](Result<TileId> id) {
    if (id) numbers_[e] = *id;
    return id;
  };
  if (e.op() == ExprOp::symbol) return keep(symbol(e));
  if (const auto op = number_op(e.op())) return keep(fold(*op, e));
  if (e.op() == ExprOp::trunc_to_int) return keep(rounded(TileOp::trunc, e));
  if (e.op() == ExprOp::floor_to_int) return keep(rounded(TileOp::floor, e));
  if (e.op() == ExprOp::ceil_to_int) return keep(rounded(TileOp::ceil, e));
  if (e.op() == ExprOp::modular_indexing)
    return keep(number(mod(floor_div(e.args()[0], e.args()[1]), e.args()[2])));
  const bool is_power = e.op() == ExprOp::pow || e.op() == ExprOp::pow_by_natural;
  const auto exponent = is_power ? e.args()[1].as_int() : std::nullopt;
  if (!exponent || *exponent < 1 || *exponent > 8)
    return bad_input("an index that is no polynomial");
  ASSAY_TRY(const auto base, number(e.args()[0]));
  auto result = base;
  for (std::int64_t i = 1; i < *exponent; ++i) {
    ASSAY_TRY(result, compute(TileOp::mul, {result, base}));
  }
  return keep(result);
}

auto CppBuilder::cast(TileId id, DType dtype) -> TileId {
  return type(id).dtype == dtype ? id : emit(TileCompute{TileOp::cast}, {id}, dtype);
}

auto CppBuilder::tile(const CppValue& value) -> Result<TileId> {
  if (value.parts) return bad_input("lanes of a vector that hold parts of a reduction");
  if (value.kind == CppValue::Kind::tile) return value.id;
  if (!value.is_index()) return bad_input("a value that is no number");
  if (const auto known = value.expr.as_int()) return constant(*known, value.dtype);
  ASSAY_TRY(const auto id, number(value.expr));
  return cast(id, value.dtype);
}

auto CppBuilder::as(const CppValue& value, DType dtype) -> Result<TileId> {
  if (value.is_index() && value.expr.as_int() && dtype != DType::boolean)
    return constant(*value.expr.as_int(), dtype);
  if (value.known && value.kind == CppValue::Kind::tile && is_floating(value.dtype) &&
      (dtype == DType::float32 || dtype == DType::float64))
    return real(*value.known, dtype, false).id;
  ASSAY_TRY(const auto id, tile(value));
  return cast(id, dtype);
}

auto CppBuilder::converted(const CppValue& value, DType dtype) -> Result<CppValue> {
  auto result = value;
  result.dtype = dtype;
  result.is_modular = false;
  if (value.is_modular && value.dtype != dtype &&
      (is_floating(dtype) || size_bytes(dtype) > size_bytes(value.dtype)))
    return bad_input("an unsigned number that is widened");
  const bool is_wide = !is_floating(dtype) && dtype != DType::boolean && size_bytes(dtype) >= 4;
  if (value.is_index() && (value.dtype == dtype || is_wide || is_floating(dtype))) {
    if (!is_floating(value.dtype) || value.dtype == dtype) {
      if (const auto known = value.expr.as_int(); known && is_floating(dtype))
        return real(static_cast<double>(*known), dtype, value.is_vector);
      return result;
    }
  }
  if (value.parts && value.dtype == dtype) return value;
  // Sizes that are read off a float:
  // `static_cast<int64_t>(std::trunc(1.7*static_cast<double>(ks0)))`
  if (const auto real = value.known || dtype != DType::int64 ? std::nullopt : real_expr(value)) {
    const auto whole = real->op() == ExprOp::to_float
                           ? real->args()[0]
                           : make(ExprOp::trunc_to_int, std::array{*real});
    if (whole.is_valid()) return CppValue::of_index(whole, dtype);
  }
  result.real.reset();
  const bool is_real = dtype == DType::float32 || dtype == DType::float64;
  if (value.known && is_real && is_floating(value.dtype))
    return real(*value.known, dtype, value.is_vector);
  ASSAY_TRY(result.id, as(value, dtype));
  result.kind = CppValue::Kind::tile;
  if (const auto known = value.is_index() ? value.expr.as_int() : std::nullopt)
    result.known = static_cast<double>(*known);
  else if (dtype != value.dtype)
    result.known.reset();
  return result;
}

auto CppBuilder::real(double value, DType dtype, bool is_vector) -> CppValue {
  if (dtype == DType::float32) value = static_cast<double>(static_cast<float>(value));
  auto result = CppValue::of_tile(constant(value, dtype), dtype, is_vector);
  if (size_bytes(dtype) >= 4) result.known = value;
  return result;
}

auto CppBuilder::number_of(std::int64_t value, DType dtype, bool is_vector) -> CppValue {
  if (is_floating(dtype)) return real(static_cast<double>(value), dtype, is_vector);
  auto result = CppValue::of_tile(constant(value, dtype), dtype, is_vector);
  result.known = static_cast<double>(value);
  return result;
}

auto CppBuilder::expr(const CppValue& value) -> Result<Expr> {
  if (value.is_index() && !is_floating(value.dtype)) return value.expr;
  if (value.kind != CppValue::Kind::tile || is_floating(value.dtype) ||
      value.dtype == DType::boolean)
    return bad_input("an index that is no integer");
  return value_symbol(value.id);
}

auto CppBuilder::compute(TileOp op, const std::vector<TileId>& operands) -> Result<TileId> {
  const auto& row = tile_op_row(op);
  const auto of = type(operands[row.result == TileResult::select ? 1 : 0]).dtype;
  const bool fits = of == DType::boolean ? row.kinds.boolean
                    : is_floating(of)    ? row.kinds.floating
                                         : row.kinds.integer;
  if (!fits) return bad_input("`{}` of {}", row.name, name(of));
  return emit(TileCompute{op}, operands, row.result == TileResult::boolean ? DType::boolean : of);
}

auto CppBuilder::common(const CppValue& a, const CppValue& b) const -> DType {
  if (a.is_vector != b.is_vector) return a.is_vector ? a.dtype : b.dtype;
  const auto of_a = float_rank(a.dtype);
  const auto of_b = float_rank(b.dtype);
  if (of_a != of_b) return of_a > of_b ? a.dtype : b.dtype;
  if (of_a > 0) return a.dtype == b.dtype ? a.dtype : DType::float32;
  if (a.is_vector && a.dtype == b.dtype) return a.dtype;
  const auto x = promote(a.dtype);
  const auto y = promote(b.dtype);
  if (size_bytes(x) != size_bytes(y)) return size_bytes(x) > size_bytes(y) ? x : y;
  return is_unsigned(x) ? x : y;
}

auto CppBuilder::promoted(TileOp op, const CppValue& a, const CppValue& b) -> Result<CppValue> {
  const auto& row = tile_op_row(op);
  const bool is_logic = a.dtype == DType::boolean && b.dtype == DType::boolean && row.kinds.boolean;
  auto dtype = is_logic ? DType::boolean : common(a, b);
  if (!row.kinds.integer && !is_floating(dtype)) dtype = DType::float64;
  ASSAY_TRY(const auto left, as(a, dtype));
  ASSAY_TRY(const auto right, as(b, dtype));
  ASSAY_TRY(const auto id, compute(op, {left, right}));
  auto result = CppValue::of_tile(id, type(id).dtype, a.is_vector || b.is_vector);
  const auto x = real_expr(a), y = real_expr(b);
  if (x && y && (op == TileOp::mul || op == TileOp::add))
    result.real = op == TileOp::mul ? *x * *y : *x + *y;
  return result;
}

/// Arithmetic on indices stays an expression. What rounds toward zero does so as a value.
auto CppBuilder::index_binary(std::string_view op, const CppValue& a, const CppValue& b)
    -> Result<std::optional<CppValue>> {
  const bool is_sum = op == "+" || op == "-" || op == "*";
  const auto is_integer = [](const CppValue& v) {
    return v.is_number() && !v.is_vector && !v.parts && !is_floating(v.dtype) &&
           v.dtype != DType::boolean;
  };
  if (!is_sum || !is_integer(a) || !is_integer(b) || (!a.is_index() && !b.is_index()))
    return std::optional<CppValue>();
  const auto dtype = common(a, b);
  if (dtype != DType::int64 && (!a.is_index() || !b.is_index())) return std::optional<CppValue>();
  ASSAY_TRY(const auto x, expr(a));
  ASSAY_TRY(const auto y, expr(b));
  return std::optional(CppValue::of_index(op == "+" ? x + y : op == "-" ? x - y : x * y, dtype));
}

/// Sums, products and bits are the same signed and unsigned, as values here wrap.
auto CppBuilder::modular(std::string_view op, CppValue a, CppValue b) -> Result<CppValue> {
  constexpr std::array<std::string_view, 7> kSame = {"+", "-", "*", "&", "|", "^", "<<"};
  if (std::ranges::find(kSame, op) == kSame.end()) return bad_input("`{}` of unsigned numbers", op);
  if (a.dtype != b.dtype && op != "<<") return bad_input("unsigned numbers of two sizes");
  a.is_modular = b.is_modular = false;
  ASSAY_TRY(auto result, binary(op, a, b));
  result.is_modular = true;
  return result;
}

auto CppBuilder::binary(std::string_view op, const CppValue& a, const CppValue& b)
    -> Result<CppValue> {
  if (!a.is_number() || !b.is_number()) return bad_input("`{}` of what is no number", op);
  if (a.is_modular || b.is_modular) return modular(op, a, b);
  ASSAY_TRY(auto index, index_binary(op, a, b));
  if (index) return *std::move(index);
  if (op == "&&" || op == "||") {
    ASSAY_TRY(const auto x, as(a, DType::boolean));
    ASSAY_TRY(const auto y, as(b, DType::boolean));
    ASSAY_TRY(const auto id, compute(op == "&&" ? TileOp::bit_and : TileOp::bit_or, {x, y}));
    return CppValue::of_tile(id, DType::boolean, false);
  }
  for (const auto& row : kBinary) {
    if (row.text != op) continue;
    return promoted(is_floating(common(a, b)) ? row.on_floats : row.on_integers, a, b);
  }
  return bad_input("the operator `{}`", op);
}

auto CppBuilder::unary(std::string_view op, const CppValue& a) -> Result<CppValue> {
  if (op == "+") return a;
  if (op == "-" && a.known) return real(-*a.known, a.dtype, a.is_vector);
  if (op == "-" && a.is_index() && !is_floating(a.dtype))
    return CppValue::of_index(Expr(-1) * a.expr, a.dtype);
  const auto of = a.is_vector || is_floating(a.dtype) ? a.dtype : promote(a.dtype);
  const auto dtype = op == "!" ? DType::boolean : of;
  ASSAY_TRY(const auto operand, as(a, dtype));
  const auto row = op == "-" ? TileOp::negate : TileOp::bit_not;
  if (op != "-" && op != "!" && op != "~") return bad_input("the operator `{}`", op);
  ASSAY_TRY(const auto id, compute(row, {operand}));
  return CppValue::of_tile(id, dtype, a.is_vector);
}

auto CppBuilder::select(TileId condition, const CppValue& a, const CppValue& b)
    -> Result<CppValue> {
  if (!a.is_number() || !b.is_number()) return bad_input("a choice of what is no number");
  const auto dtype = a.dtype == b.dtype ? a.dtype : common(a, b);
  ASSAY_TRY(const auto x, as(a, dtype));
  ASSAY_TRY(const auto y, as(b, dtype));
  ASSAY_TRY(const auto id, compute(TileOp::select, {condition, x, y}));
  return CppValue::of_tile(id, dtype, a.is_vector || b.is_vector);
}

}  // namespace assay
