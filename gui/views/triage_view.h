// The first look: the verdict in one sentence, the node where it begins, and what to do next.
#pragma once
#include <QTextBrowser>

#include "gui/data/triage.h"
#include "gui/views/view.h"

namespace assay {

class StorageMapWidget;

class TriageView : public View {
  Q_OBJECT

 public:
  explicit TriageView(Desk& desk);
  void load(Store* store) override;
  void follow(const Cursor& cursor) override;
  void theme_changed() override;
  /// Where no trace is open: what is being made of the file, or why nothing was.
  void tell(const QString& sentence, bool failed);
  /// Files to offer while none is open.
  void set_recent(const QStringList& files);
  /// The finding `step` away from the cursor's, wrapping around; null if there is none.
  [[nodiscard]] auto neighbour(const Cursor& cursor, int step) const -> const TriageFinding*;
  [[nodiscard]] auto triage() const -> const Triage& { return triage_; }

 signals:
  void ready();

 private:
  void show_start_page();
  void show_triage();
  void show_finding();
  [[nodiscard]] auto list_html() const -> QString;
  [[nodiscard]] auto finding_html(const TriageFinding& finding) const -> QString;
  [[nodiscard]] auto overview_html() const -> QString;

  Store* store_ = nullptr;
  Triage triage_;
  std::size_t shown_ = 0;
  QStringList recent_;
  QLabel* mark_;
  QLabel* sentence_;
  QLabel* details_;
  QTextBrowser* text_;
  QWidget* buttons_;
  QWidget* picture_;
};

}  // namespace assay
