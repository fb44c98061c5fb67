#include "compiler/prove/wrapper_bounds.h"
#include "compiler/read/wrapper.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/prove/bounds_decider.h"
#include "compiler/prove/wrapper_findings.h"

namespace assay {
namespace {

/// Copies `xnumel` elements; the mask is spelled out.
constexpr std::string_view kCopy = R"(copy = async_compile.triton('copy', '''
@triton_heuristics.pointwise(
    size_hints={'x': 512},
    triton_meta={'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*fp32', 'xnumel': 'i64', 'XBLOCK': 'constexpr'}, 'constants': {}},
    inductor_meta={}
)
@triton.jit
def copy(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    tmp0 = tl.load(in_ptr0 + (xindex), xmask)
    tl.store(out_ptr0 + (xindex), tmp0, xmask)
''', device_str='cuda')

gather = async_compile.triton('gather', '''
@triton_heuristics.pointwise(
    size_hints={'x': 512},
    triton_meta={'signature': {'in_ptr0': '*i64', 'in_ptr1': '*fp32', 'ks0': 'i64', 'xnumel': 'i64', 'XBLOCK': 'constexpr'}, 'constants': {}},
    inductor_meta={}
)
@triton.jit
def gather(in_ptr0, in_ptr1, ks0, xnumel, XBLOCK : tl.constexpr):
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    tmp0 = tl.load(in_ptr0 + (xindex), xmask)
    ASSERT
    tmp1 = tl.load(in_ptr1 + (tmp0), xmask)
''', device_str='cuda')

pooled = async_compile.triton('pooled', '''
@triton_heuristics.pointwise(
    size_hints={'x': 512},
    triton_meta={'signature': {'out_ptr0': '*fp32', 'ks0': 'i64', 'xnumel': 'i64', 'XBLOCK': 'constexpr'}, 'constants': {}},
    inductor_meta={}
)
@triton.jit
def pooled(out_ptr0, ks0, xnumel, XBLOCK : tl.constexpr):
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    x0 = (xindex % ks0)
    x1 = ((xindex // ks0) % ks0)
    x2 = xindex // (ks0*ks0)
    tl.store(out_ptr0 + (x0 + x1*((1) * ((1) >= (ks0)) + (ks0) * ((ks0) > (1))) + x2*((1) * ((1) >= (ks0)) + (ks0) * ((ks0) > (1)))*((1) * ((1) >= (ks0)) + (ks0) * ((ks0) > (1)))), 1.0, xmask)
''', device_str='cuda')
)";

auto check(std::string_view body, std::string_view device_assert = "pass") -> WrapperReport {
  auto text = std::string(kCopy);
  text.replace(text.find("ASSERT"), 6, device_assert);
  text +=
      "def call(args):\n    arg0_1, arg1_1 = args\n    args.clear()\n    s77 = arg0_1\n"
      "    assert_size_stride(arg1_1, (s77, 4), (4, 1))\n";
  for (std::size_t at = 0; at < body.size();) {
    const auto end = std::min(body.find('\n', at), body.size());
    text += "    " + std::string(body.substr(at, end - at)) + "\n";
    at = end + 1;
  }
  const auto program = read_wrapper(text);
  EXPECT_TRUE(program) << program.error().message;
  if (!program) return {};
  EXPECT_TRUE(program->not_understood.empty()) << program->not_understood.front().text;
  return check_wrapper(*program);
}

auto refuted(const WrapperReport& report) -> std::vector<WrapperClaim> {
  std::vector<WrapperClaim> kinds;
  for (const auto& obligation : report.obligations)
    if (std::holds_alternative<Refuted>(obligation.answer)) kinds.push_back(obligation.kind);
  return kinds;
}
auto unknown_count(const WrapperReport& report) -> std::ptrdiff_t {
  return std::ranges::count_if(report.obligations, [](const WrapperObligation& o) {
    return std::holds_alternative<Unknown>(o.answer);
  });
}
using Kinds = std::vector<WrapperClaim>;

constexpr std::string_view kAlloc = "buf0 = empty_strided_cuda((s77, 4), (4, 1), torch.float32)\n";
auto with_alloc(std::string_view rest) -> std::string {
  return std::string(kAlloc) + std::string(rest);
}

TEST(WrapperBounds, ACopyOfAllElementsIsInBounds) {
  const auto report = check(with_alloc("copy.run(arg1_1, buf0, 4*s77, stream=s)\nreturn (buf0, )"));
  EXPECT_EQ(refuted(report), Kinds{});
  EXPECT_EQ(unknown_count(report), 0);
  EXPECT_EQ(report.launches, 1);
}

TEST(WrapperBounds, OneElementMoreIsRefutedAtTheSmallestSize) {
  const auto report = check(with_alloc("copy.run(arg1_1, buf0, 1 + 4*s77, stream=s)"));
  EXPECT_EQ(refuted(report),
            (Kinds{WrapperClaim::access_in_bounds, WrapperClaim::access_in_bounds}));
  const auto findings = wrapper_findings(report);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].kind, FindingKind::access_out_of_bounds);
  EXPECT_EQ(findings[0].witness, "s77 = 2, xindex = 8");
  EXPECT_EQ(findings[0].message, "in_ptr0 is indexed at 8: needs 36 bytes, arg1_1 has 32");
}

TEST(WrapperBounds, AMaskThatLetsNothingThroughHasNoAccessToRefute) {
  Prover prover;
  Bound bound{.value = Expr(-1), .facts = {}, .guards = {}, .axes = {}, .hints = {}};
  EXPECT_TRUE(std::holds_alternative<Refuted>(decide_bound(bound, prover).answer));
  bound.facts.conditions = {Expr::boolean(false)};
  EXPECT_TRUE(std::holds_alternative<Proved>(decide_bound(bound, prover).answer));
}

TEST(WrapperBounds, WhereNoAxisIsEmptyTheLargerOfOneAndASizeIsTheSize) {
  ExprPool pool;
  Prover prover;
  const auto s = pool.symbol("s", ExprType::integer);
  const auto i = pool.symbol("i", ExprType::integer);
  const auto bound = [&](const Expr& stride) {
    Bound made{.value = s * max(Expr(1), s) - 1 - (s - 1 + i * stride),
               .facts = {},
               .guards = {},
               .axes = {{i, s, 1, 1}, {s, s + 1, 1, 1}},
               .hints = {}};
    made.facts.ranges[s] = {Expr(0), Expr::infinity()};
    made.facts.conditions = {ge(s, 1)};
    made.facts.axes = {{i, s}};
    return made;
  };
  EXPECT_TRUE(std::holds_alternative<Proved>(decide_bound(bound(s), prover).answer));
  EXPECT_FALSE(std::holds_alternative<Proved>(decide_bound(bound(s + 1), prover).answer));
}

TEST(WrapperBounds, WhatDividesANumberOfElementsIsNotZeroWhereOneRuns) {
  const auto with = [](std::string_view rows) {
    const auto size = std::string("max(1, ((s77 + 3)//4) - 1)");
    return check(
        fmt::format("buf0 = empty_strided_cuda(({0}, {1}, {1}), (({1})*({1}), {1}, 1), "
                    "torch.float32)\n"
                    "pooled.run(buf0, ((s77 + 3)//4) - 1, "
                    "3*(((s77 + 3)//4) - 1)*(((s77 + 3)//4) - 1), stream=s)",
                    rows, size));
  };
  EXPECT_EQ(unknown_count(with("3")), 0);
  EXPECT_EQ(refuted(with("3")), Kinds{});
  EXPECT_EQ(refuted(with("2")), Kinds{WrapperClaim::access_in_bounds});
}

TEST(WrapperBounds, AConditionOnDataHelpsNoProofAndAllowsNoCounterexample) {
  ExprPool pool;
  Prover prover;
  const auto s = pool.symbol("s", ExprType::integer);
  const auto x = pool.symbol("x", ExprType::real);
  Bound bound{.value = mod(s * s + s, Expr(2)) * -1,
              .facts = {},
              .guards = {gt(x, Expr::real(0.5)), ge(s, 3)},
              .axes = {},
              .hints = {}};
  bound.facts.ranges[s] = {Expr(0), Expr::infinity()};
  const auto decision = decide_bound(bound, prover);
  EXPECT_FALSE(std::holds_alternative<Refuted>(decision.answer));
  if (const auto* proof = std::get_if<Proved>(&decision.answer)) {
    EXPECT_EQ(std::ranges::count(proof->needed, std::size_t{0}), 0);
  }
}

TEST(WrapperBounds, AGuardOfOneSymbolBoundsItFromBothSides) {
  ExprPool pool;
  Prover prover;
  const auto s = pool.symbol("s", ExprType::integer);
  const auto i = pool.symbol("i", ExprType::integer);
  const auto x = pool.symbol("x", ExprType::real);
  const auto side = floor_div(s - 1, 16) + 1;
  const auto cells = side * side;  // 196 for s from 209 to 224
  const auto bound = [&](std::int64_t count) {
    Bound made{.value = cells - 1 - i,
               .facts = {},
               .guards = {gt(x, Expr::real(0.5)), ge(s, 3), eq(cells, 196)},
               .axes = {{i, Expr(count), 1, 1}},
               .hints = {{s, Expr(224)}}};
    made.facts.ranges[s] = {Expr(2), Expr::infinity()};
    made.facts.axes = {{i, Expr(count)}};
    return made;
  };
  const auto decision = decide_bound(bound(196), prover);
  const auto* proof = std::get_if<Proved>(&decision.answer);
  ASSERT_NE(proof, nullptr);
  EXPECT_EQ(proof->needed, std::vector<std::size_t>{2});
  EXPECT_FALSE(std::holds_alternative<Proved>(decide_bound(bound(197), prover).answer));
}

TEST(WrapperBounds, TheSolverIsAskedWithoutConditionsOnData) {
  ExprPool pool;
  Prover prover;
  const auto s = pool.symbol("s", ExprType::integer);
  const auto i = pool.symbol("i", ExprType::integer);
  const auto x = pool.symbol("x", ExprType::real);
  // Two rows of half the height, and both of their last.
  const auto bound = [&](std::int64_t more) {
    Bound made{.value = max(Expr(1), floor_div(s + 3, 4)) - 1 - (2 * i + more),
               .facts = {},
               .guards = {gt(x, Expr::real(0.5))},
               .axes = {{i, floor_div(s + 3, 8), 1, 1}},
               .hints = {}};
    made.facts.ranges[s] = {Expr(2), Expr::infinity()};
    made.facts.axes = {{i, floor_div(s + 3, 8)}};
    return made;
  };
  EXPECT_TRUE(std::holds_alternative<Proved>(decide_bound(bound(1), prover).answer));
  EXPECT_FALSE(std::holds_alternative<Proved>(decide_bound(bound(2), prover).answer));
}

TEST(WrapperBounds, AViewWithoutElementsTouchesNothing) {
  constexpr std::string_view kText = "buf0 = empty_strided_cuda((s77, 4), (4, 1), torch.float32)\n";
  EXPECT_EQ(
      refuted(check(std::string(kText) + "return (reinterpret_tensor(buf0, (0, 9), (9, 1), 0), )")),
      Kinds{});
  EXPECT_EQ(refuted(check(std::string(kText) +
                          "return (reinterpret_tensor(buf0, (s77, 9), (4, 1), 0), )")),
            Kinds{WrapperClaim::view_in_storage});
}

TEST(WrapperBounds, AReusedStorageMustNotBeReadThroughItsOldView) {
  constexpr std::string_view kText =
      "buf1 = reinterpret_tensor(buf0, (4, s77), (1, 4), 0)\n"
      "buf2 = buf0; del buf0  # reuse\ncopy.run(arg1_1, buf2, 4*s77, stream=s)\n";
  EXPECT_EQ(refuted(check(with_alloc(std::string(kText) + "return (buf1, )"))),
            Kinds{WrapperClaim::operands_live});
  EXPECT_EQ(refuted(check(with_alloc(std::string(kText) + "return (buf2, )"))), Kinds{});
}

TEST(WrapperBounds, ADeletedBufferMustNotBeUsed) {
  EXPECT_EQ(refuted(check(with_alloc("del buf0\ncopy.run(arg1_1, buf0, 4*s77, stream=s)"))),
            Kinds{WrapperClaim::operands_live});
  EXPECT_EQ(refuted(check(with_alloc("copy.run(arg1_1, buf0, 4*s77, stream=s)\ndel buf0"))),
            Kinds{});
}

/// Sizes, strides and offset are in elements of the view's dtype.
TEST(WrapperBounds, AViewOfAnotherDtypeHasAsManyBytes) {
  const auto returned = [](std::string_view view) {
    return refuted(check(with_alloc(fmt::format("return (reinterpret_tensor(buf0, {}), )", view))));
  };
  const Kinds out{WrapperClaim::view_in_storage};
  EXPECT_EQ(returned("(s77, 8), (8, 1), 0, torch.float16"), Kinds{});
  EXPECT_EQ(returned("(s77, 8), (8, 1), 1, torch.float16"), out);
  EXPECT_EQ(returned("(s77, 2), (2, 1), 0, torch.int64"), Kinds{});
  EXPECT_EQ(returned("(s77, 4), (4, 1), 0, torch.int64"), out);
  EXPECT_EQ(returned("(s77, 8), (8, 1), 0"), out);
}

TEST(WrapperBounds, AViewBehindItsStorageIsRefuted) {
  EXPECT_EQ(refuted(check(with_alloc("return (reinterpret_tensor(buf0, (s77, ), (4, ), 4), )"))),
            Kinds{WrapperClaim::view_in_storage});
  EXPECT_EQ(refuted(check(with_alloc("return (reinterpret_tensor(buf0, (s77, ), (4, ), 3), )"))),
            Kinds{});
  EXPECT_EQ(refuted(check(with_alloc("return (reinterpret_tensor(buf0, (2, ), (1, ), -1), )"))),
            Kinds{WrapperClaim::view_in_storage});
}

TEST(WrapperBounds, OffsetsOfViewsOfViewsAddUp) {
  constexpr std::string_view kText = "buf1 = reinterpret_tensor(buf0, (2, ), (1, ), 4)\n";
  EXPECT_EQ(refuted(check(with_alloc(std::string(kText) +
                                     "return (reinterpret_tensor(buf1, (4, ), (1, ), 0), )"))),
            Kinds{});
  EXPECT_EQ(refuted(check(with_alloc(std::string(kText) +
                                     "return (reinterpret_tensor(buf1, (4, ), (1, ), 1), )"))),
            Kinds{WrapperClaim::view_in_storage});
}

TEST(WrapperBounds, ProductsNeedMatchingSizes) {
  EXPECT_EQ(refuted(check("buf0 = empty_strided_cuda((s77, s77), (s77, 1), torch.float32)\n"
                          "extern_kernels.mm(arg1_1, reinterpret_tensor(arg1_1, (4, s77), (1, 4), "
                          "0), out=buf0)")),
            Kinds{});
  EXPECT_EQ(refuted(check(with_alloc("extern_kernels.mm(arg1_1, reinterpret_tensor(arg1_1, (4, "
                                     "s77), (1, 4), 0), out=buf0)"))),
            Kinds{WrapperClaim::shapes_agree});
}

TEST(WrapperBounds, AssertsFollowFromHowABufferWasMade) {
  EXPECT_EQ(refuted(check(with_alloc("assert_size_stride(buf0, (s77, 4), (4, 1))"))), Kinds{});
  EXPECT_EQ(refuted(check(with_alloc("assert_size_stride(buf0, (s77, 4), (1, s77))"))),
            Kinds{WrapperClaim::assert_holds});
}

TEST(WrapperBounds, DataAsIndexIsUnknownWithoutAnAssertAndProvedWithOne) {
  constexpr std::string_view kText =
      "buf0 = empty_strided_cuda((s77, ), (1, ), torch.int64)\n"
      "gather.run(buf0, arg1_1, s77, s77, stream=s)";
  EXPECT_EQ(unknown_count(check(kText)), 1);
  const auto proved =
      check(kText, "tl.device_assert(((0 <= tmp0) & (tmp0 < ks0)) | ~(xmask), 'range')");
  EXPECT_EQ(unknown_count(proved), 0);
  EXPECT_EQ(refuted(proved), Kinds{});
  const auto wide =
      check(kText, "tl.device_assert(((0 <= tmp0) & (tmp0 < 5*ks0)) | ~(xmask), 'range')");
  EXPECT_EQ(refuted(wide), Kinds{WrapperClaim::access_in_bounds});
}

TEST(WrapperBounds, AnAssertThatFloatsDecideRefutesNothing) {
  const auto report = check(
      "buf0 = empty_strided_cuda((s77, ), (1, ), torch.int64)\n"
      "gather.run(buf0, arg1_1, s77, s77, stream=s)",
      "tl.device_assert(((0 <= tmp0) & (tmp0 < (ks0.to(tl.float32)*1.0).to(tl.int64))) | "
      "~(xmask), 'range')");
  EXPECT_EQ(refuted(report), Kinds{});
  EXPECT_EQ(unknown_count(report), 1);
}

TEST(WrapperBounds, PoolsHoldTheirBuffers) {
  constexpr std::string_view kPool =
      "pool0 = empty_strided_cuda((align(4*s77), ), (1, ), torch.uint8)\n";
  EXPECT_EQ(refuted(check(std::string(kPool) +
                          "buf0 = alloc_from_pool(pool0, 0, torch.float32, (s77, ), (1, ))")),
            Kinds{});
  EXPECT_EQ(refuted(check(std::string(kPool) +
                          "buf0 = alloc_from_pool(pool0, 64, torch.float32, (s77, ), (1, ))")),
            Kinds{WrapperClaim::view_in_storage});
}

TEST(WrapperBounds, AProofNamesTheGuardsThatItRestsOn) {
  ShapeEnv env;
  const auto size = *env.add_symbol("s77");
  env.add_guard({.condition = le(size, 1000), .text = {}, .where = {}});
  env.add_guard({.condition = le(size, 100), .text = {}, .where = {}});
  const auto program = read_wrapper(
      "def call(args):\n    arg0_1, = args\n    s77 = arg0_1\n"
      "    buf0 = empty_strided_cuda((100, ), (1, ), torch.float32)\n"
      "    buf1 = reinterpret_tensor(buf0, (s77, ), (1, ), 0)\n    return (buf1, )\n",
      env);
  ASSERT_TRUE(program) << program.error().message;
  const auto report = check_wrapper(*program);
  const auto view = std::ranges::find(report.obligations, WrapperClaim::view_in_storage,
                                      &WrapperObligation::kind);
  ASSERT_NE(view, report.obligations.end());
  const auto* proved = std::get_if<Proved>(&view->answer);
  ASSERT_TRUE(proved);
  ASSERT_EQ(proved->needed.size(), 1U);
  EXPECT_EQ(report.facts[proved->needed[0]].guard, 1U);
  ASSERT_FALSE(view->proofs.empty());
  EXPECT_TRUE(std::ranges::all_of(view->proofs, [](const Query& query) {
    return std::holds_alternative<Proved>(Prover().prove(query));
  }));
}

}  // namespace
}  // namespace assay
