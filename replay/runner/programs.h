// Compiled programs with their verdicts: every Inductor program of a TORCH_TRACE log, or a wrapper.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/prove/wrapper_bounds.h"
#include "core/base/result.h"
#include "core/ops/op_table.h"

namespace assay {

struct ProvedProgram {
  std::string name;  ///< "0/0 inductor_output_code#2", or the file
  int log_line = 0;  ///< of the event, 0 for a wrapper file
  std::string text;  ///< of the wrapper
  WrapperReport report;
  std::optional<HostProgram> program = {};  ///< as it was read, if it could be
};

/// One wrapper of a text that is no TORCH_TRACE log.
struct WrapperText {
  std::string name;  ///< of the file; with its number where there are several
  std::string text;  ///< its lines are numbered as in the file
};
/// The wrappers of a text: itself, or what TORCH_LOGS printed with a prefix before each line.
[[nodiscard]] auto wrappers_in(std::string_view text, const std::string& name)
    -> std::vector<WrapperText>;

/// Whether these bytes are what prove_programs reads: a log with programs, or a wrapper.
[[nodiscard]] auto holds_programs(std::string_view bytes) -> bool;

/// Proves storage and index bounds of every program in the log, or of the wrapper. A program that
/// cannot be read is one with a line not understood.
/// What calls of the captured graph need (by `table`) is a fact about its program.
/// Errors: of the readers, naming `name`; unsupported where a log holds no program.
[[nodiscard]] auto prove_programs(std::string_view bytes, const std::string& name,
                                  const OpTable& table) -> Result<std::vector<ProvedProgram>>;

}  // namespace assay
