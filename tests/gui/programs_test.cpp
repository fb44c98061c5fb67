// Several programs in a trace, what their runs found, and the values that they left.
#include <QComboBox>
#include <QTextBrowser>

#include "gui/views/programs_view.h"
#include "tests/gui/fixture.h"

namespace assay {
namespace {

class GuiPrograms : public testing::WindowTest {
 protected:
  void open_run() {
    testing::write_run_trace(folder_ / "run.sqlite");
    open(folder_ / "run.sqlite");
    window_.apply_layout(QStringLiteral("program"));
    ASSERT_TRUE(idle());
  }
  auto programs() -> ProgramsView* {
    return static_cast<ProgramsView*>(window_.view(QStringLiteral("programs")));
  }
  auto target() -> QString {
    const auto* row = programs()->launches()->row(0);
    return row != nullptr ? row->cells[2] : QString();
  }
};

TEST_F(GuiPrograms, AFindingAtALaunchIsWhereTheWindowOpens) {
  open_run();
  EXPECT_EQ(target(), QStringLiteral("fused_pad_0"));
  EXPECT_EQ(programs()->table()->current_row(), 0);
  EXPECT_EQ(programs()->launches()->row(0)->cells[9], QStringLiteral("out-of-bounds"));
  EXPECT_EQ(node_name(), "mul") << "the node that the launch computes";
  const auto text = screen();
  EXPECT_TRUE(text.contains(QStringLiteral("out-of-bounds: element 7 needs 32 bytes")));
  EXPECT_TRUE(text.contains(QStringLiteral("nan, nan"))) << "what it left";
  window_.apply_layout(QStringLiteral("triage"));
  ASSERT_TRUE(idle());
  EXPECT_TRUE(screen().contains(QStringLiteral("fused_pad_0: element 7 needs 32 bytes")));
}

TEST_F(GuiPrograms, TheCursorDecidesWhichProgramIsShown) {
  open_run();
  window_.go_to(QStringLiteral("launch:1"));
  ASSERT_TRUE(idle());
  EXPECT_EQ(target(), QStringLiteral("fused_relu_0"));
  EXPECT_EQ(node_name(), "relu");
  window_.go_to(QStringLiteral("node:mul"));
  ASSERT_TRUE(idle());
  EXPECT_EQ(target(), QStringLiteral("fused_pad_0"));
  window_.action(QStringLiteral("go.back"))->trigger();
  ASSERT_TRUE(idle());
  EXPECT_EQ(target(), QStringLiteral("fused_relu_0"));
}

TEST_F(GuiPrograms, AnotherProgramIsChosenByName) {
  open_run();
  auto* choice = programs()->findChild<QComboBox*>();
  ASSERT_EQ(choice->count(), 2);
  EXPECT_EQ(choice->currentText(), QStringLiteral("0/1 forward"));
  choice->setCurrentIndex(0);
  emit choice->activated(0);
  ASSERT_TRUE(idle());
  EXPECT_EQ(target(), QStringLiteral("fused_relu_0"));
  EXPECT_EQ(node_name(), "relu");
}

TEST_F(GuiPrograms, TheInspectorPutsValuesOfGraphAndProgramSideBySide) {
  open_run();
  window_.go_to(QStringLiteral("node:relu"));
  ASSERT_TRUE(idle());
  const auto text = visible_text(*window_.view(QStringLiteral("storage")));
  EXPECT_TRUE(text.contains(QStringLiteral("0, 0.5, 1"))) << text.toStdString();
  EXPECT_TRUE(text.contains(QStringLiteral("0, 0.25, 1"))) << text.toStdString();
  EXPECT_TRUE(text.contains(QStringLiteral("real: buf0 fused_relu_0"))) << text.toStdString();
}

}  // namespace
}  // namespace assay
