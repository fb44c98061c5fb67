// Memory of programs that were read: at the sizes of their text, and where launches read numbers
// from data.
#include "replay/runner/program_memory.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/read/wrapper.h"

namespace assay {
namespace {

/// `scale` is 4 bytes that a launch writes; the next but one takes its element for `factor`.
auto program_with(const std::string& factor_type) -> HostProgram {
  const auto kernel = [&](const std::string& name, const std::string& type) {
    return name + " = async_compile.triton('" + name +
           "', '''\nimport triton\nimport triton.language as tl\n\n"
           "@triton_heuristics.pointwise(\n    size_hints={'x': 128},\n"
           "    triton_meta={'signature': {'in_ptr0': '*fp32', 'factor': '" +
           type +
           "', 'out_ptr0': '*fp32', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}, 'constants': {}},\n"
           "    inductor_meta={'grid_type': 'Grid1D'}\n)\n@triton.jit\n"
           "def " +
           name +
           "(in_ptr0, factor, out_ptr0, xnumel, XBLOCK : tl.constexpr):\n"
           "    xoffset = tl.program_id(0) * XBLOCK\n"
           "    xindex = xoffset + tl.arange(0, XBLOCK)[:]\n"
           "    xmask = xindex < xnumel\n    x0 = xindex\n"
           "    tmp0 = tl.load(in_ptr0 + (x0), xmask)\n    tmp1 = factor\n"
           "    tmp2 = tmp0 * tmp1\n    tl.store(out_ptr0 + (x0), tmp2, xmask)\n"
           "''', device_str='cuda')\n\n\n";
  };
  const auto text =
      "import torch\nfrom torch._inductor.async_compile import AsyncCompile\n"
      "async_compile = AsyncCompile()\n\n\n" +
      kernel("triton_poi_fused_mul_0", "fp32") + kernel("triton_poi_fused_mul_1", factor_type) +
      "def call(args):\n    arg0_1, = args\n    args.clear()\n"
      "    assert_size_stride(arg0_1, (90, ), (1, ))\n"
      "    with torch.cuda._DeviceGuard(0):\n        torch.cuda.set_device(0)\n"
      "        stream0 = get_raw_stream(0)\n"
      "        buf0 = empty_strided_cuda((1, ), (1, ), torch.float32)\n"
      "        triton_poi_fused_mul_0.run(arg0_1, 2.0, buf0, 1, stream=stream0)\n"
      "        buf1 = empty_strided_cuda((90, ), (1, ), torch.float32)\n"
      "        triton_poi_fused_mul_0.run(arg0_1, 3.0, buf1, 90, stream=stream0)\n"
      "        buf2 = empty_strided_cuda((90, ), (1, ), torch.float32)\n"
      "        triton_poi_fused_mul_1.run(buf1, buf0.item(), buf2, 90, stream=stream0)\n"
      "        del buf0, buf1\n    return (buf2, )\n\n\n"
      "def get_args():\n    from torch._dynamo.testing import rand_strided\n"
      "    arg0_1 = rand_strided((90, ), (1, ), device='cuda:0', dtype=torch.float32)\n"
      "    return [arg0_1]\n";
  auto program = read_wrapper(text);
  EXPECT_TRUE(program) << program.error().message;
  return program ? *std::move(program) : HostProgram{};
}

TEST(ProgramMemory, ARealNumberFromDataDecidesNoPlaceAndItsBufferLivesUntilItIsRead) {
  const auto program = program_with("fp32");
  const auto table = build_op_table();
  const auto memory = plan_as_recorded(program, table);
  ASSERT_TRUE(memory) << memory.error().message;
  EXPECT_TRUE(memory->broken.empty());
  ASSERT_EQ(memory->bound.steps.size(), 3U);
  const auto& buffers = memory->bound.buffers;
  const auto scale = std::ranges::find(buffers, "buf0", &BoundBuffer::name);
  ASSERT_NE(scale, buffers.end());
  EXPECT_EQ(scale->first, 0U);
  EXPECT_EQ(scale->last, 2U);
  for (const auto& step : memory->bound.steps) {
    const auto& ops = program.functions.back().ops;
    const auto* op = std::visit([](const auto& one) { return one.op; }, step);
    EXPECT_TRUE(std::ranges::any_of(ops, [&](const HostOp& own) { return &own == op; }))
        << "steps name statements of the program that was given";
  }
}

TEST(ProgramMemory, AWholeNumberFromDataMayDecideSizesSoNothingIsPlanned) {
  const auto program = program_with("i64");
  const auto memory = plan_as_recorded(program, build_op_table());
  ASSERT_FALSE(memory);
  EXPECT_TRUE(memory.error().message.contains("depends on data")) << memory.error().message;
}

}  // namespace
}  // namespace assay
