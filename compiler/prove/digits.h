// An index as a mixed-radix number. Internal to compiler/prove.
//
// Kernels take one flat index apart: x % 8, (x // 8) % s27, x // (8*s27). Where the divisors divide
// each other, x is v0 + 8*v1 + 8*s27*v2 with independent digits v, and every such part is a sum of
// digits. Proofs then need no division.
//
// Several axes may be one number: where i < s, (i + s*j) // (4*s) is j // 4 and (i + s*j) % s is i.
// Then the divisors cut the axes of the sum as well, and a quotient leaves those terms that it
// divides, if all others stay below the divisor together.
#pragma once
#include <unordered_map>
#include <vector>

#include "compiler/prove/box.h"

namespace assay {

struct DigitBound {
  Expr symbol;  ///< 0 <= symbol <= high
  Expr high;
};

class Digits {
 public:
  /// Looks for parts of the axes in `e` and `conditions`; `joined`: of sums of them as well.
  Digits(ExprPool& pool, const BoxFacts& facts, const std::vector<BoxAxis>& axes, const Expr& e,
         bool joined);

  [[nodiscard]] auto rewrite(const Expr& e) const -> Expr;
  [[nodiscard]] auto bounds() const -> const std::vector<DigitBound>& { return bounds_; }
  [[nodiscard]] auto weights() const -> const std::vector<Expr>& { return weights_; }
  /// Whether the axis is digits now. Axes whose divisors form no chain stay as they are.
  [[nodiscard]] auto covers(const Expr& axis) const -> bool { return numbers_.contains(axis); }
  /// Are there parts of sums?
  [[nodiscard]] auto has_sums() const -> bool { return has_sums_; }

 private:
  /// (axis // low) % (high / low); high is 0 where nothing is cut off above. `axis` may be a sum.
  struct Part {
    Expr axis, low, high;
  };
  using Weights = std::unordered_map<Expr, std::vector<Expr>>;
  struct Number {
    std::vector<Expr> weights;  ///< 1, 8, 8*s27
    std::vector<Expr> digits;
  };
  [[nodiscard]] auto part(const Expr& e, bool of_sums = false) const -> std::optional<Part>;
  void collect(const Expr& e, Weights& weights);
  void collect_sum(const Part& part, Weights& weights);
  [[nodiscard]] auto cut(const Expr& sum, const Expr& by, bool keeps_rest) const
      -> std::optional<Expr>;
  [[nodiscard]] auto cut_sum(const Part& part) const -> std::optional<Expr>;
  void make_number(const BoxAxis& axis, std::vector<Expr> weights);
  [[nodiscard]] auto quotient(const Expr& a, const Expr& b) const -> std::optional<Expr>;
  [[nodiscard]] auto sum_of(const Part& part) const -> std::optional<Expr>;

  ExprPool& pool_;
  const Ranges& ranges_;
  const bool joined_;
  bool has_sums_ = false;
  std::vector<Expr> axes_;
  std::unordered_map<Expr, Expr> highs_;  ///< of digits and of axes that are none
  std::unordered_map<Expr, Number> numbers_;
  std::vector<DigitBound> bounds_;
  std::vector<Expr> weights_;
  mutable std::unordered_map<Expr, Expr> memo_;
};

}  // namespace assay
