// Parts of a wrapper: what is left has what it needs, says nothing twice and is Python.
#include "replay/runner/cut_program.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

const std::string kTwoDevices = R"(
# What follows stands for extern_kernels. of two devices.
def call(args):
    arg0_1, = args
    args.clear()
    with torch.cuda._DeviceGuard(0):
        torch.cuda.set_device(0)
        stream0 = get_raw_stream(0)
        buf0 = torch.ops.aten.mul.Scalar(arg0_1, 2)
        stream0 = get_raw_stream(0)
        buf1 = torch.ops.aten.add.Scalar(buf0, 1)
    with torch.cuda._DeviceGuard(1):
        stream0 = get_raw_stream(0)
        buf2 = torch.ops.aten.neg.default(buf1)
    return (buf2, )


def get_args():
    arg0_1 = rand_strided((4, ), (1, ), device='cuda:0', dtype=torch.float32)
    return [arg0_1]
)";

auto cut(const std::string& text, const std::vector<int>& kept) -> std::string {
  static const auto table = build_op_table();
  const auto program = CutProgram::create(text, table);
  EXPECT_TRUE(program) << (program ? "" : program.error().message);
  return program ? program->text(kept) : "";
}

auto times(std::string_view text, std::string_view word) -> int {
  int count = 0;
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1))
    ++count;
  return count;
}

TEST(CutProgram, WhatIsNoWrapperIsAnError) {
  const auto table = build_op_table();
  EXPECT_FALSE(CutProgram::create("def call(args):\n    a, = args\n    return (a, )\n", table));
  EXPECT_TRUE(run_failures("def call(args):\n    return ()\n", table).empty());
}

TEST(CutProgram, WhatIsSaidAgainGoes) {
  EXPECT_EQ(times(cut(kTwoDevices, {0, 1, 2}), "stream0 = get_raw_stream(0)"), 1);
  EXPECT_EQ(times(cut(kTwoDevices, {0, 1, 2}), "with torch"), 2);
}

/// A block without statements is no Python.
TEST(CutProgram, BlocksThatHaveNothingLeftGo) {
  const auto first = cut(kTwoDevices, {0});
  EXPECT_TRUE(first.contains("_DeviceGuard(0):\n")) << first;
  EXPECT_FALSE(first.contains("_DeviceGuard(1)")) << first;
  const auto last = cut(kTwoDevices, {2});
  EXPECT_TRUE(last.contains("_DeviceGuard(1):\n        buf2 = torch.ops.aten.neg")) << last;
  EXPECT_TRUE(last.contains("buf1, = args")) << last;
}

}  // namespace
}  // namespace assay
