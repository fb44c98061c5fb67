// A line of text that asks for no room: what does not fit is cut, and said by the mouse.
#pragma once
#include <QLabel>

namespace assay {

class ElidedLabel : public QLabel {
  Q_OBJECT

 public:
  explicit ElidedLabel(QWidget* parent = nullptr);
  [[nodiscard]] auto minimumSizeHint() const -> QSize override;

 protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace assay
