#include "gui/views/triage_view.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QPushButton>
#include <QVBoxLayout>

#include "gui/views/list_view.h"
#include "gui/views/storage_picture.h"
#include "gui/views/theme.h"

namespace assay {
namespace {

struct NextStep {
  const char* action;
  const char* text;
  const char* tip;
  bool needs_finding;
};
constexpr std::array kNextSteps = {
    NextStep{"run.prove", "Prove for all sizes", "Decide guards and storage bounds for every size",
             false},
    NextStep{"run.minify", "Minify", "Cut the input down to the smallest that still fails", true},
    NextStep{"copy.repro", "Copy repro command", "The command that shows this finding again", true},
    NextStep{"run.bundle", "Export bundle", "Pack input and verdict into one file", false},
};
constexpr std::size_t kMostGraphs = 100;
constexpr std::size_t kMostListed = 40;

auto row(const QString& name, const std::string& value, Token token) -> QString {
  if (value.empty()) return {};
  return QStringLiteral(
             "<tr><td style='color:%1; padding-right:14px'>%2</td><td style='color:%3'><code>%4"
             "</code></td></tr>")
      .arg(tone(Token::muted).name(), name, tone(token).name(), html(value));
}

auto place_in_program(const TriageFinding& finding) -> std::string {
  auto text = fmt::format("line {}", finding.program_line);
  if (!finding.launch.empty()) text += ", " + finding.launch;
  if (finding.kernel_line > 0) text += fmt::format(" line {}", finding.kernel_line);
  return text;
}

}  // namespace

TriageView::TriageView(Desk& desk)
    : View(QStringLiteral("triage"), tr("Triage"), desk),
      mark_(new QLabel),
      sentence_(new QLabel),
      details_(new QLabel),
      text_(new QTextBrowser),
      buttons_(new QWidget),
      picture_(new StoragePicture(desk)) {
  auto* body = new QWidget;
  auto* column = new QVBoxLayout(body);
  column->setContentsMargins(18, 14, 18, 10);
  column->setSpacing(6);
  auto big = scaled(sentence_->font(), 1.35);
  big.setBold(true);
  sentence_->setFont(big);
  sentence_->setWordWrap(true);
  sentence_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  sentence_->setAccessibleName(tr("Verdict"));
  details_->setForegroundRole(QPalette::PlaceholderText);
  details_->setWordWrap(true);
  details_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* head = new QHBoxLayout;
  head->setSpacing(10);
  mark_->setFixedSize(22, 22);
  head->addWidget(mark_, 0, Qt::AlignTop);
  head->addWidget(sentence_, 1);
  column->addLayout(head);
  column->addWidget(details_);
  auto* row_of_buttons = new QHBoxLayout(buttons_);
  row_of_buttons->setContentsMargins(0, 4, 0, 4);
  for (const auto& step : kNextSteps) {
    auto* button = new QPushButton(tr(step.text));
    button->setToolTip(tr(step.tip));
    button->setAccessibleDescription(tr(step.tip));
    button->setObjectName(QString::fromLatin1(step.action));
    connect(button, &QPushButton::clicked, this,
            [this, id = QString::fromLatin1(step.action)] { this->desk().act(id); });
    row_of_buttons->addWidget(button);
  }
  row_of_buttons->addStretch(1);
  column->addWidget(buttons_);
  text_->setFrameShape(QFrame::NoFrame);
  text_->setAccessibleName(tr("Findings"));
  serve_links(text_, [this](const QString& at) {
    if (at.startsWith(QStringLiteral("finding:")))
      this->desk().go(triage_.findings[at.mid(8).toULong()].cursor);
    if (at.startsWith(QStringLiteral("do:"))) this->desk().act(at.mid(3));
    if (at.startsWith(QStringLiteral("at:"))) this->desk().run_at(at.mid(3));
  });
  column->addWidget(picture_);
  column->addWidget(text_, 1);
  set_body(body);
}

void TriageView::load(Store* store) {
  store_ = store;
  triage_ = {};
  shown_ = 0;
  static_cast<StoragePicture*>(picture_)->load(store);
  if (!store) return show_start_page();
  set_state(ViewState::loading, tr("Loading…"));
  store->ask<Triage>(
      this, "triage", [](const TraceReader& reader) { return read_triage(reader); },
      [this](Result<Triage> triage) {
        if (!triage) return set_state(ViewState::failed, qt(triage.error().message));
        triage_ = std::move(*triage);
        show_triage();
        emit ready();
      });
}

void TriageView::set_recent(const QStringList& files) {
  recent_ = files;
  if (store_ == nullptr && state() == ViewState::empty) show_start_page();
}

void TriageView::tell(const QString& sentence, bool failed) {
  if (store_ == nullptr) set_state(failed ? ViewState::failed : ViewState::loading, sentence);
}

void TriageView::show_start_page() {
  auto page =
      tr("<p>Open a trace, a bundle, a capture, a wrapper or a TORCH_TRACE log: Ctrl+O, or "
         "drop it here.</p>");
  for (const auto& path : recent_) {
    const QFileInfo file(path);
    page +=
        QStringLiteral(
            "<p style='margin:6px'><a style='color:%1' href=\"%2\">%3</a><br>"
            "<span style='color:%4'>%5</span></p>")
            .arg(tone(Token::accent).name(), path.toHtmlEscaped(), file.fileName().toHtmlEscaped(),
                 tone(Token::muted).name(), file.absolutePath().toHtmlEscaped());
  }
  set_start_page(page);
}

void TriageView::follow(const Cursor& cursor) {
  const auto before = shown_;
  for (std::size_t i = 0; i < triage_.findings.size(); ++i)
    if (triage_.findings[i].id == cursor.finding ||
        (cursor.finding == 0 && cursor.node != 0 &&
         triage_.findings[i].cursor.node == cursor.node)) {
      shown_ = i;
      break;
    }
  if (shown_ != before) show_finding();
}

void TriageView::theme_changed() {
  if (state() == ViewState::empty) return show_start_page();
  if (state() == ViewState::ready) show_triage();
}

auto TriageView::neighbour(const Cursor& cursor, int step) const -> const TriageFinding* {
  const auto count = std::ssize(triage_.findings);
  if (count == 0) return nullptr;
  auto at = std::ptrdiff_t{step > 0 ? -1 : 0};
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const auto& finding = triage_.findings[static_cast<std::size_t>(i)];
    if (finding.id == cursor.finding ||
        (cursor.finding == 0 && cursor.node != 0 && finding.cursor.node == cursor.node)) {
      at = i;
      break;
    }
  }
  return &triage_.findings[static_cast<std::size_t>((at + step + count) % count)];
}

void TriageView::show_triage() {
  set_state(ViewState::ready);
  sentence_->setText(qt(triage_.sentence));
  details_->setText(qt(triage_.details));
  setAccessibleDescription(sentence_->text());
  QPixmap pixmap(QSize(22, 22) * devicePixelRatioF());
  pixmap.setDevicePixelRatio(devicePixelRatioF());
  pixmap.fill(Qt::transparent);
  QPainter painter(&pixmap);
  draw_mark(painter, {2, 3, 18, 18}, triage_.is_clean ? NodeMark::ok : NodeMark::root);
  painter.end();
  mark_->setPixmap(pixmap);
  buttons_->setVisible(triage_.command == "debug" || triage_.command == "trace" ||
                       triage_.command == "prove");
  const auto& counts = triage_.counts;
  const auto proofs = counts.proved + counts.refuted + counts.unknown;
  for (const auto& step : kNextSteps)
    if (auto* button = buttons_->findChild<QPushButton*>(QString::fromLatin1(step.action)))
      button->setVisible(step.needs_finding
                             ? !triage_.is_clean
                             : std::string_view(step.action) != "run.prove" || proofs == 0);
  show_finding();
}

auto TriageView::finding_html(const TriageFinding& finding) const -> QString {
  QString witness;
  const auto& at = finding.cursor;
  auto text = QStringLiteral("<h3>%1 <span style='color:%2; font-weight:normal'>%3</span></h3>")
                  .arg(at.node != 0     ? node_link(at.graph, at.node, finding.node)
                       : at.launch != 0 ? launch_link(at.graph, at.launch, finding.launch)
                                        : html(finding.title),
                       tone(Token::muted).name(),
                       html(finding.target + "   " + finding.kind + ", " + finding.blame));
  text += QStringLiteral("<p>%1</p><table>").arg(html(finding.message));
  text += row(tr("claimed"), finding.claimed, Token::bad);
  text += row(tr("real"), finding.observed, Token::ok);
  text += row(tr("rule"), finding.rule, Token::text);
  text += row(tr("sizes"), finding.witness, Token::dynamic);
  if (!finding.file.empty())
    text +=
        row(tr("source"), fmt::format("{}:{} in {}", finding.file, finding.line, finding.function),
            Token::text);
  text += row(tr("code"), finding.code, Token::text);
  if (triage_.command == "prove") witness = run_there_html(finding.witness);
  if (finding.program_line > 0) text += row(tr("program"), place_in_program(finding), Token::text);
  return text + QStringLiteral("</table>") + witness;
}

/// What the trace holds, where there is nothing to accuse.
auto TriageView::overview_html() const -> QString {
  auto text = tr("<p>%1 of %2, written %3 by %4.</p>")
                  .arg(html(triage_.command), html(triage_.source), html(triage_.started),
                       html(triage_.tool));
  const auto line = [](const QString& link, const QString& name, const QString& fact) {
    return QStringLiteral(
               "<tr><td style='padding-right:24px'><a href='%1'>%2</a></td><td "
               "style='color:%3'>%4</td></tr>")
        .arg(link, name, tone(Token::muted).name(), fact);
  };
  text += QStringLiteral("<table style='margin-top:8px'>");
  const auto& counts = triage_.counts;
  if (counts.proved + counts.refuted + counts.unknown > 0)
    text += line(QStringLiteral("do:show.proofs"), tr("Proofs"),
                 tr("%1 proved, %2 refuted, %3 undecided")
                     .arg(counts.proved)
                     .arg(counts.refuted)
                     .arg(counts.unknown));
  QStringList problems;
  for (const auto& [kind, count] : triage_.problems)
    problems << QStringLiteral("%1: %2").arg(html(kind)).arg(count);
  if (!problems.isEmpty())
    text += line(QStringLiteral("do:show.problems"), tr("Problems"),
                 problems.join(QStringLiteral(", ")));
  for (std::size_t i = 0; i < std::min(triage_.graphs.size(), kMostGraphs); ++i) {
    const auto& graph = triage_.graphs[i];
    QStringList facts;
    if (!graph.kind.empty()) facts << html(graph.kind);
    if (graph.nodes > 0) facts << tr("%1 nodes").arg(graph.nodes);
    text += line(QStringLiteral("graph:%1:0").arg(graph.id), html(graph.name),
                 facts.join(QStringLiteral(", ")));
  }
  text += QStringLiteral("</table>");
  if (triage_.graphs.size() > kMostGraphs)
    text += tr("<p>and %1 more</p>").arg(triage_.graphs.size() - kMostGraphs);
  return text;
}

void TriageView::show_finding() {
  QString text = QStringLiteral("<style>a { color: %1; text-decoration: none; }</style>")
                     .arg(tone(Token::accent).name());
  if (triage_.findings.empty()) {
    static_cast<StoragePicture*>(picture_)->show_node({});
    text_->setHtml(text + overview_html());
    return;
  }
  const auto& finding = triage_.findings[shown_];
  static_cast<StoragePicture*>(picture_)->show_node(finding.cursor);
  text += finding_html(finding);
  text_->setHtml(text + list_html());
}

/// All findings; of many those around the one that is shown: a table of hundreds takes long to lay
/// out.
auto TriageView::list_html() const -> QString {
  const auto count = triage_.findings.size();
  if (count < 2) return {};
  const auto first =
      std::min(shown_ - std::min(shown_, kMostListed / 2), count - std::min(count, kMostListed));
  const auto end = std::min(first + kMostListed, count);
  auto text = count <= kMostListed
                  ? tr("<h4>All findings (F8 next, Shift+F8 previous)</h4><table>")
                  : tr("<h4>Findings %1 to %2 of %3 (F8 next, Shift+F8 previous; the filter "
                       "status:mismatch of Nodes has them all)</h4><table>")
                        .arg(first + 1)
                        .arg(end)
                        .arg(count);
  for (auto i = first; i < end; ++i) {
    const auto& one = triage_.findings[i];
    text += QStringLiteral(
                "<tr><td style='color:%1; padding-right:12px'>%2</td><td style='padding-right:"
                "12px'><a href='finding:%3'>%4</a></td><td style='color:%5'>%6</td></tr>")
                .arg(tone(one.is_note()              ? Token::note
                          : one.blame == "inherited" ? Token::inherited
                                                     : Token::bad)
                         .name(),
                     one.is_note()              ? tr("○ note")
                     : one.blame == "inherited" ? tr("△ inherited")
                                                : tr("▲ root"))
                .arg(i)
                .arg(html(one.who().empty() ? one.kind : one.who()), tone(Token::muted).name(),
                     html(one.message));
  }
  return text + QStringLiteral("</table>");
}

}  // namespace assay
