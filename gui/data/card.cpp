#include "gui/data/card.h"

#include <array>

namespace assay {
namespace {

/// Claims are expressions, reality is numbers: only what has no symbols can differ as text.
auto is_number_text(const std::string& text) -> bool {
  return text.find_first_not_of("0123456789-[], ") == std::string::npos;
}

}  // namespace

auto card_of(const NodeLine& line) -> Card {
  Card card{.title = line.name,
            .target = line.target,
            .mark = line.mark,
            .status = std::string(name(line.mark)),
            .rows = {},
            .place = {}};
  if (!line.finding.empty()) card.status += ": " + line.finding;
  const std::array rows = {CardRow{"dtype", line.dtype, line.real_dtype},
                           CardRow{"sizes", line.sizes, line.real_sizes},
                           CardRow{"strides", line.strides, line.real_strides},
                           CardRow{"offset", line.offset, line.real_offset},
                           CardRow{"value", line.value, line.real_value}};
  for (auto row : rows) {
    if (row.claimed.empty() && row.real.empty()) continue;
    if (row.name == "offset" && row.claimed == "0" && (row.real == "0" || row.real.empty()))
      continue;
    row.differs = !row.claimed.empty() && !row.real.empty() && row.claimed != row.real &&
                  (row.name == "dtype" || is_number_text(row.claimed));
    card.rows.push_back(std::move(row));
  }
  if (!line.file.empty())
    card.place = fmt::format("{}:{}", line.file.substr(line.file.rfind('/') + 1), line.line);
  if (!line.module.empty()) card.place += (card.place.empty() ? "" : " in ") + line.module;
  return card;
}

auto mark_text(NodeMark mark) -> std::string_view {
  constexpr std::array<std::string_view, 7> kShapes = {"▲", "△", "○", "□", "✕", "●", "–"};
  return kShapes[static_cast<std::size_t>(mark)];
}

}  // namespace assay
