// Reading and printing expressions in PyTorch's three spellings.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/expr/expr.h"

namespace assay {

enum class ExprSpelling {
  sympy,   ///< str(expr): `s77 + 8`, `((s77 + 7)//8)`, `Mod(s77, 8)`, `Eq(s0, 2)`
  srepr,   ///< sympy.srepr: `Add(Symbol('s77', positive=True, integer=True), Integer(8))`
  python,  ///< Python source: `(s77 + 7) // 8`, `s77 % 8`, `max(1, s0)`, `s0 == 2 and s1 < 3`
};

/// Parses any of the three spellings (one grammar covers all). Unknown functions become `opaque`.
/// Symbols whose name starts with `z` followed by `f` or with `uf` are real, others integer unless
/// the pool knows them already. At most 200 levels of nesting. Errors: bad_input naming the column
/// (1-based) and what was expected.
[[nodiscard]] auto parse_expr(ExprPool& pool, std::string_view text) -> Result<Expr>;

/// Same, but every node is kept as written: for printing what was recorded and for checking
/// that simplification keeps the value. The result must not be mixed with simplified expressions.
[[nodiscard]] auto parse_expr_as_written(ExprPool& pool, std::string_view text) -> Result<Expr>;

/// parse_expr(print_expr(e)) == e for every spelling, within the parser's nesting limit, unless
/// -2^63 is in it, which has no opposite to factor out (the value is the same then too). A tree of
/// more than kMaxPrintedParts parts gives a short note that no parser takes for an expression.
inline constexpr std::uint32_t kMaxPrintedParts = 1'000'000;
[[nodiscard]] auto print_expr(const Expr& e, ExprSpelling spelling = ExprSpelling::sympy)
    -> std::string;

}  // namespace assay
