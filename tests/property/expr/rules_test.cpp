#include <gtest/gtest.h>

#include "core/expr/rules.h"
#include "tests/property/expr/random_expr.h"

namespace assay::testing {
namespace {

struct Sides {
  Expr left;
  Expr right;
  Expr condition;
  std::vector<Expr> symbols;
};

auto is_constant_letter(const Expr& symbol) -> bool {
  return std::string_view("kmgc").find(symbol.name()) != std::string_view::npos;
}

auto read(ExprPool& pool, const RewriteRule& rule) -> Sides {
  pool.symbol("p", ExprType::boolean);
  pool.symbol("q", ExprType::boolean);
  const auto text = [&](std::string_view source) {
    const auto e = parse_expr_as_written(pool, source);
    EXPECT_TRUE(e.has_value()) << rule.name << ": " << (e ? "" : e.error().message);
    return e.value_or(Expr::invalid());
  };
  Sides sides{text(rule.left), text(rule.right), text(rule.condition), {}};
  const Expr all = pool.intern(ExprOp::opaque, ExprType::integer,
                               std::vector<Expr>{sides.left, sides.right, sides.condition}, "all");
  sides.symbols = all.symbols();
  return sides;
}

class Assignments {
 public:
  Assignments(const Sides& sides, std::uint64_t stream) : sides_(sides), random_(seed() + stream) {}

  /// The n-th assignment: small values in turn first, wider random ones later.
  auto next(int limit) -> Naive::Env {
    Naive::Env env;
    std::uniform_int_distribution<int> number(-limit, limit);
    for (const Expr& symbol : sides_.symbols) {
      const bool boolean = symbol.type() == ExprType::boolean;
      const int value = boolean ? number(random_) & 1 : number(random_);
      env.emplace_back(symbol, Value{symbol.type(), value, 0});
    }
    return env;
  }

 private:
  const Sides& sides_;
  std::mt19937_64 random_;
};

auto equal(const Value& a, const Value& b) -> bool {
  return a.type == b.type && a.integer == b.integer && a.real == b.real;
}

TEST(RewriteRules, HoldWhereverTheirConditionDoes) {
  for (const RewriteRule& rule : kRewriteRules) {
    ExprPool pool;
    const Sides sides = read(pool, rule);
    Assignments assignments(sides, 1);
    int tried = 0;
    for (int i = 0; i < 4000; ++i) {
      const Naive::Env env = assignments.next(i < 2000 ? 4 : 300);
      const Naive naive(env);
      const auto condition = naive.value(sides.condition);
      const auto left = naive.value(sides.left);
      if (!condition || condition->integer == 0 || !left) continue;
      const auto right = naive.value(sides.right);
      if (!right && i >= 2000) continue;  // too big for the reference
      ASSERT_TRUE(right.has_value()) << rule.name;
      ASSERT_TRUE(equal(*left, *right)) << rule.name << ": " << rule.left;
      ++tried;
    }
    EXPECT_GT(tried, 20) << rule.name << " is hardly ever applicable";
  }
}

TEST(RewriteRules, AreWhatTheSimplifierDoes) {
  for (const RewriteRule& rule : kRewriteRules) {
    ExprPool pool;
    const Sides sides = read(pool, rule);
    Assignments assignments(sides, 2);
    int tried = 0;
    for (int i = 0; i < 300; ++i) {
      const Naive::Env env = assignments.next(9);
      const auto condition = Naive(env).value(sides.condition);
      if (!condition || condition->integer == 0) continue;
      std::unordered_map<Expr, Expr> constants;
      for (const auto& [symbol, value] : env) {
        if (is_constant_letter(symbol))
          constants[symbol] = Expr(static_cast<std::int64_t>(value.integer));
      }
      const Expr left = substitute(sides.left, constants);
      const Expr right = substitute(sides.right, constants);
      ASSERT_TRUE(left.is_valid()) << rule.name;
      ASSERT_EQ(left, right) << rule.name << ": " << print_expr(left) << "   " << print_expr(right);
      ++tried;
    }
    EXPECT_GT(tried, 5) << rule.name;
  }
}

TEST(RewriteRules, HaveUniqueNames) {
  std::vector<std::string_view> names;
  for (const RewriteRule& rule : kRewriteRules) names.push_back(rule.name);
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

}  // namespace
}  // namespace assay::testing
