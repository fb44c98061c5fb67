// What gives a cut graph its symbols.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "minifier/edits/program.h"

namespace assay {
namespace {

struct ByText {
  auto operator()(const Expr& a, const Expr& b) const -> bool { return Expr::compare(a, b) < 0; }
};
using Symbols = std::set<Expr, ByText>;

auto mentioned(const Graph& graph) -> Symbols {
  Symbols symbols;
  const auto add = [&](const Expr& e) {
    for (const auto& symbol : e.symbols()) symbols.insert(symbol);
  };
  for (const auto& node : graph.nodes) {
    visit_exprs(node.claim, add);
    for (const auto& arg : node.args) visit_exprs(arg, add);
    for (const auto& [name, arg] : node.kwargs) visit_exprs(arg, add);
  }
  return symbols;
}

/// Sizes of tensors that inputs are, and inputs that are numbers.
auto given_sizes(const Graph& graph) -> Dims {
  Dims sizes;
  for (const auto& node : graph.nodes) {
    if (node.kind != NodeKind::placeholder) continue;
    if (const auto* scalar = node.claim.scalar()) sizes.push_back(*scalar);
    if (const auto* meta = node.claim.tensor())
      sizes.insert(sizes.end(), meta->sizes.begin(), meta->sizes.end());
  }
  return sizes;
}

/// Takes from `missing` what one equation after the other tells.
void solve(Symbols& missing, const Dims& given, const Binding& sizes) {
  std::unordered_map<Expr, Expr> known;
  for (const auto& [symbol, value] : sizes)
    if (!missing.contains(symbol)) known.emplace(symbol, value);
  for (std::size_t before = 0; before != missing.size() && !missing.empty();) {
    before = missing.size();
    for (const auto& e : given) {
      const auto rest = substitute(e, known);
      const auto symbols = rest.symbols();
      const auto value = evaluate_int(e, sizes);
      if (symbols.size() != 1 || !value || !solve_for(rest, symbols[0], *value)) continue;
      missing.erase(symbols[0]);
      if (const auto size = sizes.find(symbols[0]); size != sizes.end())
        known.emplace(size->first, size->second);
    }
  }
}

/// The input of `from` that is this number.
auto giver(const Graph& graph, const Expr& symbol) -> const Node* {
  const auto found = std::ranges::find_if(graph.nodes, [&](const Node& node) {
    const auto* scalar = node.claim.scalar();
    return node.kind == NodeKind::placeholder && scalar != nullptr && *scalar == symbol;
  });
  return found == graph.nodes.end() ? nullptr : &*found;
}

}  // namespace

void give_symbols(Capture& cut, const Capture& from, const std::function<Binding()>& sizes) {
  auto missing = mentioned(cut.graph);
  const auto given = given_sizes(cut.graph);
  for (const auto& e : given) missing.erase(e);
  if (missing.empty()) return;
  const auto values = sizes();
  solve(missing, given, values);
  int at = 0;
  for (const auto& symbol : missing) {
    const auto value = values.find(symbol);
    if (value == values.end()) continue;
    Node node;
    if (const auto* old = giver(from.graph, symbol);
        old != nullptr && cut.graph.find(old->id) == nullptr) {
      node = *old;
    } else {
      node.id = NodeId{cut.graph.next_id++};
      node.kind = NodeKind::placeholder;
      node.name = node.target = fmt::format("given_{}", symbol.name());
      node.claim.value = symbol;
    }
    cut.graph.nodes.insert(cut.graph.nodes.begin() + at, std::move(node));
    cut.inputs.insert(cut.inputs.begin() + at, value->second);
    ++at;
  }
}

}  // namespace assay
