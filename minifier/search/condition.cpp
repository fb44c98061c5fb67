#include "minifier/search/condition.h"

#include <algorithm>
#include <map>

#include "core/expr/text.h"
#include "minifier/edits/patches.h"

namespace assay {
namespace {

constexpr std::size_t kMostSymbols = 4;
constexpr std::size_t kAsked = 10;  ///< sizes that a condition is made from
constexpr int kPredicted = 3;       ///< further sizes of either kind that it must foretell

/// Conditions over one symbol, simplest first.
auto candidates_for(const Expr& symbol, const std::map<std::int64_t, bool>& answers,
                    std::vector<std::int64_t> divisors) -> std::vector<Expr> {
  for (std::int64_t m = 2; m <= 16; ++m) divisors.push_back(m);
  for (std::int64_t m = 32; m <= 64; m *= 2) divisors.push_back(m);
  std::ranges::sort(divisors);
  divisors.erase(std::unique(divisors.begin(), divisors.end()), divisors.end());
  std::vector<Expr> all;
  for (const auto m : divisors) {
    all.push_back(ne(mod(symbol, m), 0));
    all.push_back(eq(mod(symbol, m), 0));
  }
  for (const auto& [size, fails] : answers) {
    all.push_back(gt(symbol, size));
    all.push_back(lt(symbol, size));
    all.push_back(eq(symbol, size));
    all.push_back(ne(symbol, size));
  }
  for (const auto m : divisors)
    for (std::int64_t r = 1; r < std::min<std::int64_t>(m, 9); ++r)
      all.push_back(eq(mod(symbol, m), r));
  return all;
}

class ConditionFinder {
 public:
  ConditionFinder(const Expr& symbol, std::int64_t now, const std::vector<std::int64_t>& divisors,
                  const SizeTest& test)
      : symbol_(symbol), now_(now), divisors_(divisors), test_(test) {}

  auto find() -> std::string {
    std::vector<std::int64_t> later;
    for (const auto value : order_around()) {
      if (answers_.size() >= kAsked)
        later.push_back(value);
      else
        ask(value);
    }
    const auto fails = [](const auto& entry) { return entry.second; };
    if (answers_.size() < 4 || std::ranges::all_of(answers_, fails)) return {};
    for (const auto& condition : candidates_for(symbol_, answers_, divisors_))
      if (explains(condition) && foretells(condition, later))
        return fmt::format("{} ({} sizes asked)", print_expr(condition), answers_.size());
    return {};
  }

 private:
  /// Small sizes and neighbours of the failing one and of every divisor, nearest first.
  [[nodiscard]] auto order_around() const -> std::vector<std::int64_t> {
    std::vector<std::int64_t> values{now_};
    const auto add = [&](std::int64_t value) {
      if (value >= 0 && std::ranges::find(values, value) == values.end()) values.push_back(value);
    };
    for (const auto m : divisors_) {
      for (const std::int64_t k : {1, 2, 3})
        for (const std::int64_t d : {0, 1, -1}) add(k * m + d);
    }
    for (const std::int64_t d : {1, 2, 3, 4, 5, 6, 7, 8, 9}) {
      add(now_ + d);
      add(now_ - d);
    }
    for (const std::int64_t value : {12, 16, 17, 24, 25, 32, 33, 40, 48, 64}) add(value);
    return values;
  }

  /// False if the size is not admitted.
  auto ask(std::int64_t value) -> bool {
    const auto fails = test_(value);
    if (fails) answers_[value] = *fails;
    return fails.has_value();
  }
  [[nodiscard]] auto holds(const Expr& condition, std::int64_t value) const -> bool {
    const auto result = evaluate(condition, {{symbol_, Expr(value)}});
    return result && result->as_bool().value_or(false);
  }
  [[nodiscard]] auto explains(const Expr& condition) const -> bool {
    return std::ranges::all_of(
        answers_, [&](const auto& entry) { return holds(condition, entry.first) == entry.second; });
  }
  /// At sizes that were not asked, near and far, some that should fail and some that should not.
  auto foretells(const Expr& condition, const std::vector<std::int64_t>& later) -> bool {
    auto sizes = later;
    for (const std::int64_t k : {2, 3, 5, 7}) sizes.insert(sizes.end(), {k * now_, now_ / k, k});
    std::map<bool, int> foretold;
    for (const auto size : sizes) {
      const bool expected = holds(condition, size);
      if (foretold[expected] >= kPredicted || answers_.contains(size) || !ask(size)) continue;
      ++foretold[expected];
      if (answers_.at(size) != expected) return false;
    }
    return true;
  }

  const Expr& symbol_;
  std::int64_t now_;
  const std::vector<std::int64_t>& divisors_;
  const SizeTest& test_;
  std::map<std::int64_t, bool> answers_;
};

}  // namespace

auto explain_sizes(const Expr& symbol, std::int64_t now, const std::vector<std::int64_t>& divisors,
                   const SizeTest& test) -> std::string {
  return ConditionFinder(symbol, now, divisors, test).find();
}

auto find_condition(const Capture& capture, const OpTable& table, const CaptureTest& test)
    -> std::string {
  const auto sizes = sizes_of(capture, table);
  const auto divisors = divisors_of(capture);
  std::string all;
  std::size_t symbols = 0;
  for (const auto& [symbol, value] : sorted_sizes(sizes)) {
    const auto now = value.as_int();
    if (!now || symbol.type() != ExprType::integer || ++symbols > kMostSymbols) continue;
    // The others stay as they are; guards may forbid a size.
    const auto condition =
        explain_sizes(symbol, *now, divisors, [&](std::int64_t size) -> std::optional<bool> {
          auto at = sizes;
          at[symbol] = Expr(size);
          const auto cut = at_sizes(capture, at);
          return cut ? std::optional(test(*cut)) : std::nullopt;
        });
    if (!condition.empty()) all += (all.empty() ? "" : " and ") + condition;
  }
  return all;
}

}  // namespace assay
