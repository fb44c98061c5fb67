// A table that costs what is visible, whatever its length: uniform rows, one column header, one
// current row. Models say through roles which cells lie and how a row fared.
#pragma once
#include <functional>

#include <QAbstractItemModel>
#include <QAbstractScrollArea>
#include <QHeaderView>
#include <QPointer>

namespace assay {

class RowTable : public QAbstractScrollArea {
  Q_OBJECT

 public:
  explicit RowTable(QWidget* parent = nullptr);
  /// `widths`: of columns, where there is no room for what stands in them. Columns fit what is seen
  /// of the first rows until the user drags one.
  void set_model(QAbstractItemModel* model, const std::vector<int>& widths);
  /// What is said where there are no rows.
  void set_empty_text(const QString& text);
  /// Roles of the model: a bool that a cell lies, an int NodeMark drawn in column 0; -1 for none.
  void set_roles(int bad, int mark) {
    bad_role_ = bad;
    mark_role_ = mark;
  }
  [[nodiscard]] auto header() const -> QHeaderView* { return header_; }
  [[nodiscard]] auto current_row() const -> int { return current_; }
  /// Rich text for the mouse over a row; empty text: the cell itself is said.
  void set_card(std::function<QString(int row)> card) { card_ = std::move(card); }
  [[nodiscard]] auto card(int row) const -> QString { return card_ ? card_(row) : QString(); }
  /// Selects and scrolls to a row without telling anyone.
  void set_current_row(int row);
  [[nodiscard]] auto row_height() const -> int;
  [[nodiscard]] auto visible_rows() const -> int;
  [[nodiscard]] auto model() const -> QAbstractItemModel* { return model_; }
  /// All rows, at most `most`, as CSV.
  [[nodiscard]] auto csv(int most = 1'000'000) const -> QString;

 signals:
  void chosen(int row);     ///< the user went to a row
  void activated(int row);  ///< Enter or double click

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  auto viewportEvent(QEvent* event) -> bool override;

 private:
  void update_bars();
  void want_fit();
  void fit_columns();
  [[nodiscard]] auto wanted_width(int column, int first, int last) const -> int;
  void choose(int row);
  void paint_row(QPainter& painter, int row, int top);
  [[nodiscard]] auto row_at(int y) const -> int;

  QPointer<QAbstractItemModel> model_;
  QHeaderView* header_;
  std::vector<int> widths_;
  bool is_fit_wanted_ = false;
  bool is_fitting_ = false;
  bool is_sized_by_hand_ = false;
  QString empty_text_;
  int current_ = -1;
  int bad_role_ = -1;
  int mark_role_ = -1;
  std::function<QString(int)> card_;
};

}  // namespace assay
