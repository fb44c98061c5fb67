// Block pointers and tensor descriptors of Triton kernels: where they point in loops and behind
// them, what is outside of their shape, and what is not told.
#include <cmath>

#include "tests/unit/compiler/interpret/small_programs.h"

namespace assay {
namespace {

constexpr std::int64_t kCount = 40, kBlock = 16;

/// `make_block_ptr` of a row of the kernel's elements, from `offset` on.
auto row(std::string_view pointer, std::string_view offset) -> std::string {
  return fmt::format(
      "tl.make_block_ptr({}, shape=[xnumel], strides=[1], block_shape=[XBLOCK], order=[0], "
      "offsets=[{}])",
      pointer, offset);
}
/// The element of the input so many further on, which is its number; 0 where there is none.
auto at(std::int64_t place) -> double {
  return place < 0 || place >= kCount ? 0 : static_cast<double>(place);
}

class BlockPointers : public InterpretTest {
 protected:
  auto result(const std::string& body) -> std::vector<double> {
    const auto ran = run(body, kCount, {}, kBlock);
    EXPECT_TRUE(ran.findings.empty()) << body;
    return ran.outputs.empty() ? std::vector<double>() : output(ran);
  }
  static auto stored(std::string_view value) -> std::string {
    return fmt::format("tl.store({}, {}, boundary_check=[0])\n", row("out_ptr0", "xoffset"), value);
  }
};

TEST_F(BlockPointers, WhatIsOutsideIsPadded) {
  const auto made = result("v = tl.load(" + row("in_ptr0", "xoffset - 3") +
                           ", boundary_check=[0], padding_option='zero')\n" + stored("v + 1"));
  ASSERT_EQ(std::ssize(made), kCount);
  for (std::int64_t i = 0; i < kCount; ++i)
    EXPECT_EQ(made[static_cast<std::size_t>(i)], at(i - 3) + 1) << i;
  const auto of_nan = result("v = tl.load(" + row("in_ptr0", "xoffset + 1") +
                             ", boundary_check=[0], padding_option='nan')\n" + stored("v"));
  ASSERT_EQ(std::ssize(of_nan), kCount);
  EXPECT_EQ(of_nan[kCount - 2], kCount - 1);
  EXPECT_TRUE(std::isnan(of_nan[kCount - 1]));
}

TEST_F(BlockPointers, WhatNobodyChecksIsOutOfBounds) {
  const auto ran =
      run("v = tl.load(" + row("in_ptr0", "xoffset") + ")\n" + stored("v"), kCount, {}, kBlock);
  EXPECT_EQ(faults(ran), (Faults{RunFault::out_of_bounds}));
}

/// Steps of the loop's own, of another size, and of a loop that counts; what follows the advance in
/// a round, and the loop, is further on.
TEST_F(BlockPointers, LoopsAdvanceThem) {
  struct Case {
    const char *loop, *by;
    std::int64_t rounds, step;
  };
  constexpr Case kCases[] = {{"tl.range(0, 40, XBLOCK)", "XBLOCK", 3, kBlock},
                             {"range(3)", "XBLOCK", 3, kBlock},
                             {"range(1, 8, 3)", "2 * XBLOCK", 3, 2 * kBlock},
                             {"range(5, 2)", "XBLOCK", 0, kBlock},
                             {"tl.range(8, 40, XBLOCK)", "1", 2, 1}};
  for (const auto& one : kCases) {
    const auto made = result(
        fmt::format("p = {}\nv = tl.full([XBLOCK], 0, tl.float32)\nfor i in {}:\n"
                    "    v = v + tl.load(p, boundary_check=[0], padding_option='zero')\n"
                    "    p = tl.advance(p, [{}])\n"
                    "    v = v + 100 * tl.load(p, boundary_check=[0], padding_option='zero')\n"
                    "v = v + 10000 * tl.load(p, boundary_check=[0], padding_option='zero')\n{}",
                    row("in_ptr0", "xoffset - 32"), one.loop, one.by, stored("v")));
    ASSERT_EQ(std::ssize(made), kCount) << one.loop;
    for (std::int64_t i = 0; i < kCount; ++i) {
      double wanted = 10000 * at(i - 32 + one.rounds * one.step);
      for (std::int64_t k = 0; k < one.rounds; ++k)
        wanted += at(i - 32 + k * one.step) + 100 * at(i - 32 + (k + 1) * one.step);
      EXPECT_EQ(made[static_cast<std::size_t>(i)], wanted) << one.loop << " " << i;
    }
  }
}

/// Several statements of a line are each one, with spaces or without; a body on the line of its
/// loop is none that is followed.
TEST_F(BlockPointers, LinesMayHaveSeveralStatements) {
  const auto made = result(
      "v = tl.full([XBLOCK], 0, tl.float32)\nq = in_ptr0 + xindex\nm = xindex\n"
      "for i in range(0, 2 * XBLOCK, XBLOCK):\n"
      "    v += tl.load(q, m < xnumel, other=0); q+=XBLOCK; m = (m\n"
      "        + XBLOCK)\n" +
      stored("v"));
  ASSERT_EQ(std::ssize(made), kCount);
  for (std::int64_t i = 0; i < kCount; ++i)
    EXPECT_EQ(made[static_cast<std::size_t>(i)], at(i) + at(i + kBlock)) << i;
  const auto text =
      kernel("'in_ptr0': '*fp32'", "in_ptr0",
             "v = xindex\nfor i in range(3): v += 1\ntl.store(in_ptr0 + v, v, xmask)");
  const auto program = read_wrapper(text +
                                    "def call(args):\n    arg0_1, = args\n"
                                    "    k.run(arg0_1, 4, stream=stream0)\n    return ()\n");
  ASSERT_TRUE(program);
  const auto ready = Interpreter(table()).compile(*program);
  ASSERT_FALSE(ready);
  EXPECT_TRUE(ready.error().message.contains("on its own line")) << ready.error().message;
}

/// Rows of the block are not its columns, though it is a square.
TEST_F(BlockPointers, OfTwoDimensionsHaveTwoOffsets) {
  const auto made = result(
      "p = tl.make_block_ptr(in_ptr0, (5, 8), (8, 1), (0, 0), (8, XBLOCK), (1, 0))\n"
      "p = tl.advance(p, (1, 2))\n"
      "v = tl.load(p, boundary_check=(0, 1), padding_option='zero')\n"
      "s = tl.sum(v, 0)\n" +
      stored("s"));
  ASSERT_EQ(std::ssize(made), kCount);
  for (std::int64_t x = 0; x < kBlock; ++x) {
    double wanted = 0;
    for (std::int64_t y = 1; y < 5; ++y)
      wanted += x + 2 < 8 ? static_cast<double>(8 * y + x + 2) : 0;
    EXPECT_EQ(made[static_cast<std::size_t>(x)], wanted) << x;
  }
}

TEST_F(BlockPointers, DescriptorsTakeTheirOffsetsInEachAccess) {
  const auto made = result(
      "d = tl.make_tensor_descriptor(in_ptr0, shape=[xnumel], strides=[1], block_shape=[XBLOCK])\n"
      "o = tl.make_tensor_descriptor(out_ptr0, [xnumel], [1], [XBLOCK])\n"
      "v = d.load([xoffset + 2]) + tl.load_tensor_descriptor(d, [xoffset - 1])\n"
      "o.store([xoffset], v)\n");
  ASSERT_EQ(std::ssize(made), kCount);
  for (std::int64_t i = 0; i < kCount; ++i)
    EXPECT_EQ(made[static_cast<std::size_t>(i)], at(i + 2) + at(i - 1)) << i;
}

/// Where a branch, or more than one line, moves a pointer, nobody knows where it is.
TEST_F(BlockPointers, WhatIsNotToldIsSaid) {
  for (const auto* changes : {"    if i > 1:\n        p = tl.advance(p, [XBLOCK])\n",
                              "    p = tl.advance(p, [XBLOCK])\n    p = tl.advance(p, [XBLOCK])\n",
                              "    p = tl.advance(p, [i])\n"}) {
    const auto text = kernel("'in_ptr0': '*fp32', 'out_ptr0': '*fp32'", "in_ptr0, out_ptr0",
                             fmt::format("p = {}\nv = tl.full([XBLOCK], 0, tl.float32)\n"
                                         "for i in range(3):\n    v = v + tl.load(p)\n{}{}",
                                         row("in_ptr0", "xoffset"), changes, stored("v"))) +
                      "def call(args):\n    arg0_1, = args\n"
                      "    buf0 = empty_strided_cuda((40, ), (1, ), torch.float32)\n"
                      "    k.run(arg0_1, buf0, 40, stream=stream0)\n    return (buf0, )\n";
    const auto program = read_wrapper(text);
    ASSERT_TRUE(program);
    const auto ready = Interpreter(table()).compile(*program);
    ASSERT_FALSE(ready) << changes;
    EXPECT_TRUE(ready.error().message.contains("`p`")) << ready.error().message;
  }
}

}  // namespace
}  // namespace assay
