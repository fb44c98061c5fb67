// Points at which conditions were evaluated: one false point settles what no solver needs to see.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "compiler/prove/program.h"
#include "core/expr/eval.h"

namespace assay {

/// Truth of a list of conditions at a list of points over the same symbols.
class Samples {
 public:
  Samples(std::vector<Expr> symbols, const Ranges& ranges, const Binding& hints,
          std::span<const Expr> conditions);
  [[nodiscard]] auto symbols() const -> const std::vector<Expr>& { return symbols_; }

  /// A point at which all `kept` conditions are true and `claim` is not: nothing if none is known.
  [[nodiscard]] auto counterexample(std::span<const std::size_t> kept, std::size_t claim) const
      -> const std::vector<std::int64_t>*;
  /// Up to `count` points at which all `kept` are true and `claim` is not, smallest first.
  [[nodiscard]] auto against(std::span<const std::size_t> kept, const Expr& claim,
                             std::size_t count) const -> std::vector<Binding>;
  /// Points at which all `kept` conditions are true.
  [[nodiscard]] auto admitted(std::span<const std::size_t> kept) const
      -> std::vector<const std::vector<std::int64_t>*>;
  /// Largest value of a symbol at any point.
  [[nodiscard]] auto largest(std::size_t symbol) const -> std::int64_t;
  /// Adds a point, e.g. a witness that a prover found.
  void add(const Binding& point);

 private:
  void add(std::vector<std::int64_t> point);
  void around_hints(const Ranges& ranges, const Binding& hints);
  [[nodiscard]] auto all_true(std::span<const std::size_t> kept) const
      -> std::vector<std::uint64_t>;

  std::vector<Expr> symbols_;
  Program program_;
  std::vector<std::size_t> slots_;  ///< per condition
  std::vector<std::vector<std::int64_t>> points_;
  std::vector<std::vector<std::uint64_t>> yes_;    ///< per condition, one bit per point
  std::vector<std::vector<std::uint64_t>> maybe_;  ///< likewise: true, or not known
};

}  // namespace assay
