// An access is proved against its own footprint and refuted against the footprint minus one.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "compiler/prove/prover.h"
#include "core/expr/text.h"
#include "tests/property/expr/random_expr.h"

namespace assay::testing {
namespace {

/// A layout of symbolic sizes: dimensions in some order, padded, some broadcast.
struct Access {
  Expr address, footprint;
  Query query;
};

auto random_access(ExprPool& pool, std::mt19937_64& random, std::size_t rank) -> Access {
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, random);
  Access access;
  Expr stride = 1;
  Expr reach = 1;
  for (const auto dim : order) {
    const Expr size = pool.symbol(fmt::format("s{}", dim));
    const Expr index = pool.symbol(fmt::format("i{}", dim));
    access.query.ranges[size] = {Expr(2), Expr::infinity()};
    access.query.ranges[index] = {Expr(0), Expr::infinity()};
    access.query.assumptions.push_back(lt(index, size));
    if (random() % 6 == 0) continue;  // broadcast: stride 0
    access.address = access.address + index * stride;
    reach = reach + (size - 1) * stride;
    const auto pad = static_cast<std::int64_t>(random() % 3);
    stride = random() % 4 == 0 ? stride * (8 * floor_div(size + 7, 8)) : stride * (size + pad);
  }
  access.footprint = reach;
  return access;
}

TEST(Footprint, Suffices_exactly) {
  std::mt19937_64 random(seed());
  std::map<std::string_view, int> tiers;
  for (int round = 0; round < 40; ++round) {
    ExprPool pool;
    const auto rank = 1 + static_cast<std::size_t>(round % 5);
    auto access = random_access(pool, random, rank);
    Prover prover;
    access.query.claim = lt(access.address, access.footprint);
    const auto inside = prover.prove(access.query);
    const auto* proved = std::get_if<Proved>(&inside);
    ASSERT_TRUE(proved) << print_expr(access.query.claim);
    ++tiers[name(proved->tier)];
    access.query.claim = lt(access.address, access.footprint - 1);
    const auto outside = prover.prove(access.query);
    const auto* refuted = std::get_if<Refuted>(&outside);
    ASSERT_TRUE(refuted) << print_expr(access.query.claim);
    EXPECT_EQ(evaluate(access.query.claim, refuted->witness)->as_bool(), false);
  }
  for (const auto& [tier, count] : tiers) fmt::print("{}: {} proofs\n", tier, count);
}

}  // namespace
}  // namespace assay::testing
