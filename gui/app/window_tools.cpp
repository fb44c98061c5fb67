// Palette, keys, exports: tools of the window that belong to no view.
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QSvgGenerator>
#include <QTextBrowser>
#include <QVBoxLayout>

#include "gui/app/palette.h"
#include "gui/app/window.h"
#include "gui/views/row_table.h"

namespace assay {

auto Window::current_view() const -> View* {
  for (auto* widget = focusWidget(); widget; widget = widget->parentWidget())
    if (auto* found = qobject_cast<View*>(widget)) return found;
  return views_.front();
}

auto Window::export_view(View& view, const QString& format, const QString& path) -> bool {
  if (format == QStringLiteral("csv")) {
    QFile file(path);
    return view.table() && file.open(QIODevice::WriteOnly) &&
           file.write(view.table()->csv().toUtf8()) >= 0;
  }
  if (format == QStringLiteral("svg")) {
    QSvgGenerator svg;
    svg.setFileName(path);
    svg.setSize(view.size());
    svg.setViewBox(view.rect());
    svg.setTitle(view.title());
    QPainter painter;
    if (!painter.begin(&svg)) return false;
    if (!view.draw_picture(painter, view.size())) view.render(&painter);
    return painter.end();
  }
  return view.grab().save(path);
}

void Window::export_dialog(const QString& format) {
  auto* view = current_view();
  if (format == QStringLiteral("csv") && !view->table())
    return desk_.say(tr("%1 is no table").arg(view->title()));
  const auto path = QFileDialog::getSaveFileName(this, tr("Export %1").arg(view->title()),
                                                 view->id() + '.' + format);
  if (path.isEmpty()) return;
  desk_.say(export_view(*view, format, path) ? tr("Wrote %1").arg(path)
                                             : tr("Cannot write %1").arg(path));
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
