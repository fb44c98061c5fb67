// Launches: kernel arguments bound to what the wrapper passes, and every access of the kernel.
#include <algorithm>

#include "compiler/prove/wrapper_walk.h"
#include "core/expr/poly.h"
#include "core/expr/text.h"

namespace assay {
namespace {

constexpr std::int64_t kMax32 = 2147483647;

auto contains(const Expr& e, const Expr& part) -> bool {
  return e == part ||
         std::ranges::any_of(e.args(), [&](const Expr& arg) { return contains(arg, part); });
}

auto mentions_any(const Expr& e, const std::vector<Expr>& symbols) -> bool {
  return std::ranges::any_of(e.symbols(), [&](const Expr& symbol) {
    return std::ranges::find(symbols, symbol) != symbols.end();
  });
}

/// `(0 <= i < n) | ~xmask` says 0 <= i < n where xmask holds: alternatives that the mask excludes
/// are dropped.
auto under_mask(const Expr& fact, const std::vector<Expr>& mask) -> Expr {
  if (fact.op() != ExprOp::logic_or) return fact;
  auto result = Expr::boolean(false);
  for (const auto& alternative : fact.args()) {
    std::vector<Expr> needed;
    split_conjunction(logic_not(alternative), needed);
    const bool excluded = std::ranges::all_of(
        needed, [&](const Expr& one) { return std::ranges::find(mask, one) != mask.end(); });
    if (!excluded) result = logic_or(result, alternative);
  }
  return result;
}

/// n where the condition says axis < n.
auto count_under(const Expr& condition, const Expr& axis) -> std::optional<Expr> {
  const bool up = condition.op() == ExprOp::lt || condition.op() == ExprOp::le;
  const bool down = condition.op() == ExprOp::gt || condition.op() == ExprOp::ge;
  if (!up && !down) return std::nullopt;
  const auto& small = condition.args()[up ? 0 : 1];
  const auto& large = condition.args()[up ? 1 : 0];
  const bool strict = condition.op() == ExprOp::lt || condition.op() == ExprOp::gt;
  const auto count = large - small + axis + (strict ? 0 : 1);
  if (!count.is_valid() || contains(count, axis) || !contains(small, axis) ||
      mentions_any(count, {axis}))
    return std::nullopt;
  return count;
}

void collect_divisors(const Expr& e, std::vector<Expr>& divisors) {
  for (const auto& arg : e.args()) collect_divisors(arg, divisors);
  if ((e.op() == ExprOp::floor_div || e.op() == ExprOp::mod || e.op() == ExprOp::python_mod) &&
      std::ranges::find(divisors, e.args()[1]) == divisors.end())
    divisors.push_back(e.args()[1]);
}
auto divisors_of(const Expr& e) -> std::vector<Expr> {
  std::vector<Expr> divisors;
  collect_divisors(e, divisors);
  return divisors;
}

/// As a signature has it: "i32".
auto type_text(const TileParam& param) -> std::string {
  return fmt::format("{}{}", info(param.dtype).kind == DTypeKind::unsigned_integer ? "u" : "i",
                     8 * size_bytes(param.dtype));
}

}  // namespace

struct WrapperWalk::Launch {
  const HostOp* op = nullptr;
  const KernelSource* source = nullptr;
  const TileKernel* kernel = nullptr;
  const KernelAccesses* accesses = nullptr;
  std::unordered_map<Expr, Expr> scalars;               ///< parameter -> what is passed
  std::vector<std::optional<HostBuffer>> buffers;       ///< per parameter
  std::vector<std::pair<std::size_t, Expr>> arguments;  ///< scalar parameters, passed values
  std::vector<std::optional<Expr>> grid;                ///< programs by dimension, where passed
  std::vector<Expr> bad_divisions;  ///< quotients and remainders that may not round as taken
  [[nodiscard]] auto bound(const Expr& e) const -> Expr { return substitute(e, scalars); }
};

auto WrapperWalk::kernel_of(const std::string& name) -> const ProvedKernel* {
  if (const auto known = report_.kernels.find(name); known != report_.kernels.end())
    return &known->second;
  if (failed_kernels_.contains(name)) return nullptr;
  const auto found = program_.kernels.find(name);
  if (found == program_.kernels.end()) {
    failed_kernels_[name] = "its source is not in the text";
    report_.kernels_not_understood.push_back({0, name, failed_kernels_[name]});
    return nullptr;
  }
  const auto& source = found->second;
  if (source.kernel) {
    for (const auto& line : source.kernel->not_understood)
      report_.kernels_not_understood.push_back(
          {source.line + line.line - 1, name, fmt::format("{}: {}", line.text, line.reason)});
    return &(report_.kernels[name] = {source.kernel,
                                      derive_accesses(*source.kernel, program_.env.pool())});
  }
  const auto& reason = source.not_read;
  failed_kernels_[name] = reason;
  report_.kernels_not_understood.push_back({source.line, name, reason});
  return nullptr;
}

void WrapperWalk::step(const HostOp& op, const HostLaunch& what) {
  ++report_.launches;
  use(op, what.args);
  Launch launch;
  launch.op = &op;
  const auto* known_kernel = kernel_of(what.kernel);
  if (known_kernel != nullptr) {
    launch.kernel = known_kernel->kernel.get();
    launch.accesses = &known_kernel->accesses;
  }
  const Place place{&op, what.kernel, 0, {}};
  if (launch.kernel == nullptr)
    return add(WrapperClaim::access_in_bounds, place, "all accesses are in bounds",
               Unknown{Tier::normalise, fmt::format("the kernel `{}` was not read: {}", what.kernel,
                                                    failed_kernels_[what.kernel])});
  launch.source = &program_.kernels.at(what.kernel);
  if (const auto problem = bind_arguments(launch, what); !problem.empty())
    return add(WrapperClaim::access_in_bounds, place, "all accesses are in bounds",
               Unknown{Tier::normalise, problem});
  // Layers repeat launches: what is passed decides, not what it is called.
  const auto key = key_of(launch);
  const auto known = launches_.find(key);
  if (known == launches_.end()) {
    const auto first = report_.obligations.size();
    check_launch(launch);
    launches_[key] = {first, report_.obligations.size()};
    return;
  }
  for (auto i = known->second.first; i < known->second.second; ++i) {
    auto again = report_.obligations[i];
    again.line = op.line;
    again.statement = op.text;
    report_.obligations.push_back(std::move(again));
  }
}

/// Everything a launch's obligations depend on, names of buffers included for messages of refuted
/// ones only: they name the first launch's buffers.
auto WrapperWalk::key_of(const Launch& launch) const -> std::string {
  auto key = launch.source->name +
             fmt::format("|{}-{}", report_.facts.size(), std::ranges::count(is_over_, true));
  for (const auto& count : launch.grid) key += "|" + (count ? print_expr(*count) : "?");
  for (const auto& [position, value] : launch.arguments)
    key += fmt::format("|{}={}", position, print_expr(value));
  for (const auto& buffer : launch.buffers) {
    if (!buffer) {
      key += "|-";
      continue;
    }
    const auto& storage = storages_[buffer->storage];
    key += fmt::format("|{}+{}:{}", storage.elems ? print_expr(*storage.elems) : "?",
                       print_expr(buffer->offset),
                       storage.dtype ? static_cast<int>(*storage.dtype) : -1);
  }
  return key;
}

/// Blocks are chosen by the launcher; everything else is passed in order.
auto WrapperWalk::bind_arguments(Launch& launch, const HostLaunch& what) -> std::string {
  const auto& params = launch.kernel->params;
  launch.buffers.resize(params.size());
  const auto known = launch.kernel->passed(what.args.size());
  if (!known)
    return fmt::format("the launch passes {} arguments, which are not those of the kernel",
                       what.args.size());
  const auto& passed = *known;
  const auto& extra = launch.kernel->launcher_args;
  for (std::size_t i = 0; passed.size() + i < what.args.size(); ++i)
    if (const auto* value = std::get_if<Expr>(&what.args[passed.size() + i].value);
        value && extra[i] == fmt::format("_grid_{}", i))
      launch.grid.emplace_back(*value);
    else
      launch.grid.emplace_back();
  for (const auto& param : params)
    if (param.fixed && param.symbol.pool() != nullptr) launch.scalars[param.symbol] = *param.fixed;
  for (std::size_t i = 0; i < passed.size(); ++i) {
    const auto& param = params[passed[i]];
    const auto& argument = what.args[i];
    if (param.kind == TileParam::Kind::buffer) {
      if (const auto* view = std::get_if<HostView>(&argument.value))
        launch.buffers[passed[i]] = view_of(*launch.op, *view);
    } else if (const auto* value = std::get_if<Expr>(&argument.value);
               value && param.symbol.pool() != nullptr && value->type() == ExprType::integer) {
      launch.scalars[param.symbol] = *value;
      launch.arguments.emplace_back(passed[i], *value);
    }
  }
  if (launch.grid.empty()) add_known_grid(launch);
  return {};
}

/// Programs that the kernel's own grid counts, where blocks do not decide how many there are.
void WrapperWalk::add_known_grid(Launch& launch) {
  const auto& params = launch.kernel->params;
  const auto is_known = [&](const Expr& symbol) {
    const auto param = std::ranges::find(params, symbol, &TileParam::symbol);
    return param != params.end() && launch.scalars.contains(symbol);
  };
  for (const auto& count : launch.kernel->grid) {
    auto& known = launch.grid.emplace_back();
    if (std::ranges::all_of(count.symbols(), is_known)) known = launch.bound(count);
  }
}

void WrapperWalk::check_launch(Launch& launch) {
  if (!launch.kernel->is_understood()) {
    const auto& line = launch.kernel->not_understood.front();
    add(WrapperClaim::access_in_bounds, {launch.op, launch.source->name, 0, {}},
        "accesses on lines that are not understood",
        Unknown{Tier::normalise, fmt::format("`{}`: {}", line.text, line.reason)});
  }
  check_arguments(launch);
  if (!options_.guards_are_known) assume_small_storages(launch);
  auto ranges = bound(0);
  ranges.facts.ranges.insert(launch.accesses->ranges.begin(), launch.accesses->ranges.end());
  auto passed =
      ranges.facts.ranges;  // parameters as what is passed: products are not expanded there
  for (const auto& [param, value] : launch.scalars)
    passed[param] = interval_of(value, ranges.facts.ranges);
  const auto is_negative_nowhere = [](const Expr& e, const Ranges& in) {
    return interval_of(e, in).low.as_int().value_or(-1) >= 0;
  };
  for (const auto& division : launch.accesses->divisions) {
    bool good = true;
    for (const auto& side : {division.dividend, division.divisor}) {
      ranges.value = launch.bound(side);
      good = good && (is_negative_nowhere(side, passed) ||
                      is_negative_nowhere(ranges.value, ranges.facts.ranges) ||
                      proves_nonnegative(ranges.value, ranges.facts));
    }
    if (good) continue;
    launch.bad_divisions.push_back(floor_div(division.dividend, division.divisor));
    launch.bad_divisions.push_back(mod(division.dividend, division.divisor));
  }
  for (const auto& access : launch.accesses->accesses) check_access(launch, access);
}

void WrapperWalk::assume(const Expr& condition, std::string why) {
  const auto is_it = [&](const WrapperFact& fact) { return fact.condition == condition; };
  if (condition.is_const() || std::ranges::any_of(report_.facts, is_it)) return;
  report_.facts.push_back({condition, std::nullopt, why});
  report_.assumptions.push_back(std::move(why));
}

/// Inductor indexes in 32 bits only after guarding that extents and storages fit (SIMDScheduling.
/// can_use_32bit_indexing); templates are chosen otherwise.
void WrapperWalk::assume_small_storages(const Launch& launch) {
  const auto& params = launch.kernel->params;
  const bool is_narrow = std::ranges::any_of(params, [](const TileParam& param) {
    return bits_of(param) == 32 && param.name.ends_with("numel");
  });
  if (!is_narrow || launch.kernel->heuristic == "template") return;
  for (const auto& buffer : launch.buffers) {
    if (!buffer) continue;
    const auto& storage = storages_[buffer->storage];
    if (!storage.elems) continue;
    assume(le(*storage.elems, kMax32),
           fmt::format("{} <= {}, since a kernel that indexes {} in 32 bits was chosen",
                       print_expr(*storage.elems), kMax32, storage.name));
  }
}

void WrapperWalk::check_arguments(const Launch& launch) {
  for (const auto& [position, value] : launch.arguments) {
    const auto& param = launch.kernel->params[position];
    if (bits_of(param) != 32 || value.is_const()) continue;
    const Place place{launch.op, launch.source->name, 0, {}};
    if (!options_.guards_are_known) {
      assume(le(value, kMax32),
             fmt::format("{} <= {}, since `{}` is passed as {}", print_expr(value), kMax32,
                         param.name, type_text(param)));
      continue;
    }
    auto decision = decide(bound(kMax32 - value));
    std::string message;
    if (const auto* refuted = std::get_if<Refuted>(&decision.answer))
      if (const auto now = evaluate_int(value, refuted->witness))
        message = fmt::format("{} is {}, more than {} bits hold", param.name, *now, 31);
    add(WrapperClaim::fits_32_bits, place,
        fmt::format("{} = {} fits {}", param.name, print_expr(value), type_text(param)),
        std::move(decision), std::move(message));
  }
}

/// Elements from the pointer to the end of its storage.
auto WrapperWalk::limit_of(const Launch& launch, const KernelAccess& access) const
    -> std::optional<Expr> {
  const auto& buffer = launch.buffers[access.param];
  if (!buffer) return std::nullopt;
  const auto& storage = storages_[buffer->storage];
  if (!storage.elems) return std::nullopt;
  const auto elems = *storage.elems - buffer->offset;
  if (!storage.dtype) return elems;
  const auto have = size_bytes(*storage.dtype);
  const auto want = size_bytes(launch.kernel->params[access.param].dtype);
  return have == want ? elems : floor_div(elems * have, want);
}

/// A product that is not 0 has no factor that is: symbols, and what the index divides by.
void WrapperWalk::add_not_empty(const Expr& numel, const Expr& index, Bound& bound) {
  bound.facts.conditions.push_back(ge(numel, 1));
  std::vector<Expr> factors;
  if (numel.op() == ExprOp::mul)
    std::ranges::copy_if(numel.args(), std::back_inserter(factors),
                         [](const Expr& factor) { return factor.op() == ExprOp::symbol; });
  if (!numel.is_const())
    for (const auto& divisor : divisors_of(index))
      if (!divisor.is_const() && divide_exactly(*numel.pool(), to_poly(numel), to_poly(divisor)))
        factors.push_back(divisor);
  for (const auto& factor : factors)
    if (interval_of(factor, bound.facts.ranges).low.as_int() == 0)
      bound.facts.conditions.push_back(ge(factor, 1));
}

void WrapperWalk::add_axes(const Launch& launch, const KernelAccess& access, Bound& bound) const {
  const auto& conditions = bound.facts.conditions;
  for (const auto& [dimension, id] : launch.accesses->programs) {
    const auto at = static_cast<std::size_t>(dimension);
    if (at >= launch.grid.size() || !launch.grid[at] ||
        (!contains(access.index, id) && !contains(access.mask, id)))
      continue;
    bound.axes.push_back({id, *launch.grid[at], 1, 1});
    bound.facts.conditions.push_back(ge(*launch.grid[at], 1));
    bound.facts.axes.push_back({id, *launch.grid[at]});
  }
  for (const auto& axis : launch.accesses->axes) {
    const auto used = [&](const Expr& e) { return contains(e, axis.symbol); };
    const bool is_used =
        used(access.index) || used(access.mask) || std::ranges::any_of(access.narrow, used);
    if (!is_used || !axis.numel) continue;
    const auto numel = launch.bound(*axis.numel);
    const auto block = launch.bound(axis.block);
    bound.axes.push_back({axis.symbol, numel, axis.max_block, block});
    // No lane runs where the extent is 0.
    add_not_empty(numel, launch.bound(access.index), bound);
    // A mask `x < n` bounds the axis; a mask that Inductor left out does, where blocks divide n.
    std::optional<Expr> count;
    for (const auto& condition : conditions)
      if (const auto upper = count_under(condition, axis.symbol))
        if (!count || *upper == numel) count = upper;
    if (!count) {
      const bool divides = numel.is_int(1) || mod(numel, axis.max_block).is_int(0);
      count = divides ? numel : numel + axis.max_block - 1;
    }
    bound.facts.axes.push_back({axis.symbol, *count});
  }
}

auto WrapperWalk::access_bound(const Launch& launch, const KernelAccess& access) const -> Bound {
  auto result = bound(0);
  auto& facts = result.facts;
  facts.ranges.insert(launch.accesses->ranges.begin(), launch.accesses->ranges.end());
  for (const auto& param : launch.kernel->params)  // sizes that are not passed as numbers
    if (param.symbol.pool() != nullptr && !facts.ranges.contains(param.symbol))
      facts.ranges[param.symbol] = {0, Expr::infinity()};
  std::vector<Expr> mask;
  split_conjunction(launch.bound(access.mask), mask);
  facts.conditions.insert(facts.conditions.begin(), mask.begin(), mask.end());
  add_axes(launch, access, result);
  if (launch.kernel->asserts_are_on)
    for (std::size_t i = 0; i < access.facts; ++i)
      split_conjunction(under_mask(launch.bound(launch.accesses->facts[i]), mask),
                        facts.conditions);
  return result;
}

/// Why a counterexample would not be one: what the index rests on is not known.
auto WrapperWalk::trouble_of(const Launch& launch, const KernelAccess& access,
                             const Bound& bound) const -> std::string {
  for (const auto& quotient : launch.bad_divisions)
    if (contains(access.index, quotient) || contains(access.mask, quotient))
      return fmt::format("`{}` may divide a negative number",
                         without_numbers(print_expr(quotient)));
  for (const auto& [dimension, id] : launch.accesses->programs) {
    const auto at = static_cast<std::size_t>(dimension);
    if ((contains(access.index, id) || contains(access.mask, id)) &&
        (at >= launch.grid.size() || !launch.grid[at]))
      return fmt::format("the index depends on program id {}, whose number is not known",
                         dimension);
  }
  for (const auto& data : launch.accesses->data) {
    if (!contains(access.index, data.symbol)) continue;
    if (data.is_computed) return fmt::format("the index depends on {}", data.text);
    bool is_bounded = false;
    for (const auto& condition : bound.facts.conditions) {
      if (!contains(condition, data.symbol)) continue;
      is_bounded = true;
      for (const auto& other : launch.accesses->data)
        if (other.is_computed && contains(condition, other.symbol))
          return fmt::format("what bounds the index depends on {}", other.text);
    }
    if (!is_bounded)
      return fmt::format("the index depends on data (`{}`) that no device assert bounds",
                         data.text);
  }
  return {};
}

auto WrapperWalk::describe(const Launch& launch, const KernelAccess& access, const Expr& index,
                           const Expr& limit, const Binding& witness) const -> std::string {
  const auto& param = launch.kernel->params[access.param];
  const auto& buffer = launch.buffers[access.param];
  const auto at = evaluate_int(index, witness);
  const auto have = evaluate_int(limit, witness);
  if (!buffer || !at || !have) return {};
  const auto bytes = size_bytes(param.dtype);
  const auto& storage = storages_[buffer->storage];
  if (*at < 0) return fmt::format("{} is indexed at {}, before its start", param.name, *at);
  return fmt::format("{} is indexed at {}: needs {} bytes, {} has {}", param.name, *at,
                     (*at + 1) * bytes, storage.name, *have * bytes);
}

void WrapperWalk::check_access(const Launch& launch, const KernelAccess& access) {
  const auto& param = launch.kernel->params[access.param];
  const Place place{launch.op, launch.source->name, launch.source->line + access.line - 1,
                    access.text};
  const auto index = launch.bound(access.index);
  auto claim =
      fmt::format("0 <= {} < extent of {}", without_numbers(print_expr(index)), param.name);
  auto goal = access_bound(launch, access);
  const auto trouble = trouble_of(launch, access, goal);
  const auto decide = [&](const Expr& value) -> Decision {
    goal.value = value;
    auto decision = decide_bound(goal, prover_);
    if (!trouble.empty() && !std::holds_alternative<Proved>(decision.answer))
      return {Unknown{Tier::normalise, trouble}, {}};
    return decision;
  };
  const auto& buffer = launch.buffers[access.param];
  const auto limit = limit_of(launch, access);
  if (!buffer || !limit) {
    add(WrapperClaim::access_in_bounds, place, std::move(claim),
        Unknown{Tier::normalise,
                fmt::format("what is passed for {} has no known extent", param.name)});
  } else {
    auto decision = both(decide(buffer->offset + index), decide(*limit - 1 - index));
    std::string message;
    if (const auto* refuted = std::get_if<Refuted>(&decision.answer))
      message = describe(launch, access, index, *limit, refuted->witness);
    add(WrapperClaim::access_in_bounds, place, std::move(claim), std::move(decision),
        std::move(message));
  }
  Decision fits;
  std::string message;
  for (const auto& narrow : access.narrow) {
    const auto value = launch.bound(narrow);
    if (value.is_const()) continue;
    fits = both(both(std::move(fits), decide(kMax32 - value)), decide(value + kMax32 + 1));
    const auto* refuted = std::get_if<Refuted>(&fits.answer);
    if (refuted == nullptr) continue;
    if (const auto now = evaluate_int(value, refuted->witness))
      message = fmt::format("{} is {}, which 32 bits do not hold",
                            without_numbers(print_expr(narrow)), *now);
    break;
  }
  if (!access.narrow.empty())
    add(WrapperClaim::fits_32_bits, place, "the index is computed in 32 bits without overflow",
        std::move(fits), std::move(message));
}

}  // namespace assay
