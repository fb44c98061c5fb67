#include <gtest/gtest.h>

#include "tests/property/expr/random_expr.h"

namespace assay::testing {
namespace {

constexpr std::array kSpellings{ExprSpelling::sympy, ExprSpelling::srepr, ExprSpelling::python};

TEST(ExprText, ReadsBackWhatItPrintsInEverySpelling) {
  for (std::uint64_t stream = 1000; stream < 1040; ++stream) {
    ExprPool pool;
    RandomExpr random(pool, stream);
    for (int i = 0; i < 400; ++i) {
      const Expr e = simplified(random.any(1 + random.below(5)));
      if (!e.is_valid()) continue;
      for (const ExprSpelling spelling : kSpellings) {
        const std::string text = print_expr(e, spelling);
        const auto back = parse_expr(pool, text);
        ASSERT_TRUE(back.has_value()) << text << "\n" << back.error().message;
        ASSERT_EQ(*back, e) << text << "\n" << print_expr(*back, spelling);
      }
    }
  }
}

TEST(ExprText, ReadsTheSameIntoAnotherPool) {
  ExprPool pool;
  RandomExpr random(pool, 1100);
  for (int i = 0; i < 500; ++i) {
    const Expr e = simplified(random.any(4));
    if (!e.is_valid()) continue;
    ExprPool other;
    const auto back = parse_expr(other, print_expr(e));
    ASSERT_TRUE(back.has_value()) << print_expr(e);
    EXPECT_EQ(print_expr(*back), print_expr(e));
    EXPECT_EQ(back->hash(), e.hash());
  }
}

/// Damaged texts give a value or an error, never a crash.
TEST(ExprText, SurvivesDamagedTexts) {
  constexpr std::string_view kBytes = "()+-*/%<>=!&|^~,.'\"[]0189eEsuz_ \n\x80\xff#@";
  ExprPool pool;
  RandomExpr random(pool, 1200);
  int errors = 0;
  for (int i = 0; i < 6000; ++i) {
    const Expr e = simplified(random.any(4));
    std::string text = print_expr(e, kSpellings[static_cast<std::size_t>(random.below(3))]);
    for (int edits = 1 + random.below(3); edits > 0 && !text.empty(); --edits) {
      const auto at = static_cast<std::size_t>(random.below(static_cast<int>(text.size())));
      const char byte = kBytes[static_cast<std::size_t>(random.below(kBytes.size()))];
      switch (random.below(3)) {
        case 0:
          text.erase(at, 1);
          break;
        case 1:
          text.insert(at, 1, byte);
          break;
        default:
          text[at] = byte;
          break;
      }
    }
    const auto back = parse_expr(pool, text);
    if (back) continue;
    ++errors;
    EXPECT_EQ(back.error().code, ErrorCode::bad_input);
    EXPECT_TRUE(back.error().message.starts_with("column ")) << back.error().message;
  }
  EXPECT_GT(errors, 1000);
}

}  // namespace
}  // namespace assay::testing
