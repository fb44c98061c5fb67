// Calls in Triton kernels: what tl.*, triton_helpers.*, libdevice.* and methods mean.
#include <algorithm>
#include <array>

#include "compiler/read/triton.h"
#include "compiler/read/triton_reader.h"

namespace assay {
namespace {

using Kind = TritonValue::Kind;

/// Functions that are one operation, by the name behind the module.
struct FunctionRow {
  std::string_view name;
  TileOp op;
};
// clang-format off
constexpr std::array kUnary = {
    FunctionRow{"exp", TileOp::exp}, FunctionRow{"fast_expf", TileOp::exp},
    FunctionRow{"exp2", TileOp::exp2}, FunctionRow{"expm1", TileOp::expm1},
    FunctionRow{"log", TileOp::log}, FunctionRow{"fast_logf", TileOp::log},
    FunctionRow{"log2", TileOp::log2}, FunctionRow{"log10", TileOp::log10},
    FunctionRow{"log1p", TileOp::log1p}, FunctionRow{"sqrt", TileOp::sqrt},
    FunctionRow{"sqrt_rn", TileOp::sqrt}, FunctionRow{"rsqrt", TileOp::rsqrt},
    FunctionRow{"sin", TileOp::sin}, FunctionRow{"cos", TileOp::cos},
    FunctionRow{"tan", TileOp::tan}, FunctionRow{"asin", TileOp::asin},
    FunctionRow{"acos", TileOp::acos}, FunctionRow{"atan", TileOp::atan},
    FunctionRow{"sinh", TileOp::sinh}, FunctionRow{"cosh", TileOp::cosh},
    FunctionRow{"tanh", TileOp::tanh}, FunctionRow{"fast_tanhf", TileOp::tanh},
    FunctionRow{"asinh", TileOp::asinh}, FunctionRow{"acosh", TileOp::acosh},
    FunctionRow{"atanh", TileOp::atanh}, FunctionRow{"erf", TileOp::erf},
    FunctionRow{"erfc", TileOp::erfc}, FunctionRow{"erfinv", TileOp::erfinv},
    FunctionRow{"lgamma", TileOp::lgamma}, FunctionRow{"sigmoid", TileOp::sigmoid},
    FunctionRow{"floor", TileOp::floor}, FunctionRow{"ceil", TileOp::ceil},
    FunctionRow{"trunc", TileOp::trunc}, FunctionRow{"nearbyint", TileOp::nearest_even},
    FunctionRow{"rint", TileOp::nearest_even}, FunctionRow{"round", TileOp::round_away},
    FunctionRow{"isnan", TileOp::is_nan}, FunctionRow{"isinf", TileOp::is_infinite},
    FunctionRow{"finitef", TileOp::is_finite}, FunctionRow{"isfinited", TileOp::is_finite},
    FunctionRow{"signbit", TileOp::sign_bit}, FunctionRow{"abs", TileOp::absolute},
    FunctionRow{"fabs", TileOp::absolute},
    FunctionRow{"j0", TileOp::bessel_j0}, FunctionRow{"j1", TileOp::bessel_j1},
    FunctionRow{"y0", TileOp::bessel_y0}, FunctionRow{"y1", TileOp::bessel_y1},
    FunctionRow{"normcdf", TileOp::ndtr}, FunctionRow{"normcdfinv", TileOp::ndtri},
};
constexpr std::array kBinary = {
    FunctionRow{"pow", TileOp::power}, FunctionRow{"atan2", TileOp::atan2},
    FunctionRow{"copysign", TileOp::copysign}, FunctionRow{"hypot", TileOp::hypot},
    FunctionRow{"nextafter", TileOp::nextafter}, FunctionRow{"fmod", TileOp::remainder},
    FunctionRow{"div_rn", TileOp::divide}, FunctionRow{"fdiv", TileOp::divide},
    FunctionRow{"fast_dividef", TileOp::divide},
    FunctionRow{"div_floor_integer", TileOp::floor_quotient},
    FunctionRow{"remainder_integer", TileOp::floor_remainder},
    FunctionRow{"umulhi", TileOp::high_product}, FunctionRow{"mulhi", TileOp::high_product},
};
// clang-format on

/// Functions and methods that keep every value.
constexpr std::array<std::string_view, 7> kSameValue = {
    "multiple_of", "max_contiguous", "max_constancy", "promote_to_tensor",
    "contiguous",  "assume",         "constexpr"};

auto find(const auto& rows, std::string_view name) -> const FunctionRow* {
  for (const auto& row : rows)
    if (row.name == name) return &row;
  return nullptr;
}

constexpr std::array<std::string_view, 7> kModules = {
    "tl", "triton_helpers", "libdevice", "math", "tl_math", "tldevice", "triton"};

}  // namespace

auto TritonReader::arguments(int node) -> Result<Values> {
  Values values;
  for (const int child : cursor_.positional(node)) {
    ASSAY_TRY(values.emplace_back(), value(child));
  }
  return values;
}

auto TritonReader::call(int node) -> Result<TritonValue> {
  const int function = cursor_.syntax(node).first_child;
  const auto full_name = cursor_.source_of(function);
  const auto root = full_name.substr(0, full_name.find_first_of(".[("));
  const auto syntax = cursor_.syntax(function);  // calls read on, and the tree grows
  const bool is_path = full_name.find_first_of("([ ") == std::string_view::npos;
  const bool is_method = syntax.kind == SyntaxKind::attribute &&
                         (!is_path || std::ranges::find(kModules, root) == kModules.end());
  if (is_method) {
    ASSAY_TRY(auto receiver, value(syntax.first_child));
    return method(node, std::move(receiver), cursor_.syntax(function).text);
  }
  const auto dot = full_name.rfind('.');
  const auto name = dot == std::string_view::npos ? full_name : full_name.substr(dot + 1);
  bool is_known = false;
  if (const auto own = helpers_.find(full_name); own != helpers_.end())
    return at(node, function_call(node, own->second));
  auto result = special(node, name, is_known);
  if (is_known) return at(node, std::move(result));
  for (const auto read : {&TritonReader::reduction, &TritonReader::helper}) {
    result = (this->*read)(node, name, is_known);
    if (is_known) return at(node, std::move(result));
  }
  const auto* one = find(kUnary, name);
  const auto* two = find(kBinary, name);
  if (one == nullptr && two == nullptr)
    return fail(node, fmt::format("the function `{}`", full_name));
  ASSAY_TRY(const auto values, arguments(node));
  if (values.size() != (one != nullptr ? 1U : 2U)) return fail(node, "operands that do not fit");
  if (one != nullptr) {
    ASSAY_TRY(auto operand, at(node, builder_.tile(values[0])));
    if (tile_op_row(one->op).kinds.integer == false && !is_floating(builder_.type(operand).dtype))
      operand = builder_.cast(operand, DType::float32);
    return at(node, builder_.compute(one->op, {operand}));
  }
  ASSAY_TRY(auto dtype, at(node, builder_.common(values[0], values[1], true)));
  if (!tile_op_row(two->op).kinds.integer && !is_floating(dtype)) dtype = DType::float32;
  ASSAY_TRY(const auto a, at(node, builder_.as(values[0], dtype)));
  ASSAY_TRY(const auto b, at(node, builder_.as(values[1], dtype)));
  return at(node, builder_.compute(two->op, {a, b}));
}

auto TritonReader::method(int node, TritonValue receiver, std::string_view name)
    -> Result<TritonValue> {
  const auto args = cursor_.positional(node);
  if (receiver.kind == Kind::block && (name == "load" || name == "store"))
    return at(node, through_descriptor(node, receiver, name == "store", args));
  if (receiver.is_pointer() || receiver.kind == Kind::block)
    return fail(node, fmt::format("`.{}` of a pointer", name));
  ASSAY_TRY(receiver, at(node, builder_.tile(receiver)));
  if (name == "to" && !args.empty()) {
    ASSAY_TRY(const auto type, value(args[0]));
    if (type.kind != Kind::dtype) return fail(node, "a conversion to no dtype");
    const int bitcast = cursor_.keyword(node, "bitcast");
    if (bitcast < 0 || cursor_.source_of(bitcast) == "False")
      return builder_.cast(receiver, type.dtype);
    return at(node, builder_.bitcast(receiver, type.dtype));
  }
  if (name == "broadcast_to") {
    TritonShape shape;
    for (const int arg : args) {
      ASSAY_TRY(const auto part, shape_of(arg));
      shape.insert(shape.end(), part.begin(), part.end());
    }
    return at(node, broadcast_to(std::move(receiver), shape));
  }
  if (std::ranges::find(kSameValue, name) != kSameValue.end()) return receiver;
  if (const auto* one = find(kUnary, name)) return at(node, builder_.compute(one->op, {receiver}));
  return fail(node, fmt::format("the method `.{}`", name));
}

/// Functions that are no plain operation on values, each read by a function of its own.
auto TritonReader::special(int node, std::string_view name, bool& is_known) -> Result<TritonValue> {
  struct Row {
    std::string_view name;
    Result<TritonValue> (*read)(TritonReader&, int);
  };
  using R = TritonReader;
  // clang-format off
  constexpr std::array kRows = {
      Row{"load", [](R& r, int n) { return r.load(n); }},
      Row{"store", [](R& r, int n) { return r.store(n); }},
      Row{"make_block_ptr", [](R& r, int n) { return r.block_pointer(n, false); }},
      Row{"make_tensor_descriptor", [](R& r, int n) { return r.block_pointer(n, true); }},
      Row{"advance", [](R& r, int n) { return r.advanced(n); }},
      Row{"load_tensor_descriptor", [](R& r, int n) { return r.descriptor_function(n, false); }},
      Row{"store_tensor_descriptor", [](R& r, int n) { return r.descriptor_function(n, true); }},
      Row{"arange", [](R& r, int n) { return r.arange(n); }},
      Row{"full", [](R& r, int n) { return r.full(n, false); }},
      Row{"zeros", [](R& r, int n) { return r.full(n, true); }},
      Row{"zeros_like", [](R& r, int n) { return r.zeros_like(n); }},
      Row{"where", [](R& r, int n) { return r.where(n); }},
      Row{"program_id", [](R& r, int n) { return r.program(n, false); }},
      Row{"num_programs", [](R& r, int n) { return r.program(n, true); }},
      Row{"minimum", [](R& r, int n) { return r.extreme(n, TileOp::minimum_number, TileOp::minimum); }},
      Row{"maximum", [](R& r, int n) { return r.extreme(n, TileOp::maximum_number, TileOp::maximum); }},
      Row{"clamp", [](R& r, int n) { return r.clamped(n); }},
      Row{"broadcast_to", [](R& r, int n) { return r.reshaped(n, true); }},
      Row{"reshape", [](R& r, int n) { return r.reshaped(n, false); }},
      Row{"view", [](R& r, int n) { return r.reshaped(n, false); }},
      Row{"trans", [](R& r, int n) { return r.transposed(n); }},
      Row{"permute", [](R& r, int n) { return r.transposed(n); }},
      Row{"cdiv", [](R& r, int n) { return r.ceil_quotient(n); }},
      Row{"fma", [](R& r, int n) { return r.fused(n); }},
      Row{"llrint", [](R& r, int n) { return r.rounded(n); }},
      Row{"device_assert", [](R& r, int n) { return r.device_assert(n); }},
      Row{"debug_barrier", [](R& r, int) -> Result<TritonValue> { r.builder_.emit_effect(TileBarrier{}, {}); return TritonValue{}; }},
      Row{"gdc_wait", [](R&, int) -> Result<TritonValue> { return TritonValue{}; }},  // launches begin in order
      Row{"gdc_launch_dependents", [](R&, int) -> Result<TritonValue> { return TritonValue{}; }},
      Row{"static_assert", [](R&, int) -> Result<TritonValue> { return TritonValue{}; }},
      Row{"static_print", [](R&, int) -> Result<TritonValue> { return TritonValue{}; }},
      Row{"device_print", [](R&, int) -> Result<TritonValue> { return TritonValue{}; }},
      Row{"rand", [](R& r, int n) { return r.random(n, TileRandomKind::uniform); }},
      Row{"randn", [](R& r, int n) { return r.random(n, TileRandomKind::normal); }},
      Row{"randint", [](R& r, int n) { return r.random(n, TileRandomKind::integer); }},
      Row{"randint64", [](R& r, int n) { return r.random(n, TileRandomKind::integer64); }},
      Row{"bucketize_binary_search", [](R& r, int n) { return r.search(n); }},
      Row{"exclusive_scan_decoupled_lookback", [](R& r, int n) { return r.look_back(n); }},
      Row{"exclusive_scan_decoupled_lookback_64", [](R& r, int n) { return r.look_back(n); }},
      Row{"float", [](R& r, int n) { return r.infinity(n); }},
  };
  // clang-format on
  is_known = true;
  for (const auto& row : kRows)
    if (row.name == name) return row.read(*this, node);
  if (name.starts_with("atomic_")) return atomic(node, name.substr(7));
  const auto args = cursor_.positional(node);
  const bool is_builtin = cursor_.syntax(cursor_.syntax(node).first_child).kind == SyntaxKind::name;
  if (is_builtin && name == "min") return extreme(node, TileOp::minimum_number, TileOp::minimum);
  if (is_builtin && name == "max") return extreme(node, TileOp::maximum_number, TileOp::maximum);
  if (!args.empty() && std::ranges::find(kSameValue, name) != kSameValue.end())
    return value(args[0]);
  is_known = false;
  return TritonValue{};
}

/// clamp(x, min, max): of what is no number the lower bound, as maximum and minimum give the other
/// operand.
auto TritonReader::clamped(int node) -> Result<TritonValue> {
  const int low = argument(node, "min", 1), high = argument(node, "max", 2);
  const auto args = cursor_.positional(node);
  if (args.empty() || low < 0 || high < 0) return bad_input("operands that do not fit");
  ASSAY_TRY(const auto x, value(args[0]));
  ASSAY_TRY(const auto least, value(low));
  ASSAY_TRY(const auto most, value(high));
  if (const int nan = cursor_.keyword(node, "propagate_nan"); nan >= 0)
    return bad_input("a clamp that says what becomes of what is no number");
  ASSAY_TRY(const auto above, builder_.promoted(TileOp::maximum_number, x, least));
  return builder_.promoted(TileOp::minimum_number, above, most);
}

auto TritonReader::zeros_like(int node) -> Result<TritonValue> {
  const auto args = cursor_.positional(node);
  if (args.empty()) return bad_input("zeros like nothing");
  ASSAY_TRY(const auto like, tile_of(args[0]));
  ASSAY_TRY(auto result,
            builder_.as(TritonValue::python(std::int64_t{0}), builder_.type(like).dtype));
  result.shape = like.shape;
  return result;
}

auto TritonReader::reshaped(int node, bool broadcasts) -> Result<TritonValue> {
  const auto args = cursor_.positional(node);
  if (args.size() < 2) return bad_input("a shape is missing");
  ASSAY_TRY(auto operand, tile_of(args[0]));
  ASSAY_TRY(const auto shape, shape_of(args[1]));
  if (broadcasts) return broadcast_to(std::move(operand), shape);
  const auto flat = [](const TritonShape& s) {
    std::vector<std::size_t> axes;
    for (const auto& position : s) axes.insert(axes.end(), position.begin(), position.end());
    return axes;
  };
  if (flat(operand.shape) != flat(shape)) return bad_input("a reshape that mixes axes");
  operand.shape = shape;
  return operand;
}

/// tl.trans(x), of two dimensions; tl.trans(x, 1, 0) and tl.permute(x, (1, 0)) of any: lanes stay
/// where they are.
auto TritonReader::transposed(int node) -> Result<TritonValue> {
  ASSAY_TRY(auto v, arguments(node));
  if (v.empty()) return bad_input("a transposition of nothing");
  ASSAY_TRY(auto operand, builder_.tile(v[0]));
  auto order =
      v.size() == 2 && v[1].kind == Kind::tuple ? v[1].items : Values(v.begin() + 1, v.end());
  if (order.empty())
    order = {TritonValue::python(std::int64_t{1}), TritonValue::python(std::int64_t{0})};
  if (order.size() != operand.shape.size()) return bad_input("a transposition that does not fit");
  TritonShape shape;
  std::set<std::int64_t> taken;
  for (const auto& one : order) {
    const auto at = one.as_int().value_or(-1);
    if (at < 0 || at >= std::ssize(order) || !taken.insert(at).second)
      return bad_input("a transposition that does not fit");
    shape.push_back(operand.shape[static_cast<std::size_t>(at)]);
  }
  operand.shape = std::move(shape);
  return operand;
}

auto TritonReader::ceil_quotient(int node) -> Result<TritonValue> {
  ASSAY_TRY(const auto v, arguments(node));
  if (v.size() != 2) return bad_input("operands that do not fit");
  ASSAY_TRY(const auto sum, builder_.binary("+", v[0], v[1]));
  ASSAY_TRY(const auto top, builder_.binary("-", sum, TritonValue::python(std::int64_t{1})));
  return builder_.binary("//", top, v[1]);
}

auto TritonReader::fused(int node) -> Result<TritonValue> {
  ASSAY_TRY(const auto v, arguments(node));
  if (v.size() != 3) return bad_input("operands that do not fit");
  ASSAY_TRY(const auto product, builder_.common(v[0], v[1], false));
  Values operands;
  for (const auto& one : v) {
    ASSAY_TRY(operands.emplace_back(), builder_.as(one, product));
  }
  return builder_.compute(TileOp::fma, operands);
}

auto TritonReader::rounded(int node) -> Result<TritonValue> {
  const auto args = cursor_.positional(node);
  if (args.size() != 1) return bad_input("operands that do not fit");
  ASSAY_TRY(const auto operand, tile_of(args[0]));
  ASSAY_TRY(const auto rounded, builder_.compute(TileOp::nearest_even, {operand}));
  return builder_.cast(rounded, DType::int64);
}

/// float("-inf")
auto TritonReader::infinity(int node) -> Result<TritonValue> {
  const auto args = cursor_.positional(node);
  const auto text = args.size() == 1 ? cursor_.source_of(args[0]) : std::string_view();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text.contains("nan")) return TritonValue::python(std::numeric_limits<double>::quiet_NaN());
  if (!text.contains("inf")) return bad_input("a conversion of a number to float");
  return TritonValue::python(text.contains('-') ? -kInfinity : kInfinity);
}

/// tl.minimum lets NaN lose unless told otherwise, the helper of the same name never does.
auto TritonReader::extreme(int node, TileOp quiet, TileOp loud) -> Result<TritonValue> {
  const auto args = cursor_.positional(node);
  if (args.size() < 2) return bad_input("operands that do not fit");
  const auto function = cursor_.source_of(cursor_.syntax(node).first_child);
  const bool propagates = function.starts_with("triton_helpers.") ||
                          cursor_.source_of(node).contains("PropagateNan.ALL");
  ASSAY_TRY(const auto a, value(args[0]));
  ASSAY_TRY(const auto b, value(args[1]));
  if (a.as_int() && b.as_int()) {
    const bool smaller = *a.as_int() < *b.as_int();
    return smaller == (loud == TileOp::minimum) ? a : b;
  }
  return builder_.promoted(propagates ? loud : quiet, a, b);
}

auto TritonReader::arange(int node) -> Result<TritonValue> {
  const auto args = cursor_.positional(node);
  if (args.size() != 2) return bad_input("arange of two ends");
  ASSAY_TRY(const auto low, value(args[0]));
  ASSAY_TRY(auto high, value(args[1]));
  if (low.as_int() != 0) return bad_input("lanes that do not start at 0");
  // A single lane needs an axis of its own only where its block has a name.
  ASSAY_TRY(const auto axes, position_of(high));
  TritonValue result;
  result.kind = Kind::tile;
  if (axes.empty()) {
    ASSAY_TRY(result, builder_.as(TritonValue::python(std::int64_t{0}), DType::int32));
    result.shape = {{}};
    return result;
  }
  if (axes.size() > 1) return bad_input("lanes over merged axes");
  result.id = builder_.emit(TileLane{axes[0]}, {}, {DType::int32, AxisSet{1} << axes[0]});
  result.shape = {{axes[0]}};
  return result;
}

auto TritonReader::full(int node, bool zeros) -> Result<TritonValue> {
  const auto args = cursor_.positional(node);
  const std::size_t type_at = zeros ? 1 : 2;
  if (args.empty()) return bad_input("a constant without a shape");
  int type_node = args.size() > type_at ? args[type_at] : cursor_.keyword(node, "dtype");
  if (type_node < 0 || (!zeros && args.size() < 2)) return bad_input("a constant without dtype");
  ASSAY_TRY(const auto shape, shape_of(args[0]));
  ASSAY_TRY(const auto filled, zeros ? TritonValue::python(std::int64_t{0}) : value(args[1]));
  ASSAY_TRY(const auto type, value(type_node));
  if (type.kind != Kind::dtype) return bad_input("a constant of no dtype");
  ASSAY_TRY(auto result, builder_.as(filled, type.dtype));
  result.shape = shape;
  result.is_weak = false;
  return result;
}

auto TritonReader::where(int node) -> Result<TritonValue> {
  ASSAY_TRY(const auto v, arguments(node));
  if (v.size() != 3) return bad_input("where takes three operands");
  return builder_.select(v[0], v[1], v[2]);
}

auto TritonReader::program(int node, bool is_count) -> Result<TritonValue> {
  ASSAY_TRY(const auto v, arguments(node));
  const auto dimension = v.empty() ? std::nullopt : v[0].as_int();
  if (!dimension || *dimension < 0 || *dimension > 2) return bad_input("a dimension of the grid");
  if (is_split_scan() && *dimension == 0) return split_scan_program();
  TritonValue result;
  result.kind = Kind::tile;
  result.id =
      builder_.emit(TileProgram{static_cast<int>(*dimension), is_count}, {}, {DType::int32, 0});
  return result;
}

}  // namespace assay
