// Helpers around Triton kernels that are several operations on values: what
// torch/_inductor/runtime/triton_helpers.py (PyTorch 2.11 to 2.15) and libdevice compute there.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numbers>

#include "compiler/read/float_functions.h"
#include "compiler/read/triton_reader.h"

namespace assay {
namespace {

using Values = std::vector<TritonValue>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

auto number(auto value) -> TritonValue {
  return TritonValue::python(value);
}

auto ops_of(TileBuilder& builder) -> FloatOps<TritonValue> {
  using Value = TritonValue;
  FloatOps<Value> ops;
  ops.apply = [&](TileOp op, const Value& x) { return builder.compute(op, {x}); };
  ops.binary = [&](std::string_view op, const Value& a, const Value& b) {
    return builder.binary(op, a, b);
  };
  ops.select = [&](const Value& c, const Value& a, const Value& b) {
    return builder.select(c, a, b);
  };
  ops.bitcast = [&](const Value& x, DType dtype) { return builder.bitcast(x, dtype); };
  ops.convert = [&](const Value& x, DType dtype) { return builder.as(x, dtype); };
  ops.real = [](double x, DType) { return number(x); };  // takes the other operand's dtype
  ops.integer = [](std::int64_t x, DType) { return number(x); };
  return ops;
}

auto frexp(TileBuilder& builder, const Values& v) -> Result<Values> {
  ASSAY_TRY(const auto given, builder.tile(v[0]));
  const auto dtype = builder.type(given).dtype;
  if (!is_floating(dtype)) return bad_input("frexp of an integer");
  const auto& bits = dtype == DType::float64 ? kDouble : kSingle;
  ASSAY_TRY(const auto made,
            parts_of_float(ops_of(builder), bits, builder.cast(given, bits.dtype)));
  return Values{builder.cast(made.first, dtype), builder.cast(made.second, DType::int32)};
}

auto ldexp(TileBuilder& builder, const Values& v) -> Result<Values> {
  ASSAY_TRY(const auto given, builder.tile(v[0]));
  ASSAY_TRY(const auto power, builder.as(v[1], DType::int64));
  const auto dtype = builder.type(given).dtype;
  if (!is_floating(dtype)) return bad_input("ldexp of an integer");
  ASSAY_TRY(const auto result,
            times_power_of_2(ops_of(builder), builder.cast(given, DType::float64), power));
  return Values{builder.cast(result, dtype)};
}

/// The modified Bessel function of the first kind, of order 0 or 1: its series where that converges
/// quickly, else the asymptotic one (Abramowitz and Stegun, 9.6.10 and 9.7.1), each within a few
/// units in the last place of the dtype.
template <int kOrder>
auto bessel_i(TileBuilder& builder, const Values& v) -> Result<Values> {
  ASSAY_TRY(const auto given, builder.tile(v[0]));
  const auto dtype = builder.type(given).dtype;
  const bool is_wide = dtype == DType::float64;
  const auto x = builder.cast(given, is_wide ? dtype : DType::float32);
  const int terms = is_wide ? 60 : 20, later_terms = is_wide ? 18 : 10;
  const double near = is_wide ? 30 : 9;
  // From the last term on: 1 + q/(1 (1 + n)) (1 + q/(2 (2 + n)) (...)), with q = x^2/4.
  ASSAY_TRY(const auto half, builder.binary("*", x, number(0.5)));
  ASSAY_TRY(const auto quarter, builder.binary("*", half, half));
  ASSAY_TRY(auto series, builder.as(number(1.0), builder.type(x).dtype));
  const auto add_terms = [&](TritonValue sum, const TritonValue& by, int count,
                             const auto& factor) -> Result<TritonValue> {
    for (int k = count; k > 0; --k) {
      ASSAY_TRY(const auto part, builder.binary("*", by, number(factor(static_cast<double>(k)))));
      ASSAY_TRY(const auto more, builder.binary("*", sum, part));
      ASSAY_TRY(sum, builder.binary("+", more, number(1.0)));
    }
    return sum;
  };
  const auto one = series;
  ASSAY_TRY(series,
            add_terms(one, quarter, terms, [](double k) { return 1 / (k * (k + kOrder)); }));
  if (kOrder == 1) {
    ASSAY_TRY(series, builder.binary("*", series, half));
  }
  ASSAY_TRY(const auto size, builder.compute(TileOp::absolute, {x}));
  ASSAY_TRY(const auto inverse, builder.binary("/", number(1.0), size));
  ASSAY_TRY(const auto later, add_terms(one, inverse, later_terms, [](double k) {
              return ((2 * k - 1) * (2 * k - 1) - 4 * kOrder) / (8 * k);
            }));
  // In two steps, since the power alone is beyond the range before the function is.
  ASSAY_TRY(const auto half_size, builder.binary("*", size, number(0.5)));
  ASSAY_TRY(const auto root_of_power, builder.compute(TileOp::exp, {half_size}));
  ASSAY_TRY(const auto circle, builder.binary("*", size, number(2 * std::numbers::pi)));
  ASSAY_TRY(const auto root, builder.compute(TileOp::sqrt, {circle}));
  ASSAY_TRY(const auto scale, builder.binary("/", root_of_power, root));
  ASSAY_TRY(const auto scaled, builder.binary("*", later, scale));
  ASSAY_TRY(auto beyond, builder.binary("*", scaled, root_of_power));
  ASSAY_TRY(const auto is_beyond, builder.binary("==", size, number(kInfinity)));
  ASSAY_TRY(beyond, builder.select(is_beyond, size, beyond));
  if (kOrder == 1) {
    ASSAY_TRY(beyond, builder.compute(TileOp::copysign, {beyond, x}));
  }
  ASSAY_TRY(const auto is_near, builder.binary("<", size, number(near)));
  ASSAY_TRY(const auto result, builder.select(is_near, series, beyond));
  return Values{builder.cast(result, dtype)};
}

/// pow_integer(base, exponent): by squaring, modulo the base's bits.
auto pow_integer(TileBuilder& builder, const Values& v) -> Result<Values> {
  ASSAY_TRY(auto base, builder.tile(v[0]));
  ASSAY_TRY(auto exponent, builder.tile(v[1]));
  const auto bits = 8 * size_bytes(builder.type(exponent).dtype);
  ASSAY_TRY(auto result, builder.as(number(std::int64_t{1}), builder.type(base).dtype));
  for (std::int64_t bit = 0; bit < bits; ++bit) {
    ASSAY_TRY(const auto lowest, builder.binary("&", exponent, number(std::int64_t{1})));
    ASSAY_TRY(const auto is_set, builder.binary("!=", lowest, number(std::int64_t{0})));
    ASSAY_TRY(const auto product, builder.binary("*", result, base));
    ASSAY_TRY(result, builder.select(is_set, product, result));
    ASSAY_TRY(exponent, builder.binary(">>", exponent, number(std::int64_t{1})));
    ASSAY_TRY(base, builder.binary("*", base, base));
  }
  return Values{result};
}

/// online_softmax_combine(max, sum, max[, sum]): both sums counted from the larger maximum. The
/// second one is 1 where none is given.
auto combine_softmax(TileBuilder& builder, const Values& v) -> Result<Values> {
  ASSAY_TRY(const auto largest, builder.promoted(TileOp::maximum, v[0], v[2]));
  const auto lowest = number(-kInfinity);
  ASSAY_TRY(const auto is_lowest, builder.binary("==", largest, lowest));
  Values scales;
  for (const auto* side : {&v[0], &v[2]}) {
    ASSAY_TRY(const auto delta, builder.binary("-", *side, largest));
    ASSAY_TRY(const auto power, builder.compute(TileOp::exp, {delta}));
    ASSAY_TRY(scales.emplace_back(), builder.select(is_lowest, number(1.0), power));
  }
  ASSAY_TRY(const auto scaled, builder.binary("*", v[1], scales[0]));
  auto added = scales[1];
  if (v.size() > 3) {
    ASSAY_TRY(added, builder.binary("*", v[3], added));
  }
  ASSAY_TRY(const auto sum, builder.binary("+", scaled, added));
  return Values{largest, sum};
}

/// online_softmax_reduce_scalar_combine(max, sum, values, mask, dimension): a block more.
auto add_to_softmax(TileBuilder& builder, const Values& v) -> Result<Values> {
  const auto dimension = v[4].as_int().value_or(-1);
  if (dimension < 0) return bad_input("a reduction over an unknown dimension");
  const auto lowest = number(-kInfinity);
  ASSAY_TRY(const auto before, builder.tile(v[0]));
  ASSAY_TRY(const auto meant, builder.select(v[3], v[2], lowest));
  ASSAY_TRY(const auto counts, builder.select(v[3], number(1.0), number(0.0)));
  ASSAY_TRY(const auto block,
            builder.reduce(TileCombine::online_softmax,
                           {builder.cast(meant, builder.type(before).dtype), counts},
                           static_cast<std::size_t>(dimension)));
  return combine_softmax(builder, {v[0], v[1], block[0], block[1]});
}

auto next_power_of_2(TileBuilder&, const Values& v) -> Result<Values> {
  const auto count = v[0].as_int();
  if (!count || *count < 1) return bad_input("a block size that is not known");
  return Values{
      number(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(*count))))};
}

/// if_mask(mask, value): the value, which a load without a mask has no use for.
auto second(TileBuilder&, const Values& v) -> Result<Values> {
  return Values{v[1]};
}

auto erfcx(TileBuilder& builder, const Values& v) -> Result<Values> {
  ASSAY_TRY(const auto given, builder.tile(v[0]));
  ASSAY_TRY(const auto made, scaled_erfc(ops_of(builder), builder.cast(given, DType::float64)));
  return Values{builder.cast(made, builder.type(given).dtype)};
}

struct HelperRow {
  std::string_view name;
  std::size_t operands;  ///< further ones are options of no effect on values
  Result<Values> (*read)(TileBuilder&, const Values&);
};
constexpr std::array kHelpers = {
    HelperRow{"frexp", 1, frexp},
    HelperRow{"ldexp", 2, ldexp},
    HelperRow{"pow_integer", 2, pow_integer},
    HelperRow{"cyl_bessel_i0", 1, bessel_i<0>},
    HelperRow{"cyl_bessel_i1", 1, bessel_i<1>},
    HelperRow{"erfcx", 1, erfcx},
    HelperRow{"online_softmax_combine", 3, combine_softmax},
    HelperRow{"online_softmax_combine_with_sum", 4, combine_softmax},
    HelperRow{"online_softmax_reduce_scalar_combine", 5, add_to_softmax},
    HelperRow{"constexpr_next_power_of_2", 1, next_power_of_2},
    HelperRow{"if_mask", 2, second},
};

}  // namespace

auto TritonReader::helper(int node, std::string_view name, bool& is_known) -> Result<TritonValue> {
  const auto* const row = std::ranges::find(kHelpers, name, &HelperRow::name);
  is_known = row != kHelpers.end();
  if (!is_known) return TritonValue{};
  const auto args = cursor_.positional(node);
  if (args.size() < row->operands) return bad_input("operands that do not fit");
  Values values;
  for (std::size_t i = 0; i < row->operands; ++i) {
    ASSAY_TRY(values.emplace_back(), value(args[i]));
  }
  ASSAY_TRY(auto results, row->read(builder_, values));
  return results.size() == 1 ? results[0] : tuple(std::move(results));
}

}  // namespace assay
