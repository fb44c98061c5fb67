// How executors are measured where they do not do it themselves.
#include "compiler/program/executor.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

class Counting : public CompiledProgram {
 public:
  [[nodiscard]] auto run(const DatumList&, const ProgramRunOptions&) const
      -> Result<ProgramRun> override {
    ++calls_;
    return ProgramRun{};
  }
  [[nodiscard]] auto calls() const -> int { return calls_; }

 private:
  mutable int calls_ = 0;
};

/// One run more than asked for, which is not counted; each is as many calls as a burst has.
TEST(MeasuredProgram, RunsAreBurstsOfCalls) {
  for (const auto& [runs, burst] : {std::pair(1, 1), {3, 1}, {3, 4}}) {
    const Counting program;
    ASSERT_TRUE(program.measure({}, {.runs = runs, .burst = burst}));
    EXPECT_EQ(program.calls(), (runs + 1) * burst);
  }
}

}  // namespace
}  // namespace assay
