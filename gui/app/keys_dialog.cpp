#include "gui/app/keys_dialog.h"

#include <QAction>
#include <QDialogButtonBox>
#include <QPushButton>
#include <QVBoxLayout>

#include "gui/views/row_table.h"

namespace assay {
namespace {

auto text_of(const QList<QKeySequence>& keys) -> QString {
  return QKeySequence::listToString(keys, QKeySequence::NativeText);
}

}  // namespace

KeysDialog::KeysDialog(Window& window)
    : QDialog(&window),
      window_(window),
      model_(new TextModel({tr("Command"), tr("Keys"), tr("As delivered")}, this)),
      table_(new RowTable),
      filter_(new QLineEdit),
      keys_(new QKeySequenceEdit),
      message_(new QLabel) {
  setObjectName(QStringLiteral("keys_dialog"));
  setWindowTitle(tr("Change keys"));
  table_->set_model(model_, {260, 150, 150});
  table_->setAccessibleName(tr("Commands and their keys"));
  filter_->setPlaceholderText(tr("Part of a command's name"));
  filter_->setAccessibleName(tr("Filter of commands"));
  keys_->setAccessibleName(tr("New keys"));
  keys_->setObjectName(QStringLiteral("new_keys"));
  message_->setWordWrap(true);
  message_->setObjectName(QStringLiteral("keys_message"));
  auto* row = new QHBoxLayout;
  row->addWidget(keys_, 1);
  const auto button = [&](const char* id, const QString& text, auto&& act) {
    auto* made = new QPushButton(text);
    made->setObjectName(QLatin1String(id));
    made->setAutoDefault(false);
    connect(made, &QPushButton::clicked, this, act);
    row->addWidget(made);
  };
  button("keys_set", tr("Set"), [this] {
    if (!keys_->keySequence().isEmpty()) set({keys_->keySequence()});
  });
  button("keys_remove", tr("No key"), [this] { set({}); });
  button("keys_reset", tr("As delivered"), [this] { reset(); });
  auto* column = new QVBoxLayout(this);
  column->addWidget(filter_);
  column->addWidget(table_, 1);
  column->addLayout(row);
  column->addWidget(message_);
  auto* close = new QDialogButtonBox(QDialogButtonBox::Close);
  connect(close, &QDialogButtonBox::rejected, this, &QDialog::close);
  column->addWidget(close);
  connect(filter_, &QLineEdit::textChanged, this, &KeysDialog::fill);
  connect(table_, &RowTable::chosen, this, [this] {
    message_->clear();
    keys_->clear();
  });
  resize(600, 560);
  fill();
}

void KeysDialog::fill() {
  std::vector<TextRow> rows;
  for (const auto& [id, action] : window_.actions_by_id())
    if (action->text().contains(filter_->text(), Qt::CaseInsensitive))
      rows.push_back({.cells = {action->text(), text_of(action->shortcuts()),
                                text_of(window_.delivered_keys(id)), id}});
  model_->set_rows(std::move(rows));
}

auto KeysDialog::chosen() const -> QString {
  const auto* row = model_->row(table_->current_row());
  return row != nullptr ? row->cells.value(3) : QString();
}

void KeysDialog::set(const QList<QKeySequence>& keys) {
  const auto id = chosen();
  if (id.isEmpty()) return message_->setText(tr("Choose a command first"));
  if (const auto* owner = window_.set_keys(id, keys))
    return message_->setText(
        tr("%1 belongs to \"%2\"; take it away there first").arg(text_of(keys), owner->text()));
  message_->setText(keys.isEmpty() ? tr("It has no key now")
                                   : tr("It is %1 now").arg(text_of(keys)));
  const int row = table_->current_row();
  fill();
  table_->set_current_row(row);
}

void KeysDialog::reset() {
  if (const auto id = chosen(); !id.isEmpty()) return set(window_.delivered_keys(id));
  message_->setText(tr("Choose a command first"));
}

}  // namespace assay
