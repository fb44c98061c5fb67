// Operators that are arithmetic around reductions (aten/src/ATen/native/ReduceOps.cpp, SoftMax.cpp,
// LinearAlgebra.cpp).
#include <array>
#include <cmath>
#include <limits>

#include "compiler/lower/expansions.h"
#include "core/ops/elements.h"

namespace assay::expansions {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// ---- what they share ----------------------------------------------------------------------------

/// Dimensions of an input, each once.
struct Over {
  Ints dims;
  Expr count = 1;  ///< elements that become one
  [[nodiscard]] auto list() const -> Datum { return int_list(dims); }
};
/// Those of argument `arg`, a number or a list: all where there are none. A single number has no
/// dimension to reduce.
auto over_dims(Composer& c, int arg, int input = 0) -> std::optional<Over> {
  const auto sizes = c.meta(input).sizes;
  if (sizes.empty()) return c.unsupported("a reduction of one number"), std::nullopt;
  const auto given = c.arg(arg).scalar() != nullptr ? Ints{c.integer(arg)} : c.integers(arg);
  std::vector<bool> is_reduced(sizes.size(), given.empty());
  for (const auto dim : given) {
    const auto at = wrap_index(dim, std::ssize(sizes));
    if (at < 0) return c.unsupported("a dimension that is not there"), std::nullopt;
    is_reduced[static_cast<std::size_t>(at)] = true;
  }
  Over over;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!is_reduced[i]) continue;
    over.dims.push_back(static_cast<std::int64_t>(i));
    over.count = over.count * sizes[i];
  }
  return over;
}
/// As over_dims(), for what nothing has no result of.
auto filled_dims(Composer& c, int arg) -> std::optional<Over> {
  auto over = over_dims(c, arg);
  if (over && over->count.is_int(0)) return c.unsupported("an extreme of nothing"), std::nullopt;
  return over;
}
auto sum_over(Composer& c, const Datum& x, const Over& over, bool keeps = true) -> Datum {
  return c.call("aten.sum.dim_IntList", {x, over.list(), truth(keeps)});
}
template <bool kMax>
auto extreme_over(Composer& c, const Datum& x, const Over& over, bool keeps = true) -> Datum {
  return c.call(kMax ? "aten.amax.default" : "aten.amin.default", {x, over.list(), truth(keeps)});
}
/// Of dimensions that were kept.
auto finished(Composer& c, const Datum& x, const Over& over, bool keeps) -> Datum {
  return keeps ? x : c.call("aten.squeeze.dims", {x, over.list()});
}
auto one(Composer& c, std::string_view function, const Datum& x) -> Datum {
  return c.call(fmt::format("aten.{}.default", function), {x});
}
auto are_real(Composer& c) -> bool {
  return is_floating(c.meta(0).dtype) || (c.unsupported("not of real floats"), false);
}

// ---- variances ----------------------------------------------------------------------------------

/// Degrees of freedom that are taken off; whole ones only.
auto correction_of(Composer& c, int arg) -> std::optional<std::int64_t> {
  const auto value = c.has(arg) ? c.real(arg) : 1;
  if (value != std::floor(value)) return c.unsupported("half a degree of freedom"), std::nullopt;
  return static_cast<std::int64_t>(value);
}
/// Arguments: input, dimensions, correction, keepdim. Mean first, then the squared distances from
/// it: two passes, as exact as Welford's.
template <bool kRoot, bool kWithMean>
auto spread(Composer& c) -> Datum {
  const auto over = over_dims(c, 1);
  const auto correction = correction_of(c, 2);
  if (!over || !correction || !are_real(c)) return {};
  const auto x = widened(c, c.arg(0));
  const auto mean = c.call("aten.mean.dim", {x, over->list(), truth(true)});
  const auto distance = sub(c, x, mean);
  // Less than no degrees of freedom count as none.
  const auto freedom = *correction == 0 ? over->count : max(over->count - *correction, Expr(0));
  auto result = divided(c, sum_over(c, mul(c, distance, distance), *over), {freedom});
  if (kRoot) result = one(c, "sqrt", result);
  const auto narrowed = [&](const Datum& wide) {
    return to(c, finished(c, wide, *over, c.flag(3)), c.meta(0).dtype);
  };
  if (!kWithMean) return narrowed(result);
  return {DatumList{narrowed(result), narrowed(mean)}};
}

// ---- exponentials -------------------------------------------------------------------------------

template <bool kLog>
auto softmax(Composer& c) -> Datum {
  const auto over = over_dims(c, 1);
  if (!over) return {};
  const auto x = widened(c, c.arg(0));
  const auto shifted = sub(c, x, extreme_over<true>(c, x, *over));
  const auto powers = one(c, "exp", shifted);
  const auto sum = sum_over(c, powers, *over);
  const auto result = kLog ? sub(c, shifted, one(c, "log", sum)) : divided(c, powers, sum);
  return c.flag(2) ? result : to(c, result, c.meta(0).dtype);
}
/// Arguments: gradient, output, dim, dtype of the input.
template <bool kLog>
auto softmax_backward(Composer& c) -> Datum {
  const auto over = over_dims(c, 2);
  if (!over) return {};
  const auto grad = widened(c, c.arg(0));
  const auto output = widened(c, c.arg(1));
  const auto product = mul(c, grad, output);
  const auto sum = sum_over(c, kLog ? grad : product, *over);
  const auto result = kLog ? sub(c, grad, mul(c, one(c, "exp", output), sum))
                           : sub(c, product, mul(c, output, sum));
  return to(c, result, c.dtype(3).value_or(c.meta(0).dtype));
}
/// Arguments: input, dimensions, keepdim. Infinite maxima are not taken off.
auto logsumexp(Composer& c) -> Datum {
  const auto over = filled_dims(c, 1);
  if (!over) return {};
  const auto dtype = c.meta(0).dtype;
  if (is_complex(dtype)) return c.unsupported("complex numbers"), Datum{};
  const auto x = is_floating(dtype) ? widened(c, c.arg(0)) : to(c, c.arg(0), DType::float32);
  const auto top = extreme_over<true>(c, x, *over);
  const auto is_infinite = c.call("aten.eq.Scalar", {one(c, "abs", top), real(kInf)});
  const auto shift = chosen(c, is_infinite, one(c, "zeros_like", top), top);
  const auto sum = sum_over(c, one(c, "exp", sub(c, x, shift)), *over);
  const auto result = finished(c, add(c, one(c, "log", sum), shift), *over, c.flag(2));
  return is_floating(dtype) ? to(c, result, dtype) : result;
}

// ---- norms --------------------------------------------------------------------------------------

/// Arguments: input, order, dimensions, keepdim, dtype.
auto vector_norm(Composer& c) -> Datum {
  const double order = c.real(1);
  const auto over = std::isinf(order) ? filled_dims(c, 2) : over_dims(c, 2);
  if (!over || !are_real(c)) return {};
  auto x = widened(c, c.arg(0));
  if (c.dtype(4) == DType::float64) x = to(c, x, DType::float64);
  const auto size = one(c, "abs", x);
  const auto power_of = [&](const Datum& base, double exponent) {
    return c.call("aten.pow.Tensor_Scalar", {base, real(exponent)});
  };
  Datum result;
  if (order == kInf)
    result = extreme_over<true>(c, size, *over);
  else if (order == -kInf)
    result = extreme_over<false>(c, size, *over);
  else if (order == 0)
    result = sum_over(c, to(c, c.call("aten.ne.Scalar", {x, whole(0)}), c.meta(x).dtype), *over);
  else if (order == 1)
    result = sum_over(c, size, *over);
  else if (order == 2)
    result = one(c, "sqrt", sum_over(c, mul(c, x, x), *over));
  else
    result = power_of(sum_over(c, power_of(size, order), *over), 1 / order);
  return to(c, finished(c, result, *over, c.flag(3)), c.dtype(4).value_or(c.meta(0).dtype));
}

// ---- extremes and counts ------------------------------------------------------------------------

/// Arguments: input, dim, keepdim. Values and where they are.
template <bool kMax>
auto extreme_pair(Composer& c) -> Datum {
  const auto over = filled_dims(c, 1);
  if (!over) return {};
  const auto indices =
      c.call(kMax ? "aten.argmax.default" : "aten.argmin.default", {c.arg(0), c.arg(1), c.arg(2)});
  return {DatumList{extreme_over<kMax>(c, c.arg(0), *over, c.flag(2)), indices}};
}
/// Arguments: input, dim, keepdim.
auto both_extremes(Composer& c) -> Datum {
  const auto over = filled_dims(c, 1);
  if (!over || is_complex(c.meta(0).dtype)) return c.unsupported("no order"), Datum{};
  return {DatumList{extreme_over<false>(c, c.arg(0), *over, c.flag(2)),
                    extreme_over<true>(c, c.arg(0), *over, c.flag(2))}};
}
/// Arguments: input, dimensions.
auto count_nonzero(Composer& c) -> Datum {
  const auto over = over_dims(c, 1);
  if (!over || is_complex(c.meta(0).dtype)) return c.unsupported("complex numbers"), Datum{};
  return sum_over(c, c.call("aten.ne.Scalar", {c.arg(0), whole(0)}), *over, false);
}
/// Arguments: input, dimensions, keepdim, dtype.
auto sum_of_numbers(Composer& c) -> Datum {
  const auto over = over_dims(c, 1);
  if (!over || is_complex(c.meta(0).dtype)) return c.unsupported("complex numbers"), Datum{};
  auto x = c.arg(0);
  if (is_floating(c.meta(0).dtype))
    x = chosen(c, c.call("aten.ne.Tensor", {x, x}), one(c, "zeros_like", x), x);
  return c.call("aten.sum.dim_IntList", {x, over->list(), c.arg(2), c.arg(3)});
}

constexpr std::array kRows = {
    ExpansionRow{"aten.var.correction", spread<false, false>},
    ExpansionRow{"aten.var_mean.correction", spread<false, true>},
    ExpansionRow{"aten.std.correction", spread<true, false>},
    ExpansionRow{"aten.std_mean.correction", spread<true, true>},
    ExpansionRow{"aten._softmax.default", softmax<false>},
    ExpansionRow{"aten._log_softmax.default", softmax<true>},
    ExpansionRow{"aten._softmax_backward_data.default", softmax_backward<false>},
    ExpansionRow{"aten._log_softmax_backward_data.default", softmax_backward<true>},
    ExpansionRow{"aten.logsumexp.default", logsumexp},
    ExpansionRow{"aten.linalg_vector_norm.default", vector_norm},
    ExpansionRow{"aten.max.dim", extreme_pair<true>},
    ExpansionRow{"aten.min.dim", extreme_pair<false>},
    ExpansionRow{"aten.aminmax.default", both_extremes},
    ExpansionRow{"aten.count_nonzero.default", count_nonzero},
    ExpansionRow{"aten.count_nonzero.dim_IntList", count_nonzero},
    ExpansionRow{"aten.nansum.default", sum_of_numbers},
};

}  // namespace

auto statistic_rows() -> std::span<const ExpansionRow> {
  return kRows;
}

}  // namespace assay::expansions
