// Decides one claim for all values of its symbols. The solver stays behind this header.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/prove/answer.h"
#include "core/expr/eval.h"

namespace assay {

/// For all integers that `ranges` and all `assumptions` admit: is `claim` true? Kernel indices and
/// program ids are symbols like any other. Semantics are exactly those of core/expr's evaluate,
/// without its int64 limit (overflow is an obligation of its own). Where evaluating the claim is
/// undefined (division by zero) it counts as false; an undefined assumption admits nothing.
struct Query {
  Expr claim;
  std::vector<Expr> assumptions;
  Ranges ranges;
};

/// Work limits, never times: the same queries in the same order get the same answers on every
/// machine. A limit of 0 leaves the tier out.
struct ProverOptions {
  std::uint64_t linear_rlimit = 200'000;
  std::uint64_t non_linear_rlimit = 1'000'000;
  std::uint64_t search_points = 20'000;
  bool use_solver = true;  ///< off: the tiers without Z3
  int max_cases = 400;     ///< of a proof by cases
  int hard_questions = 4;  ///< on which the non-linear tier may give up before it is left out
};

/// Not thread-safe; one per thread. Holds a solver context that is made at first need.
class Prover {
 public:
  explicit Prover(ProverOptions options = {});
  ~Prover();
  Prover(Prover&&) noexcept;
  auto operator=(Prover&&) noexcept -> Prover&;

  [[nodiscard]] auto prove(const Query& query) -> Answer;
  /// The query as an SMT-LIB 2 script that is unsat iff the claim holds, for any other solver.
  [[nodiscard]] static auto smt_lib(const Query& query) -> std::string;
  /// How many questions that leave conditions out have had no answer: after some, none is asked.
  int vain_questions = 0;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
