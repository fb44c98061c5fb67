// Views that are a table with a detail pane below: rows that fit into memory.
#pragma once
#include <QHBoxLayout>
#include <QTextBrowser>
#include <QVBoxLayout>

#include "gui/models/text_model.h"
#include "gui/views/row_table.h"
#include "gui/views/view.h"

namespace assay {

class ListView : public View {
  Q_OBJECT

 public:
  ListView(const QString& id, const QString& title, Desk& desk, const QStringList& columns,
           const std::vector<int>& widths);
  void load(Store* store) override;
  void follow(const Cursor& cursor) override;
  /// Details hold colours: they come again with the next row.
  void theme_changed() override { set_detail({}); }
  [[nodiscard]] auto table() const -> const RowTable* override { return table_; }
  [[nodiscard]] auto model() const -> TextModel* { return model_; }

 protected:
  /// Asks the store for the rows; called with a trace only.
  virtual void fetch() = 0;
  /// The user went to a row: by default its cursor, if it has one.
  virtual void chosen(const TextRow& row);
  /// One statement, each row of the answer through `make`; `none` is said where there is none.
  void fetch_rows(const std::string& statement, std::vector<TraceValue> parameters,
                  std::function<TextRow(const std::vector<TraceValue>&)> make, const QString& none);
  void set_rows(std::vector<TextRow> rows, const QString& none);
  void set_detail(const QString& html);
  /// Widgets above the table.
  [[nodiscard]] auto bar() -> QHBoxLayout* { return bar_; }
  [[nodiscard]] auto store() const -> Store* { return store_; }
  [[nodiscard]] auto cursor() const -> const Cursor& { return cursor_; }
  [[nodiscard]] auto rows() const -> RowTable* { return table_; }
  [[nodiscard]] auto column() const -> QVBoxLayout* { return column_; }

 private:
  Store* store_ = nullptr;
  Cursor cursor_;
  TextModel* model_;
  RowTable* table_;
  QTextBrowser* detail_;
  QHBoxLayout* bar_;
  QVBoxLayout* column_;
};

[[nodiscard]] auto style_of_links() -> QString;
/// A link that analyses the input at a counterexample's sizes; empty where it names none.
[[nodiscard]] auto run_there_html(const std::string& witness) -> QString;

}  // namespace assay
