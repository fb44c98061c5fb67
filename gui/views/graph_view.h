// The graph as a picture: closed modules first, down to single nodes.
#pragma once
#include <QComboBox>
#include <QPushButton>

#include "gui/views/graph_canvas.h"
#include "gui/views/view.h"

namespace assay {

class GraphView : public View {
  Q_OBJECT

 public:
  explicit GraphView(Desk& desk);
  ~GraphView() override;
  void load(Store* store) override;
  void follow(const Cursor& cursor) override;
  void theme_changed() override { canvas_->theme_changed(); }
  [[nodiscard]] auto is_busy() const -> bool override;
  auto draw_picture(QPainter& painter, const QSize& size) -> bool override;
  [[nodiscard]] auto picture_size() const -> QSize override;
  [[nodiscard]] auto canvas() -> GraphCanvas* { return canvas_; }

  [[nodiscard]] auto is_costly() const -> bool override { return true; }

  void expand_selected();
  void expand_to_finding();
  void expand_all();
  void collapse_all();
  /// Only what is near the cursor's node; asked again: one edge further.
  void show_neighbourhood();
  /// Marks the cursor's node; asked again at another: only ways between the two.
  void show_path();
  void show_everything();
  void fit();

 private:
  /// Nodes to show alone, worked out beside the window.
  using Choice = std::function<std::vector<int>(const GraphData&, StopFlag)>;
  /// `anchor`: a node that keeps its place on the screen, -1 for none.
  void lay_out(int anchor, Choice choose = {});
  /// The cursor's graph, or what is near to the cursor.
  void read();
  [[nodiscard]] auto is_beyond(const Cursor& cursor) const -> bool;
  void reveal_cursor(bool close);
  void show_counts();
  [[nodiscard]] auto node_of_cursor() const -> int;

  Store* store_ = nullptr;
  Cursor cursor_;
  std::shared_ptr<const GraphData> data_;
  SceneOptions options_;
  std::shared_ptr<std::atomic<bool>> stop_;
  QThreadPool pool_;
  int laying_out_ = 0;
  int radius_ = 0;
  int path_from_ = -1;
  bool reveal_after_ = false;
  GraphCanvas* canvas_;
  QComboBox* overlay_;
  QLabel* info_;
  QPushButton* all_;
};

}  // namespace assay
