#include "compiler/prove/prover.h"

#include <gtest/gtest.h>

#include "core/expr/text.h"

namespace assay {
namespace {

/// Claims over symbols s*, all >= 2 unless said, in sympy text.
class ProverTest : public ::testing::Test {
 protected:
  auto parsed(std::string_view text) -> Expr {
    const auto e = parse_expr(pool_, text);
    EXPECT_TRUE(e) << text;
    return e.value_or(Expr::invalid());
  }
  auto query(std::string_view claim, const std::vector<std::string>& assumptions = {}) -> Query {
    Query query{parsed(claim), {}, {}};
    for (const auto& text : assumptions) query.assumptions.push_back(parsed(text));
    auto all = query.assumptions;
    all.push_back(query.claim);
    for (const Expr& e : all)
      for (const Expr& symbol : e.symbols())
        query.ranges.try_emplace(symbol, Interval{Expr(2), Expr::infinity()});
    for (const auto& [symbol, range] : ranges_) query.ranges[symbol] = range;
    return query;
  }
  void range(std::string_view symbol, Expr low, Expr high) {
    ranges_[pool_.symbol(symbol)] = {low, high};
  }
  auto proves(std::string_view claim, const std::vector<std::string>& assumptions = {})
      -> testing::AssertionResult {
    const auto answer = prover_.prove(query(claim, assumptions));
    if (std::holds_alternative<Proved>(answer)) return testing::AssertionSuccess();
    return testing::AssertionFailure() << shown(answer);
  }
  /// The value of one symbol in the witness; -1 if there is none.
  auto witness(std::string_view claim, const std::vector<std::string>& assumptions,
               std::string_view symbol) -> std::int64_t {
    const auto answer = prover_.prove(query(claim, assumptions));
    const auto* refuted = std::get_if<Refuted>(&answer);
    if (!refuted) return -1;
    const auto at = refuted->witness.find(pool_.symbol(symbol));
    return at == refuted->witness.end() ? -1 : at->second.as_int().value_or(-1);
  }
  static auto shown(const Answer& answer) -> std::string {
    if (const auto* u = std::get_if<Unknown>(&answer))
      return fmt::format("unknown({}, {})", name(u->tier), u->reason);
    if (const auto* p = std::get_if<Proved>(&answer))
      return fmt::format("proved({}; {})", name(p->tier), p->needed.size());
    std::string text = "refuted";
    for (const auto& [symbol, value] : std::get<Refuted>(answer).witness)
      text += fmt::format(" {} = {}", symbol.name(), print_expr(value));
    return text;
  }

  ExprPool pool_;
  std::unordered_map<Expr, Interval> ranges_;
  Prover prover_;
};

TEST_F(ProverTest, A_padded_buffer_runs_past_an_unpadded_storage_from_two_rows_on) {
  EXPECT_EQ(witness("32*8*((s77 + 7)//8) <= 32*s77", {}, "s77"), 2);
  EXPECT_TRUE(proves("32*8*((s77 + 7)//8) <= 32*s77", {"Eq(Mod(s77, 8), 0)"}));
}

TEST_F(ProverTest, The_smallest_overflow_of_a_32_bit_offset_is_found_beyond_the_search) {
  EXPECT_EQ(witness("70000*ks0 <= 2147483647", {}, "ks0"), 30679);
  EXPECT_TRUE(proves("70000*ks0 <= 2147483647", {"ks0 <= 30678"}));
}

TEST_F(ProverTest, Remainders_and_quotients_have_exact_bounds) {
  range("s0", Expr(-5), Expr::infinity());
  EXPECT_TRUE(proves("s0 - Mod(s0, 8) >= -8"));
  EXPECT_EQ(witness("s0 - Mod(s0, 8) >= 0", {}, "s0"), -5);
  range("s0", Expr(0), Expr::infinity());
  EXPECT_TRUE(proves("s0 - Mod(s0, 8) >= 0"));
}

TEST_F(ProverTest, Joint_guards_prove_that_symbols_are_pinned) {
  EXPECT_TRUE(proves("Eq(s0, 5)", {"s0 <= s1", "s0 >= s1", "Eq(s0 + s1, 10)"}));
  EXPECT_EQ(witness("Eq(s0, 5)", {"s0 <= s1", "Eq(s0 + s1, 10)"}, "s0"), 2);
}

TEST_F(ProverTest, The_needed_assumptions_are_those_of_the_proof) {
  const auto answer =
      prover_.prove(query("Eq(s0, 6)", {"s1 <= 9", "s0 > 5", "s2 + s1 > 7", "s0 <= 6"}));
  const auto* proved = std::get_if<Proved>(&answer);
  ASSERT_TRUE(proved) << shown(answer);
  EXPECT_EQ(proved->needed, (std::vector<std::size_t>{1, 3}));
}

TEST_F(ProverTest, Sizes_looked_at_one_by_one_name_no_more_than_they_need) {
  // Few sizes, no structure: only a look at all of them tells.
  const std::vector<std::string> guards = {"s0 <= 60", "Ne(Mod(s0**3, 7), 1)", "Ne(Mod(s0, 5), 0)"};
  const std::string claim = "Ne(Mod(s0**3 + s0**2, 7), 2)";
  Prover without({.use_solver = false});
  const auto needed = [&](const std::vector<std::string>& assumptions) {
    const auto answer = without.prove(query(claim, assumptions));
    const auto* proof = std::get_if<Proved>(&answer);
    return proof ? proof->needed : std::vector<std::size_t>{99};
  };
  EXPECT_EQ(needed(guards), std::vector<std::size_t>{1});
  EXPECT_EQ(needed({"s0 <= 60", "Ne(Mod(s0, 5), 0)"}), std::vector<std::size_t>{99});
}

TEST_F(ProverTest, Contiguous_addresses_stay_inside_at_any_rank) {
  std::string address = "0", size = "1";
  std::vector<std::string> bounds;
  for (int i = 0; i < 5; ++i) {
    address = fmt::format("({})*s{} + i{}", address, i, i);
    size += fmt::format("*s{}", i);
    bounds.push_back(fmt::format("i{0} < s{0}", i));
    range(fmt::format("i{}", i), Expr(0), Expr::infinity());
  }
  EXPECT_TRUE(proves(fmt::format("{} < {}", address, size), bounds));
  EXPECT_NE(witness(fmt::format("{} < {} - 1", address, size), bounds, "s0"), -1);
}

TEST_F(ProverTest, A_flat_index_taken_apart_and_put_together_is_the_index) {
  range("x", Expr(0), Expr::infinity());
  EXPECT_TRUE(proves("Mod(x, s1) + s1*((x//s1)) < s0*s1", {"x < s0*s1"}));
  EXPECT_TRUE(proves("s2*Mod(x, s1) + s2*s1*((x//s1)) < s0*s1*s2", {"x < s0*s1"}));
  EXPECT_TRUE(proves("((x//s1)) < s0", {"x < s0*s1"}));
  EXPECT_TRUE(proves("Mod(x, 8) + 8*((x//8)) < 8*s0", {"x < 8*s0"}));
  EXPECT_TRUE(proves("((x//s1)) + s0*Mod(x, s1) < s0*s1", {"x < s0*s1"}));  // transposed
  EXPECT_NE(witness("Mod(x, s1) + s1*((x//s1)) < s0*s1", {"x <= s0*s1"}, "x"), -1);
}

TEST_F(ProverTest, A_division_by_zero_is_no_proof) {
  range("u0", Expr(0), Expr::infinity());
  EXPECT_EQ(witness("Mod(s0, u0) <= s0", {}, "u0"), 0);
  EXPECT_TRUE(proves("Mod(s0, u0) <= s0", {"Ne(u0, 0)"}));
  EXPECT_TRUE(proves("Eq(u0, 0) | (Mod(s0, u0) <= s0)"));
}

TEST_F(ProverTest, Contradicting_assumptions_prove_anything_and_are_named) {
  const auto answer = prover_.prove(query("Eq(s0, 7)", {"s1 > 5", "s1 < 4", "s2 > 3"}));
  const auto* proved = std::get_if<Proved>(&answer);
  ASSERT_TRUE(proved) << shown(answer);
  EXPECT_EQ(proved->needed, (std::vector<std::size_t>{0, 1}));
}

TEST_F(ProverTest, Products_of_symbols_are_compared) {
  EXPECT_TRUE(proves("s0*s1 <= s0*s2", {"s1 <= s2"}));
  EXPECT_TRUE(proves("s0*s1 + s0 <= s0*s2", {"s1 < s2"}));
  EXPECT_NE(witness("s0*s1 < s0*s2", {"s1 <= s2"}, "s1"), -1);
  EXPECT_TRUE(proves("Ne(Mod(s0, s0*s1), 0)"));
  EXPECT_TRUE(proves("((s0*s1)//s1) <= s0"));
}

TEST_F(ProverTest, Ceilings_through_floats_are_integer_ceilings) {
  EXPECT_TRUE(proves("Eq(CeilToInt(IntTrueDiv(s0, 2)), ((s0 + 1)//2))"));
  EXPECT_TRUE(proves("2*CeilToInt(IntTrueDiv(s0, 2)) >= s0"));
  EXPECT_EQ(witness("Eq(2*CeilToInt(IntTrueDiv(s0, 2)), s0)", {}, "s0"), 3);
}

TEST_F(ProverTest, Steps_of_floats_that_are_whole_are_integers) {
  // The size of arange(s0, -s0, -1.0), of arange(0, s0, 2.0) and of one with a step of 1.5.
  EXPECT_TRUE(proves("Eq(CeilToInt(FloatTrueDiv(ToFloat(-s0) - ToFloat(s0), -1.0)), 2*s0)"));
  EXPECT_TRUE(proves("Eq(CeilToInt(FloatTrueDiv(ToFloat(s0), 2.0)), ((s0 + 1)//2))"));
  EXPECT_TRUE(proves("Eq(CeilToInt(FloatTrueDiv(ToFloat(s0), -2.0)), -(s0//2))"));
  EXPECT_EQ(witness("Eq(2*CeilToInt(FloatTrueDiv(ToFloat(s0), 2.0)), s0)", {}, "s0"), 3);
  const auto answer = prover_.prove(query("CeilToInt(FloatTrueDiv(ToFloat(s0), 1.5)) >= 1"));
  EXPECT_TRUE(std::holds_alternative<Unknown>(answer)) << shown(answer);
}

TEST_F(ProverTest, Arithmetic_on_floats_is_unknown_where_no_size_refutes_it) {
  const auto answer = prover_.prove(query("FloatPow(ToFloat(s0), 0.5) >= 1.0"));
  EXPECT_TRUE(std::holds_alternative<Unknown>(answer)) << shown(answer);
}

TEST_F(ProverTest, Float_symbols_are_compared_but_may_be_no_number) {
  ranges_[pool_.symbol("zf0", ExprType::real)] = {};
  EXPECT_TRUE(std::holds_alternative<Refuted>(prover_.prove(query("zf0 <= 0.5"))));
  EXPECT_TRUE(proves("zf0 <= 0.5", {"zf0 < 0.25"}));
  EXPECT_FALSE(proves("(zf0 <= 0.5) | (zf0 > 0.5)"));  // false of NaN
  ranges_[pool_.symbol("zf0", ExprType::real)] = {Expr::real(0.0), Expr::real(1.0)};
  EXPECT_TRUE(proves("(zf0 <= 0.5) | (zf0 > 0.5)"));
}

TEST_F(ProverTest, Finite_domains_are_proved_by_looking_at_all_of_them) {
  range("s0", Expr(2), Expr(40));
  Prover without_solver({.use_solver = false});
  const auto answer = without_solver.prove(query("Ne(s0**3 - 7*s0**2 + 5*s0, 11)"));
  EXPECT_TRUE(std::holds_alternative<Proved>(answer)) << shown(answer);
}

TEST_F(ProverTest, The_script_of_a_proof_can_be_given_to_another_solver) {
  const auto text = Prover::smt_lib(query("s0*s1 >= s0", {"s1 > 2"}));
  EXPECT_NE(text.find("(assert (=> $a0"), std::string::npos) << text;
  EXPECT_NE(text.find("(check-sat)"), std::string::npos) << text;
}

}  // namespace
}  // namespace assay
