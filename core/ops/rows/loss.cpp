// Loss functions and their gradients. Rules: aten/src/ATen/native/Loss.cpp, LossNLL.cpp,
// LossNLL2d.cpp.
#include <cmath>
#include <limits>

#include "core/ops/pointwise.h"
#include "core/ops/rules.h"

namespace assay {
namespace {

enum Reduction : std::int64_t { kNone = 0, kMean = 1, kSum = 2 };

auto reduce_losses(KernelCall& k, std::int64_t reduction, std::vector<double> losses) {
  if (reduction == kNone) return from_vector<double>(k.out(), losses);
  double total = 0;
  for (const double loss : losses) total += loss;
  if (reduction == kMean) total /= static_cast<double>(losses.size());
  from_vector<double>(k.out(), std::vector<double>{total});
}

// ---- element by element -------------------------------------------------------------------------

/// Sizes of self and target (arguments `first` and `first` + 1) together.
auto pair_sizes(MetaCall& c, int first) -> Dims {
  return broadcast(c, c.meta(first).sizes, c.meta(first + 1).sizes);
}
auto pair_dtype(MetaCall& c, int first) -> DType {
  ResultType type;
  type.add(c, first);
  type.add(c, first + 1);
  return type.get().value_or(c.meta(first).dtype);
}

/// Whose layout an unreduced result takes.
enum class Like { iterator, self };

template <Like kLike>
auto loss_rule(MetaCall& c) -> Datum {
  const auto dtype = pair_dtype(c, 0);
  auto sizes = pair_sizes(c, 0);
  if (c.error()) return {};
  if (c.integer(param(c, "reduction")) != kNone) return c.fresh(dtype, {});
  const TensorMeta* operands[] = {&c.meta(0), &c.meta(1)};
  const auto like = std::span(operands).first(kLike == Like::iterator ? 2 : 1);
  auto strides = iterator_strides(c, like, sizes);
  return c.fresh(dtype, std::move(sizes), std::move(strides));
}

/// A loss of (input, target) with its slope in the input; `p` is beta or delta.
struct Mse {
  static auto loss(double x, double t, double) -> double { return (x - t) * (x - t); }
  static auto slope(double x, double t, double) -> double { return 2 * (x - t); }
};
struct SmoothL1 {
  static auto loss(double x, double t, double beta) -> double {
    const double z = std::fabs(x - t);
    return z < beta ? 0.5 * z * z / beta : z - 0.5 * beta;
  }
  static auto slope(double x, double t, double beta) -> double {
    const double z = x - t;
    if (z <= -beta) return -1;
    return z >= beta ? 1 : z / beta;
  }
};
struct Huber {
  static auto loss(double x, double t, double delta) -> double {
    const double z = std::fabs(x - t);
    return z <= delta ? 0.5 * z * z : delta * (z - 0.5 * delta);
  }
  static auto slope(double x, double t, double delta) -> double {
    const double z = x - t;
    if (z < -delta) return -delta;
    return z > delta ? delta : z;
  }
};

auto values_at(KernelCall& k, int arg, const Ints& sizes) -> std::vector<double> {
  return to_vector<double>(expanded_view(k.in(arg), sizes));
}
auto shape_param(KernelCall& k) -> double {
  for (const auto* name : {"beta", "delta"})
    if (const int i = param(k, name); i >= 0) return k.real(i);
  return 0;
}

template <class Loss>
void loss_kernel(KernelCall& k) {
  const auto sizes = common_sizes(k.in(0).sizes(), k.in(1).sizes()).value_or(Ints{});
  auto losses = values_at(k, 0, sizes);
  const auto target = values_at(k, 1, sizes);
  const double p = shape_param(k);
  for (std::size_t i = 0; i < losses.size(); ++i) losses[i] = Loss::loss(losses[i], target[i], p);
  reduce_losses(k, k.integer(2), std::move(losses));
}

/// grad_output, self, target, reduction: contiguous results.
auto loss_backward_rule(MetaCall& c) -> Datum {
  const auto dtype = pair_dtype(c, 1);
  auto sizes = broadcast(c, pair_sizes(c, 1), c.meta(0).sizes);
  return c.fresh(dtype, std::move(sizes));
}
/// soft_margin_loss_backward is target * exp(-target * self): each step takes its layout from those
/// before, and a target that is expanded leaves the last word to what was computed from it.
auto soft_margin_backward_rule(MetaCall& c) -> Datum {
  const auto dtype = pair_dtype(c, 1);
  auto sizes = pair_sizes(c, 1);
  if (c.error() || !require_expands(c, c.meta(0).sizes, sizes, "the gradient broadcasts"))
    return {};
  const auto step = [&](std::initializer_list<const TensorMeta*> operands, const Dims& of) {
    auto result = c.meta(1);
    result.sizes = of;
    result.strides = iterator_strides(c, std::span(operands.begin(), operands.size()), of);
    return result;
  };
  const auto negated = step({&c.meta(2)}, c.meta(2).sizes);
  const auto exponential = step({&negated, &c.meta(1)}, sizes);
  auto strides = step({&c.meta(2), &exponential}, sizes).strides;
  return c.fresh(dtype, std::move(sizes), std::move(strides));
}
template <class Loss>
void loss_backward_kernel(KernelCall& k) {
  const auto& sizes = k.out().sizes();
  auto grad = values_at(k, 0, sizes);
  const auto x = values_at(k, 1, sizes);
  const auto target = values_at(k, 2, sizes);
  const double p = shape_param(k);
  const double scale = k.integer(3) == kMean ? 1 / static_cast<double>(x.size()) : 1;
  for (std::size_t i = 0; i < grad.size(); ++i) grad[i] *= scale * Loss::slope(x[i], target[i], p);
  from_vector<double>(k.out(), grad);
}
/// PyTorch forms each step in the result's dtype: -t z / (1 + z) with z = exp(-t x) overflows.
void soft_margin_backward_kernel(KernelCall& k) {
  const auto& sizes = k.out().sizes();
  auto grad = values_at(k, 0, sizes);
  const auto x = values_at(k, 1, sizes);
  const auto target = values_at(k, 2, sizes);
  const auto rounded = [&](double value) { return round_to(k.out().dtype(), value); };
  const double scale = k.integer(3) == kMean ? 1 / static_cast<double>(x.size()) : 1;
  for (std::size_t i = 0; i < grad.size(); ++i) {
    const double z = rounded(std::exp(rounded(-target[i] * x[i])));
    const double slope = rounded(rounded(target[i] * z) * -scale);
    grad[i] *= rounded(slope / rounded(z + 1));
  }
  from_vector<double>(k.out(), grad);
}

// ---- binary cross entropy -----------------------------------------------------------------------

auto weights_at(KernelCall& k, int arg, const Ints& sizes, std::size_t count)
    -> std::vector<double> {
  return k.has(arg) ? values_at(k, arg, sizes) : std::vector<double>(count, 1);
}
/// self, target, weight, reduction. Logarithms stop at -100.
void bce_kernel(KernelCall& k) {
  const auto& sizes = k.in(0).sizes();
  auto x = values_at(k, 0, sizes);
  const auto target = values_at(k, 1, sizes);
  const auto weight = weights_at(k, 2, sizes, x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double log_x = std::fmax(std::log(x[i]), -100);
    const double log_rest = std::fmax(std::log1p(-x[i]), -100);
    x[i] = weight[i] * ((target[i] - 1) * log_rest - target[i] * log_x);
  }
  reduce_losses(k, k.integer(3), std::move(x));
}
/// Binary cross entropies take a target of self's shape; optional weights broadcast to it.
auto bce_rule(MetaCall& c) -> Datum {
  const auto& sizes = c.meta(0).sizes;
  if (!require_same_sizes(c, c.meta(1).sizes, sizes, "target has self's shape")) return {};
  if (const int i = param(c, "weight"); c.has(i))
    if (!require_expands(c, c.meta(i).sizes, sizes, "weights broadcast to self")) return {};
  return loss_rule<Like::self>(c);
}
/// self, target, weight, reduction, out: PyTorch writes the losses into a view of out's memory,
/// which grows, and reduces what out itself shows: of a scalar out the first of them.
auto bce_out(Composer& c) -> Datum {
  const auto& out = c.arg(4);
  const auto losses = c.call("aten.binary_cross_entropy.default",
                             {c.arg(0), c.arg(1), c.arg(2), Datum{Expr(kNone)}});
  const auto squeezed = c.call("aten.squeeze.default", {losses});
  auto target = c.call("aten.squeeze.default", {out});
  if (c.error()) return {};
  const auto made = c.meta(squeezed);
  const auto given = c.meta(target);
  bool fits = made.sizes.size() == given.sizes.size();
  for (std::size_t d = 0; fits && d < made.sizes.size(); ++d)
    fits = c.decide(eq(made.sizes[d], given.sizes[d]), "out has the losses' sizes");
  if (!fits) {
    const auto elements = numel(made);
    const auto sized = c.call("aten._resize_output_.default",
                              {out, int_list({&elements, 1}), Datum{given.device}});
    target = c.call("aten.as_strided.default",
                    {sized, int_list(made.sizes), int_list(made.strides), Datum{given.offset}});
  }
  c.call("aten.copy_.default", {target, squeezed});
  if (c.integer(3) == kNone) return out;
  const auto* const reduce = c.integer(3) == kMean ? "aten.mean.default" : "aten.sum.default";
  const auto reduced = c.call(reduce, {out});
  const auto sized =
      c.call("aten._resize_output_.default", {out, Datum{DatumList{}}, Datum{given.device}});
  return c.call("aten.copy_.default", {sized, reduced});
}
auto bce_backward_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(1);
  if (!require_same_sizes(c, c.meta(2).sizes, self.sizes, "target has self's shape") ||
      !require_expands(c, c.meta(0).sizes, self.sizes, "the gradient broadcasts to self") ||
      (c.has(3) && !require_expands(c, c.meta(3).sizes, self.sizes, "weights broadcast to self")))
    return {};
  return c.fresh(self.dtype, self.sizes, preserved_strides(c, self));
}
/// grad_output, self, target, weight, reduction.
void bce_backward_kernel(KernelCall& k) {
  const auto& sizes = k.in(1).sizes();
  auto grad = values_at(k, 0, sizes);
  const auto x = values_at(k, 1, sizes);
  const auto target = values_at(k, 2, sizes);
  const auto weight = weights_at(k, 3, sizes, x.size());
  const double scale = k.integer(4) == kMean ? 1 / static_cast<double>(x.size()) : 1;
  for (std::size_t i = 0; i < x.size(); ++i)
    grad[i] *= scale * weight[i] * (x[i] - target[i]) / std::fmax((1 - x[i]) * x[i], 1e-12);
  from_vector<double>(k.out(), grad);
}

// ---- negative log likelihood --------------------------------------------------------------------

// self is [N, C], [C] or [N, C, H, W]; target the same without C. Forward: self, target, weight,
// reduction, ignore_index.

/// Arguments first to first + 2 are self, target and weight.
auto require_nll_shapes(MetaCall& c, int first) -> bool {
  const auto& self = c.meta(first);
  if (!c.require(self.rank() >= 1, "predictions have a class dimension")) return false;
  auto wanted = self.sizes;
  const auto classes = wanted.begin() + (self.rank() == 1 ? 0 : 1);
  return require_count(c, first + 2, *classes, "one weight per class") &&
         (wanted.erase(classes),
          require_same_sizes(c, c.meta(first + 1).sizes, wanted, "one target per prediction"));
}
auto nll_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  const auto& target = c.meta(1);
  if (!require_nll_shapes(c, 0)) return {};
  const bool unreduced = c.integer(3) == kNone && self.rank() > 1;
  return {
      DatumList{c.fresh(self.dtype, unreduced ? target.sizes : Dims{}), c.fresh(self.dtype, {})}};
}

/// The predictions as [samples, classes, positions].
struct Predictions {
  std::size_t samples, classes, positions;
  [[nodiscard]] auto at(std::size_t target, std::int64_t label) const -> std::size_t {
    return (target / positions * classes + static_cast<std::size_t>(label)) * positions +
           target % positions;
  }
};
auto predictions_of(const Tensor& self) -> Predictions {
  const auto size = [&](std::size_t d) { return static_cast<std::size_t>(self.sizes()[d]); };
  if (self.rank() == 1) return {1, size(0), 1};
  return {size(0), size(1), static_cast<std::size_t>(numel(std::span(self.sizes()).subspan(2)))};
}
/// Weight of each target's class, 0 for the ignored label; fails on labels out of range.
auto target_weights(KernelCall& k, int first, const Predictions& p, const Ints& labels,
                    std::int64_t ignored) -> std::vector<double> {
  const auto by_class =
      k.has(first) ? to_vector<double>(k.in(first)) : std::vector<double>(p.classes, 1);
  std::vector<double> weights(labels.size(), 0);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == ignored) continue;
    if (labels[i] < 0 || labels[i] >= static_cast<std::int64_t>(p.classes))
      return k.fail(fmt::format("target {} is out of bounds", labels[i])), weights;
    weights[i] = by_class[static_cast<std::size_t>(labels[i])];
  }
  return weights;
}

void nll_kernel(KernelCall& k) {
  const auto p = predictions_of(k.in(0));
  const auto x = to_vector<double>(k.in(0));
  const auto labels = to_vector<std::int64_t>(k.in(1));
  const auto ignored = k.integer(4);
  const auto weights = target_weights(k, 2, p, labels, ignored);
  if (k.error()) return;
  std::vector<double> losses(labels.size(), 0);
  double total_weight = 0;
  double total = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] != ignored) losses[i] = -weights[i] * x[p.at(i, labels[i])];
    total += losses[i];
    total_weight += weights[i];
  }
  const bool unreduced = k.out(0).rank() > 0;
  if (unreduced) return from_vector<double>(k.out(0), losses);
  from_vector<double>(k.out(0),
                      std::vector<double>{k.integer(3) == kMean ? total / total_weight : total});
  from_vector<double>(k.out(1), std::vector<double>{total_weight});
}

/// grad_output, self, target, weight, reduction, ignore_index, total_weight.
auto nll_backward_rule(MetaCall& c) -> Datum {
  if (!require_nll_shapes(c, 1) || !require_count(c, 6, 1, "the total weight is one number"))
    return {};
  if (numel(c.meta(0)) != Expr(1) &&
      !require_same_sizes(c, c.meta(0).sizes, c.meta(2).sizes, "one gradient per target"))
    return {};
  return c.fresh(c.meta(1).dtype, c.meta(1).sizes);
}
void nll_backward_kernel(KernelCall& k) {
  const auto p = predictions_of(k.in(1));
  const auto labels = to_vector<std::int64_t>(k.in(2));
  const auto ignored = k.integer(5);
  const auto weights = target_weights(k, 3, p, labels, ignored);
  if (k.error()) return;
  auto grad = to_vector<double>(k.in(0));
  if (grad.size() == 1) grad.resize(labels.size(), grad[0]);
  const double scale = k.integer(4) == kMean ? 1 / to_vector<double>(k.in(6))[0] : 1;
  std::vector<double> result(static_cast<std::size_t>(k.out().numel()), 0);
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] != ignored) result[p.at(i, labels[i])] = -weights[i] * grad[i] * scale;
  from_vector<double>(k.out(), result);
}

/// soft_margin_loss works in the dtype of self at every step: 16 bits overflow in the exponential.
auto soft_margin_loss(Composer& c) -> Datum {
  const auto product =
      c.call("aten.mul_.Tensor", {c.call("aten.neg.default", {c.arg(0)}), c.arg(1)});
  const auto losses = c.call("aten.log1p.default", {c.call("aten.exp.default", {product})});
  if (c.integer(2) == kMean) return c.call("aten.mean.default", {losses});
  return c.integer(2) == kSum ? c.call("aten.sum.default", {losses}) : losses;
}

template <class Loss, Like kLike = Like::iterator>
auto loss_row(std::string_view schema) -> OpRow {
  return {.schema_text = schema, .rule = loss_rule<kLike>, .kernel = loss_kernel<Loss>};
}
template <class Loss>
auto backward_row(std::string_view schema) -> OpRow {
  return {.schema_text = schema, .rule = loss_backward_rule, .kernel = loss_backward_kernel<Loss>};
}

}  // namespace

// clang-format off
void add_loss_rows(OpTable& t) {
  t.add(loss_row<Mse>("aten::mse_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor"));
  t.add(loss_row<SmoothL1>("aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=Mean, float beta=1.0) -> Tensor"));
  t.add(loss_row<Huber>("aten::huber_loss(Tensor self, Tensor target, int reduction=Mean, float delta=1.0) -> Tensor"));
  t.add({.schema_text = "aten::soft_margin_loss(Tensor self, Tensor target, int reduction=Mean) -> Tensor", .decomposition = soft_margin_loss});
  t.add(backward_row<Mse>("aten::mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor"));
  t.add(backward_row<SmoothL1>("aten::smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float beta) -> Tensor"));
  t.add(backward_row<Huber>("aten::huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float delta) -> Tensor"));
  t.add({.schema_text = "aten::soft_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor", .rule = soft_margin_backward_rule, .kernel = soft_margin_backward_kernel});
  t.add({.schema_text = "aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean) -> Tensor", .rule = bce_rule, .kernel = bce_kernel});
  t.add({.schema_text = "aten::binary_cross_entropy.out(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, *, Tensor(a!) out) -> Tensor(a!)", .decomposition = bce_out, .inplace_of = "aten.binary_cross_entropy.default"});
  t.add({.schema_text = "aten::binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean) -> Tensor", .rule = bce_backward_rule, .kernel = bce_backward_kernel});
  t.add({.schema_text = "aten::nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)", .rule = nll_rule, .kernel = nll_kernel});
  t.add({.schema_text = "aten::nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor", .rule = nll_backward_rule, .kernel = nll_backward_kernel});
  t.add({.schema_text = "aten::nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)", .rule = nll_rule, .kernel = nll_kernel});
  t.add({.schema_text = "aten::nll_loss2d_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor", .rule = nll_backward_rule, .kernel = nll_backward_kernel});
}
// clang-format on

}  // namespace assay
