// Symbolic integer, float and boolean expressions over size symbols, as PyTorch's ShapeEnv
// writes them. An Expr is a 16-byte value; constants carry no pool, everything else is a
// hash-consed node of one ExprPool, so equal bits mean equal expressions.
//
// The same Expr type serves concrete and symbolic runs: arithmetic on two constants never touches
// a pool and costs about as much as int64 arithmetic, so metadata rules are written once.
#pragma once
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

class ExprPool;
struct ExprNode;

/// What a node computes. Names follow torch/utils/_sympy/functions.py where PyTorch has one.
enum class ExprOp : std::uint8_t {
  // leaves
  int_const,
  float_const,
  bool_const,
  int_oo,
  neg_int_oo,  ///< PyTorch's integer infinities; legal as range ends and in comparisons
  invalid,     ///< overflow, division by zero, wrong types: absorbs every operation
  symbol,
  // arithmetic; n-ary add, mul, min, max are flattened and sorted
  add,
  mul,
  pow,
  floor_div,
  clean_div,
  ceil_div,
  mod,
  python_mod,
  modular_indexing,
  min,
  max,
  where,
  int_true_div,
  float_true_div,
  pow_by_natural,
  float_pow,
  ceil_to_int,
  floor_to_int,
  trunc_to_int,
  trunc_to_float,
  round_to_int,
  round_decimal,
  to_float,
  abs_,
  identity,
  bit_and,
  bit_or,
  bit_xor,
  lshift,
  rshift,
  // booleans
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  logic_and,
  logic_or,
  logic_not,
  opaque,  ///< a function kept by name, e.g. OpaqueUnaryFn_cos(x)
};

enum class ExprType : std::uint8_t { integer, real, boolean };

/// A symbolic or constant expression. Copy freely; lives as long as its pool (constants: forever).
/// Arithmetic operators are exact on int64: overflow gives an `invalid` expression, never a wrap.
class Expr {
 public:
  constexpr Expr() = default;                           ///< the integer 0
  constexpr Expr(std::int64_t value) : bits_(value) {}  // NOLINT(google-explicit-constructor)
  constexpr Expr(int value) : bits_(value) {}           // NOLINT(google-explicit-constructor)
  static auto real(double value) -> Expr;
  static auto boolean(bool value) -> Expr;
  static auto infinity() -> Expr;      ///< int_oo
  static auto neg_infinity() -> Expr;  ///< -int_oo
  static auto invalid() -> Expr;

  [[nodiscard]] auto op() const -> ExprOp;
  [[nodiscard]] auto type() const -> ExprType;
  [[nodiscard]] auto is_const() const -> bool;  ///< an int, float or bool constant
  [[nodiscard]] auto is_valid() const -> bool;
  [[nodiscard]] auto as_int() const -> std::optional<std::int64_t>;  ///< integer constants only
  [[nodiscard]] auto as_real() const -> std::optional<double>;       ///< float constants only
  [[nodiscard]] auto as_bool() const -> std::optional<bool>;         ///< boolean constants only
  /// Numeric value of any int, float or bool constant.
  [[nodiscard]] auto as_number() const -> std::optional<double>;
  [[nodiscard]] auto is_int(std::int64_t value) const -> bool { return !node_ && bits_ == value; }

  /// Operands of an interior node, empty for leaves.
  [[nodiscard]] auto args() const -> std::span<const Expr>;
  /// Symbol or opaque function name, empty otherwise.
  [[nodiscard]] auto name() const -> std::string_view;
  /// Longest path to a leaf, 0 for leaves; at most ExprPool::kMaxDepth.
  [[nodiscard]] auto depth() const -> std::uint32_t;
  /// Nodes of the tree counted with repetition, saturating; 1 for leaves.
  [[nodiscard]] auto tree_size() const -> std::uint32_t;
  /// Free symbols, sorted by name, each once.
  [[nodiscard]] auto symbols() const -> std::vector<Expr>;
  /// The pool that owns the node; null for constants.
  [[nodiscard]] auto pool() const -> ExprPool*;

  friend auto operator==(const Expr& a, const Expr& b) -> bool = default;
  [[nodiscard]] auto hash() const -> std::size_t;
  /// Total order that does not depend on addresses (constants, then structure and names).
  [[nodiscard]] static auto compare(const Expr& a, const Expr& b) -> std::strong_ordering;

 private:
  friend class ExprPool;
  friend auto operator+(const Expr& a, const Expr& b) -> Expr;
  friend auto operator-(const Expr& a, const Expr& b) -> Expr;
  friend auto operator*(const Expr& a, const Expr& b) -> Expr;
  friend auto add_symbolic(const Expr& a, const Expr& b) -> Expr;
  friend auto mul_symbolic(const Expr& a, const Expr& b) -> Expr;
  constexpr Expr(const ExprNode* node, std::int64_t bits) : node_(node), bits_(bits) {}

  const ExprNode* node_ = nullptr;  ///< null: integer constant `bits_`; tag nodes: other constants
  std::int64_t bits_ = 0;           ///< constant payload; 0 for interior nodes
};

// Construction simplifies bottom-up (rules.h) and promotes int to real where PyTorch does. Type
// errors, overflow and division by 0 give Expr::invalid(). Operands share a pool, or are constant.
inline auto operator+(const Expr& a, const Expr& b) -> Expr;
inline auto operator-(const Expr& a, const Expr& b) -> Expr;
inline auto operator*(const Expr& a, const Expr& b) -> Expr;
inline auto operator-(const Expr& a) -> Expr;
auto floor_div(const Expr& a, const Expr& b) -> Expr;  ///< rounds toward minus infinity
auto mod(const Expr& a, const Expr& b) -> Expr;        ///< sign of the divisor (Python %)
auto ceil_div(const Expr& a, const Expr& b) -> Expr;
auto min(const Expr& a, const Expr& b) -> Expr;
auto max(const Expr& a, const Expr& b) -> Expr;
auto eq(const Expr& a, const Expr& b) -> Expr;
auto ne(const Expr& a, const Expr& b) -> Expr;
auto lt(const Expr& a, const Expr& b) -> Expr;
auto le(const Expr& a, const Expr& b) -> Expr;
auto gt(const Expr& a, const Expr& b) -> Expr;
auto ge(const Expr& a, const Expr& b) -> Expr;
auto logic_and(const Expr& a, const Expr& b) -> Expr;
auto logic_or(const Expr& a, const Expr& b) -> Expr;
auto logic_not(const Expr& a) -> Expr;
auto where(const Expr& condition, const Expr& a, const Expr& b) -> Expr;
/// Any operator by kind; `name` only for opaque. The general entry used by parsers.
auto make(ExprOp op, std::span<const Expr> args, std::string_view name = {}) -> Expr;
/// Same for operands that may all be constants while the result is not (opaque functions).
auto make(ExprPool& pool, ExprOp op, std::span<const Expr> args, std::string_view name = {})
    -> Expr;
auto product(std::span<const Expr> values) -> Expr;  ///< of all, 1 for none
auto sum(std::span<const Expr> values) -> Expr;

/// Owns the nodes. Not thread-safe; not copyable; addresses are stable. Every simplification spends
/// fuel and stops rewriting (keeping the value) when it runs out, so nothing here can loop.
class ExprPool {
 public:
  ExprPool();
  ~ExprPool();
  ExprPool(const ExprPool&) = delete;
  auto operator=(const ExprPool&) -> ExprPool& = delete;

  /// The symbol with that name; type is fixed by the first call (integer unless said).
  auto symbol(std::string_view name, ExprType type = ExprType::integer) -> Expr;
  [[nodiscard]] auto find_symbol(std::string_view name) const -> std::optional<Expr>;
  [[nodiscard]] auto node_count() const -> std::size_t;
  /// Interns a node as given, without simplifying; for make() and tests. Deeper than kMaxDepth
  /// gives Expr::invalid(), which keeps every recursive traversal within the stack.
  auto intern(ExprOp op, ExprType type, std::vector<Expr> args, std::string_view name) -> Expr;
  auto intern(ExprOp op, ExprType type, std::span<const Expr> args, std::string_view name = {})
      -> Expr;
  static constexpr std::uint32_t kMaxDepth = 1000;
  /// What simplifying two operands gave lately, for make(); invalid: nothing, or forgotten.
  auto lately(ExprOp op, const Expr& a, const Expr& b) -> Expr&;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Hash-consed storage cell. Public so that traversals need no friend; never built by hand.
struct ExprNode {
  ExprOp op = ExprOp::invalid;
  ExprType type = ExprType::integer;
  std::uint32_t id = 0;         ///< creation order within the pool
  std::uint32_t depth = 0;      ///< longest path to a leaf
  std::uint32_t tree_size = 1;  ///< nodes counted with repetition, saturating
  std::size_t hash = 0;         ///< of the structure, the same in every run
  ExprPool* pool = nullptr;
  std::span<const Expr> args = {};  ///< stored in the pool
  std::string_view name = {};       ///< stored in the pool
};

// Inline, because concrete runs do nothing else all day.
inline auto Expr::op() const -> ExprOp {
  return node_ ? node_->op : ExprOp::int_const;
}
inline auto Expr::type() const -> ExprType {
  return node_ ? node_->type : ExprType::integer;
}
inline auto Expr::is_const() const -> bool {
  return !node_ || node_->op <= ExprOp::bool_const;
}
inline auto Expr::is_valid() const -> bool {
  return !node_ || node_->op != ExprOp::invalid;
}
inline auto Expr::as_int() const -> std::optional<std::int64_t> {
  return node_ ? std::nullopt : std::optional(bits_);
}
inline auto Expr::args() const -> std::span<const Expr> {
  return node_ ? node_->args : std::span<const Expr>();
}
inline auto Expr::pool() const -> ExprPool* {
  return node_ ? node_->pool : nullptr;
}

inline auto operator+(const Expr& a, const Expr& b) -> Expr {
  std::int64_t sum = 0;
  if (a.node_ || b.node_) return add_symbolic(a, b);
  return __builtin_add_overflow(a.bits_, b.bits_, &sum) ? Expr::invalid() : Expr(sum);
}
inline auto operator-(const Expr& a, const Expr& b) -> Expr {
  std::int64_t difference = 0;
  if (a.node_ || b.node_) return add_symbolic(a, -b);
  return __builtin_sub_overflow(a.bits_, b.bits_, &difference) ? Expr::invalid() : Expr(difference);
}
inline auto operator*(const Expr& a, const Expr& b) -> Expr {
  std::int64_t product = 0;
  if (a.node_ || b.node_) return mul_symbolic(a, b);
  return __builtin_mul_overflow(a.bits_, b.bits_, &product) ? Expr::invalid() : Expr(product);
}
inline auto operator-(const Expr& a) -> Expr {
  return Expr(-1) * a;
}

}  // namespace assay

template <>
struct std::hash<assay::Expr> {
  auto operator()(const assay::Expr& e) const -> std::size_t { return e.hash(); }
};
