// The window while what it started misbehaves: a program in PATH takes the place of `assay`.
#include <fstream>

#include <QStatusBar>

#include "gui/views/console_view.h"
#include "tests/gui/fixture.h"

namespace assay {
namespace {

class GuiRuns : public testing::WindowTest {
 protected:
  void SetUp() override {
    old_path_ = qgetenv("PATH");
    qputenv("PATH", QByteArray::fromStdString(folder_.path().string()) + ':' + old_path_);
  }
  void TearDown() override { qputenv("PATH", old_path_); }
  /// Opens a capture with `assay` being this script.
  void analyse_with(const std::string& script) {
    std::ofstream(folder_ / "assay") << "#!/bin/sh\n" << script;
    std::filesystem::permissions(folder_ / "assay", std::filesystem::perms::owner_all);
    std::ofstream(folder_ / "graph.json") << "{}";
    window_.show();
    window_.open(QString::fromStdString((folder_ / "graph.json").string()));
  }
  auto console() -> ConsoleView* {
    return static_cast<ConsoleView*>(window_.view(QStringLiteral("console")));
  }
  auto outcome() -> QString { return console()->table()->csv(); }
  /// The window still does what it should.
  void expect_that_it_lives() {
    open_small();
    EXPECT_EQ(node_name(), "pad");
  }
  QByteArray old_path_;
};

TEST_F(GuiRuns, ACrashIsSaidAndLeavesTheWindow) {
  analyse_with("echo half a line; kill -SEGV $$\n");
  ASSERT_TRUE(idle());
  EXPECT_TRUE(outcome().contains(QStringLiteral("crashed"))) << outcome().toStdString();
  EXPECT_TRUE(window_.statusBar()->currentMessage().contains(QStringLiteral("crashed")));
  EXPECT_TRUE(screen().contains(QStringLiteral("half a line")));
  expect_that_it_lives();
}

TEST_F(GuiRuns, AHangIsCancelledWhileTheWindowAnswers) {
  analyse_with("trap '' TERM\nwhile :; do sleep 0.1; done\n");
  ASSERT_TRUE(testing::wait_until([&] { return console()->child().is_running(); }));
  testing::write_small_trace(folder_ / "t.sqlite");
  window_.open(QString::fromStdString((folder_ / "t.sqlite").string()));
  ASSERT_TRUE(testing::wait_until([&] { return node_name() == "pad"; }));
  window_.action(QStringLiteral("run.stop"))->trigger();
  ASSERT_TRUE(idle());
  EXPECT_TRUE(outcome().contains(QStringLiteral("was cancelled"))) << outcome().toStdString();
}

TEST_F(GuiRuns, AFloodDoesNotBlockTheWindow) {
  QElapsedTimer clock;
  qint64 longest = 0;
  QTimer watchdog;
  watchdog.setInterval(2);
  QObject::connect(&watchdog, &QTimer::timeout, [&] {
    longest = std::max(longest, clock.elapsed());
    clock.start();
  });
  analyse_with("yes 0123456789012345678901234567890123456789 | head -c 8000000\nexit 3\n");
  clock.start();
  watchdog.start();
  ASSERT_TRUE(idle());
  watchdog.stop();
  RecordProperty("longest_ms", static_cast<int>(longest));
  EXPECT_LT(longest, 500 * (qEnvironmentVariableIsSet("ASSAY_SLOW_MACHINE") ? 10 : 1));
  EXPECT_TRUE(outcome().contains(QStringLiteral("input not read"))) << outcome().toStdString();
  expect_that_it_lives();
}

}  // namespace
}  // namespace assay
