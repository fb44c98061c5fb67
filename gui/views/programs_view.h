// A compiled program: launches, the text of the one that the cursor is at, and why it is so.
#pragma once
#include <QComboBox>
#include <QLineEdit>
#include <QTextBrowser>

#include "gui/data/programs.h"
#include "gui/models/text_model.h"
#include "gui/views/row_table.h"
#include "gui/views/view.h"

namespace assay {

class CodePane;

class ProgramsView : public View {
  Q_OBJECT

 public:
  explicit ProgramsView(Desk& desk);
  void load(Store* store) override;
  void follow(const Cursor& cursor) override;
  void theme_changed() override;
  [[nodiscard]] auto table() const -> const RowTable* override { return launches_; }
  [[nodiscard]] auto launches() const -> const TextModel* { return launch_model_; }
  [[nodiscard]] auto decisions() const -> const TextModel* { return decision_model_; }
  /// Words that all must stand in a row: "fuse refused relu".
  void set_filter(const QString& text) { filter_->setText(text); }

 private:
  /// The first program, or the one of the cursor where that is another.
  void ask(const Cursor& cursor);
  void receive(ProgramFacts program);
  [[nodiscard]] auto lines_found(std::int64_t step) const -> std::vector<int>;
  void fill_launches();
  void fill_decisions();
  void go_to_launch(const LaunchFacts& launch);
  void show_step(std::int64_t step);
  void show_found(const LaunchFacts& launch);
  void show_text(const QString& name, const QString& text, const std::vector<int>& lines);

  Store* store_ = nullptr;
  Cursor cursor_;
  ProgramFacts program_;
  std::int64_t shown_ = -1;
  QComboBox* choice_;      ///< of several programs
  bool go_first_ = false;  ///< to the first launch of the program that comes
  QLabel* summary_;
  TextModel* launch_model_;
  TextModel* decision_model_;
  RowTable* launches_;
  RowTable* decisions_;
  QWidget* decision_side_ = nullptr;  ///< with their filter; of programs that have none hidden
  QLineEdit* filter_;
  QLabel* counts_;
  QLabel* text_name_;
  QTextBrowser* found_;  ///< what a run found at the step, and what it left
  CodePane* text_;
};

}  // namespace assay
