#include "gui/views/notes_view.h"

#include <QJsonDocument>
#include <QJsonObject>
#include <QSaveFile>

#include "replay/trace/pages.h"

namespace assay {

NotesView::NotesView(Desk& desk)
    : ListView(QStringLiteral("notes"), tr("Notes"), desk, {tr("Node"), tr("Note")}, {200, 500}),
      about_(new QLabel),
      text_(new QPlainTextEdit) {
  bar()->setContentsMargins(10, 6, 10, 6);
  bar()->addWidget(about_);
  text_->setAccessibleName(tr("Note on the node"));
  text_->setPlaceholderText(tr("A remark on this node; it is saved beside the file"));
  text_->setTabChangesFocus(true);
  text_->document()->setDocumentMargin(6);
  text_->setProperty("framed", true);
  text_->setFixedHeight(6 * fontMetrics().height());
  column()->insertWidget(1, text_);
  connect(text_, &QPlainTextEdit::textChanged, this, &NotesView::save);
}

void NotesView::set_file(const QString& file) {
  file_ = file + QStringLiteral(".notes.json");
}

void NotesView::load(Store* store) {
  notes_.clear();
  QFile file(file_);
  if (store && file.open(QIODevice::ReadOnly)) {
    const auto json =
        QJsonDocument::fromJson(file.readAll()).object()[QStringLiteral("notes")].toObject();
    for (auto it = json.begin(); it != json.end(); ++it) notes_[it.key()] = it.value().toString();
  }
  name_.clear();
  ListView::load(store);
}

void NotesView::fetch() {
  set_state(ViewState::ready);
  list();
}

void NotesView::follow(const Cursor& cursor) {
  const bool moved = cursor.node != this->cursor().node;
  ListView::follow(cursor);
  if (!store() || !moved) return;
  store()->ask(this, "node", {cursor.node}, [this](Result<TraceAnswer> node) {
    name_ = node && !node->rows.empty() ? qt(to_text(node->rows[0][3])) : QString();
    about_->setText(name_.isEmpty() ? tr("Choose a node") : tr("Note on %1").arg(name_));
    text_->setEnabled(!name_.isEmpty());
    const QSignalBlocker quiet(text_);
    const auto note = notes_.find(name_);
    text_->setPlainText(note == notes_.end() ? QString() : note->second);
  });
}

void NotesView::save() {
  if (name_.isEmpty()) return;
  const auto text = text_->toPlainText();
  if (text.trimmed().isEmpty())
    notes_.erase(name_);
  else
    notes_[name_] = text;
  list();
  QJsonObject all;
  for (const auto& [name, note] : notes_) all[name] = note;
  QSaveFile file(file_);
  const QJsonObject json{{QStringLiteral("schema"), QStringLiteral("assay.notes/1")},
                         {QStringLiteral("notes"), all}};
  if (!file.open(QIODevice::WriteOnly) || file.write(QJsonDocument(json).toJson()) < 0 ||
      !file.commit())
    desk().say(tr("Notes cannot be saved: %1").arg(file.errorString()));
}

void NotesView::list() {
  std::vector<TextRow> rows;
  for (const auto& [name, note] : notes_)
    rows.push_back({.cells = {name, QString(note).replace('\n', ' ')}});
  this->rows()->set_empty_text(tr("No remarks yet: what is written above stands here too"));
  model()->set_rows(std::move(rows));
}

void NotesView::chosen(const TextRow& row) {
  desk().go_node(row.cells.value(0));
}

}  // namespace assay
