#include "gui/views/steps_view.h"

#include <array>
#include <cmath>

#include <QMouseEvent>
#include <QPainter>

#include "gui/views/theme.h"
#include "replay/trace/diff.h"

namespace assay {
namespace {

constexpr int kLeft = 56;
constexpr int kBottom = 30;
constexpr int kTop = 14;
constexpr int kRight = 16;

auto mark_of(const std::string& verdict) -> NodeMark {
  if (verdict == "same") return NodeMark::root;
  if (verdict == "other") return NodeMark::inherited;
  if (verdict == "passes") return NodeMark::ok;
  return verdict == "invalid" ? NodeMark::unchecked : NodeMark::failed;
}

auto diff_html(const std::string& before, const std::string& after) -> QString {
  QString text;
  int left_out = 0;
  for (const auto& line : diff_texts(before, after)) {
    if (line.kind == ' ') {
      ++left_out;
      continue;
    }
    if (std::exchange(left_out, 0) > 0) text += QStringLiteral("<br>");
    text += QStringLiteral("<span style='color:%1'>%2 %3</span><br>")
                .arg(tone(line.kind == '+' ? Token::added : Token::removed).name())
                .arg(QChar(line.kind))
                .arg(html(line.text));
  }
  return QStringLiteral("<code>%1</code>").arg(text);
}

}  // namespace

StepChart::StepChart(QWidget* parent) : QWidget(parent) {
  setMinimumHeight(170);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Candidates over time"));
}

void StepChart::set_points(std::vector<StepPoint> points, TraceId current) {
  points_ = std::move(points);
  current_ = current;
  seconds_ = 0.01;
  calls_ = 1;
  for (const auto& point : points_) {
    seconds_ = std::max(seconds_, point.at);
    calls_ = std::max(calls_, point.calls);
  }
  update();
}

auto StepChart::place(const StepPoint& point, const QSize& size) const -> QPointF {
  const double x = kLeft + point.at / seconds_ * (size.width() - kLeft - kRight);
  const double share = std::log1p(double(point.calls)) / std::log1p(double(calls_));
  return {x, kTop + (1 - share) * (size.height() - kTop - kBottom)};
}

void StepChart::paint(QPainter& painter, const QSize& size) const {
  painter.fillRect(QRect({0, 0}, size), tone(Token::panel));
  painter.setPen(tone(Token::line));
  const int bottom = size.height() - kBottom;
  painter.drawLine(kLeft, bottom, size.width() - kRight, bottom);
  const auto metrics = painter.fontMetrics();
  for (std::int64_t calls = 1; calls <= calls_; calls *= calls < 10 ? 10 : 10) {
    const auto y = place({.calls = calls}, size).y();
    painter.setPen(tone(Token::raised));
    painter.drawLine(QPointF(kLeft, y), QPointF(size.width() - kRight, y));
    painter.setPen(tone(Token::muted));
    painter.drawText(QRectF(0, y - 10, kLeft - 8, 20), Qt::AlignRight | Qt::AlignVCenter,
                     QString::number(calls));
  }
  painter.setPen(tone(Token::muted));
  painter.drawText(QRectF(0, place({.calls = calls_}, size).y() - 10, kLeft - 8, 20),
                   Qt::AlignRight | Qt::AlignVCenter, QString::number(calls_));
  painter.drawText(QRect(kLeft, bottom + 4, size.width() - kLeft - kRight, metrics.height()),
                   Qt::AlignRight, tr("%1 s").arg(seconds_, 0, 'f', 1));
  painter.drawText(QRect(kLeft, bottom + 4, size.width() - kLeft - kRight, metrics.height()),
                   Qt::AlignLeft, tr("calls, of a program lines, over seconds"));
  painter.setRenderHint(QPainter::Antialiasing);
  QPolygonF best;
  std::int64_t least = -1;
  for (const auto& point : points_) {
    if (point.verdict != "same" || (least >= 0 && point.calls > least)) continue;
    const auto at = place(point, size);
    if (!best.isEmpty()) best << QPointF(at.x(), best.back().y());
    best << at;
    least = point.calls;
  }
  painter.setPen(QPen(tone(Token::accent), 1.5));
  painter.drawPolyline(best);
  for (const auto& point : points_) {
    const auto at = place(point, size);
    draw_mark(painter, {at.x() - 5, at.y() - 5, 10, 10}, mark_of(point.verdict));
    if (point.id != current_) continue;
    painter.setPen(QPen(tone(Token::accent), 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawEllipse(at, 9, 9);
  }
}

void StepChart::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  paint(painter, size());
  if (!hasFocus()) return;
  painter.setPen(QPen(tone(Token::accent), 1));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(rect().adjusted(0, 0, -1, -1));
}

/// Left and right walk the candidates in the order asked.
void StepChart::keyPressEvent(QKeyEvent* event) {
  const int by = event->key() == Qt::Key_Right ? 1 : event->key() == Qt::Key_Left ? -1 : 0;
  if (by == 0 || points_.empty()) return QWidget::keyPressEvent(event);
  const auto now = std::ranges::find(points_, current_, &StepPoint::id);
  const auto at = now == points_.end() ? 0 : now - points_.begin() + by;
  emit picked(
      points_[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(at, 0, std::ssize(points_) - 1))]
          .id);
}

void StepChart::mousePressEvent(QMouseEvent* event) {
  double nearest = 14;
  TraceId found = 0;
  for (const auto& point : points_) {
    const double far = QLineF(place(point, size()), event->position()).length();
    if (far < nearest) {
      nearest = far;
      found = point.id;
    }
  }
  if (found != 0) emit picked(found);
}

StepsView::StepsView(Desk& desk)
    : ListView(QStringLiteral("steps"), tr("Reduction"), desk,
               {tr("Verdict"), tr("#"), tr("Phase"), tr("Calls"), tr("At"), tr("Seconds"),
                tr("Failure")},
               {110, 60, 130, 70, 80, 80, 420}),
      chart_(new StepChart),
      info_(new QLabel),
      live_(new QPushButton) {
  column()->insertWidget(0, chart_);
  info_->setForegroundRole(QPalette::PlaceholderText);
  live_->setText(tr("Follow"));
  live_->setCheckable(true);
  live_->setObjectName(QStringLiteral("steps_follow"));
  live_->setToolTip(tr("Show candidates as they are written (Space)"));
  bar()->setContentsMargins(10, 2, 10, 2);
  bar()->addWidget(info_, 1);
  bar()->addWidget(live_);
  poll_.setInterval(600);
  connect(&poll_, &QTimer::timeout, this, &StepsView::fetch);
  connect(live_, &QPushButton::toggled, this,
          [this](bool on) { on ? poll_.start() : poll_.stop(); });
  connect(chart_, &StepChart::picked, this,
          [this](TraceId step) { this->desk().go({.graph = cursor().graph, .step = step}); });
}

void StepsView::load(Store* store) {
  points_.clear();
  chart_->set_points({}, 0);
  live_->setChecked(store && !store->is_complete());
  ListView::load(store);
}

void StepsView::fetch() {
  if (!store()) return;
  const std::int64_t last = points_.empty() ? -1 : points_.back().seq;
  store()->ask(this, "steps", {last}, [this](Result<TraceAnswer> answer) {
    if (!answer) return set_state(ViewState::failed, qt(answer.error().message));
    receive(*answer);
  });
}

void StepsView::receive(const TraceAnswer& answer) {
  std::vector<TextRow> rows;
  const auto real = [](const TraceValue& value) {
    const auto* number = std::get_if<double>(&value);
    return number ? *number : double(to_number(value));
  };
  for (const auto& row : answer.rows) {
    const StepPoint point{.id = to_number(row[0]),
                          .parent = to_number(row[2]),
                          .seq = to_number(row[1]),
                          .calls = to_number(row[4]),
                          .at = real(row[7]),
                          .seconds = real(row[8]),
                          .phase = to_text(row[3]),
                          .verdict = to_text(row[5]),
                          .failure = to_text(row[6])};
    rows.push_back({.cells = {qt(point.verdict), QString::number(point.seq), qt(point.phase),
                              QString::number(point.calls), QString::number(point.at, 'f', 2),
                              QString::number(point.seconds, 'f', 3), qt(point.failure)},
                    .cursor = {.step = point.id},
                    .mark = static_cast<int>(mark_of(point.verdict))});
    points_.push_back(point);
  }
  if (points_.empty())
    return set_rows({},
                    tr("This trace records no reduction.\n`assay minify FILE --trace RUN.sqlite` "
                       "writes one."));
  if (rows.empty() && state() == ViewState::ready) return;
  model()->append(std::move(rows));
  set_state(ViewState::ready);
  const auto same = std::ranges::count(points_, std::string("same"), &StepPoint::verdict);
  info_->setText(
      tr("%1 candidates, %2 fail the same way, size %3 at first, %4 in the last that fails")
          .arg(points_.size())
          .arg(same)
          .arg(points_.front().calls)
          .arg([&] {
            std::int64_t least = points_.front().calls;
            for (const auto& p : points_)
              if (p.verdict == "same") least = std::min(least, p.calls);
            return least;
          }()));
  chart_->set_points(points_, cursor().step);
}

void StepsView::follow(const Cursor& cursor) {
  const bool moved = cursor.step != this->cursor().step;
  ListView::follow(cursor);
  if (!store() || cursor.step == 0 || !moved) return;
  chart_->set_points(points_, cursor.step);
  for (int i = 0; i < model()->rowCount(); ++i)
    if (model()->row(i)->cursor.step == cursor.step) rows()->set_current_row(i);
  show_step(cursor.step);
}

void StepsView::chosen(const TextRow& row) {
  desk().go({.graph = cursor().graph, .step = row.cursor.step});
}

void StepsView::show_step(TraceId step) {
  store()->ask(this, "step", {step}, [this](Result<TraceAnswer> answer) {
    if (!answer || answer->rows.empty()) return;
    const auto& row = answer->rows[0];
    auto text = tr("<h4>%1 in %2, size %3</h4>")
                    .arg(html(to_text(row[2])), html(to_text(row[0])), qt(to_text(row[1])));
    text += QStringLiteral("<p>%1</p>").arg(html(to_text(row[3])));
    if (row[8].index() != 0)
      text += tr("<p>made from candidate %1, size %2</p>")
                  .arg(qt(to_text(row[8])), qt(to_text(row[9])));
    if (row[6].index() != 0 && row[7].index() != 0)
      text += diff_html(to_text(row[7]), to_text(row[6]));
    else if (row[6].index() == 0)
      text += tr("<p>Too large to be kept as text.</p>");
    if (row[5].index() != 0) text += QStringLiteral("<pre>%1</pre>").arg(html(to_text(row[5])));
    set_detail(text);
  });
}

auto StepsView::draw_picture(QPainter& painter, const QSize& size) -> bool {
  if (state() != ViewState::ready) return false;
  chart_->paint(painter, size);
  return true;
}

void StepsView::toggle_following() {
  live_->toggle();
}

}  // namespace assay
