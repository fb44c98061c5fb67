// The picture of a storage map: bytes from left to right, one lane for each alias.
#pragma once
#include "gui/data/storage_map.h"
#include "gui/views/view.h"

namespace assay {

class StoragePicture : public QWidget {
  Q_OBJECT

 public:
  explicit StoragePicture(Desk& desk);
  void load(Store* store);
  /// Fetches and shows the map of the cursor's node.
  void show_node(const Cursor& cursor);
  /// A map that stands in no trace.
  void show_map(StorageMap map);
  [[nodiscard]] auto is_empty() const -> bool { return map_.empty(); }
  void paint(QPainter& painter, const QSize& size) const;
  [[nodiscard]] auto map() const -> const StorageMap& { return map_; }

  [[nodiscard]] auto sizeHint() const -> QSize override;
  [[nodiscard]] auto minimumSizeHint() const -> QSize override;

 signals:
  void changed();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  [[nodiscard]] auto lane_height() const -> int;
  [[nodiscard]] auto lanes_top() const -> int;
  [[nodiscard]] auto lanes() const -> int;  ///< that are drawn
  void go_to_lane(int lane);
  void paint_axis(QPainter& painter, double left, double width) const;
  void paint_lane(QPainter& painter, const Footprint& lane, double left, double width,
                  int top) const;

  Desk& desk_;
  Store* store_ = nullptr;
  Cursor cursor_;
  StorageMap map_;
  int lane_ = -1;  ///< that the keys are at
};

}  // namespace assay
