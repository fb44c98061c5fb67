#include "core/expr/fold.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "core/base/check.h"
#include "core/expr/int128.h"
#include "core/expr/op_table.h"

namespace assay {
namespace {

constexpr std::string_view kOverflow = "integer overflow";
constexpr std::string_view kDivisionByZero = "division by zero";
constexpr std::string_view kInfinity = "arithmetic on an integer infinity";
constexpr std::string_view kNotFinite = "not a finite number within int64";

using Args = std::span<const Expr>;
using Fold = Folded (*)(Args);

auto fail(std::string_view problem) -> Folded {
  return {Expr::invalid(), problem};
}
auto done(Expr value) -> Folded {
  return {value, {}};
}
auto integer_or(std::optional<std::int64_t> value, std::string_view problem) -> Folded {
  return value ? done(*value) : fail(problem);
}

// What the caller has made sure of.
template <class T>
auto known(const std::optional<T>& value) -> T {
  ASSAY_CHECK(value, "not a constant of this type");
  return *value;
}
auto integer(const Expr& e) -> std::int64_t {
  return known(e.as_int());
}
auto number(const Expr& e) -> double {
  return known(e.as_number());
}
auto truth(const Expr& e) -> bool {
  return known(e.as_bool());
}
auto all_int(Args args) -> bool {
  return std::ranges::all_of(args, [](const Expr& e) { return e.as_int().has_value(); });
}
auto any_real(Args args) -> bool {
  return std::ranges::any_of(args, [](const Expr& e) { return e.as_real().has_value(); });
}
auto is_infinite(const Expr& e) -> bool {
  return e.op() == ExprOp::int_oo || e.op() == ExprOp::neg_int_oo;
}
auto any_infinite(Args args) -> bool {
  return std::ranges::any_of(args, is_infinite);
}
auto negated(const Expr& infinite) -> Expr {
  return infinite.op() == ExprOp::int_oo ? Expr::neg_infinity() : Expr::infinity();
}

auto fold_add(Args args) -> Folded {
  if (any_infinite(args)) {
    // Only one sign of infinity plus finite integers has a meaning.
    Expr infinite = *std::ranges::find_if(args, is_infinite);
    const bool mixed = std::ranges::any_of(
        args, [&](const Expr& e) { return e.as_real() || (is_infinite(e) && e != infinite); });
    return mixed ? fail(kInfinity) : done(infinite);
  }
  if (any_real(args)) {
    double sum = number(args[0]);
    for (const Expr& e : args.subspan(1)) sum += number(e);
    return done(Expr::real(sum));
  }
  Int128 sum = 0;  // the order of the operands must not decide about overflow
  for (const Expr& e : args) sum += integer(e);
  const auto narrow = static_cast<std::int64_t>(sum);
  return narrow == sum ? done(narrow) : fail(kOverflow);
}

auto fold_mul(Args args) -> Folded {
  if (any_infinite(args)) {
    if (args.size() != 2 || any_real(args)) return fail(kInfinity);
    const Expr& infinite = is_infinite(args[0]) ? args[0] : args[1];
    const Expr& factor = is_infinite(args[0]) ? args[1] : args[0];
    if (is_infinite(factor) || integer(factor) == 0) return fail(kInfinity);
    return done(integer(factor) > 0 ? infinite : negated(infinite));
  }
  if (any_real(args)) {
    double product = number(args[0]);
    for (const Expr& e : args.subspan(1)) product *= number(e);
    return done(Expr::real(product));
  }
  if (std::ranges::any_of(args, [](const Expr& e) { return e.is_int(0); })) return done(0);
  std::optional<std::int64_t> product = 1;
  for (const Expr& e : args) {
    if (product) product = checked_mul(*product, integer(e));
  }
  return integer_or(product, kOverflow);
}

auto fold_pow_real(Args args) -> Folded {
  const double base = number(args[0]);
  const double exponent = number(args[1]);
  if (base == 0 && exponent < 0) return fail(kDivisionByZero);
  if (base < 0 && std::isfinite(base) && std::isfinite(exponent) &&
      exponent != std::floor(exponent))
    return fail("a negative base with a fractional exponent");
  const double value = std::pow(base, exponent);
  if (std::isinf(value) && std::isfinite(base) && std::isfinite(exponent))
    return fail("floating point overflow");
  return done(Expr::real(value));
}

auto fold_pow(Args args) -> Folded {
  if (!all_int(args)) return fold_pow_real(args);
  if (integer(args[1]) < 0) return fail("a negative exponent of an integer power");
  return integer_or(checked_pow(integer(args[0]), integer(args[1])), kOverflow);
}

auto fold_floor_div(Args args) -> Folded {
  if (args[1].is_int(0)) return fail(kDivisionByZero);
  return integer_or(checked_floor_div(integer(args[0]), integer(args[1])), kOverflow);
}

auto fold_ceil_div(Args args) -> Folded {
  if (args[1].is_int(0)) return fail(kDivisionByZero);
  const auto quotient = checked_floor_div(integer(args[0]), integer(args[1]));
  if (!quotient) return fail(kOverflow);
  return done(*quotient + (checked_mod(integer(args[0]), integer(args[1])) == 0 ? 0 : 1));
}

auto fold_mod(Args args) -> Folded {
  return integer_or(checked_mod(integer(args[0]), integer(args[1])), kDivisionByZero);
}

auto fold_modular_indexing(Args args) -> Folded {
  const Folded quotient = fold_floor_div(args.first(2));
  if (!quotient.value.is_valid()) return quotient;
  return fold_mod(std::array{quotient.value, args[2]});
}

/// -1, 0, 1 for numbers without NaN; exact also between int64 and double.
auto order(const Expr& a, const Expr& b) -> int {
  const auto level = [](const Expr& e) {
    if (e.op() == ExprOp::int_oo) return 1;
    return e.op() == ExprOp::neg_int_oo ? -1 : 0;
  };
  if (const int by_level = level(a) - level(b); by_level != 0) return by_level;
  if (level(a) != 0) return 0;
  // long double has 64 bits of mantissa on every platform we build for, so int64 is exact in it.
  static_assert(std::numeric_limits<long double>::digits >= 64);
  const auto wide = [](const Expr& e) {
    const auto value = e.as_int();
    return value ? static_cast<long double>(*value) : static_cast<long double>(number(e));
  };
  const long double x = wide(a);
  const long double y = wide(b);
  return x < y ? -1 : (x > y ? 1 : 0);
}

auto has_nan(Args args) -> bool {
  return std::ranges::any_of(args,
                             [](const Expr& e) { return e.as_real() && std::isnan(*e.as_real()); });
}

auto pick_extreme(Args args, int sign) -> Folded {
  const bool real = any_real(args);
  if (has_nan(args)) return done(Expr::real(std::numeric_limits<double>::quiet_NaN()));
  Expr best = args[0];
  for (const Expr& e : args.subspan(1)) {
    if (order(e, best) * sign > 0) best = e;
  }
  return done(real && !is_infinite(best) ? Expr::real(number(best)) : best);
}
auto fold_min(Args args) -> Folded {
  return pick_extreme(args, -1);
}
auto fold_max(Args args) -> Folded {
  return pick_extreme(args, 1);
}

auto fold_where(Args args) -> Folded {
  const Expr& chosen = truth(args[0]) ? args[1] : args[2];
  return done(any_real(args.subspan(1)) && chosen.as_int() ? Expr::real(number(chosen)) : chosen);
}

auto fold_int_true_div(Args args) -> Folded {
  if (number(args[1]) == 0) return fail(kDivisionByZero);
  if (!all_int(args)) return done(Expr::real(number(args[0]) / number(args[1])));
  return done(Expr::real(true_quotient(integer(args[0]), integer(args[1]))));
}

auto fold_float_true_div(Args args) -> Folded {
  if (number(args[1]) == 0) return fail(kDivisionByZero);
  return done(Expr::real(number(args[0]) / number(args[1])));
}

template <double (*kRound)(double)>
auto fold_to_int(Args args) -> Folded {
  if (args[0].as_int()) return done(args[0]);
  return integer_or(int_from_real(kRound(number(args[0]))), kNotFinite);
}
auto ceil_of(double x) -> double {
  return std::ceil(x);
}
auto floor_of(double x) -> double {
  return std::floor(x);
}
auto trunc_of(double x) -> double {
  return std::trunc(x);
}
auto half_even_of(double x) -> double {
  const double down = std::floor(x);
  const double rest = x - down;
  if (rest != 0.5) return rest < 0.5 ? down : down + 1;
  return std::fmod(down, 2.0) == 0 ? down : down + 1;
}

auto fold_trunc_to_float(Args args) -> Folded {
  return done(Expr::real(std::trunc(number(args[0]))));
}

auto fold_round_decimal(Args args) -> Folded {
  // Python rounds the exact binary value half to even at the decimal place, as printf does.
  const auto digits = args[1].as_int();
  const double x = number(args[0]);
  if (!digits) return fail("a number of digits that is not an integer");
  if (args[0].as_int() && *digits >= 0) return done(Expr::real(x));
  if (*digits == 0) return done(Expr::real(half_even_of(x)));
  if (!std::isfinite(x)) return done(Expr::real(x));
  if (*digits < 0 || *digits > 15) return fail("rounding to this many digits");
  const std::string text = fmt::format("{:.{}f}", x, static_cast<int>(*digits));
  return done(Expr::real(std::strtod(text.c_str(), nullptr)));
}

auto fold_to_float(Args args) -> Folded {
  return done(Expr::real(number(args[0])));
}

auto fold_abs(Args args) -> Folded {
  if (args[0].as_real()) return done(Expr::real(std::fabs(number(args[0]))));
  return integer(args[0]) < 0 ? integer_or(checked_mul(integer(args[0]), -1), kOverflow)
                              : done(args[0]);
}

auto fold_identity(Args args) -> Folded {
  return done(args[0]);
}
auto fold_bit_and(Args args) -> Folded {
  return done(integer(args[0]) & integer(args[1]));
}
auto fold_bit_or(Args args) -> Folded {
  return done(integer(args[0]) | integer(args[1]));
}
auto fold_bit_xor(Args args) -> Folded {
  return done(integer(args[0]) ^ integer(args[1]));
}

auto fold_lshift(Args args) -> Folded {
  const std::int64_t shift = integer(args[1]);
  if (shift < 0) return fail("a negative shift count");
  if (integer(args[0]) == 0) return done(0);
  if (shift > 63) return fail(kOverflow);
  const Int128 value = static_cast<Int128>(integer(args[0])) * (static_cast<Int128>(1) << shift);
  const auto narrow = static_cast<std::int64_t>(value);
  return narrow == value ? done(narrow) : fail(kOverflow);
}

auto fold_rshift(Args args) -> Folded {
  const std::int64_t shift = integer(args[1]);
  if (shift < 0) return fail("a negative shift count");
  return done(integer(args[0]) >> std::min<std::int64_t>(shift, 63));
}

template <bool (*kHolds)(int)>
auto fold_compare(Args args) -> Folded {
  if (args[0].as_bool()) {
    return done(
        Expr::boolean(kHolds(static_cast<int>(truth(args[0])) - static_cast<int>(truth(args[1])))));
  }
  if (has_nan(args)) return done(Expr::boolean(kHolds(2)));
  return done(Expr::boolean(kHolds(order(args[0], args[1]))));
}
// An order of 2 stands for "not comparable" (NaN): only ne holds.
auto is_eq(int order) -> bool {
  return order == 0;
}
auto is_ne(int order) -> bool {
  return order != 0;
}
auto is_lt(int order) -> bool {
  return order < 0;
}
auto is_le(int order) -> bool {
  return order <= 0;
}
auto is_gt(int order) -> bool {
  return order > 0 && order != 2;
}
auto is_ge(int order) -> bool {
  return order >= 0 && order != 2;
}

auto fold_and(Args args) -> Folded {
  return done(Expr::boolean(std::ranges::all_of(args, truth)));
}
auto fold_or(Args args) -> Folded {
  return done(Expr::boolean(std::ranges::any_of(args, truth)));
}
auto fold_not(Args args) -> Folded {
  return done(Expr::boolean(!truth(args[0])));
}
auto fold_opaque(Args) -> Folded {
  return fail("a function we cannot evaluate");
}

struct FoldRow {
  ExprOp op;
  Fold fold;
  bool takes_infinity;
};

using enum ExprOp;
constexpr auto kFolds = std::to_array<FoldRow>({
    {add, fold_add, true},
    {mul, fold_mul, true},
    {pow, fold_pow, false},
    {floor_div, fold_floor_div, false},
    {clean_div, fold_floor_div, false},
    {ceil_div, fold_ceil_div, false},
    {mod, fold_mod, false},
    {python_mod, fold_mod, false},
    {modular_indexing, fold_modular_indexing, false},
    {min, fold_min, true},
    {max, fold_max, true},
    {where, fold_where, true},
    {int_true_div, fold_int_true_div, false},
    {float_true_div, fold_float_true_div, false},
    {pow_by_natural, fold_pow, false},
    {float_pow, fold_pow_real, false},
    {ceil_to_int, fold_to_int<ceil_of>, false},
    {floor_to_int, fold_to_int<floor_of>, false},
    {trunc_to_int, fold_to_int<trunc_of>, false},
    {trunc_to_float, fold_trunc_to_float, false},
    {round_to_int, fold_to_int<half_even_of>, false},
    {round_decimal, fold_round_decimal, false},
    {to_float, fold_to_float, false},
    {abs_, fold_abs, false},
    {identity, fold_identity, true},
    {bit_and, fold_bit_and, false},
    {bit_or, fold_bit_or, false},
    {bit_xor, fold_bit_xor, false},
    {lshift, fold_lshift, false},
    {rshift, fold_rshift, false},
    {eq, fold_compare<is_eq>, true},
    {ne, fold_compare<is_ne>, true},
    {lt, fold_compare<is_lt>, true},
    {le, fold_compare<is_le>, true},
    {gt, fold_compare<is_gt>, true},
    {ge, fold_compare<is_ge>, true},
    {logic_and, fold_and, false},
    {logic_or, fold_or, false},
    {logic_not, fold_not, false},
    {opaque, fold_opaque, true},
});
constexpr auto kFirstInterior = static_cast<std::size_t>(add);
static_assert(kFolds.size() + kFirstInterior == static_cast<std::size_t>(opaque) + 1);
static_assert(std::ranges::is_sorted(kFolds, {}, &FoldRow::op));

}  // namespace

auto fold(ExprOp op, Args args) -> Folded {
  if (!result_type(op, args, {})) return fail("operands of the wrong type");
  const FoldRow& row = kFolds[static_cast<std::size_t>(op) - kFirstInterior];
  if (!row.takes_infinity && any_infinite(args)) return fail(kInfinity);
  return row.fold(args);
}

auto checked_add(std::int64_t a, std::int64_t b) -> std::optional<std::int64_t> {
  std::int64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}

auto checked_mul(std::int64_t a, std::int64_t b) -> std::optional<std::int64_t> {
  std::int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}

auto checked_pow(std::int64_t base, std::int64_t exponent) -> std::optional<std::int64_t> {
  if (exponent < 0) return std::nullopt;
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  std::optional<std::int64_t> result = 1;  // |base| >= 2: at most 63 steps before the overflow
  for (; result && exponent > 0; --exponent) result = checked_mul(*result, base);
  return result;
}

auto checked_floor_div(std::int64_t a, std::int64_t b) -> std::optional<std::int64_t> {
  if (b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min())) return std::nullopt;
  const std::int64_t quotient = a / b;
  return quotient - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

auto checked_mod(std::int64_t a, std::int64_t b) -> std::optional<std::int64_t> {
  if (b == 0) return std::nullopt;
  if (b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

auto true_quotient(std::int64_t a, std::int64_t b) -> double {
  if (a == 0) return 0.0;
  const auto magnitude = [](std::int64_t x) {
    return x < 0 ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
  };
  // At least 64 quotient bits plus a sticky bit: one correct rounding when narrowed to double.
  const std::uint64_t n = magnitude(a);
  const std::uint64_t d = magnitude(b);
  const int shift = 64 + std::countl_zero(n);
  const Uint128 scaled = static_cast<Uint128>(n) << shift;
  Uint128 quotient = scaled / d;
  if (scaled % d != 0) quotient |= 1;
  const double value = std::ldexp(static_cast<double>(quotient), -shift);
  return (a < 0) == (b < 0) ? value : -value;
}

auto int_from_real(double value) -> std::optional<std::int64_t> {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (!(value >= -kLimit && value < kLimit)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

}  // namespace assay
