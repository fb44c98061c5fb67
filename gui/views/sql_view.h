// Reading statements typed by the user; columns that hold ids lead to what they name.
#pragma once
#include <QPlainTextEdit>

#include "gui/views/list_view.h"

namespace assay {

class SqlView : public ListView {
  Q_OBJECT

 public:
  explicit SqlView(Desk& desk);
  void run();
  void set_text(const QString& sql) { text_->setPlainText(sql); }

 protected:
  void fetch() override;

 private:
  void show(const TraceAnswer& answer);
  QPlainTextEdit* text_;
  QLabel* message_;
};

}  // namespace assay
