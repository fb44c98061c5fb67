#include "core/ops/formula.h"

#include <algorithm>
#include <optional>

#include "core/expr/text.h"

namespace assay {
namespace {

constexpr std::int64_t kMostDivisor = 128;
constexpr std::size_t kMostFormulas = 64;  ///< more of one complexity decide nothing anyway

auto round_up(const Expr& value, const Expr& multiple) -> Expr {
  return ceil_div(value, multiple) * multiple;
}

/// Complexity classes in order; the search ends one after the first in which something fits.
class Search {
 public:
  explicit Search(std::span<const FormulaPoint> points)
      : points_(points), count_(static_cast<int>(points.front().features.size())) {}

  auto run() -> std::vector<Formula> {
    using Step = void (Search::*)();
    for (const Step step : {&Search::single, &Search::with_constant, &Search::pairs,
                            &Search::with_two_constants, &Search::triples}) {
      const bool had_some = !found_.empty();
      (this->*step)();
      if (had_some || (!found_.empty() && is_constant())) break;
    }
    return std::move(found_);
  }

 private:
  auto first(int f) const -> std::optional<std::int64_t> {
    return points_.front().features[static_cast<std::size_t>(f)].as_int();
  }

  void keep(const Formula& formula) {
    if (found_.size() >= kMostFormulas) return;
    const bool fits = std::ranges::all_of(points_, [&](const FormulaPoint& point) {
      return formula.at(point.features).is_int(point.value);
    });
    if (fits) found_.push_back(formula);
  }

  void single() {
    keep({.shape = FormulaShape::constant, .b = points_.front().value});
    for (int f = 0; f < count_; ++f) keep({.shape = FormulaShape::feature, .of = {f}});
  }

  void with_constant() {
    for (int f = 0; f < count_; ++f) {
      if (varies(f)) keep({.shape = FormulaShape::plus, .of = {f}, .b = value() - *first(f)});
      if (const auto x = first(f); x && *x != 0 && value() % *x == 0)
        keep({.shape = FormulaShape::times, .of = {f}, .a = value() / *x});
      for (std::int64_t a = 2; a <= kMostDivisor; ++a)
        for (const auto shape :
             {FormulaShape::quotient, FormulaShape::ceiling, FormulaShape::round_up})
          keep({.shape = shape, .of = {f}, .a = a});
    }
  }

  void pairs() {
    for (int f = 0; f < count_; ++f)
      for (int g = 0; g < count_; ++g) {
        if (f == g) continue;
        for (const auto shape : {FormulaShape::difference, FormulaShape::quotients,
                                 FormulaShape::ceilings, FormulaShape::round_ups})
          keep({.shape = shape, .of = {f, g}});
        if (f > g) continue;
        for (const auto shape : {FormulaShape::sum, FormulaShape::product, FormulaShape::larger,
                                 FormulaShape::smaller})
          keep({.shape = shape, .of = {f, g}});
      }
  }

  void with_two_constants() {
    for (int f = 0; f < count_; ++f) {
      linear(f);
      for (int g = 0; g < count_; ++g) {
        if (f == g) continue;
        const auto x = first(f);
        const auto y = first(g);
        if (!x || !y) continue;
        keep({.shape = FormulaShape::minus_plus, .of = {f, g}, .b = value() - (*x - *y)});
        keep({.shape = FormulaShape::twice, .of = {f, g}});
        if (f > g) continue;
        keep({.shape = FormulaShape::sum_plus, .of = {f, g}, .b = value() - (*x + *y)});
        const auto both = (Expr(*x) * Expr(*y)).as_int();
        if (both) keep({.shape = FormulaShape::spread, .of = {f, g}, .b = value() - *both});
      }
    }
  }

  /// a and b from the first two points that differ in f.
  void linear(int f) {
    const auto x = first(f);
    for (const auto& point : points_) {
      const auto other = point.features[static_cast<std::size_t>(f)].as_int();
      if (!x || !other || *other == *x) continue;
      if ((point.value - value()) % (*other - *x) == 0) {
        const auto a = (point.value - value()) / (*other - *x);
        if (a != 0) keep({.shape = FormulaShape::linear, .of = {f}, .a = a, .b = value() - a * *x});
      }
      return;
    }
  }

  void triples() {
    for (int f = 0; f < count_; ++f)
      for (int g = 0; g < count_; ++g)
        for (int h = 0; h < count_; ++h) {
          if (f == g || g == h || f == h) continue;
          if (f < g && g < h) {
            keep({.shape = FormulaShape::sum3, .of = {f, g, h}});
            keep({.shape = FormulaShape::product3, .of = {f, g, h}});
          }
          keep({.shape = FormulaShape::window, .of = {f, g, h}});
          for (int i = 0; i < count_; ++i)
            if (i != f && i != g && i != h)
              keep({.shape = FormulaShape::padded, .of = {f, g, h, i}});
        }
  }

  auto is_constant() const -> bool {
    return std::ranges::all_of(points_, [&](const auto& p) { return p.value == value(); });
  }
  auto value() const -> std::int64_t { return points_.front().value; }
  auto varies(int f) const -> bool {
    return std::ranges::any_of(points_, [&](const FormulaPoint& point) {
      return point.features[static_cast<std::size_t>(f)] !=
             points_.front().features[static_cast<std::size_t>(f)];
    });
  }

  std::span<const FormulaPoint> points_;
  int count_;
  std::vector<Formula> found_;
};

}  // namespace

auto Formula::at(std::span<const Expr> features) const -> Expr {
  const auto x = [&](std::size_t i) { return features[static_cast<std::size_t>(of[i])]; };
  switch (shape) {
    case FormulaShape::constant:
      return b;
    case FormulaShape::feature:
      return x(0);
    case FormulaShape::plus:
      return x(0) + b;
    case FormulaShape::times:
      return x(0) * a;
    case FormulaShape::quotient:
      return floor_div(x(0), a);
    case FormulaShape::ceiling:
      return ceil_div(x(0), a);
    case FormulaShape::round_up:
      return round_up(x(0), a);
    case FormulaShape::sum:
      return x(0) + x(1);
    case FormulaShape::difference:
      return x(0) - x(1);
    case FormulaShape::product:
      return x(0) * x(1);
    case FormulaShape::larger:
      return max(x(0), x(1));
    case FormulaShape::smaller:
      return min(x(0), x(1));
    case FormulaShape::quotients:
      return floor_div(x(0), x(1));
    case FormulaShape::ceilings:
      return ceil_div(x(0), x(1));
    case FormulaShape::round_ups:
      return round_up(x(0), x(1));
    case FormulaShape::linear:
      return x(0) * a + b;
    case FormulaShape::sum_plus:
      return x(0) + x(1) + b;
    case FormulaShape::minus_plus:
      return x(0) - x(1) + b;
    case FormulaShape::twice:
      return x(0) + x(1) * 2;
    case FormulaShape::sum3:
      return x(0) + x(1) + x(2);
    case FormulaShape::product3:
      return x(0) * x(1) * x(2);
    case FormulaShape::spread:
      return x(0) * x(1) + b;
    case FormulaShape::window:
      return floor_div(x(0) - x(1), x(2)) + 1;
    case FormulaShape::padded:
      return floor_div(x(0) + x(1) * 2 - x(2), x(3)) + 1;
  }
  return b;
}

auto Formula::text(std::span<const std::string> names) const -> std::string {
  ExprPool pool;
  std::vector<Expr> symbols;
  for (const auto& name : names) symbols.push_back(pool.symbol(name));
  return print_expr(at(symbols));
}

auto fitting_formulas(std::span<const FormulaPoint> points) -> std::vector<Formula> {
  if (points.empty()) return {};
  return Search(points).run();
}

}  // namespace assay
