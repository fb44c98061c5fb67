#include "gui/data/live_sizes.h"

#include <algorithm>
#include <charconv>
#include <ranges>
#include <set>
#include <unordered_map>

#include "core/expr/text.h"
#include "gui/data/statements.h"
#include "replay/trace/pages.h"

namespace assay {
namespace {

constexpr std::int64_t kSliderEnd = 512;
constexpr std::size_t kMostChanged = 500;

auto parse_int(const std::string& text) -> std::optional<std::int64_t> {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

auto ask(const TraceReader& reader, std::string_view name, TraceId graph) -> Result<TraceAnswer> {
  const std::vector<TraceValue> parameters = {graph};
  return reader.query(statement(name, reader.version()), parameters, SIZE_MAX);
}

auto numbers(const std::vector<Expr>& sizes, const Binding& binding)
    -> std::optional<std::vector<std::int64_t>> {
  std::vector<std::int64_t> values;
  for (const auto& size : sizes) {
    const auto value = evaluate_int(size, binding);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

}  // namespace

auto LiveState::broken_guards() const -> int {
  return static_cast<int>(
      std::ranges::count(guards, std::optional<bool>(false), &LiveGuard::holds));
}

auto LiveSizes::read(const TraceReader& reader, TraceId graph)
    -> Result<std::shared_ptr<LiveSizes>> {
  auto live = std::make_shared<LiveSizes>();
  ASSAY_TRY(live->run_, read_sizes(reader, {}));
  std::map<std::string, std::string> bound;
  ASSAY_TRY(const auto bindings, reader.query(statement("bindings", reader.version())));
  for (const auto& row : bindings.rows) bound[to_text(row[0])] = to_text(row[1]);
  ASSAY_TRY(const auto symbols, ask(reader, "symbols", graph));
  for (const auto& row : symbols.rows) {
    SymbolRange symbol{.name = to_text(row[0]),
                       .kind = to_text(row[1]),
                       .source = to_text(row[5]),
                       .low_text = to_text(row[2]),
                       .high_text = to_text(row[3]),
                       .hint = parse_int(to_text(row[4])),
                       .low = 0,
                       .high = 0};
    if (symbol.kind != "backed" && symbol.kind != "unbacked") {
      const auto known = bound.find(symbol.name);
      live->read_real(symbol, known == bound.end() ? to_text(row[4]) : known->second);
      continue;
    }
    if (!live->run_.contains(symbol.name) && symbol.hint) live->run_[symbol.name] = *symbol.hint;
    const auto known = live->run_.find(symbol.name);
    const auto now = known == live->run_.end() ? 2 : known->second;
    symbol.low = parse_int(symbol.low_text).value_or(0);
    // A graph that did not run has no sizes; the smallest admitted ones stand in.
    live->run_.try_emplace(symbol.name, std::max<std::int64_t>(symbol.low, 0));
    symbol.high = parse_int(symbol.high_text)
                      .value_or(std::max(kSliderEnd, 4 * std::max<std::int64_t>(now, 1)));
    symbol.high = std::max(symbol.high, symbol.low);
    live->symbols_.push_back(std::move(symbol));
  }
  ASSAY_TRY(const auto guards, ask(reader, "guards", graph));
  for (const auto& row : guards.rows) {
    LiveGuard guard{.id = to_number(row[0]),
                    .seq = to_number(row[1]),
                    .condition = to_text(row[2]),
                    .text = to_text(row[3]),
                    .origin = to_text(row[4]),
                    .holds = {},
                    .symbols = {}};
    const auto parsed = parse_expr(live->pool_, guard.condition);
    if (parsed)
      for (const auto& symbol : parsed->symbols()) guard.symbols.emplace_back(symbol.name());
    live->guards_.emplace_back(std::move(guard),
                               parsed ? std::optional<Expr>(*parsed) : std::nullopt);
  }
  ASSAY_TRY(live->nodes_, count_nodes(reader, graph));
  ASSAY_TRY_VOID(live->read_claims(reader, graph));
  live->sort_symbols();
  return live;
}

auto LiveSizes::read_claims(const TraceReader& reader, TraceId graph) -> Result<void> {
  std::unordered_map<std::string, std::optional<std::size_t>> places;
  const std::vector<TraceValue> parameters = {graph};
  std::int64_t at = 0;
  return reader.each(statement("claims of graph", reader.version()), parameters,
                     [&](std::span<const TraceValue> row) -> Result<void> {
                       ++at;
                       const auto* text = std::get_if<std::string>(&row[2]);
                       if (text == nullptr) return {};
                       const auto [place, is_new] = places.try_emplace(*text);
                       if (is_new)
                         if (auto sizes = parse_list(pool_, *text);
                             sizes && !std::ranges::all_of(*sizes, &Expr::is_const)) {
                           place->second = claims_.size();
                           claims_.push_back({.sizes = std::move(*sizes), .count = 0, .first = {}});
                         }
                       if (!place->second) return {};
                       auto& claims = claims_[*place->second];
                       ++claims.count;
                       if (claims.first.size() < kMostChanged)
                         claims.first.push_back({at, to_number(row[0]), to_text(row[1])});
                       return {};
                     });
}

/// Of a number that nobody recorded the only one that its range admits, if there is one.
void LiveSizes::read_real(const SymbolRange& symbol, const std::string& value) {
  const auto& text = value.empty() && symbol.low_text == symbol.high_text ? symbol.low_text : value;
  const auto name = parse_expr(pool_, symbol.name);
  const auto number = parse_expr(pool_, text);
  if (name && number && name->op() == ExprOp::symbol && number->is_const())
    fixed_.insert_or_assign(*name, *number);
}

void LiveSizes::sort_symbols() {
  std::set<std::string, std::less<>> of_sizes, of_guards;
  for (const auto& claim : claims_)
    for (const auto& size : claim.sizes)
      for (const auto& symbol : size.symbols()) of_sizes.emplace(symbol.name());
  for (const auto& [guard, condition] : guards_)
    of_guards.insert(guard.symbols.begin(), guard.symbols.end());
  if (claims_.empty() && guards_.empty()) return;  // a program: it uses them all
  std::erase_if(symbols_, [&](const SymbolRange& symbol) {
    return !of_sizes.contains(symbol.name) && !of_guards.contains(symbol.name);
  });
  std::ranges::stable_partition(
      symbols_, [&](const SymbolRange& symbol) { return of_sizes.contains(symbol.name); });
}

auto LiveSizes::binding(const NamedSizes& sizes) const -> Binding {
  auto binding = to_binding(pool_, sizes);
  binding.insert(fixed_.begin(), fixed_.end());
  return binding;
}

auto LiveSizes::at(const NamedSizes& changed) const -> LiveState {
  const std::lock_guard lock(mutex_);
  LiveState state;
  state.sizes = run_;
  state.nodes = nodes_;
  const auto before = binding(run_);
  for (const auto& [name, value] : changed) state.sizes[name] = value;
  const auto now = binding(state.sizes);
  for (const auto& [guard, condition] : guards_) {
    state.guards.push_back(guard);
    if (!condition) continue;
    if (const auto value = evaluate(*condition, now)) state.guards.back().holds = value->as_bool();
  }
  std::vector<std::pair<std::int64_t, LiveNode>> differing;
  for (const auto& claims : claims_) {
    state.dynamic_count += claims.count;
    const auto after = numbers(claims.sizes, now);
    if (!after || std::ranges::any_of(*after, [](auto size) { return size < 0; }))
      state.failed += claims.count;
    const auto first = numbers(claims.sizes, before);
    if (!after || after == first) continue;
    state.changed_count += claims.count;
    for (const auto& claimer : claims.first)
      differing.emplace_back(
          claimer.at,
          LiveNode{claimer.node, claimer.name, fmt::format("[{}]", fmt::join(*after, ", ")),
                   first ? fmt::format("[{}]", fmt::join(*first, ", ")) : std::string()});
  }
  std::ranges::sort(differing, {}, &std::pair<std::int64_t, LiveNode>::first);
  for (auto& [at, node] : differing | std::views::take(kMostChanged))
    state.changed.push_back(std::move(node));
  return state;
}

}  // namespace assay
