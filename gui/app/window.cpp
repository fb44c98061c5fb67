#include "gui/app/window.h"

#include <QApplication>
#include <QClipboard>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QInputDialog>
#include <QMenuBar>
#include <QMimeData>
#include <QMouseEvent>
#include <QPainter>
#include <QPushButton>
#include <QStatusBar>
#include <QToolBar>
#include <QToolButton>

#include "gui/app/actions.h"
#include "gui/views/console_view.h"
#include "gui/views/diff_view.h"
#include "gui/views/graph_view.h"
#include "gui/views/memory_view.h"
#include "gui/views/nodes_view.h"
#include "gui/views/notes_view.h"
#include "gui/views/plain_views.h"
#include "gui/views/programs_view.h"
#include "gui/views/source_view.h"
#include "gui/views/sql_view.h"
#include "gui/views/steps_view.h"
#include "gui/views/storage_view.h"
#include "gui/views/symbols_view.h"
#include "gui/views/theme.h"
#include "gui/views/triage_view.h"

namespace assay {
namespace {

auto qt(std::string_view text) -> QString {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

/// The node of the cursor: it gives way to what stands beside it.
class PlaceLabel : public QLabel {
 public:
  [[nodiscard]] auto sizeHint() const -> QSize override { return {0, QLabel::sizeHint().height()}; }
  [[nodiscard]] auto minimumSizeHint() const -> QSize override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    const auto area = contentsRect();
    auto bold = font();
    bold.setBold(true);
    const QFontMetrics metrics(bold);
    const auto name =
        metrics.elidedText(property("node").toString(), Qt::ElideMiddle, area.width());
    const int used = name.isEmpty() ? 0 : metrics.horizontalAdvance(name + QStringLiteral("  "));
    painter.setFont(bold);
    painter.drawText(area, Qt::AlignVCenter, name);
    painter.setFont(font());
    painter.setPen(palette().color(QPalette::PlaceholderText));
    const auto rest = area.adjusted(used, 0, 0, 0);
    painter.drawText(rest, Qt::AlignVCenter,
                     fontMetrics().elidedText(property("about").toString(), Qt::ElideRight,
                                              std::max(rest.width(), 0)));
  }
};

auto is_trace_file(const QString& path) -> bool {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) && file.read(15) == "SQLite format 3";
}

}  // namespace

Window::Window() {
  setWindowTitle(tr("Assay"));
  setObjectName(QStringLiteral("window"));
  setDockOptions(AllowNestedDocks | AllowTabbedDocks);  // nothing moves by itself
  setAcceptDrops(true);
  setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
  resize(1440, 900);
  desk_.go = [this](const Cursor& cursor) { go(cursor); };
  desk_.act = [this](const QString& id) {
    if (auto* found = action(id)) found->trigger();
  };
  desk_.say = [this](const QString& text) { statusBar()->showMessage(text, 8000); };
  desk_.go_node = [this](const QString& name) { go_to(QStringLiteral("node:") + name); };
  desk_.open = [this](const QString& path) { open(path); };
  desk_.run_at = [this](const QString& sizes) { run_at(sizes); };
  desk_.show_card = [this](const Cursor& cursor, const QPoint& at) { show_card(cursor, at); };
  desk_.sizes_changed = [this] {
    for (auto* one : views_) one->follow_sizes();
  };
  make_views();
  make_actions();
  make_bars();
  for (const auto& [id, made] : actions_) delivered_[id] = made->shortcuts();
  add_handlers();
  apply_theme(is_dark());
  apply_layout(QStringLiteral("triage"));
  qApp->installEventFilter(this);
}

Window::~Window() {
  qApp->removeEventFilter(this);
  for (auto* one : views_) one->load(nullptr);
}

void Window::make_views() {
  triage_ = new TriageView(desk_);
  nodes_ = new NodesView(desk_);
  graph_ = new GraphView(desk_);
  console_ = new ConsoleView(desk_);
  steps_ = new StepsView(desk_);
  diff_ = new DiffView(desk_);
  sql_ = new SqlView(desk_);
  notes_ = new NotesView(desk_);
  environment_ = new EnvironmentView(desk_);
  views_ = {triage_,
            nodes_,
            graph_,
            new StorageView(desk_),
            new SourceView(desk_),
            new SymbolsView(desk_),
            new ProofsView(desk_),
            new CompileView(desk_),
            new ProgramsView(desk_),
            new MemoryView(desk_),
            steps_,
            diff_,
            sql_,
            notes_,
            console_,
            environment_,
            new ProblemsView(desk_)};
  connect(console_, &ConsoleView::changed, this, &Window::show_running);
  for (auto* one : views_) {
    auto* dock = new QDockWidget(one->title(), this);
    dock->setObjectName(one->id() + QStringLiteral("_dock"));
    dock->setWidget(one);
    dock->hide();
    addDockWidget(Qt::LeftDockWidgetArea, dock);
    docks_[one->id()] = dock;
    // Once the layout has settled.
    const auto trim = [this] {
      QMetaObject::invokeMethod(this, &Window::trim_titles, Qt::QueuedConnection);
    };
    connect(dock, &QDockWidget::visibilityChanged, this, trim);
    connect(dock, &QDockWidget::dockLocationChanged, this, trim);
    connect(dock, &QDockWidget::topLevelChanged, this, trim);
  }
  connect(triage_, &TriageView::ready, this, &Window::ready);
}

void Window::make_actions() {
  for (const auto& row : action_rows()) {
    auto* made = new QAction(tr(row.text.data()), this);
    made->setObjectName(qt(row.id));
    QList<QKeySequence> keys;
    for (const auto& key : qt(row.keys).split(' ', Qt::SkipEmptyParts)) keys << QKeySequence(key);
    made->setShortcuts(keys);
    if (row.view.empty()) {
      addAction(made);
    } else {
      made->setShortcutContext(Qt::WidgetWithChildrenShortcut);
      view(qt(row.view))->addAction(made);
    }
    connect(made, &QAction::triggered, this, [this, id = qt(row.id)] {
      if (const auto found = handlers_.find(id); found != handlers_.end()) found->second();
    });
    actions_[qt(row.id)] = made;
  }
  for (auto* one : views_) {
    auto* made = new QAction(one->title(), this);
    const auto id = QStringLiteral("show.") + one->id();
    made->setObjectName(id);
    connect(made, &QAction::triggered, this, [this, name = one->id()] { show_view(name); });
    addAction(made);
    actions_[id] = made;
  }
  int number = 0;
  for (const auto& row : layout_rows()) {
    auto* made = new QAction(tr("Layout: %1").arg(tr(row.text.data())), this);
    made->setShortcut(QKeySequence(QStringLiteral("Ctrl+%1").arg(++number)));
    const auto id = QStringLiteral("layout.") + qt(row.id);
    made->setObjectName(id);
    connect(made, &QAction::triggered, this, [this, name = qt(row.id)] { apply_layout(name); });
    addAction(made);
    actions_[id] = made;
  }
}

void Window::make_bars() {
  std::map<QString, QMenu*> menus;
  for (const auto& name : {tr("File"), tr("Go"), tr("Run"), tr("View"), tr("Help")})
    menus[name] = menuBar()->addMenu(name);
  for (const auto& row : action_rows()) {
    if (row.menu.empty()) continue;
    menus[qt(row.menu)]->addAction(actions_[qt(row.id)]);
    if (row.id == "file.open") recent_ = menus[tr("File")]->addMenu(tr("Open recent"));
  }
  recent_->setObjectName(QStringLiteral("recent"));
  connect(recent_, &QMenu::triggered, this, [this](const QAction* chosen) {
    if (const auto path = chosen->data().toString(); !path.isEmpty()) return open(path);
    session_->forget_recent();
    offer_recent();
  });
  offer_recent();
  auto* view_menu = menus[tr("View")];
  view_menu->addSeparator();
  for (const auto& [id, made] : actions_)
    if (id.startsWith(QStringLiteral("layout."))) view_menu->addAction(made);
  view_menu->addSeparator();
  for (auto* one : views_) view_menu->addAction(actions_[QStringLiteral("show.") + one->id()]);

  auto* bar = addToolBar(tr("Tools"));
  bar->setObjectName(QStringLiteral("tools"));
  bar->setMovable(false);
  bar->setToolButtonStyle(Qt::ToolButtonTextOnly);
  const auto add = [&](const char* id, const QString& text) {
    auto* made = actions_[QString::fromLatin1(id)];
    made->setIconText(text);
    made->setToolTip(QStringLiteral("%1 (%2)").arg(
        made->text(), made->shortcut().toString(QKeySequence::NativeText)));
    bar->addAction(made);
  };
  add("go.back", QStringLiteral("←"));
  add("go.forward", QStringLiteral("→"));
  add("go.previous_finding", QStringLiteral("▲"));
  add("go.next_finding", QStringLiteral("▼ next finding"));
  place_label_ = new PlaceLabel;
  place_label_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  place_label_->setContentsMargins(12, 0, 12, 0);
  place_label_->setAccessibleName(tr("Cursor"));
  bar->addWidget(place_label_);
  running_ = new QLabel;
  cancel_ = new QPushButton(tr("Cancel"));
  cancel_->setAccessibleName(tr("Cancel what is running"));
  cancel_->hide();
  connect(cancel_, &QPushButton::clicked, this, [this] { console_->cancel(); });
  statusBar()->addPermanentWidget(running_);
  statusBar()->addPermanentWidget(cancel_);
  layouts_ = new QTabBar;
  layouts_->setAccessibleName(tr("Layouts"));
  layouts_->setDrawBase(false);
  layouts_->setExpanding(false);
  for (const auto& row : layout_rows()) layouts_->addTab(tr(row.text.data()));
  connect(layouts_, &QTabBar::tabBarClicked, this, [this](int index) {
    if (index >= 0) apply_layout(qt(layout_rows()[static_cast<std::size_t>(index)].id));
  });
  bar->addWidget(layouts_);
}

void Window::handle(const QString& id, std::function<void()> handler) {
  handlers_[id] = std::move(handler);
}

void Window::add_handlers() {
  handle(QStringLiteral("file.open"), [this] {
    const auto path = QFileDialog::getOpenFileName(this, tr("Open"));
    if (!path.isEmpty()) open(path);
  });
  handle(QStringLiteral("file.reload"), [this] {
    if (!path_.isEmpty()) open(path_);
  });
  handle(QStringLiteral("file.quit"), [this] { close(); });
  handle(QStringLiteral("go.back"), [this] {
    if (history_.can_go_back()) follow(history_.back());
  });
  handle(QStringLiteral("go.forward"), [this] {
    if (history_.can_go_forward()) follow(history_.forward());
  });
  handle(QStringLiteral("go.next_finding"), [this] { walk_findings(1); });
  handle(QStringLiteral("go.previous_finding"), [this] { walk_findings(-1); });
  handle(QStringLiteral("go.next_graph"), [this] { walk_graphs(1); });
  handle(QStringLiteral("go.previous_graph"), [this] { walk_graphs(-1); });
  handle(QStringLiteral("go.node"), [this] {
    const auto name = QInputDialog::getText(this, tr("Go to node"), tr("Name of a node:"));
    if (!name.isEmpty()) go_to(QStringLiteral("node:") + name);
  });
  handle(QStringLiteral("nodes.filter"), [this] {
    show_view(QStringLiteral("nodes"));
    nodes_->focus_filter();
  });
  handle(QStringLiteral("copy.link"), [this] {
    QApplication::clipboard()->setText(link());
    desk_.say(tr("Copied %1").arg(link()));
  });
  add_run_handlers();
  add_graph_handlers();
  add_tool_handlers();
  handle(QStringLiteral("view.theme"), [this] {
    apply_theme(!is_dark());
    if (session_) session_->save_theme(is_dark());
  });
  handle(QStringLiteral("view.reset"), [this] { apply_layout(QStringLiteral("triage")); });
}

auto Window::action(const QString& id) const -> QAction* {
  const auto found = actions_.find(id);
  return found == actions_.end() ? nullptr : found->second;
}
auto Window::view(const QString& id) const -> View* {
  const auto found = std::ranges::find(views_, id, &View::id);
  return found == views_.end() ? nullptr : *found;
}

void Window::open(const QString& path) {
  if (!QFileInfo::exists(path)) return tell_failure(tr("%1: no such file").arg(path));
  save_place();
  if (is_trace_file(path)) {
    open_trace(path, path);
    return;
  }
  path_ = path;
  analyse(false);
}

/// In the middle of the window where nothing else is.
void Window::tell_failure(const QString& why) {
  if (store_) path_ = shown_;
  triage_->tell(why, true);
  desk_.say(why);
}

auto Window::open_trace(const QString& trace, const QString& path) -> bool {
  auto opened = Store::open(trace.toStdString());
  if (!opened) {
    const auto why = qt(opened.error().message);
    tell_failure(why.contains(trace) ? why : trace + QStringLiteral(": ") + why);
    return false;
  }
  path_ = path;
  shown_ = path;
  if (session_) session_->save_recent(path);
  offer_recent();
  environment_->set_file(path);
  notes_->set_file(path);
  for (auto* one : views_)
    if (one->is_pinned()) set_pinned(*one, false);
  cursor_ = {};
  history_ = {};
  desk_.sizes.clear();
  const auto old = std::move(store_);
  store_ = std::move(*opened);
  setWindowTitle(tr("%1 – Assay").arg(QFileInfo(path_).fileName()));
  for (auto* one : views_) one->load(store_.get());
  return true;
}

/// Triage knows the findings: the cursor starts at the first, else at the first graph.
void Window::ready() {
  const auto& findings = triage_->triage().findings;
  if (!findings.empty()) {
    go(findings.front().cursor);
  } else {
    store_->ask(this, "graphs", {}, [this](Result<TraceAnswer> graphs) {
      if (graphs && !graphs->rows.empty())
        go({.graph = to_number(graphs->rows[0][0])});
      else
        follow({});
    });
  }
  if (place_.isEmpty() && session_) place_ = session_->place(path_);
  if (!place_.isEmpty()) go_to(std::exchange(place_, {}));
  restore_pins();
}

void Window::go(const Cursor& cursor) {
  if (cursor.launch != 0 && cursor.node == 0 && store_) return find_launch(cursor);
  visit(cursor);
}

void Window::visit(const Cursor& cursor) {
  ++visits_;
  history_.go(cursor);
  follow(cursor);
}

void Window::follow(const Cursor& cursor) {
  cursor_ = cursor;
  for (auto* one : views_) one->look_at(cursor);
  actions_[QStringLiteral("go.back")]->setEnabled(history_.can_go_back());
  actions_[QStringLiteral("go.forward")]->setEnabled(history_.can_go_forward());
  if (!store_ || cursor.node == 0) return show_place({}, {});
  store_->ask(this, "node", {cursor.node}, [this](Result<TraceAnswer> node) {
    if (!node || node->rows.empty()) return;
    show_place(qt(to_text(node->rows[0][3])), qt(to_text(node->rows[0][4])));
  });
}

/// In the bar above all views: of a trace of many graphs also which one.
void Window::show_place(const QString& node, const QString& target) {
  const auto& graphs = triage_->triage().graphs;
  const auto graph = std::ranges::find(graphs, cursor_.graph, &TriageGraph::id);
  QStringList facts;
  if (!target.isEmpty()) facts << target;
  if (graphs.size() > 1 && graph != graphs.end())
    facts << QStringLiteral("%1 (%2)").arg(qt(graph->name), qt(graph->kind));
  place_label_->setProperty("node", node);
  place_label_->setProperty("about", facts.join(QStringLiteral("   ")));
  place_label_->setText(node + QStringLiteral("    ") + facts.join(QStringLiteral("    ")));
}

void Window::walk_findings(int step) {
  if (const auto* finding = triage_->neighbour(cursor_, step)) return go(finding->cursor);
  desk_.say(tr("There are no findings"));
}

/// Diff compares the graph with the one before it.
void Window::walk_graphs(int step) {
  const auto& graphs = triage_->triage().graphs;
  const auto at = std::ranges::find(graphs, cursor_.graph, &TriageGraph::id);
  const auto next = at == graphs.end() ? 0 : at - graphs.begin() + step;
  if (next < 0 || next >= std::ssize(graphs))
    return desk_.say(step > 0 ? tr("This is the last graph") : tr("This is the first graph"));
  const auto graph = graphs[static_cast<std::size_t>(next)].id;
  diff_->compare_with_previous(graph);
  go({.graph = graph});
}

void Window::show_view(const QString& id) {
  const auto found = docks_.find(id);
  if (found == docks_.end()) return;
  auto* dock = found->second;
  // A view that the layout has no place for comes as a tab beside the layout's last.
  if (dock->isHidden() && !placed_.contains(dock)) {
    tabifyDockWidget(placed_.back(), dock);
    placed_ << dock;
  }
  dock->show();
  dock->raise();
  dock->widget()->setFocus();
  clear_tab_lines();
}

/// Tabs of docks come with a line below them that no style sheet reaches.
void Window::clear_tab_lines() {
  for (auto* bar : findChildren<QTabBar*>()) bar->setDrawBase(false);
}

void Window::trim_titles() {
  for (const auto& [id, dock] : docks_) {
    const auto beside = tabifiedDockWidgets(dock);
    const bool is_tab = !dock->isFloating() && std::ranges::any_of(beside, [](const auto* other) {
      return !other->isHidden();
    });
    const auto* one = view(id);
    const auto title = is_tab ? one->tab_title() : one->title();
    dock->setWindowTitle(one->is_pinned() ? tr("%1 (pinned)").arg(title) : title);
    auto* bar = dock->titleBarWidget();
    if (is_tab == (bar != nullptr)) continue;
    dock->setTitleBarWidget(is_tab ? new QWidget(dock) : nullptr);
    delete bar;
  }
}

void Window::apply_layout(const QString& id) {
  const auto rows = layout_rows();
  const auto found = std::ranges::find(rows, id, [](const LayoutRow& r) { return qt(r.id); });
  if (found == rows.end()) return;
  layout_ = id;
  layouts_->setCurrentIndex(static_cast<int>(found - rows.begin()));
  for (const auto& [name, dock] : docks_) {
    removeDockWidget(dock);
    dock->setFloating(false);
  }
  // All columns first: a split of one that has rows already would only split its first row.
  std::vector<std::vector<QList<QDockWidget*>>> columns;
  for (const auto& column : qt(found->views).split('|')) {
    columns.emplace_back();
    for (const auto& row : column.split('/')) {
      columns.back().emplace_back();
      for (const auto& tab : row.split(','))
        if (auto* dock = docks_[tab.trimmed()]) columns.back().back() << dock;
    }
  }
  placed_.clear();
  for (const auto& rows_of : columns)
    for (const auto& row : rows_of) placed_ << row;
  QList<QDockWidget*> heads;
  for (const auto& rows_of : columns) {
    auto* head = rows_of.front().front();
    if (heads.isEmpty())
      addDockWidget(Qt::LeftDockWidgetArea, head, Qt::Horizontal);
    else
      splitDockWidget(heads.back(), head, Qt::Horizontal);
    heads << head;
  }
  for (const auto& rows_of : columns) fill_column(rows_of);
  QList<int> widths;
  for (int i = 0; i < heads.size(); ++i) widths << (i == 0 ? 3 : 2) * width() / 5;
  resizeDocks(heads, widths, Qt::Horizontal);
  clear_tab_lines();
}

void Window::fill_column(const std::vector<QList<QDockWidget*>>& rows) {
  QList<QDockWidget*> heads;
  for (const auto& row : rows) {
    if (!heads.isEmpty()) splitDockWidget(heads.back(), row.front(), Qt::Vertical);
    heads << row.front();
  }
  for (const auto& row : rows) {
    for (auto* dock : row) {
      if (dock != row.front()) tabifyDockWidget(row.front(), dock);
      dock->show();
    }
    row.front()->raise();
  }
  QList<int> heights;
  for (int i = 0; i < heads.size(); ++i) heights << (i == 0 ? 3 : 2) * height() / 5;
  resizeDocks(heads, heights, Qt::Vertical);
}

void Window::apply_theme(bool dark) {
  set_theme(dark);
  QApplication::setPalette(qt_palette());
  qApp->setStyleSheet(style_sheet());
  for (auto* one : views_) {
    one->theme_changed();
    one->update();
  }
  update();
}

auto Window::is_idle() const -> bool {
  return (!store_ || store_->is_idle()) &&
         std::ranges::none_of(views_, [](const View* one) { return one->is_busy(); });
}

auto Window::eventFilter(QObject* watched, QEvent* event) -> bool {
  if (event->type() != QEvent::MouseButtonPress || !watched->isWidgetType()) return false;
  const auto button = static_cast<const QMouseEvent*>(event)->button();
  if (button != Qt::BackButton && button != Qt::ForwardButton) return false;
  if (static_cast<const QWidget*>(watched)->window() != this) return false;
  action(button == Qt::BackButton ? QStringLiteral("go.back") : QStringLiteral("go.forward"))
      ->trigger();
  return true;
}

void Window::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}
void Window::dropEvent(QDropEvent* event) {
  if (const auto urls = event->mimeData()->urls(); !urls.isEmpty())
    open(urls.front().toLocalFile());
}

}  // namespace assay
