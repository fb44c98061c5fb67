// Remarks on nodes, kept in a file beside the trace so that the evidence stays as it is.
#pragma once
#include <map>

#include <QPlainTextEdit>

#include "gui/views/list_view.h"

namespace assay {

class NotesView : public ListView {
  Q_OBJECT

 public:
  explicit NotesView(Desk& desk);
  void load(Store* store) override;
  void follow(const Cursor& cursor) override;
  /// Beside `file`, as FILE.notes.json.
  void set_file(const QString& file);
  void set_note(const QString& text) { text_->setPlainText(text); }

 protected:
  void fetch() override;
  void chosen(const TextRow& row) override;

 private:
  void save();
  void list();

  QString file_;
  QString name_;                      ///< of the cursor's node
  std::map<QString, QString> notes_;  ///< by name of the node
  QLabel* about_;
  QPlainTextEdit* text_;
};

}  // namespace assay
