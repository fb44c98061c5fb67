// A launch that gives something else than the graph it was compiled from, as a failure of its
// wrapper that can be cut down.
#pragma once
#include <optional>
#include <string>

#include "replay/runner/cut_program.h"
#include "replay/runner/stages.h"

namespace assay {

struct WrongLaunch {
  ProgramText program;
  DatumList inputs;      ///< of `call`
  int line = 0;          ///< of the launch or library call, in the program's text
  std::string target;    ///< kernel or library call
  std::string buffer;    ///< that it wrote
  std::string stage;     ///< "inductor_output_code#2 differs from ... in output 0: ..."
  std::string elements;  ///< bytes of what it wrote, in row-major order
  std::optional<Tensor> wrote, expected;  ///< expected: of the graph, where a node is it
  /// Where no node is it: what a later launch or call made of it, which a node is.
  std::optional<StageBlame::Shown> shown;
  std::string shown_elements;  ///< bytes of what `shown` holds

  /// "wrong values in buf3 of triton_poi_fused_0"; of what a check of the run found the finding.
  std::string failure;
};

/// The first one of a log. Errors: of debug_stages; unsupported where the first stage that differs
/// is a graph, or where no launch is to blame, naming it; nothing where every stage agrees.
[[nodiscard]] auto wrong_launch(std::string_view bytes, const std::string& name,
                                const OpTable& table, const StageOptions& options)
    -> Result<std::optional<WrongLaunch>>;

/// The wrapper on the inputs that its text holds: `failure` where the launch still writes the very
/// same wrong elements, else what a checked run finds.
[[nodiscard]] auto wrong_launch_failures(std::string_view text, const WrongLaunch& wrong,
                                         const OpTable& table) -> std::vector<std::string>;

/// How its program is cut: it gets the same inputs, returns the buffer, asserts what is expected.
[[nodiscard]] auto cut_options(const WrongLaunch& wrong) -> CutOptions;

}  // namespace assay
