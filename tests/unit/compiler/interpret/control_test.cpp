// Branches, loops and inner functions of wrappers, in the words of several versions of Inductor.
#include <gtest/gtest.h>

#include "compiler/interpret/interpret.h"
#include "compiler/read/wrapper.h"

namespace assay {
namespace {

struct Outcome {
  std::vector<double> values;
  std::size_t findings = 0;
  std::string error;
};

/// Runs `call` on the numbers 1, 2, 3, 4 (f32) and one whole number.
auto run(std::string_view text, std::int64_t number) -> Outcome {
  const auto program = read_wrapper(text);
  if (!program) return {{}, 0, program.error().message};
  static const auto rows = build_op_table();
  const auto ready = Interpreter(rows).compile(*program);
  if (!ready) return {{}, 0, ready.error().message};
  auto x = Tensor::contiguous(DType::float32, {4});
  from_vector(*x, std::span<const double>(std::vector<double>{1, 2, 3, 4}));
  auto n = Tensor::contiguous(DType::int64, {});
  from_vector(*n, std::span<const std::int64_t>(std::vector{number}));
  const auto result = (*ready)->run({Datum{*x}, Datum{*n}}, {});
  if (!result) return {{}, 0, result.error().message};
  return {to_vector<double>(*result->outputs.at(0).real()), result->findings.size(), {}};
}

using Values = std::vector<double>;

constexpr std::string_view kBranches = R"(
def call(args):
    arg0_1, arg1_1 = args
    args.clear()
    buf2_selector = int(arg1_1.item())
    buf2 = [None] * 1
    if buf2_selector == 0:
        buf1 = torch.ops.aten.add.Scalar(arg0_1, 10)
        buf2[0] = buf1
    elif buf2_selector == 1:
        buf2[0] = torch.ops.aten.mul.Scalar(arg0_1, 2)
    else:
        if arg1_1.item():
            buf2[0] = torch.ops.aten.neg.default(arg0_1)
    buf3 = buf2[0]
    del buf2
    return (buf3, )
)";

TEST(Control, OneOfTheBranchesRuns) {
  EXPECT_EQ(run(kBranches, 0).values, (Values{11, 12, 13, 14})) << run(kBranches, 0).error;
  EXPECT_EQ(run(kBranches, 1).values, (Values{2, 4, 6, 8}));
  EXPECT_EQ(run(kBranches, 2).values, (Values{-1, -2, -3, -4}));
}

TEST(Control, ATruthValueIsASelector) {
  constexpr std::string_view kText = R"(
def call(args):
    arg0_1, arg1_1 = args
    args.clear()
    buf0 = torch.ops.aten.gt.Scalar(arg1_1, 5)
    buf1_selector = int(buf0.item())
    buf1 = [None] * 1
    if buf1_selector == 0:
        buf1[0] = torch.ops.aten.mul.Scalar(arg0_1, 2)
    else:
        buf1[0] = torch.ops.aten.neg.default(arg0_1)
    buf2 = buf1[0]
    return (buf2, )
)";
  EXPECT_EQ(run(kText, 5).values, (Values{2, 4, 6, 8})) << run(kText, 5).error;
  EXPECT_EQ(run(kText, 6).values, (Values{-1, -2, -3, -4}));
}

TEST(Control, InnerFunctionsGiveTheirTuple) {
  constexpr std::string_view kText = R"(
def true_graph_0(args):
    true_graph_0_arg0_1, = args
    args.clear()
    true_graph_0_buf0 = torch.ops.aten.mul.Scalar(true_graph_0_arg0_1, 3)
    return (true_graph_0_buf0, true_graph_0_arg0_1, )
def call(args):
    arg0_1, arg1_1 = args
    args.clear()
    true_graph_0_args = [arg0_1]
    buf2 = true_graph_0(true_graph_0_args)
    buf3 = buf2[0]
    (buf4, buf5) = true_graph_0([buf3])
    return (buf4, )
)";
  EXPECT_EQ(run(kText, 0).values, (Values{9, 18, 27, 36})) << run(kText, 0).error;
}

TEST(Control, PartitionsAreInnerFunctions) {
  constexpr std::string_view kText = R"(
def partition_0(args):
    arg0_1, = args
    args.clear()
    buf0 = torch.ops.aten.add.Scalar(arg0_1, 1)
    return (buf0, )
class Runner:
    def __init__(self, partitions):
        self.partitions = partitions
    def call(self, args):
        arg0_1, arg1_1 = args
        args.clear()
        partition0_args = [arg0_1]
        del arg0_1
        (buf0,) = self.partitions[0](partition0_args)
        del partition0_args
        return (buf0, )
)";
  EXPECT_EQ(run(kText, 0).values, (Values{2, 3, 4, 5})) << run(kText, 0).error;
}

/// Doubles while the counter is below 3, as PyTorch 2.4, 2.8 and 2.15 write it.
constexpr std::string_view kInline = R"(
def call(args):
    arg0_1, arg1_1 = args
    args.clear()
    buf0 = [None] * 2
    buf0[0] = arg1_1
    buf0[1] = arg0_1
    while True:
        # subgraph: while_loop_cond_graph_0
        cond_arg0_1 = buf0[0]
        cond_buf0 = torch.ops.aten.lt.Scalar(cond_arg0_1, 3)
        buf0_cond_result = cond_buf0
        if not buf0_cond_result.item(): break
        body_arg0_1 = buf0[0]
        body_arg1_1 = buf0[1]
        body_buf0 = torch.ops.aten.add.Scalar(body_arg0_1, 1)
        body_buf1 = torch.ops.aten.mul.Scalar(body_arg1_1, 2)
        del body_arg0_1
        del body_arg1_1
        buf0[0] = body_buf0
        buf0[1] = body_buf1
    del arg0_1
    buf1 = buf0[1]
    return (buf1, )
)";
constexpr std::string_view kFunctions = R"(
def cond_graph_0(args):
    c_arg0_1, c_arg1_1 = args
    args.clear()
    c_buf0 = torch.ops.aten.lt.Scalar(c_arg0_1, 3)
    return (c_buf0, )
def body_graph_0(args):
    b_arg0_1, b_arg1_1 = args
    args.clear()
    b_buf0 = torch.ops.aten.add.Scalar(b_arg0_1, 1)
    b_buf1 = torch.ops.aten.mul.Scalar(b_arg1_1, 2)
    return (b_buf0, b_buf1, )
)";
constexpr std::string_view kBreaks = R"(
def call(args):
    arg0_1, arg1_1 = args
    args.clear()
    buf0 = [None] * 2
    buf0[0] = arg1_1
    buf0[1] = arg0_1
    while True:
        cond_graph_0_args = [buf0[0], buf0[1]]
        (buf0_cond_result,) = cond_graph_0(cond_graph_0_args)
        if not buf0_cond_result: break
        body_graph_0_args = [buf0[0], buf0[1]]
        (buf0[0], buf0[1]) = body_graph_0(body_graph_0_args)
    buf1 = buf0[1]
    return (buf1, )
)";
constexpr std::string_view kShouldLoop = R"(
def call(args):
    arg0_1, arg1_1 = args
    args.clear()
    buf0 = [None] * 2
    buf0[0] = arg1_1
    buf0[1] = arg0_1
    cond_graph_0_args = [buf0[0], buf0[1]]
    (buf0_cond_result,) = cond_graph_0(cond_graph_0_args)
    should_loop = buf0_cond_result
    if not should_loop:
        buf0[0] = arg1_1.clone()
        buf0[1] = arg0_1.clone()
    while should_loop:
        body_graph_0_args = [buf0[0], buf0[1]]
        (buf0[0], buf0[1]) = body_graph_0(body_graph_0_args)
        cond_graph_0_args = [buf0[0], buf0[1]]
        (buf0_cond_result,) = cond_graph_0(cond_graph_0_args)
        should_loop = buf0_cond_result
    del arg0_1
    buf1 = buf0[1]
    return (buf1, )
)";

TEST(Control, LoopsGoOnWhileTheirConditionHolds) {
  const auto functions = std::string(kFunctions);
  for (const auto& text : {std::string(kInline), functions + std::string(kBreaks),
                           functions + std::string(kShouldLoop)}) {
    EXPECT_EQ(run(text, 0).values, (Values{8, 16, 24, 32})) << run(text, 0).error << text;
    EXPECT_EQ(run(text, 2).values, (Values{2, 4, 6, 8}));
    EXPECT_EQ(run(text, 7).values, (Values{1, 2, 3, 4}));
    EXPECT_EQ(run(text, 0).findings, 0U);
  }
}

TEST(Control, ALeaveInsideOfBranchesEndsItsLoopOnly) {
  constexpr std::string_view kText = R"(
def call(args):
    arg0_1, arg1_1 = args
    args.clear()
    buf0 = arg0_1
    buf1 = arg1_1
    while True:
        if buf1.item():
            if True: break
        else:
            buf0 = torch.ops.aten.add.Scalar(buf0, 1)
        while True:
            buf1 = torch.ops.aten.add.Scalar(buf1, 1)
            break
    return (buf0, )
)";
  EXPECT_EQ(run(kText, 0).values, (Values{2, 3, 4, 5})) << run(kText, 0).error;
  EXPECT_EQ(run(kText, 1).values, (Values{1, 2, 3, 4}));
}

TEST(Control, ALoopThatDoesNotEndIsAnError) {
  constexpr std::string_view kText = R"(
def call(args):
    arg0_1, arg1_1 = args
    args.clear()
    while True:
        buf0 = arg0_1
    return (buf0, )
)";
  EXPECT_NE(run(kText, 0).error.find("rounds of loops"), std::string::npos) << run(kText, 0).error;
}

TEST(Control, WhatABranchDeletedIsDeadBehindIt) {
  constexpr std::string_view kText = R"(
def call(args):
    arg0_1, arg1_1 = args
    args.clear()
    if arg1_1.item():
        del arg0_1
    buf0 = torch.ops.aten.neg.default(arg0_1)
    return (buf0, )
)";
  EXPECT_EQ(run(kText, 0).findings, 0U);
  EXPECT_EQ(run(kText, 1).findings, 1U);
}

}  // namespace
}  // namespace assay
