#include "core/expr/expr.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <unordered_set>

#include "core/base/check.h"

namespace assay {
namespace {

// Tag nodes: an Expr that points at one of these is a constant whose payload is in its bits.
constexpr ExprNode kRealTag{.op = ExprOp::float_const, .type = ExprType::real};
constexpr ExprNode kBoolTag{.op = ExprOp::bool_const, .type = ExprType::boolean};
constexpr ExprNode kInfinityTag{.op = ExprOp::int_oo};
constexpr ExprNode kNegInfinityTag{.op = ExprOp::neg_int_oo};
constexpr ExprNode kInvalidTag{.op = ExprOp::invalid};

auto mix(std::uint64_t x) -> std::uint64_t {  // splitmix64 finaliser
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

/// Constants first, then symbols, then everything else.
auto rank(ExprOp op) -> int {
  if (op < ExprOp::symbol) return 0;
  return op == ExprOp::symbol ? 1 : 2;
}

auto compare_constants(const Expr& a, const Expr& b) -> std::strong_ordering {
  if (a.op() != b.op()) return a.op() <=> b.op();
  if (const auto x = a.as_int()) return *x <=> b.as_int();
  if (const auto x = a.as_bool()) return *x <=> b.as_bool();
  if (const auto x = a.as_real()) return std::strong_order(*x, b.as_real().value_or(0));
  return std::strong_ordering::equal;
}

}  // namespace

auto Expr::real(double value) -> Expr {
  // One NaN only: payload bits would make equal-looking constants differ.
  if (value != value) value = __builtin_nan("");
  return {&kRealTag, std::bit_cast<std::int64_t>(value)};
}
auto Expr::boolean(bool value) -> Expr {
  return {&kBoolTag, value ? 1 : 0};
}
auto Expr::infinity() -> Expr {
  return {&kInfinityTag, 0};
}
auto Expr::neg_infinity() -> Expr {
  return {&kNegInfinityTag, 0};
}
auto Expr::invalid() -> Expr {
  return {&kInvalidTag, 0};
}

auto Expr::as_real() const -> std::optional<double> {
  return node_ == &kRealTag ? std::optional(std::bit_cast<double>(bits_)) : std::nullopt;
}
auto Expr::as_bool() const -> std::optional<bool> {
  return node_ == &kBoolTag ? std::optional(bits_ != 0) : std::nullopt;
}
auto Expr::as_number() const -> std::optional<double> {
  if (const auto value = as_real()) return value;
  return is_const() ? std::optional(static_cast<double>(bits_)) : std::nullopt;
}

auto Expr::name() const -> std::string_view {
  return node_ ? node_->name : std::string_view();
}
auto Expr::depth() const -> std::uint32_t {
  return node_ ? node_->depth : 0;
}
auto Expr::tree_size() const -> std::uint32_t {
  return node_ ? node_->tree_size : 1;
}

auto Expr::hash() const -> std::size_t {
  if (!node_) return mix(static_cast<std::uint64_t>(bits_));
  if (node_->pool) return node_->hash;
  return mix(static_cast<std::uint64_t>(bits_) ^ mix(static_cast<std::uint64_t>(node_->op)));
}

auto Expr::symbols() const -> std::vector<Expr> {
  std::vector<Expr> found;
  std::vector<Expr> pending{*this};
  std::unordered_set<const ExprNode*> seen;
  while (!pending.empty()) {
    const Expr e = pending.back();
    pending.pop_back();
    if (!e.pool() || !seen.insert(e.node_).second) continue;
    if (e.op() == ExprOp::symbol) found.push_back(e);
    pending.insert(pending.end(), e.args().begin(), e.args().end());
  }
  std::ranges::sort(found, {}, &Expr::name);
  return found;
}

auto Expr::compare(const Expr& a, const Expr& b) -> std::strong_ordering {
  if (a == b) return std::strong_ordering::equal;
  if (const auto order = rank(a.op()) <=> rank(b.op()); order != 0) return order;
  if (rank(a.op()) == 0) return compare_constants(a, b);
  if (a.op() != b.op()) return a.op() <=> b.op();
  if (const auto order = a.name() <=> b.name(); order != 0) return order;
  if (const auto order = a.type() <=> b.type(); order != 0) return order;
  const auto x = a.args();
  const auto y = b.args();
  return std::lexicographical_compare_three_way(x.begin(), x.end(), y.begin(), y.end(),
                                                &Expr::compare);
}

namespace {

auto make_list(ExprOp op, std::initializer_list<Expr> args) -> Expr {
  return make(op, std::span<const Expr>(args.begin(), args.size()));
}
/// Two integers, which is what rules have at actual sizes, need nobody's help.
template <class Compare>
auto compared(ExprOp op, const Expr& a, const Expr& b) -> Expr {
  const auto x = a.as_int(), y = b.as_int();
  return x && y ? Expr::boolean(Compare()(*x, *y)) : make_list(op, {a, b});
}

}  // namespace

auto add_symbolic(const Expr& a, const Expr& b) -> Expr {
  return make_list(ExprOp::add, {a, b});
}
auto mul_symbolic(const Expr& a, const Expr& b) -> Expr {
  return make_list(ExprOp::mul, {a, b});
}

auto floor_div(const Expr& a, const Expr& b) -> Expr {
  return make_list(ExprOp::floor_div, {a, b});
}
auto mod(const Expr& a, const Expr& b) -> Expr {
  return make_list(ExprOp::mod, {a, b});
}
auto ceil_div(const Expr& a, const Expr& b) -> Expr {
  return make_list(ExprOp::ceil_div, {a, b});
}
auto min(const Expr& a, const Expr& b) -> Expr {
  return make_list(ExprOp::min, {a, b});
}
auto max(const Expr& a, const Expr& b) -> Expr {
  return make_list(ExprOp::max, {a, b});
}
auto eq(const Expr& a, const Expr& b) -> Expr {
  return compared<std::equal_to<>>(ExprOp::eq, a, b);
}
auto ne(const Expr& a, const Expr& b) -> Expr {
  return compared<std::not_equal_to<>>(ExprOp::ne, a, b);
}
auto lt(const Expr& a, const Expr& b) -> Expr {
  return compared<std::less<>>(ExprOp::lt, a, b);
}
auto le(const Expr& a, const Expr& b) -> Expr {
  return compared<std::less_equal<>>(ExprOp::le, a, b);
}
auto gt(const Expr& a, const Expr& b) -> Expr {
  return compared<std::greater<>>(ExprOp::gt, a, b);
}
auto ge(const Expr& a, const Expr& b) -> Expr {
  return compared<std::greater_equal<>>(ExprOp::ge, a, b);
}
auto logic_and(const Expr& a, const Expr& b) -> Expr {
  return make_list(ExprOp::logic_and, {a, b});
}
auto logic_or(const Expr& a, const Expr& b) -> Expr {
  return make_list(ExprOp::logic_or, {a, b});
}
auto logic_not(const Expr& a) -> Expr {
  return make_list(ExprOp::logic_not, {a});
}
auto where(const Expr& condition, const Expr& a, const Expr& b) -> Expr {
  return make_list(ExprOp::where, {condition, a, b});
}

auto product(std::span<const Expr> values) -> Expr {
  return values.empty() ? Expr(1) : make(ExprOp::mul, values);
}
auto sum(std::span<const Expr> values) -> Expr {
  return values.empty() ? Expr(0) : make(ExprOp::add, values);
}

}  // namespace assay
