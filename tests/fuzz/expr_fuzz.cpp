// Expressions: read, print in every spelling, read again, evaluate, bound.
#include <algorithm>
#include <array>
#include <limits>
#include <optional>

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

/// Constants whose sum or product does not fit 64 bits stay apart, grouped as they were made; text
/// has their meaning and not the grouping.
auto has_apart(const Expr& e) -> bool {
  const auto args = e.args();
  const bool joins = e.op() == ExprOp::add || e.op() == ExprOp::mul;
  const auto is_number = [](const Expr& arg) { return arg.as_int().has_value(); };
  return (joins && (std::ranges::count_if(args, is_number) > 1 ||
                    std::ranges::find(args, e.op(), &Expr::op) != args.end())) ||
         std::ranges::any_of(args, has_apart);
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
    if (!is_small || has_lowest(e)) continue;
    const auto again = parse_expr(pool, text);
    ASSAY_CHECK(again.has_value(), "printed `{}`: {}", text, again.error().message);
    if (has_apart(e)) {
      for (const std::int64_t first : {0, 1, 3})
        if (const auto a = value_at(e, first), b = value_at(*again, first); a && b)
          ASSAY_CHECK(*a == *b, "printed `{}`, which is {} and not {}", text, print_expr(*b),
                      print_expr(*a));
      continue;
    }
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
