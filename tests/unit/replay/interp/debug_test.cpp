// When a finding may accuse: what is claimed, on what evidence, and at which node.
#include "replay/interp/debug.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/graph/text.h"
#include "core/ops/generator.h"
#include "replay/interp/compare.h"

namespace assay {
namespace {

auto table() -> const OpTable& {
  static const OpTable kTable = build_op_table();
  return kTable;
}

/// A capture of these parameters and lines. With `native`, claims state their offsets.
auto capture_of(const std::string& parameters, const std::string& body, bool native = false)
    -> Capture {
  const auto text =
      fmt::format("{}class G(torch.nn.Module):\n    def forward(self, {}):\n        {}\n",
                  native ? "# assay graph 1\n" : "", parameters, body);
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().message) << "\n" << text;
  Capture capture;
  if (graph) capture.graph = *std::move(graph);
  for (const auto& node : capture.graph.nodes)
    if (node.kind == NodeKind::placeholder) capture.inputs.emplace_back();
  return capture;
}

auto debug(const Capture& capture, DebugOptions options = {}) -> DebugReport {
  auto report = debug_capture(capture, table(), options);
  EXPECT_TRUE(report) << (report ? "" : report.error().message);
  return report ? *std::move(report) : DebugReport{};
}

/// "view: wrong-stride" of every root finding.
auto roots(const DebugReport& report) -> std::vector<std::string> {
  std::vector<std::string> names;
  for (const auto* finding : root_findings(report.findings))
    names.push_back(fmt::format("{}: {}", finding->node_name, info(finding->kind).name));
  return names;
}
using Names = std::vector<std::string>;

/// What eager execution produced at a node.
void record(Capture& capture, std::string_view name, RealMeta meta, int alias = -1) {
  if (meta.device.type == "cpu") meta.device.type.clear();  // not recorded
  Observation seen;
  seen.tensor = std::move(meta);
  seen.alias_group = alias;
  capture.observed[capture.graph.find(name)->id] = seen;
}
auto f32(Ints sizes, Ints strides, std::int64_t offset = 0) -> RealMeta {
  return {.dtype = DType::float32,
          .sizes = std::move(sizes),
          .strides = std::move(strides),
          .offset = offset,
          .storage_bytes = 0,
          .device = {}};
}

TEST(Debug, WhatATextDoesNotSayIsNotClaimed) {
  const std::string slice =
      "y: \"f32[2, 6][6, 1]cpu\" = torch.ops.aten.slice.Tensor(x, 0, 2, 4)\n"
      "        return (y,)";
  EXPECT_EQ(roots(debug(capture_of("x: \"f32[4, 6][6, 1]cpu\"", slice))), Names{});
  // The same text says that offsets are 0 where nothing else is noted, if it is ours.
  EXPECT_EQ(roots(debug(capture_of("x: \"f32[4, 6][6, 1]cpu\"", slice, true))),
            Names{"y: wrong-offset"});
  const auto permuted = [](const std::string& claim) {
    return "y: \"" + claim + "\" = torch.ops.aten.permute.default(x, [1, 0])\n        return (y,)";
  };
  EXPECT_EQ(roots(debug(capture_of("x: \"f32[4, 6]\"", permuted("f32[6, 4]")))), Names{});
  EXPECT_EQ(roots(debug(capture_of("x: \"f32[4, 6]\"", permuted("f32[6, 5]")))),
            Names{"y: wrong-size"});
  EXPECT_EQ(roots(debug(capture_of("x: \"f32[4, 6][6, 1]cpu\"", permuted("f32[6, 4][4, 1]cpu")))),
            Names{"y: wrong-stride"});
}

TEST(Debug, StridesThatNobodyStatedMakeNobodyALiar) {
  // Whether the view is possible depends on strides of x, which the text leaves out.
  const auto report =
      debug(capture_of("x: \"f32[4, 6]\"",
                       "t: \"f32[6, 4][4, 1]cpu\" = torch.ops.aten.permute.default(x, [1, 0])\n"
                       "        return (t,)"));
  EXPECT_EQ(roots(report), Names{});
  ASSERT_EQ(report.undecided.size(), 1U);
  EXPECT_EQ(report.undecided[0].node_name, "t");
  EXPECT_EQ(report.undecided[0].inputs, Names{"x"});
}

const std::string kUnknown =
    "u: \"f32[4, 6][6, 1]cpu\" = torch.ops.my.op.default(x)\n"
    "        v: \"f32[6, 4][1, 6]cpu\" = torch.ops.aten.permute.default(u, [1, 0])\n"
    "        return (v,)";

TEST(Debug, WithASeedRandomValuesAreThoseOfTheRecordedRun) {
  const auto capture = capture_of("x: \"f32[50]\"",
                                  "r = torch.ops.aten.rand_like.default(x)\n        "
                                  "m = torch.ops.aten.gt.Scalar(r, 0.5)\n        "
                                  "n = torch.ops.aten.nonzero.default(m)\n        return (n,)");
  const auto found = [&](std::optional<std::uint64_t> seed) {
    DebugOptions options;
    if (seed) options.random = std::make_shared<RandomState>(*seed);
    return debug(capture, options);
  };
  const auto count = [](const DebugReport& report) {
    return report.run.nodes[3].value.tensor->meta.sizes[0];
  };
  EXPECT_GT(found({}).counts.random, 0);
  EXPECT_EQ(found(7).counts.random, 0);
  EXPECT_EQ(count(found(7)), 28);  // torch.manual_seed(7); (torch.rand(50) > 0.5).sum()
}

TEST(Debug, ARecordedLieOfAnUnknownOperatorIsSeen) {
  auto capture = capture_of("x: \"f32[4, 6][6, 1]cpu\"", kUnknown);
  record(capture, "u", f32({4, 6}, {1, 4}));
  record(capture, "v", f32({6, 4}, {4, 1}));
  const auto report = debug(capture);
  EXPECT_EQ(roots(report), Names{"u: wrong-stride"});
  EXPECT_EQ(report.counts.inherited, 1);  // v follows

  record(capture, "u", f32({4, 6}, {6, 1}));
  record(capture, "v", f32({6, 4}, {1, 6}));
  const auto honest = debug(capture);
  EXPECT_EQ(roots(honest), Names{});
  EXPECT_EQ(honest.counts.blind(), 0);
  EXPECT_EQ(honest.counts.recorded, 1);
}

TEST(Debug, NodesBehindAnUnknownOperatorAreChecked) {
  const auto honest = debug(capture_of("x: \"f32[4, 6][6, 1]cpu\"", kUnknown));
  EXPECT_EQ(roots(honest), Names{});
  EXPECT_EQ(honest.counts.blind(), 1);
  ASSERT_EQ(honest.unchecked_targets.size(), 1U);
  EXPECT_EQ(honest.unchecked_targets[0], "my.op.default: no row for operator my.op.default");
  auto lie = kUnknown;
  lie.replace(lie.find("[1, 6]cpu"), 6, "[4, 1]");
  EXPECT_EQ(roots(debug(capture_of("x: \"f32[4, 6][6, 1]cpu\"", lie))), Names{"v: wrong-stride"});
}

TEST(Debug, ACallThatEagerExecutionRanIsNoFailure) {
  // Assay's row refuses it, the recording has a result: Assay is wrong, which is a note.
  auto capture = capture_of("x: \"f32[4, 6][6, 1]cpu\"",
                            "y: \"f32[5, 5][5, 1]cpu\" = torch.ops.aten.view.default(x, [5, 5])\n"
                            "        return (y,)");
  EXPECT_EQ(roots(debug(capture)), Names{"y: call-fails"});
  record(capture, "y", f32({5, 5}, {5, 1}));
  const auto report = debug(capture);
  EXPECT_EQ(roots(report), Names{});
  EXPECT_EQ(report.counts.notes, 1);
}

TEST(Debug, NumbersReadFromMadeUpDataAreAdmittedOnes) {
  const auto capture =  // its pool holds the symbols of the report
      capture_of("n: \"i64[][]cpu\"",
                 "item: \"Sym(u0)\" = torch.ops.aten._local_scalar_dense.default(n)\n"
                 "        ge: \"Sym(u0 >= 3)\" = item >= 3\n"
                 "        a = torch.ops.aten._assert_scalar.default(ge, 'u0 >= 3')\n"
                 "        z: \"f32[u0][1]cpu\" = torch.ops.aten.full.default([item], 1.0)\n"
                 "        return (z,)");
  const auto report = debug(capture);
  EXPECT_EQ(roots(report), Names{});
  EXPECT_EQ(report.counts.blind(), 0);
  EXPECT_EQ(to_string(report.binding.values), "u0 = 3");
}

/// Numbers of modules that Dynamo takes as tensors.
TEST(Debug, FloatsAreWhatTheGraphReadsThemAs) {
  const auto report = [](const std::string& claim) {
    return debug(capture_of("n: \"f64[][]cpu\"", "item" + claim +
                                                     " = n.item()\n"
                                                     "        twice: \"Sym(0.02)\" = item * 2\n"
                                                     "        return (twice,)"));
  };
  const auto known = report(": \"Sym(0.01)\"");
  EXPECT_EQ(roots(known), Names{});
  EXPECT_TRUE(known.undecided.empty());
  EXPECT_EQ(roots(report(": \"Sym(0.03)\"")), Names{"twice: wrong-scalar"});
}

TEST(Debug, AssertsOnMadeUpDataHoldWhereANumberCanBeChosen) {
  const auto body = [](std::string_view second) {  // no claims to choose a number by
    return fmt::format(
        "item = torch.ops.aten._local_scalar_dense.default(n)\n"
        "        ge = item >= 3\n"
        "        a = torch.ops.aten._assert_scalar.default(ge, 'u0 >= 3')\n"
        "        other = item {}\n"
        "        b = torch.ops.aten._assert_scalar.default(other, 'other')\n"
        "        z = torch.ops.aten.full.default([item], 1.0)\n"
        "        return (z,)",
        second);
  };
  const auto chosen = debug(capture_of("n: \"i64[][]cpu\"", body("!= 3")));
  EXPECT_EQ(roots(chosen), Names{});
  EXPECT_EQ(chosen.counts.blind(), 0);
  EXPECT_TRUE(chosen.undecided.empty());
  auto capture = capture_of("n: \"i64[][]cpu\"", body("<= 2"));  // no number does
  const auto report = debug(capture);
  EXPECT_EQ(roots(report), Names{});
  ASSERT_EQ(report.undecided.size(), 1U);
  EXPECT_EQ(report.undecided[0].inputs, Names{"n"});
  // Recorded data do accuse.
  capture.storages.push_back(
      {8, std::make_shared<const std::vector<std::byte>>(8, std::byte{0}), std::nullopt});
  RealMeta scalar{.dtype = DType::int64, .sizes = {}, .strides = {}, .device = {}};
  capture.inputs[0] = RecordedTensor{0, scalar};
  EXPECT_EQ(roots(debug(capture)), Names{"a: call-fails"});
}

TEST(Debug, ALieBehindMadeUpSizesIsSeen) {
  const auto text = [](const std::string& claim) {
    return "nz: \"i64[u0, 2][1, u0]cpu\" = torch.ops.aten.nonzero.default(m)\n"
           "        t: \"" +
           claim +
           "\" = torch.ops.aten.permute.default(nz, [1, 0])\n"
           "        return (t,)";
  };
  EXPECT_EQ(roots(debug(capture_of("m: \"b8[4, 6][6, 1]cpu\"", text("i64[2, u0][u0, 1]cpu")))),
            Names{});
  EXPECT_EQ(roots(debug(capture_of("m: \"b8[4, 6][6, 1]cpu\"", text("i64[3, u0][u0, 1]cpu")))),
            Names{"t: wrong-size"});
}

TEST(Debug, TheNodeThatLiedAboutAStrideOfOneIsTheRoot) {
  // The view keeps the layout of its operand; its claim says row-major in the dimension of size 1,
  // and convolution takes the claim for channels-last.
  auto capture = capture_of(
      "x: \"f32[1, 64, 8][512, 8, 1]cpu\", w: \"f32[8, 8, 2, 2][32, 4, 2, 1]cpu\"",
      "p: \"f32[1, 8, 64][512, 1, 8]cpu\" = torch.ops.aten.permute.default(x, [0, 2, 1])\n"
      "        v: \"f32[1, 8, 8, 8][512, 1, 64, 8]cpu\" = torch.ops.aten.view.default(p, "
      "[1, 8, 8, 8])\n"
      "        c: \"f32[1, 8, 4, 4][128, 1, 32, 8]cpu\" = torch.ops.aten.convolution.default(v, w, "
      "None, [2, 2], [0, 0], [1, 1], False, [0, 0], 1)\n"
      "        return (c,)");
  record(capture, "v", f32({1, 8, 8, 8}, {8, 1, 64, 8}));
  record(capture, "c", f32({1, 8, 4, 4}, {128, 16, 4, 1}));
  const auto report = debug(capture);
  EXPECT_EQ(roots(report), Names{"v: misleading-stride"});
  EXPECT_EQ(report.counts.inherited, 1);
  // Where nobody takes it for a layout it is a note.
  record(capture, "c", f32({1, 8, 4, 4}, {128, 1, 32, 8}));
  EXPECT_EQ(roots(debug(capture)), Names{});
}

TEST(Debug, OneLieIsOneRoot) {
  const auto report = debug(
      capture_of("x: \"f32[4][1]cpu\"",
                 "y: \"f32[9][1]cpu\" = torch.ops.aten.add.Tensor(x, 1)\n        return (y,)"));
  EXPECT_EQ(roots(report), Names{"y: wrong-size"});
  // Dense strides follow from sizes; the order of the dimensions in memory does not.
  const auto wide = [](const std::string& claim) {
    return roots(
        debug(capture_of("x: \"f32[4, 5][5, 1]cpu\"", "y: \"" + claim +
                                                          "\" = torch.ops.aten.add.Tensor(x, 1)\n"
                                                          "        return (y,)")));
  };
  EXPECT_EQ(wide("f32[4, 6][6, 1]cpu"), Names{"y: wrong-size"});
  EXPECT_EQ(wide("f32[4, 6][1, 4]cpu"), (Names{"y: wrong-size", "y: wrong-stride"}));
}

TEST(Debug, GuardsOnTheInputsOfAnExportedModuleLeaveNothingUnchecked) {
  const auto called = [](const std::string& module) {
    return debug(capture_of("x: \"f32[4][1]cpu\"",
                            module + " = self." + module + "(x);  " + module +
                                " = None\n        y: \"f32[4][1]cpu\" = "
                                "torch.ops.aten.add.Tensor(x, 1)\n        return (y,)"));
  };
  EXPECT_EQ(called("_guards_fn").counts.unchecked, 0);
  EXPECT_EQ(called("block").counts.unchecked, 1);
}

TEST(Debug, ALieIsInheritedThroughCallsThatClaimNothing) {
  const auto report =
      debug(capture_of("x: \"f32[4, 6][6, 1]cpu\"",
                       "y: \"f32[4, 7][7, 1]cpu\" = torch.ops.aten.add.Tensor(x, 1)\n"
                       "        split = torch.ops.aten.split.Tensor(y, 2, 1)\n"
                       "        part: \"f32[4, 2][7, 1]cpu\" = split[0]\n        return (part,)"));
  EXPECT_EQ(roots(report), Names{"y: wrong-size"});
  ASSERT_EQ(report.counts.inherited, 1);
  EXPECT_EQ(report.findings.back().dirty_operands, std::vector<std::string>{"y"});
}

TEST(Debug, LayoutsThatDependOnTheVersionOfPyTorchAccuseNobody) {
  const auto attended = [](int heads, const std::string& strides) {
    const auto keys = fmt::format("f32[2, {0}, 12, 8][{1}, 96, 8, 1]cpu", heads, heads * 96);
    return debug(
        capture_of(fmt::format("q: \"f32[2, 4, 12, 8][384, 8, 32, 1]cpu\", k: \"{}\"", keys),
                   "y: \"f32[2, 4, 12, 8]" + strides +
                       "cpu\" = torch.ops.aten.scaled_dot_product_attention.default(q, k, k)\n"
                       "        return (y,)"));
  };
  for (const auto* strides : {"[384, 96, 8, 1]", "[384, 8, 32, 1]"}) {
    EXPECT_EQ(roots(attended(1, strides)), Names{}) << strides;
    EXPECT_EQ(attended(1, strides).counts.unchecked, 1) << strides;
  }
  EXPECT_EQ(roots(attended(4, "[384, 8, 32, 1]")), Names{});
  EXPECT_EQ(roots(attended(4, "[384, 96, 8, 1]")), Names{"y: wrong-stride"});
}

TEST(Debug, WhatChosenSizesBreakBehindCallsThatClaimNothingIsOpen) {
  const auto report = debug(
      capture_of("x: \"f32[4, s0][s0, 1]cpu\", y: \"f32[s1, 4][4, 1]cpu\"",
                 "a = torch.ops.aten.neg.default(x)\n        b = torch.ops.aten.neg.default(y)\n"
                 "        c = torch.ops.aten.mm.default(a, b)\n        return (c,)"));
  EXPECT_EQ(roots(report), Names{});
  EXPECT_EQ(report.counts.undecided, 1);
  EXPECT_EQ(roots(debug(capture_of(
                "x: \"f32[4, 3][3, 1]cpu\", y: \"f32[5, 4][4, 1]cpu\"",
                "a = torch.ops.aten.neg.default(x)\n        b = torch.ops.aten.neg.default(y)\n"
                "        c = torch.ops.aten.mm.default(a, b)\n        return (c,)"))),
            Names{"c: call-fails"});
}

TEST(Debug, NumbersThatWereChosenAccuseNobody) {
  // Right for every n from -s0 to 0, which no text says.
  const auto sliced = [](const std::string& claim) {
    return debug(capture_of("n: \"Sym(s5)\", x: \"f32[s0, 4][4, 1]cpu\"",
                            "neg: \"Sym(-s5)\" = -n\n"
                            "        y: \"" +
                                claim +
                                "\" = torch.ops.aten.slice.Tensor(x, 0, neg, "
                                "9223372036854775807)\n        return (y,)"));
  };
  const auto right = sliced("f32[s0 + s5, 4][4, 1]cpu");
  EXPECT_EQ(roots(right), Names{});
  EXPECT_EQ(right.counts.undecided, 1);
  EXPECT_EQ(roots(sliced("f32[s0 + s5, 5][5, 1]cpu")), Names{"y: wrong-size"});
}

TEST(Debug, ARangeThatNobodyStatedIsNotLeft) {
  auto capture = capture_of("x: \"f32[s0, 4][4, 1]cpu\"",
                            "y: \"f32[s0, 4][4, 1]cpu\" = torch.ops.aten.neg.default(x)\n"
                            "        return (y,)");
  record(capture, "x", f32({0, 4}, {4, 1}));
  EXPECT_EQ(roots(debug(capture)), Names{});
  capture.guards_recorded = true;
  EXPECT_EQ(roots(debug(capture)), Names{"x: symbol-out-of-range"});
}

TEST(Debug, OffsetsOfFreshStoragesMatterToReadersOnly) {
  // copy keeps the offset of what it copies into; the fake says 0.
  const std::string copied =
      "s: \"f32[2, 6][6, 1]cpu\" = torch.ops.aten.slice.Tensor(x, 0, 2, 4)  # assay offset=12\n"
      "        c: \"f32[2, 6][6, 1]cpu\" = torch.ops.aten.copy.default(s, y)\n"
      "        {}\n        return (r,)";
  const std::string inputs = "x: \"f32[4, 6][6, 1]cpu\", y: \"f32[2, 6][6, 1]cpu\"";
  const auto view = fmt::format(fmt::runtime(copied),
                                "r: \"f32[12][1]cpu\" = torch.ops.aten.view.default(c, [12])");
  const auto quiet = debug(capture_of(inputs, view, true));
  EXPECT_EQ(roots(quiet), Names{});
  EXPECT_EQ(std::ranges::count(quiet.findings, FindingKind::insignificant_offset, &Finding::kind),
            2);
  const auto read =
      fmt::format(fmt::runtime(copied),
                  "r: \"f32[2][1]cpu\" = torch.ops.aten.as_strided.default(c, [2], [1], 0)");
  EXPECT_EQ(roots(debug(capture_of(inputs, read, true))), Names{"c: wrong-offset"});
}

TEST(Debug, FloatsAreComparedWithTheDigitsTheyHave) {
  EXPECT_TRUE(equal_as_printed(-3.40282346638529e+38, -3.4028234663852886e+38));
  EXPECT_FALSE(equal_as_printed(1.0, 1.0 + 1e-13));
}

TEST(Debug, WhatAnUnknownCallMutatesIsNotKnown) {
  auto capture = capture_of("x: \"f32[4, 6][6, 1]cpu\"", kUnknown);
  capture.mutated_inputs = {"x"};
  const auto report = debug(capture);
  EXPECT_EQ(roots(report), Names{});
  EXPECT_EQ(report.undecided.size(), 1U);
  auto known = capture_of("x: \"f32[4, 6][6, 1]cpu\"",
                          "y: \"f32[4, 6][6, 1]cpu\" = torch.ops.aten.add.Tensor(x, 1)\n"
                          "        return (y,)");
  known.mutated_inputs = {"x"};
  EXPECT_EQ(roots(debug(known)), Names{"x: wrong-mutation"});
}

TEST(Debug, DevicesAreComparedWhereTheyWereRecorded) {
  auto capture = capture_of("x: \"f32[4][1]cuda:0\"",
                            "y: \"f32[4][1]cuda:0\" = torch.ops.aten.add.Tensor(x, 1)\n"
                            "        return (y,)");
  record(capture, "y", f32({4}, {1}));
  EXPECT_EQ(roots(debug(capture)), Names{});
  auto on_cpu = f32({4}, {1});
  on_cpu.device = {"xpu", 0};
  record(capture, "y", on_cpu);
  EXPECT_EQ(roots(debug(capture)), Names{"y: wrong-device"});
}

TEST(Debug, SweepsKeepIndicesInsideOfWhatTheyIndex) {
  auto capture = capture_of("s: \"Sym(s0)\", t: \"f32[s0, 3][3, 1]cpu\", i: \"i64[2][1]cpu\"",
                            "y: \"f32[2, 3][3, 1]cpu\" = torch.ops.aten.embedding.default(t, i)\n"
                            "        return (y,)");
  std::vector<std::byte> bytes(16, std::byte{0});
  bytes[0] = std::byte{7};
  capture.storages.push_back(
      {16, std::make_shared<const std::vector<std::byte>>(bytes), std::nullopt});
  capture.inputs[0] = Expr(9);
  capture.graph.env.set_hint(capture.graph.env.find("s0")->expr, Expr(9));
  capture.inputs[2] = RecordedTensor{
      0, {.dtype = DType::int64, .sizes = {2}, .strides = {1}, .storage_bytes = 16, .device = {}}};
  DebugOptions sweep;
  sweep.sweep = true;
  const auto report = debug(capture, sweep);
  EXPECT_GT(report.counts.sweep_points, 0);
  EXPECT_EQ(roots(report), Names{});
  EXPECT_TRUE(report.undecided.empty());
}

TEST(Debug, InfinitiesThatWereAskedForAreNotTheFirst) {
  DebugOptions options;
  options.find_not_finite = true;
  const std::string inputs = "x: \"f32[4][1]cpu\", m: \"b8[4][1]cpu\"";
  const auto text = [](const std::string& last) {
    return "f: \"f32[4][1]cpu\" = torch.ops.aten.masked_fill.Scalar(x, m, -inf)\n"
           "        e: \"f32[4][1]cpu\" = torch.ops.aten.exp.default(f)\n        " +
           last + "\n        return (r,)";
  };
  EXPECT_EQ(roots(debug(capture_of(inputs, text("r: \"f32[4][1]cpu\" = "
                                                "torch.ops.aten.neg.default(e)")),
                        options)),
            Names{});
  EXPECT_EQ(roots(debug(capture_of(inputs, text("r: \"f32[4][1]cpu\" = "
                                                "torch.ops.aten.sub.Tensor(f, f)")),
                        options)),
            Names{"r: not-finite"});
}

TEST(Debug, AnInputOfWhichNothingIsKnownLeavesWhatItFlowsIntoUnchecked) {
  const std::string sparse =
      "m: \"f32[4, 6][6, 1]cpu\" = torch.ops.aten.mul.Tensor(s, 2)\n"
      "        y: \"f32[6, 4][{}]cpu\" = torch.ops.aten.permute.default(x, [1, 0])\n"
      "        return (m, y)";
  const std::string inputs = "s, x: \"f32[4, 6][6, 1]cpu\"";
  const auto honest = debug(capture_of(inputs, fmt::format(fmt::runtime(sparse), "1, 6")));
  EXPECT_EQ(roots(honest), Names{});
  EXPECT_EQ(honest.counts.blind(), 2);  // the input and what takes it
  EXPECT_EQ(roots(debug(capture_of(inputs, fmt::format(fmt::runtime(sparse), "4, 1")))),
            Names{"y: wrong-stride"});
}

TEST(Debug, AnEmptyStorageThatTheGraphResizesIsNotTooSmall) {
  const auto text = [](const std::string& first) {
    return first +
           "y: \"f32[4, 6][6, 1]cpu\" = torch.ops.aten.mul.Tensor(x, 2)\n"
           "        return (y,)";
  };
  const std::string resize =
      "r = torch.ops.inductor.resize_storage_bytes_.default(x, 96)\n        ";
  const auto with_empty_storage = [&](const std::string& first) {
    auto capture = capture_of("x: \"f32[4, 6][6, 1]cpu\"", text(first));
    capture.storages.emplace_back();
    capture.inputs[0] = RecordedTensor{0, f32({4, 6}, {6, 1})};
    return capture;
  };
  EXPECT_EQ(roots(debug(with_empty_storage(resize))), Names{});
  EXPECT_EQ(roots(debug(with_empty_storage(""))), Names{"x: storage-too-small"});
}

}  // namespace
}  // namespace assay
