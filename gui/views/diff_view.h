// Two graphs side by side: nodes matched by where they came from, by structure, by name.
#pragma once
#include <QComboBox>
#include <QPushButton>

#include "gui/views/list_view.h"
#include "replay/trace/diff.h"

namespace assay {

class DiffView : public ListView {
  Q_OBJECT

 public:
  explicit DiffView(Desk& desk);
  void load(Store* store) override;
  void follow(const Cursor& cursor) override;
  /// Another trace on the right side; its graphs are offered there.
  void set_other(const QString& path);
  /// That graph on the right, the one before it on the left; not while another trace is there.
  void compare_with_previous(TraceId graph);

 protected:
  void showEvent(QShowEvent* event) override;
  void fetch() override;
  void chosen(const TextRow& row) override;

 private:
  /// At once, or when the view is seen: both graphs are read whole.
  void compare();
  void show(const GraphDiff& diff);

  QComboBox* left_;
  QComboBox* right_;
  QPushButton* same_;
  QPushButton* open_;
  QLabel* counts_;
  GraphDiff diff_;
  QString other_;
  bool is_due_ = false;
};

}  // namespace assay
