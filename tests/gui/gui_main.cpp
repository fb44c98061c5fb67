// One application for all tests of the window: Fusion, one font, no settings of the machine.
#include <gtest/gtest.h>

#include <QApplication>
#include <QFont>
#include <QStandardPaths>
#include <QStyleFactory>

#include "tests/gui/pictures.h"

namespace {
bool updates = false;
}
auto assay::testing::updates_pictures() -> bool {
  return updates;
}

auto main(int argc, char** argv) -> int {
  qputenv("QT_QPA_PLATFORM",
          qgetenv("QT_QPA_PLATFORM").isEmpty() ? "offscreen" : qgetenv("QT_QPA_PLATFORM"));
  QStandardPaths::setTestModeEnabled(true);
  QApplication app(argc, argv);
  QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  QFont font(QStringLiteral("DejaVu Sans"));
  font.setPixelSize(13);
  font.setHintingPreference(QFont::PreferNoHinting);
  font.setStyleStrategy(QFont::NoSubpixelAntialias);
  QApplication::setFont(font);
  ::testing::InitGoogleTest(&argc, argv);
  updates = argc > 1 && std::string_view(argv[1]) == "--update";
  return RUN_ALL_TESTS();
}
