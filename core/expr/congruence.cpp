#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "core/expr/eval.h"
#include "core/expr/fold.h"
#include "core/expr/int128.h"

namespace assay {
namespace {

using enum ExprOp;

constexpr Congruence kNothing{1, 0};

auto gcd_of(Int128 a, Int128 b) -> Int128 {
  if (a < 0) a = -a;
  if (b < 0) b = -b;
  while (b != 0) a = std::exchange(b, a % b);
  return a;
}

/// value == remainder (mod modulus) with the remainder reduced; gives up beyond int64.
auto known(Int128 modulus, Int128 remainder) -> Congruence {
  constexpr Int128 kMax = std::numeric_limits<std::int64_t>::max();
  if (modulus < 0) modulus = -modulus;
  if (modulus > kMax) return kNothing;
  if (modulus != 0) remainder = ((remainder % modulus) + modulus) % modulus;
  if (remainder > kMax || remainder < -kMax) return kNothing;
  return {static_cast<std::int64_t>(modulus), static_cast<std::int64_t>(remainder)};
}

/// Either of the two.
auto join(const Congruence& a, const Congruence& b) -> Congruence {
  const Int128 apart = static_cast<Int128>(a.remainder) - b.remainder;
  return known(gcd_of(gcd_of(a.modulus, b.modulus), apart), a.remainder);
}

auto add_up(const Congruence& a, const Congruence& b) -> Congruence {
  return known(gcd_of(a.modulus, b.modulus), static_cast<Int128>(a.remainder) + b.remainder);
}

auto multiply(const Congruence& a, const Congruence& b) -> Congruence {
  const Int128 m1 = a.modulus;
  const Int128 m2 = b.modulus;
  const Int128 modulus = gcd_of(m1 * m2, gcd_of(m1 * b.remainder, m2 * a.remainder));
  return known(modulus, static_cast<Int128>(a.remainder) * b.remainder);
}

class Residues {
 public:
  explicit Residues(const Congruences& facts) : facts_(facts) {}

  auto of(const Expr& e) -> Congruence {
    if (const auto value = e.as_int()) return {0, *value};
    if (e.type() != ExprType::integer || !e.pool()) return kNothing;
    if (const auto fact = facts_.find(e); fact != facts_.end())
      return known(fact->second.modulus, fact->second.remainder);
    if (const auto done = done_.find(e); done != done_.end()) return done->second;
    const Congruence result = interior(e);
    done_.emplace(e, result);
    return result;
  }

 private:
  auto interior(const Expr& e) -> Congruence {
    const auto args = e.args();
    if (e.op() == add || e.op() == mul) {
      Congruence total = of(args[0]);
      for (const Expr& arg : args.subspan(1))
        total = e.op() == add ? add_up(total, of(arg)) : multiply(total, of(arg));
      return total;
    }
    if (e.op() == min || e.op() == max) {
      Congruence total = of(args[0]);
      for (const Expr& arg : args.subspan(1)) total = join(total, of(arg));
      return total;
    }
    if (e.op() == where) return join(of(args[1]), of(args[2]));
    if (e.op() == identity) return of(args[0]);
    if (e.op() == abs_) return join(of(args[0]), multiply(of(args[0]), {0, -1}));
    if (e.op() == pow || e.op() == pow_by_natural) return power(e);
    if (e.op() == mod || e.op() == python_mod) return remainder(e);
    if (e.op() == floor_div || e.op() == clean_div) return quotient(e);
    return kNothing;
  }

  auto power(const Expr& e) -> Congruence {
    constexpr std::int64_t kMaxExponent = 64;
    const auto exponent = e.args()[1].as_int();
    if (!exponent || *exponent < 0 || *exponent > kMaxExponent) return kNothing;
    Congruence total{0, 1};
    for (std::int64_t i = 0; i < *exponent; ++i) total = multiply(total, of(e.args()[0]));
    return total;
  }

  /// x mod k differs from x by a multiple of k.
  auto remainder(const Expr& e) -> Congruence {
    const auto k = e.args()[1].as_int();
    const Congruence x = of(e.args()[0]);
    if (!k || *k == 0) return kNothing;
    if (x.modulus % *k == 0 && checked_mod(x.remainder, *k))
      return {0, checked_mod(x.remainder, *k).value_or(0)};
    return known(gcd_of(x.modulus, *k), x.remainder);
  }

  /// x == r (mod m k) makes x // k == r // k (mod m).
  auto quotient(const Expr& e) -> Congruence {
    const auto k = e.args()[1].as_int();
    const Congruence x = of(e.args()[0]);
    if (!k || *k == 0 || *k == -1 || x.modulus % *k != 0) return kNothing;
    const auto r = checked_floor_div(x.remainder, *k);
    return r ? known(x.modulus / *k, *r) : kNothing;
  }

  const Congruences& facts_;
  std::unordered_map<Expr, Congruence> done_;
};

}  // namespace

auto congruence_of(const Expr& e, const Congruences& facts) -> Congruence {
  return Residues(facts).of(e);
}

}  // namespace assay
