// What torch.vmap makes of a function: one node, many slices.
#include "replay/interp/vmap.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/run_op.h"
#include "tests/support/run_text.h"

namespace assay {
namespace {

using testing::make_tensor;
using testing::run_text;
using testing::TextRun;

/// Of a function whose result is `r`; inputs are taken in order.
auto run(const std::string& parameters, const std::string& lines, const DatumList& inputs)
    -> TextRun {
  auto seen = run_text(
      fmt::format("class G(torch.nn.Module):\n    def forward(self, {}):\n{}        return (r,)\n",
                  parameters, lines),
      inputs);
  for (const auto& node : seen.run.nodes) EXPECT_EQ(node.status, NodeStatus::ran) << node.message;
  return seen;
}

constexpr std::string_view kSpace = "torch._functorch.predispatch.";
auto begin(int size) -> std::string {
  return fmt::format(
      "        lazy_{1} = {0}lazy_load_decompositions()\n"
      "        begin_{1} = {0}_vmap_increment_nesting({1}, 'error')\n",
      kSpace, size);
}
auto end(int size) -> std::string {
  return fmt::format("        end_{1} = {0}_vmap_decrement_nesting()\n", kSpace, size);
}

/// Products of rows with columns of a matrix that all slices share; the batch is put last.
TEST(Vmap, NodesSeeOneSliceEach) {
  const auto seen =
      run("x: \"f32[3, 2][2, 1]cpu\", w: \"f32[2, 4][4, 1]cpu\"",
          begin(3) +
              fmt::format("        a: \"f32[2][1]cpu\" = {0}_add_batch_dim(x, 0, 1)\n"
                          "        b: \"f32[4][1]cpu\" = a @ w\n"
                          "        s: \"f32[][]cpu\" = b.sum()\n"
                          "        c: \"f32[4][1]cpu\" = b - s\n"
                          "        r: \"f32[4, 3][1, 4]cpu\" = {0}_remove_batch_dim(c, 1, 3, 1)\n",
                          kSpace) +
              end(3),
          {Datum{make_tensor({3, 2}, {1, 0, 0, 1, 1, 1}, DType::float32)},
           Datum{make_tensor({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}, DType::float32)}});
  ASSERT_EQ(seen.returned.size(), 1U);
  EXPECT_EQ(to_vector<double>(seen.returned[0]),
            (std::vector<double>{1 - 10, 5 - 26, 6 - 36, 2 - 10, 6 - 26, 8 - 36, 3 - 10, 7 - 26,
                                 10 - 36, 4 - 10, 8 - 26, 12 - 36}));
  EXPECT_EQ(seen.returned[0].strides(), (Ints{1, 4}));  // as claimed
  EXPECT_EQ(seen.taps, 2 + 2 + 1 + 1 + 1);  // inputs, what begins, the result, the end, the output
}

/// Of pairs (i, j) what a function of numbers gives, as masks of attention are made.
TEST(Vmap, StandsInOthers) {
  const auto seen = run(
      "x: \"i64[2][1]cpu\", y: \"i64[3][1]cpu\"",
      begin(2) + fmt::format("        i: \"i64[][]cpu\" = {}_add_batch_dim(x, 0, 1)\n", kSpace) +
          begin(3) +
          fmt::format("        j: \"i64[][]cpu\" = {0}_add_batch_dim(y, 0, 2)\n"
                      "        c: \"i64[][]cpu\" = i * 10\n"
                      "        d: \"i64[][]cpu\" = c + j\n"
                      "        e: \"i64[3][1]cpu\" = {0}_remove_batch_dim(d, 2, 3, 0)\n",
                      kSpace) +
          end(3) +
          fmt::format("        r: \"i64[2, 3][3, 1]cpu\" = {}_remove_batch_dim(e, 1, 2, 0)\n",
                      kSpace) +
          end(2),
      {Datum{make_tensor({2}, {1, 2}, DType::int64)},
       Datum{make_tensor({3}, {3, 4, 5}, DType::int64)}});
  ASSERT_EQ(seen.returned.size(), 1U);
  EXPECT_EQ(to_vector<double>(seen.returned[0]), (std::vector<double>{13, 14, 15, 23, 24, 25}));
}

/// A vmap that does not end in the capture is no region; its calls have no meaning by themselves.
TEST(Vmap, WithoutAnEndIsNotRun) {
  const auto text = fmt::format(
      "class G(torch.nn.Module):\n    def forward(self, x: \"f32[3, 2][2, 1]cpu\"):\n{}"
      "        a: \"f32[2][1]cpu\" = {}_add_batch_dim(x, 0, 1)\n        return (a,)\n",
      begin(3), kSpace);
  EXPECT_FALSE(VmapRegions(*parse_graph(text)).end_of(2));
  const auto done =
      run_text(text, {Datum{make_tensor({3, 2}, {1, 2, 3, 4, 5, 6}, DType::float32)}}).run;
  EXPECT_EQ(done.nodes[3].status, NodeStatus::unchecked) << done.nodes[3].message;
}

}  // namespace
}  // namespace assay
