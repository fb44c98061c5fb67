// Expressions: read, print in every spelling, read again, evaluate, bound.
#include <algorithm>
#include <array>
#include <limits>

#include "core/base/check.h"
#include "core/expr/eval.h"
#include "core/expr/text.h"
#include "tests/fuzz/fuzz_target.h"

namespace assay {
namespace {

constexpr std::array kSpellings = {ExprSpelling::sympy, ExprSpelling::srepr, ExprSpelling::python};
/// Longer texts may nest deeper than the parser goes; what is printed then cannot be read.
constexpr std::uint32_t kReadableSize = 100;

/// -2^63 has no opposite: a product with it stays as it was made, and text does not say how.
auto has_lowest(const Expr& e) -> bool {
  return e.as_int() == std::numeric_limits<std::int64_t>::min() ||
         std::ranges::any_of(e.args(), has_lowest);
}

void check_spellings(ExprPool& pool, const Expr& e) {
  if (!e.is_valid()) return;
  const bool is_small = e.tree_size() <= kReadableSize;
  for (const auto spelling : kSpellings) {
    const auto text = print_expr(e, spelling);
    if (!is_small || has_lowest(e)) continue;
    const auto again = parse_expr(pool, text);
    ASSAY_CHECK(again.has_value(), "printed `{}`: {}", text, again.error().message);
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
