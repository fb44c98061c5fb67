// Plays steps from a file against the window, for pictures and tests: each is a JSON object, e.g.
// {"do": "go.next_finding"}, {"key": "F8"}, {"view": "nodes"}, {"filter": "op:pad"},
// {"go": "node:add"}, {"layout": "graph"}, {"theme": "dark"}, {"size": [1200, 800]},
// {"click": "object name"}, {"type": "text"}, {"screenshot": "x.png"}, {"of": "nodes", ...},
// {"expect": "text that is on the screen"}.
#pragma once
#include <functional>

#include <QJsonArray>
#include <QTimer>

#include "gui/app/window.h"

namespace assay {

class Script : public QObject {
  Q_OBJECT

 public:
  Script(Window& window, QJsonArray steps);
  /// Each step begins once the window is idle; `done(failures)` comes after the last.
  void run(std::function<void(const QStringList& failures)> done);
  /// What a user would have done: keys, clicks, commands.
  [[nodiscard]] auto gestures() const -> int { return gestures_; }

 private:
  void next();
  void play(const QJsonObject& step);
  void fail(const QString& why);
  [[nodiscard]] auto target(const QString& name) const -> QWidget*;

  Window& window_;
  QJsonArray steps_;
  qsizetype at_ = 0;
  int gestures_ = 0;
  int quiet_ = 0;
  int waited_ms_ = 0;
  QStringList failures_;
  QTimer timer_;
  std::function<void(const QStringList&)> done_;
};

/// Text that a user can see in the widget and what it holds.
[[nodiscard]] auto visible_text(const QWidget& widget) -> QString;

}  // namespace assay
