#include "compiler/prove/program.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/base/check.h"

namespace assay {
namespace {

using enum ExprOp;
using Values = std::span<const Int128>;
/// Nothing: no value in Python either. Overflow beyond 128 bits is told through `too_big`.
using Rule = std::optional<Int128> (*)(Values, bool& too_big);

// Differences and quotients of such values still fit.
constexpr Int128 kLimit = static_cast<Int128>(1) << 125;

auto floor_quotient(Int128 a, Int128 b) -> Int128 {
  const Int128 quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
auto floor_rest(Int128 a, Int128 b) -> Int128 {
  const Int128 rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

auto sum_of(Values v, bool& too_big) -> std::optional<Int128> {
  Int128 total = 0;
  for (const Int128 x : v) too_big = too_big || __builtin_add_overflow(total, x, &total);
  return total;
}
auto product_of(Values v, bool& too_big) -> std::optional<Int128> {
  if (std::ranges::find(v, Int128{0}) != v.end()) return 0;
  Int128 total = 1;
  for (const Int128 x : v) too_big = too_big || __builtin_mul_overflow(total, x, &total);
  return total;
}
auto power_of(Values v, bool& too_big) -> std::optional<Int128> {
  if (v[1] < 0) return std::nullopt;
  if (v[0] == 0 || v[0] == 1) return v[1] == 0 ? 1 : v[0];
  if (v[0] == -1) return v[1] % 2 == 0 ? 1 : -1;
  Int128 total = 1;
  for (Int128 i = 0; i < v[1] && !too_big; ++i)
    too_big = __builtin_mul_overflow(total, v[0], &total);
  return total;
}
auto quotient_of(Values v, bool&) -> std::optional<Int128> {
  if (v[1] == 0) return std::nullopt;
  return floor_quotient(v[0], v[1]);
}
auto ceil_quotient_of(Values v, bool&) -> std::optional<Int128> {
  if (v[1] == 0) return std::nullopt;
  return floor_quotient(v[0], v[1]) + (v[0] % v[1] != 0 ? 1 : 0);
}
auto rest_of(Values v, bool&) -> std::optional<Int128> {
  if (v[1] == 0) return std::nullopt;
  return floor_rest(v[0], v[1]);
}
auto indexing_of(Values v, bool&) -> std::optional<Int128> {
  if (v[1] == 0 || v[2] == 0) return std::nullopt;
  return floor_rest(floor_quotient(v[0], v[1]), v[2]);
}
auto min_of(Values v, bool&) -> std::optional<Int128> {
  return std::ranges::min(v);
}
auto max_of(Values v, bool&) -> std::optional<Int128> {
  return std::ranges::max(v);
}
auto abs_of(Values v, bool&) -> std::optional<Int128> {
  return v[0] < 0 ? -v[0] : v[0];
}
auto same_of(Values v, bool&) -> std::optional<Int128> {
  return v[0];
}
auto and_of(Values v, bool&) -> std::optional<Int128> {
  return v[0] & v[1];
}
auto or_of(Values v, bool&) -> std::optional<Int128> {
  return v[0] | v[1];
}
auto xor_of(Values v, bool&) -> std::optional<Int128> {
  return v[0] ^ v[1];
}
auto left_of(Values v, bool& too_big) -> std::optional<Int128> {
  if (v[1] < 0) return std::nullopt;
  if (v[0] == 0) return 0;
  too_big = v[1] > 120;
  Int128 result = 0;
  if (!too_big) too_big = __builtin_mul_overflow(v[0], static_cast<Int128>(1) << v[1], &result);
  return result;
}
auto right_of(Values v, bool&) -> std::optional<Int128> {
  if (v[1] < 0) return std::nullopt;
  return v[0] >> std::min<Int128>(v[1], 127);
}
template <bool (*kHolds)(Int128, Int128)>
auto compare_of(Values v, bool&) -> std::optional<Int128> {
  return kHolds(v[0], v[1]) ? 1 : 0;
}
auto not_of(Values v, bool&) -> std::optional<Int128> {
  return 1 - v[0];
}

struct Row {
  ExprOp op;
  Rule rule;
};
constexpr auto kRules = std::to_array<Row>({
    {add, sum_of},
    {mul, product_of},
    {pow, power_of},
    {floor_div, quotient_of},
    {clean_div, quotient_of},
    {ceil_div, ceil_quotient_of},
    {mod, rest_of},
    {python_mod, rest_of},
    {modular_indexing, indexing_of},
    {min, min_of},
    {max, max_of},
    {pow_by_natural, power_of},
    {abs_, abs_of},
    {identity, same_of},
    {bit_and, and_of},
    {bit_or, or_of},
    {bit_xor, xor_of},
    {lshift, left_of},
    {rshift, right_of},
    {eq, compare_of<[](Int128 a, Int128 b) { return a == b; }>},
    {ne, compare_of<[](Int128 a, Int128 b) { return a != b; }>},
    {lt, compare_of<[](Int128 a, Int128 b) { return a < b; }>},
    {le, compare_of<[](Int128 a, Int128 b) { return a <= b; }>},
    {gt, compare_of<[](Int128 a, Int128 b) { return (a > b); }>},
    {ge, compare_of<[](Int128 a, Int128 b) { return (a >= b); }>},
    {logic_not, not_of},
});

/// By position of the operator: every evaluation of every node passes here.
constexpr auto kRuleTable = [] {
  std::array<Rule, static_cast<std::size_t>(opaque) + 1> table{};
  for (const Row& row : kRules) table[static_cast<std::size_t>(row.op)] = row.rule;
  return table;
}();

}  // namespace

Program::Program(std::span<const Expr> symbols) {
  for (const Expr& symbol : symbols) coordinates_.emplace(symbol, coordinates_.size());
}

auto Program::add(const Expr& e) -> std::size_t {
  if (const auto known = slots_.find(e); known != slots_.end()) return known->second;
  Node node{.op = e.op()};
  const bool number = e.type() != ExprType::real;
  if (const auto value = e.as_int()) {
    node.constant = *value;
  } else if (const auto truth = e.as_bool()) {
    node.op = ExprOp::int_const;
    node.constant = *truth ? 1 : 0;
  } else if (e.op() == ExprOp::symbol && number && coordinates_.contains(e)) {
    node.constant = static_cast<std::int64_t>(coordinates_.at(e));
  } else if (!number || e.args().empty() || e.op() == ExprOp::opaque) {
    node.op = ExprOp::opaque;
  } else {
    std::vector<std::uint32_t> args;
    for (const Expr& arg : e.args()) args.push_back(static_cast<std::uint32_t>(add(arg)));
    node.first = static_cast<std::uint32_t>(args_.size());
    node.count = static_cast<std::uint32_t>(args.size());
    args_.insert(args_.end(), args.begin(), args.end());
  }
  nodes_.push_back(node);
  cells_.emplace_back();
  slots_.emplace(e, nodes_.size() - 1);
  return nodes_.size() - 1;
}

void Program::run(std::span<const std::int64_t> point) {
  ASSAY_CHECK(point.size() == coordinates_.size(), "a point has one value per symbol");
  for (std::size_t i = 0; i < nodes_.size(); ++i) cells_[i] = evaluate(nodes_[i], point);
}

auto Program::evaluate(const Node& node, std::span<const std::int64_t> point) -> Cell {
  if (node.op == ExprOp::int_const) return {node.constant, State::value};
  if (node.op == ExprOp::symbol)
    return {point[static_cast<std::size_t>(node.constant)], State::value};
  if (node.op == ExprOp::logic_and || node.op == ExprOp::logic_or) return junction(node);
  if (node.op == ExprOp::where) return choice(node);
  const Rule rule = kRuleTable[static_cast<std::size_t>(node.op)];
  if (!rule) return {};
  constexpr std::size_t kFew = 16;
  std::array<Int128, kFew> few;
  std::vector<Int128> many(node.count > kFew ? node.count : 0);
  Int128* values = node.count > kFew ? many.data() : few.data();
  for (std::uint32_t i = 0; i < node.count; ++i) {
    const Cell& arg = cells_[args_[node.first + i]];
    if (arg.state != State::value) return {0, arg.state};
    values[i] = arg.value;
  }
  bool too_big = false;
  const auto result = rule({values, node.count}, too_big);
  if (!result) return {0, State::undefined};
  if (too_big || *result > kLimit || *result < -kLimit) return {};
  return {*result, State::value};
}

/// One operand that settles the result is enough, whatever happens in the others.
auto Program::junction(const Node& node) const -> Cell {
  const Int128 settling = node.op == ExprOp::logic_or ? 1 : 0;
  Cell result{1 - settling, State::value};
  for (std::uint32_t i = 0; i < node.count; ++i) {
    const Cell& arg = cells_[args_[node.first + i]];
    if (arg.state == State::value && arg.value == settling) return arg;
    if (arg.state == State::unknown || (arg.state != State::value && result.state == State::value))
      result = {0, arg.state};
  }
  return result;
}

auto Program::choice(const Node& node) const -> Cell {
  const Cell& condition = cells_[args_[node.first]];
  if (condition.state != State::value) return {0, condition.state};
  return cells_[args_[node.first + (condition.value != 0 ? 1 : 2)]];
}

auto Program::truth(std::size_t slot) const -> Truth {
  const Cell& cell = cells_[slot];
  if (cell.state == State::undefined) return Truth::undefined;
  if (cell.state == State::unknown) return Truth::unknown;
  return cell.value != 0 ? Truth::yes : Truth::no;
}

}  // namespace assay
