// Runs a script in Z3 under a resource limit. Nothing of Z3 is visible here.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/prove/smt_text.h"

namespace assay {

struct SolverAnswer {
  enum class Kind : std::uint8_t { unsat, sat, unknown } kind = Kind::unknown;
  std::vector<std::size_t> core;  ///< unsat: assumptions that suffice
  Binding model;                  ///< sat: values of the script's symbols that fit int64
  std::string reason;             ///< unknown
  bool is_cut_off = false;        ///< unknown, since the safety net of time or memory held it
};

/// In this process, in a context of its own: the answer depends on the script and the limit alone.
[[nodiscard]] auto solve_here(const SmtScript& script, std::uint64_t rlimit) -> SolverAnswer;

/// In a child process, which is killed when it does not answer: Z3 does not always honour its
/// limits. The limit of time and memory is a safety net only and gives unknown.
[[nodiscard]] auto solve_in_worker(const SmtScript& script, std::uint64_t rlimit) -> SolverAnswer;

}  // namespace assay
