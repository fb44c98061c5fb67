// An evaluator that shares no code with ours: Python's arithmetic written out once more, on 128-bit
// integers. The reference for every property test.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/expr/expr.h"
#include "core/expr/int128.h"

namespace assay::testing {

struct Value {
  ExprType type = ExprType::integer;
  Int128 integer = 0;  ///< also 0 and 1 of booleans
  double real = 0;
};

inline auto same(const Value& a, const Expr& b) -> bool {
  if (a.type == ExprType::boolean) return b.as_bool() == (a.integer != 0);
  if (a.type == ExprType::integer) return b.as_int() && *b.as_int() == a.integer;
  if (!b.as_real()) return false;
  return *b.as_real() == a.real || (std::isnan(a.real) && std::isnan(*b.as_real()));
}

class Naive {
 public:
  using Env = std::vector<std::pair<Expr, Value>>;
  explicit Naive(const Env& env) : env_(env) {}

  /// Nothing where Python would raise, or where numbers get too big to be exact here.
  auto value(const Expr& e) const -> std::optional<Value> {
    if (const auto x = e.as_int()) return integer(*x);
    if (const auto x = e.as_bool()) return boolean(*x);
    if (const auto x = e.as_real()) return real(*x);
    if (e.op() == ExprOp::symbol) {
      const auto at = std::ranges::find(env_, e, &Env::value_type::first);
      return at == env_.end() ? std::nullopt : std::optional(at->second);
    }
    if (e.op() == ExprOp::where) return choice(e);
    Args args;
    for (const Expr& arg : e.args()) {
      const auto v = value(arg);
      if (!v) return std::nullopt;
      args.push_back(*v);
    }
    const auto result = apply(e, args);
    return result && fits(result->integer) ? result : std::nullopt;
  }

 private:
  using Args = std::vector<Value>;
  using Maybe = std::optional<Value>;
  using Rule = Maybe (*)(const Args&);
  struct Row {
    ExprOp op;
    Rule rule;
  };

  static auto fits(Int128 x) -> bool {
    constexpr Int128 kLimit = static_cast<Int128>(1) << 62;
    return x <= kLimit && x >= -kLimit;
  }
  static auto integer(Int128 x) -> Value { return {ExprType::integer, x, 0}; }
  static auto boolean(bool x) -> Value { return {ExprType::boolean, x ? 1 : 0, 0}; }
  static auto real(double x) -> Value { return {ExprType::real, 0, x}; }
  static auto number(const Value& v) -> double {
    return v.type == ExprType::real ? v.real : static_cast<double>(v.integer);
  }
  static auto floored(Int128 a, Int128 b) -> Int128 {
    Int128 q = a / b;
    if (b > 0 ? q * b > a : q * b < a) --q;
    return q;
  }
  static auto quotient(const Args& v) -> Maybe {
    if (v[1].integer == 0) return std::nullopt;
    return integer(floored(v[0].integer, v[1].integer));
  }
  static auto remainder(const Args& v) -> Maybe {
    const Int128 a = v[0].integer;
    const Int128 b = v[1].integer;
    return b == 0 ? std::nullopt : Maybe(integer(a - b * floored(a, b)));
  }
  static auto power(const Args& v) -> Maybe {
    Int128 total = 1;
    for (Int128 i = 0; i < v[1].integer && fits(total); ++i) total *= v[0].integer;
    return v[1].integer < 0 ? std::nullopt : Maybe(integer(total));
  }
  static auto rounded(double x) -> Maybe {
    return std::fabs(x) < 4e18 ? Maybe(integer(static_cast<Int128>(x))) : std::nullopt;
  }

  auto choice(const Expr& e) const -> Maybe {
    const auto condition = value(e.args()[0]);
    if (!condition) return std::nullopt;
    const auto chosen = value(e.args()[condition->integer != 0 ? 1 : 2]);
    return chosen && e.type() == ExprType::real ? real(number(*chosen)) : chosen;
  }

  static auto apply(const Expr& e, const Args& v) -> Maybe {
    const auto in = [&](const auto& rows) -> Rule {
      const auto row = std::ranges::find(rows, e.op(), &Row::op);
      return row == rows.end() ? nullptr : row->rule;
    };
    Rule rule = e.type() == ExprType::real ? in(kReal) : nullptr;
    if (e.type() == ExprType::integer) {
      rule = v[0].type == ExprType::real ? in(kRounding) : in(kInteger);
    }
    // Conversions of bigger integers round, and this reference does not know how often.
    constexpr Int128 kExact = static_cast<Int128>(1) << 53;
    const auto rounds = [](const Value& x) { return x.integer > kExact || x.integer < -kExact; };
    const bool floating =
        e.type() == ExprType::real || std::ranges::find(v, ExprType::real, &Value::type) != v.end();
    if (floating && std::ranges::any_of(v, rounds)) return std::nullopt;
    if (rule) return rule(v);
    return e.type() == ExprType::boolean ? truth(e.op(), v) : std::nullopt;
  }

  static auto truth(ExprOp op, const Args& v) -> Maybe {
    const auto yes = [](const Value& x) { return x.integer != 0; };
    if (op == ExprOp::logic_and) return boolean(std::ranges::all_of(v, yes));
    if (op == ExprOp::logic_or) return boolean(std::ranges::any_of(v, yes));
    if (op == ExprOp::logic_not) return boolean(!yes(v[0]));
    const auto compare = [op](const auto& x, const auto& y) -> Maybe {
      if (op == ExprOp::eq) return boolean(x == y);
      if (op == ExprOp::ne) return boolean(x != y);
      if (op == ExprOp::lt) return boolean(x < y);
      if (op == ExprOp::le) return boolean(x <= y);
      if (op == ExprOp::gt) return boolean(x > y);
      return op == ExprOp::ge ? Maybe(boolean(x >= y)) : std::nullopt;
    };
    const bool floating = v[0].type == ExprType::real || v[1].type == ExprType::real;
    return floating ? compare(number(v[0]), number(v[1])) : compare(v[0].integer, v[1].integer);
  }

  static constexpr auto kLess = [](const Value& a, const Value& b) {
    return a.integer < b.integer;
  };

  static const std::vector<Row> kInteger;
  static const std::vector<Row> kRounding;
  static const std::vector<Row> kReal;

  const Env& env_;
};

inline const std::vector<Naive::Row> Naive::kInteger{
    {ExprOp::add,
     [](const Args& v) -> Maybe {
       Int128 total = 0;
       for (const Value& x : v) total += x.integer;
       return integer(total);
     }},
    {ExprOp::mul,
     [](const Args& v) -> Maybe {
       Int128 total = 1;
       for (const Value& x : v) total = fits(total) ? total * x.integer : total;
       return integer(total);
     }},
    {ExprOp::pow, power},
    {ExprOp::pow_by_natural, power},
    {ExprOp::floor_div, quotient},
    {ExprOp::clean_div, quotient},
    {ExprOp::ceil_div,
     [](const Args& v) -> Maybe {
       if (v[1].integer == 0) return std::nullopt;
       return integer(-floored(-v[0].integer, v[1].integer));
     }},
    {ExprOp::mod, remainder},
    {ExprOp::python_mod, remainder},
    {ExprOp::modular_indexing,
     [](const Args& v) -> Maybe {
       const auto q = quotient(v);
       return q ? remainder({*q, v[2]}) : std::nullopt;
     }},
    {ExprOp::min, [](const Args& v) -> Maybe { return *std::ranges::min_element(v, kLess); }},
    {ExprOp::max, [](const Args& v) -> Maybe { return *std::ranges::max_element(v, kLess); }},
    {ExprOp::ceil_to_int, [](const Args& v) -> Maybe { return v[0]; }},
    {ExprOp::floor_to_int, [](const Args& v) -> Maybe { return v[0]; }},
    {ExprOp::trunc_to_int, [](const Args& v) -> Maybe { return v[0]; }},
    {ExprOp::round_to_int, [](const Args& v) -> Maybe { return v[0]; }},
    {ExprOp::identity, [](const Args& v) -> Maybe { return v[0]; }},
    {ExprOp::abs_,
     [](const Args& v) -> Maybe {
       return integer(v[0].integer < 0 ? -v[0].integer : v[0].integer);
     }},
    {ExprOp::bit_and, [](const Args& v) -> Maybe { return integer(v[0].integer & v[1].integer); }},
    {ExprOp::bit_or, [](const Args& v) -> Maybe { return integer(v[0].integer | v[1].integer); }},
    {ExprOp::bit_xor, [](const Args& v) -> Maybe { return integer(v[0].integer ^ v[1].integer); }},
    {ExprOp::lshift,
     [](const Args& v) -> Maybe {
       if (v[1].integer < 0 || v[1].integer > 60) return std::nullopt;
       return integer(v[0].integer * (static_cast<Int128>(1) << v[1].integer));
     }},
    {ExprOp::rshift,
     [](const Args& v) -> Maybe {
       if (v[1].integer < 0) return std::nullopt;
       return integer(
           floored(v[0].integer, static_cast<Int128>(1) << std::min<Int128>(v[1].integer, 100)));
     }},
};

inline const std::vector<Naive::Row> Naive::kRounding{
    {ExprOp::ceil_to_int, [](const Args& v) { return rounded(std::ceil(v[0].real)); }},
    {ExprOp::floor_to_int, [](const Args& v) { return rounded(std::floor(v[0].real)); }},
    {ExprOp::trunc_to_int, [](const Args& v) { return rounded(std::trunc(v[0].real)); }},
    {ExprOp::round_to_int, [](const Args& v) { return rounded(std::nearbyint(v[0].real)); }},
};

inline const std::vector<Naive::Row> Naive::kReal{
    {ExprOp::add, [](const Args& v) -> Maybe { return real(number(v[0]) + number(v[1])); }},
    {ExprOp::mul, [](const Args& v) -> Maybe { return real(number(v[0]) * number(v[1])); }},
    {ExprOp::int_true_div,
     [](const Args& v) -> Maybe {
       return number(v[1]) == 0 ? std::nullopt : Maybe(real(number(v[0]) / number(v[1])));
     }},
    {ExprOp::float_true_div,
     [](const Args& v) -> Maybe {
       return number(v[1]) == 0 ? std::nullopt : Maybe(real(number(v[0]) / number(v[1])));
     }},
    {ExprOp::to_float, [](const Args& v) -> Maybe { return real(number(v[0])); }},
    {ExprOp::trunc_to_float, [](const Args& v) -> Maybe { return real(std::trunc(number(v[0]))); }},
    {ExprOp::abs_, [](const Args& v) -> Maybe { return real(std::fabs(number(v[0]))); }},
    {ExprOp::min,
     [](const Args& v) -> Maybe { return real(std::min(number(v[0]), number(v[1]))); }},
    {ExprOp::max,
     [](const Args& v) -> Maybe { return real(std::max(number(v[0]), number(v[1]))); }},
    {ExprOp::identity, [](const Args& v) -> Maybe { return real(number(v[0])); }},
};

}  // namespace assay::testing
