// Rows of text that fit into memory, each with the place that it leads to.
#pragma once
#include <optional>
#include <vector>

#include <QAbstractTableModel>
#include <QStringList>

#include "gui/data/cursor.h"

namespace assay {

struct TextRow {
  QStringList cells;
  Cursor cursor = {};
  int mark = -1;         ///< a NodeMark drawn before the first cell; -1: none
  int bad_column = -1;   ///< a cell in red
  std::int64_t key = 0;  ///< of the view that made it
};

/// A line of CSV with its end; quoted where that is needed.
[[nodiscard]] auto csv_line(const QStringList& cells) -> QString;

class TextModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  /// kMarkRole: a NodeMark; -1 for none, in a table where others have one; else nothing.
  enum Role { kBadRole = Qt::UserRole, kMarkRole };
  explicit TextModel(QStringList columns, QObject* parent = nullptr)
      : QAbstractTableModel(parent), columns_(std::move(columns)) {}
  void set_rows(std::vector<TextRow> rows);
  void set_table(QStringList columns, std::vector<TextRow> rows);
  void append(std::vector<TextRow> rows);
  void replace(int row, TextRow with);
  [[nodiscard]] auto row(int index) const -> const TextRow* {
    return index >= 0 && index < std::ssize(rows_) ? &rows_[static_cast<std::size_t>(index)]
                                                   : nullptr;
  }
  [[nodiscard]] auto rowCount(const QModelIndex& parent = {}) const -> int override;
  [[nodiscard]] auto columnCount(const QModelIndex& parent = {}) const -> int override;
  [[nodiscard]] auto data(const QModelIndex& index, int role) const -> QVariant override;
  [[nodiscard]] auto headerData(int section, Qt::Orientation orientation, int role) const
      -> QVariant override;

 private:
  QStringList columns_;
  std::vector<TextRow> rows_;
  bool has_marks_ = false;
};

}  // namespace assay
