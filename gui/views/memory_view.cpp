#include "gui/views/memory_view.h"

#include <algorithm>

#include <QFile>
#include <QHelpEvent>
#include <QLocale>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QVBoxLayout>

#include "gui/models/text_model.h"
#include "gui/views/theme.h"

namespace assay {
namespace {

constexpr int kLeft = 84;
constexpr int kRight = 16;
constexpr int kTop = 16;
constexpr int kBottom = 34;
constexpr double kDensePixels = 10;  ///< a step; where it is less, lines are thin

/// The least of 1, 2, 5, 10, 20, 50, ... that is not less.
auto round_step(std::int64_t least) -> std::int64_t {
  for (std::int64_t power = 1;; power *= 10)
    for (const std::int64_t digit : {1, 2, 5})
      if (digit * power >= least || power > least) return digit * power;
}

auto bytes_text(std::int64_t bytes) -> QString {
  return QLocale().toString(qlonglong{bytes});
}

}  // namespace

MemoryPicture::MemoryPicture(QWidget* parent) : QWidget(parent) {
  setMinimumHeight(160);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Buffers of the arena over launches"));
}

void MemoryPicture::set_program(ProgramFacts program) {
  program_ = std::move(program);
  live_ = live_bytes(program_);
  steps_ = std::max<std::int64_t>(1, std::ssize(live_));
  const auto peak = std::ranges::max_element(live_);
  peak_step_ = peak == live_.end() ? -1 : peak - live_.begin();
  current_ = -1;
  step_ = -1;
  update();
}

void MemoryPicture::set_step(std::int64_t step) {
  step_ = step;
  update();
}

auto MemoryPicture::x_of(std::int64_t step, const QSize& size) const -> double {
  return kLeft + double(step) / double(steps_) * (size.width() - kLeft - kRight);
}
auto MemoryPicture::y_of(std::int64_t byte, const QSize& size) const -> double {
  const double most = double(std::max<std::int64_t>(1, program_.arena_bytes));
  return size.height() - kBottom - double(byte) / most * (size.height() - kTop - kBottom);
}

auto MemoryPicture::box(const BufferFacts& buffer, const QSize& size) const -> QRectF {
  if (!buffer.offset || buffer.first < 0) return {};
  return {QPointF(x_of(buffer.first, size), y_of(*buffer.offset + buffer.bytes, size)),
          QPointF(x_of(buffer.last + 1, size), y_of(*buffer.offset, size))};
}

auto MemoryPicture::text_of(const BufferFacts& buffer) -> QString {
  auto text =
      tr("%1: %2 bytes of %3").arg(qt(buffer.name), bytes_text(buffer.bytes), qt(buffer.dtype));
  if (buffer.offset)
    text += tr(", at %1 to %2")
                .arg(bytes_text(*buffer.offset), bytes_text(*buffer.offset + buffer.bytes));
  text += tr(", lives from step %1 to %2").arg(buffer.first).arg(buffer.last);
  if (!buffer.written_over.empty()) text += tr(", written over %1").arg(qt(buffer.written_over));
  return text;
}

void MemoryPicture::paint_axes(QPainter& painter, const QSize& size) const {
  const auto height = painter.fontMetrics().height();
  const int rows = std::clamp((size.height() - kTop - kBottom) / (3 * height), 1, 6);
  const auto step = round_step(program_.arena_bytes / rows);
  std::vector<std::int64_t> marks = {program_.arena_bytes};
  for (std::int64_t byte = 0; byte < program_.arena_bytes; byte += step)
    if (y_of(byte, size) - kTop > height) marks.push_back(byte);
  for (const auto byte : marks) {
    const auto y = y_of(byte, size);
    painter.setPen(tone(Token::line));
    painter.drawLine(QPointF(kLeft, y), QPointF(size.width() - kRight, y));
    painter.setPen(tone(Token::muted));
    painter.drawText(QRectF(0, y - height / 2.0, kLeft - 8, height),
                     Qt::AlignRight | Qt::AlignVCenter, bytes_text(byte));
  }
  const QRectF below(kLeft, size.height() - kBottom + 4, size.width() - kLeft - kRight, height);
  painter.drawText(below, Qt::AlignLeft, tr("step 0"));
  const auto metrics = painter.fontMetrics();
  const auto last = tr("step %1").arg(steps_ - 1);
  const double room = below.width() - 2 * metrics.horizontalAdvance(last) - 4 * metrics.height();
  for (const auto& caption : {tr("launch order; upwards: bytes of the arena"), tr("launch order")})
    if (metrics.horizontalAdvance(caption) <= room) {
      painter.drawText(below, Qt::AlignHCenter, caption);
      break;
    }
  painter.drawText(below, Qt::AlignRight, last);
}

/// The sum of what lives, as a line of steps: where it meets the top the arena has no hole.
void MemoryPicture::paint_live(QPainter& painter, const QSize& size) const {
  QPolygonF line;
  for (std::size_t i = 0; i < live_.size(); ++i) {
    const auto step = static_cast<std::int64_t>(i);
    line << QPointF(x_of(step, size), y_of(live_[i], size))
         << QPointF(x_of(step + 1, size), y_of(live_[i], size));
  }
  const bool is_dense = x_of(1, size) - x_of(0, size) < kDensePixels;
  painter.setPen(QPen(tone(Token::text), is_dense ? 1 : 1.5, Qt::DashLine));
  painter.setBrush(Qt::NoBrush);
  painter.drawPolyline(line);
}

void MemoryPicture::paint(QPainter& painter, const QSize& size) const {
  painter.fillRect(QRect({0, 0}, size), tone(Token::panel));
  paint_axes(painter, size);
  if (step_ >= 0) {
    painter.fillRect(QRectF(QPointF(x_of(step_, size), kTop),
                            QPointF(x_of(step_ + 1, size), size.height() - kBottom)),
                     tone(Token::raised));
    for (const auto edge : {step_, step_ + 1}) {
      painter.setPen(QPen(tone(Token::muted), 1, Qt::DotLine));
      painter.drawLine(QPointF(x_of(edge, size), kTop),
                       QPointF(x_of(edge, size), size.height() - kBottom));
    }
  }
  for (int i = 0; i < std::ssize(program_.buffers); ++i) {
    const auto& buffer = program_.buffers[static_cast<std::size_t>(i)];
    const auto where = box(buffer, size);
    if (where.isEmpty()) continue;
    auto fill = tone(buffer.written_over.empty() ? Token::accent : Token::dynamic);
    fill.setAlpha(i == current_ ? 150 : 70);
    painter.setPen(QPen(tone(i == current_ ? Token::text : Token::accent), i == current_ ? 2 : 1));
    painter.setBrush(fill);
    painter.drawRect(where.adjusted(0.5, 0.5, -0.5, -0.5));
    const auto metrics = painter.fontMetrics();
    if (where.height() < metrics.height() || where.width() < 24) continue;
    painter.setPen(tone(Token::text));
    painter.drawText(
        where.adjusted(4, 0, -4, 0), Qt::AlignVCenter | Qt::AlignLeft,
        metrics.elidedText(qt(buffer.name), Qt::ElideRight, static_cast<int>(where.width()) - 8));
  }
  paint_live(painter, size);
}

void MemoryPicture::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  paint(painter, size());
}

auto MemoryPicture::buffer_at(const QPointF& point) const -> int {
  for (int i = static_cast<int>(std::ssize(program_.buffers)) - 1; i >= 0; --i)
    if (box(program_.buffers[static_cast<std::size_t>(i)], size()).contains(point)) return i;
  return -1;
}

void MemoryPicture::choose(int buffer) {
  current_ = buffer;
  update();
  emit picked(buffer);
}

void MemoryPicture::mousePressEvent(QMouseEvent* event) {
  if (const int found = buffer_at(event->position()); found >= 0) choose(found);
}

/// Left and right walk the buffers in the arena.
void MemoryPicture::keyPressEvent(QKeyEvent* event) {
  const int by = event->key() == Qt::Key_Right ? 1 : event->key() == Qt::Key_Left ? -1 : 0;
  if (by == 0) return QWidget::keyPressEvent(event);
  const auto count = static_cast<int>(std::ssize(program_.buffers));
  for (int i = current_ + by; i >= 0 && i < count; i += by)
    if (program_.buffers[static_cast<std::size_t>(i)].offset) return choose(i);
}

auto MemoryPicture::event(QEvent* event) -> bool {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int found = buffer_at(help->pos());
  if (found < 0)
    QToolTip::hideText();
  else
    QToolTip::showText(help->globalPos(),
                       text_of(program_.buffers[static_cast<std::size_t>(found)]), this);
  return true;
}

MemoryView::MemoryView(Desk& desk)
    : View(QStringLiteral("memory"), tr("Memory"), desk),
      picture_(new MemoryPicture),
      summary_(new QLabel),
      detail_(new QLabel) {
  auto* body = new QWidget;
  auto* column = new QVBoxLayout(body);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  for (auto* label : {summary_, detail_}) {
    label->setMargin(6);
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  }
  column->addWidget(summary_);
  column->addWidget(picture_, 1);
  column->addWidget(detail_);
  set_body(body);
  connect(picture_, &MemoryPicture::picked, this, &MemoryView::pick);
}

void MemoryView::load(Store* store) {
  cursor_ = {};
  picture_->set_program({});
  detail_->clear();
  set_state(store ? ViewState::loading : ViewState::empty,
            store ? tr("Loading…") : tr("No trace is open"));
  store_ = store;
  shown_ = 0;
  programs_ = 0;
  if (store) ask({});
}

void MemoryView::ask(const Cursor& cursor) {
  store_->ask<ProgramFacts>(
      this, "program",
      [cursor, shown = shown_](const TraceReader& reader) {
        return shown == 0 ? read_program(reader) : read_program_at(reader, cursor, shown);
      },
      [this](Result<ProgramFacts> program) {
        if (!program) return set_state(ViewState::failed, qt(program.error().message));
        if (program->id != 0 || shown_ == 0) receive(std::move(*program));
      });
}

void MemoryView::receive(ProgramFacts program) {
  shown_ = program.id;
  programs_ = program.all.size();
  picture_->set_program({});
  if (program.id == 0)
    return set_state(ViewState::empty, tr("This trace holds no compiled program.\n"
                                          "`assay compile FILE --trace RUN.sqlite` writes one, of "
                                          "a log or wrapper `assay trace`."));
  if (!program.is_planned)
    return set_state(ViewState::empty, tr("The program was not bound to sizes, so its memory was "
                                          "not planned; Problems may say why."));
  if (program.arena_bytes == 0)
    return set_state(ViewState::empty, tr("The program needs no temporaries"));
  picture_->set_program(std::move(program));
  const auto& now = picture_->program();
  summary_->setText(tr("arena of %1 bytes; at most %2 bytes live at once (%3 more than that), in "
                       "step %4; %5 bytes without reuse; sizes: %6")
                        .arg(bytes_text(now.arena_bytes), bytes_text(now.live_bytes),
                             bytes_text(now.arena_bytes - now.live_bytes))
                        .arg(picture_->peak_step())
                        .arg(bytes_text(now.sum_bytes), qt(now.sizes)));
  detail_->setText(
      tr("A rectangle is a buffer; the dashed line is what lives. Click one, or walk "
         "them with Left and Right."));
  set_state(ViewState::ready);
  picture_->set_step(step_of(now, cursor_));
}

void MemoryView::pick(int buffer) {
  const auto& program = picture_->program();
  const auto& chosen = program.buffers[static_cast<std::size_t>(buffer)];
  detail_->setText(MemoryPicture::text_of(chosen));
  if (chosen.first < 0 || chosen.first >= std::ssize(program.launches)) return;
  const auto& launch = program.launches[static_cast<std::size_t>(chosen.first)];
  desk().go(launch.nodes.empty() ? Cursor{.graph = cursor_.graph, .launch = launch.id}
                                 : launch.nodes.front());
}

void MemoryView::follow(const Cursor& cursor) {
  cursor_ = cursor;
  const auto step = step_of(picture_->program(), cursor);
  if (step < 0 && programs_ > 1 && shown_ != 0) ask(cursor);
  picture_->set_step(step);
}

auto MemoryView::write_csv(const QString& path) -> bool {
  QFile file(path);
  if (state() != ViewState::ready || !file.open(QIODevice::WriteOnly)) return false;
  auto text = csv_line({tr("Name"), tr("Kind"), tr("Dtype"), tr("Bytes"), tr("Offset"),
                        tr("First step"), tr("Last step"), tr("Written over")});
  const auto step = [](std::int64_t at) { return at < 0 ? QString() : QString::number(at); };
  for (const auto& one : picture_->program().buffers)
    text += csv_line({qt(one.name), qt(one.kind), qt(one.dtype), QString::number(one.bytes),
                      one.offset ? QString::number(*one.offset) : QString(), step(one.first),
                      step(one.last), qt(one.written_over)});
  return file.write(text.toUtf8()) >= 0;
}

auto MemoryView::draw_picture(QPainter& painter, const QSize& size) -> bool {
  if (state() != ViewState::ready) return false;
  picture_->paint(painter, size);
  return true;
}

}  // namespace assay
