// The trace of a reduction, written while it runs.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "minifier/search/minify.h"
#include "replay/trace/trace.h"

namespace assay::cli {

/// Steps as they come, each committed, so that a viewer can follow.
class StepTrace {
 public:
  /// Of a capture or of compiled programs, minimised with an oracle.
  [[nodiscard]] static auto create(const std::string& path, const std::string& file,
                                   const std::string& format, const std::string& oracle)
      -> Result<StepTrace>;
  /// What is minimised ("original"), and at the end what is left ("minimal").
  auto add(const std::string& name, const Capture& capture) -> Result<void>;
  /// The same of a compiled program. Text that is no program is kept as text.
  auto add(const std::string& name, const std::string& program) -> Result<void>;
  /// A step that cannot be written is remembered; the search goes on.
  void add(const MinifyStep& step);
  auto finish(const std::vector<std::string>& warnings, double seconds, int exit) -> Result<void>;

 private:
  StepTrace(TraceWriter writer, TraceId run) : writer_(std::move(writer)), run_(run) {}
  [[nodiscard]] auto graph_row(const std::string& name, const std::string& kind) const -> GraphRow;

  TraceWriter writer_;
  TraceId run_;
  std::map<int, TraceId> ids_;
  std::optional<Error> problem_;
};

}  // namespace assay::cli
