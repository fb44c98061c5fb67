#include "gui/views/list_view.h"

#include <QScrollBar>
#include <QSplitter>

#include "gui/data/sizes.h"
#include "gui/views/theme.h"

namespace assay {

auto style_of_links() -> QString {
  return QStringLiteral(
             "<style>a { color: %1; text-decoration: none; } td { padding-right: 14px; }"
             "</style>")
      .arg(tone(Token::accent).name());
}

auto run_there_html(const std::string& witness) -> QString {
  const auto sizes = html(sizes_text(sizes_of_witness(witness)));
  if (sizes.isEmpty()) return {};
  return View::tr("<p><a href='at:%1'>run there: %1</a></p>").arg(sizes);
}

ListView::ListView(const QString& id, const QString& title, Desk& desk, const QStringList& columns,
                   const std::vector<int>& widths)
    : View(id, title, desk),
      model_(new TextModel(columns, this)),
      table_(new RowTable),
      detail_(new QTextBrowser),
      bar_(new QHBoxLayout) {
  table_->set_roles(TextModel::kBadRole, TextModel::kMarkRole);
  table_->set_model(model_, widths);
  table_->setAccessibleName(title);
  detail_->setFrameShape(QFrame::NoFrame);
  detail_->document()->setDocumentMargin(10);
  detail_->setAccessibleName(tr("Details of %1").arg(title));
  detail_->hide();
  auto* body = new QWidget;
  column_ = new QVBoxLayout(body);
  column_->setContentsMargins(0, 0, 0, 0);
  column_->setSpacing(0);
  bar_->setContentsMargins(0, 0, 0, 0);
  bar_->setSpacing(8);
  column_->addLayout(bar_);
  auto* parts = new QSplitter(Qt::Vertical);
  parts->setChildrenCollapsible(false);
  parts->addWidget(table_);
  parts->addWidget(detail_);
  parts->setStretchFactor(0, 3);
  parts->setStretchFactor(1, 2);
  column_->addWidget(parts, 1);
  set_body(body);
  setFocusProxy(table_);
  connect(table_, &RowTable::chosen, this, [this](int index) {
    if (const auto* row = model_->row(index)) chosen(*row);
  });
  serve_links(detail_, [this](const QString& text) {
    if (text.startsWith(QStringLiteral("at:"))) this->desk().run_at(text.mid(3));
  });
}

void ListView::load(Store* store) {
  store_ = store;
  cursor_ = {};
  model_->set_rows({});
  set_detail({});
  set_state(store ? ViewState::loading : ViewState::empty,
            store ? tr("Loading…") : tr("No trace is open"));
  if (store) fetch();
}

void ListView::follow(const Cursor& cursor) {
  cursor_ = cursor;
}

void ListView::chosen(const TextRow& row) {
  if (row.cursor != Cursor{}) desk().go(row.cursor);
}

void ListView::set_detail(const QString& text) {
  detail_->setHtml(style_of_links() + text);
  detail_->setVisible(!text.isEmpty());
  // Once it has its height: a browser that has none yet scrolls to its cursor.
  auto* bar = detail_->verticalScrollBar();
  QMetaObject::invokeMethod(bar, [bar] { bar->setValue(0); }, Qt::QueuedConnection);
}

void ListView::set_rows(std::vector<TextRow> rows, const QString& none) {
  const bool is_empty = rows.empty();
  model_->set_rows(std::move(rows));
  set_state(is_empty ? ViewState::empty : ViewState::ready, none);
}

void ListView::fetch_rows(const std::string& statement, std::vector<TraceValue> parameters,
                          std::function<TextRow(const std::vector<TraceValue>&)> make,
                          const QString& none) {
  store_->ask(this, statement, std::move(parameters),
              [this, make = std::move(make), none](Result<TraceAnswer> answer) {
                if (!answer) return set_state(ViewState::failed, qt(answer.error().message));
                std::vector<TextRow> rows;
                for (const auto& row : answer->rows) rows.push_back(make(row));
                set_rows(std::move(rows), none);
              });
}

}  // namespace assay
