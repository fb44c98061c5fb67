// What the window starts: analyses, proofs, reductions, bundles; and commands on the graph.
#include <QApplication>
#include <QClipboard>
#include <QCryptographicHash>
#include <QDateTime>
#include <QDir>
#include <QFileDialog>
#include <QPushButton>
#include <QStandardPaths>
#include <QStatusBar>

#include "gui/app/window.h"
#include "gui/views/console_view.h"
#include "gui/views/diff_view.h"
#include "gui/views/graph_view.h"
#include "gui/views/sql_view.h"
#include "gui/views/steps_view.h"
#include "gui/views/triage_view.h"

namespace assay {

/// By what is in the file and who made the trace, so that neither change is missed.
auto Window::cached_trace(bool prove, const QString& at) const -> QString {
  const QFileInfo file(path_);
  const QFileInfo program(assay_program());
  QCryptographicHash hash(QCryptographicHash::Sha256);
  for (const auto& part :
       {file.canonicalFilePath(), QString::number(file.size()),
        file.lastModified().toString(Qt::ISODateWithMs),
        program.lastModified().toString(Qt::ISODateWithMs), QString::number(prove), at})
    hash.addData(part.toUtf8() + '\0');
  const auto folder = QStandardPaths::writableLocation(QStandardPaths::CacheLocation);
  QDir().mkpath(folder);
  return folder + '/' + hash.result().toHex().left(24) + QStringLiteral(".sqlite");
}

void Window::analyse(bool prove, const QString& at) {
  const auto trace = cached_trace(prove, at);
  const auto asked = path_;
  if (QFileInfo::exists(trace) && open_trace(trace, asked)) return;
  path_ = asked;
  // Written beside its name and moved there when it is whole: a cancelled run leaves nothing.
  const auto partial = trace + QStringLiteral(".partial");
  QStringList arguments = {QStringLiteral("trace"), path_, QStringLiteral("-o"), partial};
  if (prove) arguments << QStringLiteral("--prove");
  if (!at.isEmpty()) arguments << QStringLiteral("--at") << at;
  const auto name = QFileInfo(path_).fileName();
  triage_->tell(tr("%1 is being analysed: its log is in Runs, Shift+F5 stops it").arg(name), false);
  console_->run(arguments, [this, trace, partial, name, path = path_](const ChildResult& result) {
    if (!result.answered()) {
      QFile::remove(partial);
      const auto why = tr("%1: %2; the log is in Runs").arg(name, result.outcome());
      show_view(QStringLiteral("console"));
      return path == path_ ? tell_failure(why) : desk_.say(why);
    }
    QFile::remove(trace);
    QFile::rename(partial, trace);
    if (path != path_) return;  // the user has opened something else meanwhile
    open_trace(trace, path);
  });
}

/// Of a trace what it was made of is analysed, where that still is.
void Window::run_at(const QString& sizes) {
  if (!store_) return;
  if (store_->path() == path_.toStdString()) {
    const auto source = qt(triage_->triage().source);
    const auto beside = QFileInfo(path_).absolutePath() + '/' + QFileInfo(source).fileName();
    const auto there = QFileInfo::exists(source) ? source : beside;
    if (source.isEmpty() || !QFileInfo::exists(there))
      return desk_.say(tr("%1, which this trace was made of, is not here: open it to run it at %2")
                           .arg(source.isEmpty() ? tr("The input") : source, sizes));
    path_ = there;
  }
  analyse(false, sizes);
}

void Window::minify() {
  if (path_.isEmpty()) return;
  const auto folder = QFileInfo(path_).absolutePath() + '/' + QFileInfo(path_).baseName() +
                      QStringLiteral("_minified");
  show_view(QStringLiteral("console"));
  console_->run({QStringLiteral("minify"), path_, QStringLiteral("-o"), folder,
                 QStringLiteral("--trace"), folder + QStringLiteral("/steps.sqlite")},
                [this, folder](const ChildResult& result) {
                  if (result.exit_code == 1) open(folder + QStringLiteral("/steps.sqlite"));
                });
}

void Window::export_bundle() {
  const auto suggested = QFileInfo(path_).baseName() + QStringLiteral(".assay.zip");
  const auto path = QFileDialog::getSaveFileName(this, tr("Export bundle"), suggested);
  if (path.isEmpty()) return;
  console_->run({QStringLiteral("debug"), path_, QStringLiteral("--bundle"), path},
                [this, path](const ChildResult& result) {
                  desk_.say(result.answered() ? tr("Wrote %1").arg(path) : result.outcome());
                });
}

void Window::show_running() {
  const bool runs = console_->child().is_running();
  running_->setText(runs ? console_->child().command().left(60) + QStringLiteral("   ") +
                               console_->progress()
                         : QString());
  cancel_->setVisible(runs);
}

void Window::add_run_handlers() {
  const auto again = [this](bool prove) {
    if (path_.isEmpty()) return;
    if (store_ && store_->path() == path_.toStdString())
      return desk_.say(tr("This is a trace: open what it was made of to run it again"));
    QFile::remove(cached_trace(prove, {}));
    analyse(prove);
  };
  handle(QStringLiteral("run.debug"), [again] { again(false); });
  handle(QStringLiteral("run.prove"), [again] { again(true); });
  handle(QStringLiteral("run.minify"), [this] { minify(); });
  handle(QStringLiteral("run.bundle"), [this] { export_bundle(); });
  handle(QStringLiteral("run.stop"), [this] { console_->cancel(); });
  handle(QStringLiteral("copy.repro"), [this] {
    const auto& triage = triage_->triage();
    const auto text = QStringLiteral("assay debug '%1'")
                          .arg(qt(triage.source.empty() ? path_.toStdString() : triage.source));
    QApplication::clipboard()->setText(text);
    desk_.say(tr("Copied: %1").arg(text));
  });
}

void Window::add_graph_handlers() {
  handle(QStringLiteral("graph.fit"), [this] { graph_->fit(); });
  handle(QStringLiteral("graph.expand"), [this] { graph_->expand_selected(); });
  handle(QStringLiteral("graph.expand_all"), [this] { graph_->expand_all(); });
  handle(QStringLiteral("graph.collapse"), [this] { graph_->collapse_all(); });
  handle(QStringLiteral("graph.near"), [this] { graph_->show_neighbourhood(); });
  handle(QStringLiteral("graph.path"), [this] { graph_->show_path(); });
  handle(QStringLiteral("steps.follow"), [this] { steps_->toggle_following(); });
  handle(QStringLiteral("diff.open"), [this] {
    const auto path = QFileDialog::getOpenFileName(this, tr("Other trace"));
    if (!path.isEmpty()) diff_->set_other(path);
  });
  handle(QStringLiteral("sql.run"), [this] {
    show_view(QStringLiteral("sql"));
    sql_->run();
  });
  handle(QStringLiteral("graph.everything"), [this] { graph_->show_everything(); });
}

}  // namespace assay
