#include "compiler/prove/kernel_accesses.h"

#include <gtest/gtest.h>

#include "compiler/read/triton.h"
#include "core/expr/text.h"

namespace assay {
namespace {

class KernelTest : public ::testing::Test {
 protected:
  /// A kernel with in_ptr0 (f32), in_ptr1 (i64), out_ptr0 (f32), ks0 (i64), xnumel (i32).
  struct Read : KernelAccesses {
    TileKernel kernel;
  };
  auto read(std::string_view body) -> Read {
    std::string text =
        "@triton_heuristics.pointwise(\n    size_hints={'x': 512},\n    triton_meta={'signature': "
        "{'in_ptr0': '*fp32', 'in_ptr1': '*i64', 'out_ptr0': '*fp32', 'ks0': 'i64', 'xnumel': "
        "'i32', 'XBLOCK': 'constexpr'}, 'constants': {}},\n    inductor_meta={})\n@triton.jit\n"
        "def k(in_ptr0, in_ptr1, out_ptr0, ks0, xnumel, XBLOCK : tl.constexpr):\n"
        "    xoffset = tl.program_id(0) * XBLOCK\n"
        "    xindex = xoffset + tl.arange(0, XBLOCK)[:]\n    xmask = xindex < xnumel\n";
    for (std::size_t at = 0; at < body.size();) {
      const auto end = std::min(body.find('\n', at), body.size());
      text += "    " + std::string(body.substr(at, end - at)) + "\n";
      at = end + 1;
    }
    auto kernel = read_triton(text, pool_);
    EXPECT_TRUE(kernel) << kernel.error().message;
    if (!kernel) return {};
    EXPECT_EQ(verify(*kernel), std::vector<std::string>{});
    return {derive_accesses(*kernel, pool_), std::move(*kernel)};
  }
  static auto index(const Read& kernel, std::size_t i) -> std::string {
    return print_expr(kernel.accesses.at(i).index);
  }
  ExprPool pool_;
};

TEST_F(KernelTest, TheIndexIsAnAxisOfItsOwn) {
  const auto kernel = read("tl.store(out_ptr0 + (xindex), 1.0, xmask)");
  ASSERT_EQ(kernel.axes.size(), 1U);
  EXPECT_EQ(kernel.axes[0].name, "xindex");
  EXPECT_EQ(print_expr(*kernel.axes[0].numel), "xnumel");
  ASSERT_EQ(kernel.accesses.size(), 1U);
  EXPECT_EQ(kernel.accesses[0].kind, AccessKind::store);
  EXPECT_EQ(kernel.accesses[0].index, kernel.axes[0].symbol);
  EXPECT_EQ(kernel.accesses[0].mask, lt(kernel.axes[0].symbol, *pool_.find_symbol("xnumel")));
}

TEST_F(KernelTest, IndexArithmeticIsRead) {
  const auto kernel = read(
      "x0 = (xindex % 8)\nx1 = xindex // ks0\n"
      "tmp0 = tl.load(in_ptr0 + (3 + x0 + ks0*x1), xmask, other=0.0)");
  const auto x = print_expr(kernel.axes[0].symbol);
  EXPECT_EQ(
      kernel.accesses[0].index,
      Expr(3) + mod(kernel.axes[0].symbol, 8) +
          *pool_.find_symbol("ks0") * floor_div(kernel.axes[0].symbol, *pool_.find_symbol("ks0")))
      << x;
  EXPECT_EQ(kernel.divisions.size(), 2U);
}

TEST_F(KernelTest, MaximaWrittenAsSumsAreMaxima) {
  const auto kernel = read(
      "tl.store(out_ptr0 + (xindex*((1) * ((1) >= (ks0 - 3)) + (ks0 - 3) * ((ks0 - 3) > (1)))), "
      "1.0)\n"
      "tl.store(out_ptr0 + ((ks0) * ((ks0) <= (7)) + (7) * ((7) < (ks0))), 1.0)\n"
      "tl.store(out_ptr0 + ((5) * ((ks0) <= (7)) + (9) * ((7) < (ks0))), 1.0)\n"
      "tl.store(out_ptr0 + ((5) * ((ks0) <= (7)) + (9) * ((6) < (ks0))), 1.0)");
  const auto ks0 = *pool_.find_symbol("ks0");
  EXPECT_EQ(kernel.accesses[0].index, kernel.axes[0].symbol * max(Expr(1), ks0 - 3));
  EXPECT_EQ(kernel.accesses[1].index, min(ks0, 7));
  EXPECT_EQ(kernel.accesses[2].index, where(le(ks0, 7), 5, 9));
  EXPECT_EQ(kernel.accesses[3].index, 5 * where(le(ks0, 7), 1, 0) + 9 * where(gt(ks0, 6), 1, 0))
      << "both hold at 7";
}

TEST_F(KernelTest, FloatsDoNotReachTheIndex) {
  const auto kernel = read(
      "tmp0 = tl.load(in_ptr0 + (xindex), xmask)\n"
      "tmp1 = libdevice.exp(tmp0 * 2.0)\n"
      "tl.store(out_ptr0 + (xindex), tmp1, xmask)");
  EXPECT_TRUE(kernel.kernel.is_understood());
  EXPECT_EQ(kernel.accesses.size(), 2U);
  EXPECT_TRUE(kernel.data.empty());
}

/// `int(1.5 * n)`, as sizes of what is interpolated are written.
TEST_F(KernelTest, ScaledSizesAreExpressions) {
  const auto kernel = read(
      "tmp0 = tl.load(in_ptr0 + (xindex + libdevice.trunc(tl.full([], 1.5, tl.float64)*"
      "ks0.to(tl.float64)).to(tl.int32)), xmask)\n"
      "tmp1 = tl.load(in_ptr0 + (0*xindex + libdevice.floor(ks0.to(tl.float64)).to(tl.int64)), "
      "xmask)\n"
      "tmp2 = tl.load(in_ptr0 + (0*xindex + (ks0.to(tl.float32)*1.5).to(tl.int64)), xmask)");
  EXPECT_TRUE(kernel.kernel.is_understood());
  const auto ks0 = kernel.kernel.param("ks0")->symbol;
  const auto scaled = Expr::real(1.5) * make(ExprOp::to_float, std::array{ks0});
  const auto index = kernel.accesses[0].index;
  EXPECT_EQ(index - kernel.axes[0].symbol, make(ExprOp::trunc_to_int, std::array{scaled}));
  EXPECT_EQ(kernel.accesses[1].index, ks0);
  ASSERT_EQ(kernel.data.size(), 1U) << "float32 rounds";
  EXPECT_TRUE(kernel.data[0].is_computed);
}

TEST_F(KernelTest, LoadedIndicesAreDataWithTheAssertAsAFact) {
  const auto kernel = read(
      "tmp0 = tl.load(in_ptr1 + (xindex), xmask)\n"
      "tl.device_assert(((0 <= tmp0) & (tmp0 < ks0)) | ~(xmask), 'range')\n"
      "tmp1 = tl.load(in_ptr0 + (tmp0), xmask)");
  ASSERT_EQ(kernel.data.size(), 1U);
  EXPECT_EQ(kernel.accesses[1].index, kernel.data[0].symbol);
  EXPECT_EQ(kernel.accesses[0].facts, 0U);
  EXPECT_EQ(kernel.accesses[1].facts, 1U);
}

TEST_F(KernelTest, ConditionsOnFloatsAreUnknownNotTrue) {
  const auto kernel = read(
      "tmp0 = tl.load(in_ptr0 + (xindex), xmask)\ntmp1 = tmp0 > 0.5\n"
      "tl.store(out_ptr0 + (xindex), tmp0, tmp1 & xmask)");
  EXPECT_EQ(kernel.accesses[1].mask.op(), ExprOp::logic_and);
}

TEST_F(KernelTest, LoopsMakeAnAxisUpToTheirEnd) {
  const auto kernel = read(
      "base = tl.arange(0, XBLOCK)[None, :]\n"
      "for r0_offset in tl.range(0, ks0, XBLOCK):\n"
      "    r0_index = r0_offset + base\n    r0_mask = r0_index < ks0\n"
      "    tmp0 = tl.load(in_ptr0 + (r0_index), r0_mask & xmask)");
  ASSERT_EQ(kernel.axes.size(), 2U);
  EXPECT_EQ(print_expr(*kernel.axes[1].numel), "ks0");
  EXPECT_TRUE(kernel.kernel.is_understood());
}

TEST_F(KernelTest, ValuesCarriedThroughALoopAreNotTakenForTheirStart) {
  const auto kernel = read(
      "i = tl.full([1], 0, tl.int64)\nfor j in range(0, ks0, 1):\n"
      "    tmp0 = tl.load(in_ptr0 + (tl.broadcast_to(i, [XBLOCK])), xmask)\n    i = i + 1");
  ASSERT_EQ(kernel.accesses.size(), 1U);
  EXPECT_FALSE(kernel.accesses[0].index.is_const());
}

TEST_F(KernelTest, WhatBothBranchesGiveIsThatBehindThem) {
  const auto kernel = read(
      "if ks0 > 3:\n    same = xindex % 8\n    other = xindex % 8\n"
      "else:\n    same = xindex % 8\n    other = xindex % 9\n"
      "tmp0 = tl.load(in_ptr0 + (same), xmask)\n"
      "tmp1 = tl.load(in_ptr0 + (other), xmask)");
  EXPECT_TRUE(kernel.kernel.is_understood());
  ASSERT_EQ(kernel.accesses.size(), 2U);
  EXPECT_EQ(kernel.accesses[0].index, mod(kernel.axes[0].symbol, 8));
  EXPECT_EQ(kernel.accesses[1].index.op(), ExprOp::symbol) << index(kernel, 1);
}

TEST_F(KernelTest, PointersThatALoopMovesAreAnywhere) {
  const auto kernel = read(
      "p = in_ptr0 + xindex\nfor j in range(ks0, 0, -4):\n"
      "    tmp0 = tl.load(p, xmask)\n    p += 4");
  EXPECT_TRUE(kernel.kernel.is_understood());
  ASSERT_EQ(kernel.accesses.size(), 1U);
  EXPECT_NE(kernel.accesses[0].index, kernel.axes[0].symbol);
}

TEST_F(KernelTest, ResultsIn32BitsAreKept) {
  const auto narrow = read("tmp0 = tl.load(in_ptr0 + (70000*xindex), xmask)");
  EXPECT_EQ(narrow.accesses[0].index_bits, 32);
  EXPECT_FALSE(narrow.accesses[0].narrow.empty());
  const auto wide = read("tmp0 = tl.load(in_ptr0 + (ks0*xindex), xmask)");
  EXPECT_EQ(wide.accesses[0].index_bits, 64);
  EXPECT_TRUE(wide.accesses[0].narrow.empty());
}

TEST_F(KernelTest, TheBranchThatIsNotTakenMayOverflow) {
  const auto kernel = read(
      "i = xindex\nj = tl.where(i < 0, i + 512, i)\n"
      "tmp0 = tl.load(in_ptr0 + (j), xmask)");
  ASSERT_FALSE(kernel.accesses[0].narrow.empty());
  EXPECT_EQ(kernel.accesses[0].narrow[0].op(), ExprOp::where);
}

TEST_F(KernelTest, APointerThatGoesElsewhereIsNotUnderstood) {
  const auto kernel = read(
      "tmp0 = triton_helpers.bucketize_binary_search(xindex, in_ptr0, 4)\n"
      "tl.store(out_ptr0 + (xindex), 1.0, xmask)");
  ASSERT_EQ(kernel.kernel.not_understood.size(), 1U);
  EXPECT_EQ(kernel.kernel.not_understood[0].line, 10);
  EXPECT_EQ(kernel.accesses.size(), 1U);
}

TEST_F(KernelTest, BranchesOfCombinedKernelsAreConditions) {
  const auto kernel = read(
      "pid = tl.program_id(0)\nif pid < 4:\n"
      "    tl.store(out_ptr0 + (xindex), 1.0, xmask)\nelse:\n"
      "    tl.store(out_ptr0 + (1 + xindex), 1.0, xmask)");
  ASSERT_EQ(kernel.accesses.size(), 2U);
  EXPECT_NE(kernel.accesses[0].mask, kernel.accesses[1].mask);
  EXPECT_TRUE(kernel.kernel.is_understood());
}

TEST_F(KernelTest, ASourceWithoutAKernelIsAnError) {
  EXPECT_FALSE(read_triton("import triton\n", pool_));
}

}  // namespace
}  // namespace assay
