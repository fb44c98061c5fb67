// The text form of kernels: what is printed is read back, and broken texts are errors with a line.
#include "compiler/program/text.h"

#include <gtest/gtest.h>

#include "compiler/read/triton.h"

namespace assay {
namespace {

constexpr std::string_view kSource = R"(
@triton_heuristics.reduction(
    size_hints={'x': 8, 'r0_': 64},
    triton_meta={'signature': {'in_ptr0': '*bf16', 'out_ptr0': '*fp32', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr', 'R0_BLOCK': 'constexpr'}, 'constants': {}},
    inductor_meta={'grid_type': 'Grid1D'})
@triton.jit
def k(in_ptr0, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr):
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    r0_base = tl.arange(0, R0_BLOCK)[None, :]
    _tmp2 = tl.full([XBLOCK, R0_BLOCK], float("-inf"), tl.float32)
    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
        r0_index = r0_offset + r0_base
        r0_mask = r0_index < r0_numel
        tmp0 = tl.load(in_ptr0 + (r0_index + r0_numel*xindex), r0_mask & xmask, other=0.0).to(tl.float32)
        tmp1 = triton_helpers.maximum(_tmp2, tmp0)
        _tmp2 = tl.where(r0_mask & xmask, tmp1, _tmp2)
    tmp2 = triton_helpers.max2(_tmp2, 1)[:, None]
    tl.store(out_ptr0 + (xindex), tmp2, xmask)
)";

class KernelTextTest : public ::testing::Test {
 protected:
  auto kernel() -> TileKernel {
    auto read = read_triton(kSource, pool_);
    EXPECT_TRUE(read) << read.error().message;
    if (!read) return {};
    EXPECT_TRUE(read->is_understood());
    return *std::move(read);
  }
  ExprPool pool_;
};

TEST_F(KernelTextTest, WhatIsPrintedIsReadBack) {
  const auto text = print_kernel(kernel());
  const auto again = parse_kernel(text, pool_);
  ASSERT_TRUE(again) << again.error().message << "\n" << text;
  EXPECT_EQ(print_kernel(*again), text);
  EXPECT_EQ(structural_hash(*again), structural_hash(kernel()));
}

TEST_F(KernelTextTest, NamesAndLinesDoNotCountForTheStructure) {
  auto renamed = kernel();
  renamed.name = "other";
  for (auto& value : renamed.values) value.name += "_";
  for (auto& param : renamed.params) param.name += "_";
  for (auto& axis : renamed.axes) axis.name += "_";
  EXPECT_EQ(structural_hash(renamed), structural_hash(kernel()));
  auto changed = kernel();
  std::get<TileReduce>(changed.body.body.at(changed.body.body.size() - 2).what).combine =
      TileCombine::min;
  EXPECT_NE(structural_hash(changed), structural_hash(kernel()));
}

/// So do symbols that parameters stand for; others are what they are.
TEST_F(KernelTextTest, SymbolsOfParametersDoNotCountForTheStructure) {
  const auto of = [&](const std::string& param, const std::string& extent) {
    const auto read = parse_kernel(
        fmt::format("kernel k \"pointwise\"\nparam {0} scalar int64\nparam out buffer int64\n"
                    "axis x parallel exact max 8 block (1) extent ({1})\nbody {{\n"
                    "  %0:int64[x] = index(x) line 0\n  store(out) %0 %0 _ line 0\n}}\n",
                    param, extent),
        pool_);
    EXPECT_TRUE(read) << read.error().message;
    return structural_hash(*read);
  };
  EXPECT_EQ(of("n", "2*n + 1"), of("size", "2*size + 1"));
  EXPECT_NE(of("n", "2*n + 1"), of("n", "3*n + 1"));
  EXPECT_NE(of("n", "n"), of("n", "4"));
}

TEST_F(KernelTextTest, ABrokenTextIsAnErrorWithItsLine) {
  auto text = print_kernel(kernel());
  const auto at = text.find("reduce(max");
  text.replace(at, 10, "reduce(mux");
  const auto parsed = parse_kernel(text, pool_);
  ASSERT_FALSE(parsed);
  EXPECT_TRUE(parsed.error().message.starts_with("line ")) << parsed.error().message;
}

TEST_F(KernelTextTest, ATextThatBreaksARuleIsRefused) {
  auto text = print_kernel(kernel());
  const auto at = text.find(":float32[x r0_]");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 15, ":float64[x r0_]");
  EXPECT_FALSE(parse_kernel(text, pool_));
}

}  // namespace
}  // namespace assay
