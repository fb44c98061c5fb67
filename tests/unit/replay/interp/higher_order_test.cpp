// Bodies of higher-order operators run, on data and on symbols.
#include <gtest/gtest.h>

#include <cmath>

#include "core/graph/text.h"
#include "replay/interp/run.h"
#include "replay/interp/symbolic.h"
#include "tests/support/run_op.h"
#include "tests/support/run_text.h"

namespace assay {
namespace {

using testing::make_tensor;
using testing::rows;
using testing::run_text;
using testing::values_of;

/// What a graph returns; inputs are taken in order.
auto run_values(const std::string& text, const DatumList& inputs) -> NodeRun {
  return run_text(text, inputs).run.nodes.back();
}

auto sum_of(const NodeRun& run, std::size_t i = 0) -> double {
  EXPECT_EQ(run.status, NodeStatus::ran) << run.message;
  return i < run.value.items.size() && run.value.items[i].tensor ? run.value.items[i].tensor->sum
                                                                 : -1e9;
}

const std::string kBranches =
    "class G(torch.nn.Module):\n"
    "    def forward(self, p, x: \"f32[s0][1]cpu\"):\n"
    "        a = self.a\n"
    "        b = self.b\n"
    "        c = torch.ops.higher_order.cond(p, a, b, (x,))\n"
    "        getitem: \"f32[s0][1]cpu\" = c[0]\n"
    "        return (getitem,)\n"
    "\n"
    "    class a(torch.nn.Module):\n"
    "        def forward(self, x):\n"
    "            y = torch.ops.aten.add.Tensor(x, 1)\n"
    "            return (y,)\n"
    "\n"
    "    class b(torch.nn.Module):\n"
    "        def forward(self, x):\n"
    "            y = torch.ops.aten.mul.Tensor(x, 10)\n"
    "            return (y,)\n";

TEST(HigherOrder, CondTakesTheBranchThatItsPredicateNames) {
  const Datum x{make_tensor({2}, {1, 2}, DType::float32)};
  EXPECT_EQ(sum_of(run_values(kBranches, {Datum{make_tensor({}, {1}, DType::boolean)}, x})), 5);
  EXPECT_EQ(sum_of(run_values(kBranches, {Datum{make_tensor({}, {0}, DType::boolean)}, x})), 30);
  EXPECT_EQ(sum_of(run_values(kBranches, {Datum{Expr::boolean(false)}, x})), 30);
}

TEST(HigherOrder, CondOnSymbolsHasTheLayoutOfBothBranches) {
  const auto graph = *parse_graph(kBranches);
  const auto run = run_symbolic(graph, rows());
  EXPECT_EQ(run.nodes[5].verdict, ClaimVerdict::equal) << run.nodes[5].rule;
}

TEST(HigherOrder, BranchesOfDifferentLayoutAreNotGuessed) {
  auto text = kBranches;
  const auto at = text.rfind("aten.mul.Tensor(x, 10)");
  text.replace(at, 22, "aten.sum.default(x)");
  const auto run = run_symbolic(*parse_graph(text), rows());
  EXPECT_EQ(run.nodes[5].verdict, ClaimVerdict::no_rule) << run.nodes[5].rule;
}

TEST(HigherOrder, WhileLoopRunsUntilItsConditionIsFalse) {
  const std::string text =
      "class G(torch.nn.Module):\n"
      "    def forward(self, i, x: \"f32[2][1]cpu\"):\n"
      "        a = self.a\n"
      "        b = self.b\n"
      "        c = torch.ops.higher_order.while_loop(a, b, (i, x), ())\n"
      "        getitem: \"f32[2][1]cpu\" = c[1]\n"
      "        return (getitem,)\n"
      "\n"
      "    class a(torch.nn.Module):\n"
      "        def forward(self, i, x):\n"
      "            y = torch.ops.aten.lt.Scalar(i, 3)\n"
      "            return y\n"
      "\n"
      "    class b(torch.nn.Module):\n"
      "        def forward(self, i, x):\n"
      "            j = torch.ops.aten.add.Tensor(i, 1)\n"
      "            y = torch.ops.aten.mul.Tensor(x, 2)\n"
      "            return (j, y)\n";
  const Datum x{make_tensor({2}, {1, 2}, DType::float32)};
  EXPECT_EQ(sum_of(run_values(text, {Datum{make_tensor({}, {0}, DType::int64)}, x})), 24);
  EXPECT_EQ(sum_of(run_values(text, {Datum{make_tensor({}, {3}, DType::int64)}, x})), 3);
}

TEST(HigherOrder, ScanCarriesAndStacks) {
  const std::string text =
      "class G(torch.nn.Module):\n"
      "    def forward(self, i, x: \"f32[s0, 2][2, 1]cpu\"):\n"
      "        a = self.a\n"
      "        c = torch.ops.higher_order.scan(a, [i], [x], ())\n"
      "        last: \"f32[2][1]cpu\" = c[0]\n"
      "        all: \"f32[s0, 2][2, 1]cpu\" = c[1]\n"
      "        return (last, all)\n"
      "\n"
      "    class a(torch.nn.Module):\n"
      "        def forward(self, i, x):\n"
      "            y = torch.ops.aten.add.Tensor(i, x)\n"
      "            z = torch.ops.aten.clone.default(y)\n"
      "            return (y, z)\n";
  const auto run = run_values(text, {Datum{make_tensor({2}, {0, 0}, DType::float32)},
                                     Datum{make_tensor({2, 2}, {1, 2, 3, 4}, DType::float32)}});
  EXPECT_EQ(sum_of(run, 0), 10);  // 1 + 2 + 3 + 4
  EXPECT_EQ(sum_of(run, 1), 13);  // and the first slice once more
  ASSERT_EQ(run.value.items.size(), 2U);
  EXPECT_EQ(run.value.items[1].tensor->meta.sizes, (Ints{2, 2}));
}

TEST(HigherOrder, ABodyThatIsNotThereLeavesTheNodeUnchecked) {
  const std::string text =
      "def forward(self, x):\n"
      "    c = torch.ops.higher_order.wrap(x, x)\n"
      "    return (c,)\n";
  const auto run = run_text(text, {Datum{make_tensor({2}, {1, 2})}}).run;
  EXPECT_EQ(run.nodes[1].status, NodeStatus::unchecked) << run.nodes[1].message;
  EXPECT_EQ(run.nodes[2].status, NodeStatus::skipped);
}

TEST(HigherOrder, BodiesCallMethodsAsDynamoWritesThem) {
  std::string text = kBranches;
  const std::string from = "y = torch.ops.aten.add.Tensor(x, 1)";
  text.replace(text.find(from), from.size(), "z = x.sin()\n            y = z.mul(2)");
  const Datum x{make_tensor({2}, {1, 2}, DType::float32)};
  const auto run = run_values(text, {Datum{make_tensor({}, {1}, DType::boolean)}, x});
  EXPECT_NEAR(sum_of(run), 2 * (std::sin(1.0) + std::sin(2.0)), 1e-6);
}

/// As 2.11 writes it, and before: with a context, and tensors once more in front.
TEST(HigherOrder, FunctionsOfTheirOwnGradientsRunForward) {
  const Datum x{make_tensor({2}, {1, 2}, DType::float32)};
  const auto run = [&](const std::string& operands, const std::string& params) {
    return run_values(
        "class G(torch.nn.Module):\n"
        "    def forward(self, x: \"f32[2][1]cpu\"):\n"
        "        a = self.a\n"
        "        b = self.b\n"
        "        y = torch.ops.aten.mul.Tensor(x, 10)\n"
        "        c = torch.ops.higher_order.autograd_function_apply(a, b, " +
            operands +
            ", non_differentiable_idx = [])\n"
            "        getitem: \"f32[2][1]cpu\" = c[0]\n"
            "        return (getitem,)\n"
            "\n"
            "    class a(torch.nn.Module):\n"
            "        def forward(self, " +
            params +
            "):\n"
            "            z = torch.ops.aten.add.Tensor(v, 1)\n"
            "            return ((z, v), [v])\n"
            "\n"
            "    class b(torch.nn.Module):\n"
            "        def forward(self, g, v):\n"
            "            return (g,)\n",
        {x});
  };
  EXPECT_EQ(sum_of(run("y", "v")), 32);
  EXPECT_EQ(sum_of(run("y", "ctx, v")), 32);
  EXPECT_EQ(sum_of(run("x, y", "ctx, v")), 32);
  EXPECT_EQ(run("y", "ctx, u, w, v").status, NodeStatus::skipped);
}

TEST(HigherOrder, EffectsCallTheirOperatorBehindAToken) {
  const std::string text =
      "class G(torch.nn.Module):\n"
      "    def forward(self, token: \"f32[0][1]cpu\", x: \"f32[2, 3][3, 1]cpu\"):\n"
      "        e = torch.ops.higher_order.with_effects(token, "
      "torch.ops.aten.sum.dim_IntList, x, [1], keepdim = True)\n"
      "        t: \"f32[0][1]cpu\" = e[0]\n"
      "        y: \"f32[2, 1][1, 1]cpu\" = e[1]\n"
      "        return (t, y)\n";
  const auto run =
      run_values(text, {Datum{make_tensor({0}, {}, DType::float32)},
                        Datum{make_tensor({2, 3}, {1, 2, 3, 4, 5, 6}, DType::float32)}});
  EXPECT_EQ(sum_of(run, 1), 21);
  EXPECT_EQ(run.value.items.at(1).tensor->meta.sizes, (Ints{2, 1}));
}

/// h = a * h + b of pairs (a, b), and any number of them.
TEST(HigherOrder, AssociativeScansCombineAllBefore) {
  const std::string text =
      "class G(torch.nn.Module):\n"
      "    def forward(self, a: \"f32[s0, 1][1, 1]cpu\", b: \"f32[s0, 1][1, 1]cpu\"):\n"
      "        f = self.f\n"
      "        c = torch.ops.higher_order.associative_scan(f, [a, b], ())\n"
      "        getitem: \"f32[s0, 1][1, 1]cpu\" = c[0]\n"
      "        getitem_1: \"f32[s0, 1][1, 1]cpu\" = c[1]\n"
      "        return (getitem, getitem_1)\n"
      "\n"
      "    class f(torch.nn.Module):\n"
      "        def forward(self, a, b, c, d):\n"
      "            e = torch.ops.aten.mul.Tensor(a, c)\n"
      "            g = torch.ops.aten.mul.Tensor(c, b)\n"
      "            h = torch.ops.aten.add.Tensor(g, d)\n"
      "            return [e, h]\n";
  for (std::int64_t length = 1; length < 10; ++length) {
    std::vector<double> factors, terms;
    double product = 1, state = 0, products = 0, states = 0;
    for (std::int64_t i = 0; i < length; ++i) {
      factors.push_back(i % 3 == 1 ? -2 : 1);
      terms.push_back(static_cast<double>(i + 1));
      product *= factors.back();
      state = factors.back() * state + terms.back();
      products += product;
      states += state;
    }
    const auto run = run_values(text, {Datum{make_tensor({length, 1}, factors, DType::float32)},
                                       Datum{make_tensor({length, 1}, terms, DType::float32)}});
    EXPECT_EQ(sum_of(run, 0), products) << length;
    EXPECT_EQ(sum_of(run, 1), states) << length;
  }
  const auto symbolic = run_symbolic(*parse_graph(text), rows());
  EXPECT_EQ(symbolic.nodes[4].verdict, ClaimVerdict::equal) << symbolic.nodes[4].rule;
}

/// Inductor makes lists be changed in place and goes on to take the results' items.
TEST(HigherOrder, ListsThatAreChangedInPlaceHaveItems) {
  const std::string text =
      "def forward(self, x: \"f32[2][1]cpu\", y: \"f32[2][1]cpu\"):\n"
      "    a = torch.ops.aten._foreach_add_.List([x, y], [y, x])\n"
      "    b: \"f32[2][1]cpu\" = a[0]\n"
      "    c: \"f32[2][1]cpu\" = a[1]\n"
      "    return (b, c)\n";
  const auto run = run_values(text, {Datum{make_tensor({2}, {1, 2}, DType::float32)},
                                     Datum{make_tensor({2}, {10, 20}, DType::float32)}});
  EXPECT_EQ(sum_of(run, 0), 33);
  EXPECT_EQ(sum_of(run, 1), 63);  // of what the first is by then
}

}  // namespace
}  // namespace assay
