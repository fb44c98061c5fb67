// Edits of a wrapper's text: each kind proposes what it should and nothing that breaks the text.
#include "minifier/edits/text_patches.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace assay {
namespace {

constexpr std::string_view kWrapper = R"(
triton_red_fused_0 = async_compile.triton('triton_red_fused_0', '''
@triton_heuristics.reduction(
    size_hints={'x': 64, 'r0_': 128},
    triton_meta={'signature': {'in_ptr0': '*bf16', 'in_ptr1': '*i64', 'out_ptr0': '*fp32', 'xnumel': 'i32'}},
)
@triton.jit
def triton_red_fused_0(in_ptr0, in_ptr1, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr):
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    x0 = xindex
    r0_base = tl.arange(0, R0_BLOCK)[None, :]
    for r0_offset in range(0, 128, R0_BLOCK):
        r0_1 = r0_offset + r0_base
        tmp0 = tl.load(in_ptr0 + (r0_1 + 64*x0), xmask & r0_mask, other=0.0).to(tl.float32)
        tmp1 = tl.where(xmask, tmp0, 0.5)
    tmp2 = tl.sum(tmp1, 1)[:, None]
    tmp3 = tmp2 * 2.0
    tl.store(out_ptr0 + (x0), tmp3, xmask)
''', device_str='cuda')

def call(args):
    arg0_1, arg1_1 = args
    buf0 = empty_strided_cuda((64, ), (1, ), torch.float32)
    triton_red_fused_0.run(arg0_1, arg1_1, buf0, 64, 128, stream=stream0)
    return (buf0, )

def get_args():
    arg0_1 = rand_strided((64, 128), (128, 1), device='cuda:0', dtype=torch.bfloat16)
    arg1_1 = recorded((4, ), (1, ), device='cuda:0', dtype=torch.int64, data='0100000000000000020000000000000003000000000000000400000000000000')
    return [arg0_1, arg1_1]
)";

/// All texts of a kind.
auto texts(TextPatchKind kind) -> std::vector<std::string> {
  std::vector<std::string> all;
  for (const auto& patch : text_patches(kWrapper, kind)) all.push_back(patched(kWrapper, patch));
  return all;
}

auto holds(const std::vector<std::string>& all, std::string_view line) -> bool {
  return std::ranges::any_of(all, [&](const std::string& text) { return text.contains(line); });
}

TEST(TextPatches, LoadsBecomeConstantsOfTheirKind) {
  const auto all = texts(TextPatchKind::load);
  EXPECT_EQ(all.size(), 2U);  // the load, and the value that is stored
  EXPECT_TRUE(holds(all, "tmp0 = tl.full([1, 1], 0.0, tl.float32).to(tl.float32)"));
  EXPECT_TRUE(holds(all, "tl.store(out_ptr0 + (x0), 0.0, xmask)"));
}

TEST(TextPatches, OperandsOfOperationsButNotOfTheGrid) {
  const auto all = texts(TextPatchKind::operand);
  EXPECT_TRUE(holds(all, "tmp3 = tmp2\n"));
  EXPECT_TRUE(holds(all, "tmp2 = tmp1\n"));
  EXPECT_TRUE(holds(all, "tmp1 = tmp0\n"));
  EXPECT_TRUE(holds(all, "tl.load(in_ptr0 + r0_1, xmask"));
  EXPECT_FALSE(holds(all, "tl.load(in_ptr0, xmask"));  // lanes with a mask keep an address each
  EXPECT_FALSE(holds(all, "tl.load((r0_1"));           // an address stays one
  for (const auto& text : all)
    EXPECT_TRUE(text.contains("xoffset = tl.program_id(0) * XBLOCK\n")) << text;
}

TEST(TextPatches, MasksGoOrLoseASide) {
  const auto all = texts(TextPatchKind::mask);
  EXPECT_EQ(all.size(), 4U);
  EXPECT_TRUE(holds(all, "64*x0), None)"));
  EXPECT_TRUE(holds(all, "64*x0), xmask, other=0.0)"));
  EXPECT_TRUE(holds(all, "64*x0), r0_mask, other=0.0)"));
  EXPECT_TRUE(holds(all, "tmp3, None)"));
}

TEST(TextPatches, ALoopGoesWhole) {
  const auto all = texts(TextPatchKind::block);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_FALSE(all[0].contains("r0_offset"));
  EXPECT_FALSE(all[0].contains("tmp1 = "));
  EXPECT_TRUE(all[0].contains("tmp2 = tl.sum"));
}

/// Not the numbers of elements, which the grid is made from.
TEST(TextPatches, AnUnusedParameterGoesWithItsArgument) {
  const auto all = texts(TextPatchKind::parameter);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(
      all[0].contains("def triton_red_fused_0(in_ptr0, out_ptr0, xnumel, r0_numel, XBLOCK"));
  EXPECT_TRUE(all[0].contains("{'in_ptr0': '*bf16', 'out_ptr0': '*fp32', 'xnumel': 'i32'}"));
  EXPECT_TRUE(all[0].contains("triton_red_fused_0.run(arg0_1, buf0, 64, 128, stream=stream0)"));
}

TEST(TextPatches, ASizeShrinksEverywhereWithItsPowersAndNeighbours) {
  EXPECT_EQ(sizes_in(kWrapper), (std::vector<std::int64_t>{128, 64, 4}));  // none of 1
  const auto text = with_size(kWrapper, 64, 3);
  EXPECT_TRUE(text.contains("empty_strided_cuda((3, ), (1, ), torch.float32)"));
  EXPECT_TRUE(text.contains("rand_strided((3, 6), (6, 1), device='cuda:0'"));  // 128 = 2 * 64
  EXPECT_TRUE(text.contains("(r0_1 + 3*x0)"));
  EXPECT_TRUE(text.contains("size_hints={'x': 64, 'r0_': 128}"));
  EXPECT_EQ(with_size("    i < 63 and j < 65 and k < 4096 and l < 66\n", 64, 3),
            "    i < 2 and j < 4 and k < 9 and l < 66\n");
}

TEST(TextPatches, RecordedContentsAreCutToTheirSize) {
  const auto text = with_size(kWrapper, 4, 2);
  EXPECT_TRUE(
      text.contains("recorded((2, ), (1, ), device='cuda:0', dtype=torch.int64, "
                    "data='01000000000000000200000000000000')"));
}

constexpr std::string_view kCpp = R"(
cpp_fused_0 = async_compile.cpp_pybinding(['const float*', 'const int64_t*', 'float*'], '''
extern "C"  void kernel(const float* in_ptr0,
                       const int64_t* in_ptr1,
                       float* out_ptr0)
{
    {
        auto tmp0 = at::vec::Vectorized<float>::loadu(in_ptr0 + static_cast<int64_t>(x0), static_cast<int64_t>(8));
        auto tmp1 = in_ptr1[static_cast<int64_t>(0L)];
        auto tmp2 = at::vec::maximum(tmp0, tmp1);
        auto tmp3 = tmp2.sin();
        auto tmp4 = tmp3;
        tmp4.store(out_ptr0 + static_cast<int64_t>(x0));
    }
}
''')
    auto tmp9 = tmp8 + tmp7;
)";

auto cpp_texts(TextPatchKind kind) -> std::vector<std::string> {
  std::vector<std::string> all;
  for (const auto& patch : text_patches(kCpp, kind)) all.push_back(patched(kCpp, patch));
  return all;
}

TEST(TextPatches, LoadsOfCppBecomeZerosOfTheirType) {
  const auto all = cpp_texts(TextPatchKind::load);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_TRUE(holds(all, "tmp0 = at::vec::Vectorized<float>(static_cast<float>(0));"));
  EXPECT_TRUE(holds(all, "tmp1 = static_cast<int64_t>(0);"));
}

/// Neither addresses of loads nor what stands outside of a kernel.
TEST(TextPatches, OperandsOfCppTakeThePlaceOfTheirOperation) {
  const auto all = cpp_texts(TextPatchKind::operand);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_TRUE(holds(all, "tmp2 = tmp0;"));
  EXPECT_TRUE(holds(all, "tmp2 = tmp1;"));
  EXPECT_TRUE(holds(all, "tmp3 = tmp2;"));
}

constexpr std::string_view kHost = R"(
@triton_heuristics.template(num_stages=3, num_warps=8, triton_meta={'signature': {'in_ptr0': '*bf16'}})
    R0_BLOCK: tl.constexpr = 64
    tmp0 = (x0 % 12) + tl.full([1], 0, tl.bfloat16)
def call(args):
    arg0_1, arg1_1 = args
    s77 = arg0_1
    assert_size_stride(arg1_1, (2, 3, 4), (12, 4, 1))
    buf0 = empty_strided_cuda((s77, 4), (4, 1), torch.bfloat16)
    buf1 = empty_strided_cuda((5, 1, 2), (1, 9, 5), torch.float32)
    k.run(arg1_1, buf0, 4*s77, s771, stream=stream0)

def get_args():
    arg0_1 = 6
    arg1_1 = rand_strided((2, 3, 4), (12, 4, 1), device='cuda:0', dtype=torch.float32)
    return [arg0_1, arg1_1]
)";
auto host_texts(TextPatchKind kind) -> std::vector<std::string> {
  std::vector<std::string> all;
  for (const auto& patch : text_patches(kHost, kind)) all.push_back(patched(kHost, patch));
  return all;
}

TEST(TextPatches, ASymbolBecomesTheNumberThatItsInputIs) {
  ASSERT_EQ(number_inputs(kHost).size(), 1U);
  EXPECT_EQ(number_inputs(kHost)[0].symbol, "s77");
  const auto all = host_texts(TextPatchKind::symbol);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(all[0].contains("empty_strided_cuda((6, 4), (4, 1), torch.bfloat16)"));
  EXPECT_TRUE(all[0].contains("k.run(arg1_1, buf0, 4*6, s771, stream=stream0)"));
  EXPECT_FALSE(all[0].contains("s77 ="));
}

TEST(TextPatches, AxesOfABufferGoWhereverItsLayoutStands) {
  const auto all = host_texts(TextPatchKind::axis);
  EXPECT_TRUE(holds(all, "assert_size_stride(arg1_1, (6, 4), (4, 1))"));
  EXPECT_TRUE(holds(all, "rand_strided((6, 4), (4, 1), device"));
  EXPECT_TRUE(holds(all, "assert_size_stride(arg1_1, (2, 12), (12, 1))"));
  EXPECT_TRUE(holds(all, "empty_strided_cuda((5, 2), (1, 5), torch.float32)"));
  for (const auto& text : all)
    EXPECT_EQ(text.contains("stride(arg1_1, (6, 4), (4, 1))"), text.contains("ed((6, 4), (4, 1)"));
  EXPECT_EQ(all.size(), 3U);  // none of buf0, whose size is a symbol
}

TEST(TextPatches, StridesBecomeRowMajor) {
  const auto all = host_texts(TextPatchKind::stride);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(all[0].contains("empty_strided_cuda((5, 1, 2), (2, 2, 1), torch.float32)"));
}

TEST(TextPatches, ADtypeBecomesFloat32Everywhere) {
  const auto all = host_texts(TextPatchKind::dtype);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_FALSE(all[0].contains("bfloat16"));
  EXPECT_TRUE(all[0].contains("{'in_ptr0': '*fp32'}"));
  EXPECT_TRUE(all[0].contains("tl.full([1], 0, tl.float32)"));
}

TEST(TextPatches, LaunchesGetSmaller) {
  const auto all = host_texts(TextPatchKind::launch);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_TRUE(holds(all, "num_stages=1, num_warps=8"));
  EXPECT_TRUE(holds(all, "num_stages=3, num_warps=1"));
  EXPECT_TRUE(holds(all, "R0_BLOCK: tl.constexpr = 32"));
}

TEST(TextPatches, InputsAloneGetAnotherSize) {
  const auto text = with_input_size(kHost, 6, 7);
  EXPECT_TRUE(text.contains("arg0_1 = 7"));
  EXPECT_TRUE(text.contains("k.run(arg1_1, buf0, 4*s77"));
  EXPECT_EQ(divisors_in(kHost), (std::vector<std::int64_t>{12}));
}

}  // namespace
}  // namespace assay
