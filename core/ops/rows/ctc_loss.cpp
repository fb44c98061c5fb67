// Connectionist temporal classification (aten/src/ATen/native/LossCTC.cpp; Graves et al., 2006):
// the probability of a target is the sum over all alignments, by dynamic programming in logarithms.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/ops/rules.h"

namespace assay {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

auto log_sum(double a, double b) -> double {
  const double most = std::max(a, b);
  return most == kNever ? kNever : most + std::log(std::exp(a - most) + std::exp(b - most));
}

/// log_probs [steps, batch, classes] in row-major order.
struct Batch {
  std::vector<double> log_probs;
  std::int64_t steps, batch, classes;
  Ints input_lengths, target_lengths;
  std::vector<Ints> labels;  ///< per sample the target with blanks between and around
  [[nodiscard]] auto at(std::int64_t t, std::int64_t n, std::int64_t label) const -> std::size_t {
    return static_cast<std::size_t>((t * batch + n) * classes + label);
  }
};
/// Lengths are a list or, in the overloads named Tensor, a vector.
auto lengths_of(KernelCall& k, int arg) -> Ints {
  return k.is_tensor(arg) ? to_vector<std::int64_t>(k.in(arg)) : k.integers(arg);
}
/// Targets are rows of a matrix, or stand behind one another. `first` is the position of log_probs.
auto batch_of(KernelCall& k, int first, std::int64_t blank) -> Batch {
  const auto& sizes = k.in(first).sizes();
  Batch b{.log_probs = to_vector<double>(k.in(first)),
          .steps = sizes[0],
          .batch = sizes[1],
          .classes = sizes[2],
          .input_lengths = lengths_of(k, first + 2),
          .target_lengths = lengths_of(k, first + 3),
          .labels = {}};
  const auto targets = to_vector<std::int64_t>(k.in(first + 1));
  const bool rows = k.in(first + 1).rank() == 2;
  std::int64_t start = 0;
  for (std::int64_t n = 0; n < b.batch; ++n) {
    const auto length = b.target_lengths[static_cast<std::size_t>(n)];
    const auto steps = b.input_lengths[static_cast<std::size_t>(n)];
    if (rows) start = n * k.in(first + 1).sizes()[1];
    if (length < 0 || start + length > static_cast<std::int64_t>(targets.size()) || steps < 0 ||
        steps > b.steps)
      return k.fail("a length exceeds its sequence"), b;
    auto& labels = b.labels.emplace_back(Ints{blank});
    for (std::int64_t i = 0; i < length; ++i) {
      const auto label = targets[static_cast<std::size_t>(start + i)];
      if (label < 0 || label >= b.classes) return k.fail("a target is no class"), b;
      labels.insert(labels.end(), {label, blank});
    }
    start += length;
  }
  return b;
}

/// A label may follow the one before the blank, unless they are the same.
auto skips(const Ints& labels, std::size_t s) -> bool {
  return s >= 2 && labels[s] != labels[s - 2];
}
using Table = std::vector<std::vector<double>>;  ///< [step][position in labels]

auto forward_table(const Batch& b, std::int64_t n) -> Table {
  const auto& labels = b.labels[static_cast<std::size_t>(n)];
  Table alpha;
  for (std::int64_t t = 0; t < b.input_lengths[static_cast<std::size_t>(n)]; ++t) {
    std::vector<double> now(labels.size(), kNever);
    for (std::size_t s = 0; s < labels.size(); ++s) {
      double before = t == 0 && s < 2 ? 0 : kNever;
      if (t > 0) {
        before = alpha.back()[s];
        if (s >= 1) before = log_sum(before, alpha.back()[s - 1]);
        if (skips(labels, s)) before = log_sum(before, alpha.back()[s - 2]);
      }
      now[s] = before + b.log_probs[b.at(t, n, labels[s])];
    }
    alpha.push_back(std::move(now));
  }
  return alpha;
}
auto backward_table(const Batch& b, std::int64_t n) -> Table {
  const auto& labels = b.labels[static_cast<std::size_t>(n)];
  const auto steps = b.input_lengths[static_cast<std::size_t>(n)];
  const auto count = labels.size();
  Table beta(static_cast<std::size_t>(steps), std::vector<double>(count, kNever));
  for (auto t = steps; t-- > 0;) {
    auto& now = beta[static_cast<std::size_t>(t)];
    for (std::size_t s = 0; s < count; ++s) {
      double after = t + 1 == steps && s + 2 >= count ? 0 : kNever;
      if (t + 1 < steps) {
        const auto& next = beta[static_cast<std::size_t>(t + 1)];
        after = next[s];
        if (s + 1 < count) after = log_sum(after, next[s + 1]);
        if (s + 2 < count && skips(labels, s + 2)) after = log_sum(after, next[s + 2]);
      }
      now[s] = after + b.log_probs[b.at(t, n, labels[s])];
    }
  }
  return beta;
}

auto longest(const Ints& lengths) -> std::int64_t {
  return lengths.empty() ? 0 : std::ranges::max(lengths);
}
auto length_count(MetaCall& c, int arg) -> Expr {
  return c.is_tensor(arg) ? numel(c.meta(arg))
                          : Expr(static_cast<std::int64_t>(c.integers(arg).size()));
}
/// How long the longest target is; of a vector only the data tell.
auto longest_target(MetaCall& c, int arg) -> Expr {
  if (c.is_tensor(arg)) return c.context().data_dependent_value(ExprType::integer);
  return longest(c.integers(arg));
}
auto measure_target(KernelCall& k) -> Dims {
  return {longest(lengths_of(k, 3))};
}
auto require_lengths(MetaCall& c, int first) -> bool {
  const auto& probs = c.meta(first);
  const auto& targets = c.meta(first + 1);
  return c.require(probs.rank() == 3, "log_probs are [steps, batch, classes]") &&
         c.require(is_floating(probs.dtype), "log_probs are floating") &&
         c.require(targets.rank() == 1 || targets.rank() == 2,
                   "targets are a vector or a matrix") &&
         c.require(is_integer(targets.dtype), "targets are integers") &&
         c.require(eq(probs.sizes[1], length_count(c, first + 2)), "one input length per sample") &&
         c.require(eq(probs.sizes[1], length_count(c, first + 3)), "one target length per sample");
}

// log_probs, targets, input_lengths, target_lengths, blank, zero_infinity -> per sample the
// negative logarithm, and the table of partial sums [batch, steps, 2 * longest target + 1].
auto forward_rule(MetaCall& c) -> Datum {
  if (!require_lengths(c, 0)) return {};
  const auto& probs = c.meta(0);
  if (!c.require(logic_and(ge(c.expr(4), 0), lt(c.expr(4), probs.sizes[2])), "blank is a class"))
    return {};
  const Expr positions = longest_target(c, 3) * 2 + 1;
  return {DatumList{c.fresh(probs.dtype, {probs.sizes[1]}),
                    c.fresh(probs.dtype, {probs.sizes[1], probs.sizes[0], positions})}};
}
void forward_kernel(KernelCall& k) {
  const auto b = batch_of(k, 0, k.integer(4));
  if (k.error()) return;
  const auto positions = static_cast<std::size_t>(2 * longest(b.target_lengths) + 1);
  std::vector<double> losses;
  std::vector<double> table(static_cast<std::size_t>(k.out(1).numel()), kNever);
  for (std::int64_t n = 0; n < b.batch; ++n) {
    const auto alpha = forward_table(b, n);
    double total = kNever;
    if (alpha.empty()) {
      total = b.target_lengths[static_cast<std::size_t>(n)] == 0 ? 0 : kNever;
    } else {
      const auto& last = alpha.back();
      total = last.size() > 1 ? log_sum(last.back(), last[last.size() - 2]) : last.back();
    }
    losses.push_back(-total);
    for (std::size_t t = 0; t < alpha.size(); ++t)
      std::ranges::copy(
          alpha[t], table.begin() + static_cast<std::ptrdiff_t>(
                                        (static_cast<std::size_t>(n * b.steps) + t) * positions));
  }
  from_vector<double>(k.out(0), losses);
  from_vector<double>(k.out(1), table);
}

// grad, log_probs, targets, input_lengths, target_lengths, neg_log_likelihood, log_alpha, blank,
// zero_infinity
auto backward_rule(MetaCall& c) -> Datum {
  if (!require_lengths(c, 1)) return {};
  const auto& probs = c.meta(1);
  if (!require_count(c, 0, probs.sizes[1], "one gradient per sample") ||
      !require_count(c, 5, probs.sizes[1], "one loss per sample"))
    return {};
  return c.fresh(probs.dtype, probs.sizes);
}
void backward_kernel(KernelCall& k) {
  const auto b = batch_of(k, 1, k.integer(7));
  if (k.error()) return;
  const auto scale = to_vector<double>(k.in(0));
  const auto losses = to_vector<double>(k.in(5));
  std::vector<double> grad(b.log_probs.size(), 0);
  for (std::int64_t n = 0; n < b.batch; ++n) {
    const auto sample = static_cast<std::size_t>(n);
    if (k.flag(8) && std::isinf(losses[sample])) continue;
    const auto& labels = b.labels[sample];
    const auto alpha = forward_table(b, n);
    const auto beta = backward_table(b, n);
    for (std::size_t t = 0; t < alpha.size(); ++t) {
      std::vector<double> through(static_cast<std::size_t>(b.classes), kNever);
      for (std::size_t s = 0; s < labels.size(); ++s) {
        auto& sum = through[static_cast<std::size_t>(labels[s])];
        sum = log_sum(sum, alpha[t][s] + beta[t][s]);
      }
      for (std::int64_t label = 0; label < b.classes; ++label) {
        const auto e = b.at(static_cast<std::int64_t>(t), n, label);
        const double posterior =
            std::exp(through[static_cast<std::size_t>(label)] + losses[sample] - b.log_probs[e]);
        grad[e] = (std::exp(b.log_probs[e]) - posterior) * scale[sample];
      }
    }
  }
  from_vector<double>(k.out(), grad);
}

/// ctc_loss of lists of lengths: mean divides by the target lengths first.
auto ctc_loss(Composer& c) -> Datum {
  enum Reduction : std::int64_t { kNone = 0, kMean = 1 };
  const bool batched = c.meta(0).rank() == 3;
  const auto one_more = [&](int arg, std::int64_t dim) {
    return batched ? c.arg(arg) : c.call("aten.unsqueeze.default", {c.arg(arg), Datum{Expr(dim)}});
  };
  const bool vectors = c.is_tensor(3);
  const auto* const rows = vectors ? "aten._ctc_loss.Tensor" : "aten._ctc_loss.default";
  auto loss = c.item(
      c.call(rows, {one_more(0, 1), one_more(1, 0), c.arg(2), c.arg(3), c.arg(4), c.arg(6)}), 0);
  if (c.error()) return {};
  if (c.flag(6)) {
    const auto infinite = c.call("aten.isinf.default", {loss});
    loss = c.call("aten.masked_fill.Scalar", {loss, infinite, Datum{Expr(0)}});
  }
  if (c.integer(5) == kNone)
    return batched ? loss : c.call("aten.squeeze.dim", {loss, Datum{Expr(0)}});
  if (c.integer(5) != kMean) return c.call("aten.sum.default", {loss});
  if (vectors) {
    const auto lengths = c.call("aten.clamp_min.default", {c.arg(3), Datum{Expr(1)}});
    return c.call("aten.mean.default", {c.call("aten.div.Tensor", {loss, lengths})});
  }
  DatumList parts;
  const auto lengths = c.integers(3);
  for (std::size_t n = 0; n < lengths.size(); ++n) {
    const auto own = c.call("aten.select.int",
                            {loss, Datum{Expr(0)}, Datum{Expr(static_cast<std::int64_t>(n))}});
    const auto length = static_cast<double>(std::max<std::int64_t>(lengths[n], 1));
    parts.push_back(c.call("aten.div.Scalar", {own, Datum{Expr::real(length)}}));
  }
  const auto all = c.call("aten.stack.default", {Datum{std::move(parts)}});
  return c.call("aten.mean.default", {all});
}

}  // namespace

// clang-format off
void add_ctc_loss_rows(OpTable& t) {
  t.add({.schema_text = "aten::_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)", .rule = forward_rule, .kernel = forward_kernel});
  t.add({.schema_text = "aten::_ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor", .rule = backward_rule, .kernel = backward_kernel});
  t.add({.schema_text = "aten::_ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)", .rule = forward_rule, .kernel = forward_kernel, .measure = measure_target});
  t.add({.schema_text = "aten::_ctc_loss_backward.Tensor(Tensor grad, Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor", .rule = backward_rule, .kernel = backward_kernel});
  t.add({.schema_text = "aten::ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor", .decomposition = ctc_loss});
  t.add({.schema_text = "aten::ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor", .decomposition = ctc_loss});
}
// clang-format on

}  // namespace assay
