#include <gtest/gtest.h>

#include "tests/property/expr/random_expr.h"

namespace assay::testing {
namespace {

/// Whether some part has no value, even if the whole does not need it (an unchosen branch).
auto has_undefined_part(const Expr& e, const Naive& naive) -> bool {
  return !naive.value(e) || std::ranges::any_of(e.args(), [&](const Expr& arg) {
    return has_undefined_part(arg, naive);
  });
}

/// The unsimplified value is the reference; where it exists the simplified one must be the same.
void expect_same_value(const Expr& raw, const Expr& simple, const Naive::Env& env,
                       const Binding& binding) {
  const auto expected = Naive(env).value(raw);
  if (!expected) return;
  // Invalid parts make the whole invalid, needed or not.
  if (!simple.is_valid() && has_undefined_part(raw, Naive(env))) return;
  const auto actual = evaluate(simple, binding);
  ASSERT_TRUE(actual.has_value()) << print_expr(raw) << "\n became " << print_expr(simple) << "\n"
                                  << actual.error().message;
  std::string at;
  for (const auto& [symbol, value] : binding)
    at += fmt::format(" {}={}", symbol.name(), print_expr(value));
  ASSERT_TRUE(same(*expected, *actual)) << print_expr(raw) << "\n became " << print_expr(simple)
                                        << "\n value " << print_expr(*actual) << " at" << at;
}

TEST(Simplify, KeepsTheValueOnRandomAssignments) {
  Binding binding;
  for (std::uint64_t stream = 0; stream < 40; ++stream) {
    ExprPool pool;
    RandomExpr random(pool, stream);
    for (int i = 0; i < 250; ++i) {
      const Expr raw = random.any(1 + random.below(5));
      const Expr simple = simplified(raw);
      for (int j = 0; j < 12; ++j) {
        const Naive::Env env = random.assign(j < 6 ? 4 : 60, binding);
        // Multiplied out, terms of wide values may exceed even 128 bits; that is an error, not a
        // value.
        const auto actual = evaluate(simple, binding);
        if (j >= 6 && !actual && actual.error().message.starts_with("integer overflow")) continue;
        expect_same_value(raw, simple, env, binding);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Simplify, KeepsTheValueOnAllSmallAssignments) {
  constexpr int kLimit = 4;
  for (std::uint64_t stream = 100; stream < 110; ++stream) {
    ExprPool pool;
    RandomExpr random(pool, stream);
    for (int i = 0; i < 60; ++i) {
      const Expr raw = random.any(1 + random.below(4));
      const Expr simple = simplified(raw);
      for (int code = 0; code < 9 * 9 * 9; ++code) {
        Naive::Env env;
        Binding binding;
        const std::array digits{code % 9, code / 9 % 9, code / 81};
        for (std::size_t s = 0; s < 3; ++s)
          RandomExpr::set(random.symbols()[s], digits[s] - kLimit, env, binding);
        env.emplace_back(random.real_symbol(), Value{ExprType::real, 0, 0.75});
        binding[random.real_symbol()] = Expr::real(0.75);
        expect_same_value(raw, simple, env, binding);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Simplify, IsIdempotent) {
  for (std::uint64_t stream = 200; stream < 240; ++stream) {
    ExprPool pool;
    RandomExpr random(pool, stream);
    for (int i = 0; i < 400; ++i) {
      const Expr once = simplified(random.any(1 + random.below(5)));
      const Expr twice = simplified(once);
      ASSERT_EQ(once, twice) << print_expr(once) << "\n" << print_expr(twice);
    }
  }
}

TEST(Simplify, IgnoresTheOrderOfCommutativeOperands) {
  for (std::uint64_t stream = 300; stream < 320; ++stream) {
    ExprPool pool;
    RandomExpr random(pool, stream);
    for (int i = 0; i < 300; ++i) {
      const Expr a = simplified(random.integer(3));
      const Expr b = simplified(random.integer(3));
      EXPECT_EQ(a + b, b + a);
      EXPECT_EQ(a * b, b * a);
      EXPECT_EQ(max(a, b), max(b, a));
      EXPECT_EQ(eq(a, b), eq(b, a));
      EXPECT_EQ(lt(a, b), gt(b, a));
      if ((a - b).is_valid()) {
        EXPECT_EQ(a - b + b, a) << print_expr(a) << "   " << print_expr(b);
      }
    }
  }
}

}  // namespace
}  // namespace assay::testing
