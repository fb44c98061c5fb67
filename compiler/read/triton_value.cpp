#include "compiler/read/triton_value.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace assay {
namespace {

constexpr double kLargestFloat = 3.4028234663852886e38;

/// Booleans, integers, floats: how mixed operations rank them.
auto kind_of(DType dtype) -> int {
  if (dtype == DType::boolean) return 0;
  return is_floating(dtype) ? 2 : 1;
}
auto is_unsigned(DType dtype) -> bool {
  return info(dtype).kind == DTypeKind::unsigned_integer || dtype == DType::boolean;
}
auto bits_of(DType dtype) -> int {
  return dtype == DType::boolean ? 1 : 8 * size_bytes(dtype);
}
auto promote_integers(DType a, DType b) -> DType {
  if (is_unsigned(a) == is_unsigned(b)) return bits_of(a) > bits_of(b) ? a : b;
  const auto [of_unsigned, of_signed] = is_unsigned(a) ? std::pair(a, b) : std::pair(b, a);
  return bits_of(of_unsigned) >= bits_of(of_signed) ? of_unsigned : of_signed;
}

/// computation_type_impl of tensors.
auto promote_tensors(DType a, DType b, bool divides) -> DType {
  const auto either = [&](DType dtype) { return a == dtype || b == dtype; };
  if (either(DType::float64)) return DType::float64;
  if (either(DType::float32)) return DType::float32;
  if (either(DType::float16)) return divides ? DType::float32 : DType::float16;
  if (a == DType::bfloat16 && b == DType::bfloat16)
    return divides ? DType::float32 : DType::bfloat16;
  if (either(DType::bfloat16)) return DType::float32;
  if (is_floating(a) && is_floating(b)) return a == b ? a : DType::float16;
  if (is_floating(a) || is_floating(b)) return DType::float32;
  return promote_integers(a, b);
}

auto number_of(const TritonValue& value) -> double {
  if (const auto* real = std::get_if<double>(&value.constant)) return *real;
  return static_cast<double>(*value.as_int());
}

struct BinaryRow {
  std::string_view text;
  TileOp on_integers, on_floats;
  bool divides = false;
};
constexpr std::array kBinary = {
    BinaryRow{"+", TileOp::add, TileOp::add},
    BinaryRow{"-", TileOp::sub, TileOp::sub},
    BinaryRow{"*", TileOp::mul, TileOp::mul},
    BinaryRow{"//", TileOp::quotient, TileOp::floor_quotient, true},
    BinaryRow{"%", TileOp::remainder, TileOp::remainder, true},
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

}  // namespace

auto TritonValue::as_int() const -> std::optional<std::int64_t> {
  if (!is_constant()) return std::nullopt;
  if (const auto* truth = std::get_if<bool>(&constant)) return *truth ? 1 : 0;
  if (const auto* number = std::get_if<std::int64_t>(&constant)) return *number;
  return std::nullopt;
}
auto TritonValue::python(std::int64_t value) -> TritonValue {
  TritonValue result;
  result.kind = Kind::constant;
  result.constant = value;
  return result;
}
auto TritonValue::python(double value) -> TritonValue {
  TritonValue result;
  result.kind = Kind::constant;
  result.constant = value;
  return result;
}
auto TritonValue::python(bool value) -> TritonValue {
  TritonValue result;
  result.kind = Kind::constant;
  result.constant = value;
  return result;
}

auto TileBuilder::add_value(TileType type) -> TileId {
  kernel_.values.push_back({type, {}});
  return static_cast<TileId>(kernel_.values.size() - 1);
}

auto TileBuilder::emit(TileStatement statement) -> TileStatement& {
  statement.line = line_;
  auto& body = regions_.back()->body;
  body.push_back(std::move(statement));
  return body.back();
}

auto TileBuilder::emit(decltype(TileStatement::what) what, std::vector<TileId> operands,
                       TileType type) -> TileId {
  const auto result = add_value(type);
  emit({std::move(what), std::move(operands), {result}, {}, 0, {}});
  return result;
}

void TileBuilder::emit_effect(decltype(TileStatement::what) what, std::vector<TileId> operands) {
  emit({std::move(what), std::move(operands), {}, {}, 0, {}});
}

auto TileBuilder::dtype_of(const TritonValue& value) const -> DType {
  if (value.is_tile()) return type(value).dtype;
  if (std::holds_alternative<bool>(value.constant)) return DType::boolean;
  if (const auto* real = std::get_if<double>(&value.constant)) {
    const bool fits = !std::isfinite(*real) || std::abs(*real) <= kLargestFloat;
    return fits ? DType::float32 : DType::float64;
  }
  const auto number = std::get<std::int64_t>(value.constant);
  if (number >= INT32_MIN && number <= INT32_MAX) return DType::int32;
  return number >= 0 && number <= UINT32_MAX ? DType::uint32 : DType::int64;
}

auto TileBuilder::cast(const TritonValue& value, DType dtype) -> TritonValue {
  auto result = value;
  const auto& from = type(value);
  if (from.dtype == dtype) return result;
  result.is_weak = false;
  result.id = emit(TileCompute{TileOp::cast}, {value.id}, {dtype, from.axes});
  return result;
}

auto TileBuilder::as(const TritonValue& value, DType dtype) -> Result<TritonValue> {
  if (value.is_tile()) return cast(value, dtype);
  if (!value.is_constant()) return bad_input("a value that is no number");
  TileConstant constant;
  if (is_floating(dtype)) {
    constant.value = number_of(value);
  } else if (const auto number = value.as_int()) {
    constant.value = dtype == DType::boolean ? std::int64_t{*number != 0} : *number;
  } else {
    const auto real = std::get<double>(value.constant);
    if (dtype == DType::boolean)
      constant.value = std::int64_t{real != 0};
    else if (std::abs(real) < 9.0e18)
      constant.value = static_cast<std::int64_t>(real);
    else
      return bad_input("a float that no integer holds");
  }
  TritonValue result;
  result.kind = TritonValue::Kind::tile;
  result.shape = value.shape;
  result.id = emit(constant, {}, {dtype, 0});
  return result;
}

auto TileBuilder::tile(const TritonValue& value) -> Result<TritonValue> {
  if (value.is_tile()) return value;
  if (!value.is_constant()) return bad_input("a value that is no number");
  return as(value, dtype_of(value));
}

auto TileBuilder::common(const TritonValue& a, const TritonValue& b, bool divides) const
    -> Result<DType> {
  for (const auto* one : {&a, &b})
    if (!one->is_tile() && !one->is_constant()) return bad_input("an operand that is no number");
  const auto of_a = dtype_of(a);
  const auto of_b = dtype_of(b);
  if (a.is_python() != b.is_python()) {
    const auto [scalar, tensor] = a.is_python() ? std::pair(of_a, of_b) : std::pair(of_b, of_a);
    if (kind_of(scalar) <= kind_of(tensor)) {
      return divides && is_half(tensor) ? DType::float32 : tensor;
    }
  }
  return promote_tensors(of_a, of_b, divides);
}

auto TileBuilder::broadcast(const TritonShape& a, const TritonShape& b) const
    -> Result<TritonShape> {
  const auto& longer = a.size() >= b.size() ? a : b;
  const auto& shorter = a.size() >= b.size() ? b : a;
  auto result = longer;
  const auto shift = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    auto& at = result[i + shift];
    if (at.empty())
      at = shorter[i];
    else if (!shorter[i].empty() && at != shorter[i])
      return bad_input("tensors over different axes meet in one position");
  }
  AxisSet seen = 0;
  for (const auto& position : result)
    for (const auto axis : position) {
      if ((seen >> axis & 1U) != 0) return bad_input("one axis in two positions");
      seen |= AxisSet{1} << axis;
    }
  return result;
}

auto TileBuilder::compute(TileOp op, const std::vector<TritonValue>& operands)
    -> Result<TritonValue> {
  const auto& row = tile_op_row(op);
  const bool is_select = row.result == TileResult::select;
  const auto dtype = type(operands[is_select ? 1 : 0]).dtype;
  const bool fits = dtype == DType::boolean ? row.kinds.boolean
                    : is_floating(dtype)    ? row.kinds.floating
                                            : row.kinds.integer;
  if (!fits) return bad_input("`{}` of {}", row.name, assay::name(dtype));
  TileType result{row.result == TileResult::boolean ? DType::boolean : dtype, 0};
  TritonValue value;
  value.kind = TritonValue::Kind::tile;
  value.is_weak = true;
  std::vector<TileId> ids;
  for (const auto& operand : operands) {
    ids.push_back(operand.id);
    result.axes |= type(operand).axes;
    value.is_weak = value.is_weak && operand.is_weak;
    ASSAY_TRY(value.shape, broadcast(value.shape, operand.shape));
  }
  value.id = emit(TileCompute{op}, std::move(ids), result);
  return value;
}

auto TileBuilder::bitcast(const TritonValue& value, DType dtype) -> Result<TritonValue> {
  const auto from = type(value);
  if (from.dtype == dtype) return value;
  if (tile_evaluate(TileOp::bitcast, from.dtype, dtype) == nullptr)
    return bad_input("a bitcast between these dtypes");
  auto result = value;
  result.id = emit(TileCompute{TileOp::bitcast}, {value.id}, {dtype, from.axes});
  return result;
}

auto TileBuilder::promoted(TileOp op, const TritonValue& a, const TritonValue& b, bool divides)
    -> Result<TritonValue> {
  ASSAY_TRY(const auto dtype, common(a, b, divides));
  ASSAY_TRY(const auto left, as(a, dtype));
  ASSAY_TRY(const auto right, as(b, dtype));
  return compute(op, {left, right});
}

auto TileBuilder::select(const TritonValue& condition, const TritonValue& a, const TritonValue& b)
    -> Result<TritonValue> {
  ASSAY_TRY(const auto dtype, common(a, b, false));
  ASSAY_TRY(const auto truth, as(condition, DType::boolean));
  ASSAY_TRY(const auto left, as(a, dtype));
  ASSAY_TRY(const auto right, as(b, dtype));
  return compute(TileOp::select, {truth, left, right});
}

/// Python's own arithmetic on numbers that are known.
auto TileBuilder::fold(std::string_view op, const TritonValue& a, const TritonValue& b)
    -> std::optional<TritonValue> {
  if (!a.is_constant() || !b.is_constant()) return std::nullopt;
  const auto x = a.as_int(), y = b.as_int();
  std::int64_t result = 0;
  if (x && y) {
    if (op == "and") return *x != 0 ? b : a;
    if (op == "or") return *x != 0 ? a : b;
    if (op == "+" && !__builtin_add_overflow(*x, *y, &result)) return TritonValue::python(result);
    if (op == "-" && !__builtin_sub_overflow(*x, *y, &result)) return TritonValue::python(result);
    if (op == "*" && !__builtin_mul_overflow(*x, *y, &result)) return TritonValue::python(result);
    const bool divides = *y != 0 && *y != -1;
    const bool down = divides && *x % *y != 0 && (*x < 0) != (*y < 0);
    if (op == "//" && divides) return TritonValue::python(*x / *y - (down ? 1 : 0));
    if (op == "%" && divides) return TritonValue::python(*x % *y + (down ? *y : 0));
  }
  if (!std::holds_alternative<std::int64_t>(a.constant) &&
      !std::holds_alternative<double>(a.constant))
    return std::nullopt;
  const auto p = number_of(a), q = number_of(b);
  if (op == "==") return TritonValue::python(p == q);
  if (op == "!=") return TritonValue::python(p != q);
  if (op == "<") return TritonValue::python(p < q);
  if (op == "<=") return TritonValue::python(p <= q);
  if (op == ">") return TritonValue::python(p > q);
  if (op == ">=") return TritonValue::python(p >= q);
  if (op == "/" && q != 0) return TritonValue::python(p / q);
  if (x && y) return std::nullopt;
  if (op == "+") return TritonValue::python(p + q);
  if (op == "-") return TritonValue::python(p - q);
  if (op == "*") return TritonValue::python(p * q);
  return std::nullopt;
}

auto TileBuilder::binary(std::string_view op, const TritonValue& a, const TritonValue& b)
    -> Result<TritonValue> {
  if (a.is_pointer() || b.is_pointer()) {
    const auto& pointer = a.is_pointer() ? a : b;
    const auto& offset = a.is_pointer() ? b : a;
    if (op != "+" || offset.is_pointer()) return bad_input("arithmetic on a pointer");
    ASSAY_TRY(auto index, tile(offset));
    if (is_floating(type(index).dtype)) return bad_input("a pointer plus a float");
    if (pointer.id != kNoTile) {
      TritonValue before = pointer;
      before.kind = TritonValue::Kind::tile;
      ASSAY_TRY(index,
                compute(TileOp::add, {cast(before, DType::int64), cast(index, DType::int64)}));
    }
    index.kind = TritonValue::Kind::pointer;
    index.param = pointer.param;
    index.is_weak = false;
    return index;
  }
  if (auto known = fold(op, a, b)) return *std::move(known);
  if (op == "and" || op == "or") {
    ASSAY_TRY(const auto left, as(a, DType::boolean));
    ASSAY_TRY(const auto right, as(b, DType::boolean));
    return compute(op == "and" ? TileOp::bit_and : TileOp::bit_or, {left, right});
  }
  if (op == "/") {
    ASSAY_TRY(auto dtype, common(a, b, true));
    if (!is_floating(dtype)) dtype = DType::float32;
    ASSAY_TRY(const auto left, as(a, dtype));
    ASSAY_TRY(const auto right, as(b, dtype));
    return compute(TileOp::divide, {left, right});
  }
  for (const auto& row : kBinary) {
    if (row.text != op) continue;
    ASSAY_TRY(const auto dtype, common(a, b, row.divides));
    return promoted(is_floating(dtype) ? row.on_floats : row.on_integers, a, b, row.divides);
  }
  return bad_input("the operator `{}`", op);
}

auto TileBuilder::unary(std::string_view op, const TritonValue& a) -> Result<TritonValue> {
  if (op == "+") return a;
  if (a.is_constant() && op == "-") {
    if (const auto number = a.as_int()) return TritonValue::python(-*number);
    return TritonValue::python(-number_of(a));
  }
  if (a.is_constant() && op == "not") return TritonValue::python(number_of(a) == 0);
  ASSAY_TRY(const auto operand, tile(a));
  if (op == "-") return compute(TileOp::negate, {operand});
  if (op == "~") return compute(TileOp::bit_not, {operand});
  if (op == "not") return compute(TileOp::bit_not, {cast(operand, DType::boolean)});
  return bad_input("the operator `{}`", op);
}

auto TileBuilder::reduce(TileCombine combine, std::vector<TritonValue> values, std::size_t position)
    -> Result<std::vector<TritonValue>> {
  TritonShape shape;
  for (const auto& value : values) {
    ASSAY_TRY(shape, broadcast(shape, value.shape));
  }
  if (position >= shape.size()) return bad_input("a reduction over a dimension that is not there");
  auto rest = shape;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(position));
  for (const auto axis : shape[position]) {
    TileStatement statement{TileReduce{combine, axis}, {}, {}, {}, 0, {}};
    AxisSet axes = 0;
    for (const auto& value : values) axes |= type(value).axes;
    for (auto& value : values) {
      statement.operands.push_back(value.id);
      auto result = type(value);
      result.axes = axes & ~(AxisSet{1} << axis);
      value.id = add_value(result);
      statement.results.push_back(value.id);
    }
    emit(std::move(statement));
  }
  for (auto& value : values) value.shape = rest;
  return values;
}

}  // namespace assay
