#include "gui/views/row_table.h"

#include <numeric>

#include <QAccessible>
#include <QApplication>
#include <QClipboard>
#include <QHelpEvent>
#include <QPaintEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>

#include "gui/models/text_model.h"
#include "gui/views/theme.h"

namespace assay {
namespace {
constexpr int kCellMargin = 8;
constexpr int kMarkSize = 11;
constexpr int kMarkSpace = kMarkSize + 6;
constexpr int kLeastWidth = 40;
constexpr int kLeastCut = 160;
}  // namespace

RowTable::RowTable(QWidget* parent)
    : QAbstractScrollArea(parent), header_(new QHeaderView(Qt::Horizontal, this)) {
  setFrameShape(QFrame::NoFrame);
  setFocusPolicy(Qt::StrongFocus);
  header_->setSectionsClickable(true);
  header_->setHighlightSections(false);
  header_->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  header_->setStretchLastSection(true);
  header_->setTextElideMode(Qt::ElideRight);
  header_->setMinimumSectionSize(24);
  header_->setFocusPolicy(Qt::NoFocus);
  connect(header_, &QHeaderView::sectionResized, viewport(), qOverload<>(&QWidget::update));
  verticalScrollBar()->setSingleStep(1);
  connect(header_, &QHeaderView::sectionResized, this, [this] {
    if (!is_fitting_ && QApplication::mouseButtons() != Qt::NoButton) is_sized_by_hand_ = true;
    update_bars();
  });
  connect(horizontalScrollBar(), &QScrollBar::valueChanged, header_, &QHeaderView::setOffset);
  connect(horizontalScrollBar(), &QScrollBar::valueChanged, viewport(),
          qOverload<>(&QWidget::update));
}

void RowTable::set_model(QAbstractItemModel* model, const std::vector<int>& widths) {
  model_ = model;
  widths_ = widths;
  header_->setModel(model);
  for (std::size_t i = 0; i < widths.size(); ++i)
    header_->resizeSection(static_cast<int>(i), widths[i]);
  const auto changed = [this] {
    if (current_ >= model_->rowCount()) current_ = -1;
    update_bars();
    if (is_fit_wanted_) want_fit();
    viewport()->update();
  };
  connect(model, &QAbstractItemModel::modelReset, this, [this, changed] {
    current_ = -1;
    is_fit_wanted_ = true;
    changed();
  });
  connect(model, &QAbstractItemModel::rowsInserted, this, changed);
  connect(model, &QAbstractItemModel::rowsRemoved, this, changed);
  connect(model, &QAbstractItemModel::dataChanged, this, changed);
  is_fit_wanted_ = true;
  update_bars();
}

void RowTable::set_empty_text(const QString& text) {
  empty_text_ = text;
  viewport()->update();
}

/// Once what has changed is there.
void RowTable::want_fit() {
  if (!is_sized_by_hand_)
    QMetaObject::invokeMethod(this, &RowTable::fit_columns, Qt::QueuedConnection);
}

auto RowTable::wanted_width(int column, int first, int last) const -> int {
  const auto title = model_->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
  int width = header_->fontMetrics().horizontalAdvance(title) + kCellMargin;
  const int mark = column == 0 && mark_role_ >= 0 ? kMarkSpace : 0;
  for (int row = first; row < last; ++row)
    width = std::max(
        width, mark + fontMetrics().horizontalAdvance(
                          model_->data(model_->index(row, column), Qt::DisplayRole).toString()));
  return std::max(width + 2 * kCellMargin + 2, kLeastWidth);  // letters are not whole pixels wide
}

/// Short texts are whole. A column gets what it needs, at most its own width; what is left goes to
/// those that need more. Where that is too wide and cutting long cells makes it fit, these are cut.
void RowTable::fit_columns() {
  if (!model_ || is_sized_by_hand_ || !is_fit_wanted_ || !isVisible() || header_->count() == 0)
    return;
  const int first = verticalScrollBar()->value();
  const int last = std::min(first + visible_rows() + 1, model_->rowCount());
  const bool is_empty = model_->rowCount() == 0;  // the titles alone
  if (!is_empty && !model_->data(model_->index(first, 0), Qt::DisplayRole).isValid()) return;
  is_fit_wanted_ = is_empty;
  std::vector<int> wanted, given;
  for (int i = 0; i < header_->count(); ++i) {
    wanted.push_back(wanted_width(i, first, last));
    const auto at = static_cast<std::size_t>(i);
    const int most = at < widths_.size() ? std::max(widths_[at], kLeastCut) : wanted.back();
    given.push_back(std::min(wanted.back(), most));
  }
  int left = viewport()->width() - std::accumulate(given.begin(), given.end(), 0);
  for (int cap = *std::ranges::max_element(given); left < 0 && cap >= kLeastCut; cap -= 10) {
    auto cut = given;
    for (auto& width : cut) width = std::min(width, cap);
    if (const int spare = viewport()->width() - std::accumulate(cut.begin(), cut.end(), 0);
        spare >= 0) {
      given = std::move(cut);
      left = spare;
    }
  }
  const int missing = std::accumulate(wanted.begin(), wanted.end(), 0) -
                      std::accumulate(given.begin(), given.end(), 0);
  is_fitting_ = true;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (left > 0 && missing > 0)
      given[i] +=
          static_cast<int>(std::int64_t{wanted[i] - given[i]} * std::min(left, missing) / missing);
    header_->resizeSection(static_cast<int>(i), given[i]);
  }
  is_fitting_ = false;
  update_bars();
  viewport()->update();
}

auto RowTable::row_height() const -> int {
  return fontMetrics().height() + 7;
}
auto RowTable::visible_rows() const -> int {
  return std::max(viewport()->height() / row_height(), 1);
}
auto RowTable::row_at(int y) const -> int {
  const int row = verticalScrollBar()->value() + y / row_height();
  return model_ && row < model_->rowCount() ? row : -1;
}

void RowTable::update_bars() {
  const int height = header_->sizeHint().height();
  setViewportMargins(0, height, 0, 0);
  const int rows = model_ ? model_->rowCount() : 0;
  verticalScrollBar()->setPageStep(visible_rows());
  verticalScrollBar()->setRange(0, std::max(rows - visible_rows(), 0));
  header_->setGeometry(viewport()->x(), viewport()->y() - height, viewport()->width(), height);
  horizontalScrollBar()->setPageStep(viewport()->width());
  horizontalScrollBar()->setRange(0, std::max(header_->length() - viewport()->width(), 0));
}

void RowTable::resizeEvent(QResizeEvent* event) {
  const int first = verticalScrollBar()->value();
  const bool was_seen =
      current_ >= first && current_ < first + event->oldSize().height() / row_height();
  update_bars();
  if (was_seen && current_ >= first + visible_rows())
    verticalScrollBar()->setValue(current_ - visible_rows() + 1);
  is_fit_wanted_ = true;
  want_fit();
}

void RowTable::set_current_row(int row) {
  current_ = row;
  if (row >= 0) {
    const int first = verticalScrollBar()->value();
    if (row < first || row >= first + visible_rows()) {
      verticalScrollBar()->setValue(row - visible_rows() / 3);
      is_fit_wanted_ = true;  // a jump shows other rows than the columns were fitted to
      want_fit();
    }
  }
  viewport()->update();
}

void RowTable::choose(int row) {
  if (!model_ || model_->rowCount() == 0) return;
  row = std::clamp(row, 0, model_->rowCount() - 1);
  const int first = verticalScrollBar()->value();
  if (row < first) verticalScrollBar()->setValue(row);
  if (row >= first + visible_rows()) verticalScrollBar()->setValue(row - visible_rows() + 1);
  current_ = row;
  viewport()->update();
  QStringList cells;
  for (int i = 0; i < model_->columnCount(); ++i)
    cells << model_->data(model_->index(row, i), Qt::DisplayRole).toString();
  setAccessibleDescription(cells.join(QStringLiteral(", ")));
  QAccessibleEvent event(this, QAccessible::DescriptionChanged);
  QAccessible::updateAccessibility(&event);
  emit chosen(row);
}

void RowTable::keyPressEvent(QKeyEvent* event) {
  const int page = visible_rows() - 1;
  if (event->matches(QKeySequence::Copy) && current_ >= 0) {
    QStringList cells;
    for (int i = 0; i < model_->columnCount(); ++i)
      cells << model_->data(model_->index(current_, i), Qt::DisplayRole).toString();
    return QApplication::clipboard()->setText(cells.join('\t'));
  }
  switch (event->key()) {
    case Qt::Key_Up:
      return choose(current_ - 1);
    case Qt::Key_Down:
      return choose(current_ + 1);
    case Qt::Key_PageUp:
      return choose(current_ - page);
    case Qt::Key_PageDown:
      return choose(current_ + page);
    case Qt::Key_Home:
      return choose(0);
    case Qt::Key_End:
      return choose(model_ ? model_->rowCount() - 1 : 0);
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (current_ >= 0) emit activated(current_);
      return;
    default:
      QAbstractScrollArea::keyPressEvent(event);
  }
}

void RowTable::mousePressEvent(QMouseEvent* event) {
  if (const int row = row_at(event->pos().y()); row >= 0) choose(row);
}
void RowTable::mouseDoubleClickEvent(QMouseEvent* event) {
  if (const int row = row_at(event->pos().y()); row >= 0) emit activated(row);
}
void RowTable::focusInEvent(QFocusEvent*) {
  viewport()->update();
}
void RowTable::focusOutEvent(QFocusEvent*) {
  viewport()->update();
}

auto RowTable::viewportEvent(QEvent* event) -> bool {
  if (event->type() == QEvent::ToolTip && model_) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const int row = row_at(help->pos().y());
    const int column = header_->logicalIndexAt(help->pos().x());
    auto text = row >= 0 ? card(row) : QString();
    if (text.isEmpty() && row >= 0 && column >= 0)
      text = model_->data(model_->index(row, column), Qt::ToolTipRole).toString();
    QToolTip::showText(help->globalPos(), text, this);
    return true;
  }
  return QAbstractScrollArea::viewportEvent(event);
}

void RowTable::paint_row(QPainter& painter, int row, int top) {
  const int height = row_height();
  const bool is_current = row == current_;
  if (is_current) painter.fillRect(0, top, viewport()->width(), height, tone(Token::selection));
  for (int i = 0; i < header_->count(); ++i) {
    if (header_->isSectionHidden(i)) continue;
    const auto index = model_->index(row, i);
    QRect cell(header_->sectionViewportPosition(i), top, header_->sectionSize(i), height);
    const bool lies = bad_role_ >= 0 && model_->data(index, bad_role_).toBool();
    if (lies && !is_current) painter.fillRect(cell.adjusted(0, 0, -1, -1), tone(Token::bad_fill));
    auto color = lies ? tone(Token::bad) : tone(Token::text);
    if (const auto own = model_->data(index, Qt::ForegroundRole); own.isValid())
      color = own.value<QColor>();
    cell.adjust(kCellMargin, 0, -kCellMargin, 0);
    if (i == 0 && mark_role_ >= 0) {
      const auto mark = model_->data(index, mark_role_);
      if (mark.isValid() && mark.toInt() >= 0) {
        const auto kind = static_cast<NodeMark>(mark.toInt());
        draw_mark(painter,
                  {double(cell.left()), top + (height - kMarkSize) / 2.0, kMarkSize, kMarkSize},
                  kind);
        if (kind != NodeMark::ok) color = tone(token_of(kind));
      }
      if (mark.isValid()) cell.adjust(kMarkSpace, 0, 0, 0);
    }
    painter.setPen(color);
    const auto align = model_->data(index, Qt::TextAlignmentRole);
    painter.drawText(cell,
                     (align.isValid() ? align.toInt() : int(Qt::AlignLeft)) | int(Qt::AlignVCenter),
                     fontMetrics().elidedText(model_->data(index, Qt::DisplayRole).toString(),
                                              Qt::ElideRight, cell.width()));
  }
  if (is_current && hasFocus()) {
    painter.setPen(QPen(tone(Token::accent), 1));
    painter.drawRect(0, top, viewport()->width() - 1, height - 1);
  }
}

void RowTable::paintEvent(QPaintEvent* event) {
  QPainter painter(viewport());
  painter.fillRect(event->rect(), tone(Token::panel));
  if (!model_) return;
  painter.setFont(font());
  const int height = row_height();
  const int first = verticalScrollBar()->value();
  const int rows = model_->rowCount();
  if (rows == 0 && !empty_text_.isEmpty()) {
    painter.setPen(tone(Token::muted));
    painter.drawText(viewport()->rect().adjusted(24, 0, -24, 0), Qt::AlignCenter | Qt::TextWordWrap,
                     empty_text_);
  }
  for (int row = first, top = 0; row < rows && top < viewport()->height(); ++row, top += height) {
    paint_row(painter, row, top);
    painter.setPen(tone(Token::raised));
    painter.drawLine(0, top + height - 1, viewport()->width(), top + height - 1);
  }
}

auto RowTable::csv(int most) const -> QString {
  if (!model_) return {};
  const int columns = model_->columnCount();
  QStringList cells;
  for (int i = 0; i < columns; ++i)
    cells << model_->headerData(i, Qt::Horizontal, Qt::DisplayRole).toString();
  auto text = csv_line(cells);
  for (int row = 0; row < std::min(model_->rowCount(), most); ++row) {
    cells.clear();
    for (int i = 0; i < columns; ++i)
      cells << model_->data(model_->index(row, i), Qt::DisplayRole).toString();
    text += csv_line(cells);
  }
  return text;
}

}  // namespace assay
