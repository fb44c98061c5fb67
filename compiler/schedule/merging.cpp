#include "compiler/schedule/merging.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "compiler/prove/normalise.h"
#include "core/expr/text.h"

namespace assay {
namespace {

/// Symbols that are at least 1 wherever the kernel computes anything, for sizes are not negative.
/// An axis that is reduced may have no iterations and still give a result.
auto ranges_inside(const std::vector<LoopAxis>& axes) -> Ranges {
  Ranges ranges;
  for (const auto& axis : axes) {
    if (axis.is_reduced) continue;
    const auto factors =
        axis.extent.op() == ExprOp::mul
            ? std::vector<Expr>(axis.extent.args().begin(), axis.extent.args().end())
            : std::vector<Expr>{axis.extent};
    for (const auto& factor : factors)
      if (factor.op() == ExprOp::symbol) ranges[factor] = {Expr(1), Expr::infinity()};
  }
  return ranges;
}

/// What an expression of the nest becomes: strides of loops that run are no Max(1, size), then one
/// axis after the other goes.
class Rewriter {
 public:
  explicit Rewriter(Ranges ranges) : ranges_(std::move(ranges)), inside_(ranges_) {}
  Rewriter(const Rewriter&) = delete;
  auto operator=(const Rewriter&) -> Rewriter& = delete;
  auto apply(const Expr& e) -> Expr {
    if (e.is_const() || e.symbols().empty()) return e;
    if (const auto known = done_.find(e); known != done_.end()) return known->second;
    auto result = inside_.apply(e);
    for (const auto& step : steps_) result = substitute(result, step);
    return done_[e] = result;
  }
  void add(const Expr& inner, const Expr& replacement) {
    steps_.push_back({{inner, replacement}});
    done_.clear();
  }

 private:
  Ranges ranges_;
  RangeSimplifier inside_;
  std::vector<std::unordered_map<Expr, Expr>> steps_;
  std::unordered_map<Expr, Expr> done_;
};

auto mentions(const Expr& e, const Expr& symbol) -> bool {
  const auto symbols = e.symbols();
  return std::ranges::find(symbols, symbol) != symbols.end();
}

}  // namespace

auto merged_form(const std::vector<LoopAxis>& axes, const std::vector<Expr>& expressions,
                 ExprPool& pool, const std::function<bool(const std::string&)>& allow) -> LoopForm {
  const auto rewriter = std::make_shared<Rewriter>(ranges_inside(axes));
  std::vector<Expr> seen;
  for (const auto& e : expressions) seen.push_back(rewriter->apply(e));
  LoopForm form = plain_form(axes);
  int made = 0;
  for (auto k = axes.size(); k-- > 1;) {
    // By now everything behind axis k has become part of the last merged axis or stands alone.
    auto& outer = form.axes[k - 1];
    const auto& inner = form.axes[k];
    if (outer.is_reduced != inner.is_reduced) continue;
    const auto whole = pool.symbol(fmt::format("assay_m{}", made));
    const std::unordered_map<Expr, Expr> step = {
        {inner.symbol, whole - outer.symbol * inner.extent}};
    std::vector<Expr> moved;
    for (const auto& e : seen) moved.push_back(substitute(e, step));
    const bool is_one = std::ranges::none_of(
        moved, [&](const Expr& e) { return !e.is_valid() || mentions(e, outer.symbol); });
    if (!is_one ||
        !allow(fmt::format("{}, {}", print_expr(outer.extent), print_expr(inner.extent))))
      continue;
    ++made;
    rewriter->add(inner.symbol, step.at(inner.symbol));
    seen = std::move(moved);
    outer = {outer.extent * inner.extent, whole, outer.is_reduced};
    form.axes.erase(form.axes.begin() + static_cast<std::ptrdiff_t>(k));
    for (auto& axis : form.axis_of)
      if (axis >= k) --axis;
  }
  form.rewritten = [rewriter](const Expr& e) { return rewriter->apply(e); };
  return form;
}

}  // namespace assay
