// How a metadata rule decides on sizes: at once on numbers, by ranges or at the hints on symbols.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "core/expr/eval.h"
#include "core/shape/shape_env.h"

namespace assay {

/// A fact about symbols that a rule relied on and that ranges alone do not imply. `condition` held
/// at the hints; a capture whose guards do not imply it misses a guard.
struct Obligation {
  Expr condition;
  std::string why;       ///< e.g. "aten.add.Tensor: sizes broadcast at dimension 1"
  int node = -1;         ///< capture id of the node being run, -1 outside a graph
  bool assumed = false;  ///< an unbacked symbol took part: there was no hint to look at
};

/// What a call cannot do without: where it is false, the call raises. Not settled by ranges.
struct Requirement {
  Expr condition;           ///< true at the hints
  std::vector<Expr> under;  ///< choices of the same call that led to it, as they came out
  int node = -1;            ///< capture id
};

/// State of one symbolic (or concrete) run. With no environment everything must be constant.
class ShapeContext {
 public:
  ShapeContext() = default;
  explicit ShapeContext(const ShapeEnv& env) : env_(&env), hints_(env.hints()) {}

  /// Truth of a boolean expression: constant, implied by the ranges, or else as at the hints, which
  /// records an obligation. Unbacked symbols count as large, distinct sizes.
  auto decide(const Expr& condition, std::string_view why) -> bool;
  /// decide() for what the call cannot do without; a requirement as well.
  auto require(const Expr& condition, std::string_view why) -> bool;
  /// decide() without recording: for choices that do not change the result.
  [[nodiscard]] auto probably(const Expr& condition) -> bool;
  /// True only if constant or implied by the ranges; never records.
  [[nodiscard]] auto surely(const Expr& condition) -> bool;

  /// Value of an expression that must be a number (a list length): constant, or as at the hints,
  /// which records an obligation.
  auto concrete(const Expr& e, std::string_view why) -> std::int64_t;

  auto fresh_storage() -> int { return next_storage_++; }
  /// Number only known from data: the next of `measured` in a real run, else a new unbacked symbol.
  auto data_dependent_value(ExprType type) -> Expr;
  /// The same for a size.
  auto data_dependent_size() -> Expr { return data_dependent_value(ExprType::integer); }
  void set_measured(std::vector<Expr> values) { measured_ = std::move(values); }
  void set_pool(ExprPool& pool) { pool_ = &pool; }
  void set_node(int id, std::string_view op) {
    node_ = id;
    op_ = op;
    choices_.clear();
  }

  [[nodiscard]] auto obligations() const -> const std::vector<Obligation>& { return obligations_; }
  [[nodiscard]] auto requirements() const -> const std::vector<Requirement>& {
    return requirements_;
  }
  [[nodiscard]] auto env() const -> const ShapeEnv* { return env_; }
  /// Symbols made by data_dependent_value, in order.
  [[nodiscard]] auto made_symbols() const -> const std::vector<Expr>& { return made_; }

 private:
  struct Decision {
    bool value = false;
    bool settled = false;  ///< constant or implied: no obligation
    bool assumed = false;
    bool recorded = false;
  };
  auto look_up(const Expr& condition) -> Decision&;
  /// Hints plus stand-in sizes for the symbols of `e` that have none; says whether there were such.
  auto complete_hints(const Expr& e) const -> std::pair<Binding, bool>;

  const ShapeEnv* env_ = nullptr;
  ExprPool* pool_ = nullptr;
  Binding hints_;
  std::unordered_map<Expr, Decision> decisions_;
  std::vector<Obligation> obligations_;
  std::vector<Requirement> requirements_;
  std::vector<Expr> choices_;  ///< of this node, as they came out
  std::vector<Expr> measured_;
  std::size_t next_measured_ = 0;
  std::vector<Expr> made_;
  int next_storage_ = 0;
  int node_ = -1;
  std::string op_;
};

}  // namespace assay
