#include "replay/runner/storage_bounds.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/expr/text.h"
#include "core/graph/text.h"

namespace assay {
namespace {

/// The report's expressions live in the capture's pool.
struct Checked {
  Capture capture;
  BoundsReport report;
};
auto bounds_of(std::string_view text) -> Checked {
  Checked checked;
  auto graph = parse_graph(text);
  if (!graph) {
    ADD_FAILURE() << graph.error().message;
    return checked;
  }
  checked.capture.graph = *std::move(graph);
  GuardSet guards(checked.capture.graph.env, {.prover = {}, .symbols = false});
  checked.report = check_bounds(checked.capture, build_op_table(), guards);
  return checked;
}

auto count(const BoundsReport& report, BoundKind kind) -> std::ptrdiff_t {
  return std::ranges::count(report.checks, kind, &BoundCheck::kind);
}

constexpr std::string_view kHeader = R"txt(# assay graph 1
# symbol s0: hint 5, range [2, int_oo]
# symbol s1: hint 7, range [2, int_oo]
class GraphModule(torch.nn.Module):
)txt";

TEST(StorageBounds, A_size_below_the_bytes_of_a_storage_fits_64_bits) {
  const auto [capture, report] = bounds_of(std::string(kHeader) +
                                           R"txt(    def forward(self, a: "Sym(s0)", b: "Sym(s1)",
                x: "f32[s0, s1][s1, 1]cpu"):
        n: "Sym(s0*s1)" = a * b
        v: "f32[s0*s1][1]cpu" = torch.ops.aten.view.default(x, [n])
        return (v,)
)txt");
  EXPECT_TRUE(report.taken_to_fit.empty());
  EXPECT_EQ(count(report, BoundKind::int64), 1);
  for (const auto& check : report.checks)
    EXPECT_TRUE(std::holds_alternative<Proved>(check.answer)) << print_expr(check.condition);
}

TEST(StorageBounds, A_size_that_nothing_bounds_is_listed) {
  const auto [capture, report] =
      bounds_of(std::string(kHeader) +
                R"txt(    def forward(self, a: "Sym(s0)", x: "f32[s0][1]cpu"):
        n: "Sym(s0**2)" = a * a
        return (n,)
)txt");
  ASSERT_EQ(report.taken_to_fit.size(), 1U);
  EXPECT_EQ(print_expr(report.taken_to_fit[0].second), "s0**2");
  EXPECT_EQ(count(report, BoundKind::int64), 0);
}

TEST(StorageBounds, A_view_past_its_storage_is_refuted_at_the_smallest_size) {
  const auto [capture, report] =
      bounds_of(std::string(kHeader) +
                R"txt(    def forward(self, a: "Sym(s0)", x: "f32[s0][1]cpu"):
        v: "f32[s0, 2][1, 1]cpu" = torch.ops.aten.as_strided.default(x, [a, 2], [1, 1], 0)
        return (v,)
)txt");
  const auto bad = std::ranges::find_if(report.checks, [](const BoundCheck& check) {
    return std::holds_alternative<Refuted>(check.answer);
  });
  ASSERT_NE(bad, report.checks.end());
  EXPECT_EQ(bad->kind, BoundKind::extent);
  const auto& witness = std::get<Refuted>(bad->answer).witness;
  EXPECT_TRUE(std::ranges::any_of(witness, [](const auto& entry) {
    return entry.first.name() == "s0" && entry.second.is_int(2);
  }));
}

TEST(StorageBounds, Guards_that_no_text_tells_may_exclude_what_breaks) {
  // slice stops at 40, so s0 is at most 40 if its claim is true; as_strided says no such thing.
  const auto answered = [](const std::string& call) {
    const auto [capture, report] = bounds_of(
        "class G(torch.nn.Module):\n    def forward(self, n: \"Sym(s0)\", "
        "x: \"i64[1, 40][40, 1]cpu\"):\n        y: \"i64[1, s0][40, 1]cpu\" = " +
        call + "\n        return (y,)\n");
    std::size_t worst = 0;
    for (const auto& check : report.checks) {
      if (check.kind != BoundKind::extent) continue;
      if (std::holds_alternative<Unknown>(check.answer)) worst = std::max<std::size_t>(worst, 1);
      if (std::holds_alternative<Refuted>(check.answer)) worst = 2;
    }
    return worst;
  };
  EXPECT_EQ(answered("torch.ops.aten.slice.Tensor(x, 1, 0, n)"), 1U);
  // The same where the call claims nothing itself.
  const auto [capture, report] = bounds_of(
      "class G(torch.nn.Module):\n    def forward(self, n: \"Sym(s0)\", "
      "x: \"i64[1, 40][40, 1]cpu\"):\n        y = torch.ops.aten.slice.Tensor(x, 1, 0, n)\n"
      "        return (y,)\n");
  EXPECT_TRUE(std::ranges::none_of(report.checks, [](const BoundCheck& check) {
    return std::holds_alternative<Refuted>(check.answer);
  }));
  EXPECT_EQ(answered("torch.ops.aten.as_strided.default(x, [1, n], [40, 1])"), 2U);
}

}  // namespace
}  // namespace assay
