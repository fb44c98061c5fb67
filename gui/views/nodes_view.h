// All nodes of a graph in execution order, with what they claim and what is real.
#pragma once
#include <QLineEdit>

#include "gui/models/node_model.h"
#include "gui/views/row_table.h"
#include "gui/views/view.h"

namespace assay {

class NodesView : public View {
  Q_OBJECT

 public:
  explicit NodesView(Desk& desk);
  void load(Store* store) override;
  void follow(const Cursor& cursor) override;
  [[nodiscard]] auto table() const -> const RowTable* override { return table_; }
  auto write_csv(const QString& path) -> bool override;
  void set_filter(const QString& text);
  void focus_filter();
  void go_to_row(int row);
  [[nodiscard]] auto rows() const -> RowTable* { return table_; }

 private:
  void apply_filter();
  void show_count();

  NodeModel* model_;
  RowTable* table_;
  QLineEdit* filter_;
  QLabel* count_;
  QLabel* meaning_;
  Store* store_ = nullptr;
  Cursor cursor_;
};

}  // namespace assay
