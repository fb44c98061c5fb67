// The small card that is shown where the mouse rests.
#pragma once
#include <QString>

#include "gui/data/card.h"

namespace assay {

/// As rich text for a tool tip.
[[nodiscard]] auto card_html(const Card& card) -> QString;

}  // namespace assay
