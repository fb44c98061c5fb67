#include "gui/views/storage_picture.h"

#include <QKeyEvent>
#include <QLocale>
#include <QMouseEvent>
#include <QPainter>

#include "gui/views/theme.h"

namespace assay {
namespace {

constexpr int kLabelWidth = 170;
constexpr int kMostLanes = 10;
constexpr int kRight = 14;

auto bytes(std::int64_t count) -> QString {
  return QLocale(QLocale::English).toString(count);
}

auto kind_text(FootprintKind kind) -> QString {
  return kind == FootprintKind::claimed ? View::tr("claimed")
         : kind == FootprintKind::real  ? View::tr("real")
                                        : View::tr("alias");
}

}  // namespace

StoragePicture::StoragePicture(Desk& desk) : desk_(desk) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Storage map"));
}

void StoragePicture::load(Store* store) {
  store_ = store;
  map_ = {};
  cursor_ = {};
  updateGeometry();
}

void StoragePicture::show_node(const Cursor& cursor) {
  cursor_ = cursor;
  if (!store_) return;
  store_->ask<StorageMap>(
      this, "storage map",
      [cursor, sizes = desk_.sizes](const TraceReader& reader) {
        return read_storage_map(reader, cursor, sizes);
      },
      [this](Result<StorageMap> map) { show_map(map ? std::move(*map) : StorageMap{}); });
}

void StoragePicture::show_map(StorageMap map) {
  map_ = std::move(map);
  lane_ = -1;
  setAccessibleDescription(qt(map_.sentence));
  setToolTip(qt(map_.sentence));
  updateGeometry();
  update();
  emit changed();
}

auto StoragePicture::lane_height() const -> int {
  return fontMetrics().height() + 10;
}
auto StoragePicture::lanes_top() const -> int {
  return 2 * fontMetrics().height() + 22;
}

auto StoragePicture::sizeHint() const -> QSize {
  if (map_.empty()) return {200, 0};
  return {600, lanes_top() + lanes() * lane_height() + 8};
}
auto StoragePicture::minimumSizeHint() const -> QSize {
  return {260, sizeHint().height()};
}

auto StoragePicture::lanes() const -> int {
  return std::min<int>(static_cast<int>(map_.footprints.size()), kMostLanes);
}

void StoragePicture::paint_axis(QPainter& painter, double left, double width) const {
  const auto x = [&](std::int64_t byte) {
    return left + width * static_cast<double>(byte) / static_cast<double>(map_.span());
  };
  const int line = fontMetrics().height();
  const QRectF storage(left, line + 6, x(std::max<std::int64_t>(map_.storage_bytes, 0)) - left,
                       line + 4);
  painter.setPen(QPen(tone(Token::muted), 1));
  painter.setBrush(tone(Token::raised));
  painter.drawRect(storage);
  painter.setPen(tone(Token::text));
  const auto who =
      map_.storage_bytes < 0
          ? View::tr("storage not recorded")
          : View::tr("storage of %1: %2 bytes").arg(qt(map_.owner), bytes(map_.storage_bytes));
  painter.drawText(QRectF(left + 6, line + 6, width - 6, line + 4), Qt::AlignVCenter,
                   fontMetrics().elidedText(who, Qt::ElideRight, static_cast<int>(width) - 8));
  painter.setPen(tone(Token::muted));
  painter.drawText(QRectF(left, 0, 40, line), Qt::AlignLeft, QStringLiteral("0"));
  if (map_.storage_bytes > 0 && map_.span() > map_.storage_bytes) {
    const auto at = x(map_.storage_bytes);
    const auto text = bytes(map_.storage_bytes);
    const auto end = bytes(map_.span());
    const double room = left + width - fontMetrics().horizontalAdvance(end) - 10;
    const double begin = std::min(at - fontMetrics().horizontalAdvance(text) / 2.0,
                                  room - fontMetrics().horizontalAdvance(text));
    painter.drawText(QPointF(begin, fontMetrics().ascent()), text);
    painter.setPen(tone(Token::bad));
    painter.drawText(QRectF(left, 0, width, line), Qt::AlignRight, end);
    painter.setPen(QPen(tone(Token::bad), 1, Qt::DashLine));
    painter.drawLine(QPointF(at, line + 2), QPointF(at, height()));
  } else {
    painter.drawText(QRectF(left, 0, width, line), Qt::AlignRight, bytes(map_.span()));
  }
}

void StoragePicture::paint_lane(QPainter& painter, const Footprint& lane, double left, double width,
                                int top) const {
  const auto span = static_cast<double>(map_.span());
  const auto x = [&](std::int64_t byte) { return left + width * static_cast<double>(byte) / span; };
  const int height = lane_height() - 8;
  const auto color = lane.kind == FootprintKind::claimed ? tone(Token::dynamic)
                     : lane.kind == FootprintKind::real  ? tone(Token::ok)
                                                         : tone(Token::muted);
  painter.setPen(tone(lane.node == map_.node ? Token::text : Token::muted));
  painter.drawText(QRectF(0, top, kLabelWidth - 10, height), Qt::AlignVCenter,
                   fontMetrics().elidedText(kind_text(lane.kind) + "  " + qt(lane.name + lane.leaf),
                                            Qt::ElideRight, kLabelWidth - 12));
  painter.setPen(QPen(color, 1));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(QRectF(x(lane.begin), top, std::max(x(lane.end) - x(lane.begin), 1.0), height));
  auto fill = color;
  fill.setAlphaF(0.45F);
  const auto all = lane.runs.empty()
                       ? std::vector<std::pair<std::int64_t, std::int64_t>>{{lane.begin, lane.end}}
                       : lane.runs;
  const QBrush brush(fill, lane.runs.empty() ? Qt::BDiagPattern : Qt::SolidPattern);
  const auto limit = map_.storage_bytes < 0 ? map_.span() : map_.storage_bytes;
  double last = -1;
  for (const auto& [begin, end] : all) {
    if (x(end) - last < 0.5) continue;  // less than a pixel further
    last = x(end);
    if (begin < limit)
      painter.fillRect(
          QRectF(x(begin), top, std::max(x(std::min(end, limit)) - x(begin), 0.7), height), brush);
    if (end > limit) {
      const QRectF out(x(std::max(begin, limit)), top,
                       std::max(x(end) - x(std::max(begin, limit)), 2.0), height);
      painter.fillRect(out, tone(Token::bad));
      painter.fillRect(out, QBrush(tone(Token::panel), Qt::BDiagPattern));
    }
  }
  auto text = qt(lane.dtype + " " + to_string(lane.layout));
  if (lane.outside > 0) text += View::tr("   %1 bytes outside").arg(bytes(lane.outside));
  painter.setPen(tone(Token::text));
  const double room = width * static_cast<double>(std::min(limit, map_.span())) / span - 14;
  const auto shown = fontMetrics().elidedText(text, Qt::ElideRight, static_cast<int>(room));
  const QRectF plate(left + 7, top + (height - fontMetrics().height()) / 2.0,
                     fontMetrics().horizontalAdvance(shown) + 8, fontMetrics().height());
  auto back = tone(Token::panel);
  back.setAlphaF(0.8F);
  painter.fillRect(plate, back);
  painter.drawText(plate, Qt::AlignCenter, shown);
}

void StoragePicture::paint(QPainter& painter, const QSize& size) const {
  if (map_.empty()) return;
  const double left = kLabelWidth;
  const double width = size.width() - kLabelWidth - kRight;
  paint_axis(painter, left, width);
  int top = lanes_top();
  int lanes = 0;
  for (const auto& lane : map_.footprints) {
    if (++lanes > kMostLanes || top + lane_height() - 8 > size.height()) break;
    paint_lane(painter, lane, left, width, top);
    top += lane_height();
  }
}

void StoragePicture::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  paint(painter, size());
  if (!hasFocus() || lane_ < 0) return;
  painter.setPen(QPen(tone(Token::accent), 1.5));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(QRectF(1, lanes_top() + lane_ * lane_height() - 2, width() - 3, lane_height()));
}

void StoragePicture::mousePressEvent(QMouseEvent* event) {
  const int lane = (event->pos().y() - lanes_top()) / lane_height();
  if (event->pos().y() >= lanes_top()) go_to_lane(lane);
}

void StoragePicture::go_to_lane(int lane) {
  if (lane < 0 || lane >= lanes()) return;
  const auto node = map_.footprints[static_cast<std::size_t>(lane)].node;
  if (node != 0) desk_.go({.graph = cursor_.graph, .node = node});
}

/// Up and down walk the lanes, Enter goes to the node of one.
void StoragePicture::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) return go_to_lane(lane_);
  const int by = event->key() == Qt::Key_Down ? 1 : event->key() == Qt::Key_Up ? -1 : 0;
  if (by == 0 || lanes() == 0) return QWidget::keyPressEvent(event);
  lane_ = std::clamp(lane_ + by, 0, lanes() - 1);
  const auto& lane = map_.footprints[static_cast<std::size_t>(lane_)];
  setAccessibleDescription(kind_text(lane.kind) + ' ' + qt(lane.name + lane.leaf) + ' ' +
                           qt(to_string(lane.layout)));
  update();
}

}  // namespace assay
