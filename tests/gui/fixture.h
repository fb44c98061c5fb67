// A window over a trace of its own.
#pragma once
#include <gtest/gtest.h>

#include "gui/app/script.h"
#include "gui/app/window.h"
#include "tests/gui/support.h"
#include "tests/support/traces.h"

namespace assay::testing {

class WindowTest : public ::testing::Test {
 protected:
  void open(const std::filesystem::path& path) {
    window_.show();
    window_.open(QString::fromStdString(path.string()));
    ASSERT_TRUE(idle());
  }
  void open_small() {
    write_small_trace(folder_ / "t.sqlite");
    open(folder_ / "t.sqlite");
  }
  auto idle() -> bool { return is_idle(window_); }
  static auto is_idle(const Window& window) -> bool {
    int quiet = 0;
    return wait_until([&] {
      quiet = window.is_idle() ? quiet + 1 : 0;
      return quiet > 3;
    });
  }
  auto screen() -> QString { return visible_text(window_); }
  auto node_name() -> std::string { return node_name(window_); }
  static auto node_name(const Window& window) -> std::string {
    if (window.store() == nullptr) return "";
    const auto answer =
        query_trace(window.store()->path(),
                    fmt::format("SELECT name FROM nodes WHERE id = {}", window.cursor().node));
    return answer && !answer->rows.empty() ? std::get<std::string>(answer->rows[0][0]) : "";
  }
  TemporaryFolder folder_;
  Window window_;
};

}  // namespace assay::testing
