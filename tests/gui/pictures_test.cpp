// Reference pictures: few, of what no assertion on data sees. One font, one style, one size.
// `gui_tests --gtest_filter=GuiPictures.* --update` rewrites them; look at what changed.
#include <QApplication>
#include <QDir>
#include <QFontDatabase>
#include <QFontInfo>

#include "gui/views/graph_canvas.h"
#include "gui/views/theme.h"
#include "tests/gui/fixture.h"
#include "tests/gui/pictures.h"

namespace assay {
namespace {

/// Two runs on one machine give the same bytes; another build of Qt's rasteriser may round the edge
/// of an antialiased stroke the other way. One changed digit moves more than twice as many pixels.
constexpr int kMostChannelDelta = 2;
constexpr int kMostPixels = 12;

auto differing_pixels(const QImage& a, const QImage& b) -> int {
  if (a.size() != b.size()) return a.width() * a.height();
  int count = 0;
  for (int y = 0; y < a.height(); ++y)
    for (int x = 0; x < a.width(); ++x) {
      const auto p = a.pixel(x, y);
      const auto q = b.pixel(x, y);
      const auto delta = std::max({std::abs(qRed(p) - qRed(q)), std::abs(qGreen(p) - qGreen(q)),
                                   std::abs(qBlue(p) - qBlue(q))});
      count += delta > kMostChannelDelta ? 1 : 0;
    }
  return count;
}

class GuiPictures : public testing::WindowTest {
 protected:
  void SetUp() override {
    const auto text = QFontInfo(QApplication::font()).family();
    const auto code = QFontInfo(QFontDatabase::systemFont(QFontDatabase::FixedFont)).family();
    if (text != QStringLiteral("DejaVu Sans") || code != QStringLiteral("DejaVu Sans Mono") ||
        QString::fromLatin1(qVersion()).section('.', 0, 1) != QStringLiteral("6.4"))
      GTEST_SKIP() << "reference pictures need Qt 6.4 and DejaVu fonts, here are Qt " << qVersion()
                   << ", " << text.toStdString() << ", " << code.toStdString();
  }
  void TearDown() override { window_.apply_theme(false); }

  /// The view at this size, against tests/data/pictures/NAME.png.
  void expect_picture(const QString& view_id, const QSize& size, const std::string& name) {
    window_.show_view(view_id);
    auto* view = window_.view(view_id);
    view->setFixedSize(size);
    ASSERT_TRUE(idle());
    window_.setFocus();
    const auto seen = view->grab().toImage().convertToFormat(QImage::Format_RGB32);
    const auto file =
        std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/data/pictures" / (name + ".png");
    const auto path = QString::fromStdString(file.string());
    if (testing::updates_pictures()) {
      ASSERT_TRUE(seen.save(path));
      return;
    }
    const QImage wanted(path);
    ASSERT_FALSE(wanted.isNull()) << path.toStdString();
    const int different = differing_pixels(seen, wanted.convertToFormat(QImage::Format_RGB32));
    if (different <= kMostPixels) return;
    const auto actual = QDir::temp().filePath(QString::fromStdString("assay_" + name + ".png"));
    seen.save(actual);
    ADD_FAILURE() << name << ": " << different << " pixels differ, at most " << kMostPixels
                  << " may; what was drawn is in " << actual.toStdString();
  }
};

TEST_F(GuiPictures, TheStorageMapOfALayoutThatLeavesItsStorage) {
  open_small();
  expect_picture(QStringLiteral("triage"), {760, 430}, "triage");
}

TEST_F(GuiPictures, NodesWithEveryMarkOnDark) {
  open_small();
  window_.apply_theme(true);
  expect_picture(QStringLiteral("nodes"), {900, 240}, "nodes_dark");
}

TEST_F(GuiPictures, TheGraphWithItsModulesOpen) {
  open_small();
  expect_picture(QStringLiteral("graph"), {520, 460}, "graph");
}

TEST_F(GuiPictures, BuffersInTheArena) {
  open_small();
  expect_picture(QStringLiteral("memory"), {640, 320}, "memory");
}

TEST(PictureComparison, OneChangedDigitIsMoreThanTheToleranceAllows) {
  const auto draw = [](const QString& text) {
    QImage image(200, 40, QImage::Format_RGB32);
    image.fill(tone(Token::panel));
    QPainter painter(&image);
    painter.setFont(QApplication::font());
    painter.drawText(10, 25, text);
    return image;
  };
  EXPECT_EQ(differing_pixels(draw(QStringLiteral("9216")), draw(QStringLiteral("9216"))), 0);
  EXPECT_GT(differing_pixels(draw(QStringLiteral("9216")), draw(QStringLiteral("9217"))),
            2 * kMostPixels);
}

}  // namespace
}  // namespace assay
