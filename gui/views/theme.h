// Tokens as Qt colours, and the few things that all views draw alike.
#pragma once
#include <QColor>
#include <QFont>
#include <QPainter>
#include <QPalette>

#include "gui/data/tokens.h"
#include "replay/trace/pages.h"

namespace assay {

/// The palette in use; views ask for it when they paint.
void set_theme(bool dark);
[[nodiscard]] auto is_dark() -> bool;
[[nodiscard]] auto tone(Token token) -> QColor;
[[nodiscard]] auto qt_palette() -> QPalette;
[[nodiscard]] auto style_sheet() -> QString;
/// The font at another size, whether it was chosen in points or in pixels.
[[nodiscard]] auto scaled(QFont font, double factor) -> QFont;
/// The desktop's fixed font, at the size of the application's.
[[nodiscard]] auto code_font() -> QFont;

[[nodiscard]] auto token_of(NodeMark mark) -> Token;
/// Triangle: lies, hollow triangle: inherited, circle: note, square: unchecked, cross: failed,
/// dot: as claimed.
void draw_mark(QPainter& painter, const QRectF& box, NodeMark mark);

}  // namespace assay
