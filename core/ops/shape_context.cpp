#include "core/ops/shape_context.h"

#include <algorithm>

#include "core/base/check.h"

namespace assay {
namespace {

/// Stand-in sizes for unbacked symbols: large, prime-like and distinct, so that equality tests
/// between them and against small numbers come out false, as PyTorch's guard_or_false does.
auto stand_in_size(std::size_t k) -> Expr {
  return static_cast<std::int64_t>(1048583 + 1026 * k);
}

/// Of sizes that only data tell, what a guard says in so many words is settled: nothing else knows
/// better than the stand-ins do.
auto by_guard(const ShapeEnv& env, const Binding& hints, const Expr& condition)
    -> std::optional<bool> {
  const auto symbols = condition.symbols();
  const auto is_unknown = [&](const Expr& symbol) { return !hints.contains(symbol); };
  if (std::ranges::none_of(symbols, is_unknown)) return std::nullopt;
  const auto opposite = logic_not(condition);
  for (const auto& guard : env.guards()) {
    if (guard.condition == condition) return true;
    if (guard.condition == opposite) return false;
  }
  return std::nullopt;
}

}  // namespace

auto ShapeContext::look_up(const Expr& condition) -> Decision& {
  const auto [entry, is_new] = decisions_.try_emplace(condition);
  auto& decision = entry->second;
  if (!is_new) return decision;
  auto settled = env_ ? env_->decide(condition) : std::nullopt;
  if (!settled && env_) settled = by_guard(*env_, hints_, condition);
  if (settled) {
    decision.value = *settled;
    decision.settled = true;
    return decision;
  }
  const auto [hints, assumed] = complete_hints(condition);
  decision.assumed = assumed;
  const auto value = evaluate(condition, hints);
  decision.value = value && value->as_bool().value_or(false);
  return decision;
}

auto ShapeContext::complete_hints(const Expr& e) const -> std::pair<Binding, bool> {
  Binding hints;
  bool assumed = false;
  for (const auto& symbol : e.symbols()) {
    const auto known = hints_.find(symbol);
    assumed = assumed || known == hints_.end();
    hints[symbol] = known != hints_.end()
                        ? known->second
                        : stand_in_size(std::hash<std::string_view>{}(symbol.name()) % 97);
  }
  return {std::move(hints), assumed};
}

auto ShapeContext::concrete(const Expr& e, std::string_view why) -> std::int64_t {
  if (const auto constant = e.as_int()) return *constant;
  const auto [hints, assumed] = complete_hints(e);
  const auto value = evaluate_int(e, hints).value_or(0);
  if (!surely(eq(e, value))) {
    obligations_.push_back({eq(e, value), fmt::format("{}: {}", op_, why), node_, assumed});
    choices_.push_back(eq(e, value));
  }
  return value;
}

auto ShapeContext::decide(const Expr& condition, std::string_view why) -> bool {
  if (const auto constant = condition.as_bool()) return *constant;
  auto& decision = look_up(condition);
  if (decision.settled) return decision.value;
  const auto fact = decision.value ? condition : logic_not(condition);
  if (env_) choices_.push_back(fact);
  if (!decision.recorded) {
    decision.recorded = true;
    obligations_.push_back({.condition = fact,
                            .why = fmt::format("{}: {}", op_, why),
                            .node = node_,
                            .assumed = decision.assumed});
  }
  return decision.value;
}

auto ShapeContext::require(const Expr& condition, std::string_view why) -> bool {
  const bool holds = decide(condition, why);
  if (!env_ || condition.is_const()) return holds;
  const auto& decision = look_up(condition);
  if (decision.settled) return holds;
  choices_.pop_back();
  if (holds && !decision.assumed) requirements_.push_back({condition, choices_, node_});
  return holds;
}

auto ShapeContext::probably(const Expr& condition) -> bool {
  if (const auto constant = condition.as_bool()) return *constant;
  return look_up(condition).value;
}

auto ShapeContext::surely(const Expr& condition) -> bool {
  if (const auto constant = condition.as_bool()) return *constant;
  const auto& decision = look_up(condition);
  return decision.settled && decision.value;
}

auto ShapeContext::data_dependent_value(ExprType type) -> Expr {
  if (next_measured_ < measured_.size()) return measured_[next_measured_++];
  ASSAY_CHECK(pool_ || env_, "a data-dependent value in a concrete run was not measured");
  auto& pool = pool_ ? *pool_ : env_->pool();
  // `assay_u0` cannot collide with PyTorch's names; the interpreter ties it to the claimed symbol.
  const auto symbol = pool.symbol(fmt::format("assay_u{}", made_.size()), type);
  made_.push_back(symbol);
  return symbol;
}

}  // namespace assay
