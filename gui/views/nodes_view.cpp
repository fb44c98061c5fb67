#include "gui/views/nodes_view.h"

#include <QFile>
#include <QHBoxLayout>
#include <QLocale>
#include <QTimer>

#include "gui/views/card.h"
#include "gui/views/theme.h"

namespace assay {
namespace {

auto filter_help() -> QString {
  auto text = View::tr("Words match names and operators; a b: both, a | b: one, -a: not, ( )\n");
  for (const auto& field : filter_fields())
    text +=
        QStringLiteral("%1\t%2\n").arg(qt(std::string(field.example)), qt(std::string(field.doc)));
  return text + View::tr(
                    "near(name,3)\tup to 3 edges away\npath(a,b)\ton a way from a to b\n"
                    "users(name), inputs(name)");
}

}  // namespace

NodesView::NodesView(Desk& desk)
    : View(QStringLiteral("nodes"), tr("Nodes"), desk),
      model_(new NodeModel(this)),
      table_(new RowTable),
      filter_(new QLineEdit),
      count_(new QLabel),
      meaning_(new QLabel) {
  table_->set_roles(NodeModel::kBadRole, NodeModel::kMarkRole);
  table_->set_model(model_, {150, 56, 150, 190, 210, 210, 72, 150, 140});
  table_->setAccessibleName(tr("Nodes of the graph"));
  table_->setObjectName(QStringLiteral("nodes_table"));
  table_->set_card([this](int row) {
    const auto* line = model_->line(row);
    return line != nullptr ? card_html(card_of(*line)) : QString();
  });
  filter_->setPlaceholderText(tr("Filter: word  op:pad  status:mismatch  dim:s0  near(name,3)"));
  filter_->setAccessibleName(tr("Filter of nodes"));
  filter_->setClearButtonEnabled(true);
  filter_->setToolTip(filter_help());
  count_->setForegroundRole(QPalette::PlaceholderText);
  meaning_->setForegroundRole(QPalette::PlaceholderText);
  meaning_->setMargin(4);
  meaning_->setWordWrap(true);
  meaning_->hide();
  auto* body = new QWidget;
  auto* column = new QVBoxLayout(body);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(8, 6, 8, 6);
  bar->addWidget(filter_, 1);
  bar->addSpacing(8);
  bar->addWidget(count_);
  column->addLayout(bar);
  column->addWidget(meaning_);
  column->addWidget(table_, 1);
  set_body(body);
  setFocusProxy(table_);
  auto* typing = new QTimer(this);
  typing->setSingleShot(true);
  typing->setInterval(120);
  connect(filter_, &QLineEdit::textEdited, typing, qOverload<>(&QTimer::start));
  connect(typing, &QTimer::timeout, this, &NodesView::apply_filter);
  connect(filter_, &QLineEdit::returnPressed, this, [this] {
    apply_filter();
    table_->setFocus();
  });
  connect(table_->header(), &QHeaderView::sectionClicked, this, [this](int section) {
    if (!NodeModel::can_sort(section)) return;
    const bool again = table_->header()->isSortIndicatorShown() &&
                       table_->header()->sortIndicatorSection() == section &&
                       table_->header()->sortIndicatorOrder() == Qt::AscendingOrder;
    const auto order = again ? Qt::DescendingOrder : Qt::AscendingOrder;
    table_->header()->setSortIndicatorShown(true);
    table_->header()->setSortIndicator(section, order);
    model_->sort(section, order);
  });
  connect(table_, &RowTable::chosen, this, [this](int row) {
    const auto* line = model_->line(row);
    if (!line) return;
    cursor_ = {.graph = model_->graph(), .node = line->id};
    this->desk().go(cursor_);
  });
  connect(model_, &NodeModel::counted, this, &NodesView::show_count);
  connect(model_, &NodeModel::modelReset, this, [this] {
    count_->setText(model_->is_searching() ? tr("Searching…") : QString());
    table_->set_empty_text(count_->text());
  });
  connect(model_, &NodeModel::failed, this,
          [this](const QString& why) { set_state(ViewState::failed, why); });
}

void NodesView::load(Store* store) {
  store_ = store;
  cursor_ = {};
  filter_->clear();
  meaning_->hide();
  model_->set_store(store);
  set_state(store ? ViewState::loading : ViewState::empty,
            store ? tr("Loading…") : tr("No trace is open"));
  set_banner(store && !store->is_complete()
                 ? tr("This trace was cut off before it was complete: rows may be missing.")
                 : QString());
}

void NodesView::follow(const Cursor& cursor) {
  if (!store_) return;
  if (cursor.graph != 0) model_->set_graph(cursor.graph);
  if (model_->graph() == 0) return set_state(ViewState::empty, tr("This trace holds no graph"));
  if (cursor.node == 0 || cursor == cursor_) return;
  cursor_ = cursor;
  model_->find_row(cursor.node, [this](int row) { table_->set_current_row(row); });
}

void NodesView::apply_filter() {
  const auto filter = model_->set_filter(filter_->text().toStdString());
  QStringList meanings;
  if (filter)
    for (const auto& term : filter->terms) meanings << qt(term.meaning);
  meaning_->setText(filter ? meanings.join(QStringLiteral("   •   ")) : qt(filter.error().message));
  meaning_->setStyleSheet(filter ? QString()
                                 : QStringLiteral("color: %1").arg(tone(Token::bad).name()));
  meaning_->setVisible(!meaning_->text().isEmpty());
}

void NodesView::show_count() {
  const int rows = model_->rowCount();
  count_->setText(tr("%1 %2%3").arg(QLocale().toString(rows), rows == 1 ? tr("node") : tr("nodes"),
                                    model_->is_searching() ? tr(" so far") : QString()));
  table_->set_empty_text(tr("No node passes the filter"));
  if (rows == 0 && !model_->is_filtered())
    return set_state(ViewState::empty, tr("This graph has no nodes in the trace.\nIts text is in "
                                          "the Source view."));
  set_state(ViewState::ready);
  if (cursor_.node != 0 && table_->current_row() < 0)
    model_->find_row(cursor_.node, [this](int row) { table_->set_current_row(row); });
}

void NodesView::set_filter(const QString& text) {
  filter_->setText(text);
  apply_filter();
}
auto NodesView::write_csv(const QString& path) -> bool {
  if (!store_ || model_->graph() == 0 || !QFile(path).open(QIODevice::WriteOnly)) return false;
  model_->write_csv(path, [this, path](Result<std::int64_t> rows) {
    desk().say(rows ? tr("Wrote %1 rows to %2").arg(*rows).arg(path) : qt(rows.error().message));
  });
  return true;
}
void NodesView::focus_filter() {
  filter_->setFocus();
  filter_->selectAll();
}
void NodesView::go_to_row(int row) {
  table_->set_current_row(row);
}

}  // namespace assay
