#include "gui/views/theme.h"

#include <QApplication>
#include <QFontDatabase>
#include <QFontInfo>
#include <QPainterPath>

namespace assay {
namespace {

bool dark_theme = false;

auto css(Token token) -> QString {
  return tone(token).name();
}

}  // namespace

void set_theme(bool dark) {
  dark_theme = dark;
}
auto is_dark() -> bool {
  return dark_theme;
}
auto tone(Token token) -> QColor {
  return QColor::fromRgb(color(dark_theme ? kDark : kLight, token));
}

auto qt_palette() -> QPalette {
  QPalette palette;
  palette.setColor(QPalette::Window, tone(Token::window));
  palette.setColor(QPalette::Base, tone(Token::panel));
  palette.setColor(QPalette::AlternateBase, tone(Token::raised));
  palette.setColor(QPalette::Button, tone(Token::raised));
  palette.setColor(QPalette::ToolTipBase, tone(Token::raised));
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText,
                          QPalette::ToolTipText, QPalette::HighlightedText})
    palette.setColor(role, tone(Token::text));
  palette.setColor(QPalette::PlaceholderText, tone(Token::muted));
  palette.setColor(QPalette::Highlight, tone(Token::selection));
  palette.setColor(QPalette::Link, tone(Token::accent));
  palette.setColor(QPalette::Mid, tone(Token::line));
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    palette.setColor(QPalette::Disabled, role, tone(Token::muted));
  return palette;
}

auto style_sheet() -> QString {
  return QStringLiteral(R"(
QMainWindow::separator { background: %1; width: 5px; height: 5px; }
QDockWidget { font-weight: 600; }
QTabBar { qproperty-drawBase: 0; }
QTabBar::tab { background: %1; color: %5; border: 0; padding: 5px 12px; border-top: 2px solid transparent; }
QTabBar::tab:selected { background: %2; color: %4; border-top: 2px solid %6; }
QTabBar::tab:focus { text-decoration: underline; }
QToolBar { background: %1; border: 0; spacing: 4px; padding: 3px 6px; }
QToolButton { color: %4; padding: 4px 8px; border-radius: 4px; border: 1px solid transparent; }
QToolButton:hover { background: %3; }
QToolButton:focus, QPushButton:focus { border: 1px solid %6; }
QPushButton { background: %3; color: %4; border: 1px solid %7; border-radius: 4px; padding: 5px 12px; }
QPushButton:hover, QPushButton:focus { border-color: %6; }
QPushButton:disabled, QToolButton:disabled { color: %5; }
QLineEdit, QPlainTextEdit { background: %2; border: 1px solid %7; border-radius: 4px; padding: 3px 6px; selection-background-color: %8; selection-color: %4; }
QPlainTextEdit { border-radius: 0; border: 0; padding: 0; font-family: "%9"; }
QPlainTextEdit[framed="true"] { border: 1px solid %7; border-radius: 4px; margin: 6px; }
QPlainTextEdit[framed="true"]:focus { border-color: %6; }
QSlider::groove:horizontal { background: %7; height: 4px; border-radius: 2px; }
QSlider::handle:horizontal { background: %3; border: 1px solid %5; border-radius: 6px; width: 11px; margin: -5px 0; }
QSlider::handle:horizontal:focus { background: %8; border-color: %6; }
QPushButton:checked { background: %8; border-color: %6; }
QLineEdit:focus { border: 1px solid %6; }
QHeaderView::section { background: %3; color: %5; border: 0; border-right: 1px solid %7; border-bottom: 1px solid %7; padding: 4px 8px; }
QTableView, QTreeView, QListView { background: %2; color: %4; border: 0; outline: 0; gridline-color: %7; selection-background-color: %8; selection-color: %4; }
QTreeView::item, QListView::item { padding: 3px 4px; }
QStatusBar { background: %1; color: %5; }
QStatusBar::item { border: 0; }
QSplitter::handle { background: %1; }
QScrollArea { border: 0; background: %2; }
QMenu { background: %2; color: %4; border: 1px solid %7; }
QMenu::item:selected { background: %8; }
QMenuBar { background: %1; color: %4; }
QMenuBar::item:selected { background: %3; }
QToolTip { background: %3; color: %4; border: 1px solid %7; }
)")
      .arg(css(Token::window), css(Token::panel), css(Token::raised), css(Token::text),
           css(Token::muted), css(Token::accent), css(Token::line), css(Token::selection),
           QFontInfo(code_font()).family());
}

auto scaled(QFont font, double factor) -> QFont {
  if (font.pointSizeF() > 0)
    font.setPointSizeF(font.pointSizeF() * factor);
  else
    font.setPixelSize(static_cast<int>(font.pixelSize() * factor));
  return font;
}

auto code_font() -> QFont {
  auto font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
  if (!QFontInfo(font).fixedPitch()) {  // a platform without settings of its own
    font = QFont(QStringLiteral("monospace"));
    font.setStyleHint(QFont::Monospace);
  }
  const auto text = QApplication::font();
  if (text.pointSizeF() > 0)
    font.setPointSizeF(text.pointSizeF());
  else
    font.setPixelSize(text.pixelSize());
  return font;
}

auto token_of(NodeMark mark) -> Token {
  switch (mark) {
    case NodeMark::root:
    case NodeMark::failed:
      return Token::bad;
    case NodeMark::inherited:
      return Token::inherited;
    case NodeMark::note:
      return Token::note;
    case NodeMark::ok:
      return Token::ok;
    case NodeMark::unchecked:
    case NodeMark::not_run:
      return Token::unknown;
  }
  return Token::unknown;
}

void draw_mark(QPainter& painter, const QRectF& box, NodeMark mark) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  const auto color = tone(token_of(mark));
  const auto r = box.adjusted(1, 1, -1, -1);
  QPainterPath path;
  bool filled = true;
  switch (mark) {
    case NodeMark::root:
    case NodeMark::inherited:
      path.moveTo(r.center().x(), r.top());
      path.lineTo(r.bottomRight());
      path.lineTo(r.bottomLeft());
      path.closeSubpath();
      filled = mark == NodeMark::root;
      break;
    case NodeMark::failed:
      path.moveTo(r.topLeft());
      path.lineTo(r.bottomRight());
      path.moveTo(r.topRight());
      path.lineTo(r.bottomLeft());
      filled = false;
      break;
    case NodeMark::note:
      path.addEllipse(r);
      filled = false;
      break;
    case NodeMark::unchecked:
      path.addRect(r);
      filled = false;
      break;
    case NodeMark::not_run:
      path.moveTo(r.left(), r.center().y());
      path.lineTo(r.right(), r.center().y());
      filled = false;
      break;
    case NodeMark::ok:
      path.addEllipse(r.center(), r.width() / 4, r.width() / 4);
      break;
  }
  painter.setPen(QPen(color, 1.6));
  painter.setBrush(filled ? QBrush(color) : QBrush(Qt::NoBrush));
  painter.drawPath(path);
  painter.restore();
}

}  // namespace assay
