// Calls: functions and methods by name, a row each.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "compiler/read/cpp_functions.h"
#include "compiler/read/cpp_reader.h"
#include "compiler/read/float_functions.h"

namespace assay {
namespace {

/// Methods of masks only.
constexpr std::array<std::string_view, 4> kOfMasks = {"cast", "is_masked", "all_masked",
                                                      "all_zero"};
/// Functions that make a mask of a number.
constexpr std::array<std::string_view, 5> kMasks = {"to_float_mask", "vec_convert_to_mask",
                                                    "flag_to_float_vec", "flag_to_float_scalar",
                                                    "mask_convert_to_float"};

/// Functions that give whole numbers, and the same on sizes.
struct IntegerRow {
  TileOp op;
  ExprOp expr;
};
constexpr std::array kToIntegers = {IntegerRow{TileOp::trunc, ExprOp::trunc_to_int},
                                    IntegerRow{TileOp::floor, ExprOp::floor_to_int},
                                    IntegerRow{TileOp::ceil, ExprOp::ceil_to_int}};

auto ops_of(CppBuilder& builder, bool is_vector) -> FloatOps<CppValue> {
  using Value = CppValue;
  FloatOps<Value> ops;
  const auto tile = [&builder, is_vector](Result<TileId> id) -> Result<Value> {
    if (!id) return std::unexpected(id.error());
    return Value::of_tile(*id, builder.type(*id).dtype, is_vector);
  };
  ops.apply = [&builder, tile](TileOp op, const Value& x) {
    return tile(builder.compute(op, {x.id}));
  };
  ops.binary = [&builder](std::string_view op, const Value& a, const Value& b) {
    return builder.binary(op, a, b);
  };
  ops.select = [&builder](const Value& c, const Value& a, const Value& b) {
    return builder.select(c.id, a, b);
  };
  ops.bitcast = [&builder, tile](const Value& x, DType dtype) {
    return tile(builder.emit(TileCompute{TileOp::bitcast}, {x.id}, dtype));
  };
  ops.convert = [&builder](const Value& x, DType dtype) { return builder.converted(x, dtype); };
  ops.real = [&builder, is_vector](double x, DType dtype) {
    return builder.real(x, dtype, is_vector);
  };
  ops.integer = [&builder, is_vector](std::int64_t x, DType dtype) {
    return Value::of_tile(builder.constant(x, dtype), dtype, is_vector);
  };
  return ops;
}

}  // namespace

auto CppReader::arguments(int node, std::size_t first) -> Result<Values> {
  Values values;
  const auto children = syntax_.node(node).children;
  for (auto i = first; i < children.size(); ++i) {
    ASSAY_TRY(values.emplace_back(), value(children[i]));
  }
  return values;
}

auto CppReader::call(int node) -> R {
  const auto& callee = syntax_.node(syntax_.node(node).children[0]);
  if (callee.kind == CppKind::member) return method(node);
  if (callee.kind == CppKind::lambda) return lambda_call(syntax_.node(node).children[0]);
  if (callee.kind != CppKind::name) return bad_input("a call of what is no function");
  if (const auto local = locals_.find(callee.text); local != locals_.end()) {
    if (local->second.value.kind != CppValue::Kind::lambda) return bad_input("a call of a value");
    return lambda_call(static_cast<int>(local->second.value.where));
  }
  if (failed_.contains(callee.text)) return bad_input("");
  return function(node, callee.text);
}

/// Functions that are no plain operation on numbers, each read by a function of its own.
auto CppReader::function(int node, std::string_view name) -> R {
  struct Row {
    std::string_view name;
    R (*read)(CppReader&, int);
  };
  using C = CppReader;
  // clang-format off
  constexpr std::array kRows = {
      Row{"static_cast", [](C& c, int n) { return c.constructed(n); }},
      Row{"convert", [](C& c, int n) { return c.constructed(n); }},
      Row{"cvt_lowp_fp_to_fp32", [](C& c, int n) { return c.converted(n, DType::float32); }},
      Row{"cvt_fp32_to_lowp_fp", [](C& c, int n) { return c.constructed(n); }},
      Row{"bit_cast", [](C& c, int n) { return c.bits(n); }},
      Row{"Vectorized::loadu", [](C& c, int n) { return c.vector_load(n); }},
      Row{"VectorizedN::loadu", [](C& c, int n) { return c.vector_load(n); }},
      Row{"Vectorized::arange", [](C& c, int n) { return c.arange(n); }},
      Row{"VectorizedN::arange", [](C& c, int n) { return c.arange(n); }},
      Row{"Vectorized::blendv", [](C& c, int n) { return c.blend(n); }},
      Row{"VectorizedN::blendv", [](C& c, int n) { return c.blend(n); }},
      Row{"VecMask::blendv", [](C& c, int n) { return c.blend(n); }},
      Row{"decltype::blendv", [](C& c, int n) { return c.blend(n); }},
      Row{"VecMask::from", [](C& c, int n) { return c.mask_from(n); }},
      Row{"VecMask::set", [](C& c, int n) { return c.first_lanes(n); }},
      Row{"Vectorized::set", [](C& c, int n) { return c.first_lanes(n); }},
      Row{"VectorizedN::set", [](C& c, int n) { return c.first_lanes(n); }},
      Row{"decltype::set", [](C& c, int n) { return c.first_lanes(n); }},
      Row{"masked_load", [](C& c, int n) { return c.masked_load(n); }},
      Row{"TORCH_CHECK", [](C& c, int n) { return c.check(n); }},
      Row{"AOTI_TORCH_CHECK", [](C& c, int n) { return c.check(n); }},
      Row{"TORCH_INTERNAL_ASSERT", [](C& c, int n) { return c.check(n); }},
      Row{"div_floor_integer", [](C& c, int n) { return c.floor_division(n, TileOp::floor_quotient); }},
      Row{"div_mod", [](C& c, int n) { return c.floor_division(n, TileOp::floor_remainder); }},
      Row{"min", [](C& c, int n) { return c.smaller(n, true); }},
      Row{"max", [](C& c, int n) { return c.smaller(n, false); }},
      Row{"round", [](C& c, int n) { return c.composite(n, "round"); }},
      Row{"frexp", [](C& c, int n) { return c.split_float(n); }},
      Row{"ldexp", [](C& c, int n) { return c.scaled_by_power(n); }},
      Row{"calc_erfcx", [](C& c, int n) { return c.scaled_erfc_of(n); }},
      Row{"transpose_mxn", [](C& c, int n) { return c.transpose(n); }},
      Row{"atomic_add", [](C& c, int n) { return c.atomic_add(n, false); }},
      Row{"atomic_add_vec", [](C& c, int n) { return c.atomic_add(n, true); }},
      Row{"normalized_rand_cpu", [](C& c, int n) { return c.random(n, TileRandomKind::uniform); }},
      Row{"randn_cpu", [](C& c, int n) { return c.random(n, TileRandomKind::normal); }},
      Row{"randint64_cpu", [](C& c, int n) { return c.random(n, TileRandomKind::integer64); }},
      Row{"omp_get_thread_num", [](C& c, int) -> R { return CppValue::of_index(c.builder_.pool().symbol("cpp.thread")); }},
      Row{"Welford", [](C& c, int n) { return c.record(c.syntax_.node(n).children[0]); }},
      Row{"IndexValueVec", [](C& c, int n) { return c.record(c.syntax_.node(n).children[0]); }},
      Row{"inductor_vec_mask_cast", [](C& c, int n) { return c.same_mask(n); }},
      Row{"decltype::blend", [](C& c, int n) { return c.all_blended(n); }},
      Row{"sizeof", [](C& c, int n) { return c.size(n); }},
      Row{"make_unique", [](C&, int) -> R { return CppValue(); }},
  };
  // clang-format on
  for (const auto& row : kRows)
    if (row.name == name) return row.read(*this, node);
  if (name.starts_with("numeric_limits::")) return limit(node, name.substr(16));
  bool is_known = false;
  auto result = reduction(node, name, is_known);
  if (is_known) return result;
  const auto& callee = syntax_.node(syntax_.node(node).children[0]);
  if (callee.text == "decltype" || cpp_dtype(name) || name == "Vectorized" ||
      name == "VectorizedN" || name == "VecMask")
    return constructed(node);
  ASSAY_TRY(const auto values, arguments(node));
  result = apply(name, values, is_known);
  if (!is_known) return bad_input("the function `{}`", name);
  return result;
}

/// `tmp0.exp()`, `tmp5.template cast<float,1>()`, `tmp9.store(...)`
auto CppReader::method(int node) -> R {
  const auto& callee = syntax_.node(syntax_.node(node).children[0]);
  struct Row {
    std::string_view name;
    R (*read)(CppReader&, int);
  };
  using C = CppReader;
  constexpr std::array kRows = {
      Row{"store", [](C& c, int n) { return c.vector_store(n); }},
      Row{"loadu", [](C& c, int n) { return c.masked_load(n); }},
      Row{"to", [](C& c, int n) { return c.constructed(n); }},
  };
  for (const auto& row : kRows)
    if (row.name == callee.text) return row.read(*this, node);
  ASSAY_TRY(auto object, value(callee.children[0]));
  if (callee.text == "get" || callee.text == "data") {
    if (object.kind != CppValue::Kind::array) return bad_input("`.{}` of no array", callee.text);
    object.kind = CppValue::Kind::pointer;
    object.is_local = true;
    object.expr = 0;
    return object;
  }
  if (std::ranges::find(kOfMasks, callee.text) != kOfMasks.end()) return mask_method(node, object);
  ASSAY_TRY(auto values, arguments(node));
  values.insert(values.begin(), object);
  bool is_known = false;
  auto result = apply(callee.text, values, is_known);
  if (!is_known) return bad_input("the method `.{}`", callee.text);
  return result;
}

/// A lane's truth value, or that of all lanes once a loop has combined them.
auto CppReader::mask_method(int node, CppValue object) -> R {
  const auto& name = syntax_.node(syntax_.node(node).children[0]).text;
  if (object.dtype != DType::boolean || !object.is_vector)
    return bad_input("`.{}` of no mask", name);
  if (name == "cast") return object;
  if (name == "is_masked") {
    ASSAY_TRY(const auto lane, integer(syntax_.node(node).children.back()));
    const bool is_lane = std::ranges::any_of(
        loops_, [&](const CppLoop& loop) { return loop.is_inside && loop.lane == lane; });
    return is_lane ? R(object) : bad_input("a mask at no lane");
  }
  const bool is_all = name == "all_masked";
  if (object.kind == CppValue::Kind::lanes) {
    ASSAY_TRY(object, all_lanes(object, is_all ? TileCombine::all : TileCombine::any));
    return is_all ? R(object) : builder_.unary("!", object);
  }
  if (object.parts == (is_all ? TileCombine::all : TileCombine::any)) {
    object.parts.reset();
    object.is_vector = false;
    return is_all ? R(object) : builder_.unary("!", object);
  }
  if (is_all && is_checked_) return object;
  return bad_input("a question about all lanes of a vector");
}

/// Plain functions of numbers.
auto CppReader::apply(std::string_view name, const Values& values, bool& is_known) -> R {
  is_known = true;
  for (const auto& one : values)
    if (!one.is_number()) return bad_input("`{}` of what is no number", name);
  if (std::ranges::find(kMasks, name) != kMasks.end() && values.size() == 1)
    return builder_.converted(values[0], DType::boolean);
  const bool is_index = values.size() == 1 && values[0].is_index() && !is_floating(values[0].dtype);
  if (is_index && name == "abs")
    return CppValue::of_index(max(values[0].expr, -values[0].expr), values[0].dtype);
  if (const auto one = cpp_function(name, 1); one && values.size() == 1) {
    const bool is_real = is_floating(values[0].dtype);
    const bool takes = is_real || tile_op_row(*one).kinds.integer;
    ASSAY_TRY(const auto operand, builder_.as(values[0], takes ? values[0].dtype : DType::float64));
    ASSAY_TRY(const auto id, builder_.compute(*one, {operand}));
    auto result = CppValue::of_tile(id, builder_.type(id).dtype, values[0].is_vector);
    const auto whole = std::ranges::find(kToIntegers, *one, &IntegerRow::op);
    if (const auto real = builder_.real_expr(values[0]); real && whole != kToIntegers.end())
      result.real = make(ExprOp::to_float, std::array{make(whole->expr, std::array{*real})});
    return result;
  }
  if (const auto two = cpp_function(name, 2); two && values.size() == 2)
    return builder_.promoted(*two, values[0], values[1]);
  return composed(name, values, is_known);
}

/// Functions that are several operations.
auto CppReader::composed(std::string_view name, const Values& v, bool& is_known) -> R {
  const auto like = [&](double number) {
    return builder_.real(number, v[0].dtype, v[0].is_vector);
  };
  is_known = !v.empty() && is_floating(v[0].dtype);
  if (!is_known) return bad_input("`{}` of such operands", name);
  if (v.size() == 1 && name == "round")
    return apply(v[0].is_vector ? "nearbyint" : "round_away", v, is_known);
  if (v.size() == 1 && name == "reciprocal") return builder_.binary("/", like(1), v[0]);
  if (v.size() == 1 && name == "frac") {
    ASSAY_TRY(const auto whole, apply("trunc", v, is_known));
    return builder_.binary("-", v[0], whole);
  }
  if (v.size() == 3 && name == "clamp") {
    ASSAY_TRY(const auto low, builder_.promoted(TileOp::maximum, v[0], v[1]));
    return builder_.promoted(TileOp::minimum, low, v[2]);
  }
  if (v.size() == 3 && (name == "fmadd" || name == "fma")) {
    std::vector<TileId> operands;
    for (const auto& one : v) {
      ASSAY_TRY(operands.emplace_back(), builder_.as(one, v[0].dtype));
    }
    ASSAY_TRY(const auto id, builder_.compute(TileOp::fma, operands));
    return CppValue::of_tile(id, v[0].dtype, v[0].is_vector);
  }
  if (v.size() == 1 && name == "round_away") {
    ASSAY_TRY(const auto operand, builder_.tile(v[0]));
    ASSAY_TRY(const auto id, builder_.compute(TileOp::round_away, {operand}));
    return CppValue::of_tile(id, v[0].dtype, v[0].is_vector);
  }
  is_known = false;
  return bad_input("the function `{}`", name);
}

auto CppReader::scaled_erfc_of(int node) -> R {
  ASSAY_TRY(const auto values, arguments(node));
  if (values.size() != 1 || !is_floating(values[0].dtype)) return bad_input("erfcx of no float");
  const auto& x = values[0];
  ASSAY_TRY(const auto id, builder_.as(x, DType::float64));
  const auto wide = CppValue::of_tile(id, DType::float64, x.is_vector);
  ASSAY_TRY(const auto made, scaled_erfc(ops_of(builder_, x.is_vector), wide));
  return builder_.converted(made, x.dtype);
}

/// `ldexp(x, n)`, whose power may be a float that is a whole number.
auto CppReader::scaled_by_power(int node) -> R {
  ASSAY_TRY(const auto values, arguments(node));
  if (values.size() != 2 || !is_floating(values[0].dtype)) return bad_input("ldexp of no float");
  const auto& x = values[0];
  ASSAY_TRY(const auto id, builder_.as(x, DType::float64));
  ASSAY_TRY(const auto power, builder_.as(values[1], DType::int64));
  const auto wide = CppValue::of_tile(id, DType::float64, x.is_vector);
  const auto whole = CppValue::of_tile(power, DType::int64, x.is_vector);
  ASSAY_TRY(const auto made, times_power_of_2(ops_of(builder_, x.is_vector), wide, whole));
  return builder_.converted(made, x.dtype);
}

/// `frexp(x, &exponent)`
auto CppReader::split_float(int node) -> R {
  const auto& one = syntax_.node(node);
  constexpr std::size_t kChildren = 3;
  if (one.children.size() != kChildren) return bad_input("operands that do not fit");
  const auto& address = syntax_.node(one.children[2]);
  if (address.kind != CppKind::unary || address.text != "&")
    return bad_input("an exponent that has no place");
  ASSAY_TRY(const auto x, value(one.children[1]));
  if (!x.is_number() || !is_floating(x.dtype)) return bad_input("frexp of no float");
  const auto& bits = x.dtype == DType::float64 ? kDouble : kSingle;
  ASSAY_TRY(const auto id, builder_.as(x, bits.dtype));
  const auto given = CppValue::of_tile(id, bits.dtype, x.is_vector);
  ASSAY_TRY(const auto made, parts_of_float(ops_of(builder_, x.is_vector), bits, given));
  ASSAY_TRY(const auto power, builder_.converted(made.second, DType::int32));
  ASSAY_TRY_VOID(put(address.children[0], power, node));
  return builder_.converted(made.first, x.dtype);
}

auto CppReader::composite(int node, std::string_view name) -> R {
  ASSAY_TRY(const auto values, arguments(node));
  bool is_known = false;
  return composed(name, values, is_known);
}

/// `static_cast<T>(x)`, `T(x)`, `Vectorized<T>(x)`, `convert<T, n, U, m>(x)`, `mask.to<T, n>()`
auto CppReader::constructed(int node) -> R {
  const auto& one = syntax_.node(node);
  const auto callee = one.children[0];
  const auto& of_callee = syntax_.node(callee);
  const bool is_method = of_callee.kind == CppKind::member;
  const bool is_cast = is_method || of_callee.text == "static_cast" ||
                       of_callee.text == "convert" || of_callee.text == "cvt_fp32_to_lowp_fp";
  ASSAY_TRY(const auto type, is_cast ? type_argument(of_callee) : type_of(callee));
  if (one.children.size() != (is_method ? 1U : 2U)) return bad_input("a value made of several");
  const auto operand_node = is_method ? of_callee.children[0] : one.children[1];
  // decltype(x)(y) of a temporary may be a reference to it.
  ASSAY_TRY(const auto operand, value(operand_node));
  if (!operand.is_number()) return bad_input("a conversion of what is no number");
  ASSAY_TRY(auto result, builder_.converted(operand, type.dtype));
  result.is_vector = type.is_vector || operand.is_vector;
  // A signed number is taken modulo the larger range: it was widened with its sign.
  if (type.is_modular &&
      (is_floating(operand.dtype) || (operand.dtype != type.dtype && operand.is_modular)))
    return bad_input("an unsigned number made of another");
  result.is_modular = type.is_modular;
  return result;
}

auto CppReader::converted(int node, DType dtype) -> R {
  ASSAY_TRY(const auto values, arguments(node));
  if (values.size() != 1 || !values[0].is_number()) return bad_input("a conversion of no number");
  return builder_.converted(values[0], dtype);
}

auto CppReader::bits(int node) -> R {
  ASSAY_TRY(const auto type, type_argument(syntax_.node(syntax_.node(node).children[0])));
  ASSAY_TRY(const auto values, arguments(node));
  if (values.size() != 1) return bad_input("operands that do not fit");
  ASSAY_TRY(const auto from, builder_.tile(values[0]));
  const auto of = builder_.type(from).dtype;
  if (of == type.dtype) return values[0];
  if (tile_evaluate(TileOp::bitcast, of, type.dtype) == nullptr)
    return bad_input("a bitcast between these dtypes");
  return CppValue::of_tile(builder_.emit(TileCompute{TileOp::bitcast}, {from}, type.dtype),
                           type.dtype, values[0].is_vector);
}

/// `blendv(a, b, mask)`: b where the mask is.
auto CppReader::blend(int node) -> R {
  ASSAY_TRY(const auto values, arguments(node));
  if (values.size() != 3) return bad_input("operands that do not fit");
  ASSAY_TRY(const auto mask, builder_.as(values[2], DType::boolean));
  ASSAY_TRY(auto result, builder_.select(mask, values[1], values[0]));
  result.is_vector = true;
  return result;
}

/// `arange(first, step)`
auto CppReader::arange(int node) -> R {
  const auto& one = syntax_.node(node);
  ASSAY_TRY(const auto type, type_of(one.children[0]));
  ASSAY_TRY(const auto values, arguments(node));
  ASSAY_TRY(const auto* loop, vector_lane());
  const auto step = values.size() > 1 ? values[1].expr.as_int() : std::optional<std::int64_t>(1);
  if (values.empty() || !step) return bad_input("numbers that do not start at an index");
  if (!values[0].is_index()) {  // counted in the numbers' own type
    auto lane = CppValue::of_index(loop->lane * Expr(*step), DType::int64);
    lane.is_vector = true;
    ASSAY_TRY(const auto lanes, builder_.converted(lane, type.dtype));
    ASSAY_TRY(const auto first, builder_.converted(values[0], type.dtype));
    return builder_.binary("+", first, lanes);
  }
  auto result = CppValue::of_index(values[0].expr + loop->lane * Expr(*step), type.dtype);
  result.is_vector = true;
  ASSAY_TRY(const auto id, builder_.tile(result));
  return CppValue::of_tile(id, type.dtype, true);
}

/// `VecMask<T, n>::from(pointer, count)`, `from(truth value)`
auto CppReader::mask_from(int node) -> R {
  const auto& one = syntax_.node(node);
  if (one.children.size() < 2) return bad_input("a mask of nothing");
  ASSAY_TRY(const auto first, value(one.children[1]));
  CppValue result = first;
  if (!first.is_number()) {
    ASSAY_TRY(result, vector_load(node));
  }
  ASSAY_TRY(result, builder_.converted(result, DType::boolean));
  result.is_vector = true;
  return result;
}

/// `set(a, b, count)`: b in the first lanes, which are all that are left.
auto CppReader::first_lanes(int node) -> R {
  ASSAY_TRY(const auto values, arguments(node));
  if (values.size() != 3) return bad_input("operands that do not fit");
  ASSAY_TRY_VOID(lane_of(node, 3, false));
  return values[1];
}

auto CppReader::same_mask(int node) -> R {
  ASSAY_TRY(const auto values, arguments(node));
  if (values.size() != 1 || values[0].dtype != DType::boolean)
    return bad_input("a cast of no mask");
  return values[0];
}

/// `blend<255>(a, b)`: b in all lanes that hold elements.
auto CppReader::all_blended(int node) -> R {
  ASSAY_TRY(const auto values, arguments(node));
  if (values.size() != 2) return bad_input("operands that do not fit");
  return values[1];
}

auto CppReader::size(int node) -> R {
  const auto& one = syntax_.node(node);
  if (one.children.size() != 2) return bad_input("a size of nothing");
  const auto type = cpp_dtype(syntax_.node(one.children[1]).text);
  if (type) return CppValue::of_index(size_bytes(*type));
  ASSAY_TRY(const auto of, value(one.children[1]));
  return CppValue::of_index(size_bytes(of.dtype));
}

/// The text of a string, or whatever the source has.
auto CppReader::unquoted(int node) const -> std::string {
  const auto& text = syntax_.node(node).text;
  return text.size() >= 2 && text.front() == '"' ? text.substr(1, text.size() - 2) : text;
}

auto CppReader::check(int node) -> R {
  const auto& one = syntax_.node(node);
  if (one.children.size() < 2) return bad_input("an assert of nothing");
  // What must hold for all lanes must hold for each.
  const bool outer = std::exchange(is_checked_, true);
  const auto holds = truth(one.children[1]);
  is_checked_ = outer;
  ASSAY_TRY(const auto condition, holds);
  auto message = one.children.size() > 2 ? unquoted(one.children[2]) : std::string();
  builder_.emit_effect(TileAssert{std::move(message)}, {condition, mask_});
  return CppValue();
}

/// The quotient or the remainder, which has the divisor's sign.
auto CppReader::floor_division(int node, TileOp op) -> R {
  ASSAY_TRY(const auto values, arguments(node));
  if (values.size() != 2) return bad_input("operands that do not fit");
  const bool is_index = !values[0].is_vector && !values[1].is_vector &&
                        (values[0].is_index() || values[1].is_index()) &&
                        builder_.common(values[0], values[1]) == DType::int64;
  if (!is_index) return builder_.promoted(op, values[0], values[1]);
  ASSAY_TRY(const auto a, builder_.expr(values[0]));
  ASSAY_TRY(const auto b, builder_.expr(values[1]));
  return CppValue::of_index(op == TileOp::floor_quotient ? floor_div(a, b) : mod(a, b));
}

/// `std::min(a, b)` is `b < a ? b : a`; `std::min({a, b, c})` the same one after the other.
auto CppReader::smaller(int node, bool is_min) -> R {
  const auto& one = syntax_.node(node);
  const bool is_list =
      one.children.size() == 2 && syntax_.node(one.children[1]).kind == CppKind::braces;
  ASSAY_TRY(const auto values, arguments(is_list ? one.children[1] : node));
  if (values.size() < 2 || (values.size() > 2 && !is_list))
    return bad_input("operands that do not fit");
  auto a = values[0];
  for (const auto& b : std::span(values).subspan(1)) {
    if (a.is_index() && b.is_index() && !is_floating(a.dtype)) {
      a = CppValue::of_index(is_min ? min(a.expr, b.expr) : max(a.expr, b.expr), a.dtype);
      continue;
    }
    ASSAY_TRY(const auto less, is_min ? builder_.binary("<", b, a) : builder_.binary("<", a, b));
    ASSAY_TRY(a, builder_.select(less.id, b, a));
  }
  return a;
}

/// `std::numeric_limits<T>::infinity()`
auto CppReader::limit(int node, std::string_view name) -> R {
  auto dtype = DType::float32;
  if (syntax_.node(node).kind == CppKind::call) {
    ASSAY_TRY(const auto type, type_argument(syntax_.node(syntax_.node(node).children[0])));
    dtype = type.dtype;
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (name == "infinity" || name == "INFINITY") return builder_.real(kInfinity, dtype, false);
  if (name == "quiet_NaN" || name == "NAN") return builder_.real(std::nan(""), dtype, false);
  const bool is_max = name == "max";
  if (!is_max && name != "min" && name != "lowest") return bad_input("the limit `{}`", name);
  if (!is_floating(dtype)) {
    const auto of = extreme_of(dtype, is_max);
    auto result = CppValue::of_tile(builder_.constant(of, dtype), dtype, false);
    result.known = static_cast<double>(std::get<std::int64_t>(of));
    return result;
  }
  const bool is_double = dtype == DType::float64;
  if (!is_double && dtype != DType::float32) return bad_input("a limit of a narrow float");
  const double top = is_double ? std::numeric_limits<double>::max()
                               : static_cast<double>(std::numeric_limits<float>::max());
  const double least = is_double ? std::numeric_limits<double>::min()
                                 : static_cast<double>(std::numeric_limits<float>::min());
  return builder_.real(is_max ? top : name == "lowest" ? -top : least, dtype, false);
}

/// `randn_cpu(seed, offset)`, `randint64_cpu(seed, offset, low, high)`
auto CppReader::random(int node, TileRandomKind kind) -> R {
  ASSAY_TRY(const auto values, arguments(node));
  const bool is_integer = kind == TileRandomKind::integer64;
  if (values.size() != (is_integer ? 4U : 2U)) return bad_input("operands that do not fit");
  std::vector<TileId> operands;
  for (const auto& one : values) {
    ASSAY_TRY(operands.emplace_back(), builder_.as(one, DType::int64));
  }
  const auto dtype = is_integer ? DType::int64 : DType::float32;
  return CppValue::of_tile(builder_.emit(TileRandom{kind, true}, operands, dtype), dtype, false);
}

}  // namespace assay
