#include "gui/app/palette.h"

#include <map>
#include <utility>

#include <QAction>
#include <QKeyEvent>
#include <QVBoxLayout>

#include "gui/app/actions.h"

namespace assay {
namespace {

/// Every word somewhere in the text.
auto fits(const QString& text, const QString& words) -> bool {
  const auto parts = words.split(' ', Qt::SkipEmptyParts);
  return std::ranges::all_of(
      parts, [&](const QString& word) { return text.contains(word, Qt::CaseInsensitive); });
}

auto keys_of(const QAction& action) -> QString {
  QStringList keys;
  for (const auto& key : action.shortcuts()) keys << key.toString(QKeySequence::NativeText);
  return keys.join(QStringLiteral(", "));
}

/// A heading in the sheet of keys.
auto group_of(const ActionRow& row) -> std::string_view {
  if (row.view == "graph") return "In the graph";
  if (row.view == "steps") return "In Reduction";
  if (row.view == "diff") return "In Diff";
  return row.menu;
}

}  // namespace

CommandPalette::CommandPalette(const QList<QAction*>& actions, QWidget* parent)
    : QDialog(parent, Qt::Popup), actions_(actions), text_(new QLineEdit), list_(new QListWidget) {
  setObjectName(QStringLiteral("palette"));
  setAccessibleName(tr("All commands"));
  text_->setPlaceholderText(tr("What do you want to do?"));
  text_->setAccessibleName(tr("Command"));
  list_->setAccessibleName(tr("Commands"));
  list_->setUniformItemSizes(true);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(6, 6, 6, 6);
  column->addWidget(text_);
  column->addWidget(list_);
  resize(560, 420);
  text_->installEventFilter(this);
  connect(text_, &QLineEdit::textChanged, this, &CommandPalette::narrow);
  connect(text_, &QLineEdit::returnPressed, this, &CommandPalette::run);
  connect(list_, &QListWidget::itemActivated, this, &CommandPalette::run);
  connect(list_, &QListWidget::itemClicked, this, &CommandPalette::run);
  narrow({});
  text_->setFocus();
}

void CommandPalette::narrow(const QString& text) {
  list_->clear();
  for (auto* action : actions_) {
    if (!fits(action->text() + ' ' + action->objectName(), text)) continue;
    const auto keys = keys_of(*action);
    auto* item = new QListWidgetItem(
        keys.isEmpty() ? action->text() : QStringLiteral("%1    %2").arg(action->text(), keys),
        list_);
    item->setData(Qt::UserRole, action->objectName());
  }
  list_->setCurrentRow(0);
}

void CommandPalette::run() {
  const auto* item = list_->currentItem();
  if (!item) return;
  const auto id = item->data(Qt::UserRole).toString();
  close();
  for (auto* action : actions_)
    if (action->objectName() == id) return action->trigger();
}

auto CommandPalette::eventFilter(QObject* watched, QEvent* event) -> bool {
  if (event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    const int step = key->key() == Qt::Key_Down ? 1 : key->key() == Qt::Key_Up ? -1 : 0;
    if (step != 0 && list_->count() > 0) {
      list_->setCurrentRow((list_->currentRow() + step + list_->count()) % list_->count());
      return true;
    }
  }
  return QDialog::eventFilter(watched, event);
}

auto key_sheet(const QList<QAction*>& actions) -> QString {
  QString text = QStringLiteral("<table cellpadding=3>");
  const auto row = [&](const QString& keys, const QString& what) {
    text += QStringLiteral("<tr><td><b>%1</b>&nbsp;&nbsp;</td><td>%2</td></tr>")
                .arg(keys.toHtmlEscaped(), what.toHtmlEscaped());
  };
  const auto head = [&](const QString& title) {
    text += QStringLiteral("<tr><td colspan=2><br><b>%1</b></td></tr>").arg(title);
  };
  std::map<QString, const QAction*> left;
  for (const auto* action : actions) left[action->objectName()] = action;
  std::string_view group;
  for (const auto& of : action_rows()) {
    const auto at =
        left.find(QString::fromUtf8(of.id.data(), static_cast<qsizetype>(of.id.size())));
    if (at == left.end()) continue;
    const auto keys = keys_of(*at->second);
    if (!keys.isEmpty() && std::exchange(group, group_of(of)) != group_of(of))
      head(QObject::tr(group_of(of).data()));
    if (!keys.isEmpty()) row(keys, at->second->text());
    left.erase(at);
  }
  head(QObject::tr("Layouts and views"));
  for (const auto& [id, action] : left)
    if (const auto keys = keys_of(*action); !keys.isEmpty()) row(keys, action->text());
  head(QObject::tr("In the graph, by hand"));
  row(QObject::tr("W, S, wheel"), QObject::tr("zoom"));
  row(QObject::tr("arrows, A, D, drag"), QObject::tr("move"));
  row(QObject::tr("double click"), QObject::tr("open or close a module"));
  head(QObject::tr("In tables"));
  row(QObject::tr("arrows, Page, Home, End"), QObject::tr("move"));
  row(QObject::tr("Ctrl+C"), QObject::tr("copy the row"));
  return text + QStringLiteral("</table>");
}

}  // namespace assay
