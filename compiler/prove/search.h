// Concrete sizes in shortlex order: near the ends of the ranges first.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/expr/eval.h"
#include "core/expr/int128.h"

namespace assay {

/// The admitted values of some integer symbols, each counted from where its range starts: rank 0 is
/// the low end (else the high end, else 0). Points are ordered by the sum of their ranks, then by
/// the ranks themselves, first symbol first.
class Box {
 public:
  Box(std::vector<Expr> symbols, const Ranges& ranges);
  [[nodiscard]] auto symbols() const -> const std::vector<Expr>& { return symbols_; }
  /// Points in the box, saturating; an empty range counts as none.
  [[nodiscard]] auto size() const -> Int128;
  /// Calls `visit` on at most `limit` points in order until it returns true; says how many were
  /// visited and whether it did.
  struct Visit {
    std::uint64_t points = 0;
    bool stopped = false;
  };
  auto visit(std::uint64_t limit,
             const std::function<bool(std::span<const std::int64_t>)>& visit) const -> Visit;
  /// Moves a point on which `bad` holds towards smaller ranks, one symbol at a time, by bisection
  /// and by single steps, as long as `bad` holds.
  auto descend(std::vector<std::int64_t> point,
               const std::function<bool(std::span<const std::int64_t>)>& bad) const
      -> std::vector<std::int64_t>;
  [[nodiscard]] auto contains(std::span<const std::int64_t> point) const -> bool;

 private:
  struct Axis {
    std::optional<std::int64_t> low, high;
    [[nodiscard]] auto count() const -> Int128;  ///< values, saturating
    [[nodiscard]] auto value(Int128 rank) const -> std::int64_t;
    [[nodiscard]] auto rank(std::int64_t value) const -> Int128;
  };
  std::vector<Expr> symbols_;
  std::vector<Axis> axes_;
};

[[nodiscard]] auto to_binding(std::span<const Expr> symbols, std::span<const std::int64_t> point)
    -> Binding;

}  // namespace assay
