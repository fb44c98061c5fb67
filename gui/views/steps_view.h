// A reduction: every candidate as a point, size over time; its lineage and what it changed.
#pragma once
#include <QPushButton>
#include <QTimer>

#include "gui/views/list_view.h"

namespace assay {

struct StepPoint {
  TraceId id = 0, parent = 0;
  std::int64_t seq = 0, calls = 0;
  double at = 0, seconds = 0;
  std::string phase = {}, verdict = {}, failure = {};
};

/// The chart by itself: points with shape and colour by verdict, the best so far as a line.
class StepChart : public QWidget {
  Q_OBJECT

 public:
  explicit StepChart(QWidget* parent = nullptr);
  void set_points(std::vector<StepPoint> points, TraceId current);
  void paint(QPainter& painter, const QSize& size) const;

 signals:
  void picked(assay::TraceId step);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  [[nodiscard]] auto place(const StepPoint& point, const QSize& size) const -> QPointF;
  std::vector<StepPoint> points_;
  TraceId current_ = 0;
  double seconds_ = 1;
  std::int64_t calls_ = 1;
};

class StepsView : public ListView {
  Q_OBJECT

 public:
  explicit StepsView(Desk& desk);
  void load(Store* store) override;
  void follow(const Cursor& cursor) override;
  auto draw_picture(QPainter& painter, const QSize& size) -> bool override;
  void toggle_following();

 protected:
  void fetch() override;
  void chosen(const TextRow& row) override;

 private:
  void receive(const TraceAnswer& answer);
  void show_step(TraceId step);

  std::vector<StepPoint> points_;
  StepChart* chart_;
  QLabel* info_;
  QPushButton* live_;
  QTimer poll_;
};

}  // namespace assay
