// Every way to say what an expression means agrees with the reference evaluator, which shares no
// code with any of them.
#include <gtest/gtest.h>

#include "compiler/prove/program.h"
#include "compiler/prove/prover.h"
#include "compiler/prove/solver.h"
#include "tests/property/expr/random_expr.h"

namespace assay::testing {
namespace {

auto has(const Expr& e, const std::function<bool(const Expr&)>& test) -> bool {
  return test(e) || std::ranges::any_of(e.args(), [&](const Expr& arg) { return has(arg, test); });
}

/// Written exactly in SMT-LIB; others are written as an integer of which an interval is known.
auto is_exact(const Expr& e) -> bool {
  return !has(e, [](const Expr& x) {
    return x.op() == ExprOp::bit_and || x.op() == ExprOp::bit_or || x.op() == ExprOp::bit_xor ||
           x.type() == ExprType::real;
  });
}

TEST(Semantics, Of_the_solver_are_those_of_the_reference_at_any_point) {
  int exact = 0;
  for (std::uint64_t round = 0; round < 150; ++round) {
    ExprPool pool;
    RandomExpr random(pool, 900 + round);
    const Expr claim = random.boolean(3);
    Binding binding;
    const auto env = random.assign(round % 2 == 0 ? 4 : 40, binding);
    const auto truth = Naive(env).value(claim);
    Query query{claim, {}, {}};
    for (const Expr& symbol : random.symbols())
      query.assumptions.push_back(
          pool.intern(ExprOp::eq, ExprType::boolean, std::vector{symbol, binding.at(symbol)}, {}));
    for (const auto form : {SmtForm::native, SmtForm::linear}) {
      const auto script = smt_script(query, form);
      if (script.obstacle) continue;
      const auto answer = solve_here(script, 2'000'000);
      const auto text = print_expr(claim);
      if (answer.kind == SolverAnswer::Kind::unsat && truth) {
        EXPECT_NE(truth->integer, 0) << text << "\n" << script.text;
      }
      if (form == SmtForm::linear || !is_exact(claim) || !truth) continue;
      ++exact;
      EXPECT_NE(answer.kind, SolverAnswer::Kind::unknown) << text << ": " << answer.reason;
      if (truth->integer != 0) {
        EXPECT_EQ(answer.kind, SolverAnswer::Kind::unsat) << text << "\n" << script.text;
      }
    }
  }
  EXPECT_GT(exact, 40);
}

TEST(Semantics, Of_compiled_programs_are_those_of_the_reference) {
  int compared = 0;
  for (std::uint64_t round = 0; round < 3000; ++round) {
    ExprPool pool;
    RandomExpr random(pool, 7000 + round);
    const Expr claim = random.boolean(4);
    Binding binding;
    const auto env = random.assign(round % 2 == 0 ? 4 : 60, binding);
    const auto truth = Naive(env).value(claim);
    Program program(random.symbols());
    const auto slot = program.add(claim);
    std::vector<std::int64_t> point;
    for (const Expr& symbol : random.symbols()) point.push_back(*binding.at(symbol).as_int());
    program.run(point);
    const auto seen = program.truth(slot);
    if (seen == Truth::unknown || (!truth && seen != Truth::no && seen != Truth::yes)) continue;
    const auto evaluated = evaluate(claim, binding);
    if (truth) {
      // A junction may be settled by one operand although another has no value.
      EXPECT_EQ(seen == Truth::yes, truth->integer != 0) << print_expr(claim);
      ++compared;
    } else if (evaluated) {
      EXPECT_EQ(seen == Truth::yes, evaluated->as_bool() == true) << print_expr(claim);
    }
  }
  EXPECT_GT(compared, 500);
}

/// Reference truth at every point of a small box: nothing where it has no value.
class Enumeration {
 public:
  Enumeration(const std::vector<Expr>& symbols, const Ranges& ranges) {
    std::vector<Naive::Env> envs{{}};
    for (const Expr& symbol : symbols) {
      std::vector<Naive::Env> longer;
      const auto& range = ranges.at(symbol);
      for (auto value = *range.low.as_int(); value <= *range.high.as_int(); ++value)
        for (auto env : envs) {
          env.emplace_back(symbol, Value{ExprType::integer, value, 0});
          longer.push_back(std::move(env));
        }
      envs = std::move(longer);
    }
    envs_ = std::move(envs);
  }
  /// False somewhere where all assumptions are true. Undecided values count as nothing.
  [[nodiscard]] auto refutes(const Query& query) const -> bool {
    return std::ranges::any_of(envs_, [&](const Naive::Env& env) {
      const Naive naive(env);
      for (const Expr& assumption : query.assumptions) {
        const auto truth = naive.value(assumption);
        if (!truth || truth->integer == 0) return false;
      }
      const auto truth = naive.value(query.claim);
      return truth && truth->integer == 0;
    });
  }

 private:
  std::vector<Naive::Env> envs_;
};

TEST(Semantics, Nothing_is_proved_that_enumeration_refutes) {
  std::map<std::string_view, int> tiers;
  int refuted = 0;
  for (std::uint64_t round = 0; round < 260; ++round) {
    ExprPool pool;
    RandomExpr random(pool, 40000 + round);
    Query query{random.boolean(3), {}, {}};
    if (round % 2 == 0) query.assumptions.push_back(random.boolean(2));
    for (const Expr& symbol : random.symbols()) {
      const auto low = random.small(3);
      query.ranges[symbol] = {Expr(low), Expr(low + random.below(7))};
    }
    if (has(query.claim, [](const Expr& e) { return e.type() == ExprType::real; })) continue;
    ProverOptions options;
    options.search_points = 0;  // which would look at all of the box itself
    options.non_linear_rlimit = 500'000;
    const auto answer = Prover(options).prove(query);
    const bool false_somewhere = Enumeration(random.symbols(), query.ranges).refutes(query);
    if (const auto* proved = std::get_if<Proved>(&answer)) {
      ++tiers[name(proved->tier)];
      EXPECT_FALSE(false_somewhere) << print_expr(query.claim) << " by " << name(proved->tier);
      Query narrowed{query.claim, {}, query.ranges};  // what it says it needed is enough
      for (const auto index : proved->needed)
        narrowed.assumptions.push_back(query.assumptions[index]);
      EXPECT_FALSE(Enumeration(random.symbols(), query.ranges).refutes(narrowed));
    } else if (const auto* witness = std::get_if<Refuted>(&answer)) {
      ++refuted;
      const auto truth = evaluate(query.claim, witness->witness);
      EXPECT_TRUE(!truth || truth->as_bool() == false) << print_expr(query.claim);
      for (const Expr& assumption : query.assumptions) {
        const auto holds = evaluate(assumption, witness->witness);
        EXPECT_TRUE(holds && holds->as_bool() == true) << print_expr(assumption);
      }
    }
  }
  for (const auto& [tier, count] : tiers) fmt::print("{}: {} proofs\n", tier, count);
  fmt::print("{} refuted\n", refuted);
  EXPECT_GT(tiers.size(), 2U);
  EXPECT_GT(refuted, 30);
}

}  // namespace
}  // namespace assay::testing
