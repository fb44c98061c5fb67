// Gradients of activations, and the gated or parametric activations themselves.
// Formulas: aten/src/ATen/native/cpu/Activation.cpp, BinaryOpsKernel.cpp, Activation.cpp.
#include <cmath>
#include <limits>
#include <numbers>

#include "core/ops/pointwise.h"
#include "core/ops/reduce.h"
#include "core/ops/rules.h"

namespace assay {
namespace {

auto sigmoid_of(double x) -> double {
  return 1 / (1 + std::exp(-x));
}

/// Number or flag parameters by name, for functors that are built from the call.
auto number_param(KernelCall& k, std::string_view name) -> double {
  const int i = param(k, name);
  return i >= 0 && k.has(i) ? k.real(i) : 0;
}

// ---- two tensors --------------------------------------------------------------------------------

struct SigmoidBackward {
  auto operator()(Real auto grad, Real auto y) const -> double { return grad * (1 - y) * y; }
  auto operator()(Cplx auto grad, Cplx auto y) const -> Complex {
    return grad * std::conj((1.0 - y) * y);
  }
};
struct TanhBackward {
  auto operator()(Real auto grad, Real auto y) const -> double { return grad * (1 - y * y); }
  auto operator()(Cplx auto grad, Cplx auto y) const -> Complex {
    return grad * std::conj(1.0 - y * y);
  }
};
struct SiluBackward {
  auto operator()(Real auto grad, Real auto x) const -> double {
    const double s = sigmoid_of(x);
    return grad * s * (1 + x * (1 - s));
  }
};
struct MishBackward {
  auto operator()(Real auto grad, Real auto x) const -> double {
    const double s = sigmoid_of(x);
    const double t = std::tanh(std::log1p(std::exp(x)));
    return grad * (t + x * s * (1 - t * t));
  }
};
struct HardsigmoidBackward {
  auto operator()(Real auto grad, Real auto x) const -> double {
    return x > -3 && x < 3 ? grad / 6 : 0;
  }
};
struct HardswishBackward {
  auto operator()(Real auto grad, Real auto x) const -> double {
    if (x <= -3) return 0;
    return x < 3 ? grad * (x / 3 + 0.5) : grad;
  }
};
class GeluBackward {
 public:
  explicit GeluBackward(KernelCall& k) : tanh_(k.text(param(k, "approximate")) == "tanh") {}
  auto operator()(Real auto grad, Real auto x) const -> double {
    using std::numbers::inv_sqrtpi;
    using std::numbers::sqrt2;
    if (!tanh_) {
      const double cdf = 0.5 * (1 + std::erf(x / sqrt2));
      return grad * (cdf + x * std::exp(-x * x / 2) * inv_sqrtpi / sqrt2);
    }
    const double scale = sqrt2 * inv_sqrtpi;
    const double t = std::tanh(scale * (x + 0.044715 * x * x * x));
    const double slope = scale * (1 + 3 * 0.044715 * x * x);
    return grad * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope);
  }

 private:
  bool tanh_;
};
class LogitBackward {
 public:
  explicit LogitBackward(KernelCall& k) : clamps_(k.has(2)), eps_(number_param(k, "eps")) {}
  auto operator()(Real auto grad, Real auto x) const -> double {
    if (clamps_) return x < eps_ || x > 1 - eps_ ? 0 : grad / (x * (1 - x));
    if (x < 0 || x > 1) return std::numeric_limits<double>::quiet_NaN();
    if (x == 0 || x == 1) return grad * std::numeric_limits<double>::infinity();
    return grad / (x * (1 - x));
  }

 private:
  bool clamps_;
  double eps_;
};
class DropoutBackward {
 public:
  explicit DropoutBackward(KernelCall& k) : scale_(number_param(k, "scale")) {}
  auto operator()(Real auto grad, Real auto mask) const -> double { return grad * mask * scale_; }
  auto operator()(Cplx auto grad, Cplx auto mask) const -> Complex { return grad * mask * scale_; }

 private:
  double scale_;
};

// ---- two tensors and numbers
// ----------------------------------------------------------------------

/// Up to four number or flag parameters by name.
class Parameters {
 public:
  Parameters(KernelCall& k, std::initializer_list<std::string_view> names) {
    std::size_t at = 0;
    for (const auto parameter : names) p_[at++] = number_param(k, parameter);
  }

 protected:
  std::array<double, 4> p_{};
};

struct LeakyReluBackward : Parameters {
  explicit LeakyReluBackward(KernelCall& k) : Parameters(k, {"negative_slope"}) {}
  auto operator()(Real auto grad, Real auto x) const -> double {
    return x > 0 ? grad : grad * p_[0];
  }
};
struct ThresholdBackward : Parameters {
  explicit ThresholdBackward(KernelCall& k) : Parameters(k, {"threshold"}) {}
  template <class T>
    requires(!Cplx<T>)
  auto operator()(T grad, T x) const -> T {
    return static_cast<double>(x) <= p_[0] ? T(0) : grad;
  }
};
/// hardshrink and softshrink pass the gradient outside of [-lambda, lambda].
struct ShrinkBackward : Parameters {
  explicit ShrinkBackward(KernelCall& k) : Parameters(k, {"lambd"}) {}
  auto operator()(Real auto grad, Real auto x) const -> double {
    return x >= -p_[0] && x <= p_[0] ? 0 : grad;
  }
};
struct HardtanhBackward : Parameters {
  explicit HardtanhBackward(KernelCall& k) : Parameters(k, {"min_val", "max_val"}) {}
  auto operator()(Real auto grad, Real auto x) const -> double {
    return x <= p_[0] || x >= p_[1] ? 0 : grad;
  }
};
struct SoftplusBackward : Parameters {
  explicit SoftplusBackward(KernelCall& k) : Parameters(k, {"beta", "threshold"}) {}
  auto operator()(Real auto grad, Real auto x) const -> double {
    if (x * p_[0] > p_[1]) return grad;
    const double z = std::exp(x * p_[0]);
    return grad * z / (z + 1);
  }
};
struct EluBackward : Parameters {
  explicit EluBackward(KernelCall& k)
      : Parameters(k, {"alpha", "scale", "input_scale", "is_result"}) {}
  auto operator()(Real auto grad, Real auto x) const -> double {
    const auto [alpha, scale, input_scale, is_result] = p_;
    if (x > 0) return grad * scale;
    if (is_result != 0) return grad * input_scale * (x + alpha * scale);
    return grad * input_scale * alpha * scale * std::exp(x * input_scale);
  }
};
/// The buffer holds exp(-|x|).
struct LogSigmoidBackward {
  auto operator()(Real auto grad, Real auto x, Real auto buffer) const -> double {
    const double slope = x < 0 ? 1 : 0;
    const double sign = x < 0 ? 1 : -1;
    return grad * (slope - sign * buffer / (1 + buffer));
  }
};

/// Positions of the two tensor parameters.
auto pair_of(const Call& c) -> std::array<int, 2> {
  std::array<int, 2> pair{};
  std::size_t found = 0;
  const auto& params = c.row().schema.params;
  for (std::size_t i = 0; i < params.size() && found < 2; ++i)
    if (params[i].kind == ParamKind::tensor) pair[found++] = static_cast<int>(i);
  return pair;
}
/// ATen builds some of these iterators as (self, grad_output): then self's layout wins.
template <bool kSelfFirst>
auto pair_rule(MetaCall& c) -> Datum {
  const auto [grad, self] = pair_of(c);
  ResultType type;
  type.add(c, grad);
  type.add(c, self);
  const auto common = type.get();
  if (!common) return c.fail("the operand dtypes do not promote"), Datum{};
  const auto sizes = broadcast(c, c.meta(grad).sizes, c.meta(self).sizes);
  if (c.error()) return {};
  const TensorMeta* operands[] = {&c.meta(kSelfFirst ? self : grad),
                                  &c.meta(kSelfFirst ? grad : self)};
  return c.fresh(*common, sizes, iterator_strides(c, operands, sizes));
}
template <class F>
void pair_kernel(KernelCall& k) {
  const auto [grad_at, self_at] = pair_of(k);
  const Tensor& grad = k.in(grad_at);
  const Tensor& self = k.in(self_at);
  const F f(k);
  with_compute_type(k.out().dtype(), [&]<class T>(T) {
    if constexpr (std::is_invocable_v<const F&, T, T>)
      run_pointwise<T, 2>(
          {PointwiseOperand<T>{.tensor = &grad}, PointwiseOperand<T>{.tensor = &self}}, k.out(), f);
    else
      k.unsupported(fmt::format("dtype {} is not supported", name(k.out().dtype())));
  });
}
template <class F, bool kSelfFirst = false>
auto pair_row(std::string_view schema) -> OpRow {
  return {.schema_text = schema, .rule = pair_rule<kSelfFirst>, .kernel = pair_kernel<F>};
}

/// grad_output, self, noise, lower, upper, training, self_is_result.
auto rrelu_backward(Composer& c) -> Datum {
  const double lower = c.real(3);
  const double upper = c.real(4);
  if (c.flag(5) && upper - lower > 1e-6) return c.call("aten.mul.Tensor", {c.arg(2), c.arg(0)});
  return c.call("aten.leaky_relu_backward.default",
                {c.arg(0), c.arg(1), Datum{Expr::real((lower + upper) / 2)}, c.arg(6)});
}

// ---- log_sigmoid --------------------------------------------------------------------------------

auto log_sigmoid_rule(MetaCall& c) -> Datum {
  if (on_cuda(c.meta(0)))  // no buffer
    return {DatumList{preserved_like_self(c), c.fresh(c.meta(0).dtype, {0})}};
  return {DatumList{contiguous_like_self(c), contiguous_like_self(c)}};
}
void log_sigmoid_kernel(KernelCall& k) {
  auto values = to_vector<double>(k.in(0));
  std::vector<double> buffer(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    buffer[i] = std::exp(-std::fabs(values[i]));
    values[i] = std::fmin(values[i], 0) - std::log1p(buffer[i]);
  }
  from_vector<double>(k.out(0), values);
  if (k.out(1).numel() > 0) from_vector<double>(k.out(1), buffer);
}

/// CUDA's kernel keeps only formats, not strides.
auto dropout_backward_rule(MetaCall& c) -> Datum {
  const auto& grad = c.meta(0);
  if (!on_cuda(grad)) return pointwise_rule(c);
  return suggested(c, grad, grad.dtype, broadcast(c, grad.sizes, c.meta(1).sizes));
}
auto log_sigmoid_backward_rule(MetaCall& c) -> Datum {
  for (const int i : {1, 2})
    if ((i == 1 || !on_cuda(c.meta(0))) &&
        !require_same_sizes(c, c.meta(i).sizes, c.meta(0).sizes, "one gradient per element"))
      return {};
  return preserved_like_self(c);
}

/// Where the forward kept no buffer it is calculated again.
void log_sigmoid_backward_kernel(KernelCall& k) {
  auto buffer = to_vector<double>(k.in(2));
  const auto grad = to_vector<double>(k.in(0));
  auto x = to_vector<double>(k.in(1));
  const bool kept = buffer.size() == x.size();
  const LogSigmoidBackward slope;
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = slope(grad[i], x[i], kept ? buffer[i] : std::exp(-std::fabs(x[i])));
  from_vector<double>(k.out(), x);
}

// ---- PReLU --------------------------------------------------------------------------------------

auto prelu_rule(MetaCall& c) -> Datum {
  if (!c.require(c.meta(0).dtype == c.meta(1).dtype, "self and weight must have one dtype"))
    return {};
  if (!require_expands(c, c.meta(1).sizes, c.meta(0).sizes, "weight broadcasts to self")) return {};
  return preserved_like_self(c);
}
struct Prelu {
  auto operator()(Real auto x, Real auto weight) const -> double { return x > 0 ? x : x * weight; }
};
/// grad_output, self, weight: gradients of self and weight, both of the broadcast shape.
auto prelu_backward_rule(MetaCall& c) -> Datum {
  const TensorMeta* operands[] = {&c.meta(1), &c.meta(2), &c.meta(0)};
  Dims sizes;
  for (const auto* operand : operands) sizes = broadcast(c, sizes, operand->sizes);
  if (c.error()) return {};
  const auto strides = iterator_strides(c, operands, sizes);
  return {DatumList{c.fresh(c.meta(1).dtype, sizes, strides),
                    c.fresh(c.meta(2).dtype, sizes, strides)}};
}
void prelu_backward_kernel(KernelCall& k) {
  using Operand = PointwiseOperand<double>;
  const std::array<Operand, 3> operands{Operand{.tensor = &k.in(0)}, Operand{.tensor = &k.in(1)},
                                        Operand{.tensor = &k.in(2)}};
  run_pointwise<double, 3>(operands, k.out(0), [](double grad, double x, double weight) {
    return x > 0 ? grad : grad * weight;
  });
  run_pointwise<double, 3>(operands, k.out(1),
                           [](double grad, double x, double) { return x > 0 ? 0 : grad * x; });
}

// ---- gated linear unit --------------------------------------------------------------------------

/// The two halves along dim as layouts; fails if the size is odd.
auto halves(MetaCall& c, int self_arg, int dim_arg) -> std::vector<TensorMeta> {
  const auto& self = c.meta(self_arg);
  if (!c.require(self.rank() > 0, "glu needs a dimension")) return {};
  const auto dim = static_cast<std::size_t>(c.dim_arg(dim_arg, self.rank()));
  if (!c.require(eq(mod(self.sizes[dim], 2), 0), "the halved dimension is even")) return {};
  TensorMeta half = self;
  half.sizes[dim] = floor_div(self.sizes[dim], 2);
  return {half, half};
}
auto glu_rule(MetaCall& c) -> Datum {
  const auto parts = halves(c, 0, 1);
  if (c.error()) return {};
  const TensorMeta* operands[] = {&parts[0], &parts[1]};
  return c.fresh(parts[0].dtype, parts[0].sizes, iterator_strides(c, operands, parts[0].sizes));
}
void glu_kernel(KernelCall& k) {
  const auto chosen = mark_dim(dim_of(k, 1, k.in(0).rank()), k.in(0).rank());
  auto rows = load_rows<double>(k.in(0), chosen);
  Rows<double> result{.values = {}, .outer = rows.outer, .inner = rows.inner / 2};
  for (std::size_t i = 0; i < rows.outer; ++i)
    for (std::size_t j = 0; j < result.inner; ++j)
      result.values.push_back(rows.row(i)[j] * sigmoid_of(rows.row(i)[result.inner + j]));
  store_rows<double>(k.out(), chosen, result);
}
/// grad_output, self, dim.
auto glu_backward_rule(MetaCall& c) -> Datum {
  const auto parts = halves(c, 1, 2);
  if (c.error() || !require_same_sizes(c, c.meta(0).sizes, parts[0].sizes,
                                       "the gradient has half of self's shape"))
    return {};
  return c.fresh(c.meta(1).dtype, c.meta(1).sizes);
}
void glu_backward_kernel(KernelCall& k) {
  const auto chosen = mark_dim(dim_of(k, 2, k.in(1).rank()), k.in(1).rank());
  auto grads = load_rows<double>(k.in(0), chosen);
  auto rows = load_rows<double>(k.in(1), chosen);
  for (std::size_t i = 0; i < rows.outer && rows.inner > 0; ++i) {
    const auto row = rows.row(i);
    const auto grad = grads.row(i);
    for (std::size_t j = 0; j < grad.size(); ++j) {
      const double value = row[j];
      const double gate = sigmoid_of(row[grad.size() + j]);
      row[j] = grad[j] * gate;
      row[grad.size() + j] = grad[j] * value * gate * (1 - gate);
    }
  }
  store_rows<double>(k.out(), chosen, rows);
}

}  // namespace

// clang-format off
void add_backward_rows(OpTable& t) {
  t.add(pointwise<SigmoidBackward, 2>("aten::sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor"));
  t.add(pointwise<TanhBackward, 2>("aten::tanh_backward(Tensor grad_output, Tensor output) -> Tensor"));
  t.add(pointwise<SiluBackward, 2>("aten::silu_backward(Tensor grad_output, Tensor self) -> Tensor"));
  t.add(pointwise<MishBackward, 2>("aten::mish_backward(Tensor grad_output, Tensor self) -> Tensor"));
  t.add(pointwise<GeluBackward, 2>("aten::gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none') -> Tensor"));
  t.add(pointwise<HardsigmoidBackward, 2>("aten::hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor"));
  t.add(pointwise<HardswishBackward, 2>("aten::hardswish_backward(Tensor grad_output, Tensor self) -> Tensor"));
  t.add(pointwise<LogitBackward, 2>("aten::logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor"));
  auto dropout = pointwise<DropoutBackward, 2>("aten::native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor", Promotion::int_to_float);
  dropout.rule = dropout_backward_rule;
  t.add(std::move(dropout));
  t.add(pair_row<LeakyReluBackward, true>("aten::leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor"));
  t.add(pair_row<ThresholdBackward, true>("aten::threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor"));
  t.add(pair_row<ShrinkBackward>("aten::hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor"));
  t.add(pair_row<ShrinkBackward>("aten::softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor"));
  t.add(pair_row<HardtanhBackward>("aten::hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor"));
  t.add(pair_row<SoftplusBackward>("aten::softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor"));
  t.add(pair_row<EluBackward>("aten::elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor self_or_result) -> Tensor"));
  t.add({.schema_text = "aten::rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, Scalar upper, bool training, bool self_is_result) -> Tensor", .decomposition = rrelu_backward});
  t.add({.schema_text = "aten::log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor", .rule = log_sigmoid_backward_rule, .kernel = log_sigmoid_backward_kernel});
  t.add({.schema_text = "aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)", .rule = log_sigmoid_rule, .kernel = log_sigmoid_kernel});
  t.add({.schema_text = "aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor", .rule = prelu_rule, .kernel = pointwise_kernel<Prelu, 2>});
  t.add({.schema_text = "aten::_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)", .rule = prelu_backward_rule, .kernel = prelu_backward_kernel});
  t.add({.schema_text = "aten::glu(Tensor self, int dim=-1) -> Tensor", .rule = glu_rule, .kernel = glu_kernel});
  t.add({.schema_text = "aten::glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor", .rule = glu_backward_rule, .kernel = glu_backward_kernel});
}
// clang-format on

}  // namespace assay
