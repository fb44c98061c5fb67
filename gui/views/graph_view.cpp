#include "gui/views/graph_view.h"

#include <QHBoxLayout>
#include <QLocale>
#include <QToolTip>
#include <QVBoxLayout>

#include "gui/views/card.h"
#include "gui/views/theme.h"

namespace assay {
namespace {

/// Nodes of a graph that is read and laid out whole; of a larger one what is near to the cursor.
constexpr std::int64_t kMostWhole = 1'500'000;
constexpr int kFirstRadius = 3;
constexpr std::size_t kMostWritten = 20'000;

/// Of a closed or open module: how many nodes, and the worst that became of one.
auto module_card(const Scene& scene, const SceneBox& box) -> QString {
  return card_html({.title = scene.module(box),
                    .target = scene.detail(box),
                    .mark = box.mark,
                    .status = std::string(name(box.mark)),
                    .rows = {},
                    .place = {}});
}

}  // namespace

GraphView::GraphView(Desk& desk)
    : View(QStringLiteral("graph"), tr("Graph"), desk),
      canvas_(new GraphCanvas),
      overlay_(new QComboBox),
      info_(new QLabel),
      all_(new QPushButton) {
  pool_.setMaxThreadCount(1);
  auto* body = new QWidget;
  auto* column = new QVBoxLayout(body);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(8, 4, 8, 4);
  bar->setSpacing(8);
  auto* label = new QLabel(tr("Colour"));
  label->setForegroundRole(QPalette::PlaceholderText);
  label->setBuddy(overlay_);
  overlay_->addItems({tr("status"), tr("bytes"), tr("dtype"), tr("dynamic dimension")});
  overlay_->setAccessibleName(tr("What colours mean"));
  info_->setForegroundRole(QPalette::PlaceholderText);
  all_->setText(tr("Show everything"));
  all_->setObjectName(QStringLiteral("graph_everything"));
  all_->hide();
  bar->addWidget(label);
  bar->addWidget(overlay_);
  bar->addSpacing(10);
  bar->addWidget(info_, 1);
  bar->addWidget(all_);
  column->addLayout(bar);
  column->addWidget(canvas_, 1);
  set_body(body);
  setFocusProxy(canvas_);
  connect(overlay_, &QComboBox::currentIndexChanged, this,
          [this](int index) { canvas_->set_overlay(static_cast<Overlay>(index)); });
  connect(all_, &QPushButton::clicked, this, &GraphView::show_everything);
  connect(canvas_, &GraphCanvas::picked, this, [this](int box) {
    const auto& one = canvas_->scene()->boxes[static_cast<std::size_t>(box)];
    if (one.node < 0)
      return info_->setText(
          qt(canvas_->scene()->module(one) + ": " + canvas_->scene()->detail(one)));
    this->desk().go(
        {.graph = data_->graph, .node = data_->nodes[static_cast<std::size_t>(one.node)].id});
  });
  connect(canvas_, &GraphCanvas::hovered, this, [this](int box, const QPoint& at) {
    const auto& one = canvas_->scene()->boxes[static_cast<std::size_t>(box)];
    if (one.node >= 0)
      return this->desk().show_card(
          {.graph = data_->graph, .node = data_->nodes[static_cast<std::size_t>(one.node)].id}, at);
    QToolTip::showText(at, module_card(*canvas_->scene(), one), canvas_);
  });
  connect(canvas_, &GraphCanvas::opened, this, [this](int box) {
    const auto& one = canvas_->scene()->boxes[static_cast<std::size_t>(box)];
    if (one.module < 0) return canvas_->reveal(one.node, true);
    const auto module = canvas_->scene()->module(one);
    if (!options_.open.erase(module)) options_.open.insert(module);
    lay_out(node_of_cursor());
  });
}

GraphView::~GraphView() {
  if (stop_) *stop_ = true;
  pool_.waitForDone();
}

void GraphView::load(Store* store) {
  store_ = store;
  data_ = nullptr;
  cursor_ = {};
  options_ = {};
  radius_ = 0;
  path_from_ = -1;
  set_state(ViewState::empty, store ? tr("Choose a graph") : tr("No trace is open"));
}

void GraphView::follow(const Cursor& cursor) {
  if (!store_) return;
  const bool other_graph =
      cursor.graph != 0 && (!data_ || data_->graph != cursor.graph || is_beyond(cursor));
  const bool moved = cursor.node != cursor_.node;
  if (cursor.graph == 0) return;
  cursor_ = cursor;
  if (!other_graph) {
    canvas_->set_selected(node_of_cursor());
    if (moved) reveal_cursor(false);
    return;
  }
  radius_ = 0;
  read();
}

/// A node that the part which was read does not hold.
auto GraphView::is_beyond(const Cursor& cursor) const -> bool {
  return data_->is_part() && cursor.node != 0 && data_->find(cursor.node) < 0;
}

void GraphView::read() {
  if (!data_ || data_->graph != cursor_.graph)
    set_state(ViewState::loading, tr("Reading the graph…"));
  if (radius_ == 0) radius_ = kFirstRadius;
  store_->ask<GraphData>(
      this, "graph",
      [at = cursor_, radius = radius_](const TraceReader& reader) -> Result<GraphData> {
        ASSAY_TRY(const auto count, count_nodes(reader, at.graph));
        if (count <= kMostWhole) return read_graph(reader, at.graph);
        if (at.node != 0) return read_around(reader, at, radius);
        GraphData nothing;
        nothing.total = count;
        return nothing;
      },
      [this](Result<GraphData> read) {
        if (!read) return set_state(ViewState::failed, qt(read.error().message));
        if (read->is_part() && read->nodes.empty())
          return set_state(ViewState::empty,
                           tr("Of %1 nodes not all are drawn at once.\nChoose one, in Nodes or by "
                              "Ctrl+G: what is near to it stands here.")
                               .arg(QLocale().toString(qlonglong{read->total})));
        if (read->nodes.empty())
          return set_state(ViewState::empty, tr("This graph has no nodes in the trace"));
        data_ = std::make_shared<const GraphData>(std::move(*read));
        if (!data_->is_part()) radius_ = 0;
        options_ = {};
        options_.flat = data_->is_part();
        if (const int node = node_of_cursor(); node >= 0)
          for (const auto& module : modules_above(*data_, node)) options_.open.insert(module);
        reveal_after_ = true;
        lay_out(-1);
      });
}

auto GraphView::node_of_cursor() const -> int {
  return data_ ? data_->find(cursor_.node) : -1;
}

auto GraphView::is_busy() const -> bool {
  return laying_out_ > 0 || (isVisible() && canvas_->is_busy());
}

void GraphView::lay_out(int anchor, Choice choose) {
  if (!data_) return;
  if (stop_) *stop_ = true;
  stop_ = std::make_shared<std::atomic<bool>>(false);
  ++laying_out_;
  if (state() != ViewState::ready) set_state(ViewState::loading, tr("Laying out the graph…"));
  pool_.start([this, graph = data_, options = options_, stop = stop_, anchor,
               choose = std::move(choose)]() mutable {
    if (choose) options.only = choose(*graph, stop.get());
    const bool nothing = choose && options.only.empty();
    auto scene = nothing ? std::nullopt : make_scene(graph, options, stop.get());
    auto shared = scene ? std::make_shared<const Scene>(std::move(*scene)) : nullptr;
    QMetaObject::invokeMethod(
        this,
        [this, shared, graph, anchor, only = std::move(options.only), missed = nothing && !*stop] {
          --laying_out_;
          if (missed) desk().say(tr("No way leads from one to the other"));
          if (!shared || graph != data_) return;
          options_.only = only;
          set_state(ViewState::ready);
          canvas_->set_scene(shared, anchor);
          canvas_->set_selected(node_of_cursor());
          show_counts();
          if (std::exchange(reveal_after_, false)) reveal_cursor(true);
        },
        Qt::QueuedConnection);
  });
}

void GraphView::show_counts() {
  const auto& scene = *canvas_->scene();
  const auto shown = std::ranges::count_if(scene.boxes, [](const auto& b) { return !b.is_open; });
  const auto portals = std::ranges::count_if(scene.edges, &SceneEdge::is_portal);
  const auto all = QLocale().toString(qlonglong{data_->total});
  auto text = data_->is_part()
                  ? tr("%1 of %2 nodes, within %3 edges: N shows more")
                        .arg(QLocale().toString(qlonglong(data_->nodes.size())), all)
                        .arg(radius_)
                  : tr("%1 nodes in %2 boxes").arg(all, QLocale().toString(qlonglong(shown)));
  if (!options_.only.empty())
    text = path_from_ >= 0 && radius_ == 0
               ? tr("%1 nodes on ways between the two").arg(options_.only.size())
               : tr("%1 nodes within %2 edges").arg(options_.only.size()).arg(radius_);
  if (portals > 0) text += tr(", %1 long edges as portals").arg(portals);
  info_->setText(text);
  all_->setVisible(!options_.only.empty());
}

void GraphView::reveal_cursor(bool close) {
  const int node = node_of_cursor();
  if (node >= 0) canvas_->reveal(node, close);
}

void GraphView::expand_selected() {
  const int node = node_of_cursor();
  if (node < 0 || !canvas_->scene()) return expand_to_finding();
  for (const auto& module : modules_above(*data_, node)) options_.open.insert(module);
  const int box = canvas_->scene()->box_of_node[static_cast<std::size_t>(node)];
  if (box >= 0)
    if (const auto& one = canvas_->scene()->boxes[static_cast<std::size_t>(box)]; one.module >= 0)
      options_.open.insert(canvas_->scene()->module(one));
  reveal_after_ = true;
  lay_out(node);
}

void GraphView::expand_to_finding() {
  if (!data_) return;
  for (std::size_t i = 0; i < data_->nodes.size(); ++i)
    if (data_->nodes[i].mark == NodeMark::root)
      for (const auto& module : modules_above(*data_, static_cast<int>(i)))
        options_.open.insert(module);
  reveal_after_ = true;
  lay_out(node_of_cursor());
}

void GraphView::expand_all() {
  options_.flat = true;
  lay_out(node_of_cursor());
}

void GraphView::collapse_all() {
  options_.flat = false;
  options_.open.clear();
  lay_out(-1);
}

void GraphView::show_neighbourhood() {
  const int node = node_of_cursor();
  if (node < 0) return desk().say(tr("Choose a node first"));
  if (data_->is_part()) {
    ++radius_;
    return read();
  }
  radius_ = options_.only.empty() || radius_ == 0 ? 2 : radius_ + 1;
  path_from_ = -1;
  reveal_after_ = true;
  lay_out(node, [node, radius = radius_](const GraphData& graph, StopFlag stop) {
    return neighbourhood(graph, node, radius, 400, stop);
  });
}

void GraphView::show_path() {
  const int node = node_of_cursor();
  if (node < 0) return desk().say(tr("Choose a node first"));
  if (path_from_ < 0 || path_from_ == node) {
    path_from_ = node;
    canvas_->set_second(node);
    return desk().say(tr("Now choose the other end and press P again"));
  }
  radius_ = 0;
  lay_out(-1, [a = path_from_, b = node](const GraphData& graph, StopFlag stop) {
    return path_between(graph, a, b, 100, stop);
  });
}

void GraphView::show_everything() {
  options_.only.clear();
  path_from_ = -1;
  if (data_ && data_->is_part()) {
    radius_ = 0;
    canvas_->set_second(-1);
    return read();
  }
  options_.flat = false;
  radius_ = 0;
  canvas_->set_second(-1);
  reveal_after_ = true;
  lay_out(node_of_cursor());
}

void GraphView::fit() {
  canvas_->fit();
}

/// Every box with its name, unless there are too many for one file.
auto GraphView::picture_size() const -> QSize {
  const auto& scene = canvas_->scene();
  if (!scene || state() != ViewState::ready || scene->boxes.size() > kMostWritten) return size();
  return QSizeF(double(scene->width), double(scene->height)).toSize();
}

auto GraphView::draw_picture(QPainter& painter, const QSize& size) -> bool {
  if (!canvas_->scene() || state() != ViewState::ready) return false;
  const auto& scene = canvas_->scene();
  const double scale =
      std::min(size.width() / double(scene->width), size.height() / double(scene->height));
  paint_scene(painter, {scene, canvas_->overlay(), is_dark(), font()},
              {0, 0, double(scene->width), double(scene->height)}, scale);
  return true;
}

}  // namespace assay
