#include "gui/views/console_view.h"

#include <QHBoxLayout>
#include <QTime>
#include <QVBoxLayout>

#include "gui/views/theme.h"

namespace assay {
namespace {
constexpr int kMostLines = 20'000;       ///< of the log
constexpr qsizetype kLinesAtOnce = 500;  ///< that are laid out without a pause
}  // namespace

ConsoleView::ConsoleView(Desk& desk)
    : View(QStringLiteral("console"), tr("Runs"), desk),
      history_(new TextModel({tr("Outcome"), tr("Started"), tr("Seconds"), tr("Command")}, this)),
      table_(new RowTable),
      log_(new QPlainTextEdit),
      now_(new QLabel(tr("Nothing is running"))),
      stop_(new QPushButton(tr("Stop"))),
      again_(new QPushButton(tr("Run again"))) {
  auto* body = new QWidget;
  auto* column = new QVBoxLayout(body);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(10, 6, 10, 6);
  bar->setSpacing(8);
  bar->addWidget(now_, 1);
  bar->addWidget(again_);
  bar->addWidget(stop_);
  column->addLayout(bar);
  table_->set_roles(TextModel::kBadRole, TextModel::kMarkRole);
  table_->set_model(history_, {150, 80, 70, 400});
  table_->setAccessibleName(tr("Earlier runs"));
  table_->set_empty_text(tr("This window has started nothing yet: F5 analyses the file again."));
  column->addWidget(table_, 1);
  log_->setReadOnly(true);
  log_->setMaximumBlockCount(kMostLines);
  log_->document()->setDocumentMargin(10);
  log_->setAccessibleName(tr("Output of the run"));
  log_->setPlaceholderText(tr("Output of the run"));
  column->addWidget(log_, 2);
  set_body(body);
  set_state(ViewState::ready);
  stop_->setEnabled(false);
  again_->setEnabled(false);
  connect(stop_, &QPushButton::clicked, this, &ConsoleView::cancel);
  connect(again_, &QPushButton::clicked, this, &ConsoleView::run_again);
  show_.setSingleShot(true);
  show_.setInterval(20);
  connect(&show_, &QTimer::timeout, this, &ConsoleView::show_lines);
  connect(&child_, &Child::line, this, [this](const QString& line) {
    lines_ << line;
    if (!show_.isActive()) show_.start();
  });
  connect(&child_, &Child::progress, this, [this](const QString& text) {
    progress_ = text;
    now_->setText(QStringLiteral("%1   %2").arg(child_.command(), text));
    emit changed();
  });
}

void ConsoleView::run(const QStringList& arguments, std::function<void(const ChildResult&)> then) {
  const auto program = assay_program();
  last_ = arguments;
  last_then_ = then;
  lines_.clear();
  log_->clear();
  log_->setFont(code_font());
  log_->appendPlainText(QStringLiteral("$ assay ") + arguments.join(' '));
  progress_.clear();
  child_.start(program.isEmpty() ? QStringLiteral("assay") : program, arguments,
               [this, then](const ChildResult& result) { ended(result, then); });
  now_->setText(child_.command());
  stop_->setEnabled(child_.is_running());
  again_->setEnabled(false);
  emit changed();
}

void ConsoleView::show_lines() {
  if (lines_.isEmpty()) return;
  if (lines_.size() > kMostLines) lines_ = lines_.last(kMostLines);
  log_->appendPlainText(lines_.first(std::min(lines_.size(), kLinesAtOnce)).join('\n'));
  lines_ = lines_.mid(kLinesAtOnce);
  if (!lines_.isEmpty()) show_.start();
}

void ConsoleView::run_again() {
  if (!last_.isEmpty() && !child_.is_running()) run(last_, last_then_);
}

void ConsoleView::ended(const ChildResult& result,
                        const std::function<void(const ChildResult&)>& then) {
  stop_->setEnabled(false);
  again_->setEnabled(true);
  now_->setText(tr("Nothing is running"));
  lines_ << tr("-- %1").arg(result.outcome());
  show_lines();
  const auto mark = result.exit_code == 0 && result.answered()   ? NodeMark::ok
                    : result.exit_code == 1 && result.answered() ? NodeMark::root
                    : result.answered() || result.cancelled      ? NodeMark::unchecked
                                                                 : NodeMark::failed;
  history_->append({TextRow{
      .cells = {result.outcome(), QTime::currentTime().toString(QStringLiteral("HH:mm:ss")),
                QString::number(result.seconds, 'f', 1), child_.command()},
      .mark = static_cast<int>(mark)}});
  if (then) then(result);
  emit changed();
}

}  // namespace assay
