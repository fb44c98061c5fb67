#include "gui/views/programs_view.h"

#include <QHBoxLayout>
#include <QSplitter>
#include <QVBoxLayout>

#include "gui/views/elided_label.h"
#include "gui/views/source_view.h"
#include "gui/views/theme.h"

namespace assay {
namespace {

auto joined(const std::vector<std::string>& names) -> QString {
  QStringList texts;
  for (const auto& name : names) texts << qt(name);
  return texts.join(QStringLiteral(", "));
}

/// A widget with a line above it.
auto with_head(QWidget* head, QWidget* body) -> QWidget* {
  auto* side = new QWidget;
  auto* column = new QVBoxLayout(side);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(head);
  column->addWidget(body, 1);
  return side;
}

auto quiet_label() -> QLabel* {
  auto* label = new ElidedLabel;
  label->setMargin(5);
  label->setForegroundRole(QPalette::PlaceholderText);
  return label;
}

}  // namespace

ProgramsView::ProgramsView(Desk& desk)
    : View(QStringLiteral("programs"), tr("Programs"), desk),
      choice_(new QComboBox),
      summary_(quiet_label()),
      launch_model_(
          new TextModel({tr("#"), tr("Kind"), tr("Kernel or operator"), tr("Nodes"), tr("Reads"),
                         tr("Writes"), tr("Grid"), tr("Extents"), tr("Line"), tr("Found")},
                        this)),
      decision_model_(
          new TextModel({tr("Verdict"), tr("Kind"), tr("About"), tr("With"), tr("Reason")}, this)),
      launches_(new RowTable),
      decisions_(new RowTable),
      filter_(new QLineEdit),
      counts_(new QLabel),
      text_name_(quiet_label()),
      found_(new QTextBrowser),
      text_(new CodePane(tr("Text of the kernel or program"))) {
  launches_->set_roles(TextModel::kBadRole, TextModel::kMarkRole);
  launches_->set_model(launch_model_, {50, 70, 200, 160, 160, 120, 90, 120, 60, 160});
  launches_->setAccessibleName(tr("Launches"));
  decisions_->set_roles(TextModel::kBadRole, TextModel::kMarkRole);
  decisions_->set_model(decision_model_, {110, 70, 170, 220, 460});
  decisions_->setAccessibleName(tr("Decisions of the compiler"));
  filter_->setPlaceholderText(tr("filter decisions: fuse refused relu"));
  filter_->setAccessibleName(tr("Filter of decisions"));
  filter_->setClearButtonEnabled(true);
  counts_->setForegroundRole(QPalette::PlaceholderText);
  auto* bar = new QWidget;
  auto* line = new QHBoxLayout(bar);
  line->setContentsMargins(8, 6, 8, 6);
  line->addWidget(filter_, 1);
  line->addWidget(counts_);
  decision_side_ = with_head(bar, decisions_);
  choice_->setAccessibleName(tr("Program"));
  choice_->hide();
  found_->setFrameShape(QFrame::NoFrame);
  found_->setAccessibleName(tr("Found at the step"));
  found_->setMaximumHeight(130);
  found_->hide();
  auto* head = new QWidget;
  auto* over = new QVBoxLayout(head);
  over->setContentsMargins(8, 4, 8, 4);
  over->setSpacing(0);
  over->addWidget(choice_, 0, Qt::AlignLeft);
  over->addWidget(summary_);
  auto* upper = new QSplitter(Qt::Horizontal);
  upper->setChildrenCollapsible(false);
  upper->addWidget(with_head(head, launches_));
  auto* text_side = with_head(text_name_, text_);
  static_cast<QVBoxLayout*>(text_side->layout())->insertWidget(1, found_);
  upper->addWidget(text_side);
  upper->setStretchFactor(0, 1);
  upper->setStretchFactor(1, 1);
  auto* parts = new QSplitter(Qt::Vertical);
  parts->setChildrenCollapsible(false);
  parts->addWidget(upper);
  parts->addWidget(decision_side_);
  parts->setStretchFactor(0, 3);
  parts->setStretchFactor(1, 2);
  set_body(parts);
  setFocusProxy(launches_);
  connect(launches_, &RowTable::chosen, this,
          [this](int row) { go_to_launch(program_.launches[static_cast<std::size_t>(row)]); });
  connect(decisions_, &RowTable::chosen, this, [this](int row) {
    const auto* chosen = decision_model_->row(row);
    if (chosen != nullptr && chosen->cursor.node != 0) this->desk().go(chosen->cursor);
  });
  connect(filter_, &QLineEdit::textChanged, this, &ProgramsView::fill_decisions);
  connect(choice_, &QComboBox::activated, this, [this](int index) {
    go_first_ = true;
    ask({.graph = program_.all[static_cast<std::size_t>(index)].first});
  });
}

void ProgramsView::go_to_launch(const LaunchFacts& launch) {
  desk().go(launch.nodes.empty() ? Cursor{.graph = program_.id, .launch = launch.id}
                                 : launch.nodes.front());
}

void ProgramsView::ask(const Cursor& cursor) {
  store_->ask<ProgramFacts>(
      this, "program",
      [cursor, shown = program_.id](const TraceReader& reader) {
        return shown == 0 ? read_program(reader) : read_program_at(reader, cursor, shown);
      },
      [this](Result<ProgramFacts> program) {
        if (!program) return set_state(ViewState::failed, qt(program.error().message));
        if (program->id != 0 || program_.id == 0) receive(std::move(*program));
      });
}

void ProgramsView::load(Store* store) {
  store_ = store;
  cursor_ = {};
  program_ = {};
  shown_ = -1;
  launch_model_->set_rows({});
  decision_model_->set_rows({});
  show_text({}, {}, {});
  set_state(store ? ViewState::loading : ViewState::empty,
            store ? tr("Loading…") : tr("No trace is open"));
  choice_->clear();
  if (store) ask({});
}

void ProgramsView::receive(ProgramFacts program) {
  program_ = std::move(program);
  if (program_.id == 0)
    return set_state(ViewState::empty,
                     tr("This trace holds no program.\n`assay compile FILE --check --trace "
                        "RUN.sqlite` writes one, of a log or wrapper `assay trace`."));
  shown_ = -1;
  choice_->clear();
  for (const auto& [id, name] : program_.all) {
    choice_->addItem(qt(name));
    if (id == program_.id) choice_->setCurrentIndex(choice_->count() - 1);
  }
  choice_->setVisible(program_.all.size() > 1);
  fill_launches();
  fill_decisions();
  set_state(ViewState::ready);
  show_found({});
  if (std::exchange(go_first_, false) && !program_.launches.empty())
    go_to_launch(program_.launches.front());
  else
    follow(Cursor(std::exchange(cursor_, {})));
  if (shown_ < 0) show_text(qt(program_.name), qt(program_.text), {});
}

void ProgramsView::fill_launches() {
  std::vector<TextRow> rows;
  int kernels = 0;
  for (std::size_t i = 0; i < program_.launches.size(); ++i) {
    const auto& launch = program_.launches[i];
    kernels += launch.kernel != 0 ? 1 : 0;
    rows.push_back(
        {.cells = {QString::number(i), qt(launch.kind), qt(launch.target), joined(launch.names),
                   joined(launch.reads), joined(launch.writes), qt(launch.grid), qt(launch.extents),
                   QString::number(launch.line),
                   launch.findings.empty() ? QString() : qt(launch.findings.front().kind)},
         .mark = launch.findings.empty() ? -1 : static_cast<int>(NodeMark::root),
         .bad_column = launch.findings.empty() ? -1 : 9});
  }
  launch_model_->set_rows(std::move(rows));
  summary_->setText(
      tr("%1, %2 other steps%3")
          .arg(kernels == 1 ? tr("1 kernel") : tr("%1 kernels").arg(kernels))
          .arg(std::ssize(program_.launches) - kernels)
          .arg(program_.sizes.empty() ? QString() : tr(", sizes: %1").arg(qt(program_.sizes))));
}

void ProgramsView::fill_decisions() {
  const auto words = filter_->text().split(' ', Qt::SkipEmptyParts);
  std::vector<TextRow> rows;
  for (const auto& made : program_.decisions) {
    const QStringList cells = {qt(made.verdict), qt(made.kind), qt(made.subject), qt(made.other),
                               qt(made.reason)};
    const auto text = cells.join('\n');
    if (!std::ranges::all_of(
            words, [&](const QString& word) { return text.contains(word, Qt::CaseInsensitive); }))
      continue;
    const auto mark = made.verdict == "accepted" ? NodeMark::ok : NodeMark::unchecked;
    rows.push_back({.cells = cells, .cursor = made.cursor, .mark = static_cast<int>(mark)});
  }
  counts_->setText(tr("%1 of %2").arg(rows.size()).arg(program_.decisions.size()));
  decisions_->set_empty_text(tr("No decision fits"));
  decision_side_->setVisible(!program_.decisions.empty());
  decision_model_->set_rows(std::move(rows));
}

void ProgramsView::follow(const Cursor& cursor) {
  if (cursor == cursor_) return;
  cursor_ = cursor;
  if (program_.id == 0) return;
  for (int i = 0; cursor.node != 0 && i < decision_model_->rowCount(); ++i)
    if (decision_model_->row(i)->cursor.node == cursor.node) {
      decisions_->set_current_row(i);
      break;
    }
  const auto step = step_of(program_, cursor);
  if (step < 0 && program_.all.size() > 1) ask(cursor);
  show_step(step);
}

void ProgramsView::show_step(std::int64_t step) {
  launches_->set_current_row(static_cast<int>(step));
  if (step < 0 || step == shown_) return;
  shown_ = step;
  const auto& launch = program_.launches[static_cast<std::size_t>(step)];
  show_found(launch);
  if (launch.kernel == 0)
    return show_text(qt(program_.name), qt(program_.text), {static_cast<int>(launch.line) - 1});
  store_->ask(this, "kernel", {launch.kernel}, [this, step](Result<TraceAnswer> kernel) {
    if (!kernel || kernel->rows.empty() || step != shown_) return;
    const auto& row = kernel->rows.front();
    show_text(tr("%1 computes %2").arg(qt(to_text(row[0])), qt(to_text(row[3]))),
              qt(to_text(row[2])), lines_found(step));
  });
}

/// Lines of the kernel's text at which a run found something.
auto ProgramsView::lines_found(std::int64_t step) const -> std::vector<int> {
  std::vector<int> lines;
  for (const auto& finding : program_.launches[static_cast<std::size_t>(step)].findings)
    if (finding.kernel_line > 0) lines.push_back(static_cast<int>(finding.kernel_line) - 1);
  return lines;
}

void ProgramsView::show_found(const LaunchFacts& launch) {
  QString text;
  for (const auto& finding : launch.findings)
    text += QStringLiteral("<p style='color:%1'>▲ %2: %3</p>")
                .arg(tone(Token::bad).name(), html(finding.kind), html(finding.message));
  found_->setHtml(text);
  found_->setVisible(!text.isEmpty());
  if (launch.id == 0) return;
  store_->ask(this, "values of launch", {launch.id}, [this, text](Result<TraceAnswer> values) {
    if (!values || values->rows.empty()) return;
    auto all =
        text + tr("<p style='color:%1'>first values it left</p>").arg(tone(Token::muted).name());
    for (const auto& row : values->rows)
      all += QStringLiteral("<p><b>%1</b> <span style='color:%2'>%3</span><br><code>%4</code></p>")
                 .arg(html(to_text(row[0])), tone(Token::muted).name(), html(to_text(row[1])),
                      html(to_text(row[2])));
    found_->setHtml(all);
    found_->show();
  });
}

void ProgramsView::show_text(const QString& name, const QString& text,
                             const std::vector<int>& lines) {
  text_name_->setText(name);
  text_->set_text(text);
  text_->mark_lines(lines);
}

void ProgramsView::theme_changed() {
  text_->theme_changed();
}

}  // namespace assay
