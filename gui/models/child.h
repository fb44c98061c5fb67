// `assay` as a child process: what is not a trace yet is analysed outside of the window, so that a
// crash, a hang or a flood of output never takes it along.
#pragma once
#include <functional>

#include <QElapsedTimer>
#include <QProcess>
#include <QTimer>

namespace assay {

/// Beside this program, else in PATH; empty if there is none.
[[nodiscard]] auto assay_program() -> QString;

struct ChildResult {
  bool started = false;
  bool crashed = false;
  bool cancelled = false;
  int exit_code = -1;
  double seconds = 0;
  QString output;  ///< the end of stdout, at most kMostOutput characters
  /// In one line: "found something (exit code 1)", "crashed", "was cancelled".
  [[nodiscard]] auto outcome() const -> QString;
  /// It came to an answer: nothing found, findings, or undecided.
  [[nodiscard]] auto answered() const -> bool;
};

class Child : public QObject {
  Q_OBJECT

 public:
  static constexpr qsizetype kMostOutput = 1 << 20;
  explicit Child(QObject* parent = nullptr);
  ~Child() override;
  /// Only one at a time; ends the one before.
  void start(const QString& program, const QStringList& arguments,
             std::function<void(const ChildResult&)> then);
  /// Asks it to end, and ends it two seconds later.
  void cancel();
  [[nodiscard]] auto is_running() const -> bool { return process_ != nullptr; }
  [[nodiscard]] auto command() const -> const QString& { return command_; }

 signals:
  void progress(const QString& text);
  void line(const QString& text);  ///< of output or errors, as they come

 private:
  void read(QByteArray bytes, QByteArray& rest, bool is_error);
  void take_line(const QString& text, bool is_error);
  void finish(bool started, bool crashed, int exit_code);

  QProcess* process_ = nullptr;
  QTimer kill_;
  QElapsedTimer clock_;
  QByteArray out_rest_, error_rest_;
  QString output_;
  QString command_;
  qint64 shown_ = 0;  ///< characters told to listeners since the start
  bool cancelled_ = false;
  std::function<void(const ChildResult&)> then_;
};

}  // namespace assay
