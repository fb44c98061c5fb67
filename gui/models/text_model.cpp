#include "gui/models/text_model.h"

#include <algorithm>

namespace assay {
namespace {

auto is_marked(const TextRow& row) -> bool {
  return row.mark >= 0;
}

}  // namespace

auto csv_line(const QStringList& cells) -> QString {
  QStringList quoted;
  for (auto cell : cells) {
    if (cell.contains(',') || cell.contains('"') || cell.contains('\n'))
      cell = '"' + cell.replace('"', QStringLiteral("\"\"")) + '"';
    quoted << cell;
  }
  return quoted.join(',') + '\n';
}

void TextModel::set_rows(std::vector<TextRow> rows) {
  set_table(std::move(columns_), std::move(rows));
}

void TextModel::set_table(QStringList columns, std::vector<TextRow> rows) {
  beginResetModel();
  columns_ = std::move(columns);
  rows_ = std::move(rows);
  has_marks_ = std::ranges::any_of(rows_, is_marked);
  endResetModel();
}

void TextModel::append(std::vector<TextRow> rows) {
  if (rows.empty()) return;
  has_marks_ = has_marks_ || std::ranges::any_of(rows, is_marked);
  const int first = rowCount();
  beginInsertRows({}, first, first + static_cast<int>(rows.size()) - 1);
  rows_.insert(rows_.end(), std::make_move_iterator(rows.begin()),
               std::make_move_iterator(rows.end()));
  endInsertRows();
}

void TextModel::replace(int row, TextRow with) {
  has_marks_ = has_marks_ || is_marked(with);
  rows_[static_cast<std::size_t>(row)] = std::move(with);
  emit dataChanged(index(row, 0), index(row, columnCount() - 1));
}

auto TextModel::rowCount(const QModelIndex& parent) const -> int {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}
auto TextModel::columnCount(const QModelIndex& parent) const -> int {
  return parent.isValid() ? 0 : static_cast<int>(columns_.size());
}

auto TextModel::data(const QModelIndex& index, int role) const -> QVariant {
  const auto* row = index.isValid() ? this->row(index.row()) : nullptr;
  if (!row) return {};
  switch (role) {
    case Qt::DisplayRole:
    case Qt::ToolTipRole:
      return row->cells.value(index.column());
    case kBadRole:
      return row->bad_column == index.column();
    case kMarkRole:
      return has_marks_ ? QVariant(row->mark) : QVariant();
    default:
      return {};
  }
}

auto TextModel::headerData(int section, Qt::Orientation orientation, int role) const -> QVariant {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  return columns_.value(section);
}

}  // namespace assay
