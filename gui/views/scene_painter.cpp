#include "gui/views/scene_painter.h"

#include <cmath>
#include <map>

#include <QPainterPath>

#include "gui/views/theme.h"

namespace assay {
namespace {

constexpr int kSmallestLetters = 8;  ///< in pixels

constexpr double kBarWidth = 5;
constexpr double kRadius = 4;
/// A lie stays visible at any scale.
constexpr double kLeastMark = 6;

auto shade(bool dark, Token token) -> QColor {
  return QColor::fromRgb(color(dark ? kDark : kLight, token));
}

auto mix(const QColor& a, const QColor& b, double share) -> QColor {
  const auto part = [&](int x, int y) { return static_cast<int>(x + (y - x) * share); };
  return {part(a.red(), b.red()), part(a.green(), b.green()), part(a.blue(), b.blue())};
}

auto tint(const ScenePaint& paint, const SceneBox& box) -> QColor {
  switch (paint.overlay) {
    case Overlay::status:
      return shade(paint.dark, token_of(box.mark));
    case Overlay::bytes: {
      const double share = box.bytes <= 0 ? 0 : std::min(std::log2(double(box.bytes)) / 32, 1.0);
      return mix(shade(paint.dark, Token::line), shade(paint.dark, Token::accent), share);
    }
    case Overlay::dynamic:
      return shade(paint.dark, box.is_dynamic ? Token::dynamic : Token::line);
    case Overlay::dtype: {
      if (box.node < 0) return shade(paint.dark, Token::line);
      const auto dtype = paint.scene->data->dtype(box.node);
      if (dtype.starts_with("float") || dtype.starts_with("bfloat"))
        return mix(shade(paint.dark, Token::accent), shade(paint.dark, Token::panel),
                   dtype == "float32" || dtype == "float64" ? 0 : 0.45);
      if (dtype == "bool") return shade(paint.dark, Token::ok);
      return shade(paint.dark, dtype.empty() ? Token::line : Token::inherited);
    }
  }
  return {};
}

class ScenePainter {
 public:
  ScenePainter(QPainter& painter, const ScenePaint& paint, const QRectF& area, double scale)
      : p_(painter), paint_(paint), scene_(*paint.scene), area_(area), scale_(scale) {}

  void run() {
    p_.setFont(paint_.font);
    paint_boxes(true);
    if (scale_ > 0.12) paint_edges();
    paint_boxes(false);
    paint_lies();
  }

 private:
  [[nodiscard]] auto place(float x, float y) const -> QPointF {
    return {(double(x) - area_.left()) * scale_, (double(y) - area_.top()) * scale_};
  }
  [[nodiscard]] auto rect(const SceneBox& box) const -> QRectF {
    return {place(box.x, box.y), QSizeF(double(box.width) * scale_, double(box.height) * scale_)};
  }
  [[nodiscard]] auto tone_of(Token token) const -> QColor { return shade(paint_.dark, token); }

  void paint_boxes(bool open) {
    scene_.each_in(float(area_.left()), float(area_.top()), float(area_.right()),
                   float(area_.bottom()), [&](int i) {
                     const auto& box = scene_.boxes[static_cast<std::size_t>(i)];
                     if (box.is_open != open) return;
                     if (open)
                       paint_container(box);
                     else
                       paint_box(box);
                   });
  }

  void paint_container(const SceneBox& box) {
    const auto r = rect(box);
    p_.setRenderHint(QPainter::Antialiasing);
    p_.setPen(QPen(tone_of(Token::line), 1));
    p_.setBrush(mix(tone_of(Token::panel), tone_of(Token::raised), box.parent < 0 ? 0.7 : 1.0));
    p_.drawRoundedRect(r, kRadius, kRadius);
    if (24 * scale_ < kNameHeight) return;
    p_.setPen(tone_of(Token::muted));
    text({r.left() + 8, r.top() + 2, r.width() - 16, 22 * scale_},
         QStringLiteral("▾ ") + qt(scene_.label(box)) +
             QStringLiteral("   %1").arg(qt(scene_.detail(box))),
         false);
  }

  void paint_box(const SceneBox& box) {
    const auto r = rect(box);
    const auto color = tint(paint_, box);
    if (r.height() < 4) return p_.fillRect(r, color);
    const bool is_module = box.node < 0;
    p_.setRenderHint(QPainter::Antialiasing, r.height() > kNameHeight);
    p_.setPen(QPen(tone_of(Token::line), 1));
    p_.setBrush(is_module ? tone_of(Token::raised) : tone_of(Token::panel));
    p_.drawRoundedRect(r, kRadius * scale_, kRadius * scale_);
    if (is_module && r.height() > kNameHeight)
      p_.drawLine(QPointF(r.left() + 6, r.bottom() + 2.5),
                  QPointF(r.right() - 6, r.bottom() + 2.5));
    p_.fillRect(QRectF(r.left(), r.top(), std::max(kBarWidth * scale_, 2.0), r.height()), color);
    if (r.height() < kNameHeight) return;
    const double inset = kBarWidth * scale_ + 7;
    auto inside = r.adjusted(inset, 0, -4, 0);
    if (paint_.overlay == Overlay::status && box.mark != NodeMark::ok && r.height() > 14) {
      const double side = std::min(11.0, r.height() / 2);
      draw_mark(p_, {r.right() - side - 5, r.top() + 5, side, side}, box.mark);
      inside.adjust(0, 0, -side - 4, 0);
    }
    p_.setPen(tone_of(Token::text));
    if (r.height() < kDetailHeight)
      return text(inside, (is_module ? QStringLiteral("▸ ") : QString()) + qt(scene_.label(box)),
                  true);
    text({inside.left(), inside.top() + 2, inside.width(), inside.height() / 2},
         (is_module ? QStringLiteral("▸ ") : QString()) + qt(scene_.label(box)), true);
    p_.setPen(tone_of(box.is_dynamic && !is_module ? Token::dynamic : Token::muted));
    text({r.left() + inset, r.center().y(), r.width() - inset - 4, r.height() / 2 - 2},
         qt(scene_.detail(box)), false);
  }

  void text(const QRectF& box, const QString& what, bool bold) {
    auto font = paint_.font;
    font.setPixelSize(std::clamp(static_cast<int>(box.height() * (bold ? 0.66 : 0.6)), 7, 15));
    font.setBold(bold);
    // Smaller letters say more than an ellipsis, as long as they can be read.
    while (font.pixelSize() > kSmallestLetters &&
           QFontMetricsF(font).horizontalAdvance(what) > box.width())
      font.setPixelSize(font.pixelSize() - 1);
    p_.setFont(font);
    p_.drawText(box, Qt::AlignLeft | Qt::AlignVCenter,
                QFontMetrics(font).elidedText(what, Qt::ElideRight, static_cast<int>(box.width())));
  }

  void paint_edges() {
    p_.setRenderHint(QPainter::Antialiasing, scale_ > 0.3);
    const auto pen = QPen(mix(tone_of(Token::line), tone_of(Token::muted), 0.45), 1.2);
    auto stub = pen;
    stub.setStyle(Qt::DotLine);
    const auto sees = [&](float top, float bottom) {
      return double(top) <= area_.bottom() && double(bottom) >= area_.top();
    };
    std::map<std::pair<int, bool>, std::vector<const SceneBox*>> portals;  ///< by box; true: down
    for (const auto& edge : scene_.edges) {
      const auto& from = scene_.boxes[static_cast<std::size_t>(edge.from)];
      const auto& to = scene_.boxes[static_cast<std::size_t>(edge.to)];
      const float x1 = from.x + from.width / 2;
      const float y1 = from.y + from.height;
      const float x2 = to.x + to.width / 2;
      if (edge.is_portal) {
        if (scale_ < 0.35) continue;
        if (sees(y1, y1 + 14)) portals[{edge.from, true}].push_back(&to);
        if (sees(to.y - 14, to.y)) portals[{edge.to, false}].push_back(&from);
        continue;
      }
      if (!sees(y1, to.y)) continue;
      p_.setPen(pen);
      QPainterPath path(place(x1, y1));
      QPointF last = place(x1, y1);
      const auto to_point = [&](const QPointF& next) {
        const double half = (next.y() - last.y()) / 2;
        path.cubicTo(last + QPointF(0, half), next - QPointF(0, half), next);
        last = next;
      };
      for (std::uint32_t b = 0; b < edge.bends; ++b) {
        const auto& [x, y] = scene_.bends[edge.first_bend + b];
        to_point(place(x, y));
      }
      to_point(place(x2, to.y));
      p_.setBrush(Qt::NoBrush);
      p_.drawPath(path);
    }
    p_.setPen(stub);
    for (const auto& [at, others] : portals) {
      const auto& box = scene_.boxes[static_cast<std::size_t>(at.first)];
      const bool down = at.second;
      const float x = box.x + box.width / 2 + (down ? 12 : -12);
      portal(place(x, down ? box.y + box.height : box.y), (down ? 13 : -13) * scale_, others, down);
    }
  }

  /// All long edges of a box that go the same way are one stub.
  void portal(const QPointF& from, double length, const std::vector<const SceneBox*>& others,
              bool down) {
    const auto end = from + QPointF(0, length);
    p_.drawLine(from, end);
    p_.setBrush(tone_of(Token::panel));
    p_.drawEllipse(end, 2.5, 2.5);
    if (scale_ < 0.75) return;
    auto font = paint_.font;
    font.setPixelSize(9);
    p_.setFont(font);
    const auto pen = p_.pen();
    const QFontMetricsF metrics(font);
    auto text = (down ? QStringLiteral("→ ") : QStringLiteral("← ")) +
                metrics.elidedText(qt(scene_.label(*others.front())), Qt::ElideRight, 80);
    if (others.size() > 1) text += QStringLiteral(" +%1").arg(others.size() - 1);
    const QPointF at = end + QPointF(5, down ? 4 : 3);
    auto plate = tone_of(Token::panel);  // edges run below it
    plate.setAlphaF(0.85F);
    p_.fillRect(metrics.boundingRect(text).translated(at), plate);
    p_.setPen(tone_of(Token::muted));
    p_.drawText(at, text);
    p_.setPen(pen);
  }

  void paint_lies() {
    if (paint_.overlay != Overlay::status || 40 * scale_ > kNameHeight) return;
    scene_.each_in(float(area_.left()), float(area_.top()), float(area_.right()),
                   float(area_.bottom()), [&](int i) {
                     const auto& box = scene_.boxes[static_cast<std::size_t>(i)];
                     if (box.is_open || box.mark > NodeMark::inherited) return;
                     const auto r = rect(box);
                     draw_mark(p_,
                               {r.center().x() - kLeastMark, r.center().y() - kLeastMark,
                                2 * kLeastMark, 2 * kLeastMark},
                               box.mark);
                   });
  }

  static auto qt(const std::string& what) -> QString { return QString::fromStdString(what); }

  QPainter& p_;
  const ScenePaint& paint_;
  const Scene& scene_;
  QRectF area_;
  double scale_;
};

}  // namespace

void paint_scene(QPainter& painter, const ScenePaint& paint, const QRectF& area, double scale) {
  ScenePainter(painter, paint, area, scale).run();
}

auto density_tile(const ScenePaint& paint, const QRectF& area, const QSize& pixels) -> QImage {
  QImage image(pixels, QImage::Format_RGB32);
  image.fill(shade(paint.dark, Token::panel));
  const double scale_x = pixels.width() / area.width();
  const double scale_y = pixels.height() / area.height();
  std::vector<std::uint16_t> count(static_cast<std::size_t>(pixels.width() * pixels.height()));
  std::vector<std::uint8_t> worst(count.size(), static_cast<std::uint8_t>(NodeMark::not_run));
  paint.scene->each_in(
      float(area.left()), float(area.top()), float(area.right()), float(area.bottom()), [&](int i) {
        const auto& box = paint.scene->boxes[static_cast<std::size_t>(i)];
        if (box.is_open) return;
        const int x0 =
            std::clamp(int((double(box.x) - area.left()) * scale_x), 0, pixels.width() - 1);
        const int x1 = std::clamp(int((double(box.x + box.width) - area.left()) * scale_x), x0,
                                  pixels.width() - 1);
        const int y =
            std::clamp(int((double(box.y) - area.top()) * scale_y), 0, pixels.height() - 1);
        for (int x = x0; x <= x1; ++x) {
          const auto at = static_cast<std::size_t>(y * pixels.width() + x);
          count[at] = static_cast<std::uint16_t>(std::min<int>(count[at] + 1, 60000));
          worst[at] = std::min(worst[at], static_cast<std::uint8_t>(box.mark));
        }
      });
  for (int y = 0; y < pixels.height(); ++y) {
    auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
    for (int x = 0; x < pixels.width(); ++x) {
      const auto at = static_cast<std::size_t>(y * pixels.width() + x);
      if (count[at] == 0) continue;
      const auto mark = static_cast<NodeMark>(worst[at]);
      const double share = mark <= NodeMark::inherited ? 1 : std::min(0.35 + 0.15 * count[at], 0.9);
      line[x] =
          mix(shade(paint.dark, Token::panel), shade(paint.dark, token_of(mark)), share).rgb();
    }
  }
  return image;
}

}  // namespace assay
