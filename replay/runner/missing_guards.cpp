#include "replay/runner/missing_guards.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/expr/text.h"
#include "core/graph/targets.h"
#include "core/ops/domain.h"
#include "replay/interp/run.h"
#include "replay/interp/symbolic.h"

namespace assay {
namespace {

constexpr std::size_t kWitnesses = 32;  ///< sizes at which a node is tried

auto at_sizes(const Expr& e, const Binding& sizes) -> Result<Expr> {
  return evaluate(e, sizes);
}

/// A claim as a datum of constants. Errors: undecided where it cannot be evaluated or is empty.
auto concrete_claim(const Claim& claim, const Binding& sizes, ShapeContext& context)
    -> Result<Datum> {
  if (const auto* scalar = claim.scalar()) {
    ASSAY_TRY(const Expr value, at_sizes(*scalar, sizes));
    return Datum{value};
  }
  if (const auto* meta = claim.tensor()) {
    TensorMeta concrete = *meta;
    for (auto* dims : {&concrete.sizes, &concrete.strides})
      for (Expr& e : *dims) {
        ASSAY_TRY(e, at_sizes(e, sizes));
      }
    ASSAY_TRY(concrete.offset, at_sizes(concrete.offset, sizes));
    return Datum{FakeTensor{std::move(concrete), context.fresh_storage()}};
  }
  if (const auto* items = claim.items()) {
    DatumList list;
    for (const auto& item : *items) {
      ASSAY_TRY(auto value, concrete_claim(item, sizes, context));
      list.push_back(std::move(value));
    }
    return Datum{std::move(list)};
  }
  return std::unexpected(Error{ErrorCode::undecided, "there is no claim"});
}

auto is_empty(const TensorMeta& meta) -> bool {
  return std::ranges::any_of(meta.sizes, [](const Expr& size) { return size.is_int(0); });
}

/// The first difference that matters between what is claimed and what came out.
auto difference(const Datum& claimed, const Datum& seen) -> std::string {
  if (const auto* a = claimed.fake()) {
    const auto* b = seen.fake();
    if (!b || a->meta.rank() != b->meta.rank()) return "it gives another kind of value";
    bool differs = a->meta.sizes != b->meta.sizes || a->meta.offset != b->meta.offset;
    for (std::size_t i = 0; i < a->meta.sizes.size() && !is_empty(a->meta); ++i)
      differs =
          differs || (!a->meta.sizes[i].is_int(1) && a->meta.strides[i] != b->meta.strides[i]);
    if (!differs) return {};
    return fmt::format("it gives {} but {} is claimed", to_string(b->meta), to_string(a->meta));
  }
  if (const auto* a = claimed.scalar()) {
    const auto* b = seen.scalar();
    if (!b || *a == *b || a->type() == ExprType::real) return {};
    return fmt::format("it gives {} but {} is claimed", print_expr(*b), print_expr(*a));
  }
  const auto* a = claimed.list();
  const auto* b = seen.list();
  if (!a || !b) return {};
  if (a->size() != b->size()) return "it gives another number of results";
  for (std::size_t i = 0; i < a->size(); ++i)
    if (auto text = difference((*a)[i], (*b)[i]); !text.empty()) return text;
  return {};
}

auto is_constant(const Datum& datum) -> bool {
  if (const auto* scalar = datum.scalar()) return scalar->is_const();
  if (const auto* list = datum.list()) return std::ranges::all_of(*list, is_constant);
  const auto* fake = datum.fake();
  return !fake || (std::ranges::all_of(fake->meta.sizes, &Expr::is_const) &&
                   std::ranges::all_of(fake->meta.strides, &Expr::is_const));
}

/// Equalities of floats are recorded with too few digits to be evaluated.
auto compares_floats(const Expr& condition) -> bool {
  return condition.op() == ExprOp::eq && condition.args()[0].type() == ExprType::real;
}

class Search {
 public:
  Search(const Graph& graph, const OpTable& table, GuardSet& guards)
      : graph_(graph), table_(table), guards_(guards) {}

  void look_at(const Obligation& obligation) {
    const auto [at, is_new] = answers_.try_emplace(obligation.condition);
    if (obligation.assumed) {
      report_.assumed += is_new ? 1 : 0;
      return;
    }
    if (is_new) {
      ++report_.total;
      at->second = guards_.implies(obligation.condition);
      count(obligation, at->second);
    }
    if (std::holds_alternative<Refuted>(at->second)) try_sizes(obligation);
  }

  auto finish() -> ObligationReport {
    report_.relied_on.assign(relied_on_.begin(), relied_on_.end());
    for (const auto& [condition, answer] : answers_)
      if (std::holds_alternative<Refuted>(answer) && !broken_.contains(condition))
        ++report_.harmless;
    return std::move(report_);
  }

 private:
  void count(const Obligation& obligation, const Answer& answer) {
    if (const auto* proved = std::get_if<Proved>(&answer)) {
      ++(proved->needed.empty() ? report_.from_ranges : report_.implied);
      relied_on_.insert(proved->needed.begin(), proved->needed.end());
      if (!proved->needed.empty())
        report_.facts.push_back(
            {obligation.condition, obligation.why, proved->tier, proved->needed});
    } else if (const auto* unknown = std::get_if<Unknown>(&answer)) {
      report_.undecided.push_back({obligation, unknown->tier, unknown->reason});
    }
  }

  void try_sizes(const Obligation& obligation) {
    const auto* node = graph_.find(NodeId{obligation.node});
    if (!node || blamed_.contains(obligation.node)) return;
    for (const Binding& witness : guards_.violations(obligation.condition, kWitnesses)) {
      const auto sizes = completed(graph_.env, witness);
      if (!admits(graph_, sizes)) continue;
      const auto text = misbehaviour_at(graph_, *node, table_, sizes);
      if (!text || text->empty()) continue;
      blamed_.insert(obligation.node);
      broken_.insert(obligation.condition);
      report_.missing.push_back({obligation, sizes, *text, {}});
      return;
    }
  }

  struct Before {
    auto operator()(const Expr& a, const Expr& b) const -> bool { return Expr::compare(a, b) < 0; }
  };
  const Graph& graph_;
  const OpTable& table_;
  GuardSet& guards_;
  ObligationReport report_;
  std::map<Expr, Answer, Before> answers_;
  std::set<Expr, Before> broken_;
  std::set<int> blamed_;
  std::set<std::size_t> relied_on_;
};

}  // namespace

auto admits(const Graph& graph, const Binding& sizes) -> bool {
  for (const auto& node : graph.nodes) {
    const auto* meta = node.kind == NodeKind::placeholder ? node.claim.tensor() : nullptr;
    for (std::size_t i = 0; meta && i < meta->sizes.size(); ++i)
      if (evaluate_int(meta->sizes[i], sizes).value_or(0) < 0) return false;
  }
  return std::ranges::all_of(graph.env.guards(), [&](const Guard& guard) {
    const auto truth = evaluate(guard.condition, sizes);
    return !truth || truth->as_bool() != false || compares_floats(guard.condition);
  });
}

auto completed(const ShapeEnv& env, Binding witness) -> Binding {
  for (const Symbol& symbol : env.symbols()) {
    const auto low = symbol.range.low.as_int();
    const Expr fallback =
        symbol.hint ? *symbol.hint : Expr(std::max<std::int64_t>(low.value_or(2), 2));
    witness.try_emplace(symbol.expr, fallback);
  }
  for (std::size_t round = 0; round < 4; ++round)  // replacements of replacements
    for (const auto& [symbol, by] : env.replacements())
      if (const auto value = evaluate(by, witness)) witness[symbol] = *value;
  return witness;
}

auto misbehaviour_at(const Graph& graph, const Node& node, const OpTable& table,
                     const Binding& sizes) -> Result<std::string> {
  ShapeContext context;
  context.set_pool(graph.env.pool());
  FakeDomain domain(table, context);
  std::map<NodeId, Datum> values;
  for (const NodeId id : operands(node)) {
    const auto* operand = graph.find(id);
    if (!operand) continue;
    if (auto value = concrete_claim(operand->claim, sizes, context))
      values.emplace(id, *std::move(value));
    else if (operand->kind != NodeKind::get_attr)  // bodies of higher-order operators have none
      return std::unexpected(Error{ErrorCode::undecided, "an operand has no value there"});
  }
  const Datum nothing;
  const auto seen = run_node(graph, node, domain, [&](NodeId id) {
    const auto at = values.find(id);
    return at == values.end() ? &nothing : &at->second;
  });
  if (!seen) {
    if (seen.error().code == ErrorCode::unsupported) return std::unexpected(seen.error());
    return "it fails: " + seen.error().message;
  }
  if (node.claim.empty() || !is_constant(*seen)) return std::string();
  ASSAY_TRY(const auto claimed, concrete_claim(node.claim, sizes, context));
  return difference(claimed, *seen);
}

/// What nothing is known about comes before what the rule said about it.
static auto why_unjudged(const Graph& graph, const SymbolicRun& run, std::size_t at)
    -> std::string {
  for (const auto id : operands(graph.nodes[at])) {
    const auto from = std::ranges::find(graph.nodes, id, &Node::id);
    if (from == graph.nodes.end() || from->kind == NodeKind::get_attr) continue;
    const auto& value = run.nodes[static_cast<std::size_t>(from - graph.nodes.begin())].value;
    if (std::holds_alternative<std::monostate>(value.value))
      return fmt::format("nothing is known about its operand {}", from->name);
  }
  return run.nodes[at].rule;
}

auto find_missing_guards(const Graph& graph, const OpTable& table, GuardSet& guards)
    -> ObligationReport {
  auto run = run_symbolic(graph, table);
  Search search(graph, table, guards);
  for (const auto& obligation : run.obligations) search.look_at(obligation);
  for (const auto& claim : run.claims) search.look_at(claim);
  auto report = search.finish();
  report.contradicted = std::move(run.contradicted);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto& node = graph.nodes[i];
    const auto& judged = run.nodes[i];
    const bool is_module = node.kind == NodeKind::call_module;
    if (!is_module && node.kind != NodeKind::call_function && node.kind != NodeKind::call_method)
      continue;
    if (is_input_guards(node)) continue;  // a condition, no call that a rule could judge
    ++report.calls;
    if (is_module)
      report.unjudged.push_back({node.id, "a module, not an operator"});
    else if (judged.verdict == ClaimVerdict::no_rule || judged.verdict == ClaimVerdict::fails)
      report.unjudged.push_back({node.id, why_unjudged(graph, run, i)});
  }
  return report;
}

void run_at_witness(const Capture& capture, const OpTable& table, MissingGuard& missing) {
  constexpr std::int64_t kMaxElements = 1 << 22;
  constexpr std::size_t kMaxNodes = 2000;
  const auto& graph = capture.graph;
  if (graph.nodes.size() > kMaxNodes) return;
  for (const auto& node : graph.nodes) {
    const auto* meta = node.claim.tensor();
    if (!meta) continue;
    const auto elements = evaluate_int(numel(*meta), missing.witness);
    if (!elements || *elements > kMaxElements) return;
  }
  const auto inputs = inputs_at(capture, missing.witness);
  if (!inputs) return;
  const auto run = run_graph(graph, *inputs, table, {});
  const auto at = std::ranges::find(graph.nodes, NodeId{missing.obligation.node}, &Node::id);
  if (at == graph.nodes.end()) return;
  const auto& seen = run.nodes[static_cast<std::size_t>(at - graph.nodes.begin())];
  if (seen.status == NodeStatus::failed) missing.run = "running it fails: " + seen.message;
  const auto* tensor =
      seen.status == NodeStatus::ran && seen.value.tensor ? &*seen.value.tensor : nullptr;
  if (!tensor || !at->claim.tensor()) return;
  ShapeContext context;
  const auto claimed = concrete_claim(at->claim, missing.witness, context);
  if (!claimed) return;
  const auto text = difference(*claimed, Datum{FakeTensor{to_claim(tensor->meta), -1}});
  if (!text.empty()) missing.run = "run on real tensors, " + text;
}

auto find_stronger_guards(const ShapeEnv& env, const GuardReport& guards,
                          const std::vector<ImpliedFact>& facts) -> std::vector<StrongerGuard> {
  // Notes are worth little work; one that was not found says nothing.
  constexpr int kQuestions = 1500;
  int asked = 0;
  std::vector<StrongerGuard> found;
  Prover prover({.non_linear_rlimit = 0, .search_points = 4000, .max_cases = 40});
  for (const auto guard : guards.minimal) {
    if (guards.guards[guard].verdict != GuardVerdict::needed || asked > kQuestions) continue;
    Query query{{}, {}, env.ranges()};
    for (const auto other : guards.minimal)
      if (other != guard) query.assumptions.push_back(env.replaced(env.guards()[other].condition));
    const auto follows = [&](const Expr& condition) {
      query.claim = env.replaced(condition);
      ++asked;
      return prover.prove(query);
    };
    StrongerGuard stronger{guard, {}, {}};
    for (const auto& fact : facts) {
      if (std::ranges::find(fact.needed, guard) == fact.needed.end()) continue;
      if (std::holds_alternative<Proved>(follows(fact.condition))) continue;
      stronger.replacement.push_back(fact.condition);
      query.assumptions.push_back(env.replaced(fact.condition));
    }
    const auto answer = follows(env.guards()[guard].condition);
    const auto* refuted = std::get_if<Refuted>(&answer);
    if (!refuted) continue;
    stronger.excluded = completed(env, refuted->witness);
    found.push_back(std::move(stronger));
  }
  return found;
}

}  // namespace assay
