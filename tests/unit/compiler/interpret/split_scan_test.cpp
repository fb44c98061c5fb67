// Scans whose rows are divided among programs that look back at each other.
#include <algorithm>
#include <fstream>
#include <functional>
#include <sstream>

#include "tests/unit/compiler/interpret/small_programs.h"

namespace assay {
namespace {

/// The wrapper with another helper, dtype and look-back.
auto scan(std::string_view combined, std::string_view of, std::string_view suffix) -> std::string {
  std::ifstream stream(ASSAY_SOURCE_DIR "/tests/data/wrappers/split_scan.py");
  std::ostringstream whole;
  whole << stream.rdbuf();
  auto text = whole.str();
  for (const auto& [part, other] :
       {std::pair<std::string_view, std::string>{"arg0_0 + arg1_0", std::string(combined)},
        {"tmp0.to(tl.float32)", fmt::format("tmp0.to({})", of)},
        {"lookback(", fmt::format("lookback{}(", suffix)}}) {
    const auto at = text.find(part);
    EXPECT_NE(at, std::string::npos) << part;
    if (at != std::string::npos) text.replace(at, part.size(), other);
  }
  return text;
}

class SplitScan : public InterpretTest {
 protected:
  static void gives(const std::string& text, const std::function<double(double, double)>& combine) {
    std::vector<double> values, wanted;
    for (int i = 0; i < 120; ++i) {
      values.push_back((i * 7 % 11) - 11);  // below what nothing is
      const bool is_first = i % 40 == 0;
      wanted.push_back(is_first ? values.back() : combine(wanted.back(), values.back()));
    }
    for (const int block : {1, 8, 16, 64}) {
      const auto seen = run_on(text, values, block, {3, 40});
      EXPECT_EQ(faults(seen), Faults{});
      EXPECT_EQ(output(seen), wanted) << block;
    }
  }
};

TEST_F(SplitScan, PartsFollowEachOther) {
  gives(scan("arg0_0 + arg1_0", "tl.float32", ""), std::plus<>());
  gives(scan("triton_helpers.maximum(arg0_0, arg1_0)", "tl.float32", ""),
        [](double a, double b) { return std::max(a, b); });
}

TEST_F(SplitScan, WideNumbersToo) {
  gives(scan("arg0_0 + arg1_0", "tl.int64", "_64"), std::plus<>());
}

TEST_F(SplitScan, WhatIsZeroedNeedNotHaveBeenWritten) {
  const auto program = [](std::string_view call) {
    return fmt::format(
        "def call(args):\n    arg0_1, = args\n"
        "    buf0 = empty_strided_cuda((40, ), (1, ), torch.float32)\n    {}\n"
        "    return (buf0, )\n",
        call);
  };
  EXPECT_EQ(faults(run_text(program("buf0.zero_()"), 40, {})), Faults{});
  EXPECT_EQ(faults(run_text(program("buf0.fill_(3)"), 40, {})), Faults{});
  EXPECT_EQ(faults(run_text(program("buf0.add_(3)"), 40, {})), Faults{RunFault::uninitialised});
}

}  // namespace
}  // namespace assay
