#include "compiler/prove/products.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/expr/fold.h"

namespace assay {
namespace {

auto times(const std::optional<std::int64_t>& a, const std::optional<std::int64_t>& b)
    -> std::optional<std::int64_t> {
  return a && b ? checked_mul(*a, *b) : std::nullopt;
}

/// Bounds of a product from bounds of its factors; only for factors that are not negative.
auto product_ends(const Ends& a, const Ends& b) -> Ends {
  const bool positive = a.low && b.low && *a.low >= 0 && *b.low >= 0;
  if (!positive) return {};
  return {times(a.low, b.low), times(a.high, b.high)};
}

}  // namespace

auto smt_number(std::int64_t value) -> std::string {
  if (value >= 0) return fmt::format("{}", value);
  return fmt::format("(- {})", 0 - static_cast<std::uint64_t>(value));
}

void Products::know(const std::string& name, Ends ends) {
  ends_[name] = ends;
}

auto Products::ends(const std::string& name) const -> Ends {
  const auto at = ends_.find(name);
  return at == ends_.end() ? Ends{} : at->second;
}

auto Products::product(std::vector<std::string> factors) -> std::string {
  std::ranges::sort(factors);
  if (factors.size() == 1) return factors[0];
  if (const auto known = index_.find(factors); known != index_.end())
    return entries_[known->second].name;
  const auto rest = product({factors.begin() + 1, factors.end()});
  const auto name = fmt::format("$p{}", entries_.size());
  declarations_.push_back(fmt::format("(declare-const {} Int)", name));
  index_.emplace(factors, entries_.size());
  know(name, product_ends(ends(factors[0]), ends(rest)));
  entries_.push_back({name, std::move(factors)});
  return name;
}

auto Products::take_declarations() -> std::vector<std::string> {
  return std::exchange(declarations_, {});
}

auto Products::name_of(const std::vector<std::string>& factors) const -> std::string {
  if (factors.size() == 1) return factors[0];
  const auto at = index_.find(factors);
  return at == index_.end() ? std::string() : entries_[at->second].name;
}

/// (x - end of x) * (y - end of y) has a known sign.
void Products::envelope(const Entry& entry, std::size_t factor,
                        std::vector<std::string>& lemmas) const {
  auto others = entry.factors;
  const auto x = others[factor];
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(factor));
  const auto y = name_of(others);
  if (y.empty()) return;
  const Ends a = ends(x);
  const Ends b = ends(y);
  const auto add = [&](std::string_view order, std::optional<std::int64_t> ax,
                       std::optional<std::int64_t> by) {
    const auto both = times(ax, by);
    if (!both || !checked_mul(*both, -1)) return;
    lemmas.push_back(fmt::format("({} {} (+ (* {} {}) (* {} {}) {}))", order, entry.name,
                                 smt_number(*ax), y, smt_number(*by), x, smt_number(-*both)));
  };
  add(">=", a.low, b.low);
  add(">=", a.high, b.high);
  add("<=", a.low, b.high);
  add("<=", a.high, b.low);
  // Without any bound: the sign of the product follows from the signs of the factors.
  lemmas.push_back(fmt::format("(=> (= {0} 0) (= {1} 0))", x, entry.name));
  lemmas.push_back(fmt::format("(=> (and (>= {0} 1) (>= {1} 0)) (>= {2} {1}))", x, y, entry.name));
}

/// a = x*rest and b = y*rest with rest >= 0: x < y makes a + rest <= b.
void Products::monotone(const Entry& a, const Entry& b, std::vector<std::string>& lemmas) const {
  std::vector<std::string> common, only_a, only_b;
  std::ranges::set_intersection(a.factors, b.factors, std::back_inserter(common));
  std::ranges::set_difference(a.factors, b.factors, std::back_inserter(only_a));
  std::ranges::set_difference(b.factors, a.factors, std::back_inserter(only_b));
  if (common.empty() || only_a.empty() || only_b.empty()) return;
  const auto rest = name_of(common);
  const auto x = name_of(only_a);
  const auto y = name_of(only_b);
  if (rest.empty() || x.empty() || y.empty()) return;
  if (const Ends known = ends(rest); !known.low || *known.low < 0) return;
  for (const auto& [p, q, s, t] :
       {std::tuple(a.name, b.name, x, y), std::tuple(b.name, a.name, y, x)})
    lemmas.push_back(fmt::format("(=> (< {} {}) (<= (+ {} {}) {}))", s, t, p, rest, q));
  lemmas.push_back(fmt::format("(=> (= {} {}) (= {} {}))", x, y, a.name, b.name));
}

auto Products::lemmas() const -> std::vector<std::string> {
  constexpr std::size_t kMaxPairwise = 24;
  std::vector<std::string> lemmas;
  for (const Entry& entry : entries_)
    for (std::size_t i = 0; i < entry.factors.size(); ++i)
      if (i == 0 || entry.factors[i] != entry.factors[i - 1]) envelope(entry, i, lemmas);
  for (std::size_t i = 0; i < std::min(entries_.size(), kMaxPairwise); ++i)
    for (std::size_t j = i + 1; j < std::min(entries_.size(), kMaxPairwise); ++j)
      monotone(entries_[i], entries_[j], lemmas);
  return lemmas;
}

}  // namespace assay
