#include "gui/views/view.h"

#include <QCursor>
#include <QFile>
#include <QTextBrowser>
#include <QVBoxLayout>

#include "gui/views/row_table.h"
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
  sentence_->setTextInteractionFlags(Qt::TextBrowserInteraction);
  connect(sentence_, &QLabel::linkActivated, this,
          [this](const QString& path) { desk_.open(path); });
  sentence_->setForegroundRole(QPalette::PlaceholderText);
  stack_->addWidget(sentence_);
  set_state(ViewState::empty, tr("No trace is open"));
}

void View::set_pinned(bool pinned) {
  pinned_ = pinned;
  if (!pinned) look_at(newest_);
}

void View::pin_at(const Cursor& cursor) {
  pinned_ = true;
  show_at(cursor);
}

void View::look_at(const Cursor& cursor) {
  newest_ = cursor;
  if (!pinned_) show_at(cursor);
}

void View::show_at(const Cursor& cursor) {
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
  sentence_->setTextFormat(Qt::PlainText);  // it may hold what a file says
  sentence_->setText(sentence);
  stack_->setCurrentIndex(state == ViewState::ready ? 1 : 0);
}

void View::set_start_page(const QString& page) {
  set_state(ViewState::empty);
  sentence_->setTextFormat(Qt::RichText);
  sentence_->setText(page);
}

void View::set_banner(const QString& text) {
  banner_->setText(text);
  banner_->setStyleSheet(QStringLiteral("background: %1; color: %2;")
                             .arg(tone(Token::raised).name(), tone(Token::note).name()));
  banner_->setVisible(!text.isEmpty());
}

void View::serve_links(QTextBrowser* browser, std::function<void(const QString&)> other) {
  browser->setOpenLinks(false);
  connect(browser, &QTextBrowser::anchorClicked, this, [this, other](const QUrl& url) {
    const auto href = url.toString();
    if (const auto at = link_cursor(href)) return desk_.go(*at);
    if (other) other(href);
  });
  connect(browser, &QTextBrowser::highlighted, this, [this](const QUrl& url) {
    const auto at = link_cursor(url.toString());
    desk_.show_card(at.value_or(Cursor{}), QCursor::pos());
  });
}

auto View::write_csv(const QString& path) -> bool {
  QFile file(path);
  return table() != nullptr && file.open(QIODevice::WriteOnly) &&
         file.write(table()->csv().toUtf8()) >= 0;
}

auto View::draw_picture(QPainter&, const QSize&) -> bool {
  return false;
}

auto node_link(TraceId graph, TraceId node, const std::string& name) -> QString {
  return QStringLiteral("<a href=\"node:%1:%2\">%3</a>").arg(graph).arg(node).arg(html(name));
}

auto launch_link(TraceId graph, TraceId launch, const std::string& name) -> QString {
  return QStringLiteral("<a href=\"launch:%1:%2\">%3</a>").arg(graph).arg(launch).arg(html(name));
}

auto link_cursor(const QString& href) -> std::optional<Cursor> {
  const auto parts = href.split(':');
  if (parts.size() != 3) return std::nullopt;
  const auto graph = parts[1].toLongLong();
  const auto id = parts[2].toLongLong();
  if (parts[0] == QStringLiteral("node")) return Cursor{.graph = graph, .node = id};
  if (parts[0] == QStringLiteral("graph")) return Cursor{.graph = graph};
  if (parts[0] == QStringLiteral("launch")) return Cursor{.graph = graph, .launch = id};
  return std::nullopt;
}

}  // namespace assay
