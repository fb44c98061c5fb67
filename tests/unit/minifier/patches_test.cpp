// Each kind of patch on the smallest graph that shows it.
#include "minifier/edits/patches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/expr/text.h"
#include "core/graph/text.h"
#include "minifier/edits/program.h"
#include "replay/interp/debug.h"

namespace assay {
namespace {

auto table() -> const OpTable& {
  static const OpTable kTable = build_op_table();
  return kTable;
}

auto read(const std::string& body, const std::string& children = "") -> Capture {
  auto capture = read_graph_text(
      "# assay graph 1\n# symbol s0: hint 6, range [2, int_oo]\n"
      "class G(torch.nn.Module):\n" +
      body + children);
  EXPECT_TRUE(capture) << (capture ? "" : capture.error().message);
  return capture ? *std::move(capture) : Capture{};
}

/// All patches of the kind at once; the result is well formed and its claims are true.
auto patched(const Capture& capture, std::string_view kind) -> Capture {
  const auto kinds = patch_kinds();
  const auto row = std::ranges::find(kinds, kind, &PatchKind::name);
  if (row == kinds.end()) {
    ADD_FAILURE() << kind;
    return capture;
  }
  const auto cut = apply_patches(capture, *row, row->enumerate(capture), {}, table());
  EXPECT_TRUE(cut) << kind << " has no patch";
  if (!cut) return capture;
  EXPECT_TRUE(is_sound(*cut, table(), 0)) << print_graph(cut->graph);
  const auto report = debug_capture(*cut, table(), {});
  EXPECT_TRUE(report) << (report ? "" : report.error().message);
  if (!report) return *cut;
  for (const auto& finding : report->findings)
    EXPECT_EQ(info(finding.kind).severity, Severity::note) << print_graph(cut->graph);
  return *cut;
}

auto target_of(const Capture& capture, std::string_view name) -> std::string {
  const auto* node = capture.graph.find(name);
  return node ? node->target : "gone";
}

TEST(Patches, ACallGivesWayToAViewOfItsOperand) {
  const auto capture = read(
      "    def forward(self, x: \"f32[2, 6][6, 1]cpu\", r: \"f32[1, 4][4, 1]cpu\"):\n"
      "        mm: \"f32[3, 4][4, 1]cpu\" = torch.ops.aten._fft_like.default(x)\n"
      "        top: \"f32[1, 6][6, 1]cpu\" = torch.ops.aten.narrow_like.default(x)\n"
      "        wide: \"f32[3, 4][0, 1]cpu\" = torch.ops.aten.tile_like.default(r)\n"
      "        return (mm, top, wide)\n");
  const auto cut = patched(capture, "views");
  EXPECT_EQ(target_of(cut, "mm"), "aten.view.default");
  EXPECT_EQ(target_of(cut, "top"), "aten.slice.Tensor");
  EXPECT_EQ(target_of(cut, "wide"), "aten.expand.default");
}

TEST(Patches, SymbolicSizesAreWhateverIsLeft) {
  const auto capture = read(
      "    def forward(self, s0: \"Sym(s0)\", x: \"f32[s0, 2, 3][6, 3, 1]cpu\"):\n"
      "        y: \"f32[s0, 6][6, 1]cpu\" = torch.ops.aten.fold_like.default(x)\n"
      "        return (y,)\n");
  const auto cut = patched(capture, "views");
  EXPECT_NE(print_graph(cut.graph).find("aten.view.default(x, [-1, 6])"), std::string::npos)
      << print_graph(cut.graph);
}

TEST(Patches, ACalculatedNumberBecomesANumberAndTrueClaimsFollow) {
  const auto capture = read(
      "    def forward(self, s0: \"Sym(s0)\", x: \"f32[s0, 2][2, 1]cpu\"):\n"
      "        n: \"Sym(2*s0)\" = s0 * 2\n"
      "        e: \"f32[2*s0][1]cpu\" = torch.ops.aten.empty.memory_format([n], dtype = "
      "torch.float32, device = device(type='cpu'), pin_memory = False)\n"
      "        y: \"f32[2*s0][1]cpu\" = torch.ops.aten.relu.default(e)\n"
      "        return (y,)\n");
  const auto cut = patched(capture, "numbers");
  EXPECT_EQ(target_of(cut, "n"), "gone");
  EXPECT_EQ(to_string(*cut.graph.find("y")->claim.tensor()), "f32[12][1]cpu");
}

TEST(Patches, ATensorBecomesAConstant) {
  const auto capture = read(
      "    def forward(self, x: \"f32[2, 3][3, 1]cpu\"):\n"
      "        y: \"f32[3, 2][2, 1]cpu\" = torch.ops.aten.some_call.default(x)\n"
      "        return (y,)\n");
  const auto cut = patched(capture, "constants");
  EXPECT_EQ(target_of(cut, "y"), "aten.full.default");
  EXPECT_TRUE(cut.inputs.empty());
}

TEST(Patches, AConstantLeavesTheStorageOfTheViewThatItReplaces) {
  auto capture = read(
      "    def forward(self, x: \"f32[2, 3][3, 1]cpu\"):\n"
      "        y: \"f32[3, 2][2, 1]cpu\" = torch.ops.aten.view.default(x, [3, 2])\n"
      "        t: \"f32[2, 3][1, 2]cpu\" = torch.ops.aten.permute.default(y, [1, 0])\n"
      "        u: \"f32[3, 2][1, 3]cpu\" = torch.ops.aten.permute.default(x, [1, 0])\n"
      "        return (t, u)\n");
  for (auto& node : capture.graph.nodes)
    if (node.claim.tensor()) node.claim.alias_group = 0;
  const auto cut = patched(capture, "constants");
  EXPECT_EQ(target_of(cut, "y"), "aten.full.default");
  EXPECT_EQ(target_of(cut, "t"), "aten.permute.default");
  ASSERT_EQ(target_of(cut, "u"), "aten.permute.default");
  EXPECT_EQ(cut.graph.find("t")->claim.alias_group, -1);
  EXPECT_EQ(cut.graph.find("u")->claim.alias_group, 0);
}

TEST(Patches, InputsBecomeRowMajorAndWhatFollowsFromThemToo) {
  const auto capture = read(
      "    def forward(self, x: \"f32[2, 3][1, 2]cpu\"):\n"
      "        y: \"f32[2, 3][1, 2]cpu\" = torch.ops.aten.relu.default(x)\n"
      "        t: \"f32[3, 2][2, 1]cpu\" = torch.ops.aten.permute.default(y, [1, 0])\n"
      "        return (t,)\n");
  const auto cut = patched(capture, "layouts");
  EXPECT_EQ(to_string(*cut.graph.find("x")->claim.tensor()), "f32[2, 3][3, 1]cpu");
  EXPECT_EQ(to_string(*cut.graph.find("t")->claim.tensor()), "f32[3, 2][1, 3]cpu");
}

TEST(Patches, ALieStaysALieWhereInputsChange) {
  const auto capture = read(
      "    def forward(self, x: \"f32[2, 3][1, 2]cpu\"):\n"
      "        y: \"f32[2, 4][1, 2]cpu\" = torch.ops.aten.relu.default(x)\n"
      "        return (y,)\n");
  const auto kinds = patch_kinds();
  const auto& row = *std::ranges::find(kinds, "layouts", &PatchKind::name);
  const auto cut = apply_patches(capture, row, row.enumerate(capture), {}, table());
  ASSERT_TRUE(cut);
  EXPECT_EQ(to_string(*cut->graph.find("y")->claim.tensor()), "f32[2, 4][1, 2]cpu");
}

TEST(Patches, DtypesBecomeTheUsualOnes) {
  const auto capture = read(
      "    def forward(self, x: \"f64[2, 3][3, 1]cpu\", i: \"i32[2][1]cpu\"):\n"
      "        y: \"f64[2, 3][3, 1]cpu\" = torch.ops.aten.relu.default(x)\n"
      "        j: \"i32[2][1]cpu\" = torch.ops.aten.neg.default(i)\n"
      "        return (y, j)\n");
  const auto cut = patched(capture, "dtypes");
  EXPECT_EQ(to_string(*cut.graph.find("y")->claim.tensor()), "f32[2, 3][3, 1]cpu");
  EXPECT_EQ(to_string(*cut.graph.find("j")->claim.tensor()), "i64[2][1]cpu");
}

TEST(Patches, RecordedElementsSurviveAnotherLayoutAndDtype) {
  auto capture = read(
      "    def forward(self, x: \"f64[2, 3][1, 2]cpu\"):\n"
      "        y: \"f64[2, 3][1, 2]cpu\" = torch.ops.aten.relu.default(x)\n"
      "        return (y,)\n");
  auto made = *Tensor::contiguous(DType::float64, {6});
  from_vector<double>(made, std::vector<double>{0, 3, 1, 4, 2, 5});
  const auto bytes = made.storage->bytes();
  capture.storages = {{48,
                       std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end()),
                       std::nullopt}};
  capture.inputs = {RecordedTensor{0, RealMeta{DType::float64, {2, 3}, {1, 2}, 0, 48, {}}}};
  const auto cut = patched(patched(capture, "layouts"), "dtypes");
  const auto& content =
      std::get<std::shared_ptr<const std::vector<std::byte>>>(cut.storages.at(0).content);
  ASSERT_EQ(content->size(), 24U);
  std::array<float, 6> values{};
  std::memcpy(values.data(), content->data(), 24);
  EXPECT_EQ(values, (std::array<float, 6>{0, 1, 2, 3, 4, 5}));
}

TEST(Patches, DataBecomeSimplerOnce) {
  auto capture = read(
      "    def forward(self, x: \"f32[4][1]cpu\"):\n"
      "        y: \"f32[4][1]cpu\" = torch.ops.aten.relu.default(x)\n"
      "        return (y,)\n");
  capture.storages = {{16, Fill{.seed = 3, .lo = -1, .hi = 1}, DType::float32}};
  capture.inputs = {RecordedTensor{0, RealMeta{DType::float32, {4}, {1}, 0, 16, {}}}};
  const auto counted = patched(capture, "counting");
  const auto zeros = patched(counted, "zeros");
  for (const auto& kind : patch_kinds())
    if (kind.name == "counting" || kind.name == "one-hot" || kind.name == "ones") {
      EXPECT_TRUE(kind.enumerate(zeros).empty()) << kind.name;
    }
}

constexpr const char* kBodies =
    "\n    class a(torch.nn.Module):\n"
    "        def forward(self, u: \"f32[3][1]cpu\"):\n"
    "            s: \"f32[3][1]cpu\" = torch.ops.aten.sin.default(u)\n"
    "            c: \"f32[3][1]cpu\" = torch.ops.aten.cos.default(s)\n"
    "            return (c,)\n"
    "\n    class b(torch.nn.Module):\n"
    "        def forward(self, u: \"f32[3][1]cpu\"):\n"
    "            n: \"f32[3][1]cpu\" = torch.ops.aten.neg.default(u)\n"
    "            return (n,)\n";
constexpr const char* kCond =
    "    def forward(self, p: \"b8[][]cpu\", x: \"f32[3][1]cpu\"):\n"
    "        a = self.a\n        b = self.b\n"
    "        both = torch.ops.higher_order.cond(p, a, b, (x,))\n"
    "        first: \"f32[3][1]cpu\" = both[0]\n"
    "        y: \"f32[3][1]cpu\" = torch.ops.aten.exp.default(first)\n"
    "        return (y,)\n";

TEST(Patches, ABodyTakesThePlaceOfTheOperatorThatRunsIt) {
  const auto cut = patched(read(kCond, kBodies), "bodies");
  EXPECT_EQ(target_of(cut, "both"), "gone");
  EXPECT_EQ(target_of(cut, "s"), "aten.sin.default");
  EXPECT_EQ(target_of(cut, "n"), "gone");
  EXPECT_TRUE(cut.graph.children.empty());
  EXPECT_EQ(cut.graph.call_count(), 3);
}

TEST(Patches, CallsInsideABodyCanBeLeftOut) {
  const auto cut = patched(read(kCond, kBodies), "calls in bodies");
  ASSERT_TRUE(cut.graph.child("a"));
  EXPECT_EQ(cut.graph.child("a")->call_count(), 0);
}

TEST(Patches, WhatIsReturnedGivesWayToWhatItIsMadeOf) {
  const auto cut =
      patched(read("    def forward(self, x: \"f32[2, 3][3, 1]cpu\"):\n"
                   "        y: \"f32[2, 3][3, 1]cpu\" = torch.ops.aten.sin.default(x)\n"
                   "        z: \"f32[2, 3][3, 1]cpu\" = torch.ops.aten.cos.default(y)\n"
                   "        w: \"f32[2, 3][3, 1]cpu\" = torch.ops.aten.exp.default(y)\n"
                   "        return (z, w)\n"),
              "returned");
  EXPECT_EQ(target_of(cut, "z"), "gone");
  EXPECT_EQ(target_of(cut, "w"), "gone");
  EXPECT_NE(print_graph(cut.graph).find("return (y,)"), std::string::npos)
      << print_graph(cut.graph);
}

auto text_of(const std::optional<Capture>& capture) -> std::string {
  return capture ? print_graph(capture->graph, {.header = false}) : "nothing";
}

TEST(SmallerSizes, ClaimsListsAndElementsFollow) {
  const auto capture = read(
      "    def forward(self, s0: \"Sym(s0)\", x: \"f32[s0, 2, 8][16, 1, 2]cpu\"):\n"
      "        y: \"f32[s0, 2, 8][16, 1, 2]cpu\" = torch.ops.aten.relu.default(x)\n"
      "        f: \"f32[16, 8][8, 1]cpu\" = torch.ops.aten.full.default([16, 8], 1.0)\n"
      "        return (y, f)\n");
  EXPECT_EQ(constant_sizes(capture), (std::vector<std::int64_t>{16, 8, 2}));
  const auto equal = text_of(with_smaller(capture, {.size = 8, .by = 3}, table()));
  EXPECT_NE(equal.find("x: \"f32[s0, 2, 3][6, 1, 2]cpu\""), std::string::npos) << equal;
  EXPECT_NE(equal.find("y: \"f32[s0, 2, 3][6, 1, 2]cpu\""), std::string::npos) << equal;
  EXPECT_NE(equal.find("full.default([16, 3], 1.0)"), std::string::npos) << equal;
  const auto all = text_of(with_smaller(capture, {.size = 8, .by = 3, .multiples = true}, table()));
  EXPECT_NE(all.find("full.default([6, 3], 1.0)"), std::string::npos) << all;
  const auto x = capture.graph.find("x")->id;
  const auto one =
      text_of(with_smaller(capture, {.size = 8, .by = 1, .input = x, .dim = 2}, table()));
  EXPECT_NE(one.find("x: \"f32[s0, 2, 1][2, 1, 2]cpu\""), std::string::npos) << one;
  EXPECT_NE(one.find("full.default([16, 8], 1.0)"), std::string::npos) << one;
  EXPECT_FALSE(with_smaller(capture, {.size = 5, .by = 1}, table()));
}

TEST(SmallerSizes, ALieStaysTheSameLie) {
  const auto capture = read(
      "    def forward(self, x: \"f32[s0, 4][4, 1]cpu\"):\n"
      "        y: \"f32[s0 + 1, 4][4, 1]cpu\" = torch.ops.aten.relu.default(x)\n"
      "        return (y,)\n");
  const auto cut = text_of(with_smaller(capture, {.size = 4, .by = 1}, table()));
  EXPECT_NE(cut.find("y: \"f32[s0 + 1, 1][1, 1]cpu\""), std::string::npos) << cut;
  const auto x = capture.graph.find("x")->id;
  EXPECT_FALSE(with_smaller(capture, {.size = 4, .by = 1, .input = x, .dim = 1}, table()));
}

TEST(SmallerSizes, ALayoutWithGapsStays) {
  const auto capture = read(
      "    def forward(self, x: \"f32[2, 8][16, 1]cpu\"):\n"
      "        y: \"f32[2, 8][8, 1]cpu\" = torch.ops.aten.neg.default(x)\n"
      "        return (y,)\n");
  EXPECT_FALSE(with_smaller(capture, {.size = 8, .by = 3}, table()));
}

constexpr const char* kGiven =
    "    def forward(self, s0: \"Sym(s0)\", x: \"f32[s0, 2][2, 1]cpu\"):\n"
    "        y: \"f32[2*s0][1]cpu\" = torch.ops.aten.view.default(x, [-1])\n"
    "        z: \"f32[s0*s0 + s0][1]cpu\" = torch.ops.aten.some_call.default(y)\n"
    "        w: \"f32[s0*s0 + s0][1]cpu\" = torch.ops.aten.relu.default(z)\n"
    "        return (w,)\n";

auto kept(const Capture& capture, const std::string& name) -> Capture {
  const Program program(capture, table());
  auto selection = program.nothing();
  selection.keep[static_cast<std::size_t>(program.position(capture.graph.find(name)->id))] = true;
  program.repair(selection);
  return program.cut(selection);
}

TEST(GivenSymbols, ACutKeepsTheNumberThatItsSizesNeed) {
  const auto capture = read(kGiven);
  const auto alone = kept(capture, "w");
  const auto* given = alone.graph.find("s0");
  ASSERT_TRUE(given) << print_graph(alone.graph);
  EXPECT_EQ(given->kind, NodeKind::placeholder);
  EXPECT_TRUE(verify(alone.graph).empty());
  EXPECT_EQ(alone.inputs.size(), 2U);
  // One equation tells: nothing is added.
  EXPECT_FALSE(kept(capture, "z").graph.find("s0")) << print_graph(kept(capture, "z").graph);
}

TEST(GivenSymbols, ASymbolThatOnlyALayoutGaveIsGivenByAnInputOfItsOwn) {
  const auto capture = read(
      "    def forward(self, x: \"f32[s0, 2][2, 1]cpu\"):\n"
      "        z: \"f32[s0*s0 + s0][1]cpu\" = torch.ops.aten.some_call.default(x)\n"
      "        w: \"f32[s0*s0 + s0][1]cpu\" = torch.ops.aten.relu.default(z)\n"
      "        return (w,)\n");
  const auto alone = kept(capture, "w");
  const auto* given = alone.graph.find("given_s0");
  ASSERT_TRUE(given) << print_graph(alone.graph);
  EXPECT_EQ(given->id.value, capture.graph.next_id);
  EXPECT_EQ(print_expr(std::get<Expr>(alone.inputs.at(0))), "6");
}

}  // namespace
}  // namespace assay
