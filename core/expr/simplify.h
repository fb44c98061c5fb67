// Bottom-up simplification of one node over simplified operands. Internal to core/expr.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/expr/expr.h"
#include "core/expr/poly.h"

namespace assay {

/// A product of sums is expanded while it has at most this many terms.
inline constexpr std::int64_t kMaxExpandedTerms = 32;
/// Rewriting steps one construction may take; afterwards nodes are kept as they are.
inline constexpr int kSimplifyFuel = 2000;
/// With less left a RewriteWatch is told of every step.
inline constexpr int kWatchedFuel = 4;
/// Operands up to which min, max, and, or look at all pairs.
inline constexpr std::size_t kMaxPairwise = 16;

class Simplifier {
 public:
  explicit Simplifier(ExprPool* pool) : pool_(pool) {}

  /// The general entry: checks types, absorbs invalid, folds constants, then rewrites.
  auto make(ExprOp op, std::span<const Expr> args, std::string_view name = {}) -> Expr;
  auto make(ExprOp op, std::initializer_list<Expr> args) -> Expr {
    return make(op, std::span<const Expr>(args.begin(), args.size()));
  }
  /// Whether nobody had to be told of what was made: the same is made again.
  [[nodiscard]] auto ended() const -> bool { return fuel_ >= kWatchedFuel; }

 private:
  using Args = std::span<const Expr>;
  using Rule = Expr (Simplifier::*)(ExprOp, Args);
  struct Row;
  static auto rule_of(ExprOp op) -> Rule;

  auto keep(ExprOp op, Args args, std::string_view name = {}) -> Expr;
  auto keep(ExprOp op, std::initializer_list<Expr> args) -> Expr {
    return keep(op, Args(args.begin(), args.size()));
  }
  auto keep_sorted(ExprOp op, Args args) -> Expr;
  auto with_infinity(ExprOp op, Args args) -> Expr;
  auto plain(ExprOp op, Args args) -> Expr { return keep(op, args); }

  // simplify_poly.cpp
  auto add(ExprOp op, Args args) -> Expr;
  auto mul(ExprOp op, Args args) -> Expr;
  auto pow(ExprOp op, Args args) -> Expr;
  auto real_add_mul(ExprOp op, Args args) -> Expr;
  auto large_product(Args args) -> Expr;
  auto flat_product(const std::vector<Factor>& factors) -> std::optional<Product>;
  auto product_of(const std::vector<Factor>& factors) -> std::optional<Expr>;
  auto expand(const Product& atoms, const std::vector<Factor>& sums) -> std::optional<Expr>;
  auto from_terms(const std::optional<Poly>& poly) -> std::optional<Expr>;
  auto negate(const Expr& e) -> Expr { return make(ExprOp::mul, {Expr(-1), e}); }

  // simplify_div.cpp
  auto floor_div(ExprOp op, Args args) -> Expr;
  auto ceil_div(ExprOp op, Args args) -> Expr;
  auto clean_div(ExprOp op, Args args) -> Expr;
  auto mod(ExprOp op, Args args) -> Expr;
  auto modular_indexing(ExprOp op, Args args) -> Expr;
  static auto is_undone() -> bool;
  auto floor_div_constant(const Expr& a, std::int64_t k) -> std::optional<Expr>;
  auto floor_div_symbolic(const Expr& a, const Expr& b) -> std::optional<Expr>;
  auto unnest_floor_div(const Poly& rest, std::int64_t k) -> std::optional<Expr>;
  auto mod_constant(ExprOp op, const Expr& a, std::int64_t k) -> std::optional<Expr>;
  auto mod_symbolic(ExprOp op, const Expr& a, const Expr& b) -> std::optional<Expr>;
  auto reduce_modulo(Poly a, std::int64_t k) -> std::optional<Poly>;

  // simplify_bool.cpp
  auto compare(ExprOp op, Args args) -> Expr;
  auto compare_integers(ExprOp op, const Expr& a, const Expr& b) -> Expr;
  auto order_integers(const Poly& difference) -> std::optional<Expr>;
  auto equate_integers(ExprOp op, const Poly& difference) -> std::optional<Expr>;
  auto compare_booleans(ExprOp op, const Expr& a, const Expr& b) -> Expr;
  auto compare_with_real(ExprOp op, const Expr& a, const Expr& b) -> std::optional<Expr>;
  auto junction(ExprOp op, Args args) -> Expr;
  auto logic_not(ExprOp op, Args args) -> Expr;
  auto where(ExprOp op, Args args) -> Expr;
  auto extreme(ExprOp op, Args args) -> Expr;
  auto absorb(ExprOp op, std::vector<Expr>& args) -> bool;
  auto constant_difference(const Expr& a, const Expr& b) -> std::optional<std::int64_t>;

  // simplify_convert.cpp
  auto int_true_div(ExprOp op, Args args) -> Expr;
  auto real_operands(ExprOp op, Args args) -> Expr;
  auto to_integer(ExprOp op, Args args) -> Expr;
  auto to_float(ExprOp op, Args args) -> Expr;
  auto round_decimal(ExprOp op, Args args) -> Expr;
  auto abs_(ExprOp op, Args args) -> Expr;
  auto identity(ExprOp op, Args args) -> Expr;
  auto bitwise(ExprOp op, Args args) -> Expr;
  auto shift(ExprOp op, Args args) -> Expr;

  ExprPool* pool_;  ///< null while all operands are constants
  int fuel_ = kSimplifyFuel;
};

}  // namespace assay
