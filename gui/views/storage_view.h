// Tensor and storage of the cursor's node: every leaf claimed against real, every alias of the
// storage on a map of its bytes, who made it and who reads it.
#pragma once
#include <QTextBrowser>

#include "gui/data/node_facts.h"
#include "gui/views/storage_picture.h"

namespace assay {

class StorageView : public View {
  Q_OBJECT

 public:
  explicit StorageView(Desk& desk);
  void load(Store* store) override;
  void follow(const Cursor& cursor) override;
  void follow_sizes() override;
  void theme_changed() override;
  auto draw_picture(QPainter& painter, const QSize& size) -> bool override;

 private:
  Store* store_ = nullptr;
  Cursor cursor_;
  NodeFacts facts_;
  StoragePicture* picture_;
  QLabel* sentence_;
  QTextBrowser* text_;
};

}  // namespace assay
