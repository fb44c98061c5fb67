#include "compiler/prove/violation.h"

#include <algorithm>
#include <array>
#include <bit>
#include <set>

namespace assay {
namespace {

constexpr int kAssignments = 3000;  ///< sizes tried against the guards
constexpr int kAdmitted = 60;       ///< of those that pass, how many are searched inside
constexpr int kPoints = 3000;       ///< index points per assignment
constexpr std::int64_t kFewPoints = 40;
constexpr int kDoublings = 44;

struct ByStructure {
  auto operator()(const Expr& a, const Expr& b) const -> bool { return Expr::compare(a, b) < 0; }
};
using SymbolSet = std::set<Expr, ByStructure>;

class Search {
 public:
  Search(const Expr& e, const SearchSpace& space) : e_(e), space_(space) { sort_symbols(); }

  auto run() -> std::optional<Binding> {
    std::vector<std::size_t> choice(sizes_.size(), 0);
    std::vector<std::vector<std::int64_t>> candidates;
    std::size_t levels = 1;
    for (const auto& symbol : sizes_) {
      candidates.push_back(candidates_of(symbol));
      if (candidates.back().empty()) return std::nullopt;
      levels += candidates.back().size() - 1;
    }
    for (std::size_t level = 0; level < levels && tried_ < kAssignments && admitted_ < kAdmitted;
         ++level)
      if (auto found = at_level(candidates, choice, 0, level)) return found;
    return first_admitted_ ? grow(*first_admitted_) : std::nullopt;
  }

 private:
  /// Axes and data are walked inside; everything else is a size. Guards pull in sizes they share.
  void sort_symbols() {
    SymbolSet inner, all;
    for (const auto& axis : space_.axes) {
      inner.insert(axis.symbol);
      if (axis.block.op() == ExprOp::symbol) inner.insert(axis.block);
    }
    const auto take = [&](const Expr& e) {
      for (const auto& symbol : e.symbols()) all.insert(symbol);
    };
    take(e_);
    for (const auto& axis : space_.axes) take(axis.numel);
    for (bool grew = true; grew;) {
      grew = false;
      for (const auto& condition : space_.conditions) {
        const auto symbols = condition.symbols();
        if (std::ranges::none_of(symbols, [&](const Expr& s) { return all.contains(s); })) continue;
        const auto before = all.size();
        take(condition);
        grew = grew || all.size() != before;
      }
    }
    for (const auto& condition : space_.conditions) {
      const auto symbols = condition.symbols();
      if (std::ranges::any_of(symbols, [&](const Expr& s) { return all.contains(s); }))
        conditions_.push_back(condition);
    }
    for (const auto& symbol : all) {
      if (inner.contains(symbol)) continue;
      // Names of kernel values have a dot, sizes have not.
      (symbol.name().contains('.') ? data_ : sizes_).push_back(symbol);
    }
  }

  [[nodiscard]] auto candidates_of(const Expr& symbol) const -> std::vector<std::int64_t> {
    for (const auto& condition : conditions_)
      if (condition.op() == ExprOp::eq)
        for (const auto side : {0, 1})
          if (const auto value = condition.args()[static_cast<std::size_t>(1 - side)].as_int();
              value && condition.args()[static_cast<std::size_t>(side)] == symbol)
            return {*value};
    const auto range = space_.ranges.find(symbol);
    const auto low = range == space_.ranges.end() ? 0 : range->second.low.as_int().value_or(0);
    const auto high =
        range == space_.ranges.end() ? INT64_MAX : range->second.high.as_int().value_or(INT64_MAX);
    std::set<std::int64_t> values;
    for (std::int64_t i = 0; i < 10; ++i) values.insert(low + i);
    for (const std::int64_t special : {16, 17, 32, 64, 65, 68, 100, 128, 256, 1000})
      values.insert(special);
    if (const auto hint = space_.hints.find(symbol); hint != space_.hints.end())
      if (const auto value = hint->second.as_int()) values.insert(*value);
    if (high != INT64_MAX) values.insert(high);
    std::erase_if(values, [&](std::int64_t value) { return value < low || value > high; });
    return {values.begin(), values.end()};
  }

  auto at_level(const std::vector<std::vector<std::int64_t>>& candidates,
                std::vector<std::size_t>& choice, std::size_t position, std::size_t left)
      -> std::optional<Binding> {
    if (tried_ >= kAssignments || admitted_ >= kAdmitted) return std::nullopt;
    if (position == candidates.size()) {
      if (left != 0) return std::nullopt;
      Binding binding;
      for (std::size_t i = 0; i < choice.size(); ++i) binding[sizes_[i]] = candidates[i][choice[i]];
      ++tried_;
      if (!admitted(binding)) return std::nullopt;
      ++admitted_;
      if (!first_admitted_) first_admitted_ = binding;
      return inside(binding, false);
    }
    const auto most = std::min(left, candidates[position].size() - 1);
    for (std::size_t i = 0; i <= most; ++i) {
      choice[position] = i;
      if (auto found = at_level(candidates, choice, position + 1, left - i)) return found;
    }
    return std::nullopt;
  }

  /// Conditions over sizes alone; those over indices are looked at inside.
  [[nodiscard]] auto admitted(const Binding& binding) const -> bool {
    return std::ranges::all_of(conditions_, [&](const Expr& condition) {
      const auto value = evaluate(condition, binding);
      if (!value) return value.error().code == ErrorCode::undecided;
      return value->as_bool().value_or(false);
    });
  }

  /// All indices if they are few, else those near the ends.
  [[nodiscard]] static auto points(std::int64_t count, std::int64_t numel, bool corners_only)
      -> std::vector<std::int64_t> {
    std::set<std::int64_t> values;
    if (count <= 0) return {};
    if (count <= kFewPoints && !corners_only) {
      for (std::int64_t i = 0; i < count; ++i) values.insert(i);
    } else {
      const std::int64_t near = corners_only ? 1 : 6;
      for (std::int64_t i = 0; i < std::min(near, count); ++i) {
        values.insert(i);
        values.insert(count - 1 - i);
        if (numel > i) values.insert(numel - 1 - i);
        if (numel + i < count) values.insert(numel + i);
      }
      if (!corners_only)
        for (const std::int64_t i : {count / 2, count / 3, 63L, 64L, 127L, 128L})
          if (i < count) values.insert(i);
    }
    // From the far end: bounds break there first.
    return {values.rbegin(), values.rend()};
  }

  struct Walk {
    Expr symbol;
    std::vector<std::int64_t> values;
  };

  [[nodiscard]] auto walks(Binding& binding, bool corners_only) const
      -> std::optional<std::vector<Walk>> {
    std::vector<Walk> result;
    for (const auto& axis : space_.axes) {
      const auto numel = evaluate_int(axis.numel, binding);
      if (!numel || *numel <= 0) return std::nullopt;
      auto count = *numel;
      if (axis.max_block > 1) {
        // The smallest power of two that does not divide the extent shows the most.
        auto block = std::int64_t{1};
        while (block < axis.max_block && count % block == 0) block *= 2;
        if (count % block != 0) count += block - count % block;
        if (axis.block.op() == ExprOp::symbol) binding[axis.block] = block;
      } else if (axis.block.op() == ExprOp::symbol) {
        binding[axis.block] = 1;
      }
      result.push_back({axis.symbol, points(count, *numel, corners_only)});
    }
    for (const auto& symbol : data_) result.push_back({symbol, data_values(symbol, binding)});
    return result;
  }

  /// Data can be anything the facts allow: bounds it is compared with, and their neighbours.
  [[nodiscard]] auto data_values(const Expr& symbol, const Binding& binding) const
      -> std::vector<std::int64_t> {
    if (symbol.type() == ExprType::boolean) return {1, 0};
    std::set<std::int64_t> values = {0, 1, -1};
    const auto visit = [&](const auto& self, const Expr& e) -> void {
      if (const auto value = evaluate_int(e, binding); value && values.size() < 12) {
        values.insert({*value, *value - 1, -*value});
        return;
      }
      for (const auto& arg : e.args()) self(self, arg);
    };
    for (const auto& condition : conditions_) {
      const auto symbols = condition.symbols();
      if (std::ranges::find(symbols, symbol) != symbols.end()) visit(visit, condition);
    }
    return {values.begin(), values.end()};
  }

  auto inside(Binding binding, bool corners_only) const -> std::optional<Binding> {
    const auto axes = walks(binding, corners_only);
    if (!axes) return std::nullopt;
    std::unordered_map<Expr, Expr> known(binding.begin(), binding.end());
    const auto e = substitute(e_, known);
    std::vector<Expr> conditions;
    for (const auto& condition : conditions_) {
      const auto now = substitute(condition, known);
      if (now.as_bool() == false) return std::nullopt;
      if (now.as_bool() != true) conditions.push_back(now);
    }
    std::vector<std::size_t> at(axes->size(), 0);
    if (std::ranges::any_of(*axes, [](const Walk& w) { return w.values.empty(); }))
      return std::nullopt;
    for (int count = 0; count < kPoints; ++count) {
      Binding point;
      for (std::size_t i = 0; i < at.size(); ++i) {
        const auto value = (*axes)[i].values[at[i]];
        const auto& symbol = (*axes)[i].symbol;
        point[symbol] =
            symbol.type() == ExprType::boolean ? Expr::boolean(value != 0) : Expr(value);
      }
      if (is_violation(e, conditions, point)) {
        binding.insert(point.begin(), point.end());
        // Once more in full, without what substitution simplified.
        if (is_violation(e_, conditions_, binding)) return without_idle_blocks(std::move(binding));
      }
      std::size_t i = 0;
      while (i < at.size() && ++at[i] == (*axes)[i].values.size()) at[i++] = 0;
      if (i == at.size()) break;
    }
    return std::nullopt;
  }

  /// The size of a block tells something only where it makes lanes run past the extent.
  [[nodiscard]] auto without_idle_blocks(Binding binding) const -> Binding {
    for (const auto& axis : space_.axes) {
      const auto numel = evaluate_int(axis.numel, binding);
      const auto at = binding.find(axis.symbol);
      if (axis.block.op() == ExprOp::symbol && numel && at != binding.end() &&
          at->second.as_int().value_or(0) < *numel)
        binding.erase(axis.block);
    }
    return binding;
  }

  [[nodiscard]] static auto is_violation(const Expr& e, const std::vector<Expr>& conditions,
                                         const Binding& point) -> bool {
    const auto value = evaluate_int(e, point);
    if (!value || *value >= 0) return false;
    return std::ranges::all_of(conditions, [&](const Expr& condition) {
      const auto truth = evaluate(condition, point);
      return truth && truth->as_bool().value_or(false);
    });
  }

  /// Doubles one size until the bound breaks, then looks for the smallest such size.
  [[nodiscard]] auto grow(const Binding& start) const -> std::optional<Binding> {
    for (const auto& symbol : sizes_) {
      auto low = start.at(symbol).as_int().value_or(0);
      const auto at = [&](std::int64_t value) -> std::optional<Binding> {
        auto binding = start;
        binding[symbol] = value;
        const auto range = space_.ranges.find(symbol);
        if (range != space_.ranges.end() && !range->second.contains(value)) return std::nullopt;
        return admitted(binding) ? inside(binding, true) : std::nullopt;
      };
      auto high = std::max<std::int64_t>(low, 1);
      std::optional<Binding> found;
      for (int i = 0; i < kDoublings && !found; ++i) {
        high *= 2;
        found = at(high);
        if (!found) low = high;
      }
      if (!found) continue;
      while (high - low > 1) {
        const auto middle = low + (high - low) / 2;
        if (auto smaller = at(middle)) {
          found = std::move(smaller);
          high = middle;
        } else {
          low = middle;
        }
      }
      return found;
    }
    return std::nullopt;
  }

  Expr e_;
  const SearchSpace& space_;
  std::vector<Expr> conditions_;
  std::vector<Expr> sizes_, data_;
  std::optional<Binding> first_admitted_;
  int tried_ = 0, admitted_ = 0;
};

}  // namespace

auto find_negative(const Expr& e, const SearchSpace& space) -> std::optional<Binding> {
  if (!e.is_valid()) return std::nullopt;
  return Search(e, space).run();
}

}  // namespace assay
