// Expressions: read, print in every spelling, read again, evaluate, bound.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

#include "core/base/check.h"
#include "core/expr/eval.h"
#include "core/expr/text.h"
#include "tests/fuzz/fuzz_target.h"

namespace assay {
namespace {

constexpr std::array kSpellings = {ExprSpelling::sympy, ExprSpelling::srepr, ExprSpelling::python};
/// Longer texts may nest deeper than the parser goes; what is printed then cannot be read.
constexpr std::uint32_t kReadableSize = 100;

/// What the constants of polynomials can grow to when they are multiplied out: the sum of their
/// magnitudes, 1 for everything that is an atom of one.
auto weight(const Expr& e) -> double {
  if (const auto value = e.as_int()) return std::abs(static_cast<double>(*value));
  // One visit of each argument: a tower of powers is as deep as its text is long.
  std::vector<double> weights;
  for (const auto& arg : e.args()) weights.push_back(weight(arg));
  if (e.op() == ExprOp::add) return std::accumulate(weights.begin(), weights.end(), 0.0);
  if (e.op() == ExprOp::mul)
    return std::accumulate(weights.begin(), weights.end(), 1.0, std::multiplies());
  return e.op() == ExprOp::pow ? std::pow(weights[0], weights[1]) : 1;
}

/// Where constants that are multiplied or added may pass 64 bits, they stay apart as they were
/// made, and text has the meaning alone. Everywhere else an expression has one form.
auto has_one_form(const Expr& e) -> bool {
  constexpr double kFits = 0x1p62;
  double sum = 0, product = 1;
  for (const auto& arg : e.args()) {
    const auto one = std::max(weight(arg), 1.0);
    sum += one;
    product *= one;
  }
  const bool joins = e.op() == ExprOp::add || e.type() == ExprType::boolean;
  return weight(e) < kFits && (joins ? sum : product) < kFits &&
         std::ranges::all_of(e.args(), has_one_form);
}

auto value_at(const Expr& e, std::int64_t first) -> std::optional<Expr> {
  Binding binding;
  for (const auto& symbol : e.symbols()) binding.emplace(symbol, Expr(first++));
  const auto value = evaluate(e, binding);
  return value ? std::optional(*value) : std::nullopt;
}

void check_spellings(ExprPool& pool, const Expr& e) {
  if (!e.is_valid()) return;
  const bool is_small = e.tree_size() <= kReadableSize;
  for (const auto spelling : kSpellings) {
    const auto text = print_expr(e, spelling);
    if (!is_small) continue;
    const auto again = parse_expr(pool, text);
    ASSAY_CHECK(again.has_value(), "printed `{}`: {}", text, again.error().message);
    for (const std::int64_t first : {0, 1, 3})
      if (const auto a = value_at(e, first), b = value_at(*again, first); a && b)
        ASSAY_CHECK(*a == *b, "printed `{}`, which is {} and not {}", text, print_expr(*b),
                    print_expr(*a));
    if (has_one_form(e))
      ASSAY_CHECK(*again == e, "printed `{}`, read `{}`", text, print_expr(*again));
  }
}

void check_value(const Expr& e) {
  Binding binding;
  Ranges ranges;
  std::int64_t next = 2;
  for (const auto& symbol : e.symbols()) {
    binding.emplace(symbol, Expr(next));
    ranges.emplace(symbol, Interval{Expr(2), Expr(next)});
    next = next * 3 + 1;
    if (next > (1 << 20)) next = 1;
  }
  const auto value = evaluate(e, binding);
  const auto bounds = interval_of(e, ranges);
  if (value && value->as_int())
    ASSAY_CHECK(bounds.contains(*value), "{} is outside of [{}, {}]: {}", print_expr(*value),
                print_expr(bounds.low), print_expr(bounds.high), print_expr(e));
  (void)congruence_of(e);
  if (e.type() == ExprType::boolean) (void)decide_statically(e, ranges);
}

}  // namespace
}  // namespace assay

extern "C" auto LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) -> int {
  assay::ExprPool pool;
  const auto text = assay::fuzz::as_text(data, size);
  if (const auto e = assay::parse_expr(pool, text)) {
    assay::check_spellings(pool, *e);
    assay::check_value(*e);
  }
  if (const auto e = assay::parse_expr_as_written(pool, text)) (void)assay::print_expr(*e);
  return 0;
}
