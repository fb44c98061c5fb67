// Keys of all actions, to be changed: one key belongs to one action.
#pragma once
#include <QDialog>
#include <QKeySequenceEdit>
#include <QLabel>
#include <QLineEdit>

#include "gui/app/window.h"
#include "gui/models/text_model.h"

namespace assay {

class KeysDialog : public QDialog {
  Q_OBJECT

 public:
  explicit KeysDialog(Window& window);

 private:
  void fill();
  [[nodiscard]] auto chosen() const -> QString;  ///< id of the row's action, empty for none
  /// Sets keys of the row, or says who has them already.
  void set(const QList<QKeySequence>& keys);
  void reset();

  Window& window_;
  TextModel* model_;
  RowTable* table_;
  QLineEdit* filter_;
  QKeySequenceEdit* keys_;
  QLabel* message_;
};

}  // namespace assay
