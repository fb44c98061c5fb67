#include "gui/app/script.h"

#include <QAbstractButton>
#include <QAbstractScrollArea>
#include <QApplication>
#include <QComboBox>
#include <QJsonObject>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMouseEvent>
#include <QPlainTextEdit>
#include <QTextEdit>

#include "gui/views/nodes_view.h"
#include "gui/views/theme.h"

namespace assay {
namespace {

constexpr int kTickMs = 15;
constexpr int kQuietTicks = 3;  ///< so many idle ticks in a row: layouts and repaints are done
constexpr int kMostWaitMs = 60'000;

void press(QWidget* target, const QString& keys) {
  const QKeySequence sequence(keys);
  for (int i = 0; i < sequence.count(); ++i) {
    const auto key = sequence[static_cast<uint>(i)];
    const auto text =
        key.keyboardModifiers() == Qt::NoModifier && keys.size() == 1 ? keys : QString();
    QKeyEvent shortcut(QEvent::ShortcutOverride, key.key(), key.keyboardModifiers(), text);
    QApplication::sendEvent(target, &shortcut);
    QKeyEvent down(QEvent::KeyPress, key.key(), key.keyboardModifiers(), text);
    QApplication::sendEvent(target, &down);
    QKeyEvent up(QEvent::KeyRelease, key.key(), key.keyboardModifiers(), text);
    QApplication::sendEvent(target, &up);
  }
}

}  // namespace

auto visible_text(const QWidget& widget) -> QString {
  QString text;
  for (const auto* child : widget.findChildren<QWidget*>()) {
    // A viewport covers all of what holds it.
    const auto* area = qobject_cast<const QAbstractScrollArea*>(child);
    const auto* seen = area != nullptr ? area->viewport() : child;
    if (!child->isVisible() || seen->visibleRegion().isEmpty()) continue;
    if (const auto* label = qobject_cast<const QLabel*>(child)) text += label->text() + '\n';
    if (const auto* button = qobject_cast<const QAbstractButton*>(child))
      text += button->text() + '\n';
    if (const auto* box = qobject_cast<const QComboBox*>(child)) text += box->currentText() + '\n';
    if (const auto* line = qobject_cast<const QLineEdit*>(child)) text += line->text() + '\n';
    if (const auto* rich = qobject_cast<const QTextEdit*>(child))
      text += rich->toPlainText() + '\n';
    if (const auto* plain = qobject_cast<const QPlainTextEdit*>(child))
      text += plain->toPlainText() + '\n';
    if (const auto* table = qobject_cast<const RowTable*>(child)) text += table->csv(200) + '\n';
    text += child->accessibleDescription() + '\n';
  }
  return text;
}

Script::Script(Window& window, QJsonArray steps) : window_(window), steps_(std::move(steps)) {
  timer_.setInterval(kTickMs);
  connect(&timer_, &QTimer::timeout, this, &Script::next);
}

void Script::run(std::function<void(const QStringList&)> done) {
  done_ = std::move(done);
  timer_.start();
}

void Script::fail(const QString& why) {
  failures_ << QStringLiteral("step %1: %2").arg(at_).arg(why);
}

void Script::next() {
  quiet_ = window_.is_idle() ? quiet_ + 1 : 0;
  waited_ms_ += kTickMs;
  if (quiet_ < kQuietTicks && waited_ms_ < kMostWaitMs) return;
  if (quiet_ < kQuietTicks) fail(QStringLiteral("the window did not come to rest"));
  quiet_ = 0;
  waited_ms_ = 0;
  if (at_ == steps_.size()) {
    timer_.stop();
    return done_(failures_);
  }
  const auto step = steps_[at_++].toObject();
  play(step);
}

auto Script::target(const QString& name) const -> QWidget* {
  if (name.isEmpty()) return &window_;
  if (auto* view = window_.view(name)) return view;
  return window_.findChild<QWidget*>(name);
}

void Script::play(const QJsonObject& step) {
  const auto text = [&](const char* key) { return step[QLatin1String(key)].toString(); };
  const auto has = [&](const char* key) { return step.contains(QLatin1String(key)); };
  if (has("do")) {
    auto* action = window_.action(text("do"));
    if (!action) return fail(QStringLiteral("no action %1").arg(text("do")));
    ++gestures_;
    action->trigger();
  }
  if (has("key")) {
    ++gestures_;
    auto* focus = window_.focusWidget() ? window_.focusWidget() : &window_;
    // Shortcuts need an active window, which a screen without a manager may not give.
    for (const auto& [id, action] : window_.actions_by_id())
      if (action->shortcuts().contains(QKeySequence(text("key")))) return action->trigger();
    press(focus, text("key"));
  }
  if (has("click")) {
    ++gestures_;
    auto* widget = target(text("click"));
    auto* button = qobject_cast<QAbstractButton*>(widget);
    if (!button) return fail(QStringLiteral("no button %1").arg(text("click")));
    button->click();
  }
  if (has("go")) window_.go_to(text("go"));
  if (has("open")) window_.open(text("open"));
  if (has("view")) window_.show_view(text("view"));
  if (has("layout")) window_.apply_layout(text("layout"));
  if (has("theme")) window_.apply_theme(text("theme") == QStringLiteral("dark"));
  if (has("size")) {
    const auto size = step[QLatin1String("size")].toArray();
    window_.resize(size[0].toInt(), size[1].toInt());
  }
  if (has("export")) {
    auto* view = window_.view(text("of"));
    if (!view || !window_.export_view(*view, text("export"), text("to")))
      fail(QStringLiteral("cannot export %1").arg(text("of")));
  }
  if (has("filter"))
    static_cast<NodesView*>(window_.view(QStringLiteral("nodes")))->set_filter(text("filter"));
  if (has("expect") && !visible_text(window_).contains(text("expect")))
    fail(QStringLiteral("\"%1\" is not on the screen").arg(text("expect")));
  if (has("screenshot")) {
    auto* widget = target(text("of"));
    if (!widget || !widget->grab().save(text("screenshot")))
      fail(QStringLiteral("cannot write %1").arg(text("screenshot")));
  }
}

}  // namespace assay
