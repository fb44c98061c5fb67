// Queries as SMT-LIB 2 text: what is dumped is exactly what the solver reads. No solver here.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/prove/prover.h"

namespace assay {

/// How products and divisions by symbols are written.
enum class SmtForm : std::uint8_t {
  native,  ///< as they are, with SMT-LIB's div and mod: exact
  linear,  ///< products are fresh integers with lemmas about them: weaker, but linear
};

struct SmtScript {
  /// Declarations, ranges, `aI => assumption I` and the negated claim. Satisfiable together with
  /// all literals iff (native; else: if) the claim can be false or without value.
  std::string text;
  std::vector<std::string> literals;                  ///< per assumption
  std::vector<std::pair<Expr, std::string>> symbols;  ///< integer symbols and their names
  std::optional<std::string> obstacle;                ///< why the claim cannot be written (floats)
};

/// Assumptions that cannot be written are left out: that only admits more. Operators without a
/// counterpart become integers of which only an interval is known.
[[nodiscard]] auto smt_script(const Query& query, SmtForm form) -> SmtScript;

}  // namespace assay
