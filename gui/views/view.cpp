#include "gui/views/view.h"

#include <QVBoxLayout>

#include "gui/views/theme.h"

namespace assay {

View::View(const QString& id, const QString& title, Desk& desk)
    : title_(title), desk_(desk), banner_(new QLabel(this)), sentence_(new QLabel(this)) {
  setObjectName(id);
  setAccessibleName(title);
  setAutoFillBackground(true);
  setBackgroundRole(QPalette::Base);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  banner_->setWordWrap(true);
  banner_->setMargin(6);
  banner_->hide();
  column->addWidget(banner_);
  stack_ = new QStackedLayout;
  column->addLayout(stack_, 1);
  sentence_->setAlignment(Qt::AlignCenter);
  sentence_->setWordWrap(true);
  sentence_->setMargin(24);
  sentence_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  sentence_->setForegroundRole(QPalette::PlaceholderText);
  stack_->addWidget(sentence_);
  set_state(ViewState::empty, tr("No trace is open"));
}

void View::look_at(const Cursor& cursor) {
  if (is_costly() && !isVisible()) {
    unseen_ = cursor;
    return;
  }
  unseen_.reset();
  follow(cursor);
}

void View::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (!unseen_) return;
  const auto cursor = *unseen_;
  unseen_.reset();
  follow(cursor);
}

void View::set_body(QWidget* body) {
  stack_->addWidget(body);
}

void View::set_state(ViewState state, const QString& sentence) {
  state_ = state;
  sentence_->setText(sentence);
  stack_->setCurrentIndex(state == ViewState::ready ? 1 : 0);
}

void View::set_banner(const QString& text) {
  banner_->setText(text);
  banner_->setStyleSheet(QStringLiteral("background: %1; color: %2;")
                             .arg(tone(Token::raised).name(), tone(Token::note).name()));
  banner_->setVisible(!text.isEmpty());
}

auto View::draw_picture(QPainter&, const QSize&) -> bool {
  return false;
}

auto node_link(TraceId graph, TraceId node, const std::string& name) -> QString {
  return QStringLiteral("<a href=\"node:%1:%2\">%3</a>").arg(graph).arg(node).arg(html(name));
}

auto link_cursor(const QString& href) -> std::optional<Cursor> {
  const auto parts = href.split(':');
  if (parts.size() != 3 || parts[0] != QStringLiteral("node")) return std::nullopt;
  return Cursor{.graph = parts[1].toLongLong(), .node = parts[2].toLongLong()};
}

}  // namespace assay
