// Symbols with their ranges, guards with their verdicts, and a slider for each symbol that
// evaluates all sizes of the graph anew.
#pragma once
#include <array>

#include <QScrollArea>
#include <QSlider>
#include <QSpinBox>

#include "gui/data/live_sizes.h"
#include "gui/views/list_view.h"

class QGridLayout;
class QPushButton;

namespace assay {

class SymbolsView : public ListView {
  Q_OBJECT

 public:
  explicit SymbolsView(Desk& desk);
  void load(Store* store) override;
  void follow(const Cursor& cursor) override;
  void follow_sizes() override;
  void theme_changed() override;
  /// As a slider does.
  void set_size(const std::string& symbol, std::int64_t value);
  void reset();

 protected:
  [[nodiscard]] auto is_costly() const -> bool override { return true; }
  void fetch() override;
  void chosen(const TextRow& row) override;

 private:
  void build_sliders();
  void evaluate();
  void show(const LiveState& state);
  void select();
  void look_into(const LiveGuard& guard);

  TraceId graph_ = 0;
  TraceId shown_ = 0;  ///< the guard whose details are seen
  std::shared_ptr<LiveSizes> live_;
  std::map<std::string, std::array<std::string, 3>> proved_;  ///< verdict, tier, witness
  LiveState state_;
  QScrollArea* area_;
  QLabel* summary_;
  QPushButton* reset_;
  struct Control {
    QSlider* slider;
    QSpinBox* box;
  };
  std::map<std::string, Control> controls_;
};

}  // namespace assay
