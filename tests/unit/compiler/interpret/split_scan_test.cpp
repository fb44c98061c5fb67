// Scans whose rows are divided among programs that look back at each other.
#include "tests/unit/compiler/interpret/small_programs.h"

namespace assay {
namespace {

/// A scan of rows of arg0, f32[3, 40], as Inductor writes it for long ones. `helper` combines a
/// and b; what is scanned has the dtype `of`.
auto scan(std::string_view helper, std::string_view of, std::string_view suffix) -> std::string {
  return fmt::format(
      "k = async_compile.triton('k', '''\nimport triton\n@triton.jit\n"
      "def _triton_helper_fn0(arg0_0, arg1_0):\n    tmp0 = {0}\n    return tmp0\n\n"
      "@triton_heuristics.split_scan(\n    size_hints={{'x': 4, 'r0_': 64}},\n"
      "    triton_meta={{'signature': {{'in_ptr0': '*fp32', 'out_ptr0': '*fp32', 'ws_ptr': '*u8', "
      "'xnumel': 'i32', 'r0_numel': 'i32', 'R0_BLOCK': 'constexpr'}}, 'constants': {{}}}},\n"
      "    inductor_meta={{'grid_type': 'SplitScanGrid'}},\n)\n@triton.jit\n"
      "def k(in_ptr0, out_ptr0, ws_ptr, xnumel, r0_numel, R0_BLOCK : tl.constexpr):\n"
      "    XBLOCK: tl.constexpr = 1\n    RBLOCK: tl.constexpr = R0_BLOCK\n"
      "    xoffset = (tl.program_id(1) + tl.program_id(2) * tl.num_programs(1)) * XBLOCK\n"
      "    xindex = tl.full([1], xoffset, tl.int32)\n    xmask = xindex < xnumel\n"
      "    r0_offset = tl.program_id(0) * R0_BLOCK\n"
      "    r0_index = r0_offset + tl.arange(0, R0_BLOCK)[:]\n    r0_mask = r0_index < r0_numel\n"
      "    roffset = r0_offset\n"
      "    tmp0 = tl.load(in_ptr0 + (r0_index + 40*xindex), r0_mask & xmask, other=0.0)\n"
      "    tmp1 = tmp0.to({1})\n    tmp2 = tl.broadcast_to(tmp1, [R0_BLOCK])\n"
      "    tmp3 = tl.reduce(tmp2, 0, _triton_helper_fn0)\n"
      "    tmp4 = triton_helpers.exclusive_scan_decoupled_lookback{2}(\n"
      "        ws_ptr.to(tl.pointer_type(tl.uint64)) + xoffset * 1 * tl.num_programs(0),\n"
      "        tmp3,\n        tl.program_id(0),\n        _triton_helper_fn0,\n    )\n"
      "    tmp5 = tl.associative_scan(tmp2, 0, _triton_helper_fn0)\n"
      "    tmp6 = _triton_helper_fn0(tmp4, tmp5)\n"
      "    tmp7 = tl.where(roffset == 0, tmp5, tmp6).to(tl.float32)\n"
      "    tl.store(out_ptr0 + (r0_index + 40*xindex), tmp7, r0_mask & xmask)\n"
      "''', device_str='cuda')\n"
      "def call(args):\n    arg0_1, = args\n"
      "    workspace_0 = empty_strided_cuda((960, ), (1, ), torch.uint8)\n"
      "    workspace_0.zero_()\n"
      "    buf0 = empty_strided_cuda((3, 40), (40, 1), torch.float32)\n"
      "    k.run(arg0_1, buf0, workspace_0, 3, 40, stream=stream0)\n    return (buf0, )\n",
      helper, of, suffix);
}

class SplitScan : public InterpretTest {
 protected:
  static void gives(const std::string& text, const std::function<double(double, double)>& combine) {
    std::vector<double> values, wanted;
    for (int i = 0; i < 120; ++i) {
      values.push_back((i * 7 % 11) - 11);  // below what nothing is
      const bool is_first = i % 40 == 0;
      wanted.push_back(is_first ? values.back() : combine(wanted.back(), values.back()));
    }
    for (const int block : {1, 8, 16, 64}) {
      const auto seen = run_on(text, values, block);
      EXPECT_EQ(faults(seen), Faults{});
      EXPECT_EQ(output(seen), wanted) << block;
    }
  }
};

TEST_F(SplitScan, PartsFollowEachOther) {
  gives(scan("arg0_0 + arg1_0", "tl.float32", ""), std::plus<>());
  gives(scan("triton_helpers.maximum(arg0_0, arg1_0)", "tl.float32", ""),
        [](double a, double b) { return std::max(a, b); });
}

TEST_F(SplitScan, WideNumbersToo) {
  gives(scan("arg0_0 + arg1_0", "tl.int64", "_64"), std::plus<>());
}

TEST_F(SplitScan, WhatIsZeroedNeedNotHaveBeenWritten) {
  const auto program = [](std::string_view call) {
    return fmt::format(
        "def call(args):\n    arg0_1, = args\n"
        "    buf0 = empty_strided_cuda((40, ), (1, ), torch.float32)\n    {}\n"
        "    return (buf0, )\n",
        call);
  };
  EXPECT_EQ(faults(run_text(program("buf0.zero_()"), 40, {})), Faults{});
  EXPECT_EQ(faults(run_text(program("buf0.fill_(3)"), 40, {})), Faults{});
  EXPECT_EQ(faults(run_text(program("buf0.add_(3)"), 40, {})), Faults{RunFault::uninitialised});
}

}  // namespace
}  // namespace assay
