// What every subcommand shares: exit codes, output, progress, JSON.
#pragma once
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.h"
#include "core/base/result.h"
#include "core/expr/eval.h"
#include "core/graph/graph.h"
#include "core/ops/op_table.h"
#include "replay/report/paint.h"

namespace assay::cli {

enum ExitCode : int {
  kNothingFound = 0,
  kFindings = 1,
  kUsage = 2,
  kBadInput = 3,
  kMissingTool = 4,
  kUndecided = 5,
};

/// Prints `assay: error: …` to stderr and gives the exit code of the error's kind.
[[nodiscard]] auto report_error(const Error& error) -> int;

[[nodiscard]] auto commands() -> std::vector<Command>;

// One per file.
auto add_show(Arguments& arguments) -> Action;
auto add_import(Arguments& arguments) -> Action;
auto add_run(Arguments& arguments) -> Action;
auto add_compile(Arguments& arguments) -> Action;
auto add_debug(Arguments& arguments) -> Action;
auto add_prove(Arguments& arguments) -> Action;
auto add_replay(Arguments& arguments) -> Action;
auto add_compare(Arguments& arguments) -> Action;
auto add_trace(Arguments& arguments) -> Action;
auto add_view(Arguments& arguments) -> Action;
auto add_diff(Arguments& arguments) -> Action;
auto add_query(Arguments& arguments) -> Action;
auto add_conform(Arguments& arguments) -> Action;
auto add_minify(Arguments& arguments) -> Action;
auto add_completion(Arguments& arguments) -> Action;

/// A line that overwrites itself on a terminal and is silent elsewhere, or, with ASSAY_PROGRESS
/// set, lines "progress: ..." for a program that watches. At most ten updates a second; erased at
/// the end.
class Progress {
 public:
  explicit Progress(std::string_view doing = {});
  ~Progress();
  Progress(const Progress&) = delete;
  auto operator=(const Progress&) -> Progress& = delete;
  void update(std::size_t done, std::size_t total);
  [[nodiscard]] auto seconds() const -> double;  ///< since the start
  /// Shows what `line` makes of the seconds since the start.
  void show(const std::function<std::string(double seconds)>& line, bool is_last = false);

 private:
  std::string doing_;
  bool enabled_;
  bool lines_;
  long long start_ms_;
  long long last_ms_ = 0;
};

/// Colours when stdout is a terminal and NO_COLOR is not set.
[[nodiscard]] auto paint() -> const Paint&;
[[nodiscard]] inline auto styled(std::string_view text, Style style) -> std::string {
  return paint()(text, style);
}

/// Help of `--graph` where it chooses what a capture is made of.
inline constexpr const char* kGraphHelp =
    "of a text or log with several graphs: this one, by title or number";

inline constexpr const char* kLinksHelp =
    "print links into the viewer for root findings: `assay view LINK`";

/// `s0=7,s1=64` as a binding of the graph's symbols. Errors: usage, naming the symbol or number.
[[nodiscard]] auto parse_binding(const ShapeEnv& env, const std::string& text) -> Result<Binding>;

}  // namespace assay::cli
