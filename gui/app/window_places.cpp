// Places: what links name, where the user was in a file, which views are pinned where.
#include <QDockWidget>

#include "gui/app/window.h"
#include "gui/views/triage_view.h"
#include "replay/trace/pages.h"

namespace assay {

void Window::find_node(QObject* asker, const std::string& name, TraceId graph, Found found) {
  if (!store_) return;
  if (graph != 0) {
    const auto receive = [this, name, graph, found = std::move(found)](Result<TraceAnswer> answer) {
      if (!answer || answer->rows.empty())
        return desk_.say(tr("There is no node %1 in graph %2").arg(qt(name)).arg(graph));
      found({.graph = graph, .node = to_number(answer->rows[0][0])});
    };
    return store_->ask(asker, "node by name in graph", {graph, name}, receive);
  }
  const auto receive = [this, name, found = std::move(found)](Result<TraceAnswer> answer) {
    if (!answer || answer->rows.empty()) return desk_.say(tr("There is no node %1").arg(qt(name)));
    found({.graph = to_number(answer->rows[0][1]), .node = to_number(answer->rows[0][0])});
  };
  store_->ask(asker, "node by name", {name}, receive);
}

/// The first node that the launch computes, if it is linked to any.
void Window::find_launch(const Cursor& cursor) {
  const auto found_node = [this, cursor, before = visits_](Result<TraceAnswer> answer) {
    if (visits_ != before) return;  // the user has gone elsewhere meanwhile
    auto found = cursor;
    if (answer && !answer->rows.empty()) {
      found.node = to_number(answer->rows[0][0]);
      found.graph = to_number(answer->rows[0][1]);
    }
    visit(found);
  };
  store_->ask(this, "node of launch", {cursor.launch}, found_node);
}

void Window::find_row(QObject* asker, const char* statement, const QString& place, Cursor cursor,
                      Found found) {
  const auto id = cursor.proof != 0 ? cursor.proof : cursor.guard;
  const auto receive = [this, place, cursor,
                        found = std::move(found)](Result<TraceAnswer> answer) mutable {
    if (!answer || answer->rows.empty()) return desk_.say(tr("No such place: %1").arg(place));
    cursor.graph = to_number(answer->rows[0][0]);
    cursor.node = to_number(answer->rows[0][1]);
    found(cursor);
  };
  store_->ask(asker, statement, {id}, receive);
}

void Window::find_place(QObject* asker, const QString& place, Found found) {
  const auto kind = place.section(':', 0, 0);
  const auto value = place.section(':', 1);
  const auto number = value.toLongLong();
  const auto here = cursor_.graph;
  if (kind == QStringLiteral("node") && value.contains(':'))
    return find_node(asker, value.section(':', 1).toStdString(),
                     value.section(':', 0, 0).toLongLong(), std::move(found));
  if (kind == QStringLiteral("node"))
    return find_node(asker, value.toStdString(), 0, std::move(found));
  if (kind == QStringLiteral("graph")) return found({.graph = number});
  if (kind == QStringLiteral("step")) return found({.graph = here, .step = number});
  if (kind == QStringLiteral("launch")) return found({.graph = here, .launch = number});
  if (kind == QStringLiteral("guard"))
    return find_row(asker, "place of guard", place, {.guard = number}, std::move(found));
  if (kind == QStringLiteral("proof"))
    return find_row(asker, "place of proof", place, {.proof = number}, std::move(found));
  if (kind == QStringLiteral("finding"))
    for (const auto& finding : triage_->triage().findings)
      if (finding.id == number) return found(finding.cursor);
  desk_.say(tr("No such place: %1").arg(place));
}

void Window::go_to(const QString& place) {
  if (!store_ || triage_->state() != ViewState::ready) {
    place_ = place;
    return;
  }
  find_place(this, place, [this](const Cursor& cursor) { go(cursor); });
}

auto Window::place(bool exact) const -> QString {
  const auto at = [](const char* kind, TraceId id) {
    return QStringLiteral("%1:%2").arg(QLatin1String(kind)).arg(id);
  };
  if (cursor_.step != 0) return at("step", cursor_.step);
  if (cursor_.proof != 0) return at("proof", cursor_.proof);
  if (cursor_.guard != 0) return at("guard", cursor_.guard);
  if (cursor_.launch != 0) return at("launch", cursor_.launch);
  const auto name = place_label_->property("node").toString();
  if (cursor_.node != 0 && !name.isEmpty())
    return exact ? QStringLiteral("node:%1:%2").arg(cursor_.graph).arg(name)
                 : QStringLiteral("node:") + name;
  return cursor_.graph != 0 ? at("graph", cursor_.graph) : QString();
}

auto Window::link() const -> QString {
  const auto here = place(false);
  return QStringLiteral("assay:") + path_ + (here.isEmpty() ? here : '#' + here);
}

void Window::set_pinned(View& view, bool pinned) {
  view.set_pinned(pinned);
  if (pinned)
    pins_[view.id()] = place(true);
  else
    pins_.erase(view.id());
  trim_titles();
}

/// Where the user is in the file that is open, and what is pinned.
void Window::save_place() {
  if (!session_ || !store_ || path_.isEmpty()) return;
  if (const auto here = place(true); !here.isEmpty()) session_->save_place(path_, here);
  session_->save_pins(path_, pins_);
}

void Window::restore_pins() {
  if (!session_) return;
  for (const auto& [id, place] : session_->pins(path_)) {
    auto* one = view(id);
    if (one == nullptr || place.isEmpty()) continue;
    find_place(one, place, [this, one, place = place](const Cursor& cursor) {
      one->pin_at(cursor);
      set_pinned(*one, true);
      pins_[one->id()] = place;
    });
  }
}

}  // namespace assay
