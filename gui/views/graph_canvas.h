// Pans and zooms over a scene: tiles drawn by worker threads, what moves drawn above them.
#pragma once
#include <memory>
#include <unordered_map>

#include <QThreadPool>
#include <QWidget>

#include "gui/views/scene_painter.h"

namespace assay {

class GraphCanvas : public QWidget {
  Q_OBJECT

 public:
  explicit GraphCanvas(QWidget* parent = nullptr);
  ~GraphCanvas() override;
  /// `anchor`: a node that keeps its place on the screen, -1 for none.
  void set_scene(std::shared_ptr<const Scene> scene, int anchor);
  void set_overlay(Overlay overlay);
  void set_selected(int node);
  void set_second(int node);  ///< the other end of a path
  void theme_changed();
  [[nodiscard]] auto scene() const -> const std::shared_ptr<const Scene>& { return paint_.scene; }
  [[nodiscard]] auto overlay() const -> Overlay { return paint_.overlay; }
  [[nodiscard]] auto is_busy() const -> bool { return rendering_ > 0; }

  void fit();
  /// Brings a node into sight; `close`: at a scale at which it can be read.
  void reveal(int node, bool close);
  void pan(double dx, double dy);
  void zoom(int steps, QPointF around);
  [[nodiscard]] auto scale() const -> double;
  [[nodiscard]] auto tiles_drawn() const -> int { return tiles_drawn_; }

 signals:
  void picked(int box);
  void opened(int box);                     ///< double click
  void hovered(int box, const QPoint& at);  ///< the mouse rests on it; `at` on the screen

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  auto event(QEvent* event) -> bool override;

 private:
  struct TileKey {
    int level, x, y;
    friend auto operator==(const TileKey&, const TileKey&) -> bool = default;
  };
  struct TileHash {
    auto operator()(const TileKey& key) const -> std::size_t {
      return static_cast<std::size_t>(key.level) * 1000003U ^
             static_cast<std::size_t>(key.x) * 8191U ^ static_cast<std::size_t>(key.y);
    }
  };
  void forget_tiles();
  void want_tile(const TileKey& key);
  auto paint_substitute(QPainter& painter, const TileKey& key, const QRectF& place) -> void;
  void paint_overlay(QPainter& painter);
  void paint_minimap(QPainter& painter);
  void make_minimap();
  /// Where a scene is looked at first.
  void start();
  /// All of the scene, but at no smaller scale than that.
  void fit_at(double least);
  [[nodiscard]] auto middle_of_boxes() const -> double;
  [[nodiscard]] auto minimap_rect() const -> QRectF;
  [[nodiscard]] auto to_scene(QPointF point) const -> QPointF;
  [[nodiscard]] auto rect_of(int node) const -> QRectF;

  ScenePaint paint_;
  int level_ = 0;   ///< scale is 2^(level / 4)
  QPointF origin_;  ///< of the view, in the scene's units
  int selected_ = -1;
  int second_ = -1;
  QPointF pressed_;
  bool dragging_ = false;
  double least_ = 0;     ///< the scale that fit_at() was last called with
  bool placed_ = false;  ///< moved since the scene came
  std::unordered_map<TileKey, QImage, TileHash> tiles_;
  std::vector<TileKey> wanted_;
  QImage minimap_;
  int generation_ = 0;
  int rendering_ = 0;
  int tiles_drawn_ = 0;
  QThreadPool pool_;
};

}  // namespace assay
