#include "compiler/prove/search.h"

#include <algorithm>

#include "compiler/prove/normalise.h"

namespace assay {
namespace {

constexpr Int128 kMany = static_cast<Int128>(1) << 62;

/// Ranks by total, then lexicographically: the next after `ranks`, within `counts`.
class Ranks {
 public:
  explicit Ranks(std::vector<Int128> counts) : counts_(std::move(counts)), at_(counts_.size()) {}
  [[nodiscard]] auto at() const -> const std::vector<Int128>& { return at_; }

  auto next() -> bool {
    // Lexicographically next with the same total: move one unit from the tail to an earlier place.
    for (std::size_t i = at_.size(); i-- > 0;) {
      Int128 tail = 0;
      for (std::size_t j = i + 1; j < at_.size(); ++j) tail += at_[j];
      if (tail == 0 || at_[i] + 1 >= counts_[i]) continue;
      ++at_[i];
      if (fill(i + 1, tail - 1)) return true;
      --at_[i];
    }
    ++total_;
    std::ranges::fill(at_, Int128{0});
    return fill(0, total_);
  }

 private:
  /// The lexicographically first ranks from `first` on with this sum: all weight at the back.
  auto fill(std::size_t first, Int128 sum) -> bool {
    for (std::size_t j = at_.size(); j-- > first;) {
      at_[j] = std::min(sum, counts_[j] - 1);
      sum -= at_[j];
    }
    return sum == 0;
  }

  std::vector<Int128> counts_, at_;
  Int128 total_ = 0;
};

}  // namespace

auto Box::Axis::count() const -> Int128 {
  if (!low || !high) return kMany;
  return std::min<Int128>(Int128{*high} - *low + 1, kMany);
}
auto Box::Axis::value(Int128 rank) const -> std::int64_t {
  if (low) return static_cast<std::int64_t>(*low + rank);
  if (high) return static_cast<std::int64_t>(*high - rank);
  return static_cast<std::int64_t>(rank % 2 == 0 ? -(rank / 2) : rank / 2 + 1);
}
auto Box::Axis::rank(std::int64_t value) const -> Int128 {
  if (low) return Int128{value} - *low;
  if (high) return Int128{*high} - value;
  return value > 0 ? Int128{value} * 2 - 1 : Int128{value} * -2;
}

Box::Box(std::vector<Expr> symbols, const Ranges& ranges) : symbols_(std::move(symbols)) {
  for (const Expr& symbol : symbols_) {
    const auto at = ranges.find(symbol);
    axes_.push_back(at == ranges.end() ? Axis{} : Axis{low_end(at->second), high_end(at->second)});
  }
}

auto Box::size() const -> Int128 {
  Int128 total = 1;
  for (const Axis& axis : axes_) {
    const Int128 count = axis.count();
    if (count <= 0) return 0;
    total = total > kMany / count ? kMany : total * count;
  }
  return total;
}

auto Box::contains(std::span<const std::int64_t> point) const -> bool {
  for (std::size_t i = 0; i < axes_.size(); ++i)
    if (point[i] < axes_[i].low.value_or(point[i]) || point[i] > axes_[i].high.value_or(point[i]))
      return false;
  return true;
}

auto Box::visit(std::uint64_t limit,
                const std::function<bool(std::span<const std::int64_t>)>& visit) const -> Visit {
  Visit result;
  const Int128 all = size();
  if (all <= 0) return result;
  std::vector<Int128> counts;
  for (const Axis& axis : axes_) counts.push_back(axis.count());
  Ranks ranks(std::move(counts));
  std::vector<std::int64_t> point(axes_.size());
  while (result.points < limit) {
    for (std::size_t i = 0; i < axes_.size(); ++i) point[i] = axes_[i].value(ranks.at()[i]);
    ++result.points;
    result.stopped = visit(point);
    if (result.stopped || static_cast<Int128>(result.points) == all || !ranks.next()) break;
  }
  return result;
}

auto Box::descend(std::vector<std::int64_t> point,
                  const std::function<bool(std::span<const std::int64_t>)>& bad) const
    -> std::vector<std::int64_t> {
  constexpr int kRounds = 4;
  for (int round = 0; round < kRounds; ++round) {
    const auto before = point;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      const auto holds_at = [&](Int128 rank) {
        auto moved = point;
        moved[i] = axes_[i].value(rank);
        return bad(moved);
      };
      Int128 high = axes_[i].rank(point[i]);  // bad
      Int128 low = -1;                        // not bad, as far as known
      while (high - low > 1) {
        const Int128 middle = low + (high - low) / 2;
        (holds_at(middle) ? high : low) = middle;
      }
      point[i] = axes_[i].value(high);
    }
    if (point == before) break;
  }
  return point;
}

auto to_binding(std::span<const Expr> symbols, std::span<const std::int64_t> point) -> Binding {
  Binding binding;
  for (std::size_t i = 0; i < symbols.size(); ++i) binding[symbols[i]] = point[i];
  return binding;
}

}  // namespace assay
