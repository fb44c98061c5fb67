// The smallest compiled program that still fails the same way.
#pragma once
#include <map>
#include <string>

#include "minifier/search/minify_text.h"
#include "replay/runner/cut_program.h"

namespace assay {

struct MinifyProgramSettings {
  CutOptions cut;
  int suspect_line = 0;   ///< of the text: its statement is tried first by itself; 0: none
  bool has_sizes = true;  ///< sizes may become smaller; numbers of the signature may change then
  /// Masks of accesses may go. Not where whatever reads too much is a failure of the same name.
  bool has_masks = false;
  /// The program as it is written out may fail in other words than its text: it is called, not
  /// timed.
  bool may_fail_otherwise = false;
  /// Warps, stages and blocks may change: where whatever judges launches as they are written.
  bool has_launches = false;
  bool calls_only = false;  ///< leave kernels and sizes as they are
};

struct MinifiedProgram {
  std::string text, failure;
  int launches_before = 0, launches = 0;      ///< and library calls
  int statements_before = 0, statements = 0;  ///< lines of `call`
  int kernel_lines_before = 0, kernel_lines = 0;
  std::map<std::string, int> patches;  ///< kept ones, by kind
  std::string fails_iff;               ///< over symbols of the program; empty: at every size asked
  int asked = 0;
  bool is_complete = true;  ///< the budget was enough
};

/// Statements of `call` first, then lines of the kernels that are left, for which sizes it fails,
/// what kernels compute with, sizes, symbols, layouts, dtypes; then statements again. Errors: of
/// CutProgram; unsupported where the program as it is written out does not fail.
[[nodiscard]] auto minify_program(const std::string& text, const OpTable& table, TextOracle& oracle,
                                  const MinifyProgramSettings& settings) -> Result<MinifiedProgram>;

}  // namespace assay
