// Sizes that are chosen where a capture records none.
#include "replay/interp/sizes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/ops/op_table.h"
#include "replay/interp/debug.h"

namespace assay {
namespace {

auto capture_of(const std::string& text) -> Capture {
  auto capture = read_graph_text(text);
  EXPECT_TRUE(capture.has_value()) << capture.error().message;
  return capture ? *std::move(capture) : Capture{};
}

/// Value of a symbol, -1 without one.
auto value(const SizeChoice& choice, const Capture& capture, std::string_view name)
    -> std::int64_t {
  const auto* symbol = capture.graph.env.find(name);
  if (symbol == nullptr || !choice.values.contains(symbol->expr)) return -1;
  return choice.values.at(symbol->expr).as_int().value_or(-1);
}

TEST(ChooseSizes, SmallAndDifferent) {
  const auto capture = capture_of(
      "def forward(self, a: \"Sym(s77)\", x: \"f32[s77, s53][s53, 1]cpu\"):\n    return x\n");
  const auto choice = choose_sizes(capture);
  EXPECT_EQ(choice.chosen.size(), 2U);
  EXPECT_EQ(value(choice, capture, "s77"), 3);
  EXPECT_EQ(value(choice, capture, "s53"), 4);
  EXPECT_EQ(describe(choice), "no size was recorded for s77, s53; chosen: s53 = 4, s77 = 3");
}

TEST(ChooseSizes, OperandsOfAnAdditionGoTogether) {
  const auto capture = capture_of(
      "def forward(self, x: \"f32[s77, ((s53 + 1)//16)]\", p: \"f32[1, 14]\"):\n"
      "    y: \"f32[s77, ((s53 + 1)//16)]\" = torch.ops.aten.add.Tensor(x, p)\n"
      "    return y\n");
  const auto s53 = value(choose_sizes(capture), capture, "s53");
  EXPECT_EQ((s53 + 1) / 16, 14) << s53;
}

TEST(ChooseSizes, OperandsThatArePutTogetherFit) {
  const auto capture = capture_of(
      "def forward(self, x: \"f32[2, 4*((s53 + 3)//4)]\", y: \"f32[3, s53]\"):\n"
      "    z: \"f32[5, s53]\" = torch.ops.aten.cat.default([x, y])\n    return z\n");
  const auto s53 = value(choose_sizes(capture), capture, "s53");
  EXPECT_EQ(s53 % 4, 0) << s53;
  const auto report = debug_capture(capture, build_op_table(), {});
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->undecided.empty());
}

TEST(ChooseSizes, SlicesAreAsLongAsTheyClaim) {
  const auto capture = capture_of(
      "def forward(self, x: \"f32[s10, s21]\"):\n"
      "    y: \"f32[s10, 6]\" = torch.ops.aten.slice.Tensor(x, 1, 2, 8)\n    return y\n");
  EXPECT_GE(value(choose_sizes(capture), capture, "s21"), 8);
}

TEST(ChooseSizes, WhatHoldsAtOtherSizesAccusesNobody) {
  // At s10 = 3 the slice is 3 long; a guard that the text does not hold may say that s10 is larger.
  const auto roots = [](std::string_view claimed) {
    const auto capture = capture_of(
        fmt::format("def forward(self, x: \"f32[s10, 5]\"):\n"
                    "    y: \"{}\" = torch.ops.aten.slice.Tensor(x, 0, -4, 9223372036854775807)\n"
                    "    return y\n",
                    claimed));
    const auto report = debug_capture(capture, build_op_table(), {});
    EXPECT_TRUE(report);
    return report ? static_cast<int>(root_findings(report->findings).size()) : -1;
  };
  EXPECT_EQ(roots("f32[4, 5]"), 0);
  EXPECT_EQ(roots("f32[4, 6]"), 1);
}

auto root_names(std::string_view text) -> std::vector<std::string> {
  const auto capture = capture_of(std::string(text));
  const auto report = debug_capture(capture, build_op_table(), {});
  EXPECT_TRUE(report);
  std::vector<std::string> names;
  if (report)
    for (const auto* finding : root_findings(report->findings)) names.push_back(finding->node_name);
  return names;
}

TEST(ChooseSizes, StridesThatAreNumbersAccuseNobody) {
  // Which of the two strides is larger decides the layout of the sum, and nothing tells.
  EXPECT_TRUE(
      root_names("def forward(self, a: \"Sym(s40)\", b: \"Sym(s39)\", "
                 "x: \"f32[s38, s67, 5][s40, s39, 1]cpu\"):\n"
                 "    y: \"f32[s38, s67, 5][5*s67, 5, 1]cpu\" = torch.ops.aten.add.Tensor(x, x)\n"
                 "    return y\n")
          .empty());
  EXPECT_EQ(
      root_names("def forward(self, x: \"f32[s38, s67, 5][5*s67, 5, 1]cpu\"):\n"
                 "    y: \"f32[s38, s67, 5][5, 5*s38, 1]cpu\" = torch.ops.aten.add.Tensor(x, x)\n"
                 "    return y\n"),
      std::vector<std::string>{"y"});
}

TEST(ChooseSizes, NumbersReadFromUnstatedStridesAccuseNobody) {
  EXPECT_TRUE(root_names("def forward(self, x: \"f32[3, 4, 5]\"):\n"
                         "    s: \"Sym(7)\" = torch.ops.aten.sym_stride.int(x, 0)\n    return s\n")
                  .empty());
  EXPECT_EQ(root_names("def forward(self, x: \"f32[3, 4, 5][20, 5, 1]cpu\"):\n"
                       "    s: \"Sym(7)\" = torch.ops.aten.sym_stride.int(x, 0)\n    return s\n"),
            std::vector<std::string>{"s"});
  EXPECT_EQ(root_names("def forward(self, x: \"f32[3, 4, 5]\"):\n"
                       "    s: \"Sym(7)\" = torch.ops.aten.sym_size.int(x, 0)\n    return s\n"),
            std::vector<std::string>{"s"});
}

TEST(ChooseSizes, FactorsOfAProductFit) {
  const auto capture = capture_of(
      "def forward(self, b: \"f32[3]\", x: \"f32[2, 4*(s69//2)*(s87//2)**2]\", w: \"f32[192, "
      "3]\"):\n"
      "    z: \"f32[2, 3]\" = torch.ops.aten.addmm.default(b, x, w)\n    return z\n");
  const auto choice = choose_sizes(capture);
  const auto s69 = value(choice, capture, "s69") / 2;
  const auto s87 = value(choice, capture, "s87") / 2;
  EXPECT_EQ(s69 * s87 * s87, 48) << s69 << " " << s87;
}

TEST(ChooseSizes, NumbersThatRestOnChosenSizesAccuseNobody) {
  const auto roots = [](std::string_view sizes, std::string_view claimed) {
    const auto capture =
        capture_of(fmt::format("def forward(self, n: \"Sym((s69//2))\", m: \"Sym((s69//2))\", x: "
                               "\"f32[2, 36][36, 1]cpu\"):\n"
                               "    z: \"{}\" = torch.ops.aten.view.default(x, {})\n    return z\n",
                               claimed, sizes));
    const auto report = debug_capture(capture, build_op_table(), {});
    EXPECT_TRUE(report);
    return report ? std::ranges::count(report->findings, Blame::root, &Finding::blame) : -1;
  };
  // It runs where s69//2 is 6, which nothing in the text tells.
  EXPECT_EQ(roots("[2, n, m]", "f32[2, (s69//2), (36//(s69//2))]"), 0);
  EXPECT_EQ(roots("[2, 5, 7]", "f32[2, 5, 7]"), 1);
}

TEST(ChooseSizes, HintsAndWhatIsGivenStay) {
  const auto capture = capture_of(
      "# assay graph 1\n# symbol s77: hint 9\n"
      "def forward(self, x: \"f32[s77, s53, s5][1, 1, 1]cpu\"):\n    return x\n");
  const auto s53 = capture.graph.env.find("s53")->expr;
  const auto choice = choose_sizes(capture, {{s53, Expr(11)}});
  EXPECT_EQ(value(choice, capture, "s77"), 9);
  EXPECT_EQ(value(choice, capture, "s53"), 11);
  EXPECT_EQ(choice.chosen.size(), 1U);
  EXPECT_TRUE(
      describe(choose_sizes(capture_of("def forward(self, x: \"f32[2]\"):\n    return x\n")))
          .empty());
}

TEST(ChooseSizes, RangesGuardsAndClaimsHold) {
  const auto capture = capture_of(
      "# assay graph 1\n# symbol s0: range [50, 60]\n# guard Eq(Mod(s1, 8), 0)\n"
      "# guard Eq(s2*s3, 4*s1)\n"
      "def forward(self, x: \"f32[s0, s1, s2, s3][1, 1, 1, 1]cpu\", y: \"f32[s4][1]cpu\"):\n"
      "    z: \"f32[s4 - 20][1]cpu\" = torch.ops.aten.slice.Tensor(y, 0, 20)\n"
      "    return x\n");
  const auto choice = choose_sizes(capture);
  EXPECT_EQ(value(choice, capture, "s0"), 50);
  EXPECT_EQ(value(choice, capture, "s1") % 8, 0);
  EXPECT_EQ(value(choice, capture, "s2") * value(choice, capture, "s3"),
            4 * value(choice, capture, "s1"));
  EXPECT_GE(value(choice, capture, "s4"), 21);
}

TEST(ChooseSizes, ViewsKeepTheirElements) {
  const auto capture = capture_of(
      "def forward(self, x: \"f32[s0, 4][4, 1]cpu\"):\n"
      "    y: \"f32[(s0//8), 32][32, 1]cpu\" = torch.ops.aten.view.default(x, [-1, 32])\n"
      "    return y\n");
  EXPECT_EQ(value(choose_sizes(capture), capture, "s0") % 8, 0);
}

TEST(ChooseSizes, ContradictionsEndTheSearch) {
  const auto capture = capture_of(
      "# assay graph 1\n# guard Eq(Mod(s0*s1*s2*s3, 2), 1)\n# guard Eq(Mod(s0, 2), 0)\n"
      "def forward(self, x: \"f32[s0, s1, s2, s3][1, 1, 1, 1]cpu\"):\n    return x\n");
  const auto choice = choose_sizes(capture);
  for (const std::string name : {"s0", "s1", "s2", "s3"})
    EXPECT_GT(value(choice, capture, name), 0);
}

TEST(ChooseSizes, RecordedInputsDecide) {
  auto capture = capture_of(
      "def forward(self, a: \"Sym(s0)\", x: \"f32[s0, s1][s1, 1]cpu\"):\n    return x\n");
  capture.inputs[0] = Expr(13);
  const auto choice = choose_sizes(capture);
  EXPECT_EQ(value(choice, capture, "s0"), 13);
  EXPECT_EQ(choice.chosen.size(), 1U);
}

const std::string kMul =
    "class <lambda>(torch.nn.Module):\n"
    "    def forward(self, arg0_1: \"Sym(s77)\", arg1_1: \"f32[s77, 4][4, 1]cpu\"):\n"
    "        mul: \"f32[s77, 4][4, 1]cpu\" = torch.ops.aten.mul.Tensor(arg1_1, 2.0)\n"
    "        return (mul,)\n";

TEST(ChooseSizes, ATextWithSymbolsIsDebugged) {
  const auto capture = capture_of(kMul);
  const auto table = build_op_table();
  const auto report = debug_capture(capture, table, {});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->counts.checked, 4);
  EXPECT_EQ(report->counts.roots, 0);
  EXPECT_EQ(report->warnings,
            std::vector<std::string>{"no size was recorded for s77; chosen: s77 = 3"});
}

TEST(ChooseSizes, AtAndSweepWorkOnTexts) {
  const auto capture = capture_of(kMul);
  const auto s77 = capture.graph.env.find("s77")->expr;
  const auto table = build_op_table();
  DebugOptions options;
  options.at = {{s77, Expr(7)}};
  options.sweep = true;
  const auto at = debug_capture(capture, table, options);
  ASSERT_TRUE(at) << at.error().message;
  EXPECT_EQ(at->run.nodes[2].value.tensor->meta.sizes, (Ints{7, 4}));
  EXPECT_TRUE(at->warnings.empty());
  EXPECT_GT(at->counts.sweep_points, 0);
}

TEST(ChooseSizes, ALieInATextWithSymbolsIsFound) {
  auto text = kMul;
  text.replace(text.find("mul: \"f32[s77, 4]"), 17, "mul: \"f32[s77, 5]");
  const auto report = debug_capture(capture_of(text), build_op_table(), {});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_GE(report->counts.roots, 1);
  for (const auto& finding : report->findings) EXPECT_EQ(finding.node_name, "mul");
}

TEST(ChooseSizes, AttributesThatATextClaimsAreMadeUp) {
  const auto capture = capture_of(
      "def forward(self, x: \"f32[s0, 4][4, 1]cpu\"):\n"
      "    w: \"f32[4][1]cpu\" = self.layer.weight\n"
      "    mul: \"f32[s0, 4][4, 1]cpu\" = torch.ops.aten.mul.Tensor(x, w)\n    return (mul,)\n");
  const auto report = debug_capture(capture, build_op_table(), {});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->counts.checked, 4);
}

/// Numbers among a call's arguments may be sizes of what came in.
TEST(SizesOfArguments, AreThoseOfTheInputs) {
  const auto capture = capture_of(
      "def forward(self, x: \"f32[s0, s1]\"):\n"
      "    y = torch.ops.aten.view.default(x, [s1, s0])\n"
      "    z = torch.ops.aten.slice.Tensor(y, 1, 0, s0 - 1)\n    return z\n");
  const auto table = build_op_table();
  RunInputs given;
  given.values = {Datum{*Tensor::contiguous(DType::float32, {3, 5})}};
  given.made_up.resize(1);
  given.defects.resize(1);
  const auto run = run_graph(capture.graph, given, table, {});
  ASSERT_EQ(run.nodes.size(), 4U);
  EXPECT_EQ(run.nodes[1].message + run.nodes[2].message, "");
  ASSERT_TRUE(run.nodes[3].value.tensor);
  EXPECT_EQ(run.nodes[3].value.tensor->meta.sizes, (std::vector<std::int64_t>{5, 2}));
}

}  // namespace
}  // namespace assay
