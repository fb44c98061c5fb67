#include "gui/models/child.h"

#include <csignal>

#include <sys/prctl.h>
#include <QCoreApplication>
#include <QFileInfo>
#include <QStandardPaths>

namespace assay {
namespace {

constexpr int kKillAfterMs = 2000;
constexpr qint64 kMostShown = 4 << 20;  ///< a flood is cut off, the process goes on

}  // namespace

auto assay_program() -> QString {
  const auto beside = QCoreApplication::applicationDirPath() + QStringLiteral("/assay");
  if (QFileInfo(beside).isExecutable()) return beside;
  return QStandardPaths::findExecutable(QStringLiteral("assay"));
}

auto ChildResult::answered() const -> bool {
  return started && !crashed && !cancelled && (exit_code == 0 || exit_code == 1 || exit_code == 5);
}

auto ChildResult::outcome() const -> QString {
  if (!started) return Child::tr("could not be started");
  if (cancelled) return Child::tr("was cancelled");
  if (crashed) return Child::tr("crashed");
  switch (exit_code) {
    case 0:
      return Child::tr("nothing found");
    case 1:
      return Child::tr("findings");
    case 3:
      return Child::tr("input not read");
    case 4:
      return Child::tr("a tool is missing");
    case 5:
      return Child::tr("undecided");
    default:
      return Child::tr("exit code %1").arg(exit_code);
  }
}

Child::Child(QObject* parent) : QObject(parent) {
  kill_.setSingleShot(true);
  kill_.setInterval(kKillAfterMs);
  connect(&kill_, &QTimer::timeout, this, [this] {
    if (process_) process_->kill();
  });
}

Child::~Child() {
  if (!process_) return;
  process_->disconnect(this);
  process_->kill();
  process_->waitForFinished(200);
}

void Child::start(const QString& program, const QStringList& arguments,
                  std::function<void(const ChildResult&)> then) {
  if (process_) {
    process_->disconnect(this);
    process_->kill();
    process_->deleteLater();
  }
  process_ = new QProcess(this);
  then_ = std::move(then);
  out_rest_.clear();
  error_rest_.clear();
  output_.clear();
  shown_ = 0;
  cancelled_ = false;
  command_ = QStringLiteral("assay ") + arguments.join(' ');
  auto environment = QProcessEnvironment::systemEnvironment();
  environment.insert(QStringLiteral("ASSAY_PROGRESS"), QStringLiteral("1"));
  environment.insert(QStringLiteral("NO_COLOR"), QStringLiteral("1"));
  process_->setProcessEnvironment(environment);
  // A window that dies takes its children along.
  process_->setChildProcessModifier([] { ::prctl(PR_SET_PDEATHSIG, SIGKILL); });
  connect(process_, &QProcess::readyReadStandardOutput, this,
          [this] { read(process_->readAllStandardOutput(), out_rest_, false); });
  connect(process_, &QProcess::readyReadStandardError, this,
          [this] { read(process_->readAllStandardError(), error_rest_, true); });
  connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart) finish(false, false, -1);
  });
  connect(process_, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
    finish(true, status == QProcess::CrashExit, code);
  });
  clock_.start();
  process_->start(program, arguments, QIODevice::ReadOnly);
}

void Child::cancel() {
  if (!process_) return;
  cancelled_ = true;
  process_->terminate();
  kill_.start();
}

void Child::read(QByteArray bytes, QByteArray& rest, bool is_error) {
  rest += bytes;
  qsizetype begin = 0;
  for (qsizetype end = 0; (end = rest.indexOf('\n', begin)) >= 0; begin = end + 1)
    take_line(QString::fromUtf8(rest.constData() + begin, end - begin), is_error);
  rest.remove(0, begin);
  if (rest.size() > kMostOutput) rest.clear();  // a line without end
}

void Child::take_line(const QString& text, bool is_error) {
  if (is_error && text.startsWith(QStringLiteral("progress: "))) {
    emit progress(text.mid(10));
    return;
  }
  if (!is_error) {
    output_ += text + '\n';
    // Cut now and then: each line would cost the whole text.
    if (output_.size() > 2 * kMostOutput) output_ = output_.right(kMostOutput);
  }
  if (shown_ > kMostShown) return;
  shown_ += text.size() + 1;
  emit line(shown_ > kMostShown ? tr("… further output is not shown") : text);
}

void Child::finish(bool started, bool crashed, int exit_code) {
  kill_.stop();
  if (started) {
    read(process_->readAllStandardOutput(), out_rest_, false);
    read(process_->readAllStandardError(), error_rest_, true);
    // A last line without its end.
    if (!out_rest_.isEmpty()) read("\n", out_rest_, false);
    if (!error_rest_.isEmpty()) read("\n", error_rest_, true);
  }
  process_->deleteLater();
  process_ = nullptr;
  const ChildResult result{.started = started,
                           .crashed = crashed,
                           .cancelled = cancelled_,
                           .exit_code = exit_code,
                           .seconds = static_cast<double>(clock_.elapsed()) / 1000,
                           .output = output_.right(kMostOutput)};
  if (then_) std::exchange(then_, {})(result);
}

}  // namespace assay
