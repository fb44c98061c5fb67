// One panel of the window: it follows the cursor, sets it by links, and is never blank.
#pragma once
#include <functional>
#include <optional>

#include <QLabel>
#include <QStackedLayout>
#include <QWidget>

#include "core/expr/eval.h"
#include "gui/data/cursor.h"
#include "gui/models/store.h"

class QTextBrowser;

namespace assay {

class RowTable;

/// What the window lends to its views.
struct Desk {
  std::function<void(const Cursor&)> go;
  std::function<void(const QString& id)> act;        ///< a registered action
  std::function<void(const QString&)> say;           ///< a line in the status bar
  std::function<void(const QString& name)> go_node;  ///< in the cursor's graph, by name
  /// The card of a node or launch, at this point of the screen.
  std::function<void(const Cursor&, const QPoint&)> show_card;
  std::function<void(const QString& path)> open;
  std::function<void(const QString& sizes)> run_at;  ///< analyses the input at "s77=9,s53=7"
  /// Sizes that the user plays with, by symbol name; empty: those of the run.
  std::map<std::string, std::int64_t> sizes;
  std::function<void()> sizes_changed;
};

enum class ViewState : std::uint8_t { empty, loading, ready, failed };

class View : public QWidget {
  Q_OBJECT

 public:
  /// `id` names the dock in layouts, scripts and links: "nodes".
  View(const QString& id, const QString& title, Desk& desk);
  [[nodiscard]] auto id() const -> QString { return objectName(); }
  [[nodiscard]] auto title() const -> QString { return title_; }
  /// The title, or a shorter one where it is a tab beside others.
  [[nodiscard]] auto tab_title() const -> QString {
    return tab_title_.isEmpty() ? title_ : tab_title_;
  }

  /// Another trace; null for none.
  virtual void load(Store* store) = 0;
  virtual void follow(const Cursor& cursor) = 0;
  /// follow(), at once or, where that is costly, when the view is seen. Not while it is pinned.
  void look_at(const Cursor& cursor);
  /// A pinned view stays where it is; unpinned it goes to where the others are.
  void set_pinned(bool pinned);
  void pin_at(const Cursor& cursor);
  [[nodiscard]] auto is_pinned() const -> bool { return pinned_; }
  /// Colours have changed: what was made of them is made anew.
  virtual void theme_changed() {}
  /// Sizes in the desk have changed.
  virtual void follow_sizes() {}
  /// Still computing, beside questions to the store.
  [[nodiscard]] virtual auto is_busy() const -> bool { return false; }
  /// Null where the view is no table.
  [[nodiscard]] virtual auto table() const -> const RowTable* { return nullptr; }
  /// All rows of the table; a view that reads them first writes them later. False: it cannot.
  virtual auto write_csv(const QString& path) -> bool;
  [[nodiscard]] virtual auto has_csv() const -> bool { return table() != nullptr; }
  /// Draws the view's picture in vectors where it has one.
  virtual auto draw_picture(QPainter& painter, const QSize& size) -> bool;
  /// The size at which all of the picture can be read.
  [[nodiscard]] virtual auto picture_size() const -> QSize { return size(); }

  [[nodiscard]] auto state() const -> ViewState { return state_; }

 protected:
  /// Reads a whole graph: not done for a view that nobody looks at.
  [[nodiscard]] virtual auto is_costly() const -> bool { return false; }
  void showEvent(QShowEvent* event) override;
  void set_tab_title(const QString& title) { tab_title_ = title; }
  void set_body(QWidget* body);
  void set_state(ViewState state, const QString& sentence = {});
  /// A sentence in rich text; what its links name is opened.
  void set_start_page(const QString& page);
  /// A line above the body: what is missing from it; empty hides it.
  void set_banner(const QString& text);
  [[nodiscard]] auto desk() const -> Desk& { return desk_; }
  /// Links to nodes and launches are gone to, and have a card under the mouse; what else is clicked
  /// goes to `other`.
  void serve_links(QTextBrowser* browser, std::function<void(const QString&)> other = {});

 private:
  void show_at(const Cursor& cursor);

  QString title_, tab_title_;
  Desk& desk_;
  ViewState state_ = ViewState::empty;
  std::optional<Cursor> unseen_;
  bool pinned_ = false;
  Cursor newest_;  ///< where the others are
  QLabel* banner_;
  QLabel* sentence_;
  QStackedLayout* stack_;
};

[[nodiscard]] inline auto qt(const std::string& text) -> QString {
  return QString::fromStdString(text);
}
/// For rich text.
[[nodiscard]] inline auto html(const std::string& text) -> QString {
  return QString::fromStdString(text).toHtmlEscaped();
}
/// `<a href="node:12">name</a>`; link_cursor() reads it back.
[[nodiscard]] auto node_link(TraceId graph, TraceId node, const std::string& name) -> QString;
/// The same for a launch.
[[nodiscard]] auto launch_link(TraceId graph, TraceId launch, const std::string& name) -> QString;
[[nodiscard]] auto link_cursor(const QString& href) -> std::optional<Cursor>;

}  // namespace assay
