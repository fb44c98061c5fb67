// Palette, keys, cards, exports, session: tools of the window that belong to no view.
#include <algorithm>
#include <array>

#include <QCloseEvent>
#include <QDialogButtonBox>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QSvgGenerator>
#include <QTextBrowser>
#include <QToolTip>
#include <QVBoxLayout>

#include "gui/app/keys_dialog.h"
#include "gui/app/palette.h"
#include "gui/app/window.h"
#include "gui/views/card.h"
#include "gui/views/row_table.h"
#include "gui/views/triage_view.h"

namespace assay {

auto Window::current_view() const -> View* {
  for (auto* widget = focusWidget(); widget; widget = widget->parentWidget())
    if (auto* found = qobject_cast<View*>(widget)) return found;
  // On a tab of docks the view below it is meant.
  const auto* bar = qobject_cast<const QTabBar*>(focusWidget());
  const auto seen = [](const View* one) { return one->isVisible(); };
  for (auto* one : views_)
    if (bar && seen(one) &&
        docks_.at(one->id())->windowTitle() == bar->tabText(bar->currentIndex()))
      return one;
  const auto first = std::ranges::find_if(views_, seen);
  return first == views_.end() ? views_.front() : *first;
}

auto Window::export_view(View& view, const QString& format, const QString& path) -> bool {
  if (format == QStringLiteral("csv")) return view.write_csv(path);
  if (format == QStringLiteral("svg")) {
    QSvgGenerator svg;
    svg.setFileName(path);
    svg.setSize(view.picture_size());
    svg.setViewBox(QRect({0, 0}, view.picture_size()));
    svg.setTitle(view.title());
    QPainter painter;
    if (!painter.begin(&svg)) return false;
    if (!view.draw_picture(painter, view.picture_size())) view.render(&painter);
    return painter.end();
  }
  return view.grab().save(path);
}

void Window::export_dialog(const QString& format) {
  auto* view = current_view();
  if (format == QStringLiteral("csv") && !view->has_csv())
    return desk_.say(tr("%1 has no rows to write").arg(view->title()));
  const auto path = QFileDialog::getSaveFileName(this, tr("Export %1").arg(view->title()),
                                                 view->id() + '.' + format);
  if (path.isEmpty()) return;
  desk_.say(export_view(*view, format, path) ? tr("Wrote %1").arg(path)
                                             : tr("Cannot write %1").arg(path));
}

void Window::show_card(const Cursor& cursor, const QPoint& at) {
  if (!store_ || cursor.node == 0) return QToolTip::hideText();
  store_->ask<std::vector<NodeLine>>(
      this, "card",
      [node = cursor.node](const TraceReader& reader) {
        const std::array ids = {node};
        return read_nodes(reader, ids);
      },
      [this, at](Result<std::vector<NodeLine>> lines) {
        if (lines && !lines->empty())
          QToolTip::showText(at, card_html(card_of(lines->front())), this);
      });
}

auto Window::delivered_keys(const QString& id) const -> QList<QKeySequence> {
  const auto found = delivered_.find(id);
  return found == delivered_.end() ? QList<QKeySequence>() : found->second;
}

auto Window::set_keys(const QString& id, const QList<QKeySequence>& keys) -> const QAction* {
  for (const auto& [other, action] : actions_)
    for (const auto& key : keys)
      if (other != id && action->shortcuts().contains(key)) return action;
  actions_.at(id)->setShortcuts(keys);
  if (session_)
    session_->save_keys(id, keys == delivered_keys(id)
                                ? std::nullopt
                                : std::optional(QKeySequence::listToString(keys)));
  return nullptr;
}

void Window::use_session(std::unique_ptr<Session> session) {
  session_ = std::move(session);
  // All first: two actions may have changed keys with each other.
  for (const auto& [id, action] : actions_)
    if (const auto keys = session_->keys(id))
      action->setShortcuts(QKeySequence::listFromString(*keys));
  tell_clashes();
  offer_recent();
  if (session_->layout().isEmpty()) return;
  apply_layout(session_->layout());
  session_->restore_window(*this);
}

void Window::offer_recent() {
  const auto files = session_ ? session_->recent() : QStringList();
  recent_->clear();
  for (const auto& file : files) {
    auto text = QFileInfo(file).fileName() + QStringLiteral("   ") + QFileInfo(file).absolutePath();
    recent_->addAction(text.replace('&', QStringLiteral("&&")))->setData(file);
  }
  recent_->addSeparator();
  recent_->addAction(tr("Forget these"));
  recent_->setEnabled(!files.isEmpty());
  triage_->set_recent(files);
}

/// Files of settings are edited by hand too.
void Window::tell_clashes() {
  std::map<QString, const QAction*> owner;
  for (const auto& [id, action] : actions_)
    for (const auto& key : action->shortcuts())
      if (const auto [at, is_new] = owner.emplace(key.toString(), action); !is_new)
        desk_.say(
            tr("%1 belongs to \"%2\" and to \"%3\": Help > Change keys")
                .arg(key.toString(QKeySequence::NativeText), at->second->text(), action->text()));
}

void Window::closeEvent(QCloseEvent* event) {
  save_place();
  if (session_) session_->save_window(*this, layout_);
  QMainWindow::closeEvent(event);
}

void Window::add_tool_handlers() {
  for (const auto* format : {"png", "svg", "csv"})
    handle(QStringLiteral("file.export_%1").arg(QLatin1String(format)),
           [this, format] { export_dialog(QLatin1String(format)); });
  QList<QAction*> all;
  for (const auto& [id, action] : actions_) all << action;
  handle(QStringLiteral("help.palette"), [this, all] {
    auto* palette = new CommandPalette(all, this);
    palette->setAttribute(Qt::WA_DeleteOnClose);
    palette->move(mapToGlobal(QPoint((width() - palette->width()) / 2, 60)));
    palette->show();
  });
  handle(QStringLiteral("view.pin"), [this] {
    auto* view = current_view();
    set_pinned(*view, !view->is_pinned());
  });
  handle(QStringLiteral("view.close"), [this] { docks_[current_view()->id()]->hide(); });
  handle(QStringLiteral("view.float"), [this] {
    auto* dock = docks_[current_view()->id()];
    dock->setFloating(!dock->isFloating());
  });
  handle(QStringLiteral("help.change_keys"), [this] {
    auto* dialog = new KeysDialog(*this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->show();
  });
  handle(QStringLiteral("help.keys"), [this, all] {
    auto* sheet = new QDialog(this);
    sheet->setObjectName(QStringLiteral("keys"));
    sheet->setAttribute(Qt::WA_DeleteOnClose);
    sheet->setWindowTitle(tr("Keys"));
    auto* column = new QVBoxLayout(sheet);
    auto* text = new QTextBrowser;
    text->setAccessibleName(tr("Keys"));
    text->setHtml(key_sheet(all));
    column->addWidget(text);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    connect(buttons, &QDialogButtonBox::rejected, sheet, &QDialog::close);
    column->addWidget(buttons);
    sheet->resize(560, 640);
    sheet->show();
  });
}

}  // namespace assay
