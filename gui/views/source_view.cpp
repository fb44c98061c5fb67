#include "gui/views/source_view.h"

#include <array>

#include <QFile>
#include <QPainter>
#include <QRegularExpression>
#include <QSplitter>
#include <QSyntaxHighlighter>
#include <QTextBlock>
#include <QVBoxLayout>

#include "gui/data/statements.h"
#include "gui/views/elided_label.h"
#include "gui/views/theme.h"

namespace assay {
namespace {

/// Comments, strings, numbers and a few words: enough to find one's way.
class Highlighter : public QSyntaxHighlighter {
 public:
  using QSyntaxHighlighter::QSyntaxHighlighter;

 protected:
  void highlightBlock(const QString& text) override {
    static const QRegularExpression words(QStringLiteral(
        R"((#.*$)|("[^"]*"|'[^']*')|\b(def|class|return|import|from|for|in|if|else|None|True|False|with|as|del)\b|\b(\d+)\b)"));
    constexpr std::array kTones = {Token::muted, Token::dynamic, Token::accent, Token::note};
    auto matches = words.globalMatch(text);
    while (matches.hasNext()) {
      const auto match = matches.next();
      for (int i = 1; i <= 4; ++i)
        if (match.capturedStart(i) >= 0)
          setFormat(static_cast<int>(match.capturedStart(i)),
                    static_cast<int>(match.capturedLength(i)),
                    tone(kTones[static_cast<std::size_t>(i - 1)]));
    }
  }
};

class Numbers : public QWidget {
 public:
  explicit Numbers(CodePane* pane) : QWidget(pane), pane_(pane) {}

 protected:
  void paintEvent(QPaintEvent* event) override { pane_->paint_numbers(event); }

 private:
  CodePane* pane_;
};

}  // namespace

CodePane::CodePane(const QString& name) : numbers_(new Numbers(this)) {
  setReadOnly(true);
  setAccessibleName(name);
  setLineWrapMode(QPlainTextEdit::NoWrap);
  setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  highlighter_ = new Highlighter(document());
  connect(this, &QPlainTextEdit::updateRequest, numbers_, qOverload<>(&QWidget::update));
}

void CodePane::set_text(const QString& text) {
  setFont(code_font());
  setPlainText(text);
  lay_out();
}

void CodePane::lay_out() {
  const int digits = static_cast<int>(QString::number(std::max(blockCount(), 1)).size());
  const int width = fontMetrics().horizontalAdvance('0') * digits + 18;
  setViewportMargins(width, 0, 0, 0);
  numbers_->setGeometry(contentsRect().left(), contentsRect().top(), width,
                        contentsRect().height());
}

void CodePane::resizeEvent(QResizeEvent* event) {
  QPlainTextEdit::resizeEvent(event);
  lay_out();
}

void CodePane::paint_numbers(QPaintEvent* event) {
  QPainter painter(numbers_);
  painter.fillRect(event->rect(), tone(Token::raised));
  painter.setPen(tone(Token::muted));
  painter.setFont(font());
  auto block = document()->isEmpty() ? QTextBlock() : firstVisibleBlock();
  while (block.isValid()) {
    const auto r = blockBoundingGeometry(block).translated(contentOffset());
    if (r.top() > height()) break;
    painter.drawText(QRectF(0, r.top(), numbers_->width() - 8, r.height()), Qt::AlignRight,
                     QString::number(block.blockNumber() + 1));
    block = block.next();
  }
}

void CodePane::theme_changed() {
  highlighter_->rehighlight();
  mark_lines(marked_);
}

void CodePane::mark_lines(const std::vector<int>& lines) {
  marked_ = lines;
  QList<QTextEdit::ExtraSelection> marks;
  for (const int line : lines) {
    const auto block = document()->findBlockByNumber(line);
    if (!block.isValid()) continue;
    QTextEdit::ExtraSelection mark;
    mark.cursor = QTextCursor(block);
    mark.format.setBackground(tone(Token::selection));
    mark.format.setProperty(QTextFormat::FullWidthSelection, true);
    marks << mark;
  }
  setExtraSelections(marks);
  if (marks.isEmpty()) return;
  setTextCursor(marks.front().cursor);
  centerCursor();
}

void CodePane::mouseReleaseEvent(QMouseEvent* event) {
  QPlainTextEdit::mouseReleaseEvent(event);
  if (!textCursor().hasSelection())
    emit line_clicked(cursorForPosition(event->pos()).blockNumber());
}
void CodePane::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Return) return emit line_clicked(textCursor().blockNumber());
  QPlainTextEdit::keyPressEvent(event);
}

SourceView::SourceView(Desk& desk)
    : View(QStringLiteral("source"), tr("Source"), desk),
      left_(new CodePane(tr("Text of the graph"))),
      right_(new CodePane(tr("Source or compiled program"))),
      left_name_(new ElidedLabel),
      right_name_(new ElidedLabel),
      parts_(new QSplitter(Qt::Horizontal)) {
  for (const auto& [name, pane] : {std::pair(left_name_, left_), std::pair(right_name_, right_)}) {
    auto* side = new QWidget;
    auto* column = new QVBoxLayout(side);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    name->setMargin(5);
    name->setForegroundRole(QPalette::PlaceholderText);
    column->addWidget(name);
    column->addWidget(pane, 1);
    parts_->addWidget(side);
  }
  set_body(parts_);
  connect(left_, &CodePane::line_clicked, this, [this](int line) {
    if (const auto linked = linked_.find(line); linked != linked_.end())
      return this->desk().go({.graph = cursor_.graph, .node = linked->second});
    if (line < std::ssize(lines_.names) && !lines_.names[static_cast<std::size_t>(line)].empty())
      this->desk().go_node(qt(lines_.names[static_cast<std::size_t>(line)]));
  });
}

void SourceView::load(Store* store) {
  store_ = store;
  cursor_ = {};
  left_graph_ = 0;
  right_graph_ = 0;
  right_file_.clear();
  right_->set_text({});
  right_name_->setText(tr("Choose a node: its source, or what it was compiled to, stands here"));
  set_state(ViewState::empty, store ? tr("Choose a graph") : tr("No trace is open"));
}

void SourceView::follow(const Cursor& cursor) {
  if (!store_ || cursor == cursor_) return;
  cursor_ = cursor;
  if (cursor.graph != 0 && cursor.graph != left_graph_) load_graph(cursor.graph);
  if (cursor.node == 0) return;
  store_->ask<NodePlace>(
      this, "place",
      [node = cursor.node](const TraceReader& reader) -> Result<NodePlace> {
        const std::vector<TraceValue> parameters = {node};
        ASSAY_TRY(const auto found, reader.query(statement("node", reader.version()), parameters));
        if (found.rows.empty()) return bad_input("no node {}", node);
        const auto& row = found.rows[0];
        NodePlace place{to_text(row[3]), to_text(row[6]),   to_text(row[9]),
                        to_text(row[8]), to_number(row[7]), {}};
        if (reader.version() < 2) return place;
        ASSAY_TRY(const auto lines,
                  reader.query(statement("lines of node", reader.version()), parameters));
        for (const auto& line : lines.rows)
          place.programs[to_number(line[0])].push_back(static_cast<int>(to_number(line[1])) - 1);
        return place;
      },
      [this](Result<NodePlace> place) {
        if (place) show_node(*place);
      });
}

/// Side by side where lines have room, else one above the other.
void SourceView::resizeEvent(QResizeEvent* event) {
  View::resizeEvent(event);
  const bool is_narrow = width() < 90 * fontMetrics().horizontalAdvance('x') && height() > 300;
  parts_->setOrientation(is_narrow ? Qt::Vertical : Qt::Horizontal);
}

void SourceView::theme_changed() {
  left_->theme_changed();
  right_->theme_changed();
}

void SourceView::load_graph(TraceId graph) {
  left_graph_ = graph;
  if (state() != ViewState::ready) set_state(ViewState::loading, tr("Loading…"));
  store_->ask(this, "graph text", {graph}, [this](Result<TraceAnswer> answer) {
    if (!answer) return set_state(ViewState::failed, qt(answer.error().message));
    if (answer->rows.empty()) return;
    const auto text = to_text(answer->rows[0][2]);
    lines_ = text_lines(text);
    left_->set_text(qt(text));
    left_name_->setText(qt(to_text(answer->rows[0][0]) + "  " + to_text(answer->rows[0][1])));
    set_state(ViewState::ready);
    cursor_.node = 0;  // its line is looked up again in the new text
    follow(Cursor(std::exchange(cursor_, {})));
  });
  store_->ask(this, "line links", {graph}, [this](Result<TraceAnswer> answer) {
    linked_.clear();
    if (answer)
      for (const auto& row : answer->rows)
        linked_[static_cast<int>(to_number(row[0])) - 1] = to_number(row[1]);
  });
}

void SourceView::show_node(const NodePlace& place) {
  if (const auto line = lines_.line.find(place.name); line != lines_.line.end())
    left_->mark_lines({line->second});
  else
    left_->mark_lines({});
  if (!place.programs.empty())
    return show_program(place.programs.begin()->first, place.programs.begin()->second);
  show_source(place);
}

void SourceView::show_program(TraceId program, const std::vector<int>& lines) {
  if (right_graph_ == program) return right_->mark_lines(lines);
  store_->ask<TraceAnswer>(
      this, "program",
      [program](const TraceReader& reader) {
        const std::vector<TraceValue> parameters = {program};
        return reader.query(statement("graph text", reader.version()), parameters);
      },
      [this, program, lines](Result<TraceAnswer> answer) {
        if (!answer || answer->rows.empty()) return;
        right_graph_ = program;
        right_file_.clear();
        right_name_->setText(qt(to_text(answer->rows[0][0])));
        right_->set_text(qt(to_text(answer->rows[0][2])));
        right_->mark_lines(lines);
      });
}

void SourceView::show_source(const NodePlace& place) {
  right_graph_ = 0;
  if (place.file.empty()) {
    right_file_.clear();
    right_name_->setText(tr("no source is recorded for %1").arg(qt(place.name)));
    return right_->set_text({});
  }
  const auto file = qt(place.file);
  right_name_->setText(
      QStringLiteral("%1:%2 in %3").arg(file).arg(place.line).arg(qt(place.function)));
  if (right_file_ == file) return right_->mark_lines({static_cast<int>(place.line) - 1});
  QFile source(file);
  if (source.size() < (4 << 20) && source.open(QIODevice::ReadOnly)) {
    right_file_ = file;
    right_->set_text(QString::fromUtf8(source.readAll()));
    return right_->mark_lines({static_cast<int>(place.line) - 1});
  }
  right_file_.clear();
  right_name_->setText(right_name_->text() + tr("   (the file is not on this machine)"));
  right_->set_text(qt(place.code));
}

}  // namespace assay
