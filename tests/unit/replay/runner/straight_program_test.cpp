// The way of a run as a wrapper of its own: it gives the same, whatever the control flow was.
#include "replay/runner/straight_program.h"

#include <gtest/gtest.h>

#include "compiler/interpret/interpret.h"
#include "compiler/read/wrapper.h"
#include "replay/runner/cut_program.h"

namespace assay {
namespace {

const OpTable& table() {
  static const auto rows = build_op_table();
  return rows;
}

/// The numbers 1, 2, 3, 4 (f32) and one whole number.
auto inputs(std::int64_t number) -> DatumList {
  auto x = Tensor::contiguous(DType::float32, {4});
  from_vector(*x, std::span<const double>(std::vector<double>{1, 2, 3, 4}));
  auto n = Tensor::contiguous(DType::int64, {});
  from_vector(*n, std::span<const std::int64_t>(std::vector{number}));
  return {Datum{*x}, Datum{*n}};
}

auto outputs(const HostProgram& program, std::int64_t number) -> std::vector<double> {
  const auto ready = Interpreter(table()).compile(program);
  if (!ready) return {};
  const auto run = (*ready)->run(inputs(number), {});
  if (!run || !run->findings.empty()) return {};
  std::vector<double> all;
  for (const auto& output : run->outputs)
    for (const auto value : to_vector<double>(*output.real())) all.push_back(value);
  return all;
}

auto straight(const std::string& text, std::int64_t number) -> std::string {
  const auto program = read_wrapper(text);
  EXPECT_TRUE(program) << text;
  const auto given = inputs(number);
  const auto made = straight_program(text, *program, &given, table());
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return made ? *made : "";
}

/// Without control flow the new text gives what the old one does on these inputs.
void expect_same(const std::string& text, std::int64_t number) {
  const auto program = read_wrapper(text);
  ASSERT_TRUE(program) << text;
  EXPECT_FALSE(is_straight(*program));
  const auto made = straight(text, number);
  const auto again = read_wrapper(made);
  ASSERT_TRUE(again) << again.error().message << made;
  EXPECT_TRUE(is_straight(*again)) << made;
  const auto wanted = outputs(*program, number);
  EXPECT_FALSE(wanted.empty()) << text;
  EXPECT_EQ(outputs(*again, number), wanted) << made;
}

const std::string kBranches = R"(
def call(args):
    arg0_1, arg1_1 = args
    args.clear()
    buf2_selector = int(arg1_1.item())
    buf2 = [None] * 1
    if buf2_selector == 0:
        buf1 = torch.ops.aten.add.Scalar(arg0_1, 10)
        buf2[0] = buf1
        del buf1
    elif buf2_selector == 1:
        buf2[0] = torch.ops.aten.mul.Scalar(arg0_1, 2)
    else:
        if arg1_1.item():
            buf2[0] = reinterpret_tensor(arg0_1, (2, 2), (2, 1), 0)
    buf3 = buf2[0]
    del buf2
    return (buf3, )
)";

const std::string kLoop = R"(
def cond_graph_0(args):
    c_arg0_1, c_arg1_1 = args
    args.clear()
    c_buf0 = torch.ops.aten.lt.Scalar(c_arg0_1, 3)
    del c_arg0_1
    del c_arg1_1
    return (c_buf0, )
def body_graph_0(args):
    b_arg0_1, b_arg1_1 = args
    args.clear()
    b_buf0 = torch.ops.aten.add.Scalar(b_arg0_1, 1)
    b_buf1 = torch.ops.aten.mul.Scalar(b_arg1_1, 2)
    del b_arg1_1
    return (b_buf0, b_buf1, )
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
    del buf0
    return (buf1, arg1_1, )
)";

const std::string kPartitions = R"(
def partition_0(args):
    arg0_1, s77 = args
    args.clear()
    buf0 = torch.ops.aten.add.Scalar(arg0_1, s77)
    buf1 = torch.ops.aten.mul.Scalar(buf0, 3); del buf0  # reuse
    return (buf1, )
class Runner:
    def __init__(self, partitions):
        self.partitions = partitions
    def call(self, args):
        arg0_1, arg1_1 = args
        args.clear()
        u0 = arg1_1.item()
        partition0_args = [arg0_1, u0]
        del arg0_1
        (buf0,) = self.partitions[0](partition0_args)
        del partition0_args
        (buf2,) = self.partitions[0]([buf0, 5])
        return (buf0, buf2, )
runner = Runner(partitions=[partition_0,])
call = runner.call
)";

TEST(StraightProgram, TheBranchThatRanIsLeft) {
  for (const std::int64_t number : {0, 1, 2}) expect_same(kBranches, number);
  EXPECT_FALSE(straight(kBranches, 1).contains("aten.add"));
}

TEST(StraightProgram, EveryRoundOfALoopIsWrittenDown) {
  for (const std::int64_t number : {0, 2, 7}) expect_same(kLoop, number);
  const auto text = straight(kLoop, 0);
  EXPECT_TRUE(text.contains("b_buf1 = torch.ops.aten.mul.Scalar(arg0_1, 2)")) << text;
  EXPECT_TRUE(text.contains("b_buf1_1 = torch.ops.aten.mul.Scalar(b_buf1, 2)")) << text;
  EXPECT_FALSE(text.contains("def body_graph_0")) << text;
}

TEST(StraightProgram, PartitionsStandWhereTheyAreCalled) {
  expect_same(kPartitions, 4);
  const auto text = straight(kPartitions, 4);
  EXPECT_TRUE(text.contains("Runner(partitions=[])")) << text;
  EXPECT_TRUE(text.contains("buf1_1 = torch.ops.aten.mul.Scalar(")) << text;
}

/// A name that lives on under another one is not deleted.
TEST(StraightProgram, NamesDieWithTheLastThatStandsForTheirValue) {
  const auto text = straight(kBranches, 0);
  EXPECT_FALSE(text.contains("del buf1")) << text;
  EXPECT_TRUE(text.contains("return (buf1, )")) << text;
}

TEST(StraightProgram, StraightOnesAreKnown) {
  const auto program = read_wrapper("def call(args):\n    a, = args\n    return (a, )\n");
  ASSERT_TRUE(program);
  EXPECT_TRUE(is_straight(*program));
}

/// Of the rounds of a loop one call is left, on what the round before gave.
TEST(StraightProgram, RoundsAreCut) {
  const auto given = inputs(0);
  CutOptions options;
  options.inputs = &given;
  options.returned = "b_buf1_2";
  const auto program = CutProgram::create(kLoop, table(), options);
  ASSERT_TRUE(program) << program.error().message;
  std::vector<int> all;
  for (int unit = 0; unit < program->count(); ++unit) all.push_back(unit);
  std::vector<int> kept;
  for (const int unit : all) {
    const auto text = program->text({unit});
    if (text.contains("b_buf1_2 = torch.ops.aten.mul.Scalar(b_buf1_1, 2)")) kept = {unit};
  }
  ASSERT_EQ(kept.size(), 1U) << program->text(all);
  EXPECT_EQ(program->launches(kept), 1);
  // 4, 8, 12, 16: twice what went in.
  EXPECT_TRUE(program->text(kept).contains(
      "b_buf1_1 = recorded((4, ), (1, ), device='cpu', dtype=torch.float32, "
      "data='00008040000000410000404100008041')"))
      << program->text(kept);
}

}  // namespace
}  // namespace assay
