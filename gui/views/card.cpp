#include "gui/views/card.h"

#include "gui/views/theme.h"
#include "gui/views/view.h"

namespace assay {
namespace {

auto cell(const std::string& text, Token token) -> QString {
  return QStringLiteral("<td style='padding-right:12px; color:%1'><code>%2</code></td>")
      .arg(tone(token).name(), html(text));
}

}  // namespace

auto card_html(const Card& card) -> QString {
  const auto muted = tone(Token::muted).name();
  auto text = QStringLiteral(
                  "<p style='white-space:pre'><b>%1</b>&nbsp; <span style='color:%2'>%3</span><br>"
                  "<span style='color:%4'>%5 %6</span></p>")
                  .arg(html(card.title), muted, html(card.target), tone(token_of(card.mark)).name(),
                       html(std::string(mark_text(card.mark))), html(card.status));
  if (!card.rows.empty()) {
    text += View::tr(
                "<table><tr><td></td><td style='color:%1'>claimed</td><td "
                "style='color:%1'>real</td></tr>")
                .arg(muted);
    for (const auto& row : card.rows)
      text += QStringLiteral("<tr><td style='color:%1; padding-right:12px'>%2</td>%3%4</tr>")
                  .arg(muted, qt(row.name), cell(row.claimed, Token::text),
                       cell(row.real, row.differs ? Token::bad : Token::text));
    text += QStringLiteral("</table>");
  }
  if (!card.place.empty())
    text += QStringLiteral("<p style='color:%1'>%2</p>").arg(muted, html(card.place));
  return text;
}

}  // namespace assay
