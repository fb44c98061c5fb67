// The simplification rules of core/expr, verified by a solver for all integers.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "compiler/prove/solver.h"
#include "core/expr/rules.h"
#include "core/expr/text.h"

namespace assay {
namespace {

/// Written with functions that the solver's integers do not have; property/expr tests these rules.
constexpr auto kNotWritable = std::to_array<std::string_view>(
    {"true-div-of-multiple", "true-div-cancels", "true-div-by-negative", "ceil-of-float",
     "floor-of-float", "trunc-of-float", "round-of-float", "and-same", "and-ones", "or-zero",
     "xor-same", "lt-fraction", "eq-whole-float"});

auto is_constant_letter(const Expr& symbol) -> bool {
  return std::string_view("kmgc").find(symbol.name()) != std::string_view::npos;
}

struct Sides {
  Expr left, right, condition;
};

auto at(const Sides& sides, const std::unordered_map<Expr, Expr>& values, ExprPool& pool) -> Sides {
  // Rebuilt node by node: substitute() would simplify, that is, apply the rule.
  const auto rebuilt = [&](auto& self, const Expr& e) -> Expr {
    if (const auto known = values.find(e); known != values.end()) return known->second;
    if (e.args().empty()) return e;
    std::vector<Expr> args;
    for (const Expr& arg : e.args()) args.push_back(self(self, arg));
    return pool.intern(e.op(), e.type(), std::move(args), e.name());
  };
  return {rebuilt(rebuilt, sides.left), rebuilt(rebuilt, sides.right),
          rebuilt(rebuilt, sides.condition)};
}

auto verified(const Sides& sides, ExprPool& pool) -> SolverAnswer::Kind {
  const auto same = [&](const Expr& a, const Expr& b) {
    return pool.intern(ExprOp::eq, ExprType::boolean, std::vector{a, b}, {});
  };
  // left == left holds exactly where left has a value.
  const Query query{
      same(sides.left, sides.right), {sides.condition, same(sides.left, sides.left)}, {}};
  const auto script = smt_script(query, SmtForm::native);
  EXPECT_FALSE(script.obstacle) << *script.obstacle;
  const auto answer = solve_here(script, 300'000);
  if (answer.kind != SolverAnswer::Kind::sat) return answer.kind;
  // Powers with an unknown exponent are not written exactly: only a real difference counts.
  const auto truth = evaluate(query.claim, answer.model);
  const bool differs = truth && truth->as_bool() == false;
  return differs ? SolverAnswer::Kind::sat : SolverAnswer::Kind::unknown;
}

/// With numbers for the letters that stand for constants.
auto verified_by_cases(const Sides& sides, const std::vector<Expr>& letters, ExprPool& pool)
    -> int {
  constexpr auto kValues = std::to_array<std::int64_t>({1, 2, 3, 4, 8, -1, -2, -3, 0, 7});
  std::vector<std::unordered_map<Expr, Expr>> cases{{}};
  for (const Expr& letter : letters) {
    std::vector<std::unordered_map<Expr, Expr>> longer;
    for (const auto& chosen : cases)
      for (const auto value : kValues) {
        auto more = chosen;
        more[letter] = value;
        longer.push_back(std::move(more));
      }
    cases = std::move(longer);
  }
  int proved = 0;
  constexpr std::size_t kSome = 7;  // coprime to the number of values
  for (std::size_t i = 0; i < cases.size(); i += letters.size() > 1 ? kSome : 1) {
    const Sides chosen = at(sides, cases[i], pool);
    if (substitute(chosen.condition, {}).as_bool() == false) continue;
    const auto kind = verified(chosen, pool);
    if (kind == SolverAnswer::Kind::sat) return -1;
    if (kind == SolverAnswer::Kind::unknown) return 0;
    ++proved;
  }
  return proved;
}

TEST(RewriteRulesBySolver, Hold_for_all_integers) {
  int symbolic = 0, by_cases = 0;
  std::set<std::string_view> undecided;
  for (const RewriteRule& rule : kRewriteRules) {
    if (std::ranges::find(kNotWritable, rule.name) != kNotWritable.end()) continue;
    ExprPool pool;
    pool.symbol("p", ExprType::boolean);
    pool.symbol("q", ExprType::boolean);
    const auto read = [&](std::string_view text) { return *parse_expr_as_written(pool, text); };
    const Sides sides{read(rule.left), read(rule.right), read(rule.condition)};
    std::vector<Expr> letters;
    for (const Expr& e : {sides.left, sides.right, sides.condition})
      for (const Expr& symbol : e.symbols())
        if (is_constant_letter(symbol) && std::ranges::find(letters, symbol) == letters.end())
          letters.push_back(symbol);
    const auto kind = verified(sides, pool);
    ASSERT_NE(kind, SolverAnswer::Kind::sat) << rule.name << " is wrong";
    if (kind == SolverAnswer::Kind::unsat) {
      ++symbolic;
      continue;
    }
    int cases = letters.empty() ? 0 : verified_by_cases(sides, letters, pool);
    ASSERT_GE(cases, 0) << rule.name << " is wrong";
    const auto symbols = sides.left.symbols();
    for (std::size_t i = 0; i < symbols.size() && cases == 0; ++i) {  // one letter stays unknown
      auto others = symbols;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      if (others.empty() || others.size() > 3) continue;
      cases = verified_by_cases(sides, others, pool);
      ASSERT_GE(cases, 0) << rule.name << " is wrong";
    }
    if (cases > 0)
      ++by_cases;
    else
      undecided.insert(rule.name);
  }
  fmt::print("{} rules for all integers, {} for constants in cases, {} not by the solver\n",
             symbolic, by_cases, undecided.size());
  for (const auto name : undecided) fmt::print("  undecided: {}\n", name);
  EXPECT_TRUE(undecided.empty());
}

TEST(RewriteRulesBySolver, A_wrong_rule_is_told) {
  ExprPool pool;
  const auto read = [&](std::string_view text) { return *parse_expr_as_written(pool, text); };
  EXPECT_EQ(verified({read("((a + b)//3)"), read("(a//3) + (b//3)"), read("a > 0")}, pool),
            SolverAnswer::Kind::sat);
  EXPECT_EQ(verified({read("Mod(a, -3)"), read("Mod(a, 3)"), read("a > 0")}, pool),
            SolverAnswer::Kind::sat);
}

}  // namespace
}  // namespace assay
