#include "compiler/prove/samples.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>

#include "compiler/prove/normalise.h"
#include "compiler/prove/search.h"

namespace assay {
namespace {

constexpr std::uint64_t kBoxPoints = 2000;
constexpr std::size_t kPairPoints = 1500;
constexpr std::uint64_t kSeed = 20250117;

void set_bit(std::vector<std::uint64_t>& bits, std::size_t at, bool value) {
  if (bits.size() <= at / 64) bits.resize(at / 64 + 1);
  if (value) bits[at / 64] |= std::uint64_t{1} << (at % 64);
}

auto clamped(std::int64_t value, const Ranges& ranges, const Expr& symbol) -> std::int64_t {
  const auto at = ranges.find(symbol);
  if (at == ranges.end()) return value;
  const auto low = low_end(at->second);
  const auto high = high_end(at->second);
  if (low && value < *low) return *low;
  return high && value > *high ? *high : value;
}

}  // namespace

Samples::Samples(std::vector<Expr> symbols, const Ranges& ranges, const Binding& hints,
                 std::span<const Expr> conditions)
    : symbols_(std::move(symbols)), program_(symbols_) {
  for (const Expr& condition : conditions) slots_.push_back(program_.add(condition));
  yes_.resize(slots_.size());
  maybe_.resize(slots_.size());
  around_hints(ranges, hints);
  const Box box(symbols_, ranges);
  (void)box.visit(kBoxPoints, [&](std::span<const std::int64_t> point) {
    add(std::vector<std::int64_t>(point.begin(), point.end()));
    return false;
  });
}

/// The hints hold all guards; points that differ from them in one or two symbols often hold most.
void Samples::around_hints(const Ranges& ranges, const Binding& hints) {
  std::vector<std::int64_t> center;
  for (const Expr& symbol : symbols_) {
    const auto hint = hints.find(symbol);
    const auto value = hint == hints.end() ? std::nullopt : hint->second.as_int();
    center.push_back(clamped(value.value_or(2), ranges, symbol));
  }
  add(center);
  std::mt19937_64 random(kSeed);
  const auto near = [&](std::size_t i) {
    constexpr auto kReach = std::to_array<std::int64_t>({2, 8, 64, 1024});
    const auto reach = kReach[random() % kReach.size()];
    const auto step =
        static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * reach + 1));
    std::int64_t value = 0;
    if (__builtin_add_overflow(center[i], step - reach, &value)) value = center[i];
    if (random() % 4 == 0 && center[i] < (1 << 20)) value = center[i] * (1 + step % 4);
    return clamped(value, ranges, symbols_[i]);
  };
  for (std::size_t i = 0; i < symbols_.size(); ++i) {
    for (std::int64_t k = -16; k <= 48; ++k) {
      auto point = center;
      if (__builtin_add_overflow(center[i], k, &point[i])) continue;
      point[i] = clamped(point[i], ranges, symbols_[i]);
      add(std::move(point));
    }
  }
  for (std::size_t n = 0; n < kPairPoints && !symbols_.empty(); ++n) {
    auto point = center;
    for (std::size_t changes = 1 + n % 4; changes > 0; --changes) {
      const auto i = random() % symbols_.size();
      point[i] = near(i);
      if (random() % 3 == 0) point[random() % symbols_.size()] = point[i];  // equal sizes matter
    }
    for (std::size_t i = 0; i < symbols_.size(); ++i)
      point[i] = clamped(point[i], ranges, symbols_[i]);
    add(std::move(point));
  }
}

void Samples::add(const Binding& point) {
  std::vector<std::int64_t> values;
  for (const Expr& symbol : symbols_) {
    const auto at = point.find(symbol);
    const auto value = at == point.end() ? std::nullopt : at->second.as_int();
    if (!value) return;
    values.push_back(*value);
  }
  add(std::move(values));
}

void Samples::add(std::vector<std::int64_t> point) {
  program_.run(point);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const auto truth = program_.truth(slots_[i]);
    set_bit(yes_[i], points_.size(), truth == Truth::yes);
    set_bit(maybe_[i], points_.size(), truth == Truth::yes || truth == Truth::unknown);
  }
  points_.push_back(std::move(point));
}

auto Samples::all_true(std::span<const std::size_t> kept) const -> std::vector<std::uint64_t> {
  std::vector<std::uint64_t> bits((points_.size() + 63) / 64, ~std::uint64_t{0});
  if (points_.size() % 64 != 0) bits.back() = (std::uint64_t{1} << (points_.size() % 64)) - 1;
  for (const auto condition : kept)
    for (std::size_t w = 0; w < bits.size(); ++w) bits[w] &= yes_[condition][w];
  return bits;
}

auto Samples::counterexample(std::span<const std::size_t> kept, std::size_t claim) const
    -> const std::vector<std::int64_t>* {
  const auto bits = all_true(kept);
  for (std::size_t w = 0; w < bits.size(); ++w)
    if (const auto bad = bits[w] & ~maybe_[claim][w]; bad != 0)
      return &points_[w * 64 + static_cast<std::size_t>(std::countr_zero(bad))];
  return nullptr;
}

auto Samples::against(std::span<const std::size_t> kept, const Expr& claim, std::size_t count) const
    -> std::vector<Binding> {
  Program program(symbols_);
  const auto slot = program.add(claim);
  const auto bits = all_true(kept);
  std::vector<std::pair<double, const std::vector<std::int64_t>*>> found;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if ((bits[i / 64] >> (i % 64) & 1) == 0) continue;
    program.run(points_[i]);
    const auto truth = program.truth(slot);
    if (truth != Truth::no && truth != Truth::undefined) continue;
    double size = 0;
    for (const auto value : points_[i]) size += std::abs(static_cast<double>(value));
    found.emplace_back(size, &points_[i]);
  }
  std::ranges::sort(found, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : *a.second < *b.second;
  });
  std::vector<Binding> points;
  for (const auto& [size, point] : found) {
    auto binding = to_binding(symbols_, *point);
    if (std::ranges::find(points, binding) != points.end()) continue;
    points.push_back(std::move(binding));
    if (points.size() == count) break;
  }
  return points;
}

auto Samples::admitted(std::span<const std::size_t> kept) const
    -> std::vector<const std::vector<std::int64_t>*> {
  std::vector<const std::vector<std::int64_t>*> found;
  const auto bits = all_true(kept);
  for (std::size_t i = 0; i < points_.size(); ++i)
    if ((bits[i / 64] >> (i % 64) & 1) != 0) found.push_back(&points_[i]);
  return found;
}

auto Samples::largest(std::size_t symbol) const -> std::int64_t {
  return (*std::ranges::max_element(
      points_, {}, [&](const std::vector<std::int64_t>& point) { return point[symbol]; }))[symbol];
}

}  // namespace assay
