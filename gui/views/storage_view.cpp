#include "gui/views/storage_view.h"

#include <algorithm>

#include <QVBoxLayout>

#include "gui/views/theme.h"

namespace assay {
namespace {

auto cell(const std::string& text, Token token) -> QString {
  return QStringLiteral("<td style='color:%1; padding-right:14px'><code>%2</code></td>")
      .arg(tone(token).name(), html(text));
}

auto compare_rows(const LeafFacts& claim, const LeafFacts* real) -> QString {
  struct Part {
    QString name;
    std::string LeafFacts::* member;
  };
  const std::array parts = {
      Part{View::tr("dtype"), &LeafFacts::dtype},     Part{View::tr("sizes"), &LeafFacts::sizes},
      Part{View::tr("strides"), &LeafFacts::strides}, Part{View::tr("offset"), &LeafFacts::offset},
      Part{View::tr("device"), &LeafFacts::device},   Part{View::tr("value"), &LeafFacts::value}};
  QString text;
  for (const auto& part : parts) {
    const auto& claimed = claim.*part.member;
    const auto seen = real != nullptr ? real->*part.member : std::string();
    if (claimed.empty() && seen.empty()) continue;
    text +=
        QStringLiteral("<tr><td style='color:%1; padding-right:14px'>%2</td>%3%4</tr>")
            .arg(tone(Token::muted).name(), part.name, cell(claimed, Token::text),
                 cell(real != nullptr ? seen : "–", real != nullptr ? Token::text : Token::muted));
  }
  return text;
}

auto links(const NodeFacts& facts, const std::vector<NodeRef>& refs) -> QString {
  QStringList all;
  for (const auto& ref : refs) all << node_link(facts.graph, ref.id, ref.name);
  return all.isEmpty() ? View::tr("none") : all.join(QStringLiteral(", "));
}

/// First elements: what the graph gives, and what a program made of it left.
auto values_html(const NodeFacts& facts) -> QString {
  if (facts.values.empty()) return {};
  const auto muted = tone(Token::muted).name();
  auto text = View::tr("<p style='color:%1'>first values</p>").arg(muted);
  for (const auto& one : facts.values) {
    const auto who = one.is_program ? View::tr("real: %1 %2").arg(html(one.leaf), html(one.of))
                     : one.of == "made-up" ? View::tr("made up %1").arg(html(one.leaf))
                                           : View::tr("graph %1").arg(html(one.leaf));
    text += QStringLiteral("<p>%2 <span style='color:%1'>%3</span><br><code>%4</code></p>")
                .arg(muted, who, html(one.layout), html(one.elements));
  }
  return text;
}

auto facts_html(const NodeFacts& facts) -> QString {
  const auto muted = tone(Token::muted).name();
  auto text = QStringLiteral(
                  "<style>a { color: %1; text-decoration: none; }</style>"
                  "<h3>%2 <span style='color:%3; font-weight:normal'>%4   #%5</span></h3>"
                  "<p><code>%6</code></p>")
                  .arg(tone(Token::accent).name(), html(facts.name), muted, html(facts.target))
                  .arg(facts.seq)
                  .arg(html(facts.call));
  for (const auto& finding : facts.findings)
    text +=
        QStringLiteral("<p style='color:%1'>▲ %2</p>").arg(tone(Token::bad).name(), html(finding));
  if (!facts.reason.empty())
    text += QStringLiteral("<p style='color:%1'>%2: %3</p>")
                .arg(tone(Token::note).name(), html(facts.status), html(facts.reason));
  text += View::tr(
              "<table><tr><td></td><td style='color:%1'>claimed</td><td style='color:%1'>"
              "real</td></tr>")
              .arg(muted);
  for (const auto& claim : facts.claimed) {
    const auto real = std::ranges::find(facts.real, claim.leaf, &LeafFacts::leaf);
    if (!claim.leaf.empty())
      text += QStringLiteral("<tr><td colspan=3><b>%1</b></td></tr>").arg(html(claim.leaf));
    text += compare_rows(claim,
                         real == facts.real.end() || facts.status == "failed" ? nullptr : &*real);
  }
  text += View::tr(
              "</table><p><span style='color:%1'>inputs</span> %2<br>"
              "<span style='color:%1'>readers</span> %3</p>")
              .arg(muted, links(facts, facts.inputs), links(facts, facts.users));
  text += values_html(facts);
  if (!facts.file.empty())
    text += QStringLiteral("<p><span style='color:%1'>%2:%3</span> %4<br><code>%5</code></p>")
                .arg(muted, html(facts.file))
                .arg(facts.line)
                .arg(html(facts.function), html(facts.code));
  if (!facts.module.empty())
    text +=
        View::tr("<p><span style='color:%1'>module</span> %2</p>").arg(muted, html(facts.module));
  return text;
}

}  // namespace

StorageView::StorageView(Desk& desk)
    : View(QStringLiteral("storage"), tr("Tensor and storage"), desk),
      picture_(new StoragePicture(desk)),
      sentence_(new QLabel),
      text_(new QTextBrowser) {
  set_tab_title(tr("Storage"));
  auto* body = new QWidget;
  auto* column = new QVBoxLayout(body);
  column->setContentsMargins(14, 10, 14, 8);
  sentence_->setWordWrap(true);
  sentence_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  column->addWidget(sentence_);
  column->addWidget(picture_);
  text_->setFrameShape(QFrame::NoFrame);
  text_->setAccessibleName(tr("Node"));
  column->addWidget(text_, 1);
  set_body(body);
  serve_links(text_);
  connect(picture_, &StoragePicture::changed, this, [this] {
    const auto& map = picture_->map();
    sentence_->setText(qt(map.sentence));
    sentence_->setVisible(!map.sentence.empty());
  });
}

void StorageView::load(Store* store) {
  store_ = store;
  cursor_ = {};
  facts_ = {};
  picture_->load(store);
  set_state(ViewState::empty,
            store ? tr("Choose a node: what it claims, what is real, and its storage stand here")
                  : tr("No trace is open"));
}

void StorageView::follow(const Cursor& cursor) {
  if (!store_ || cursor.node == cursor_.node) return;
  cursor_ = cursor;
  if (cursor.node == 0)
    return set_state(ViewState::empty, tr("Choose a node: what it claims, what is real, "
                                          "and its storage stand here"));
  picture_->show_node(cursor);
  store_->ask<NodeFacts>(
      this, "facts",
      [node = cursor.node](const TraceReader& reader) { return read_node_facts(reader, node); },
      [this](Result<NodeFacts> facts) {
        if (!facts) return set_state(ViewState::failed, qt(facts.error().message));
        facts_ = std::move(*facts);
        text_->setHtml(facts_html(facts_));
        set_state(ViewState::ready);
      });
}

void StorageView::theme_changed() {
  if (facts_.id != 0) text_->setHtml(facts_html(facts_));
}

void StorageView::follow_sizes() {
  if (cursor_.node != 0) picture_->show_node(cursor_);
}

auto StorageView::draw_picture(QPainter& painter, const QSize& size) -> bool {
  if (state() != ViewState::ready || picture_->is_empty()) return false;
  picture_->paint(painter, size);
  return true;
}

}  // namespace assay
