// Texts side by side with the lines of one node marked in each: the graph, and what it came from or
// was compiled to.
#pragma once
#include <QComboBox>
#include <QPlainTextEdit>

#include "gui/data/text_lines.h"
#include "gui/views/view.h"

class QSyntaxHighlighter;

class QSplitter;

namespace assay {

/// Read-only text with line numbers, marked lines, and a signal for the line that is clicked.
class CodePane : public QPlainTextEdit {
  Q_OBJECT

 public:
  explicit CodePane(const QString& name);
  void set_text(const QString& text);
  void mark_lines(const std::vector<int>& lines);  ///< from 0; scrolls to the first
  void theme_changed();
  void paint_numbers(QPaintEvent* event);

 signals:
  void line_clicked(int line);

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void lay_out();
  QWidget* numbers_;
  QSyntaxHighlighter* highlighter_;
  std::vector<int> marked_;
};

class SourceView : public View {
  Q_OBJECT

 public:
  explicit SourceView(Desk& desk);
  void load(Store* store) override;
  void follow(const Cursor& cursor) override;
  void theme_changed() override;

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  struct NodePlace {
    std::string name, file, code, function;
    std::int64_t line = 0;
    /// Lines (from 1) of programs that were made from the node.
    std::map<TraceId, std::vector<int>> programs;
  };
  void load_graph(TraceId graph);
  void show_node(const NodePlace& place);
  void show_program(TraceId program, const std::vector<int>& lines);
  void show_source(const NodePlace& place);

  Store* store_ = nullptr;
  Cursor cursor_;
  TraceId left_graph_ = 0;
  TraceId right_graph_ = 0;
  QString right_file_;
  TextLines lines_;
  std::map<int, TraceId> linked_;  ///< line of the left text (from 0) -> node of another graph
  CodePane* left_;
  CodePane* right_;
  QLabel* left_name_;
  QLabel* right_name_;
  QSplitter* parts_;
};

}  // namespace assay
