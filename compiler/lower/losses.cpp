// Losses as arithmetic of other operators (aten/src/ATen/native/Loss.cpp, LossNLL.cpp,
// LossNLL2d.cpp).
#include <array>

#include "compiler/lower/expansions.h"

namespace assay::expansions {
namespace {

enum Reduction : std::int64_t { kNone = 0, kMean = 1, kSum = 2 };

auto sum_of(Composer& c, const Datum& x) -> Datum {
  return c.meta(x).rank() == 0 ? x : c.call("aten.sum.default", {x});
}
auto reduced(Composer& c, const Datum& losses, std::int64_t reduction) -> Datum {
  if (reduction == kNone || c.meta(losses).rank() == 0) return losses;
  return c.call(reduction == kMean ? "aten.mean.default" : "aten.sum.default", {losses});
}
/// What a gradient of a reduction is for each of its elements.
auto shared(Composer& c, const Datum& gradient, std::int64_t reduction) -> Datum {
  if (reduction != kMean) return gradient;
  return divided(c, gradient, {numel(c.meta(gradient))});
}
/// Integers have no losses.
auto has_float(Composer& c, int first) -> bool {
  return is_floating(c.meta(first).dtype) || is_floating(c.meta(first + 1).dtype) ||
         (c.unsupported("a loss of integers"), false);
}

// ---- element by element -------------------------------------------------------------------------

/// Of prediction less target; the parameter is beta or delta, 0 where there is none.
using OfDistance = Datum (*)(Composer&, const Datum& distance, double parameter);

auto squared(Composer& c, const Datum& z, double) -> Datum {
  return mul(c, z, z);
}
auto squared_slope(Composer& c, const Datum& z, double) -> Datum {
  return mul(c, z, whole(2));
}
auto smooth_l1(Composer& c, const Datum& z, double beta) -> Datum {
  const auto size = c.call("aten.abs.default", {z});
  const auto near = divided(c, mul(c, mul(c, size, size), real(0.5)), real(beta));
  const auto far = sub(c, size, real(0.5 * beta));
  return chosen(c, compare(c, "lt", size, real(beta)), near, far);
}
auto smooth_l1_slope(Composer& c, const Datum& z, double beta) -> Datum {
  const auto above = chosen(c, compare(c, "ge", z, real(beta)), real(1), divided(c, z, real(beta)));
  return chosen(c, compare(c, "le", z, real(-beta)), real(-1), above);
}
auto huber(Composer& c, const Datum& z, double delta) -> Datum {
  const auto size = c.call("aten.abs.default", {z});
  const auto near = mul(c, mul(c, size, size), real(0.5));
  const auto far = mul(c, sub(c, size, real(0.5 * delta)), real(delta));
  return chosen(c, compare(c, "le", size, real(delta)), near, far);
}
auto huber_slope(Composer& c, const Datum& z, double delta) -> Datum {
  return clamped(c, z, real(-delta), real(delta));
}

auto parameter_at(Composer& c, std::size_t i) -> double {
  return i < c.args().size() ? c.real(static_cast<int>(i)) : 0;
}
/// Arguments: input, target, reduction, parameter.
template <OfDistance kLoss>
auto loss(Composer& c) -> Datum {
  if (!has_float(c, 0)) return {};
  const auto distance = sub(c, widened(c, c.arg(0)), widened(c, c.arg(1)));
  return reduced(c, kLoss(c, distance, parameter_at(c, 3)), c.integer(2));
}
/// Arguments: gradient, input, target, reduction, parameter.
template <OfDistance kSlope>
auto loss_backward(Composer& c) -> Datum {
  if (!has_float(c, 1)) return {};
  const auto distance = sub(c, widened(c, c.arg(1)), widened(c, c.arg(2)));
  const auto slope = kSlope(c, distance, parameter_at(c, 4));
  return shared(c, mul(c, widened(c, c.arg(0)), slope), c.integer(3));
}

/// Arguments: gradient, input, target, reduction. Each step is rounded to the dtype of its
/// operands: exp(-target * input) overflows there.
auto soft_margin_backward(Composer& c) -> Datum {
  if (!has_float(c, 1)) return {};
  const auto power = c.call("aten.exp.default", {mul(c, negated(c, c.arg(2)), c.arg(1))});
  const auto numerator = negated(c, shared(c, mul(c, c.arg(2), power), c.integer(3)));
  return mul(c, c.arg(0), divided(c, numerator, add(c, power, whole(1))));
}

// ---- binary cross entropy -----------------------------------------------------------------------

auto weighted(Composer& c, const Datum& x, int weight) -> Datum {
  return c.has(weight) ? mul(c, x, widened(c, c.arg(weight))) : x;
}
/// Logarithms stop at -100, also those of what is no probability.
auto log_above(Composer& c, std::string_view log, const Datum& x) -> Datum {
  const auto value = c.call(log, {x});
  return chosen(c, compare(c, "gt", value, whole(-100)), value, real(-100));
}
/// Arguments: input, target, weight, reduction.
auto bce(Composer& c) -> Datum {
  if (!has_float(c, 0)) return {};
  const auto x = widened(c, c.arg(0)), target = widened(c, c.arg(1));
  const auto log = log_above(c, "aten.log.default", x);
  const auto log_rest = log_above(c, "aten.log1p.default", negated(c, x));
  const auto losses = sub(c, mul(c, sub(c, target, whole(1)), log_rest), mul(c, target, log));
  return reduced(c, weighted(c, losses, 2), c.integer(3));
}
/// Arguments: gradient, input, target, weight, reduction.
auto bce_backward(Composer& c) -> Datum {
  if (!has_float(c, 1)) return {};
  const auto x = widened(c, c.arg(1)), target = widened(c, c.arg(2));
  const auto variance =
      c.call("aten.clamp_min.default", {mul(c, complement(c, x), x), real(1e-12)});
  const auto grad = weighted(c, widened(c, c.arg(0)), 3);
  return shared(c, divided(c, mul(c, grad, sub(c, x, target)), variance), c.integer(4));
}
/// Arguments: input, target, weight, weight of positive targets, reduction.
auto bce_with_logits(Composer& c) -> Datum {
  if (!has_float(c, 0)) return {};
  const auto x = widened(c, c.arg(0)), target = widened(c, c.arg(1));
  auto log = log_sigmoid(c, x).value;
  if (c.has(3)) {
    const auto extra = sub(c, widened(c, c.arg(3)), whole(1));
    log = mul(c, add(c, mul(c, extra, target), whole(1)), log);
  }
  const auto losses = sub(c, mul(c, complement(c, target), x), log);
  return reduced(c, weighted(c, losses, 2), c.integer(4));
}

// ---- negative log likelihood --------------------------------------------------------------------

/// Labels of predictions of [classes] or [samples, classes, ..], and what they count.
class Labels {
 public:
  /// Arguments from `first`: predictions, labels, weights of classes; `ignored`: a label.
  Labels(Composer& c, int first, int ignored)
      : c_(c), self_(c.meta(first)), dim_(whole(self_.rank() == 1 ? 0 : 1)) {
    const auto labels = to(c, c.arg(first + 1), DType::int64);
    ignored_ = compare(c, "eq", labels, c.arg(ignored));
    const auto inside = chosen(c, ignored_, whole(0), labels);
    index_ = c.call("aten.unsqueeze.default", {inside, dim_});
    if (c.has(first + 2)) weight_ = at_labels(per_class(widened(c, c.arg(first + 2))));
  }
  /// Elements at the labels, which are indices into the dimension of classes: of ignored ones that
  /// of class 0.
  auto at_labels(const Datum& x) -> Datum {
    const auto picked = c_.call("aten.gather.default", {x, dim_, index_});
    return c_.call("aten.squeeze.dim", {picked, dim_});
  }
  auto weighted(const Datum& x) -> Datum { return weight_.is_none() ? x : mul(c_, x, weight_); }
  auto counted(const Datum& x) -> Datum { return chosen(c_, ignored_, real(0), x); }
  auto total_weight(DType dtype) -> Datum {
    const auto counts = c_.call("aten.logical_not.default", {ignored_});
    return sum_of(c_, weight_.is_none() ? to(c_, counts, dtype) : counted(weight_));
  }
  /// Is a class, of each prediction, the one that its label says? Labels that are no classes are
  /// an error of the run, which their gather finds.
  auto hits() -> Datum {
    const auto classes = c_.call("aten.arange.default",
                                 {{self_.sizes[class_axis()]}, {DType::int64}, {}, {self_.device}});
    const auto by_class = per_class(classes);
    const auto labels = chosen(c_, ignored_, whole(-1), at_labels(by_class));
    return c_.call("aten.eq.Tensor", {by_class, with_classes(labels)});
  }
  /// With a dimension of one class for all.
  auto with_classes(const Datum& x) -> Datum {
    return c_.call("aten.unsqueeze.default", {x, dim_});
  }

 private:
  [[nodiscard]] auto class_axis() const -> std::size_t { return self_.rank() == 1 ? 0 : 1; }
  auto per_class(const Datum& x) -> Datum {
    Dims shape(self_.sizes.size(), Expr(1));
    shape[class_axis()] = self_.sizes[class_axis()];
    const auto view = c_.call("aten.view.default", {x, int_list(shape)});
    return c_.call("aten.expand.default", {view, int_list(self_.sizes)});
  }

  Composer& c_;
  TensorMeta self_;
  Datum dim_, ignored_, index_, weight_;
};

/// Arguments: input, target, weight, reduction, ignored label. The loss, and the weight of all
/// targets where the losses are reduced.
auto nll(Composer& c) -> Datum {
  if (!is_floating(c.meta(0).dtype)) return c.unsupported("a loss of integers"), Datum{};
  Labels labels(c, 0, 4);
  const auto x = widened(c, c.arg(0));
  const auto picked = negated(c, labels.weighted(labels.at_labels(x)));
  const auto losses = labels.counted(picked);
  if (c.integer(3) == kNone && c.meta(0).rank() > 1)
    return {DatumList{losses, c.call("aten.new_zeros.default", {x, int_list(Ints{})})}};
  const auto sum = sum_of(c, losses);
  const auto weight = labels.total_weight(c.meta(x).dtype);
  return {DatumList{c.integer(3) == kMean ? divided(c, sum, weight) : sum, weight}};
}
/// Arguments: gradient, input, target, weight, reduction, ignored label, total weight.
auto nll_backward(Composer& c) -> Datum {
  if (!is_floating(c.meta(1).dtype)) return c.unsupported("a loss of integers"), Datum{};
  Labels labels(c, 1, 5);
  const auto number = [&](const Datum& x) {
    return c.call("aten.view.default", {widened(c, x), int_list(Ints{})});
  };
  const bool is_one = numel(c.meta(0)) == Expr(1);
  auto grad = is_one ? number(c.arg(0)) : widened(c, c.arg(0));
  if (c.integer(4) == kMean) grad = divided(c, grad, number(c.arg(6)));
  grad = negated(c, labels.weighted(grad));
  if (c.meta(grad).rank() > 0) grad = labels.with_classes(grad);
  return chosen(c, labels.hits(), grad, real(0));
}

// clang-format off
constexpr std::array kRows = {
    ExpansionRow{"aten.mse_loss.default", loss<squared>},
    ExpansionRow{"aten.mse_loss_backward.default", loss_backward<squared_slope>},
    ExpansionRow{"aten.smooth_l1_loss.default", loss<smooth_l1>},
    ExpansionRow{"aten.smooth_l1_loss_backward.default", loss_backward<smooth_l1_slope>},
    ExpansionRow{"aten.huber_loss.default", loss<huber>},
    ExpansionRow{"aten.huber_loss_backward.default", loss_backward<huber_slope>},
    ExpansionRow{"aten.soft_margin_loss_backward.default", soft_margin_backward},
    ExpansionRow{"aten.binary_cross_entropy.default", bce},
    ExpansionRow{"aten.binary_cross_entropy_backward.default", bce_backward},
    ExpansionRow{"aten.binary_cross_entropy_with_logits.default", bce_with_logits},
    ExpansionRow{"aten.nll_loss_forward.default", nll},
    ExpansionRow{"aten.nll_loss_backward.default", nll_backward},
    ExpansionRow{"aten.nll_loss2d_forward.default", nll},
    ExpansionRow{"aten.nll_loss2d_backward.default", nll_backward},
};
// clang-format on

}  // namespace

auto loss_rows() -> std::span<const ExpansionRow> {
  return kRows;
}

}  // namespace assay::expansions
