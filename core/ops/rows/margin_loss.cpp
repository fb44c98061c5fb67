// Margin losses over classes (aten/src/ATen/native/LossMultiMargin.cpp, LossMultiLabelMargin.cpp)
// and cross entropy in all its forms (LossNLL.cpp).
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/ops/rules.h"

namespace assay {
namespace {

enum Reduction : std::int64_t { kNone, kMean, kSum };

// ---- multi-class margin -------------------------------------------------------------------------

/// self [N, C], [C] or a number; one target per sample.
auto check_margin(MetaCall& c, int self_arg, int weight_arg) -> bool {
  const auto& self = c.meta(self_arg);
  const auto& target = c.meta(self_arg + 1);
  const Expr samples = self.rank() == 2 ? self.sizes[0] : Expr(1);
  return c.require(self.rank() <= 2 && is_floating(self.dtype), "a floating vector or matrix") &&
         c.require(target.dtype == DType::int64 && target.rank() <= 1, "a vector of labels") &&
         c.require(eq(numel(target), samples), "one label per sample") &&
         (self.rank() == 0 || c.require(gt(self.sizes.back(), 0), "there are classes")) &&
         require_count(c, weight_arg, self.rank() == 0 ? Expr(1) : self.sizes.back(),
                       "one weight per class");
}
/// One gradient, or one per sample.
auto check_gradient(MetaCall& c, const Expr& samples) -> bool {
  const auto count = numel(c.meta(0));
  return c.require(logic_or(eq(count, 1), eq(count, samples)), "one gradient per sample");
}
/// self, target, p, margin, weight, reduction.
auto multi_margin_rule(MetaCall& c) -> Datum {
  if (!check_margin(c, 0, 4) || !c.require(c.real(2) == 1 || c.real(2) == 2, "the power is 1 or 2"))
    return {};
  const bool unreduced = c.integer(5) == kNone && c.meta(1).rank() > 0;
  return c.fresh(c.meta(0).dtype, unreduced ? c.meta(1).sizes : Dims{});
}
/// grad_output, self, target, p, margin, weight, reduction.
auto multi_margin_backward_rule(MetaCall& c) -> Datum {
  if (!check_margin(c, 1, 5) ||
      !c.require(c.real(3) == 1 || c.real(3) == 2, "the power is 1 or 2") ||
      !check_gradient(c, numel(c.meta(2))))
    return {};
  return c.fresh(c.meta(1).dtype, c.meta(1).sizes);
}
struct Margin {
  std::vector<double> x, weight;
  Ints labels;
  std::size_t classes = 1;
  double p = 1, margin = 1;
  /// Calls f(sample, class, label's class, hinge) where the hinge is positive.
  template <class F>
  void for_each(const F& f) const {
    for (std::size_t n = 0; n < labels.size(); ++n) {
      const auto label = static_cast<std::size_t>(labels[n]);
      for (std::size_t j = 0; j < classes; ++j) {
        const double hinge = margin - x[n * classes + label] + x[n * classes + j];
        if (j != label && hinge > 0) f(n, j, label, hinge);
      }
    }
  }
};
auto load_margin(KernelCall& k, int self_arg) -> Margin {
  const auto& self = k.in(self_arg);
  Margin m{.x = to_vector<double>(self),
           .weight = {},
           .labels = to_vector<std::int64_t>(k.in(self_arg + 1))};
  m.classes = self.rank() == 0 ? 1 : static_cast<std::size_t>(self.sizes().back());
  m.p = k.real(self_arg + 2);
  m.margin = k.real(self_arg + 3);
  m.weight = k.has(self_arg + 4) ? to_vector<double>(k.in(self_arg + 4))
                                 : std::vector<double>(m.classes, 1);
  for (auto& label : m.labels)
    if (label < 0 || label >= static_cast<std::int64_t>(m.classes)) {
      k.fail(fmt::format("target {} is out of bounds", label));
      label = 0;
    }
  return m;
}
void multi_margin_kernel(KernelCall& k) {
  const auto m = load_margin(k, 0);
  std::vector<double> losses(m.labels.size(), 0);
  m.for_each([&](std::size_t n, std::size_t, std::size_t label, double hinge) {
    losses[n] +=
        m.weight[label] * (m.p == 1 ? hinge : hinge * hinge) / static_cast<double>(m.classes);
  });
  if (k.integer(5) == kNone) return from_vector<double>(k.out(), losses);
  double total = 0;
  for (const double loss : losses) total += loss;
  if (k.integer(5) == kMean) total /= static_cast<double>(losses.size());
  from_vector<double>(k.out(), std::vector<double>{total});
}
void multi_margin_backward_kernel(KernelCall& k) {
  const auto m = load_margin(k, 1);
  const auto grad = to_vector<double>(k.in(0));
  const double samples = static_cast<double>(m.labels.size());
  const double scale = (k.integer(6) == kMean ? 1 / samples : 1) / static_cast<double>(m.classes);
  std::vector<double> result(m.x.size(), 0);
  m.for_each([&](std::size_t n, std::size_t j, std::size_t label, double hinge) {
    const double g =
        m.weight[label] * scale * (m.p == 1 ? 1 : 2 * hinge) * grad[grad.size() == 1 ? 0 : n];
    result[n * m.classes + j] += g;
    result[n * m.classes + label] -= g;
  });
  from_vector<double>(k.out(), result);
}

// ---- multi-label margin -------------------------------------------------------------------------

/// self, target, reduction: output and which classes are targets.
auto multilabel_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  if (!c.require(self.rank() <= 2 && is_floating(self.dtype), "a floating vector or matrix") ||
      !c.require(c.meta(1).dtype == DType::int64, "the labels are int64") ||
      !require_same_sizes(c, c.meta(1).sizes, self.sizes, "one label per element"))
    return {};
  const bool unreduced = c.integer(2) == kNone && self.rank() == 2;
  return {DatumList{c.fresh(self.dtype, unreduced ? Dims{self.sizes[0]} : Dims{}),
                    c.fresh(self.dtype, c.meta(1).sizes)}};
}
/// grad_output, self, target, reduction, is_target.
auto multilabel_backward_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(1);
  for (const int i : {2, 4})
    if (!require_same_sizes(c, c.meta(i).sizes, self.sizes, "one label per element")) return {};
  if (!c.require(self.rank() <= 2, "a vector or matrix") ||
      !check_gradient(c, self.rank() == 2 ? self.sizes[0] : Expr(1)))
    return {};
  return c.fresh(self.dtype, self.sizes);
}
struct Labels {
  std::size_t samples = 1, classes = 1;
  Ints label;
  std::vector<double> is_target;
  /// Labels of a sample up to the first negative one.
  template <class F>
  void for_each_label(std::size_t n, const F& f) const {
    for (std::size_t i = 0; i < classes && label[n * classes + i] >= 0; ++i)
      f(n * classes + static_cast<std::size_t>(label[n * classes + i]));
  }
};
auto load_labels(KernelCall& k, int arg) -> Labels {
  const auto& target = k.in(arg);
  Labels l;
  l.classes = target.rank() == 0 ? 1 : static_cast<std::size_t>(target.sizes().back());
  l.samples = target.rank() == 2 ? static_cast<std::size_t>(target.sizes()[0]) : 1;
  l.label = to_vector<std::int64_t>(target);
  l.is_target.resize(l.label.size(), 0);
  for (auto& label : l.label)
    if (label >= static_cast<std::int64_t>(l.classes)) {
      k.fail(fmt::format("target {} is out of bounds", label));
      label = -1;
    }
  for (std::size_t n = 0; n < l.samples; ++n)
    l.for_each_label(n, [&](std::size_t at) { l.is_target[at] = 1; });
  return l;
}
/// Calls f(label's element, other element, hinge) where the hinge is positive.
template <class F>
void for_each_hinge(const Labels& l, std::size_t n, const std::vector<double>& x, const F& f) {
  l.for_each_label(n, [&](std::size_t at) {
    for (std::size_t j = n * l.classes; j < (n + 1) * l.classes; ++j)
      if (l.is_target[j] == 0 && 1 - x[at] + x[j] > 0) f(at, j, 1 - x[at] + x[j]);
  });
}
void multilabel_kernel(KernelCall& k) {
  const auto x = to_vector<double>(k.in(0));
  const auto l = load_labels(k, 1);
  std::vector<double> losses(l.samples, 0);
  for (std::size_t n = 0; n < l.samples; ++n) {
    for_each_hinge(l, n, x, [&](std::size_t, std::size_t, double hinge) { losses[n] += hinge; });
    losses[n] /= static_cast<double>(l.classes);
  }
  if (k.out(0).rank() > 0) {
    from_vector<double>(k.out(0), losses);
  } else {
    double total = 0;
    for (const double loss : losses) total += loss;
    if (k.integer(2) == kMean) total /= static_cast<double>(l.samples);
    from_vector<double>(k.out(0), std::vector<double>{total});
  }
  from_vector<double>(k.out(1), l.is_target);
}
void multilabel_backward_kernel(KernelCall& k) {
  const auto x = to_vector<double>(k.in(1));
  const auto grad = to_vector<double>(k.in(0));
  const auto l = load_labels(k, 2);
  const double scale = (k.integer(3) == kMean ? 1 / static_cast<double>(l.samples) : 1) /
                       static_cast<double>(l.classes);
  std::vector<double> result(x.size(), 0);
  for (std::size_t n = 0; n < l.samples; ++n)
    for_each_hinge(l, n, x, [&](std::size_t at, std::size_t other, double) {
      const double g = scale * grad[grad.size() == 1 ? 0 : n];
      result[other] += g;
      result[at] -= g;
    });
  from_vector<double>(k.out(), result);
}

// ---- cross entropy ------------------------------------------------------------------------------

/// nll_loss_nd: images of any number of dimensions become rows of pixels.
auto nll_loss_nd(Composer& c, const Datum& self, const Datum& target, const Datum& weight,
                 const Datum& reduction, const Datum& ignored) -> Datum {
  const auto meta = c.meta(self);
  const auto run = [&](const char* row, const Datum& x, const Datum& y) {
    return c.item(c.call(row, {x, y, weight, reduction, ignored}), 0);
  };
  if (meta.rank() == 0) return c.fail("the predictions have a dimension of classes"), Datum{};
  if (meta.rank() <= 2) return run("aten.nll_loss_forward.default", self, target);
  if (meta.rank() == 4) return run("aten.nll_loss2d_forward.default", self, target);
  const auto own = c.meta(target).sizes;
  if (own.size() + 1 != meta.sizes.size())
    return c.fail("the target lacks the dimension of classes"), Datum{};
  const auto packed = [&](const Datum& tensor, const Dims& sizes) {
    return c.call("aten.view.default",
                  {c.call("aten.contiguous.default", {tensor}), int_list(sizes)});
  };
  const Expr pixels = product(std::span(meta.sizes).subspan(2));
  const auto result = run("aten.nll_loss2d_forward.default",
                          packed(self, {meta.sizes[0], meta.sizes[1], 1, pixels}),
                          packed(target, {meta.sizes[0], 1, pixels}));
  const bool reduced = reduction.scalar() && !reduction.scalar()->is_int(kNone);
  return reduced || c.error() ? result : c.call("aten.view.default", {result, int_list(own)});
}
auto nll_loss(Composer& c) -> Datum {
  return nll_loss_nd(c, c.arg(0), c.arg(1), c.arg(2), c.arg(3), c.arg(4));
}

/// self, target, weight, reduction, ignore_index, label_smoothing.
class CrossEntropy {
 public:
  explicit CrossEntropy(Composer& c)
      : c_(c), self_(c.meta(0)), smoothing_(c.real(5)), reduction_(c.integer(3)) {}

  auto run() -> Datum {
    if (self_.rank() == 0) return c_.fail("the predictions have a dimension of classes"), Datum{};
    const Expr dim(self_.rank() == 1 ? 0 : 1);
    classes_ = self_.sizes[self_.rank() == 1 ? 0 : 1];
    dim_ = Datum{dim};
    logs_ = c_.call("aten.log_softmax.int", {c_.arg(0), dim_});
    if (c_.error()) return {};
    if (has_probabilities()) return probabilities();
    const auto loss = nll_loss_nd(c_, logs_, c_.arg(1), c_.arg(2), c_.arg(3), c_.arg(4));
    return smoothing_ > 0 && !c_.error() ? smoothed(loss) : loss;
  }

 private:
  static auto number(const Expr& value) -> Datum { return {value}; }
  auto has_probabilities() -> bool {
    const auto target = c_.meta(1);
    if (target.rank() != self_.rank() || !is_floating(target.dtype)) return false;
    for (std::size_t d = 0; d < target.sizes.size(); ++d)
      if (!c_.decide(eq(target.sizes[d], self_.sizes[d]), "one probability per class"))
        return false;
    return true;
  }
  auto mul(const Datum& a, const Datum& b) -> Datum { return c_.call("aten.mul.Tensor", {a, b}); }
  auto neg(const Datum& a) -> Datum { return c_.call("aten.neg.default", {a}); }
  auto over_classes(const Datum& a) -> Datum {
    return c_.call("aten.sum.dim_IntList", {a, Datum{DatumList{dim_}}});
  }
  auto total(const Datum& a) -> Datum { return c_.call("aten.sum.default", {a}); }
  auto divided(const Datum& a, const Expr& by) -> Datum {
    return c_.call("aten.div.Scalar", {a, number(by)});
  }
  /// The weights as a dimension of classes.
  auto weight() -> Datum {
    if (self_.rank() == 1) return c_.arg(2);
    Dims shape(self_.sizes.size(), Expr(1));
    shape[1] = classes_;
    return c_.call("aten.view.default", {c_.arg(2), int_list(shape)});
  }
  auto smoothing_per_class() const -> Expr {
    return Expr::real(smoothing_) * make(ExprOp::int_true_div, std::array{Expr(1), classes_});
  }

  auto probabilities() -> Datum {
    auto target = c_.arg(1);
    if (smoothing_ > 0) {
      const auto kept = c_.call("aten.mul.Scalar", {target, number(Expr::real(1 - smoothing_))});
      target = c_.call("aten.add.Scalar", {kept, number(smoothing_per_class())});
    }
    auto losses = mul(logs_, target);
    if (c_.has(2)) losses = mul(losses, weight());
    if (reduction_ == kNone) return neg(over_classes(losses));
    const auto sum = neg(total(losses));
    if (reduction_ == kSum) return sum;
    return divided(sum, floor_div(numel(self_), classes_));
  }

  auto smoothed(const Datum& loss) -> Datum {
    auto smooth = neg(over_classes(c_.has(2) ? mul(logs_, weight()) : logs_));
    const auto ignored = c_.call("aten.eq.Scalar", {c_.arg(1), c_.arg(4)});
    smooth = c_.call("aten.masked_fill.Scalar", {smooth, ignored, number(Expr::real(0))});
    if (reduction_ != kNone) {
      smooth = total(smooth);
      if (reduction_ == kMean) smooth = c_.call("aten.div.Tensor", {smooth, counted(ignored)});
    }
    return c_.call("aten.add.Tensor",
                   {c_.call("aten.mul.Scalar", {loss, number(Expr::real(1 - smoothing_))}),
                    c_.call("aten.mul.Scalar", {smooth, number(smoothing_per_class())})});
  }
  /// How many targets count, or the sum of their weights.
  auto counted(const Datum& ignored) -> Datum {
    const auto kept = c_.call("aten.logical_not.default", {ignored});
    if (!c_.has(2)) return total(kept);
    const auto zero = c_.call("aten.masked_fill.Scalar", {c_.arg(1), ignored, number(0)});
    const auto flat = c_.call("aten.reshape.default", {zero, int_list(Dims{-1})});
    const auto mask = c_.call("aten.reshape.default", {kept, int_list(Dims{-1})});
    const auto weights = c_.call("aten.gather.default", {c_.arg(2), number(0), flat});
    return total(mul(weights, mask));
  }

  Composer& c_;
  TensorMeta self_;
  double smoothing_;
  std::int64_t reduction_;
  Expr classes_;
  Datum dim_, logs_;
};
auto cross_entropy(Composer& c) -> Datum {
  return CrossEntropy(c).run();
}

}  // namespace

// clang-format off
void add_margin_loss_rows(OpTable& t) {
  t.add({.schema_text = "aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=Mean) -> Tensor", .rule = multi_margin_rule, .kernel = multi_margin_kernel});
  t.add({.schema_text = "aten::multi_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, Scalar p, Scalar margin, Tensor? weight=None, int reduction=Mean) -> Tensor", .rule = multi_margin_backward_rule, .kernel = multi_margin_backward_kernel});
  t.add({.schema_text = "aten::multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)", .rule = multilabel_rule, .kernel = multilabel_kernel});
  t.add({.schema_text = "aten::multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, Tensor is_target) -> Tensor", .rule = multilabel_backward_rule, .kernel = multilabel_backward_kernel});
  t.add({.schema_text = "aten::nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, SymInt ignore_index=-100) -> Tensor", .decomposition = nll_loss});
  t.add({.schema_text = "aten::nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, SymInt ignore_index=-100) -> Tensor", .decomposition = nll_loss});
  t.add({.schema_text = "aten::nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, SymInt ignore_index=-100) -> Tensor", .decomposition = nll_loss});
  t.add({.schema_text = "aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean, SymInt ignore_index=-100, float label_smoothing=0.0) -> Tensor", .decomposition = cross_entropy});
}
// clang-format on

}  // namespace assay
