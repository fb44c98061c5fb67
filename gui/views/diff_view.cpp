#include "gui/views/diff_view.h"

#include <QFileDialog>
#include <QFileInfo>

#include "gui/data/statements.h"
#include "gui/views/theme.h"

namespace assay {
namespace {

auto mark_of(DiffKind kind) -> QString {
  switch (kind) {
    case DiffKind::same:
      return QStringLiteral("=");
    case DiffKind::changed:
      return QStringLiteral("~ changed");
    case DiffKind::added:
      return QStringLiteral("+ added");
    case DiffKind::removed:
      return QStringLiteral("− removed");
  }
  return {};
}

auto graph_name(const std::vector<TraceValue>& row) -> QString {
  return View::tr("%1  %2").arg(qt(to_text(row[0])),
                                qt(to_text(row[1]).empty() ? to_text(row[2]) : to_text(row[1])));
}

/// Programs are text alone. Of a trace that was cut off nobody has counted.
auto has_nodes(const std::vector<TraceValue>& graph) -> bool {
  return graph[3].index() == 0 || to_number(graph[3]) > 0;
}

}  // namespace

DiffView::DiffView(Desk& desk)
    : ListView(
          QStringLiteral("diff"), tr("Diff"), desk,
          {tr("Change"), tr("Left"), tr("Right"), tr("Operator"), tr("What"), tr("Matched by")},
          {110, 170, 170, 200, 420, 110}),
      left_(new QComboBox),
      right_(new QComboBox),
      same_(new QPushButton),
      open_(new QPushButton),
      counts_(new QLabel) {
  left_->setAccessibleName(tr("Left graph"));
  right_->setAccessibleName(tr("Right graph"));
  for (auto* box : {left_, right_}) {
    box->setMinimumContentsLength(22);
    connect(box, &QComboBox::currentTextChanged, box, &QWidget::setToolTip);
  }
  same_->setText(tr("Same too"));
  same_->setCheckable(true);
  open_->setText(tr("Other trace…"));
  counts_->setForegroundRole(QPalette::PlaceholderText);
  bar()->setContentsMargins(8, 6, 8, 6);
  for (auto* widget : std::initializer_list<QWidget*>{left_, right_, open_, same_})
    bar()->addWidget(widget);
  bar()->addWidget(counts_, 1);
  connect(left_, &QComboBox::activated, this, &DiffView::compare);
  connect(right_, &QComboBox::activated, this, &DiffView::compare);
  connect(same_, &QPushButton::toggled, this, [this] { show(diff_); });
  connect(open_, &QPushButton::clicked, this, [this] {
    const auto path = QFileDialog::getOpenFileName(this, tr("Other trace"));
    if (!path.isEmpty()) set_other(path);
  });
}

void DiffView::load(Store* store) {
  left_->clear();
  right_->clear();
  other_.clear();
  diff_ = {};
  is_due_ = false;
  ListView::load(store);
}

void DiffView::follow(const Cursor& cursor) {
  ListView::follow(cursor);
}

void DiffView::fetch() {
  set_state(ViewState::ready);
  store()->ask(this, "graphs", {}, [this](Result<TraceAnswer> graphs) {
    if (!graphs) return set_state(ViewState::failed, qt(graphs.error().message));
    for (const auto& row : graphs->rows) {
      if (!has_nodes(row)) continue;
      left_->addItem(graph_name(row), qlonglong(to_number(row[0])));
      right_->addItem(graph_name(row), qlonglong(to_number(row[0])));
    }
    if (right_->count() > 1) right_->setCurrentIndex(1);
    const auto alone =
        tr("The trace holds one graph. Other trace… chooses one to compare it with.");
    rows()->set_empty_text(right_->count() > 1 ? QString() : alone);
    counts_->clear();
    if (right_->count() > 1) compare();
  });
}

void DiffView::set_other(const QString& path) {
  auto reader = TraceReader::open(path.toStdString());
  if (!reader) return desk().say(qt(reader.error().message));
  const auto graphs = reader->query(statement("graphs", reader->version()));
  if (!graphs) return desk().say(qt(graphs.error().message));
  other_ = path;
  right_->clear();
  for (const auto& row : graphs->rows)
    if (has_nodes(row))
      right_->addItem(QFileInfo(path).fileName() + "  " + graph_name(row),
                      qlonglong(to_number(row[0])));
  open_->setToolTip(path);
  compare();
}

void DiffView::compare_with_previous(TraceId graph) {
  const int at = other_.isEmpty() ? right_->findData(qlonglong{graph}) : -1;
  if (at < 1) return;
  left_->setCurrentIndex(at - 1);
  right_->setCurrentIndex(at);
  compare();
}

void DiffView::showEvent(QShowEvent* event) {
  ListView::showEvent(event);
  if (is_due_) compare();
}

void DiffView::compare() {
  is_due_ = !isVisible();
  if (is_due_ || !store() || left_->currentIndex() < 0 || right_->currentIndex() < 0) return;
  const auto left = left_->currentData().toLongLong();
  const auto right = right_->currentData().toLongLong();
  counts_->setText(tr("Comparing…"));
  rows()->set_empty_text({});
  store()->ask<GraphDiff>(
      this, "diff",
      [left, right, other = other_.toStdString()](const TraceReader& reader) -> Result<GraphDiff> {
        ASSAY_TRY(auto a, read_diff_nodes(reader, left));
        if (other.empty()) {
          ASSAY_TRY(auto b, read_diff_nodes(reader, right));
          return diff_graphs(std::move(a), std::move(b));
        }
        ASSAY_TRY(const auto second, TraceReader::open(other));
        ASSAY_TRY(auto b, read_diff_nodes(second, right));
        return diff_graphs(std::move(a), std::move(b));
      },
      [this](Result<GraphDiff> diff) {
        if (!diff) return counts_->setText(qt(diff.error().message));
        diff_ = std::move(*diff);
        show(diff_);
      });
}

void DiffView::show(const GraphDiff& diff) {
  std::vector<TextRow> rows;
  for (std::size_t i = 0; i < diff.pairs.size(); ++i) {
    const auto& pair = diff.pairs[i];
    if (pair.kind == DiffKind::same && !same_->isChecked()) continue;
    const auto* left =
        pair.left < 0 ? nullptr : &diff.left[static_cast<std::size_t>(pair.left)].line;
    const auto* right =
        pair.right < 0 ? nullptr : &diff.right[static_cast<std::size_t>(pair.right)].line;
    rows.push_back(
        {.cells = {mark_of(pair.kind), left ? qt(left->name) : QString(),
                   right ? qt(right->name) : QString(), qt((right ? right : left)->target),
                   qt(fmt::format("{}", fmt::join(pair.changes, "; "))),
                   qt(std::string(name(pair.by)))},
         .cursor = left ? Cursor{.graph = left_->currentData().toLongLong(), .node = left->id}
                   : other_.isEmpty()
                       ? Cursor{.graph = right_->currentData().toLongLong(), .node = right->id}
                       : Cursor{},
         .bad_column = pair.kind == DiffKind::changed ? 4 : -1,
         .key = static_cast<std::int64_t>(i)});
  }
  counts_->setText(tr("%1 same, %2 changed, %3 added, %4 removed")
                       .arg(diff.count(DiffKind::same))
                       .arg(diff.count(DiffKind::changed))
                       .arg(diff.count(DiffKind::added))
                       .arg(diff.count(DiffKind::removed)));
  this->rows()->set_empty_text(tr("No node differs"));
  set_rows(std::move(rows), {});
  set_state(ViewState::ready);
}

void DiffView::chosen(const TextRow& row) {
  const auto& pair = diff_.pairs[static_cast<std::size_t>(row.key)];
  const auto side = [](const QString& name, const DiffNode& node) {
    return QStringLiteral("<tr><td>%1</td><td><code>%2</code></td></tr>")
        .arg(name, html(node.call));
  };
  auto text = QStringLiteral("<table>");
  if (pair.left >= 0) text += side(tr("left"), diff_.left[static_cast<std::size_t>(pair.left)]);
  if (pair.right >= 0) text += side(tr("right"), diff_.right[static_cast<std::size_t>(pair.right)]);
  for (const auto& change : pair.changes)
    text += QStringLiteral("<tr><td></td><td style='color:%1'>%2</td></tr>")
                .arg(tone(Token::bad).name(), html(change));
  set_detail(text + QStringLiteral("</table>"));
  ListView::chosen(row);
}

}  // namespace assay
