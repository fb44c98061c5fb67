// Waiting for a window without sleeping longer than it takes.
#pragma once
#include <functional>

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QTimer>

namespace assay::testing {

/// Runs the event loop until `done`, at most `ms`. Was it done?
inline auto wait_until(const std::function<bool()>& done, int ms = 20'000) -> bool {
  QElapsedTimer clock;
  clock.start();
  while (!done() && clock.elapsed() < ms) {
    QEventLoop loop;
    QTimer::singleShot(5, &loop, &QEventLoop::quit);
    loop.exec();
  }
  return done();
}

}  // namespace assay::testing
