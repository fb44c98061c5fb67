// The arena of a compiled program over time: one rectangle a buffer.
#pragma once
#include "gui/data/programs.h"
#include "gui/views/view.h"

namespace assay {

class MemoryPicture : public QWidget {
  Q_OBJECT

 public:
  explicit MemoryPicture(QWidget* parent = nullptr);
  void set_program(ProgramFacts program);
  [[nodiscard]] auto program() const -> const ProgramFacts& { return program_; }
  void set_step(std::int64_t step);
  void paint(QPainter& painter, const QSize& size) const;
  /// Where a buffer stands in a picture of this size.
  [[nodiscard]] auto box(const BufferFacts& buffer, const QSize& size) const -> QRectF;
  /// Name, bytes and life.
  [[nodiscard]] static auto text_of(const BufferFacts& buffer) -> QString;
  [[nodiscard]] auto peak_step() const -> std::int64_t { return peak_step_; }

 signals:
  void picked(int buffer);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  auto event(QEvent* event) -> bool override;

 private:
  [[nodiscard]] auto x_of(std::int64_t step, const QSize& size) const -> double;
  [[nodiscard]] auto y_of(std::int64_t byte, const QSize& size) const -> double;
  [[nodiscard]] auto buffer_at(const QPointF& point) const -> int;
  void paint_axes(QPainter& painter, const QSize& size) const;
  void paint_live(QPainter& painter, const QSize& size) const;
  void choose(int buffer);

  ProgramFacts program_;
  std::vector<std::int64_t> live_;  ///< by step
  std::int64_t steps_ = 1, peak_step_ = -1, step_ = -1;
  int current_ = -1;
};

class MemoryView : public View {
  Q_OBJECT

 public:
  explicit MemoryView(Desk& desk);
  void load(Store* store) override;
  void follow(const Cursor& cursor) override;
  void theme_changed() override { picture_->update(); }
  auto draw_picture(QPainter& painter, const QSize& size) -> bool override;
  /// A line a buffer.
  auto write_csv(const QString& path) -> bool override;
  [[nodiscard]] auto has_csv() const -> bool override { return true; }

 private:
  /// The first program, or the one of the cursor where that is another.
  void ask(const Cursor& cursor);
  void receive(ProgramFacts program);
  void pick(int buffer);

  Store* store_ = nullptr;
  Cursor cursor_;
  TraceId shown_ = 0;
  std::size_t programs_ = 0;
  MemoryPicture* picture_;
  QLabel* summary_;
  QLabel* detail_;
};

}  // namespace assay
