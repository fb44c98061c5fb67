#include "compiler/program/liveness.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/read/triton.h"

namespace assay {
namespace {

/// Names of the values that matter, of those in `asked`.
auto live_of(std::string_view body, std::vector<std::string> asked) -> std::vector<std::string> {
  std::string text =
      "@triton_heuristics.reduction(\n    size_hints={'x': 8, 'r0_': 64},\n    triton_meta={"
      "'signature': {'in_ptr0': '*fp32', 'in_ptr1': '*fp32', 'out_ptr0': '*fp32', 'xnumel': 'i32', "
      "'r0_numel': 'i32', 'XBLOCK': 'constexpr', 'R0_BLOCK': 'constexpr'}, 'constants': {}},\n"
      "    inductor_meta={})\n@triton.jit\ndef k(in_ptr0, in_ptr1, out_ptr0, xnumel, r0_numel, "
      "XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr):\n"
      "    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:, None]\n"
      "    xmask = xindex < xnumel\n    r0_base = tl.arange(0, R0_BLOCK)[None, :]\n";
  text += body;
  ExprPool pool;
  const auto kernel = read_triton(text, pool);
  EXPECT_TRUE(kernel) << kernel.error().message;
  if (!kernel) return {};
  EXPECT_TRUE(kernel->is_understood());
  const auto live = live_values(*kernel);
  std::erase_if(asked, [&](const std::string& name) {
    for (std::size_t i = 0; i < live.size(); ++i)
      if (live[i] && kernel->values[i].name == name) return false;
    return true;
  });
  return asked;
}

using Names = std::vector<std::string>;

TEST(Liveness, WhatIsStoredMattersWithItsIndexAndMask) {
  EXPECT_EQ(live_of("    tmp0 = tl.load(in_ptr0 + xindex, xmask)\n"
                    "    tmp1 = tl.load(in_ptr1 + xindex, xmask)\n"
                    "    tmp2 = tmp1 * 2.0\n"
                    "    tl.store(out_ptr0 + xindex, tmp0, xmask)\n",
                    {"tmp0", "tmp1", "tmp2", "xindex", "xmask"}),
            (Names{"tmp0", "xindex", "xmask"}));
}

TEST(Liveness, WhatALoopCarriesMattersWhereItsResultDoes) {
  const auto loop = [](std::string_view stored) {
    return "    _tmp2 = tl.full([XBLOCK, R0_BLOCK], 0.0, tl.float32)\n"
           "    _tmp3 = tl.full([XBLOCK, R0_BLOCK], 0.0, tl.float32)\n"
           "    for r0_offset in tl.range(0, r0_numel, R0_BLOCK):\n"
           "        r0_index = r0_offset + r0_base\n"
           "        tmp0 = tl.load(in_ptr0 + r0_index, r0_index < r0_numel, other=0.0)\n"
           "        tmp1 = tl.load(in_ptr1 + r0_index, r0_index < r0_numel, other=0.0)\n"
           "        _tmp2 = _tmp2 + tmp0\n        _tmp3 = _tmp3 + tmp1\n"
           "    tmp2 = tl.sum(_tmp2, 1)[:, None]\n    tmp3 = tl.sum(_tmp3, 1)[:, None]\n"
           "    tl.store(out_ptr0 + xindex, " +
           std::string(stored) + ", xmask)\n";
  };
  EXPECT_EQ(live_of(loop("tmp2"), {"tmp0", "tmp1", "tmp2", "tmp3"}), (Names{"tmp0", "tmp2"}));
  EXPECT_EQ(live_of(loop("tmp3"), {"tmp0", "tmp1", "tmp2", "tmp3"}), (Names{"tmp1", "tmp3"}));
}

TEST(Liveness, AssertsMatter) {
  EXPECT_EQ(live_of("    tmp0 = tl.load(in_ptr0 + xindex, xmask)\n"
                    "    tmp1 = tl.load(in_ptr1 + xindex, xmask)\n"
                    "    tl.device_assert(tmp0 > 0.0, 'positive')\n",
                    {"tmp0", "tmp1"}),
            Names{"tmp0"});
}

}  // namespace
}  // namespace assay
