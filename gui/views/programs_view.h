// A compiled program: launches, the text of the one that the cursor is at, and why it is so.
#pragma once
#include <QLineEdit>

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
  void receive(ProgramFacts program);
  void fill_decisions();
  void show_step(std::int64_t step);
  void show_text(const QString& name, const QString& text, const std::vector<int>& lines);

  Store* store_ = nullptr;
  Cursor cursor_;
  ProgramFacts program_;
  std::int64_t shown_ = -1;
  QLabel* summary_;
  TextModel* launch_model_;
  TextModel* decision_model_;
  RowTable* launches_;
  RowTable* decisions_;
  QLineEdit* filter_;
  QLabel* counts_;
  QLabel* text_name_;
  CodePane* text_;
};

}  // namespace assay
