// Files that are not as they should be: each says why it is refused, and what was open stays.
#include <fstream>
#include <iterator>

#include <QStatusBar>

#include "tests/gui/fixture.h"

namespace assay {
namespace {

class GuiEvidence : public testing::WindowTest {
 protected:
  static auto bytes_of(const std::filesystem::path& path) -> std::string {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  auto small_bytes() -> std::string {
    testing::write_small_trace(folder_ / "whole.sqlite");
    return bytes_of(folder_ / "whole.sqlite");
  }
  /// Opens a good trace, then these bytes.
  void open_after_a_good_one(const std::string& bytes) {
    open_small();
    window_.go_to(QStringLiteral("node:add"));
    ASSERT_TRUE(idle());
    std::ofstream(folder_ / "bad.sqlite", std::ios::binary) << bytes;
    window_.open(QString::fromStdString((folder_ / "bad.sqlite").string()));
    ASSERT_TRUE(idle());
  }
  auto message() -> std::string { return window_.statusBar()->currentMessage().toStdString(); }
  void expect_that_the_good_one_stays() {
    EXPECT_EQ(window_.store()->path(), folder_ / "t.sqlite");
    EXPECT_EQ(node_name(), "add");
    EXPECT_TRUE(window_.windowTitle().startsWith(QStringLiteral("t.sqlite")));
    window_.action(QStringLiteral("go.next_finding"))->trigger();
    ASSERT_TRUE(idle());
    EXPECT_EQ(node_name(), "pad");
  }
};

TEST_F(GuiEvidence, AForeignDatabaseIsRefused) {
  auto bytes = small_bytes();
  bytes[68] = 'X';  // the application id
  open_after_a_good_one(bytes);
  EXPECT_TRUE(message().contains("bad.sqlite")) << message();
  EXPECT_TRUE(message().contains("not a trace")) << message();
  expect_that_the_good_one_stays();
}

TEST_F(GuiEvidence, ATraceOfANewerVersionIsRefusedWithBothVersions) {
  auto bytes = small_bytes();
  bytes[63] = 99;  // the last byte of user_version
  open_after_a_good_one(bytes);
  EXPECT_TRUE(message().contains("99")) << message();
  expect_that_the_good_one_stays();
}

TEST_F(GuiEvidence, ATruncatedFileIsRefused) {
  const auto bytes = small_bytes();
  for (const auto size : {bytes.size() / 2, std::size_t{8192}, std::size_t{60}}) {
    open_after_a_good_one(bytes.substr(0, size));
    EXPECT_TRUE(message().contains("bad.sqlite")) << size << ": " << message();
    expect_that_the_good_one_stays();
  }
}

TEST_F(GuiEvidence, WhyNothingIsShownStandsWhereItWouldBe) {
  const auto bad = folder_ / "bad.sqlite";
  std::ofstream(bad, std::ios::binary) << small_bytes().substr(0, 8192);
  open(bad);
  auto* triage = window_.view(QStringLiteral("triage"));
  EXPECT_EQ(triage->state(), ViewState::failed);
  EXPECT_TRUE(visible_text(*triage).contains(QStringLiteral("bad.sqlite")));
  window_.apply_theme(true);
  window_.apply_theme(false);
  EXPECT_TRUE(visible_text(*triage).contains(QStringLiteral("bad.sqlite")));
  open_small();
  EXPECT_EQ(triage->state(), ViewState::ready);
}

TEST_F(GuiEvidence, AMissingFileIsSaid) {
  open_small();
  window_.open(QString::fromStdString((folder_ / "none.sqlite").string()));
  EXPECT_TRUE(message().contains("no such file")) << message();
  EXPECT_EQ(window_.store()->path(), folder_ / "t.sqlite");
}

TEST_F(GuiEvidence, LookingAtATraceChangesNothingOnDisk) {
  open_small();
  const auto before = bytes_of(folder_ / "t.sqlite");
  std::filesystem::permissions(folder_ / "t.sqlite", std::filesystem::perms::owner_read);
  window_.action(QStringLiteral("file.reload"))->trigger();
  ASSERT_TRUE(idle());
  for (auto* view : window_.views()) {
    window_.show_view(view->id());
    ASSERT_TRUE(idle());
    EXPECT_NE(view->state(), ViewState::failed) << view->id().toStdString();
  }
  EXPECT_EQ(node_name(), "pad");
  EXPECT_EQ(bytes_of(folder_ / "t.sqlite"), before);
  for (const auto* suffix : {"-wal", "-shm", "-journal"})
    EXPECT_FALSE(std::filesystem::exists((folder_ / "t.sqlite").string() + suffix)) << suffix;
}

TEST_F(GuiEvidence, ARunThatWasCutOffIsShownWithABanner) {
  testing::write_small_trace(folder_ / "cut.sqlite", false);
  open(folder_ / "cut.sqlite");
  window_.show_view(QStringLiteral("nodes"));
  ASSERT_TRUE(idle());
  EXPECT_TRUE(screen().contains(QStringLiteral("cut off")));
  EXPECT_EQ(node_name(), "pad");
}

TEST_F(GuiEvidence, TracesOfOlderVersionsOpen) {
  const auto folder = std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/data/traces";
  open(folder / "padded_v1.sqlite");
  EXPECT_EQ(node_name(), "constant_pad_nd");
  for (const auto* name : {"padded_v1.sqlite", "program_v3.sqlite"}) {
    open(folder / name);
    for (auto* view : window_.views()) {
      window_.show_view(view->id());
      ASSERT_TRUE(idle());
      EXPECT_NE(view->state(), ViewState::failed) << name << " " << view->id().toStdString();
      EXPECT_NE(view->state(), ViewState::loading) << name << " " << view->id().toStdString();
    }
  }
  EXPECT_EQ(window_.view(QStringLiteral("programs"))->state(), ViewState::ready);
}

TEST_F(GuiEvidence, ClosesWhileItLoads) {
  testing::write_generated_trace(folder_ / "g.sqlite", 20'000);
  for (const int ms : {0, 5, 30}) {
    auto other = std::make_unique<Window>();
    other->show();
    other->open(QString::fromStdString((folder_ / "g.sqlite").string()));
    other->apply_layout(QStringLiteral("graph"));
    EXPECT_FALSE(other->is_idle()) << "nothing was loading";
    testing::wait_until([] { return false; }, ms);
    QElapsedTimer clock;
    clock.start();
    other.reset();
    EXPECT_LT(clock.elapsed(), 2000);
  }
}

}  // namespace
}  // namespace assay
