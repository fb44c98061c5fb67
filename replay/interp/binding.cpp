#include "replay/interp/binding.h"

#include <algorithm>
#include <map>

#include "core/expr/text.h"

namespace assay {
namespace {

struct Equation {
  Expr claim;
  Expr value;  ///< constant
  bool from_input = false;
};

class Equations {
 public:
  explicit Equations(const Graph& graph) : env_(graph.env) {}

  void add(const Claim& claim, const ObservedValue& seen, bool from_input) {
    if (const auto* scalar = claim.scalar(); scalar && seen.scalar) {
      add(*scalar, *seen.scalar, from_input);
    } else if (const auto* meta = claim.tensor(); meta && seen.tensor) {
      add_layout(*meta, seen.tensor->meta, from_input);
    } else if (const auto* items = claim.items(); items && seen.items.size() == items->size()) {
      for (std::size_t i = 0; i < items->size(); ++i) add((*items)[i], seen.items[i], from_input);
    }
  }
  [[nodiscard]] auto all() const -> const std::vector<Equation>& { return equations_; }

 private:
  void add_layout(const TensorMeta& claim, const RealMeta& real, bool from_input) {
    if (claim.sizes.size() != real.sizes.size()) return;
    for (std::size_t i = 0; i < claim.sizes.size(); ++i)
      add(claim.sizes[i], real.sizes[i], from_input);
    // Strides of empty tensors and of size-1 dims carry no information.
    const bool empty = numel(real.sizes) == 0;
    for (std::size_t i = 0; i < claim.strides.size() && !empty; ++i)
      if (real.sizes[i] > 1) add(claim.strides[i], real.strides[i], from_input);
    add(claim.offset, real.offset, from_input);
  }
  void add(const Expr& claim, const Expr& value, bool from_input) {
    if (claim.is_const() || !claim.is_valid()) return;
    equations_.push_back({substitute(claim, env_.replacements()), value, from_input});
  }

  const ShapeEnv& env_;
  std::vector<Equation> equations_;
};

/// Candidate values of one symbol with their support.
struct Votes {
  struct Tally {
    Expr value;
    int inputs = 0, others = 0;
  };
  std::vector<Tally> tallies;

  void add(const Expr& value, bool from_input) {
    auto found = std::ranges::find(tallies, value, &Tally::value);
    if (found == tallies.end()) found = tallies.insert(tallies.end(), {value, 0, 0});
    ++(from_input ? found->inputs : found->others);
  }
};

auto is_admitted(const Symbol* symbol, const Expr& value) -> bool {
  return !symbol || symbol->range.contains(value);
}

/// Most equations first; then admitted by the range, the hint, and the smaller value.
auto winner(const Votes& votes, const Symbol* symbol) -> Expr {
  const auto rank = [&](const Votes::Tally& tally) {
    const bool hinted = symbol && symbol->hint && *symbol->hint == tally.value;
    return std::tuple(tally.inputs + tally.others, is_admitted(symbol, tally.value), tally.inputs,
                      hinted, -tally.value.as_number().value_or(0));
  };
  return std::ranges::max_element(votes.tallies, {}, rank)->value;
}

auto describe(std::string_view name, const Votes& votes) -> std::string {
  std::string text = fmt::format("{}:", name);
  for (const auto& tally : votes.tallies)
    text += fmt::format(" {} ({} equations)", print_expr(tally.value), tally.inputs + tally.others);
  return text;
}

/// The single symbol of `e` that has no value yet, if there is exactly one.
auto only_unknown(const Expr& e, const Binding& known) -> std::optional<Expr> {
  std::optional<Expr> unknown;
  for (const auto& symbol : e.symbols()) {
    if (known.contains(symbol)) continue;
    if (unknown) return std::nullopt;
    unknown = symbol;
  }
  return unknown;
}

/// One round: equations in one unknown vote for it; winners enter the binding. False if nothing
/// new.
auto solve_round(const std::vector<Equation>& equations, const ShapeEnv& env, bool bare_only,
                 SymbolBinding& binding) -> bool {
  std::map<std::string, std::pair<Expr, Votes>> ballots;
  for (const auto& equation : equations) {
    const auto unknown = only_unknown(equation.claim, binding.values);
    if (!unknown || (bare_only && equation.claim != *unknown)) continue;
    auto value = std::optional(equation.value);
    if (equation.claim != *unknown) {
      std::unordered_map<Expr, Expr> known(binding.values.begin(), binding.values.end());
      const auto reduced = substitute(equation.claim, known);
      const auto target = equation.value.as_int();
      const auto solved = target ? solve_for(reduced, *unknown, *target) : std::nullopt;
      value = solved ? std::optional(Expr(*solved)) : std::nullopt;
    }
    if (!value) continue;
    auto& [symbol, votes] = ballots[std::string(unknown->name())];
    symbol = *unknown;
    votes.add(*value, equation.from_input);
  }
  for (const auto& [name, ballot] : ballots) {
    const auto& [symbol, votes] = ballot;
    binding.values[symbol] = winner(votes, env.find(symbol));
    if (votes.tallies.size() > 1) binding.conflicts.push_back(describe(name, votes));
  }
  return !ballots.empty();
}

/// Symbols that a range pins to one value, or that were replaced, need no equation.
void bind_fixed(const ShapeEnv& env, SymbolBinding& binding) {
  for (const auto& symbol : env.symbols()) {
    if (binding.values.contains(symbol.expr)) continue;
    if (symbol.range.low == symbol.range.high && symbol.range.low.is_const())
      binding.values[symbol.expr] = symbol.range.low;
  }
  for (const auto& [symbol, by] : env.replacements()) {
    if (binding.values.contains(symbol)) continue;
    if (const auto value = evaluate(by, binding.values)) binding.values[symbol] = *value;
  }
}

}  // namespace

auto bind_symbols(const Graph& graph, const GraphRun& run) -> SymbolBinding {
  Equations equations(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (run.nodes[i].status == NodeStatus::ran || run.nodes[i].status == NodeStatus::recorded)
      equations.add(graph.nodes[i].claim, run.nodes[i].value,
                    graph.nodes[i].kind == NodeKind::placeholder);
  SymbolBinding binding;
  // Bare symbols of inputs and nodes first; compound equations only for what is still unknown.
  solve_round(equations.all(), graph.env, true, binding);
  while (solve_round(equations.all(), graph.env, false, binding)) {
  }
  bind_fixed(graph.env, binding);
  for (const auto& equation : equations.all())
    for (const auto& symbol : equation.claim.symbols())
      if (!binding.values.contains(symbol) &&
          std::ranges::find(binding.unbound, symbol.name()) == binding.unbound.end())
        binding.unbound.emplace_back(symbol.name());
  std::ranges::sort(binding.unbound);
  return binding;
}

auto symbols_around(const Graph& graph, NodeId id) -> std::vector<Expr> {
  std::vector<Expr> symbols;
  const auto add = [&](const Expr& e) {
    for (const auto& symbol : e.symbols())
      if (std::ranges::find(symbols, symbol) == symbols.end()) symbols.push_back(symbol);
  };
  const std::function<void(const Claim&)> add_claim = [&](const Claim& claim) {
    if (const auto* items = claim.items())
      for (const auto& item : *items) add_claim(item);
    if (const auto* scalar = claim.scalar()) add(*scalar);
    const auto* meta = claim.tensor();
    if (!meta) return;
    for (const auto& size : meta->sizes) add(size);
    for (const auto& stride : meta->strides) add(stride);
    add(meta->offset);
  };
  const auto* node = graph.find(id);
  if (!node) return symbols;
  add_claim(node->claim);
  for (const auto operand : operands(*node))
    if (const auto* from = graph.find(operand)) add_claim(from->claim);
  return symbols;
}

auto to_string(const Binding& binding, const std::vector<Expr>& of) -> std::string {
  std::vector<std::pair<std::string, std::string>> entries;
  for (const auto& [symbol, value] : binding)
    if (of.empty() || std::ranges::find(of, symbol) != of.end())
      entries.emplace_back(symbol.name(), print_expr(value));
  std::ranges::sort(entries);
  std::string text;
  for (const auto& [name, value] : entries)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
  return text;
}

}  // namespace assay
