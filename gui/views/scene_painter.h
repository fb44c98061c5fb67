// Draws a part of a scene at a scale, with as much detail as fits: the same for tiles in worker
// threads, for pictures, and for vectors.
#pragma once
#include <memory>

#include <QImage>
#include <QPainter>

#include "gui/data/scene.h"

namespace assay {

enum class Overlay : std::uint8_t { status, bytes, dtype, dynamic };

/// Height of a box on the screen from which on it gets more than a colour.
inline constexpr double kNameHeight = 11;
inline constexpr double kDetailHeight = 24;

struct ScenePaint {
  std::shared_ptr<const Scene> scene;
  Overlay overlay = Overlay::status;
  bool dark = false;
  QFont font;
};
/// `area` in the scene's units comes to lie at (0, 0).
void paint_scene(QPainter& painter, const ScenePaint& paint, const QRectF& area, double scale);
/// A tile of a scene with more boxes than are worth drawing one by one.
[[nodiscard]] auto density_tile(const ScenePaint& paint, const QRectF& area, const QSize& pixels)
    -> QImage;

}  // namespace assay
