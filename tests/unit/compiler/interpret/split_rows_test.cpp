// Kernels that reduce rows and columns at once: a loop over blocks of rows that steps its own
// index.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "compiler/interpret/interpret.h"
#include "compiler/read/wrapper.h"

namespace assay {
namespace {

constexpr int kRows = 77, kColumns = 6;

auto wrapper() -> std::string {
  std::ifstream stream(ASSAY_SOURCE_DIR "/tests/data/wrappers/rows_and_columns.py");
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// The wrapper with one part of its text as another.
auto wrapper_with(const std::string& part, const std::string& other) -> std::string {
  auto text = wrapper();
  const auto at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return at == std::string::npos ? text : text.replace(at, part.size(), other);
}

struct Outcome {
  std::vector<double> largest, sums;
  std::size_t findings = 0;
  std::string error;
};

auto element(int row, int column) -> double {
  return (row * 5 + column * 3) % 17 - 8;
}

auto run(std::string_view text, std::int64_t block) -> Outcome {
  const auto program = read_wrapper(text);
  if (!program) return {{}, {}, 0, program.error().message};
  static const auto rows = build_op_table();
  const auto ready = Interpreter(rows).compile(*program);
  if (!ready) return {{}, {}, 0, ready.error().message};
  std::vector<double> values;
  for (int i = 0; i < kRows * kColumns; ++i) values.push_back(element(i / kColumns, i % kColumns));
  auto x = Tensor::contiguous(DType::float32, {kRows, kColumns});
  from_vector(*x, std::span<const double>(values));
  ProgramRunOptions options;
  options.block = block;
  const auto result = (*ready)->run({Datum{*x}}, options);
  if (!result) return {{}, {}, 0, result.error().message};
  return {to_vector<double>(*result->outputs.at(0).real()),
          to_vector<double>(*result->outputs.at(1).real()),
          result->findings.size(),
          {}};
}

TEST(SplitRows, RowsAndColumnsAreReducedForAnyBlock) {
  Outcome right;
  right.sums.assign(kColumns, 0);
  for (int i = 0; i < kRows; ++i) {
    double largest = -1e9;
    for (int j = 0; j < kColumns; ++j) {
      const double scaled = 2 * element(i, j) + 0.5;
      largest = std::max(largest, scaled);
      right.sums[static_cast<std::size_t>(j)] += scaled;
    }
    right.largest.push_back(largest);
  }
  for (const int block : {1, 2, 8, 32}) {
    const auto seen = run(wrapper(), block);
    EXPECT_EQ(seen.error, "");
    EXPECT_EQ(seen.findings, 0U);
    EXPECT_EQ(seen.largest, right.largest) << block;
    EXPECT_EQ(seen.sums, right.sums) << block;
  }
}

/// As Inductor wrote it (PyTorch issue 195845): rows behind the last one are zeros that `+ 0.5` and
/// the like make something of.
TEST(SplitRows, ASumWithoutTheMaskOfRowsDependsOnTheBlock) {
  const auto text = wrapper_with("tl.where(r0_mask & xmask, tmp5, 0)", "tmp4");
  EXPECT_EQ(run(text, 1).sums, run(wrapper(), 1).sums);
  const auto one = run(text, 1).sums, eight = run(text, 8).sums;
  EXPECT_EQ(run(text, 8).error, "");
  EXPECT_EQ(eight[0] - one[0], 3 * 0.5);  // 80 rows in blocks, 77 there are
}

TEST(SplitRows, AnIndexThatIsSteppedTwiceIsCarried) {
  const auto text = wrapper_with("        xindex += XBLOCK\n",
                                 "        xindex += 1\n        xindex += XBLOCK - 1\n");
  EXPECT_EQ(run(text, 8).error, "");
  EXPECT_EQ(run(text, 8).sums, run(wrapper(), 8).sums);
  EXPECT_EQ(run(text, 1).largest, run(wrapper(), 8).largest);
}

TEST(SplitRows, AStepThatOnlySomeRoundsTakeIsCarried) {
  const auto text =
      wrapper_with("        xindex += XBLOCK\n",
                   "        if tl.program_id(0) == 0:\n            xindex += XBLOCK\n");
  EXPECT_EQ(run(text, 8).error, "");
  EXPECT_NE(run(text, 8).sums, run(wrapper(), 8).sums);  // later programs stay at their first rows
}

TEST(SplitRows, ASliceOfAnythingButANewBufferIsNoView) {
  const auto text = wrapper_with("workspace_0[0 * 3 * 6 : (0 + 1) * 3 * 6].view(3, 6)",
                                 "arg0_1[0 : 3].view(3, 6)");
  EXPECT_NE(run(text, 8).error.find("arg0_1[0 : 3].view(3, 6)"), std::string::npos);
}

}  // namespace
}  // namespace assay
