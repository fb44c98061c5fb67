#include "gui/app/session.h"

#include <QCryptographicHash>
#include <QDockWidget>
#include <QFileInfo>
#include <QMainWindow>

namespace assay {
namespace {

constexpr int kDocksVersion = 1;  ///< of the set of views; a change makes old states void

/// Paths hold slashes, which are groups in settings.
auto key_of(const QString& file) -> QString {
  const auto path = QFileInfo(file).canonicalFilePath();
  const auto hash = QCryptographicHash::hash(path.toUtf8(), QCryptographicHash::Sha256);
  return QString::fromLatin1(hash.toHex().left(24));
}
auto keys_key(const QString& action) -> QString {
  return QStringLiteral("keys/") + action;
}

}  // namespace

auto Session::of_user() -> std::unique_ptr<Session> {
  return std::make_unique<Session>(
      std::make_unique<QSettings>(QSettings::IniFormat, QSettings::UserScope,
                                  QStringLiteral("assay"), QStringLiteral("assay-view")));
}

auto Session::in_file(const QString& path) -> std::unique_ptr<Session> {
  return std::make_unique<Session>(std::make_unique<QSettings>(path, QSettings::IniFormat));
}

void Session::forget_window() {
  settings_->remove(QStringLiteral("window"));
}

void Session::save_theme(bool dark) {
  settings_->setValue(QStringLiteral("theme/dark"), dark);
}

auto Session::is_dark() const -> std::optional<bool> {
  const auto value = settings_->value(QStringLiteral("theme/dark"));
  return value.isValid() ? std::optional(value.toBool()) : std::nullopt;
}

void Session::save_window(const QMainWindow& window, const QString& layout) {
  settings_->setValue(QStringLiteral("window/geometry"), window.saveGeometry());
  settings_->setValue(QStringLiteral("window/docks"), window.saveState(kDocksVersion));
  settings_->setValue(QStringLiteral("window/layout"), layout);
  QStringList shown;
  for (const auto* dock : window.findChildren<QDockWidget*>())
    if (!dock->isHidden()) shown << dock->objectName();
  settings_->setValue(QStringLiteral("window/shown"), shown);
}

auto Session::layout() const -> QString {
  return settings_->value(QStringLiteral("window/layout")).toString();
}

void Session::restore_window(QMainWindow& window) const {
  window.restoreGeometry(settings_->value(QStringLiteral("window/geometry")).toByteArray());
  if (!window.restoreState(settings_->value(QStringLiteral("window/docks")).toByteArray(),
                           kDocksVersion))
    return;
  // Qt shows docks that the state does not mention.
  const auto shown = settings_->value(QStringLiteral("window/shown")).toStringList();
  for (auto* dock : window.findChildren<QDockWidget*>())
    if (!shown.contains(dock->objectName())) dock->hide();
}

void Session::save_place(const QString& file, const QString& place) {
  const auto key = key_of(file);
  auto files = settings_->value(QStringLiteral("files/order")).toStringList();
  files.removeAll(key);
  files.prepend(key);
  while (files.size() > kMostFiles) {
    const auto oldest = files.takeLast();
    settings_->remove(QStringLiteral("places/") + oldest);
    settings_->remove(QStringLiteral("pins/") + oldest);
  }
  settings_->setValue(QStringLiteral("files/order"), files);
  settings_->setValue(QStringLiteral("places/") + key, place);
}

auto Session::place(const QString& file) const -> QString {
  return settings_->value(QStringLiteral("places/") + key_of(file)).toString();
}

void Session::save_recent(const QString& file) {
  const auto path = QFileInfo(file).absoluteFilePath();
  auto files = settings_->value(QStringLiteral("files/recent")).toStringList();
  files.removeAll(path);
  files.prepend(path);
  settings_->setValue(QStringLiteral("files/recent"), files.mid(0, kMostRecent));
}

auto Session::recent() const -> QStringList {
  auto files = settings_->value(QStringLiteral("files/recent")).toStringList();
  files.removeIf([](const QString& file) { return !QFileInfo::exists(file); });
  return files;
}

void Session::forget_recent() {
  settings_->remove(QStringLiteral("files/recent"));
}

void Session::save_pins(const QString& file, const std::map<QString, QString>& pins) {
  QVariantMap values;
  for (const auto& [view, place] : pins) values[view] = place;
  const auto key = QStringLiteral("pins/") + key_of(file);
  if (values.isEmpty())
    settings_->remove(key);
  else
    settings_->setValue(key, values);
}

auto Session::pins(const QString& file) const -> std::map<QString, QString> {
  std::map<QString, QString> pins;
  const auto values = settings_->value(QStringLiteral("pins/") + key_of(file)).toMap();
  for (auto at = values.begin(); at != values.end(); ++at) pins[at.key()] = at.value().toString();
  return pins;
}

auto Session::keys(const QString& action) const -> std::optional<QString> {
  const auto value = settings_->value(keys_key(action));
  return value.isValid() ? std::optional(value.toString()) : std::nullopt;
}

void Session::save_keys(const QString& action, const std::optional<QString>& keys) {
  if (keys)
    settings_->setValue(keys_key(action), *keys);
  else
    settings_->remove(keys_key(action));
}

}  // namespace assay
