// softmax, log_softmax and their gradients. aten/src/ATen/native/SoftMax.cpp: results are
// contiguous whatever the input's layout.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/ops/reduce.h"
#include "core/ops/rules.h"

namespace assay {
namespace {

auto softmax_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  c.dim_arg(1, self.rank());
  if (!c.require(is_floating(self.dtype), "softmax needs a floating dtype")) return {};
  const bool widens = c.flag(2) && self.dtype == DType::float16;
  return c.fresh(widens ? DType::float32 : self.dtype, self.sizes);
}

/// out = f(row) along the dim argument, in double.
template <class F>
void map_rows(KernelCall& k, const Tensor& in, int dim, const F& f) {
  const auto chosen = mark_dim(dim, in.rank());
  auto rows = load_rows<double>(in, chosen);
  if (rows.inner > 0)
    for (std::size_t i = 0; i < rows.outer; ++i) f(rows.row(i));
  store_rows<double>(k.out(), chosen, rows);
}

auto largest_of(std::span<const double> row) -> double {
  double largest = -std::numeric_limits<double>::infinity();
  for (const double x : row) largest = std::isnan(x) || x > largest ? x : largest;
  return largest;
}

template <bool kLog>
void softmax_kernel(KernelCall& k) {
  map_rows(k, k.in(0), dim_of(k, 1, k.in(0).rank()), [](std::span<double> row) {
    const double largest = largest_of(row);
    double total = 0;
    for (const double x : row) total += std::exp(x - largest);
    for (double& x : row) x = kLog ? x - largest - std::log(total) : std::exp(x - largest) / total;
  });
}

/// grad_output, output, dim, input_dtype.
auto softmax_backward_rule(MetaCall& c) -> Datum {
  c.dim_arg(2, c.meta(0).rank());
  if (!require_same_sizes(c, c.meta(1).sizes, c.meta(0).sizes, "output has the gradient's shape"))
    return {};
  return c.fresh(c.dtype(3).value_or(c.meta(0).dtype), c.meta(0).sizes);
}
template <bool kLog>
void softmax_backward_kernel(KernelCall& k) {
  const auto chosen = mark_dim(dim_of(k, 2, k.in(0).rank()), k.in(0).rank());
  auto grads = load_rows<double>(k.in(0), chosen);
  auto outputs = load_rows<double>(k.in(1), chosen);
  for (std::size_t i = 0; i < grads.outer && grads.inner > 0; ++i) {
    const auto grad = grads.row(i);
    const auto output = outputs.row(i);
    double total = 0;
    for (std::size_t j = 0; j < grad.size(); ++j) total += kLog ? grad[j] : grad[j] * output[j];
    for (std::size_t j = 0; j < grad.size(); ++j)
      grad[j] = kLog ? grad[j] - std::exp(output[j]) * total : (grad[j] - total) * output[j];
  }
  store_rows<double>(k.out(), chosen, grads);
}

/// softmax.int and log_softmax.int convert first where a dtype is given.
template <bool kLog>
auto softmax_int(Composer& c) -> Datum {
  Datum self = c.arg(0);
  const auto dtype = c.dtype(2);
  if (dtype && *dtype != c.meta(0).dtype)
    self = c.call("prims.convert_element_type.default", {self, Datum{*dtype}});
  return c.call(kLog ? "aten._log_softmax.default" : "aten._softmax.default",
                {self, c.arg(1), Datum{Expr::boolean(false)}});
}

/// Rows that are -inf throughout become zeros instead of NaN.
auto safe_softmax(Composer& c) -> Datum {
  const auto out = c.call("aten.softmax.int", {c.arg(0), c.arg(1), c.arg(2)});
  const Datum bottom{Expr::real(-std::numeric_limits<double>::infinity())};
  const auto masked = c.call("aten.eq.Scalar", {c.arg(0), bottom});
  const auto rows = c.call("aten.all.dim", {masked, c.arg(1), Datum{Expr::boolean(true)}});
  if (c.error()) return {};
  const auto zero =
      c.call("aten.scalar_tensor.default", {Datum{Expr(0)}, Datum{c.meta(out).dtype}});
  return c.call("aten.where.self", {rows, zero, out});
}

}  // namespace

// clang-format off
void add_softmax_rows(OpTable& t) {
  t.add({.schema_text = "aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", .rule = softmax_rule, .kernel = softmax_kernel<false>});
  t.add({.schema_text = "aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", .rule = softmax_rule, .kernel = softmax_kernel<true>});
  t.add({.schema_text = "aten::_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor", .rule = softmax_backward_rule, .kernel = softmax_backward_kernel<false>});
  t.add({.schema_text = "aten::_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor", .rule = softmax_backward_rule, .kernel = softmax_backward_kernel<true>});
  t.add({.schema_text = "aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", .decomposition = softmax_int<false>});
  t.add({.schema_text = "aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", .decomposition = softmax_int<true>});
  t.add({.schema_text = "aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", .decomposition = safe_softmax});
}
// clang-format on

}  // namespace assay
