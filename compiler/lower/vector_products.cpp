// Products with vectors, which are too small for a library: multiplications and a sum
// (aten/src/ATen/native/Blas.cpp, LinearAlgebra.cpp). Sums of narrow floats are in float32.
#include <array>

#include "compiler/lower/expansions.h"
#include "core/tensor/tensor.h"

namespace assay::expansions {
namespace {

auto is_number(DType dtype) -> bool {
  return is_floating(dtype) || is_integer(dtype);
}
/// Elements of both, multiplied and summed over the last dimension of the first.
auto product_of(Composer& c, int left, int right) -> Datum {
  if (!is_number(c.meta(left).dtype)) return c.unsupported("numbers of this kind"), Datum{};
  const Ints last{c.meta(left).rank() - 1};
  const auto products = mul(c, widened(c, c.arg(left)), widened(c, c.arg(right)));
  return c.call("aten.sum.dim_IntList", {products, int_list(last)});
}
auto product(Composer& c) -> Datum {
  const auto sum = product_of(c, 0, 1);
  return c.error() ? Datum{} : to(c, sum, c.meta(0).dtype);
}

/// Real factors of a sum, `beta` of what there was and `alpha` of the product.
auto factor(Composer& c, const Datum& x, int arg) -> Datum {
  return c.expr(arg).as_number() == 1.0 ? x : mul(c, x, c.arg(arg));
}
auto are_factors(Composer& c, int beta, int alpha) -> bool {
  return (c.arg(beta).scalar() && c.arg(alpha).scalar()) ||
         (c.unsupported("complex factors"), false);
}
/// Arguments: self, matrix, vector, beta, alpha. With a beta of 0 self does not matter.
auto added_product(Composer& c) -> Datum {
  if (!are_factors(c, 3, 4)) return {};
  const auto sum = product_of(c, 1, 2);
  if (c.error()) return {};
  const auto scaled = factor(c, sum, 4);
  const bool is_alone = c.expr(3).as_number() == 0.0;
  const auto result = is_alone ? scaled : add(c, factor(c, widened(c, c.arg(0)), 3), scaled);
  return to(c, result, c.meta(1).dtype);
}

/// Arguments: self, batches of matrices, beta, alpha. Libraries add what has a number for each of
/// the result's.
auto broadcast_sum_of_products(Composer& c) -> Datum {
  const auto self = c.meta(0), left = c.meta(1), right = c.meta(2);
  if (left.rank() != 3 || right.rank() != 3 || !is_floating(self.dtype) || !are_factors(c, 3, 4))
    return c.unsupported("products of this kind"), Datum{};
  const Dims sizes{left.sizes[0], left.sizes[1], right.sizes[2]};
  if (self.sizes == sizes || c.expr(3).as_number() == 0.0)
    return c.unsupported("as it should be"), Datum{};
  const auto products = c.call("aten.bmm.default", {c.arg(1), c.arg(2)});
  const auto scaled = factor(c, widened(c, products), 4);
  return to(c, add(c, factor(c, widened(c, c.arg(0)), 3), scaled), self.dtype);
}

/// Arguments: self, column, row, beta, alpha. Every operation rounds, and the factors do.
auto added_outer_product(Composer& c) -> Datum {
  const auto dtype = c.meta(0).dtype;
  if (!are_factors(c, 3, 4)) return {};
  if (!is_number(dtype) || c.meta(1).dtype != dtype || c.meta(2).dtype != dtype)
    return c.unsupported("operands of several dtypes"), Datum{};
  const auto scaled = [&](const Datum& x, int arg) {
    if (!is_floating(dtype)) return factor(c, x, arg);
    const double value = round_to(dtype, c.real(arg));
    return value == 1 ? x : mul(c, x, real(value));
  };
  const auto column = c.call("aten.unsqueeze.default", {scaled(c.arg(1), 4), whole(1)});
  const auto outer = mul(c, column, c.arg(2));
  return c.expr(3).as_number() == 0.0 ? outer : add(c, scaled(c.arg(0), 3), outer);
}

/// Arguments: self, batches of matrices, beta, alpha. The sum over a batch is one product of
/// matrices that stand side by side.
auto added_products(Composer& c) -> Datum {
  const auto left = c.meta(1).sizes, right = c.meta(2).sizes;
  if (left.size() != 3 || right.size() != 3) return c.unsupported("other ranks"), Datum{};
  const auto inner = left[0] * left[2];
  const auto side_by_side = c.call("aten.permute.default", {c.arg(1), int_list(Ints{1, 0, 2})});
  return c.call("aten.addmm.default",
                {c.arg(0), reshaped(c, side_by_side, {left[1], inner}),
                 reshaped(c, c.arg(2), {inner, right[2]}), c.arg(3), c.arg(4)});
}

constexpr std::array kRows = {
    ExpansionRow{"aten.baddbmm.default", broadcast_sum_of_products},
    ExpansionRow{"aten.mv.default", product},
    ExpansionRow{"aten.dot.default", product},
    ExpansionRow{"aten.vdot.default", product},
    ExpansionRow{"aten.addmv.default", added_product},
    ExpansionRow{"aten.addr.default", added_outer_product},
    ExpansionRow{"aten.addbmm.default", added_products},
};

}  // namespace

auto vector_product_rows() -> std::span<const ExpansionRow> {
  return kRows;
}

}  // namespace assay::expansions
