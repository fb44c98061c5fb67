// The window: one cursor that all views follow, docks with named layouts, one registry of actions.
#pragma once
#include <map>
#include <memory>

#include <QMainWindow>
#include <QTabBar>

#include "gui/app/session.h"
#include "gui/views/view.h"

class QDockWidget;
class QPushButton;

namespace assay {

class TriageView;
class NodesView;
class GraphView;
class ConsoleView;
class EnvironmentView;
class StepsView;
class DiffView;
class SqlView;
class NotesView;

class Window : public QMainWindow {
  Q_OBJECT

 public:
  Window();
  ~Window() override;

  /// Opens what the user names. Errors are shown, never thrown.
  void open(const QString& path);
  /// "node:NAME", "node:GRAPH:NAME", "finding:2", "graph:1", "step:7", "launch:3", "proof:4",
  /// "guard:5", as links hold behind `#`; once a trace is open.
  void go_to(const QString& place);
  void go(const Cursor& cursor);
  [[nodiscard]] auto cursor() const -> const Cursor& { return cursor_; }
  [[nodiscard]] auto store() const -> Store* { return store_.get(); }

  [[nodiscard]] auto action(const QString& id) const -> QAction*;
  [[nodiscard]] auto actions_by_id() const -> const std::map<QString, QAction*>& {
    return actions_;
  }
  [[nodiscard]] auto has_handler(const QString& id) const -> bool { return handlers_.contains(id); }
  [[nodiscard]] auto view(const QString& id) const -> View*;
  [[nodiscard]] auto views() const -> const std::vector<View*>& { return views_; }
  void show_view(const QString& id);
  void apply_layout(const QString& id);
  void apply_theme(bool dark);
  /// Restores what was saved there, and saves when the window closes. Without one nothing is kept.
  void use_session(std::unique_ptr<Session> session);
  [[nodiscard]] auto delivered_keys(const QString& id) const -> QList<QKeySequence>;
  /// Null if they are set; else the action that has one of them already.
  auto set_keys(const QString& id, const QList<QKeySequence>& keys) -> const QAction*;
  /// A view that stays where it is while the others follow the cursor.
  void set_pinned(View& view, bool pinned);

  /// The view that has the focus or whose tab has it, else the first that is seen.
  [[nodiscard]] auto current_view() const -> View*;
  /// As "png", "svg" or "csv"; false if it cannot be written or is no table.
  auto export_view(View& view, const QString& format, const QString& path) -> bool;

  /// Nothing is being asked, computed or run.
  [[nodiscard]] auto is_idle() const -> bool;

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void closeEvent(QCloseEvent* event) override;
  /// Of the mouse's buttons for back and forward, wherever it is.
  auto eventFilter(QObject* watched, QEvent* event) -> bool override;

 private:
  void make_views();
  void make_actions();
  void make_bars();
  void handle(const QString& id, std::function<void()> handler);
  void add_handlers();
  /// `path` is what the user opened, `trace` what was made of it. False, with everything as it was,
  /// if it is no trace that can be read.
  auto open_trace(const QString& trace, const QString& path) -> bool;
  /// Makes a trace of what is none, in a child process, and opens that.
  void analyse(bool prove, const QString& at = {});
  void minify();
  void export_bundle();
  void show_running();
  [[nodiscard]] auto cached_trace(bool prove, const QString& at) const -> QString;
  void add_run_handlers();
  void add_graph_handlers();
  void add_tool_handlers();
  void export_dialog(const QString& format);
  void ready();
  void follow(const Cursor& cursor);
  void show_place(const QString& node, const QString& target);
  void clear_tab_lines();
  /// A dock that is a tab has its name there, in short: its own title is left out.
  void trim_titles();
  void tell_failure(const QString& why);
  void offer_recent();
  void fill_column(const std::vector<QList<QDockWidget*>>& rows);
  void walk_findings(int step);
  void walk_graphs(int step);
  using Found = std::function<void(const Cursor&)>;
  /// Looks the place up and hands it to `found`; says so where there is none. A newer question of
  /// the same asker replaces an older one.
  void find_place(QObject* asker, const QString& place, Found found);
  /// In any graph, or in that one (0: any).
  void find_node(QObject* asker, const std::string& name, TraceId graph, Found found);
  /// A row that stands in a graph, perhaps at a node of it.
  void find_row(QObject* asker, const char* statement, const QString& place, Cursor cursor,
                Found found);
  void show_card(const Cursor& cursor, const QPoint& at);
  /// go(), without looking for nodes of a launch.
  void visit(const Cursor& cursor);
  void run_at(const QString& sizes);
  void save_place();
  void restore_pins();
  void tell_clashes();
  void find_launch(const Cursor& cursor);
  /// Where the cursor is, as links hold it; of nodes with their graph where `exact`.
  [[nodiscard]] auto place(bool exact) const -> QString;
  [[nodiscard]] auto link() const -> QString;

  Desk desk_;
  std::unique_ptr<Store> store_;
  QString path_;                     ///< what the user opened
  QString shown_;                    ///< the same of what is shown; another while that is analysed
  QString place_;                    ///< to go to once the trace is there
  std::map<QString, QString> pins_;  ///< by pinned view: its place, as place() gives it
  Cursor cursor_;
  CursorHistory history_;
  std::vector<View*> views_;
  std::map<QString, QDockWidget*> docks_;
  QList<QDockWidget*> placed_;  ///< those that the layout has a place for
  std::map<QString, QAction*> actions_;
  std::map<QString, std::function<void()>> handlers_;
  std::map<QString, QList<QKeySequence>> delivered_;
  int visits_ = 0;
  std::unique_ptr<Session> session_;
  QString layout_;
  TriageView* triage_ = nullptr;
  NodesView* nodes_ = nullptr;
  GraphView* graph_ = nullptr;
  ConsoleView* console_ = nullptr;
  EnvironmentView* environment_ = nullptr;
  StepsView* steps_ = nullptr;
  DiffView* diff_ = nullptr;
  SqlView* sql_ = nullptr;
  NotesView* notes_ = nullptr;
  QLabel* running_ = nullptr;
  QPushButton* cancel_ = nullptr;
  QTabBar* layouts_ = nullptr;
  QMenu* recent_ = nullptr;
  QLabel* place_label_ = nullptr;
};

}  // namespace assay
