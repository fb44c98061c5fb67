#include "gui/views/sql_view.h"

#include <QPushButton>

#include "gui/views/theme.h"

namespace assay {
namespace {
constexpr std::size_t kMostRows = 100'000;
constexpr auto kFirst =
    "SELECT target, sum(nodes) AS nodes, sum(findings) AS findings\n"
    "FROM op_counts GROUP BY target ORDER BY 2 DESC LIMIT 50";
}  // namespace

SqlView::SqlView(Desk& desk)
    : ListView(QStringLiteral("sql"), tr("SQL"), desk, {}, {}),
      text_(new QPlainTextEdit),
      message_(new QLabel) {
  text_->setAccessibleName(tr("Statement"));
  text_->setPlainText(QString::fromLatin1(kFirst));
  text_->setTabChangesFocus(true);
  text_->setFixedHeight(7 * fontMetrics().height());
  text_->document()->setDocumentMargin(6);
  text_->setProperty("framed", true);
  rows()->set_empty_text(tr("Ctrl+E runs the statement"));
  auto* go = new QPushButton(tr("Run"));
  go->setObjectName(QStringLiteral("sql_run"));
  go->setToolTip(tr("Run the statement (Ctrl+E); only reading is possible"));
  bar()->setContentsMargins(10, 6, 10, 6);
  bar()->addWidget(message_, 1);
  bar()->addWidget(go);
  column()->insertWidget(0, text_);
  message_->setForegroundRole(QPalette::PlaceholderText);
  connect(go, &QPushButton::clicked, this, &SqlView::run);
}

void SqlView::fetch() {
  text_->setFont(code_font());
  set_state(ViewState::ready);
  message_->setText(tr("Columns named id, node_id or graph_id are links"));
}

void SqlView::run() {
  if (!store()) return;
  message_->setText(tr("Running…"));
  store()->ask<TraceAnswer>(
      this, "sql",
      [sql = text_->toPlainText().toStdString()](const TraceReader& reader) {
        return reader.query(sql, {}, kMostRows);
      },
      [this](Result<TraceAnswer> answer) {
        if (!answer) return message_->setText(qt(answer.error().message));
        message_->setText(tr("%1 rows").arg(answer->rows.size()));
        rows()->set_empty_text(tr("No row fits"));
        show(*answer);
      });
}

void SqlView::show(const TraceAnswer& answer) {
  QStringList columns;
  for (const auto& column : answer.columns) columns << qt(column);
  const auto node = columns.indexOf(QStringLiteral("node_id"));
  const auto graph = columns.indexOf(QStringLiteral("graph_id"));
  const auto id = columns.indexOf(QStringLiteral("id"));
  std::vector<TextRow> rows;
  for (const auto& row : answer.rows) {
    TextRow made;
    for (const auto& cell : row) made.cells << qt(to_text(cell));
    if (node >= 0) made.cursor.node = to_number(row[static_cast<std::size_t>(node)]);
    if (graph >= 0) made.cursor.graph = to_number(row[static_cast<std::size_t>(graph)]);
    if (node < 0 && graph >= 0 && id >= 0 && columns.contains(QStringLiteral("seq")))
      made.cursor.node = to_number(row[static_cast<std::size_t>(id)]);
    if (made.cursor.node != 0 && made.cursor.graph == 0) made.cursor.graph = cursor().graph;
    rows.push_back(std::move(made));
  }
  model()->set_table(columns, std::move(rows));
  set_state(ViewState::ready);
}

}  // namespace assay
