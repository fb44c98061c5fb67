// The simplification rules, as data: what the simplifier relies on and every test verifies.
//
// In the texts (sympy spelling, read with parse_expr_as_written) k, m, g, c stand for integer
// constants, p and q for booleans, all other letters for any integer expression. A rule promises:
// whenever the condition holds and the left side has a value, the right side has the same value;
// and the simplifier brings both sides to the same node.
#pragma once
#include <array>
#include <string_view>

namespace assay {

struct RewriteRule {
  std::string_view name;
  std::string_view left;
  std::string_view right;
  std::string_view condition = "True";
};

inline constexpr auto kRewriteRules = std::to_array<RewriteRule>({
    // polynomials
    {"mul-distributes", "a*(x + y)", "a*x + a*y"},
    {"terms-collect", "c*a + k*a", "(c + k)*a"},
    {"terms-cancel", "a + b - a", "b"},
    {"square-of-sum", "(a + b)**2", "a**2 + 2*a*b + b**2"},
    {"power-of-product", "(a*b)**2", "a**2*b**2"},
    {"power-of-power", "(a**2)**3", "a**6"},
    {"power-zero", "a**0", "1"},
    {"power-by-natural", "PowByNatural(a, k)", "a**k", "k >= 0"},
    // floor division
    {"floor-div-by-one", "(a//1)", "a"},
    {"floor-div-by-minus-one", "(a//(-1))", "-a"},
    {"floor-div-of-zero", "(0//b)", "0", "Ne(b, 0)"},
    {"floor-div-by-itself", "(a//a)", "1", "Ne(a, 0)"},
    {"floor-div-by-negative", "(a//(-k))", "((-a)//k)", "k > 0"},
    {"floor-div-of-multiple", "((k*a)//k)", "a", "Ne(k, 0)"},
    {"floor-div-takes-multiple", "((k*a + b)//k)", "a + (b//k)", "Ne(k, 0)"},
    {"floor-div-takes-symbolic-multiple", "((a*b + y)//b)", "a + (y//b)", "Ne(b, 0)"},
    {"floor-div-reduces-constant", "((a + c)//k)", "((a + Mod(c, k))//k) + (c//k)", "k > 0"},
    {"floor-div-cancels-factor", "((a*x)//(a*y))", "(x//y)", "Ne(a, 0) & Ne(y, 0)"},
    {"floor-div-cancels-constant", "((g*x + c)//(g*k))", "((x + (c//g))//k)", "(g > 0) & (k > 0)"},
    {"floor-div-nests", "(((x//m) + c)//k)", "((x + c*m)//(m*k))", "(m > 0) & (k > 0)"},
    {"floor-div-by-sum", "((a*x + a*y)//(x + y))", "a", "Ne(x + y, 0)"},
    {"ceil-div-by-constant", "CeilDiv(a, k)", "((a + k - 1)//k)", "k > 0"},
    {"ceil-div-by-negative", "CeilDiv(a, -k)", "CeilDiv(-a, k)", "k > 0"},
    {"ceil-div-of-multiple", "CeilDiv(a*b, b)", "a", "Ne(b, 0)"},
    {"clean-div-of-multiple", "CleanDiv(a*b, b)", "a", "Ne(b, 0)"},
    {"clean-div-cancels-factor", "CleanDiv(a*x, a*y)", "CleanDiv(x, y)", "Ne(a, 0) & Ne(y, 0)"},
    // remainders; Mod stands for PythonMod as well
    {"mod-by-one", "Mod(a, 1)", "0"},
    {"mod-by-itself", "Mod(a, a)", "0", "Ne(a, 0)"},
    {"mod-by-negative", "Mod(a, -k)", "-Mod(-a, k)", "k > 0"},
    {"mod-of-multiple", "Mod(k*a, k)", "0", "Ne(k, 0)"},
    {"mod-drops-multiple", "Mod(k*a + b, k)", "Mod(b, k)", "Ne(k, 0)"},
    {"mod-drops-symbolic-multiple", "Mod(a*b + y, b)", "Mod(y, b)", "Ne(b, 0)"},
    {"mod-reduces-constant", "Mod(a + c, k)", "Mod(a + Mod(c, k), k)", "k > 0"},
    {"mod-reduces-coefficient", "Mod((k + c)*a + b, k)", "Mod(c*a + b, k)", "(k > 0) & (c > 0)"},
    {"mod-cancels-factor", "Mod(a*x, a*y)", "a*Mod(x, y)", "Ne(a, 0) & Ne(y, 0)"},
    {"mod-cancels-constant", "Mod(g*x + c, g*k)", "g*Mod(x + (c//g), k) + Mod(c, g)",
     "(g > 0) & (k > 0)"},
    {"mod-of-mod", "Mod(Mod(x, k*m) + y, k)", "Mod(x + y, k)", "(k > 0) & (m > 0)"},
    {"mod-within", "Mod(Mod(x, m), k)", "Mod(x, m)", "(0 < m) & (m <= k)"},
    {"mod-by-sum", "Mod(a*x + a*y, x + y)", "0", "Ne(x + y, 0)"},
    {"python-mod-drops-multiple", "PythonMod(k*a + b, k)", "PythonMod(b, k)", "Ne(k, 0)"},
    {"python-mod-by-negative", "PythonMod(a, -k)", "-PythonMod(-a, k)", "k > 0"},
    {"modular-indexing-of-zero", "ModularIndexing(0, k, m)", "0", "Ne(k, 0) & Ne(m, 0)"},
    {"modular-indexing-by-one", "ModularIndexing(a, k, 1)", "0", "Ne(k, 0)"},
    {"modular-indexing-cancels", "ModularIndexing(g*x, g*k, m)", "ModularIndexing(x, k, m)",
     "(g > 0) & (k > 0) & Ne(m, 0)"},
    // minimum and maximum
    {"max-of-same", "Max(a, a)", "a"},
    {"max-flattens", "Max(Max(a, b), x)", "Max(a, b, x)"},
    {"max-of-shifted", "Max(a, a + c)", "a + c", "c > 0"},
    {"min-of-shifted", "Min(a, a + c)", "a", "c > 0"},
    {"max-absorbs", "Max(a, Min(a, b))", "a"},
    {"min-absorbs", "Min(a, Max(a, b))", "a"},
    // conversions
    {"true-div-of-multiple", "IntTrueDiv(k*a, k)", "ToFloat(a)", "Ne(k, 0)"},
    {"true-div-cancels", "IntTrueDiv(g*a, g*b)", "IntTrueDiv(a, b)", "(g > 0) & Ne(b, 0)"},
    {"true-div-by-negative", "IntTrueDiv(a, -k)", "IntTrueDiv(-a, k)", "k > 0"},
    {"ceil-of-int", "CeilToInt(a)", "a"},
    {"ceil-of-float", "CeilToInt(ToFloat(a))", "a", "(a <= 2**53) & (a >= -2**53)"},
    {"floor-of-float", "FloorToInt(ToFloat(a))", "a", "(a <= 2**53) & (a >= -2**53)"},
    {"trunc-of-float", "TruncToInt(ToFloat(a))", "a", "(a <= 2**53) & (a >= -2**53)"},
    {"round-of-float", "RoundToInt(ToFloat(a))", "a", "(a <= 2**53) & (a >= -2**53)"},
    {"abs-of-negative", "Abs(-a)", "Abs(a)"},
    {"abs-of-abs", "Abs(Abs(a))", "Abs(a)"},
    {"identity", "Identity(a)", "a"},
    {"and-same", "a & a", "a"},
    {"and-ones", "a & (-1)", "a"},
    {"or-zero", "a | 0", "a"},
    {"xor-same", "a ^ a", "0"},
    {"shift-left", "a << c", "a*2**c", "(c >= 0) & (c <= 62)"},
    {"shift-right", "a >> c", "(a//(2**c))", "(c >= 0) & (c <= 62)"},
    // comparisons of integers
    {"gt-flips", "a > b", "b < a"},
    {"ge-flips", "a >= b", "b <= a"},
    {"lt-is-le", "a < b", "a + 1 <= b"},
    {"lt-cancels", "a + x < b + x", "a < b"},
    {"le-divides-high", "g*a <= c", "a <= (c//g)", "g > 0"},
    {"le-divides-low", "c <= g*a", "CeilDiv(c, g) <= a", "g > 0"},
    {"eq-cancels", "Eq(a + x, b + x)", "Eq(a, b)"},
    {"eq-divides", "Eq(g*a, g*b)", "Eq(a, b)", "Ne(g, 0)"},
    {"eq-indivisible", "Eq(g*a + g*b, c)", "False", "(g > 0) & Ne(Mod(c, g), 0)"},
    {"lt-fraction", "a < 2.5", "a <= 2"},
    {"eq-whole-float", "Eq(a, 2.0)", "Eq(a, 2)"},
    // booleans
    {"not-lt", "~(a < b)", "a >= b"},
    {"not-eq", "~(Eq(a, b))", "Ne(a, b)"},
    {"not-not", "~(~p)", "p"},
    {"and-same-condition", "p & p", "p"},
    {"and-contrary", "p & (~p)", "False"},
    {"or-contrary", "p | (~p)", "True"},
    {"eq-true", "Eq(p, True)", "p"},
    {"ne-true", "Ne(p, True)", "~p"},
    {"where-same", "Where(p, a, a)", "a"},
    {"where-not", "Where(~p, a, b)", "Where(p, b, a)"},
    {"where-condition", "Where(p, True, False)", "p"},
});

}  // namespace assay
