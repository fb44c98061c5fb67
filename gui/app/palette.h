// All commands by name, as one types; and the sheet of keys.
#pragma once
#include <QDialog>
#include <QLineEdit>
#include <QListWidget>

class QAction;

namespace assay {

class CommandPalette : public QDialog {
  Q_OBJECT

 public:
  CommandPalette(const QList<QAction*>& actions, QWidget* parent);

 protected:
  auto eventFilter(QObject* watched, QEvent* event) -> bool override;

 private:
  void narrow(const QString& text);
  void run();
  QList<QAction*> actions_;
  QLineEdit* text_;
  QListWidget* list_;
};

/// Actions with keys, then what views do by themselves.
[[nodiscard]] auto key_sheet(const QList<QAction*>& actions) -> QString;

}  // namespace assay
