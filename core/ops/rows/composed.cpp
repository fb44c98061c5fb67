// More that programs exported without decompositions call, as calls of other operators.
// Compositions: aten/src/ATen/native/LinearAlgebra.cpp, Loss.cpp, ReduceOps.cpp, SpectralOps.cpp,
// TensorCompare.cpp.
#include <algorithm>
#include <numbers>

#include "core/ops/rules.h"

namespace assay {
namespace {

auto number(double value) -> Datum {
  return {Expr::real(value)};
}
auto integer(std::int64_t value) -> Datum {
  return {Expr(value)};
}
auto all_args(Composer& c) -> DatumList {
  return {c.args().begin(), c.args().end()};
}
auto call2(Composer& c, std::string_view overload, const Datum& a, const Datum& b) -> Datum {
  return c.call(overload, {a, b});
}
auto add(Composer& c, const Datum& a, const Datum& b) -> Datum {
  return call2(c, "aten.add.Tensor", a, b);
}
auto sub(Composer& c, const Datum& a, const Datum& b) -> Datum {
  return call2(c, "aten.sub.Tensor", a, b);
}
auto mul(Composer& c, const Datum& a, const Datum& b) -> Datum {
  return call2(c, "aten.mul.Tensor", a, b);
}
auto rank_of(Composer& c, int arg) -> int {
  return c.meta(arg).rank();
}

// ---- products -----------------------------------------------------------------------------------

auto outer(Composer& c) -> Datum {
  if (rank_of(c, 0) != 1 || rank_of(c, 1) != 1) return c.fail("vectors are needed"), Datum{};
  return mul(c,
             c.call("aten.reshape.default", {c.arg(0), int_list({{c.meta(0).sizes[0], Expr(1)}})}),
             c.arg(1));
}
/// The dims of one operand: those that stay, in order, and those that are summed over.
struct Contracted {
  Ints stay, summed;
  Dims stay_sizes;
  Expr stay_count{1}, summed_count{1};
};
auto contracted(Composer& c, const TensorMeta& meta, const Ints& dims) -> Contracted {
  Contracted result;
  for (const auto dim : dims) {
    const auto at = wrap_index(dim, meta.rank());
    if (at < 0) return c.fail("a dimension is out of range"), result;
    result.summed.push_back(at);
    result.summed_count = result.summed_count * meta.sizes[static_cast<std::size_t>(at)];
  }
  for (std::int64_t d = 0; d < meta.rank(); ++d) {
    if (std::ranges::find(result.summed, d) != result.summed.end()) continue;
    result.stay.push_back(d);
    result.stay_sizes.push_back(meta.sizes[static_cast<std::size_t>(d)]);
    result.stay_count = result.stay_count * result.stay_sizes.back();
  }
  return result;
}
auto contract(Composer& c, const Ints& dims_a, const Ints& dims_b) -> Datum;
/// A summed dimension that has size 1 in one operand is summed over in the other first.
auto broadcast_contraction(Composer& c, const Ints& dims_a, const Ints& dims_b) -> Datum {
  Datum operands[] = {c.arg(0), c.arg(1)};
  for (std::size_t i = 0; i < dims_a.size(); ++i) {
    const Ints at{wrap_index(dims_a[i], rank_of(c, 0)), wrap_index(dims_b[i], rank_of(c, 1))};
    const auto size_of = [&](std::size_t k) {
      return c.meta(operands[k]).sizes[static_cast<std::size_t>(at[k])];
    };
    if (c.decide(eq(size_of(0), size_of(1)), "summed dimensions fit")) continue;
    const std::size_t wide = c.decide(eq(size_of(0), 1), "one of them is broadcast") ? 1 : 0;
    if (!c.decide(eq(size_of(1 - wide), 1), "one of them is broadcast"))
      return c.fail("summed dimensions fit"), Datum{};
    operands[wide] = c.call("aten.sum.dim_IntList",
                            {operands[wide], int_list(Ints{at[wide]}), Datum{Expr::boolean(true)},
                             Datum{c.meta(operands[wide]).dtype}});
  }
  if (c.error()) return {};
  return c.call("aten.tensordot.default",
                {operands[0], operands[1], int_list(dims_a), int_list(dims_b)});
}
auto contract(Composer& c, const Ints& dims_a, const Ints& dims_b) -> Datum {
  const auto a = contracted(c, c.meta(0), dims_a);
  const auto b = contracted(c, c.meta(1), dims_b);
  if (dims_a.size() != dims_b.size()) return c.fail("as many dimensions of each"), Datum{};
  if (c.error()) return {};
  for (std::size_t i = 0; i < dims_a.size(); ++i) {
    const Expr size_a = c.meta(0).sizes[static_cast<std::size_t>(a.summed[i])];
    const Expr size_b = c.meta(1).sizes[static_cast<std::size_t>(b.summed[i])];
    if (size_a != size_b && !c.decide(eq(size_a, size_b), "summed dimensions fit"))
      return broadcast_contraction(c, dims_a, dims_b);
  }
  auto order_a = a.stay;
  order_a.insert(order_a.end(), a.summed.begin(), a.summed.end());
  auto order_b = b.summed;
  order_b.insert(order_b.end(), b.stay.begin(), b.stay.end());
  const auto matrix = [&](int arg, const Ints& order, const Expr& rows, const Expr& cols) {
    return c.call(
        "aten.reshape.default",
        {c.call("aten.permute.default", {c.arg(arg), int_list(order)}), int_list({{rows, cols}})});
  };
  auto sizes = a.stay_sizes;
  sizes.insert(sizes.end(), b.stay_sizes.begin(), b.stay_sizes.end());
  const auto product =
      c.call("aten.mm.default", {matrix(0, order_a, a.stay_count, a.summed_count),
                                 matrix(1, order_b, b.summed_count, b.stay_count)});
  return c.call("aten.reshape.default", {product, int_list(sizes)});
}
auto tensordot(Composer& c) -> Datum {
  return contract(c, c.integers(2), c.integers(3));
}
auto inner(Composer& c) -> Datum {
  if (rank_of(c, 0) == 0 || rank_of(c, 1) == 0) return mul(c, c.arg(0), c.arg(1));
  return contract(c, {-1}, {-1});
}
auto multi_dot(Composer& c) -> Datum {
  const auto* factors = c.arg(0).list();
  if (!factors || factors->size() < 2) return c.fail("two matrices or more are needed"), Datum{};
  auto result = factors->front();
  for (std::size_t i = 1; i < factors->size(); ++i)
    result = call2(c, "aten.matmul.default", result, (*factors)[i]);
  return result;
}
/// self, n.
auto matrix_power(Composer& c) -> Datum {
  const auto self = c.meta(0);
  if (self.rank() < 2) return c.fail("matrices are needed"), Datum{};
  auto n = c.integer(1);
  if (n == 0) {
    const auto result = c.call("aten.new_zeros.default", {c.arg(0), int_list(self.sizes)});
    const auto diagonal =
        c.call("aten.diagonal.default", {result, integer(0), integer(-2), integer(-1)});
    call2(c, "aten.fill_.Scalar", diagonal, integer(1));
    return result;
  }
  auto square = n < 0 ? c.call("aten.linalg_inv.default", {c.arg(0)}) : c.arg(0);
  n = std::abs(n);
  if (n == 1 && c.integer(1) == 1) return c.call("aten.clone.default", {square});
  Datum result;
  for (; n > 0; n /= 2) {
    if (n % 2 == 1)
      result = result.is_none() ? square : call2(c, "aten.matmul.default", result, square);
    if (n > 1) square = call2(c, "aten.matmul.default", square, square);
  }
  return result;
}
auto vecdot(Composer& c) -> Datum {
  auto x = c.arg(0);
  if (is_complex(c.meta(0).dtype)) x = c.call("aten._conj_physical.default", {x});
  return c.call("aten.sum.dim_IntList", {mul(c, x, c.arg(1)), Datum{DatumList{c.arg(2)}}});
}
auto adjoint_view(Composer& c) -> Datum {
  if (rank_of(c, 0) < 2) return c.fail("two dimensions are needed"), Datum{};
  const auto swapped = c.call("aten.transpose.int", {c.arg(0), integer(-2), integer(-1)});
  return is_complex(c.meta(0).dtype) ? c.call("aten._conj.default", {swapped}) : swapped;
}
auto conj_physical(Composer& c) -> Datum {
  return is_complex(c.meta(0).dtype) ? c.call("aten._conj_physical.default", {c.arg(0)}) : c.arg(0);
}
auto diagflat(Composer& c) -> Datum {
  const auto flat = c.call("aten.reshape.default", {c.arg(0), int_list(Ints{-1})});
  return c.call("aten.diag_embed.default", {flat, c.arg(1), integer(0), integer(1)});
}
auto float_power(Composer& c) -> Datum {
  bool complex = false;
  for (int i = 0; i < 2; ++i)
    complex = complex || (c.is_tensor(i) ? is_complex(c.meta(i).dtype)
                                         : std::holds_alternative<Complex>(c.arg(i).value));
  const Datum dtype{complex ? DType::complex128 : DType::float64};
  const auto operand = [&](int i) {
    return c.is_tensor(i) ? c.call("aten.to.dtype", {c.arg(i), dtype}) : c.arg(i);
  };
  const auto target = !c.is_tensor(0)   ? "aten.pow.Scalar"
                      : !c.is_tensor(1) ? "aten.pow.Tensor_Scalar"
                                        : "aten.pow.Tensor_Tensor";
  return c.call(target, {operand(0), operand(1)});
}
auto isreal(Composer& c) -> Datum {
  if (is_complex(c.meta(0).dtype))
    return call2(c, "aten.eq.Scalar", c.call("aten.imag.default", {c.arg(0)}), integer(0));
  return c.call("aten.ones_like.default", {c.arg(0), Datum{DType::boolean}});
}
/// self, other, rtol, atol, equal_nan.
auto isclose(Composer& c) -> Datum {
  if (c.meta(0).dtype != c.meta(1).dtype) return c.fail("both have one dtype"), Datum{};
  auto close = call2(c, "aten.eq.Tensor", c.arg(0), c.arg(1));
  const auto either = [&](const Datum& a, const Datum& b) {
    return call2(c, "aten.bitwise_or.Tensor", a, b);
  };
  const auto both = [&](const Datum& a, const Datum& b) {
    return call2(c, "aten.bitwise_and.Tensor", a, b);
  };
  const bool inexact = is_floating(c.meta(0).dtype) || is_complex(c.meta(0).dtype);
  if (c.flag(4) && inexact)
    close = either(close, both(c.call("aten.isnan.default", {c.arg(0)}),
                               c.call("aten.isnan.default", {c.arg(1)})));
  if (c.real(2) == 0 && c.real(3) == 0) return close;
  const auto operand = [&](int i) {
    return inexact ? c.arg(i) : c.call("aten.to.dtype", {c.arg(i), Datum{kDefaultFloat}});
  };
  const auto allowed = add(
      c, c.call("aten.abs.default", {call2(c, "aten.mul.Scalar", operand(1), c.arg(2))}), c.arg(3));
  const auto actual = c.call("aten.abs.default", {sub(c, operand(0), operand(1))});
  return either(close, both(c.call("aten.isfinite.default", {actual}),
                            call2(c, "aten.le.Tensor", actual, allowed)));
}

// ---- losses -------------------------------------------------------------------------------------

/// reduction: 0 none, 1 mean, 2 sum.
auto reduced(Composer& c, const Datum& loss, int reduction) -> Datum {
  const auto kind = c.integer(reduction);
  return kind == 1   ? c.call("aten.mean.default", {loss})
         : kind == 2 ? c.call("aten.sum.default", {loss})
                     : loss;
}
auto positive_part(Composer& c, const Datum& x) -> Datum {
  return c.call("aten.clamp_min.default", {x, integer(0)});
}
/// x where the target is (not) the number, else 0.
auto where_target(Composer& c, std::string_view comparison, int target, std::int64_t number,
                  const Datum& x) -> Datum {
  const auto chosen = c.call(comparison, {c.arg(target), integer(number)});
  return c.call("aten.where.self", {chosen, x, c.call("aten.zeros_like.default", {x})});
}
/// self, target, margin, reduction.
auto hinge_embedding_loss(Composer& c) -> Datum {
  const auto below = positive_part(c, c.call("aten.rsub.Scalar", {c.arg(0), c.arg(2)}));
  return reduced(c,
                 add(c, where_target(c, "aten.ne.Scalar", 1, 1, below),
                     where_target(c, "aten.ne.Scalar", 1, -1, c.arg(0))),
                 3);
}
/// input1, input2, target, margin, reduction.
auto margin_ranking_loss(Composer& c) -> Datum {
  const auto signed_difference =
      mul(c, c.call("aten.neg.default", {c.arg(2)}), sub(c, c.arg(0), c.arg(1)));
  return reduced(c, positive_part(c, add(c, signed_difference, c.arg(3))), 4);
}
auto cosine_embedding_loss(Composer& c) -> Datum {
  constexpr double kTiny = 1e-12;
  const Datum last{DatumList{integer(rank_of(c, 2) == 0 ? 0 : 1)}};
  const auto dot = [&](int a, int b) {
    return c.call("aten.sum.dim_IntList", {mul(c, c.arg(a), c.arg(b)), last});
  };
  const auto size = [&](int a) { return add(c, dot(a, a), number(kTiny)); };
  const auto cosine = call2(c, "aten.div.Tensor", dot(0, 1),
                            c.call("aten.sqrt.default", {mul(c, size(0), size(1))}));
  const auto far = c.call("aten.rsub.Scalar", {cosine, integer(1)});
  const auto near = positive_part(c, sub(c, cosine, c.arg(3)));
  return reduced(c,
                 add(c, where_target(c, "aten.eq.Scalar", 2, 1, far),
                     where_target(c, "aten.eq.Scalar", 2, -1, near)),
                 4);
}
/// anchor, positive, negative, margin, p, eps, swap, reduction.
auto triplet_margin_loss(Composer& c) -> Datum {
  const auto distance = [&](int a, int b) {
    return c.call("aten.pairwise_distance.default", {c.arg(a), c.arg(b), c.arg(4), c.arg(5)});
  };
  auto negative = distance(0, 2);
  if (c.flag(6)) negative = call2(c, "aten.minimum.default", negative, distance(1, 2));
  return reduced(c, positive_part(c, sub(c, add(c, distance(0, 1), c.arg(3)), negative)), 7);
}
/// self, target, weight, pos_weight, reduction: every step has the operands' dtype
/// (aten/src/ATen/native/Loss.cpp).
auto binary_cross_entropy_with_logits(Composer& c) -> Datum {
  const auto scaled = [&](const Datum& by, const Datum& what) {
    return call2(c, "aten.mul_.Tensor", by, what);
  };
  auto log_sigmoid = c.call("aten.log_sigmoid.default", {c.arg(0)});
  if (c.has(3))
    log_sigmoid =
        scaled(log_sigmoid, add(c, mul(c, sub(c, c.arg(3), integer(1)), c.arg(1)), integer(1)));
  auto loss = scaled(c.call("aten.rsub.Scalar", {c.arg(1), integer(1)}), c.arg(0));
  loss = call2(c, "aten.sub_.Tensor", loss, log_sigmoid);
  if (c.has(2)) loss = scaled(loss, c.arg(2));
  return reduced(c, loss, 4);
}
/// input, target, log_input, full, eps, reduction.
auto poisson_nll_loss(Composer& c) -> Datum {
  const auto log = [&](const Datum& x) { return c.call("aten.log.default", {x}); };
  const auto& target = c.arg(1);
  auto loss = c.flag(2) ? sub(c, c.call("aten.exp.default", {c.arg(0)}), mul(c, target, c.arg(0)))
                        : sub(c, c.arg(0), mul(c, target, log(add(c, c.arg(0), c.arg(4)))));
  if (c.flag(3)) {
    const auto stirling =
        add(c, sub(c, mul(c, target, log(target)), target),
            mul(c, log(mul(c, target, number(2 * std::numbers::pi))), number(0.5)));
    const auto small = c.call("aten.le.Scalar", {target, integer(1)});
    loss = add(c, loss, c.call("aten.masked_fill.Scalar", {stirling, small, integer(0)}));
  }
  return reduced(c, loss, 5);
}
auto nanmean(Composer& c) -> Datum {
  const auto present =
      c.call("aten.logical_not.default", {c.call("aten.isnan.default", {c.arg(0)})});
  const auto count = c.call("aten.sum.dim_IntList", {present, c.arg(1), c.arg(2)});
  return call2(c, "aten.div.Tensor", c.call("aten.nansum.default", all_args(c)), count);
}
/// (1 + erf(x / sqrt(2))) / 2, of which little is left where x is small
/// (aten/src/ATen/native/UnaryOps.cpp).
auto ndtr(Composer& c) -> Datum {
  const auto scaled = call2(c, "aten.div.Scalar", c.arg(0), number(std::numbers::sqrt2));
  return mul(c, add(c, c.call("aten.erf.default", {scaled}), integer(1)), number(0.5));
}
auto msort(Composer& c) -> Datum {
  return c.item(c.call("aten.sort.default", {c.arg(0), integer(0), Datum{Expr::boolean(false)}}),
                0);
}

// ---- Fourier transforms of several dimensions ---------------------------------------------------

/// self, s, dim, norm: the dimensions that are transformed.
auto fft_dims(Composer& c) -> Ints {
  const auto rank = rank_of(c, 0);
  Ints dims;
  if (c.has(2)) {
    dims = c.integers(2);
  } else {
    const auto count = c.has(1) ? static_cast<std::int64_t>(c.exprs(1).size()) : rank;
    for (auto d = rank - count; d < rank; ++d) dims.push_back(d);
  }
  for (auto& dim : dims) {
    dim = wrap_index(dim, rank);
    if (dim < 0) c.fail("a dimension is out of range");
  }
  return dims;
}
auto scaling(Composer& c, bool forward) -> Datum {
  const auto norm = c.text(3);
  if (norm == "ortho") return integer(1);
  return integer((norm == "forward") == forward ? 2 : 0);
}
/// self cut or padded to the sizes given; -1 leaves a dimension as it is.
auto resized(Composer& c, Datum input, const Ints& dims, const Dims& sizes) -> Datum {
  if (sizes.size() > dims.size()) return c.fail("a size per dimension"), Datum{};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto& n = sizes[i];
    const auto meta = c.meta(input);
    const auto at = static_cast<std::size_t>(dims[i]);
    if (n.is_int(-1) || n == meta.sizes[at] ||
        c.decide(eq(n, meta.sizes[at]), "the transform takes all elements"))
      continue;
    if (c.decide(gt(meta.sizes[at], n), "the transform takes some elements")) {
      input = c.call("aten.slice.Tensor", {input, integer(dims[i]), integer(0), Datum{n}});
      continue;
    }
    Dims padding(2 * (meta.sizes.size() - at), Expr(0));
    padding.back() = n - meta.sizes[at];
    input = c.call("aten.constant_pad_nd.default", {input, int_list(padding)});
  }
  return input;
}
auto as_complex(Composer& c) -> Datum {
  const auto dtype = c.meta(0).dtype;
  if (is_complex(dtype)) return c.arg(0);
  const auto complex = complex_of(is_floating(dtype) ? dtype : kDefaultFloat);
  if (!complex) return c.fail("the dtype has no transform"), Datum{};
  return c.call("aten.to.dtype", {c.arg(0), Datum{*complex}});
}
template <bool kForward>
auto fftn(Composer& c) -> Datum {
  const auto dims = fft_dims(c);
  if (c.error()) return {};
  const auto input = resized(c, as_complex(c), dims, c.exprs(1));
  if (c.error()) return {};
  if (dims.empty()) return c.call("aten.clone.default", {input});
  return c.call("aten._fft_c2c.default",
                {input, int_list(dims), scaling(c, kForward), Datum{Expr::boolean(kForward)}});
}
auto rfftn(Composer& c) -> Datum {
  const auto dims = fft_dims(c);
  if (c.error() || is_complex(c.meta(0).dtype)) return c.fail("a real tensor is needed"), Datum{};
  if (dims.empty()) return c.fail("a dimension is needed"), Datum{};
  auto input = c.arg(0);
  if (!is_floating(c.meta(0).dtype)) input = c.call("aten.to.dtype", {input, Datum{kDefaultFloat}});
  input = resized(c, input, dims, c.exprs(1));
  if (c.error()) return {};
  return c.call("aten._fft_r2c.default",
                {input, int_list(dims), scaling(c, true), Datum{Expr::boolean(true)}});
}
/// The last dimension of a real result is named by its own length, of which half and one are read.
auto irfftn(Composer& c) -> Datum {
  const auto dims = fft_dims(c);
  if (c.error() || dims.empty()) return c.fail("a dimension is needed"), Datum{};
  auto sizes = c.exprs(1);
  if (sizes.size() > dims.size()) return c.fail("a size per dimension"), Datum{};
  sizes.resize(dims.size(), Expr(-1));
  const auto given = sizes.back();
  const auto last =
      given.is_int(-1) ? 2 * (c.meta(0).sizes[static_cast<std::size_t>(dims.back())] - 1) : given;
  sizes.back() = floor_div(last, 2) + 1;
  const auto input = resized(c, as_complex(c), dims, sizes);
  if (c.error()) return {};
  return c.call("aten._fft_c2r.default", {input, int_list(dims), scaling(c, false), Datum{last}});
}
template <bool kForward>
auto fftshift(Composer& c) -> Datum {
  const auto self = c.meta(0);
  auto dims = c.has(1) ? c.integers(1) : Ints{};
  if (!c.has(1))
    for (std::int64_t d = 0; d < self.rank(); ++d) dims.push_back(d);
  Dims shifts;
  for (const auto dim : dims) {
    const auto at = wrap_index(dim, self.rank());
    if (at < 0) return c.fail("a dimension is out of range"), Datum{};
    const auto& size = self.sizes[static_cast<std::size_t>(at)];
    shifts.push_back(floor_div(kForward ? size : size + 1, 2));
  }
  return c.call("aten.roll.default", {c.arg(0), int_list(shifts), int_list(dims)});
}

}  // namespace

// clang-format off
void add_composed_rows(OpTable& t) {
  const auto composed = [&](std::string_view schema, Decomposition decomposition) {
    t.add({.schema_text = schema, .decomposition = decomposition});
  };
  composed("aten::outer(Tensor self, Tensor vec2) -> Tensor", outer);
  composed("aten::ger(Tensor self, Tensor vec2) -> Tensor", outer);
  composed("aten::inner(Tensor self, Tensor other) -> Tensor", inner);
  composed("aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor", tensordot);
  composed("aten::linalg_multi_dot(Tensor[] tensors) -> Tensor", multi_dot);
  composed("aten::chain_matmul(Tensor[] matrices) -> Tensor", multi_dot);
  composed("aten::linalg_matrix_power(Tensor self, int n) -> Tensor", matrix_power);
  composed("aten::matrix_power(Tensor self, int n) -> Tensor", matrix_power);
  composed("aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor", vecdot);
  composed("aten::adjoint(Tensor(a) self) -> Tensor(a)", adjoint_view);
  composed("aten::mH(Tensor(a) self) -> Tensor(a)", adjoint_view);
  composed("aten::matrix_H(Tensor(a) self) -> Tensor(a)", adjoint_view);
  composed("aten::conj_physical(Tensor self) -> Tensor", conj_physical);
  composed("aten::diagflat(Tensor self, int offset=0) -> Tensor", diagflat);
  composed("aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", float_power);
  composed("aten::float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", float_power);
  composed("aten::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor", float_power);
  composed("aten::isreal(Tensor self) -> Tensor", isreal);
  composed("aten::isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor", isclose);
  composed("aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor", hinge_embedding_loss);
  composed("aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor", margin_ranking_loss);
  composed("aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor", cosine_embedding_loss);
  composed("aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., float eps=1e-06, bool swap=False, int reduction=1) -> Tensor", triplet_margin_loss);
  composed("aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=Mean) -> Tensor", binary_cross_entropy_with_logits);
  composed("aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor", poisson_nll_loss);
  composed("aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", nanmean);
  composed("aten::special_ndtr(Tensor self) -> Tensor", ndtr);
  composed("aten::msort(Tensor self) -> Tensor", msort);
  composed("aten::fft_fftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", fftn<true>);
  composed("aten::fft_ifftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", fftn<false>);
  composed("aten::fft_fft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", fftn<true>);
  composed("aten::fft_ifft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", fftn<false>);
  composed("aten::fft_rfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", rfftn);
  composed("aten::fft_irfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", irfftn);
  composed("aten::fft_irfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", irfftn);
  composed("aten::fft_rfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", rfftn);
  composed("aten::fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor", fftshift<true>);
  composed("aten::fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor", fftshift<false>);
}
// clang-format on

}  // namespace assay
