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

 protected:
  void fetch() override;
  void chosen(const TextRow& row) override;

 private:
  void compare();
  void show(const GraphDiff& diff);

  QComboBox* left_;
  QComboBox* right_;
  QPushButton* same_;
  QPushButton* open_;
  QLabel* counts_;
  GraphDiff diff_;
  QString other_;
  bool asked_ = false;
};

}  // namespace assay
