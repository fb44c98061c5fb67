#include "gui/views/symbols_view.h"

#include <ranges>

#include <QGridLayout>
#include <QPushButton>

#include "gui/data/statements.h"
#include "gui/views/theme.h"

namespace assay {
namespace {

constexpr std::int64_t kMostSlider = 1 << 20;
constexpr std::size_t kMostSliders = 60;  ///< of what guards alone depend on there may be hundreds
constexpr int kFactsWidth = 300;          ///< pixels

auto int_of(std::int64_t value) -> int {
  return static_cast<int>(std::clamp<std::int64_t>(value, -kMostSlider, 1 << 30));
}

}  // namespace

SymbolsView::SymbolsView(Desk& desk)
    : ListView(QStringLiteral("symbols"), tr("Symbols and guards"), desk,
               {tr("Now"), tr("Verdict"), tr("Condition"), tr("Pins"), tr("Where")},
               {90, 130, 300, 110, 260}),
      area_(new QScrollArea),
      summary_(new QLabel),
      reset_(new QPushButton(tr("Sizes of the run"))) {
  set_tab_title(tr("Symbols"));
  area_->setWidgetResizable(true);
  area_->setMaximumHeight(200);
  area_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  area_->setFocusPolicy(Qt::NoFocus);
  column()->insertWidget(0, area_);
  bar()->setContentsMargins(10, 6, 10, 6);
  summary_->setWordWrap(true);
  bar()->addWidget(summary_, 1);
  bar()->addWidget(reset_);
  connect(reset_, &QPushButton::clicked, this, &SymbolsView::reset);
}

void SymbolsView::load(Store* store) {
  graph_ = 0;
  shown_ = 0;
  live_ = nullptr;
  controls_.clear();
  area_->setWidget(new QWidget);
  ListView::load(store);
}

void SymbolsView::fetch() {
  set_state(ViewState::empty, tr("Choose a graph"));
}

void SymbolsView::follow(const Cursor& cursor) {
  ListView::follow(cursor);
  if (!store() || cursor.graph == 0) return;
  if (cursor.graph == graph_) return select();
  graph_ = cursor.graph;
  set_state(ViewState::loading, tr("Reading what the graph claims…"));
  using Proved = std::map<std::string, std::array<std::string, 3>>;
  using Both = std::pair<std::shared_ptr<LiveSizes>, Proved>;
  store()->ask<Both>(
      this, "live",
      [graph = graph_](const TraceReader& reader) -> Result<Both> {
        ASSAY_TRY(auto live, LiveSizes::read(reader, graph));
        Proved proved;
        const std::vector<TraceValue> parameters = {graph};
        ASSAY_TRY(const auto rows,
                  reader.query(statement("guard proofs", reader.version()), parameters));
        for (const auto& row : rows.rows)
          proved[to_text(row[0])] = {to_text(row[1]), to_text(row[2]), to_text(row[3])};
        return Both{std::move(live), std::move(proved)};
      },
      [this](Result<Both> both) {
        if (!both) return set_state(ViewState::failed, qt(both.error().message));
        live_ = both->first;
        proved_ = both->second;
        build_sliders();
        evaluate();
      });
}

void SymbolsView::build_sliders() {
  controls_.clear();
  auto* inside = new QWidget;
  auto* grid = new QGridLayout(inside);
  grid->setContentsMargins(12, 10, 12, 6);
  grid->setHorizontalSpacing(12);
  grid->setColumnStretch(1, 1);
  int line = 0;
  const auto state = live_->at(desk().sizes);
  for (const auto& symbol : live_->symbols() | std::views::take(kMostSliders)) {
    const auto now = state.sizes.contains(symbol.name) ? state.sizes.at(symbol.name) : symbol.low;
    auto* name = new QLabel(QStringLiteral("<b>%1</b>").arg(html(symbol.name)));
    name->setToolTip(qt(symbol.source));
    auto* slider = new QSlider(Qt::Horizontal);
    slider->setAccessibleName(tr("Size of %1").arg(qt(symbol.name)));
    slider->setObjectName(QStringLiteral("slider_") + qt(symbol.name));
    slider->setMinimumWidth(120);
    slider->setRange(int_of(symbol.low), int_of(std::min(symbol.high, kMostSlider)));
    slider->setValue(int_of(now));
    auto* box = new QSpinBox;
    box->setAccessibleName(tr("Value of %1").arg(qt(symbol.name)));
    box->setRange(int_of(symbol.low), int_of(symbol.high));
    box->setValue(int_of(now));
    const auto all =
        tr("[%1, %2]  %3  %4")
            .arg(qt(symbol.low_text), qt(symbol.high_text),
                 symbol.hint ? tr("hint %1").arg(*symbol.hint) : QString(), qt(symbol.source));
    auto* facts = new QLabel(fontMetrics().elidedText(all, Qt::ElideRight, kFactsWidth));
    facts->setTextFormat(Qt::PlainText);
    facts->setToolTip(all);
    facts->setForegroundRole(QPalette::PlaceholderText);
    grid->addWidget(name, line, 0);
    grid->addWidget(slider, line, 1);
    grid->addWidget(box, line, 2);
    grid->addWidget(facts, line++, 3);
    connect(slider, &QSlider::valueChanged, box, &QSpinBox::setValue);
    connect(box, &QSpinBox::valueChanged, this, [this, symbol_name = symbol.name](int value) {
      controls_.at(symbol_name).slider->setValue(value);
      set_size(symbol_name, value);
    });
    controls_[symbol.name] = {slider, box};
  }
  area_->setWidget(inside);
  area_->setVisible(line > 0);
  area_->setFixedHeight(std::min(inside->sizeHint().height() + 2, 200));
}

void SymbolsView::set_size(const std::string& symbol, std::int64_t value) {
  if (const auto known = desk().sizes.find(symbol);
      known != desk().sizes.end() && known->second == value)
    return;
  desk().sizes[symbol] = value;
  desk().sizes_changed();
}

void SymbolsView::reset() {
  desk().sizes.clear();
  if (live_)
    for (const auto& [name, value] : live_->at({}).sizes)
      if (const auto control = controls_.find(name); control != controls_.end()) {
        const QSignalBlocker quiet(control->second.box);
        control->second.slider->setValue(int_of(value));
        control->second.box->setValue(int_of(value));
      }
  desk().sizes_changed();
}

void SymbolsView::theme_changed() {
  if (live_) show(state_);
}

void SymbolsView::follow_sizes() {
  evaluate();
}

void SymbolsView::evaluate() {
  if (!live_ || !store()) return;
  store()->ask<LiveState>(
      this, "evaluate",
      [live = live_, sizes = desk().sizes](const TraceReader&) -> Result<LiveState> {
        return live->at(sizes);
      },
      [this](Result<LiveState> state) { show(*state); });
}

void SymbolsView::show(const LiveState& state) {
  state_ = state;
  const int broken = state.broken_guards();
  NamedSizes shown;
  for (const auto& symbol : live_->symbols())
    if (const auto size = state.sizes.find(symbol.name); size != state.sizes.end())
      shown.insert(*size);
  summary_->setToolTip(qt(sizes_text(shown)));
  summary_->setText(
      tr("%1; <span style='color:%2'>%3</span>; %4 of %5 nodes depend on sizes, %6 differ from "
         "the run%7")
          .arg(html(short_sizes_text(shown)), tone(broken > 0 ? Token::bad : Token::muted).name(),
               state.guards.empty()
                   ? tr("no guards are recorded")
                   : tr("%1 of %2 guards fail").arg(broken).arg(state.guards.size()))
          .arg(state.dynamic_count)
          .arg(state.nodes)
          .arg(state.changed_count)
          .arg(state.failed > 0 ? tr(", %1 have no size").arg(state.failed) : QString()));
  reset_->setEnabled(!desk().sizes.empty());
  std::vector<TextRow> rows;
  for (const auto& guard : state.guards) {
    const auto proof = proved_.find(guard.condition);
    const auto verdict = proof == proved_.end() ? std::string("not proved") : proof->second[0];
    QStringList pins;
    for (const auto& symbol : guard.symbols) pins << qt(symbol);
    const auto mark = !guard.holds   ? NodeMark::unchecked
                      : *guard.holds ? NodeMark::ok
                                     : NodeMark::root;
    rows.push_back({.cells = {!guard.holds   ? tr("unknown")
                              : *guard.holds ? tr("holds")
                                             : tr("fails"),
                              qt(verdict), qt(guard.condition), pins.join(QStringLiteral(", ")),
                              qt(guard.origin)},
                    .mark = static_cast<int>(mark),
                    .bad_column = guard.holds == false ? 2 : -1,
                    .key = guard.seq});
  }
  const int current = this->rows()->current_row();
  const bool any = !rows.empty() || (live_ && !live_->symbols().empty());
  if (any) {
    this->rows()->set_empty_text(tr("No guards are recorded of this graph"));
    set_rows(std::move(rows), {});
    set_state(ViewState::ready);
  } else {
    set_rows({}, tr("This graph has neither symbols nor guards"));
  }
  this->rows()->set_current_row(current);
  QString text;
  if (!state.changed.empty()) {
    text = tr("<h4>Sizes that change</h4><table>");
    for (const auto& node : state.changed)
      text += QStringLiteral(
                  "<tr><td>%1</td><td "
                  "style='color:%2'><code>%3</code></td><td><code>%4</code></td></tr>")
                  .arg(node_link(graph_, node.id, node.name), tone(Token::muted).name(),
                       html(node.before), html(node.sizes));
    text += QStringLiteral("</table>");
  }
  set_detail(text);
  if (text.isEmpty()) shown_ = 0;
  select();
}

/// The row of the cursor's guard, once it is there.
void SymbolsView::select() {
  const auto wanted = cursor().guard;
  if (wanted == 0 || wanted == shown_) return;
  for (const auto& guard : state_.guards) {
    if (guard.id != wanted) continue;
    for (int i = 0; i < model()->rowCount(); ++i)
      if (model()->row(i)->key == guard.seq) rows()->set_current_row(i);
    look_into(guard);
  }
}

void SymbolsView::chosen(const TextRow& row) {
  for (const auto& guard : state_.guards) {
    if (guard.seq != row.key) continue;
    look_into(guard);
    desk().go({.graph = graph_, .node = cursor().node, .guard = guard.id});
  }
}

void SymbolsView::look_into(const LiveGuard& guard) {
  shown_ = guard.id;
  const auto proof = proved_.find(guard.condition);
  auto text = QStringLiteral("<p><code>%1</code></p><p style='color:%2'>%3</p>")
                  .arg(html(guard.text.empty() ? guard.condition : guard.text),
                       tone(Token::muted).name(), html(guard.origin));
  if (proof != proved_.end())
    text += QStringLiteral("<p>%1 (%2) %3</p>")
                .arg(html(proof->second[0]), html(proof->second[1]), html(proof->second[2])) +
            run_there_html(proof->second[2]);
  set_detail(text);
}

}  // namespace assay
