#include "gui/views/graph_canvas.h"

#include <cmath>

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPointer>
#include <QToolTip>
#include <QWheelEvent>

#include "gui/views/theme.h"

namespace assay {
namespace {

constexpr int kTile = 256;
constexpr int kLowest = -48;
constexpr int kHighest = 6;
constexpr std::size_t kMostTiles = 600;  ///< 256 KiB each at one pixel a point
constexpr int kMinimap = 150;            ///< at most, and no more than a fifth of the canvas
constexpr double kReadable = 0.7;
constexpr double kOverview = 0.02;
constexpr std::size_t kMostBoxesFit = 120;    ///< that are not made smaller than can be read
constexpr std::size_t kMostBoxesRead = 5000;  ///< that are shown so at first, with F all of them
/// More closed boxes than this in a tile are drawn as density.
constexpr int kMostDrawn = 1500;

auto scale_of(int level) -> double {
  return std::exp2(level / 4.0);
}

auto render_tile(const ScenePaint& paint, const QRectF& area, double scale, double ratio)
    -> QImage {
  int boxes = 0;
  paint.scene->each_in(float(area.left()), float(area.top()), float(area.right()),
                       float(area.bottom()), [&](int) { ++boxes; });
  const auto side = static_cast<int>(kTile * ratio);
  if (boxes > kMostDrawn) {
    auto image = density_tile(paint, area, {side, side});
    image.setDevicePixelRatio(ratio);
    return image;
  }
  QImage image(side, side, QImage::Format_RGB32);
  image.setDevicePixelRatio(ratio);
  image.fill(QColor::fromRgb(color(paint.dark ? kDark : kLight, Token::panel)));
  QPainter painter(&image);
  paint_scene(painter, paint, area, scale);
  return image;
}

}  // namespace

GraphCanvas::GraphCanvas(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setAccessibleName(tr("Graph"));
  setMinimumSize(200, 120);
  paint_.font = font();
  pool_.setMaxThreadCount(std::max(1, QThread::idealThreadCount() - 1));
}

GraphCanvas::~GraphCanvas() {
  pool_.clear();
  pool_.waitForDone();
}

auto GraphCanvas::scale() const -> double {
  return scale_of(level_);
}
auto GraphCanvas::to_scene(QPointF point) const -> QPointF {
  return origin_ + point / scale();
}

auto GraphCanvas::rect_of(int node) const -> QRectF {
  if (!paint_.scene || node < 0 || node >= std::ssize(paint_.scene->box_of_node)) return {};
  const int box = paint_.scene->box_of_node[static_cast<std::size_t>(node)];
  if (box < 0) return {};
  const auto& b = paint_.scene->boxes[static_cast<std::size_t>(box)];
  return {(double(b.x) - origin_.x()) * scale(), (double(b.y) - origin_.y()) * scale(),
          double(b.width) * scale(), double(b.height) * scale()};
}

void GraphCanvas::set_scene(std::shared_ptr<const Scene> scene, int anchor) {
  const auto before = rect_of(anchor);
  paint_.scene = std::move(scene);
  paint_.dark = is_dark();
  forget_tiles();
  make_minimap();
  const auto after = rect_of(anchor);
  if (before.isValid() && after.isValid() && placed_) {
    origin_ += (after.topLeft() - before.topLeft()) / scale();
  } else {
    placed_ = false;
    start();
  }
  update();
}

void GraphCanvas::set_overlay(Overlay overlay) {
  paint_.overlay = overlay;
  forget_tiles();
  update();
}
void GraphCanvas::theme_changed() {
  paint_.dark = is_dark();
  forget_tiles();
  make_minimap();
  update();
}
void GraphCanvas::set_selected(int node) {
  selected_ = node;
  if (paint_.scene && node >= 0)
    setAccessibleDescription(QString::fromStdString(std::string(paint_.scene->data->name(node))));
  update();
}
void GraphCanvas::set_second(int node) {
  second_ = node;
  update();
}

void GraphCanvas::forget_tiles() {
  ++generation_;
  pool_.clear();
  tiles_.clear();
  wanted_.clear();
  rendering_ = 0;
}

/// Where most boxes stand: a wide row of inputs does not pull the view away from what reads them.
auto GraphCanvas::middle_of_boxes() const -> double {
  std::vector<float> centres;
  for (const int i : paint_.scene->by_top) {
    const auto& box = paint_.scene->boxes[static_cast<std::size_t>(i)];
    centres.push_back(box.x + box.width / 2);
  }
  if (centres.empty()) return 0;
  const auto half = centres.begin() + std::ssize(centres) / 2;
  std::ranges::nth_element(centres, half);
  return double(*half);
}

void GraphCanvas::start() {
  fit_at(paint_.scene && paint_.scene->by_top.size() <= kMostBoxesRead ? kReadable : kOverview);
}
void GraphCanvas::fit() {
  fit_at(paint_.scene && paint_.scene->by_top.size() <= kMostBoxesFit ? kReadable : kOverview);
}

void GraphCanvas::fit_at(double least) {
  least_ = least;
  if (!paint_.scene || paint_.scene->width <= 0 || width() < 10) return;
  const double margin = 24;
  const double scale_x = (width() - 2 * margin) / double(paint_.scene->width);
  const double scale_y = (height() - 2 * margin) / double(paint_.scene->height);
  // A long graph is shown from its top at a scale that can be read, not as a thread.
  const double wanted = std::min(std::max(scale_x, least / 2), std::max(scale_y, least));
  level_ = std::clamp(static_cast<int>(std::floor(4 * std::log2(std::min(wanted, 1.0)))), kLowest,
                      kHighest);
  const bool is_wider = double(paint_.scene->width) * scale() > width();
  const double middle = is_wider ? middle_of_boxes() : double(paint_.scene->width) / 2;
  origin_ = {middle - width() / 2.0 / scale(), -margin / scale()};
  if (scale_y * double(paint_.scene->height) > 0 &&
      double(paint_.scene->height) * scale() < height())
    origin_.setY(double(paint_.scene->height) / 2 - height() / 2.0 / scale());
  update();
}

void GraphCanvas::reveal(int node, bool close) {
  if (!rect_of(node).isValid()) return;
  placed_ = true;
  if (close && 40 * scale() < kDetailHeight) level_ = -1;
  const auto r = rect_of(node);
  const bool is_seen = QRectF(rect()).adjusted(40, 40, -40, -40).contains(r);
  const bool is_high = double(paint_.scene->height) * scale() > height();
  if (is_seen && (!close || !is_high)) return update();
  origin_ += (r.center() - QRectF(rect()).center()) / scale();
  update();
}

void GraphCanvas::pan(double dx, double dy) {
  placed_ = true;
  origin_ += QPointF(dx, dy) / scale();
  update();
}

void GraphCanvas::zoom(int steps, QPointF around) {
  placed_ = true;
  const auto fixed = to_scene(around);
  level_ = std::clamp(level_ + steps, kLowest, kHighest);
  origin_ = fixed - around / scale();
  update();
}

void GraphCanvas::want_tile(const TileKey& key) {
  if (std::ranges::find(wanted_, key) != wanted_.end()) return;
  wanted_.push_back(key);
  ++rendering_;
  const double side = kTile / scale_of(key.level);
  const QRectF area(key.x * side, key.y * side, side, side);
  pool_.start(
      [this, key, area, paint = paint_, ratio = devicePixelRatioF(), generation = generation_] {
        auto image = render_tile(paint, area, scale_of(key.level), ratio);
        QMetaObject::invokeMethod(
            this,
            [this, key, image, generation] {
              if (generation != generation_) return;
              --rendering_;
              std::erase(wanted_, key);
              if (tiles_.size() > kMostTiles) tiles_.clear();
              tiles_[key] = image;
              ++tiles_drawn_;
              update();
            },
            Qt::QueuedConnection);
      });
}

/// Until a tile is there, a coarser one that holds its place, or finer ones that lie in it.
void GraphCanvas::paint_substitute(QPainter& painter, const TileKey& key, const QRectF& place) {
  for (int up = 1; up <= 8; ++up) {
    const double factor = scale_of(up);
    const auto left = key.x / factor;
    const auto top = key.y / factor;
    const TileKey coarse{key.level - up, static_cast<int>(std::floor(left)),
                         static_cast<int>(std::floor(top))};
    const auto found = tiles_.find(coarse);
    if (found == tiles_.end()) continue;
    const double ratio = found->second.devicePixelRatio();
    const double side = kTile / factor;
    const QRectF source((left - std::floor(left)) * kTile * ratio,
                        (top - std::floor(top)) * kTile * ratio, side * ratio, side * ratio);
    painter.drawImage(place, found->second, source);
    return;
  }
  for (const int down : {4, 8}) {
    const int parts = 1 << (down / 4);
    for (int i = 0; i < parts * parts; ++i) {
      const auto found =
          tiles_.find({key.level + down, key.x * parts + i % parts, key.y * parts + i / parts});
      if (found == tiles_.end()) continue;
      const double side = place.width() / parts;
      painter.drawImage(
          QRectF(place.left() + side * (i % parts), place.top() + side * (i / parts), side, side),
          found->second);
    }
  }
}

void GraphCanvas::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), tone(Token::panel));
  if (!paint_.scene) return;
  const double side = kTile / scale();
  const int x0 = static_cast<int>(std::floor(std::max(origin_.x(), -side) / side));
  const int y0 = static_cast<int>(std::floor(std::max(origin_.y(), -side) / side));
  const double right =
      std::min(origin_.x() + width() / scale(), double(paint_.scene->width) + side);
  const double bottom =
      std::min(origin_.y() + height() / scale(), double(paint_.scene->height) + side);
  for (int y = y0; y * side < bottom; ++y)
    for (int x = x0; x * side < right; ++x) {
      const TileKey key{level_, x, y};
      // On whole pixels, so that tiles meet without seams.
      const QRectF place(std::round((x * side - origin_.x()) * scale()),
                         std::round((y * side - origin_.y()) * scale()), kTile, kTile);
      if (const auto found = tiles_.find(key); found != tiles_.end()) {
        painter.drawImage(place.topLeft(), found->second);
      } else {
        paint_substitute(painter, key, place);
        want_tile(key);
      }
    }
  paint_overlay(painter);
  paint_minimap(painter);
}

void GraphCanvas::paint_overlay(QPainter& painter) {
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setBrush(Qt::NoBrush);
  if (const auto r = rect_of(selected_); r.isValid()) {
    const double least = 8;
    auto frame = r.adjusted(-2, -2, 2, 2);
    if (frame.height() < least)
      frame = QRectF(frame.center() - QPointF(least, least) / 2, QSizeF(least, least));
    painter.setPen(QPen(tone(Token::accent), 2.5));
    painter.drawRoundedRect(frame, 5, 5);
  }
  if (const auto r = rect_of(second_); r.isValid()) {
    painter.setPen(QPen(tone(Token::accent), 2, Qt::DashLine));
    painter.drawRoundedRect(r.adjusted(-2, -2, 2, 2), 5, 5);
  }
  if (hasFocus()) {
    painter.setPen(QPen(tone(Token::accent), 1));
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
}

void GraphCanvas::make_minimap() {
  minimap_ = {};
  if (!paint_.scene || paint_.scene->width <= 0) return;
  const double most = std::min({double(kMinimap), width() / 5.0, height() / 5.0});
  const double scale =
      std::min(most / double(paint_.scene->width), most / double(paint_.scene->height));
  const QSize size(std::max(static_cast<int>(double(paint_.scene->width) * scale), 12),
                   std::max(static_cast<int>(double(paint_.scene->height) * scale), 12));
  const QRectF all(0, 0, double(paint_.scene->width), double(paint_.scene->height));
  ++rendering_;
  pool_.start([this, all, size, paint = paint_, generation = generation_] {
    auto image = density_tile(paint, all, size);
    QMetaObject::invokeMethod(
        this,
        [this, image, generation] {
          if (generation != generation_) return;
          --rendering_;
          minimap_ = image;
          update();
        },
        Qt::QueuedConnection);
  });
}

auto GraphCanvas::minimap_rect() const -> QRectF {
  return {double(width() - minimap_.width() - 10), double(height() - minimap_.height() - 10),
          double(minimap_.width()), double(minimap_.height())};
}

void GraphCanvas::paint_minimap(QPainter& painter) {
  if (minimap_.isNull() || !paint_.scene) return;
  const QRectF all(0, 0, double(paint_.scene->width), double(paint_.scene->height));
  const QRectF seen(origin_, QSizeF(width() / scale(), height() / scale()));
  if (seen.contains(all)) return;
  const auto place = minimap_rect();
  painter.setRenderHint(QPainter::Antialiasing, false);
  painter.fillRect(place.adjusted(-4, -4, 4, 4), tone(Token::panel));
  painter.drawImage(place.topLeft(), minimap_);
  painter.setPen(tone(Token::line));
  painter.drawRect(place.adjusted(-4, -4, 4, 4));
  const double fx = place.width() / all.width();
  const double fy = place.height() / all.height();
  const auto window = QRectF(place.left() + seen.left() * fx, place.top() + seen.top() * fy,
                             std::max(seen.width() * fx, 3.0), std::max(seen.height() * fy, 3.0))
                          .intersected(place.adjusted(-3, -3, 3, 3));
  painter.setPen(QPen(tone(Token::accent), 1.5));
  painter.drawRect(window);
}

void GraphCanvas::resizeEvent(QResizeEvent*) {
  make_minimap();
  if (!placed_) fit_at(least_);
}

void GraphCanvas::wheelEvent(QWheelEvent* event) {
  if (event->modifiers() & Qt::ShiftModifier) return pan(-event->angleDelta().y(), 0);
  zoom(event->angleDelta().y() > 0 ? 1 : -1, event->position());
}

void GraphCanvas::mousePressEvent(QMouseEvent* event) {
  pressed_ = event->position();
  dragging_ = false;
  if (!minimap_.isNull() && paint_.scene && minimap_rect().contains(pressed_)) {
    const auto place = minimap_rect();
    placed_ = true;
    origin_ =
        QPointF((pressed_.x() - place.left()) / place.width() * double(paint_.scene->width),
                (pressed_.y() - place.top()) / place.height() * double(paint_.scene->height)) -
        QPointF(width(), height()) / 2 / scale();
    dragging_ = true;
    update();
  }
}

void GraphCanvas::mouseMoveEvent(QMouseEvent* event) {
  if (!(event->buttons() & (Qt::LeftButton | Qt::MiddleButton))) return;
  const auto moved = event->position() - pressed_;
  if (!dragging_ && moved.manhattanLength() < 5) return;
  dragging_ = true;
  pan(-moved.x(), -moved.y());
  pressed_ = event->position();
}

void GraphCanvas::mouseReleaseEvent(QMouseEvent* event) {
  if (dragging_ || !paint_.scene) return;
  const auto point = to_scene(event->position());
  if (const int box = paint_.scene->box_at(float(point.x()), float(point.y())); box >= 0)
    emit picked(box);
}

void GraphCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  if (!paint_.scene) return;
  const auto point = to_scene(event->position());
  if (const int box = paint_.scene->box_at(float(point.x()), float(point.y())); box >= 0)
    emit opened(box);
}

void GraphCanvas::keyPressEvent(QKeyEvent* event) {
  const double far = 80;
  const QPointF middle(width() / 2.0, height() / 2.0);
  switch (event->key()) {
    case Qt::Key_A:
    case Qt::Key_Left:
      return pan(-far, 0);
    case Qt::Key_D:
    case Qt::Key_Right:
      return pan(far, 0);
    case Qt::Key_Up:
      return pan(0, -far);
    case Qt::Key_Down:
      return pan(0, far);
    case Qt::Key_W:
    case Qt::Key_Plus:
      return zoom(1, middle);
    case Qt::Key_S:
    case Qt::Key_Minus:
      return zoom(-1, middle);
    default:
      QWidget::keyPressEvent(event);
  }
}

auto GraphCanvas::event(QEvent* event) -> bool {
  if (event->type() == QEvent::ToolTip && paint_.scene) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const auto point = to_scene(help->pos());
    const int box = paint_.scene->box_at(float(point.x()), float(point.y()));
    if (box >= 0)
      emit hovered(box, help->globalPos());
    else
      QToolTip::hideText();
    return true;
  }
  if (event->type() == QEvent::FocusIn || event->type() == QEvent::FocusOut) update();
  return QWidget::event(event);
}

}  // namespace assay
