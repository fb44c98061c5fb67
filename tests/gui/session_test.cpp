// What a window keeps, what stays pinned, whose keys are whose.
#include <QFile>
#include <QKeySequenceEdit>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QStatusBar>
#include <QTest>
#include <QTextBrowser>
#include <QToolTip>

#include "gui/app/keys_dialog.h"
#include "gui/views/row_table.h"
#include "tests/gui/fixture.h"

namespace assay {
namespace {

class GuiSession : public testing::WindowTest {
 protected:
  auto session() -> std::unique_ptr<Session> {
    return std::make_unique<Session>(std::make_unique<QSettings>(
        QString::fromStdString((folder_ / "settings.ini").string()), QSettings::IniFormat));
  }
  void open_in(Window& window, const char* name) {
    window.show();
    window.open(QString::fromStdString((folder_ / name).string()));
    ASSERT_TRUE(is_idle(window));
  }
};

TEST_F(GuiSession, SizeLayoutAndThePlaceInEachFileComeBack) {
  testing::write_small_trace(folder_ / "a.sqlite");
  testing::write_small_trace(folder_ / "b.sqlite");
  {
    Window first;
    first.use_session(session());
    open_in(first, "a.sqlite");
    first.resize(1111, 777);
    first.apply_layout(QStringLiteral("sizes"));
    first.go_to(QStringLiteral("node:add"));
    ASSERT_TRUE(is_idle(first));
    open_in(first, "b.sqlite");
    first.go_to(QStringLiteral("node:mul"));
    ASSERT_TRUE(is_idle(first));
    first.close();
  }
  Window second;
  second.use_session(session());
  EXPECT_EQ(second.size(), QSize(1111, 777));
  open_in(second, "a.sqlite");
  EXPECT_EQ(node_name(second), "add");
  EXPECT_TRUE(second.view(QStringLiteral("symbols"))->isVisible());
  EXPECT_FALSE(second.view(QStringLiteral("nodes"))->isVisible());
  open_in(second, "b.sqlite");
  EXPECT_EQ(node_name(second), "mul");
}

TEST_F(GuiSession, APlaceThatIsAskedForWinsOverTheOneThatWasKept) {
  testing::write_small_trace(folder_ / "a.sqlite");
  session()->save_place(QString::fromStdString((folder_ / "a.sqlite").string()),
                        QStringLiteral("node:1:add"));
  Window window;
  window.use_session(session());
  window.go_to(QStringLiteral("node:relu"));
  open_in(window, "a.sqlite");
  EXPECT_EQ(node_name(window), "relu");
}

TEST_F(GuiSession, WithoutASessionNothingIsKept) {
  open_small();
  window_.go_to(QStringLiteral("node:add"));
  ASSERT_TRUE(idle());
  window_.close();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "settings.ini"));
}

TEST_F(GuiSession, OldFilesAreForgotten) {
  const auto name = [&](int i) {
    return QString::fromStdString((folder_ / fmt::format("{}", i)).string());
  };
  auto kept = session();
  for (int i = 0; i <= Session::kMostFiles; ++i) {
    QFile file(name(i));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    kept->save_place(name(i), QStringLiteral("graph:1"));
  }
  EXPECT_EQ(kept->place(name(0)), QString());
  EXPECT_EQ(kept->place(name(1)), QStringLiteral("graph:1"));
}

TEST_F(GuiSession, FilesThatWereOpenedAreOfferedNewestFirst) {
  testing::write_small_trace(folder_ / "a.sqlite");
  testing::write_small_trace(folder_ / "b&b.sqlite");
  {
    Window first;
    first.use_session(session());
    open_in(first, "a.sqlite");
    open_in(first, "b&b.sqlite");
    open_in(first, "a.sqlite");
  }
  Window second;
  second.use_session(session());
  QString page;
  for (const auto* label : second.view(QStringLiteral("triage"))->findChildren<QLabel*>())
    if (label->text().contains(QStringLiteral("Ctrl+O"))) page = label->text();
  EXPECT_LT(page.indexOf(QStringLiteral("a.sqlite")),
            page.indexOf(QStringLiteral("b&amp;b.sqlite")));
  EXPECT_EQ(page.count(QStringLiteral("a.sqlite\"")), 1) << "each once";
  auto* menu = second.findChild<QMenu*>(QStringLiteral("recent"));
  ASSERT_EQ(menu->actions().size(), 4) << "two files, a line, and a way to forget them";
  menu->actions().at(1)->trigger();
  ASSERT_TRUE(is_idle(second));
  EXPECT_TRUE(second.windowTitle().startsWith(QStringLiteral("b&b.sqlite")));
  std::filesystem::remove(folder_ / "a.sqlite");
  EXPECT_EQ(session()->recent().size(), 1) << "what is gone is not offered";
  menu->actions().back()->trigger();
  EXPECT_TRUE(session()->recent().isEmpty());
  EXPECT_FALSE(menu->isEnabled());
}

TEST_F(GuiSession, APinnedViewStaysAndCatchesUp) {
  open_small();
  auto* storage = window_.view(QStringLiteral("storage"));
  window_.show_view(QStringLiteral("storage"));
  ASSERT_TRUE(idle());
  storage->setFocus();
  window_.action(QStringLiteral("view.pin"))->trigger();
  ASSERT_TRUE(storage->is_pinned());
  window_.go_to(QStringLiteral("node:add"));
  ASSERT_TRUE(idle());
  EXPECT_TRUE(visible_text(*storage).contains(QStringLiteral("aten.as_strided.default")))
      << visible_text(*storage).toStdString();
  EXPECT_EQ(storage->parentWidget()->windowTitle(), QStringLiteral("Storage (pinned)"));
  EXPECT_EQ(node_name(), "add") << "the others follow";
  window_.set_pinned(*storage, false);
  ASSERT_TRUE(idle());
  EXPECT_TRUE(visible_text(*storage).contains(QStringLiteral("aten.add.Tensor")));
}

TEST_F(GuiSession, PinnedViewsComeBackWhereTheyWereAndOnlyInTheirFile) {
  testing::write_small_trace(folder_ / "a.sqlite");
  testing::write_small_trace(folder_ / "b.sqlite");
  const auto storage_of = [](const Window& window) {
    return window.view(QStringLiteral("storage"));
  };
  {
    Window first;
    first.use_session(session());
    open_in(first, "a.sqlite");
    first.go_to(QStringLiteral("node:add"));
    ASSERT_TRUE(is_idle(first));
    first.set_pinned(*storage_of(first), true);
    first.go_to(QStringLiteral("node:mul"));
    ASSERT_TRUE(is_idle(first));
    first.close();
  }
  Window second;
  second.use_session(session());
  open_in(second, "b.sqlite");
  EXPECT_FALSE(storage_of(second)->is_pinned());
  open_in(second, "a.sqlite");
  EXPECT_EQ(node_name(second), "mul");
  ASSERT_TRUE(storage_of(second)->is_pinned());
  EXPECT_TRUE(visible_text(*storage_of(second)).contains(QStringLiteral("aten.add.Tensor")));
  EXPECT_EQ(storage_of(second)->parentWidget()->windowTitle(), QStringLiteral("Storage (pinned)"));
  open_in(second, "b.sqlite");
  EXPECT_FALSE(storage_of(second)->is_pinned()) << "another file begins without";
  open_in(second, "a.sqlite");
  EXPECT_TRUE(storage_of(second)->is_pinned()) << "kept when the file was left too";
}

TEST_F(GuiSession, AKeyBelongsToOneCommandAndIsKept) {
  window_.use_session(session());
  KeysDialog dialog(window_);
  dialog.show();
  auto* table = dialog.findChild<RowTable*>();
  const auto choose = [&](const QString& command) {
    for (int row = 0; row < table->model()->rowCount(); ++row)
      if (table->model()->index(row, 0).data().toString() == command) table->set_current_row(row);
  };
  const auto press = [&](const char* button) {
    dialog.findChild<QPushButton*>(QLatin1String(button))->click();
  };
  auto* keys = dialog.findChild<QKeySequenceEdit*>(QStringLiteral("new_keys"));
  const auto message = [&] {
    return dialog.findChild<QLabel*>(QStringLiteral("keys_message"))->text().toStdString();
  };
  auto* next = window_.action(QStringLiteral("go.next_finding"));
  choose(QStringLiteral("Next finding"));
  keys->setKeySequence(QKeySequence(QStringLiteral("Ctrl+O")));
  press("keys_set");
  EXPECT_TRUE(message().contains("belongs to \"Open…\"")) << message();
  EXPECT_EQ(next->shortcut(), QKeySequence(QStringLiteral("F8")));
  keys->setKeySequence(QKeySequence(QStringLiteral("F9")));
  press("keys_set");
  EXPECT_EQ(next->shortcut(), QKeySequence(QStringLiteral("F9")));
  {
    Window other;
    other.use_session(session());
    EXPECT_EQ(other.action(QStringLiteral("go.next_finding"))->shortcut(),
              QKeySequence(QStringLiteral("F9")));
  }
  press("keys_remove");
  EXPECT_TRUE(next->shortcuts().isEmpty());
  press("keys_reset");
  EXPECT_EQ(next->shortcut(), QKeySequence(QStringLiteral("F8")));
  EXPECT_FALSE(session()->keys(QStringLiteral("go.next_finding")).has_value());
}

TEST_F(GuiSession, KeysOfAFileThatClashAreTold) {
  session()->save_keys(QStringLiteral("go.next_finding"), QStringLiteral("Ctrl+O"));
  window_.use_session(session());
  const auto said = window_.statusBar()->currentMessage();
  EXPECT_TRUE(said.contains(QStringLiteral("Ctrl+O belongs to"))) << said.toStdString();
}

TEST_F(GuiSession, ACardSaysClaimRealityAndStatusOfWhatLiesUnderTheMouse) {
  open_small();
  auto* table = window_.findChild<RowTable*>(QStringLiteral("nodes_table"));
  ASSERT_NE(table, nullptr);
  const auto text = table->card(3);
  EXPECT_TRUE(text.contains(QStringLiteral("pad"))) << text.toStdString();
  EXPECT_TRUE(text.contains(QStringLiteral("▲ lies: storage-too-small"))) << text.toStdString();
  EXPECT_TRUE(text.contains(QStringLiteral("[s77 + PythonMod(-s77, 8), 32]")));
  // Links ask for the same card by the node.
  emit window_.view(QStringLiteral("storage"))
      ->findChild<QTextBrowser*>()
      ->highlighted(QUrl(QStringLiteral("node:1:3")));
  ASSERT_TRUE(testing::wait_until([] { return QToolTip::isVisible(); }));
  EXPECT_TRUE(QToolTip::text().contains(QStringLiteral("aten.relu.default")));
  EXPECT_TRUE(QToolTip::text().contains(QStringLiteral("[68, 32]")));
}

}  // namespace
}  // namespace assay
