// Integrals and derivatives of samples, and statistics of several variables, as calls of other
// operators (aten/src/ATen/native/Integration.cpp, ReduceOps.cpp, Correlation.cpp).
#include <algorithm>

#include "core/ops/composing.h"

namespace assay {
namespace {

// ---- integrals ----------------------------------------------------------------------------------

/// The sizes of y without `dim`, all zeros: what nothing integrates to.
auto nothing_integrated(Composer& c, std::size_t dim) -> Datum {
  auto sizes = c.meta(0).sizes;
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(dim));
  return call2(c, "aten.new_zeros.default", c.arg(0), int_list(sizes));
}
/// Where the samples lie, seen at the rank of y: a vector along `dim`, or sizes of 1 in front.
auto positions(Composer& c, const Datum& x, std::size_t dim) -> Datum {
  const auto rank = c.meta(0).sizes.size();
  const auto sizes = c.meta(x).sizes;
  if (sizes.size() == 1) {
    if (!c.decide(eq(sizes[0], c.meta(0).sizes[dim]), "one position per sample"))
      return c.fail("one position per sample is needed"), Datum{};
    Dims seen(rank, Expr(1));
    seen[dim] = sizes[0];
    return call2(c, "aten.view.default", x, int_list(seen));
  }
  if (sizes.size() >= rank) return x;
  Dims seen(rank - sizes.size(), Expr(1));
  seen.insert(seen.end(), sizes.begin(), sizes.end());
  return call2(c, "aten.view.default", x, int_list(seen));
}
/// y, x or dx, dim.
template <bool kCumulative>
auto integrated(Composer& c) -> Datum {
  const auto y = c.meta(0);
  const auto at = wrapped_dim(c, c.integer(2), y.rank());
  if (c.error() || y.rank() == 0) return c.fail("a dimension is needed"), Datum{};
  if (y.dtype == DType::boolean) return c.fail("truth values cannot be integrated"), Datum{};
  const auto dim = static_cast<std::int64_t>(at);
  if (!kCumulative && c.decide(eq(y.sizes[at], 0), "there are samples"))
    return nothing_integrated(c, at);
  const auto both = [&] {
    return add(c, slice(c, c.arg(0), dim, 0, -1), slice(c, c.arg(0), dim, 1));
  };
  if (c.is_tensor(1)) {
    const auto x = positions(c, c.arg(1), at);
    if (c.error()) return {};
    const auto step = sub(c, slice(c, x, dim, 1), slice(c, x, dim, 0, -1));
    const auto areas = mul(c, both(), step);
    if (kCumulative) return div(c, call2(c, "aten.cumsum.default", areas, integer(dim)), number(2));
    return div(c, call2(c, "aten.sum.dim_IntList", areas, int_list(Ints{dim})), number(2));
  }
  if (kCumulative)
    return call2(c, "aten.cumsum.default", mul(c, both(), number(c.real(1) / 2)), integer(dim));
  const auto end = [&](std::int64_t index) {
    return c.call("aten.select.int", {c.arg(0), integer(dim), integer(index)});
  };
  const auto sum = call2(c, "aten.sum.dim_IntList", c.arg(0), int_list(Ints{dim}));
  return mul(c, sub(c, sum, mul(c, add(c, end(0), end(-1)), number(0.5))), number(c.real(1)));
}

// ---- derivatives --------------------------------------------------------------------------------

struct Derivative {
  std::int64_t dim = 0, edge_order = 1;
};
/// Differences of neighbours at both ends and between them, joined.
auto joined(Composer& c, const Derivative& d, const Datum& first, const Datum& middle,
            const Datum& last) -> Datum {
  return call2(c, "aten.cat.default", Datum{DatumList{first, middle, last}}, integer(d.dim));
}
auto part(Composer& c, const Derivative& d, std::int64_t begin, std::int64_t end) -> Datum {
  return end == 0 ? slice(c, c.arg(0), d.dim, begin) : slice(c, c.arg(0), d.dim, begin, end);
}
/// Samples that lie `spacing` apart.
auto even_derivative(Composer& c, const Derivative& d, double spacing) -> Datum {
  const auto over = [&](const Datum& x, double width) { return div(c, x, number(width)); };
  const auto middle = over(sub(c, part(c, d, 2, 0), part(c, d, 0, -2)), 2 * spacing);
  if (d.edge_order == 1)
    return joined(c, d, over(sub(c, part(c, d, 1, 2), part(c, d, 0, 1)), spacing), middle,
                  over(sub(c, part(c, d, -1, 0), part(c, d, -2, -1)), spacing));
  // The derivative of the parabola through three samples, at its ends.
  const auto at_end = [&](const Datum& end, const Datum& next, const Datum& third, double sign) {
    const auto near = add(c, mul(c, end, number(-1.5)), mul(c, next, number(2)));
    return over(sub(c, near, mul(c, third, number(0.5))), sign * spacing);
  };
  return joined(c, d, at_end(part(c, d, 0, 1), part(c, d, 1, 2), part(c, d, 2, 3), 1), middle,
                at_end(part(c, d, -1, 0), part(c, d, -2, -1), part(c, d, -3, -2), -1));
}
/// Samples at the positions of a vector.
auto uneven_derivative(Composer& c, const Derivative& d, const Datum& where) -> Datum {
  Dims seen(c.meta(0).sizes.size(), Expr(1));
  seen[static_cast<std::size_t>(d.dim)] = -1;
  const auto steps = reshaped(c, call1(c, "aten.diff.default", where), seen);
  if (c.error()) return {};
  const auto step = [&](std::int64_t begin, std::int64_t end) {
    return end == 0 ? slice(c, steps, d.dim, begin) : slice(c, steps, d.dim, begin, end);
  };
  const auto before = step(0, -1);
  const auto after = step(1, 0);
  const auto whole = add(c, before, after);
  const auto weighted = [&](const Datum& weight, std::int64_t begin, std::int64_t end) {
    return mul(c, weight, part(c, d, begin, end));
  };
  const auto left = div(c, call1(c, "aten.neg.default", after), mul(c, before, whole));
  const auto centre = div(c, sub(c, after, before), mul(c, before, after));
  const auto right = div(c, before, mul(c, after, whole));
  const auto middle =
      add(c, add(c, weighted(left, 0, -2), weighted(centre, 1, -1)), weighted(right, 2, 0));
  if (d.edge_order == 2) {
    // The derivative of the parabola through three samples; near and far are the steps from the
    // end.
    const auto at_end = [&](std::int64_t end, const Datum& near, const Datum& far) {
      const auto both = add(c, near, far);
      const std::int64_t inward = end == 0 ? 1 : -1;
      const auto sample = [&](std::int64_t i) {
        const auto index = end + i * inward;
        return part(c, d, index, index == -1 ? 0 : index + 1);
      };
      const auto own = div(c, add(c, both, near), mul(c, near, both));
      const auto second = div(c, both, mul(c, near, far));
      const auto third = div(c, near, mul(c, far, both));
      const auto sum = sub(c, sub(c, mul(c, second, sample(1)), mul(c, own, sample(0))),
                           mul(c, third, sample(2)));
      return end == 0 ? sum : call1(c, "aten.neg.default", sum);
    };
    return joined(c, d, at_end(0, step(0, 1), step(1, 2)), middle,
                  at_end(-1, step(-1, 0), step(-2, -1)));
  }
  return joined(c, d, div(c, sub(c, part(c, d, 1, 2), part(c, d, 0, 1)), step(0, 1)), middle,
                div(c, sub(c, part(c, d, -1, 0), part(c, d, -2, -1)), step(-1, 0)));
}
/// self, then spacing, dim, edge_order as far as the overload has them: one result per dimension.
auto gradient(Composer& c) -> Datum {
  const auto self = c.meta(0);
  const int spacing = param(c, "spacing");
  const int dims_arg = param(c, "dim");
  const auto order = c.integer(param(c, "edge_order"));
  if (order != 1 && order != 2) return c.fail("edges are of order 1 or 2"), Datum{};
  Ints dims;
  if (c.has(dims_arg))
    dims = c.arg(dims_arg).list() ? c.integers(dims_arg) : Ints{c.integer(dims_arg)};
  else
    for (std::int64_t d = 0; d < self.rank(); ++d) dims.push_back(d);
  const auto* each = spacing >= 0 ? c.arg(spacing).list() : nullptr;
  if (each != nullptr && each->size() != dims.size())
    return c.fail("one spacing per dimension"), Datum{};
  DatumList results;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto at = wrapped_dim(c, dims[i], self.rank());
    if (c.error() || self.rank() == 0) return c.fail("a dimension is needed"), Datum{};
    if (!c.decide(gt(self.sizes[at], order), "samples beyond the edges"))
      return c.fail("each dimension needs a sample more than the order of edges"), Datum{};
    const Derivative d{.dim = static_cast<std::int64_t>(at), .edge_order = order};
    const Datum gap = each != nullptr                             ? (*each)[i]
                      : spacing >= 0 && !c.arg(spacing).is_none() ? c.arg(spacing)
                                                                  : number(1);
    if (gap.is_tensor())
      results.push_back(uneven_derivative(c, d, gap));
    else if (const auto width = gap.scalar() ? gap.scalar()->as_number() : std::nullopt)
      results.push_back(even_derivative(c, d, *width));
    else
      return c.unsupported("a complex spacing"), Datum{};
  }
  return c.error() ? Datum{} : Datum{std::move(results)};
}

// ---- statistics ---------------------------------------------------------------------------------

/// self (one variable per row), correction, fweights, aweights.
auto covariance(Composer& c) -> Datum {
  const auto self = c.meta(0);
  if (self.rank() > 2) return c.fail("at most two dimensions are taken"), Datum{};
  const auto in =
      self.rank() < 2 ? call2(c, "aten.view.default", c.arg(0), int_list(Ints{1, -1})) : c.arg(0);
  if (c.error()) return {};
  const bool weighted = c.has(2) || c.has(3);
  Datum weights = c.has(2) ? c.arg(2) : c.arg(3);
  if (c.has(2) && c.has(3)) weights = mul(c, c.arg(2), c.arg(3));
  const auto scaled = [&](const Datum& x) { return weighted ? mul(c, x, weights) : x; };
  const auto count =
      weighted ? call1(c, "aten.sum.default", weights)
               : c.call("aten.scalar_tensor.default",
                        {Datum{c.meta(in).sizes[1]}, Datum{DType::int64}, {}, Datum{self.device}});
  const auto mean = div(c, call2(c, "aten.sum.dim_IntList", scaled(in), int_list(Ints{1})), count);
  auto freedom = sub(c, count, c.arg(1));
  if (c.has(3) && c.integer(1) != 0) {
    const auto squares = call1(c, "aten.sum.default", mul(c, weights, c.arg(3)));
    freedom = sub(c, count, div(c, mul(c, squares, c.arg(1)), count));
  }
  freedom = call2(c, "aten.clamp_min.default", freedom, integer(0));
  const auto centred = sub(c, in, unsqueezed(c, mean, 1));
  auto transposed = call1(c, "aten.t.default", scaled(centred));
  if (c.error()) return {};
  if (is_complex(c.meta(transposed).dtype)) transposed = call1(c, "aten._conj.default", transposed);
  const auto products = call2(c, "aten.mm.default", centred, transposed);
  return call1(c, "aten.squeeze.default", div(c, products, freedom));
}
auto correlation(Composer& c) -> Datum {
  const auto products = call1(c, "aten.cov.default", c.arg(0));
  if (c.error()) return {};
  const auto meta = c.meta(products);
  if (meta.rank() == 0) return div(c, products, products);
  auto variances = call1(c, "aten.diagonal_copy.default", products);
  if (is_complex(meta.dtype)) variances = call1(c, "aten.real.default", variances);
  const auto deviation = call1(c, "aten.sqrt.default", variances);
  const auto along = [&](const Ints& sizes) {
    return call2(c, "aten.view.default", deviation, int_list(sizes));
  };
  const auto result = div(c, div(c, products, along({-1, 1})), along({1, -1}));
  const auto within = [&](const Datum& x) {
    return c.call("aten.clamp.default", {x, integer(-1), integer(1)});
  };
  if (!is_complex(meta.dtype)) return within(result);
  return call2(c, "aten.complex.default", within(call1(c, "aten.real.default", result)),
               within(call1(c, "aten.imag.default", result)));
}

}  // namespace

// clang-format off
void add_calculus_rows(OpTable& t) {
  const auto composed = [&](std::string_view schema, Decomposition decomposition) {
    t.add({.schema_text = schema, .decomposition = decomposition});
  };
  composed("aten::trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", integrated<false>);
  composed("aten::trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", integrated<false>);
  composed("aten::trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", integrated<false>);
  composed("aten::trapz.dx(Tensor y, *, float dx=1., int dim=-1) -> Tensor", integrated<false>);
  composed("aten::cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", integrated<true>);
  composed("aten::cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", integrated<true>);
  composed("aten::gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1) -> Tensor[]", gradient);
  composed("aten::gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1) -> Tensor[]", gradient);
  composed("aten::gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]", gradient);
  composed("aten::gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, int edge_order=1) -> Tensor[]", gradient);
  composed("aten::gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, int edge_order=1) -> Tensor[]", gradient);
  composed("aten::gradient.tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, int edge_order=1) -> Tensor[]", gradient);
  composed("aten::gradient.tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1) -> Tensor[]", gradient);
  composed("aten::cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor", covariance);
  composed("aten::corrcoef(Tensor self) -> Tensor", correlation);
}
// clang-format on

}  // namespace assay
