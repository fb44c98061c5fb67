// Runs of `assay` that the window started: what runs now with its log, and how earlier ones ended.
#pragma once
#include <QPlainTextEdit>
#include <QPushButton>

#include "gui/models/child.h"
#include "gui/models/text_model.h"
#include "gui/views/row_table.h"
#include "gui/views/view.h"

namespace assay {

class ConsoleView : public View {
  Q_OBJECT

 public:
  explicit ConsoleView(Desk& desk);
  void load(Store*) override {}
  void follow(const Cursor&) override {}
  [[nodiscard]] auto is_busy() const -> bool override {
    return child_.is_running() || !lines_.isEmpty();
  }
  [[nodiscard]] auto table() const -> const RowTable* override { return table_; }

  /// Starts `assay` with these arguments; one at a time.
  void run(const QStringList& arguments, std::function<void(const ChildResult&)> then);
  void run_again();
  void cancel() { child_.cancel(); }
  [[nodiscard]] auto child() -> Child& { return child_; }

 signals:
  void changed();  ///< began, ended, or got further
 public:
  [[nodiscard]] auto progress() const -> const QString& { return progress_; }

 private:
  void ended(const ChildResult& result, const std::function<void(const ChildResult&)>& then);

  /// Lines that came since the last time, some at once: each by itself would lay the log out anew,
  /// and thousands would keep the window away.
  void show_lines();

  Child child_;
  QStringList lines_;
  QTimer show_;
  TextModel* history_;
  RowTable* table_;
  QPlainTextEdit* log_;
  QLabel* now_;
  QPushButton* stop_;
  QPushButton* again_;
  QString progress_;
  QStringList last_;
  std::function<void(const ChildResult&)> last_then_;
};

}  // namespace assay
