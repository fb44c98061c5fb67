// What becomes one kernel, and why not more.
#include <algorithm>

#include <gtest/gtest.h>

#include "compiler/schedule/groups.h"
#include "tests/support/compiled.h"

namespace assay {
namespace {

using testing::SmallGraph;

struct Row {
  std::string name;
  SmallGraph graph;
  int kernels, calls;
  std::string decision = {};  ///< one that must be among them
};
class Fusion : public ::testing::TestWithParam<Row> {};

TEST_P(Fusion, KernelsAreCounted) {
  const auto& row = GetParam();
  const auto compiled = testing::compiled(row.graph);
  ASSERT_TRUE(compiled) << compiled.error().message;
  const auto lines = testing::fusions(*compiled);
  EXPECT_EQ(testing::kernel_count(*compiled), row.kernels)
      << fmt::format("{}", fmt::join(lines, "\n"));
  EXPECT_EQ(testing::call_count(*compiled), row.calls);
  const bool is_there =
      row.decision.empty() || std::ranges::find(lines, row.decision) != lines.end();
  EXPECT_TRUE(is_there) << fmt::format("{}", fmt::join(lines, "\n"));
  EXPECT_EQ(testing::problems(row.graph, {"s0=3", "s0=5"}), "");
}

const std::string kX = "s0: Sym(s0); x: f32[s0, 6]; y: f32[s0, 6]";
const std::vector<Row> kRows = {
    {"Pointwise",
     {kX, "a = aten.add.Tensor(x, y)\nd = aten.exp.default(a)\ne = aten.neg.default(a)", "d, e"},
     1,
     0},
    {"Softmax", {kX, "a = aten._softmax.default(x, 1, False)", "a"}, 1, 0},
    {"LayerNorm",
     {kX, "n = aten.native_layer_norm.default(x, [6], None, None, 1e-05)\na = n[0]", "a"},
     1,
     0},
    {"TransposeBetween",
     {"s0: Sym(s0); x: f32[s0, s0]",
      "a = aten.exp.default(x)\nt = aten.permute.default(a, [1, 0])\n"
      "d = aten.add.Tensor(t, x)",
      "a, d"},
     2,
     0,
     "d does not join a: reads elements of other iterations"},
    {"OtherDimensions",
     {kX, "a = aten.sum.dim_IntList(x, [0])\nd = aten.sum.dim_IntList(x, [1])", "a, d"},
     2,
     0,
     "d does not join a: reduces other dimensions"},
    {"CallBetween",
     {"s0: Sym(s0); x: f32[s0, s0]",
      "a = aten.exp.default(x)\nm = aten.mm.default(a, a)\n"
      "d = aten.add.Tensor(m, a)",
      "d"},
     2,
     1,
     "d does not join a: a step between them"},
    {"TwoKernelsOfTheSameLoops",
     {kX,
      "a = aten.sum.dim_IntList(x, [1], True)\nc = aten.sum.dim_IntList(y, [1], True)\n"
      "p = aten.mul.Tensor(y, a)\nq = aten.sum.dim_IntList(p, [1], True)\n"
      "d = aten.sub.Tensor(y, c)\ne = aten.mul.Tensor(d, q)",
      "e"},
     1,
     0,
     "c joins a: the kernels have the same loops"},
    {"TwoKernelsAroundACall",
     {"s0: Sym(s0); x: f32[s0, s0]; y: f32[s0, s0]",
      "a = aten.sum.dim_IntList(x, [1], True)\nm = aten.mm.default(y, a)\n"
      "d = aten.sum.dim_IntList(y, [1], True)\ne = aten.mul.Tensor(d, m)\nf = aten.mul.Tensor(e, "
      "x)",
      "a, f"},
     2,
     1},
    {"EpilogueOfReduction",
     {kX, "a = aten.sum.dim_IntList(x, [1])\nd = aten.exp.default(a)\ne = aten.mul.Tensor(d, 2)",
      "e"},
     1,
     0},
    {"OtherLoops",
     {"s0: Sym(s0); x: f32[s0, 6]",
      "a = aten.exp.default(x)\nv = aten.slice.Tensor(a, 1, 0, 3)\n"
      "d = aten.neg.default(v)",
      "a, d"},
     2,
     0,
     "d does not join a: other loops"},
    {"BiasGradient",
     {"s0: Sym(s0); x: f32[s0, 4, 6]",
      "a = aten.exp.default(x)\nn = s0 * 4\nv = aten.view.default(a, [n, 6])\n"
      "d = aten.sum.dim_IntList(v, [0])",
      "a, d"},
     2,
     0,
     "d does not join a: reads elements of other iterations"},
    {"WriteBetween",
     {kX, "a = aten.exp.default(x)\nc = aten.copy_.default(x, y)\nd = aten.neg.default(x)", "a, d"},
     3,
     0},
};
INSTANTIATE_TEST_SUITE_P(Rows, Fusion, ::testing::ValuesIn(kRows),
                         [](const auto& row) { return row.param.name; });

TEST(Fusion, WithoutItEveryStoredTensorIsAKernel) {
  CompileOptions options;
  options.schedule.fuse = false;
  const auto compiled =
      testing::compiled({kX, "a = aten._softmax.default(x, 1, False)", "a"}, options);
  ASSERT_TRUE(compiled);
  EXPECT_GT(testing::kernel_count(*compiled), 1);
  EXPECT_TRUE(testing::fusions(*compiled).empty());
}

/// Does a product that `readers` sums read go into memory?
auto is_stored(const std::string& device, int readers) -> bool {
  SmallGraph graph{"s0: Sym(s0); x: f32[s0, 6]" + device + "; y: f32[s0, 6]" + device,
                   "c = aten.mul.Tensor(x, y)\nd = aten.sub.Tensor(c, x)\n", ""};
  for (int i = 0; i < readers; ++i) {
    graph.body += fmt::format("r{} = aten.sum.dim_IntList(d, [{}])\n", i, i % 2);
    graph.outputs += fmt::format("{}r{}", i == 0 ? "" : ", ", i);
  }
  const auto compiled = testing::compiled(graph);
  return compiled && std::ranges::any_of(compiled->decisions, [](const CompileDecision& one) {
           return one.kind == CompileDecision::Kind::store && one.accepted && one.subject == "d";
         });
}
TEST(Memory, GpusComputeAnewWhatFewReadAndIsCheap) {
  EXPECT_TRUE(is_stored("cpu", 2));
  EXPECT_FALSE(is_stored("cuda:0", 2));
  EXPECT_TRUE(is_stored("cuda:0", 12));  // as the taps of a window do
}
/// Lines made of positions are no kernels on a GPU; planes are.
TEST(Memory, GpusComputeLinesOfPositionsWhereTheyAreRead) {
  const std::string body =
      "p = aten.arange.default(6, device = device('DEVICE'))\n"
      "q = aten.mul.Tensor(p, 3)\nr = aten.remainder.Scalar(q, 5)\ns = aten.add.Tensor(r, 1)\n";
  const auto kernels = [&](const std::string& device, bool is_plane) {
    SmallGraph graph{"x: f32[9, 6, 6]" + device, body, "a"};
    graph.body.replace(graph.body.find("DEVICE"), 6, device.empty() ? "cpu" : device);
    if (is_plane)
      graph.body +=
          "t = aten.unsqueeze.default(s, 1)\nu = aten.mul.Tensor(s, t)\n"
          "v = aten.remainder.Scalar(u, 4)\n";
    graph.body += fmt::format("w = aten.expand.default({}, [9, 6, 6])\na = aten.mul.Tensor(x, w)",
                              is_plane ? "v" : "s");
    const auto compiled = testing::compiled(graph);
    return compiled ? testing::kernel_count(*compiled) : -1;
  };
  EXPECT_EQ(kernels("", false), 2);
  EXPECT_EQ(kernels("cuda:0", false), 1);
  EXPECT_EQ(kernels("cuda:0", true), 2);
}

class PlaceIn : public ::testing::Test {
 protected:
  auto axes(const Dims& extents) -> std::vector<LoopAxis> {
    std::vector<LoopAxis> made;
    for (const auto& extent : extents)
      made.push_back({extent, pool.symbol(fmt::format("i{}", made.size()), ExprType::integer)});
    return made;
  }
  auto place(const Dims& extents, const Dims& of) -> std::optional<LoopPlace> {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < of.size(); ++i) all.push_back(i);
    return place_in(extents, axes(of), all);
  }
  ExprPool pool;
  Expr s = pool.symbol("s0", ExprType::integer);
};

TEST_F(PlaceIn, SizesOfOneHaveNoAxis) {
  const auto found = place({Expr(1), s, Expr(1)}, {s});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->axes[0].empty());
  EXPECT_EQ(found->axes[1], std::vector<std::size_t>{0});
}
TEST_F(PlaceIn, SeveralAxesAreOneDimension) {
  const auto found = place({s * Expr(4), Expr(6)}, {s, Expr(4), Expr(6)});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->axes[0], (std::vector<std::size_t>{0, 1}));
}
TEST_F(PlaceIn, SeveralDimensionsAreOneAxis) {
  const auto found = place({s, Expr(4), Expr(6)}, {s * Expr(4), Expr(6)});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->position[2], axes({Expr(1), Expr(6)})[1].symbol);
}
TEST_F(PlaceIn, OtherExtentsDoNotFit) {
  EXPECT_FALSE(place({s, Expr(4)}, {s, Expr(5)}));
  EXPECT_FALSE(place({s}, {s, Expr(4)}));
  EXPECT_FALSE(place({s, Expr(4)}, {s}));
}

}  // namespace
}  // namespace assay
