#include "replay/runner/asserted.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "compiler/prove/normalise.h"
#include "core/expr/text.h"
#include "core/graph/module_reader.h"
#include "replay/interp/admitted.h"
#include "replay/interp/symbolic.h"

namespace assay {
namespace {

auto is_unbacked(const ShapeEnv& env, const Expr& symbol) -> bool {
  const auto* known = env.find(symbol);
  return known && known->kind == SymbolKind::unbacked;
}

void visit_tensors(const Claim& claim, const std::function<void(const TensorMeta&)>& visit) {
  if (const auto* meta = claim.tensor()) visit(*meta);
  if (const auto* items = claim.items())
    for (const auto& item : *items) visit_tensors(item, visit);
}

class Facts {
 public:
  Facts(const Graph& graph, const OpTable& table) : graph_(graph), table_(table) {}

  auto add_to(ShapeEnv env) -> ShapeEnv {
    find_definitions();
    for (const auto& symbol : sizes_) {
      auto range = env.find(symbol)->range;
      if (range.low.as_int().value_or(-1) >= 0) continue;
      range.low = 0;
      env.set_range(symbol, range);
    }
    for (auto& guard : facts_) env.add_guard(std::move(guard));
    for (const auto& [node, condition] : asserted_conditions(graph_)) {
      if (is_late(condition, node)) continue;
      env.add_guard({condition, print_expr(condition), where(node)});
      take_range(condition, env);
    }
    return env;
  }

 private:
  [[nodiscard]] auto where(std::size_t node) const -> std::string {
    return graph_.nodes[node].name;
  }

  /// What a condition says of a data-dependent symbol alone holds wherever the symbol is used.
  static void take_range(const Expr& condition, ShapeEnv& env) {
    const auto symbols = condition.symbols();
    if (symbols.size() != 1 || !is_unbacked(env, symbols[0])) return;
    Ranges alone{{symbols[0], env.find(symbols[0])->range}};
    if (narrow(alone, condition)) env.set_range(symbols[0], alone.at(symbols[0]));
  }

  /// Where each data-dependent symbol comes up first and where a call has it in a layout after
  /// that.
  void find_definitions() {
    const auto symbolic = run_symbolic(graph_, table_);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto& node = graph_.nodes[i];
      if (node.kind == NodeKind::output) continue;
      define(node.claim, symbolic.nodes[i].ruled, i);
      visit_tensors(node.claim, [&](const TensorMeta& meta) {
        for (const auto* dims : {&meta.sizes, &meta.strides})
          for (const auto& e : *dims) note_use(e, i);
        note_use(meta.offset, i);
      });
      if (const auto* scalar = node.claim.scalar()) note_defined(*scalar, i);
    }
  }

  void define(const Claim& claim, const Datum& rule, std::size_t at) {
    if (const auto* items = claim.items()) {
      const auto* list = rule.list();
      for (std::size_t i = 0; i < items->size(); ++i)
        define((*items)[i], list && i < list->size() ? (*list)[i] : Datum{}, at);
      return;
    }
    const auto* meta = claim.tensor();
    if (!meta) return;
    const auto* fake = rule.fake();
    for (std::size_t i = 0; i < meta->sizes.size(); ++i) {
      const auto& symbol = meta->sizes[i];
      if (symbol.op() != ExprOp::symbol || !is_unbacked(graph_.env, symbol)) continue;
      if (std::ranges::find(sizes_, symbol) == sizes_.end()) sizes_.push_back(symbol);
      if (!defined_.try_emplace(symbol, at).second || !fake) continue;
      if (fake->meta.rank() != meta->rank() || fake->meta.sizes[i] == symbol) continue;
      const auto& size = fake->meta.sizes[i];
      const bool is_known = std::ranges::all_of(
          size.symbols(), [&](const Expr& part) { return graph_.env.find(part) != nullptr; });
      const auto same = eq(symbol, size);
      if (is_known && same.is_valid() && !same.is_const())
        facts_.push_back({same, print_expr(same), where(at)});
    }
  }

  void note_defined(const Expr& e, std::size_t at) {
    for (const auto& symbol : e.symbols()) defined_.try_emplace(symbol, at);
  }
  void note_use(const Expr& e, std::size_t at) {
    for (const auto& symbol : e.symbols())
      if (defined_.try_emplace(symbol, at).first->second != at) first_use_.try_emplace(symbol, at);
  }

  /// Was a symbol of the condition used before the condition was asserted?
  [[nodiscard]] auto is_late(const Expr& condition, std::size_t at) const -> bool {
    return std::ranges::any_of(condition.symbols(), [&](const Expr& symbol) {
      const auto use = first_use_.find(symbol);
      return is_unbacked(graph_.env, symbol) && use != first_use_.end() && use->second < at;
    });
  }

  const Graph& graph_;
  const OpTable& table_;
  std::vector<Expr> sizes_;  ///< data-dependent symbols that are sizes
  std::vector<Guard> facts_;
  std::unordered_map<Expr, std::size_t> defined_, first_use_;  ///< by position of the node
};

}  // namespace

auto with_asserted(Graph graph, const OpTable& table) -> Graph {
  const auto& symbols = graph.env.symbols();
  const bool has_data = std::ranges::any_of(
      symbols, [](const Symbol& symbol) { return symbol.kind == SymbolKind::unbacked; });
  if (has_data || !asserted_conditions(graph).empty())
    set_environment(graph, Facts(graph, table).add_to(graph.env));
  return graph;
}

auto required_conditions(const Graph& graph, const OpTable& table) -> std::vector<Guard> {
  std::vector<Guard> guards;
  for (const auto& requirement : run_symbolic(graph, table).requirements) {
    // At sizes where the rule chooses otherwise, it may not ask for this.
    std::vector<Expr> ways{requirement.condition};
    for (const auto& choice : requirement.under) ways.push_back(logic_not(choice));
    const auto condition = make(ExprOp::logic_or, ways);
    const auto* node = graph.find(NodeId{requirement.node});
    if (condition.is_valid() && !condition.is_const())
      guards.push_back({condition, print_expr(condition), node ? node->name : std::string()});
  }
  return guards;
}

}  // namespace assay
