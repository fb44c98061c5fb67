// What a window keeps from one start to the next: its place on the screen, its layout, its theme,
// keys that the user chose, and for each file where the user was. A window that plays a script has
// one only where it is named.
#pragma once
#include <map>
#include <memory>
#include <optional>

#include <QSettings>
#include <QStringList>

class QMainWindow;

namespace assay {

class Session {
 public:
  explicit Session(std::unique_ptr<QSettings> settings) : settings_(std::move(settings)) {}
  [[nodiscard]] static auto of_user() -> std::unique_ptr<Session>;
  [[nodiscard]] static auto in_file(const QString& path) -> std::unique_ptr<Session>;

  /// Geometry and docks; `layout` is the id of the layout that they began as.
  void save_window(const QMainWindow& window, const QString& layout);
  [[nodiscard]] auto layout() const -> QString;  ///< empty: none was saved
  void forget_window();                          ///< the next start begins as the first did
  void save_theme(bool dark);
  [[nodiscard]] auto is_dark() const -> std::optional<bool>;  ///< nothing: that of the desktop
  /// Once the layout is there. What was saved by another arrangement of docks is left alone.
  void restore_window(QMainWindow& window) const;

  /// A place as links hold it; of the files looked at last, at most kMostFiles.
  void save_place(const QString& file, const QString& place);
  [[nodiscard]] auto place(const QString& file) const -> QString;

  /// Files that were opened, newest first, at most kMostRecent; those that are gone are left out.
  void save_recent(const QString& file);
  [[nodiscard]] auto recent() const -> QStringList;
  void forget_recent();

  /// By id of a pinned view its place in the file, as links hold it. Forgotten with the place.
  void save_pins(const QString& file, const std::map<QString, QString>& pins);
  [[nodiscard]] auto pins(const QString& file) const -> std::map<QString, QString>;

  /// Keys of an action as the user set them; nothing: those of the table.
  [[nodiscard]] auto keys(const QString& action) const -> std::optional<QString>;
  void save_keys(const QString& action, const std::optional<QString>& keys);

  static constexpr int kMostFiles = 200;
  static constexpr int kMostRecent = 10;

 private:
  std::unique_ptr<QSettings> settings_;
};

}  // namespace assay
