// What the whole window looks at: every view follows it, every link sets it.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "replay/trace/trace.h"

namespace assay {

/// Keys of the trace; 0 for "none". A node's graph is always set too.
struct Cursor {
  TraceId graph = 0;
  TraceId node = 0;
  TraceId guard = 0;
  TraceId proof = 0;
  TraceId step = 0;
  TraceId finding = 0;
  TraceId launch = 0;
  friend auto operator==(const Cursor&, const Cursor&) -> bool = default;
};

/// Back and forward, as in a browser.
class CursorHistory {
 public:
  void go(const Cursor& cursor) {
    if (!visited_.empty() && visited_[at_] == cursor) return;
    if (!visited_.empty()) visited_.resize(at_ + 1);
    visited_.push_back(cursor);
    at_ = visited_.size() - 1;
  }
  [[nodiscard]] auto can_go_back() const -> bool { return at_ > 0; }
  [[nodiscard]] auto can_go_forward() const -> bool { return at_ + 1 < visited_.size(); }
  /// Only where can_go_back() or can_go_forward() says so.
  auto back() -> const Cursor& { return visited_[--at_]; }
  auto forward() -> const Cursor& { return visited_[++at_]; }

 private:
  std::vector<Cursor> visited_;
  std::size_t at_ = 0;
};

}  // namespace assay
