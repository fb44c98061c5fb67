#include <gtest/gtest.h>

#include "gui/models/child.h"
#include "tests/gui/support.h"

namespace assay {
namespace {

class GuiChild : public ::testing::Test {
 protected:
  /// Runs a shell command; the result once it has ended.
  auto run(const char* command, int cancel_after_ms = -1) -> ChildResult {
    bool ended = false;
    ChildResult result;
    QObject::connect(&child_, &Child::line, [&](const QString& text) { lines_ << text; });
    QObject::connect(&child_, &Child::progress, [&](const QString& text) { progress_ << text; });
    child_.start(QStringLiteral("/bin/sh"), {QStringLiteral("-c"), QString::fromLatin1(command)},
                 [&](const ChildResult& r) {
                   result = r;
                   ended = true;
                 });
    if (cancel_after_ms >= 0) QTimer::singleShot(cancel_after_ms, &child_, &Child::cancel);
    EXPECT_TRUE(testing::wait_until([&] { return ended; }));
    return result;
  }
  Child child_;
  QStringList lines_, progress_;
};

TEST_F(GuiChild, OutputProgressAndExitCodeArrive) {
  const auto result = run("echo out; echo 'progress: 3 of 9' >&2; echo err >&2; exit 1");
  EXPECT_TRUE(result.answered());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.outcome(), QStringLiteral("findings"));
  EXPECT_EQ(result.output, QStringLiteral("out\n"));
  EXPECT_TRUE(lines_.contains(QStringLiteral("err")));
  EXPECT_EQ(progress_, QStringList{QStringLiteral("3 of 9")});
}

TEST_F(GuiChild, ACrashIsAnOutcome) {
  const auto result = run("kill -SEGV $$");
  EXPECT_TRUE(result.crashed);
  EXPECT_FALSE(result.answered());
}

TEST_F(GuiChild, AHangEndsWhenCancelledEvenIfItIgnoresThat) {
  QElapsedTimer clock;
  clock.start();
  const auto result = run("trap '' TERM; while :; do sleep 0.1; done", 100);
  EXPECT_TRUE(result.cancelled);
  EXPECT_LT(clock.elapsed(), 8000);
}

TEST_F(GuiChild, AFloodIsCutOff) {
  const auto result = run("yes 0123456789012345678901234567890123456789 | head -c 12000000");
  EXPECT_TRUE(result.answered());
  EXPECT_LE(result.output.size(), Child::kMostOutput);
  EXPECT_LT(lines_.size(), 140'000);
  EXPECT_TRUE(lines_.last().contains(QStringLiteral("not shown")));
}

TEST_F(GuiChild, AMissingProgramIsSaid) {
  bool ended = false;
  child_.start(QStringLiteral("/no/such/program"), {}, [&](const ChildResult& result) {
    EXPECT_FALSE(result.started);
    ended = true;
  });
  EXPECT_TRUE(testing::wait_until([&] { return ended; }));
}

}  // namespace
}  // namespace assay
