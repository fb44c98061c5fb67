#include "gui/views/elided_label.h"

#include <QPainter>

namespace assay {

ElidedLabel::ElidedLabel(QWidget* parent) : QLabel(parent) {
  setTextFormat(Qt::PlainText);
  setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
}

auto ElidedLabel::minimumSizeHint() const -> QSize {
  return {0, QLabel::minimumSizeHint().height()};
}

void ElidedLabel::paintEvent(QPaintEvent*) {
  const auto area = contentsRect().adjusted(margin(), margin(), -margin(), -margin());
  const auto shown = fontMetrics().elidedText(text(), Qt::ElideRight, area.width());
  setToolTip(shown == text() ? QString() : text());
  QPainter painter(this);
  painter.setPen(palette().color(foregroundRole()));
  painter.drawText(area, Qt::AlignLeft | Qt::AlignVCenter, shown);
}

}  // namespace assay
