#include "minifier/edits/patches.h"

#include <algorithm>
#include <array>
#include <set>

#include "core/expr/text.h"
#include "minifier/edits/program.h"
#include "replay/interp/binding.h"
#include "replay/interp/symbolic.h"

namespace assay {
namespace {

/// Points every use of one value at another.
void replace_uses(Graph& graph, NodeId from, NodeId to) {
  for (auto& node : graph.nodes) {
    const auto redirect = [&](NodeId& id) {
      if (id == from) id = to;
    };
    for (auto& arg : node.args) visit_refs(arg, redirect);
    for (auto& [key, arg] : node.kwargs) visit_refs(arg, redirect);
  }
}

auto is_used(const Graph& graph, NodeId id) -> bool {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    const auto ids = operands(node);
    return std::ranges::find(ids, id) != ids.end();
  });
}

void erase_node(Capture& capture, NodeId id) {
  auto& nodes = capture.graph.nodes;
  std::size_t input = 0;
  for (auto it = nodes.begin(); it != nodes.end(); ++it) {
    const bool is_input = it->kind == NodeKind::placeholder;
    if (it->id == id) {
      if (is_input && input < capture.inputs.size())
        capture.inputs.erase(capture.inputs.begin() + static_cast<std::ptrdiff_t>(input));
      nodes.erase(it);
      capture.observed.erase(id);
      return;
    }
    if (is_input) ++input;
  }
}

/// An output that is an input says nothing; at least one call must be returned.
auto clean_output(Capture& capture) -> bool {
  auto& nodes = capture.graph.nodes;
  if (nodes.empty() || nodes.back().kind != NodeKind::output || nodes.back().args.empty())
    return false;
  auto* items = std::get_if<SequenceArg>(&nodes.back().args[0].value);
  if (!items) return true;
  std::set<std::int32_t> seen;
  std::erase_if(items->items, [&](const Arg& item) {
    const auto* id = std::get_if<NodeId>(&item.value);
    const auto* node = id ? capture.graph.find(*id) : nullptr;
    return !node || node->kind == NodeKind::placeholder || !seen.insert(id->value).second;
  });
  return !items->items.empty();
}

void drop_unused_inputs(Capture& capture) {
  std::vector<NodeId> unused;
  for (const auto& node : capture.graph.nodes)
    if ((node.kind == NodeKind::placeholder || node.kind == NodeKind::get_attr) &&
        !is_used(capture.graph, node.id))
      unused.push_back(node.id);
  for (const auto id : unused) erase_node(capture, id);
}

auto same_layout(const Node& a, const Node& b) -> bool {
  const auto* x = a.claim.tensor();
  const auto* y = b.claim.tensor();
  if (!x || !y) return false;
  auto left = *x;
  left.requires_grad = y->requires_grad;
  return left == *y;
}

// ---- bypass -------------------------------------------------------------------------------------

auto bypass(NodeId id, NodeId by) -> std::function<bool(Capture&)> {
  return [id, by](Capture& capture) {
    const auto* node = capture.graph.find(id);
    const auto* operand = capture.graph.find(by);
    if (!node || !operand || !same_layout(*node, *operand)) return false;
    replace_uses(capture.graph, id, by);
    erase_node(capture, id);
    return true;
  };
}

/// A call by an operand with the same claim.
auto bypasses(const Capture& capture) -> std::vector<Patch> {
  std::vector<Patch> patches;
  for (const auto& node : capture.graph.nodes) {
    if (node.kind != NodeKind::call_function) continue;
    for (const auto id : operands(node)) {
      const auto* operand = capture.graph.find(id);
      if (!operand || !same_layout(node, *operand)) continue;
      patches.push_back({fmt::format("{} -> {}", node.name, operand->name), bypass(node.id, id)});
      break;
    }
  }
  return patches;
}

/// Inputs by an earlier one with the same claim.
auto merged_inputs(const Capture& capture) -> std::vector<Patch> {
  std::vector<Patch> patches;
  std::vector<const Node*> seen;
  for (const auto& node : capture.graph.nodes) {
    if (node.kind != NodeKind::placeholder) continue;
    const auto twin =
        std::ranges::find_if(seen, [&](const Node* other) { return same_layout(node, *other); });
    if (twin != seen.end())
      patches.push_back(
          {fmt::format("{} -> {}", node.name, (*twin)->name), bypass(node.id, (*twin)->id)});
    else
      seen.push_back(&node);
  }
  return patches;
}

// ---- simpler operators and arguments ------------------------------------------------------------

/// An operator that a simpler one of the same layout may stand in for, on the first operands.
struct Simpler {
  std::string_view target;
  std::string_view by;
  std::size_t operands;
};
constexpr std::array kSimpler = {
    Simpler{"aten.gelu.default", "aten.relu.default", 1},
    Simpler{"aten.silu.default", "aten.relu.default", 1},
    Simpler{"aten.tanh.default", "aten.relu.default", 1},
    Simpler{"aten.sigmoid.default", "aten.relu.default", 1},
    Simpler{"aten.erf.default", "aten.relu.default", 1},
    Simpler{"aten.exp.default", "aten.relu.default", 1},
    Simpler{"aten.sin.default", "aten.relu.default", 1},
    Simpler{"aten.cos.default", "aten.relu.default", 1},
    Simpler{"aten.rsqrt.default", "aten.relu.default", 1},
    Simpler{"aten._softmax.default", "aten.exp.default", 1},
    Simpler{"aten._log_softmax.default", "aten.exp.default", 1},
    Simpler{"aten.sub.Tensor", "aten.add.Tensor", 2},
    Simpler{"aten.div.Tensor", "aten.add.Tensor", 2},
    Simpler{"aten.mul.Tensor", "aten.add.Tensor", 2},
    Simpler{"aten.maximum.default", "aten.add.Tensor", 2},
    Simpler{"aten.minimum.default", "aten.add.Tensor", 2},
};

auto simpler_operators(const Capture& capture) -> std::vector<Patch> {
  std::vector<Patch> patches;
  for (const auto& node : capture.graph.nodes) {
    const auto* row = std::ranges::find(kSimpler, node.target, &Simpler::target);
    if (row == kSimpler.end() || node.args.size() < row->operands) continue;
    patches.push_back({fmt::format("{}: {} -> {}", node.name, row->target, row->by),
                       [id = node.id, row](Capture& cut) {
                         auto* found = cut.graph.find(id);
                         if (!found || found->target != row->target) return false;
                         found->target = std::string(row->by);
                         found->args.resize(row->operands);
                         found->kwargs.clear();
                         return true;
                       }});
  }
  return patches;
}

/// Float arguments that are neither 0 nor 1, as 1.
auto simpler_scalars(const Capture& capture) -> std::vector<Patch> {
  std::vector<Patch> patches;
  for (const auto& node : capture.graph.nodes) {
    if (node.kind != NodeKind::call_function) continue;
    for (std::size_t i = 0; i < node.args.size(); ++i) {
      const auto* e = std::get_if<Expr>(&node.args[i].value);
      const auto value = e ? e->as_real() : std::nullopt;
      if (!value || *value == 0 || *value == 1) continue;
      patches.push_back(
          {fmt::format("{}: {} -> 1.0", node.name, *value), [id = node.id, i](Capture& cut) {
             auto* found = cut.graph.find(id);
             if (!found || i >= found->args.size()) return false;
             found->args[i] = Arg{Expr::real(1)};
             return true;
           }});
    }
  }
  return patches;
}

auto fewer_guards(const Capture& capture) -> std::vector<Patch> {
  std::vector<Patch> patches;
  for (const auto& guard : capture.graph.env.guards())
    patches.push_back({"without guard " + guard.text, [text = guard.text](Capture& cut) {
                         ShapeEnv env = cut.graph.env;
                         const auto guards = env.guards();
                         auto mark = env.mark();
                         mark.guards = 0;
                         env.rollback(mark);
                         bool dropped = false;
                         for (const auto& old : guards) {
                           if (!dropped && old.text == text)
                             dropped = true;
                           else
                             env.add_guard(old);
                         }
                         cut.graph.env = std::move(env);
                         return dropped;
                       }});
  return patches;
}

// ---- values -------------------------------------------------------------------------------------

/// Float storages of recorded inputs, all elements `value`.
template <int kValue>
auto plain_data(const Capture& capture) -> std::vector<Patch> {
  std::vector<Patch> patches;
  for (const auto& input : capture.inputs) {
    const auto* tensor = std::get_if<RecordedTensor>(&input);
    if (!tensor || tensor->storage < 0 || !is_floating(tensor->meta.dtype) ||
        static_cast<std::size_t>(tensor->storage) >= capture.storages.size())
      continue;
    const auto& data = capture.storages[static_cast<std::size_t>(tensor->storage)];
    const auto* fill = std::get_if<Fill>(&data.content);
    if (fill && fill->lo == fill->hi) continue;
    patches.push_back({fmt::format("storage {} -> {}s", tensor->storage, kValue),
                       [at = static_cast<std::size_t>(tensor->storage),
                        dtype = tensor->meta.dtype](Capture& cut) {
                         if (at >= cut.storages.size()) return false;
                         cut.storages[at].content = Fill{.seed = 0, .lo = kValue, .hi = kValue};
                         cut.storages[at].fill_dtype = dtype;
                         return true;
                       }});
  }
  return patches;
}

auto without_gradients(const Capture& capture) -> std::vector<Patch> {
  std::vector<Patch> patches;
  for (const auto& node : capture.graph.nodes)
    if (const auto* meta = node.claim.tensor(); meta && meta->requires_grad)
      patches.push_back({node.name + " without requires_grad", [id = node.id](Capture& cut) {
                           auto* found = cut.graph.find(id);
                           auto* claim =
                               found ? std::get_if<TensorMeta>(&found->claim.value) : nullptr;
                           if (!claim || !claim->requires_grad) return false;
                           claim->requires_grad = false;
                           return true;
                         }});
  return patches;
}

constexpr std::array kKinds = {
    PatchKind{"bypass", bypasses},
    PatchKind{"merge inputs", merged_inputs, true},
    PatchKind{"simpler operators", simpler_operators, true},
    PatchKind{"scalars", simpler_scalars, true},
    PatchKind{"requires_grad", without_gradients},
    PatchKind{"guards", fewer_guards},
    PatchKind{"zeros", plain_data<0>, true},
    PatchKind{"ones", plain_data<1>, true},
};

auto evaluated(const Claim& claim, const std::unordered_map<Expr, Expr>& values) -> Claim {
  auto copy = claim;
  if (auto* scalar = std::get_if<Expr>(&copy.value)) *scalar = substitute(*scalar, values);
  if (auto* items = std::get_if<std::vector<Claim>>(&copy.value))
    for (auto& item : *items) item = evaluated(item, values);
  if (auto* meta = std::get_if<TensorMeta>(&copy.value)) {
    for (auto* dims : {&meta->sizes, &meta->strides})
      for (auto& e : *dims) e = substitute(e, values);
    meta->offset = substitute(meta->offset, values);
  }
  return copy;
}

void substitute_in(Arg& arg, const std::unordered_map<Expr, Expr>& values) {
  if (auto* e = std::get_if<Expr>(&arg.value)) *e = substitute(*e, values);
  if (auto* sequence = std::get_if<SequenceArg>(&arg.value))
    for (auto& item : sequence->items) substitute_in(item, values);
}

}  // namespace

auto patch_kinds() -> std::span<const PatchKind> {
  return kKinds;
}

auto apply_patches(const Capture& capture, const PatchKind& kind, const std::vector<Patch>& patches,
                   const std::vector<int>& withheld) -> std::optional<Capture> {
  Capture cut = capture;
  int applied = 0;
  auto next = withheld.begin();
  for (std::size_t i = 0; i < patches.size(); ++i) {
    if (next != withheld.end() && *next == static_cast<int>(i)) {
      ++next;
      continue;
    }
    applied += patches[i].apply(cut) ? 1 : 0;
  }
  if (applied == 0 || !clean_output(cut)) return std::nullopt;
  drop_unused_inputs(cut);
  if (kind.changes_values) {
    cut.observed.clear();
    cut.mutated_inputs.reset();
  }
  drop_unused_symbols(cut);
  return cut;
}

auto count_refusals(const Capture& capture, const OpTable& table) -> int {
  const auto run = run_symbolic(capture.graph, table, {.samples = 1});
  return static_cast<int>(
      std::ranges::count(run.nodes, ClaimVerdict::fails, &SymbolicNode::verdict));
}

auto is_sound(const Capture& capture, const OpTable& table, int refusals) -> bool {
  return verify(capture.graph).empty() && count_refusals(capture, table) <= refusals;
}

auto admits(const ShapeEnv& env, const Binding& sizes) -> bool {
  for (const auto& symbol : env.symbols()) {
    const auto found = sizes.find(symbol.expr);
    if (found != sizes.end() && !symbol.range.contains(found->second)) return false;
  }
  return std::ranges::all_of(env.guards(), [&](const Guard& guard) {
    const auto holds = evaluate(env.replaced(guard.condition), sizes);
    return !holds || holds->as_bool().value_or(true);
  });
}

auto sizes_of(const Capture& capture, const OpTable& table) -> Binding {
  const auto inputs = recorded_inputs(capture);
  if (!inputs) return capture.graph.env.hints();
  auto values = bind_symbols(capture.graph, run_graph(capture.graph, *inputs, table, {})).values;
  for (const auto& [symbol, hint] : capture.graph.env.hints()) values.try_emplace(symbol, hint);
  return values;
}

auto at_sizes(const Capture& capture, const Binding& sizes) -> Result<Capture> {
  if (!admits(capture.graph.env, sizes)) return bad_input("guards or ranges forbid these sizes");
  ASSAY_TRY(const auto inputs, inputs_at(capture, sizes));
  Capture cut = capture;
  cut.observed.clear();
  cut.mutated_inputs.reset();
  std::map<const Storage*, int> storages;
  for (std::size_t i = 0; i < inputs.values.size() && i < cut.inputs.size(); ++i) {
    if (std::holds_alternative<SymbolicInput>(cut.inputs[i])) continue;  // made at the hints
    if (const auto* scalar = inputs.values[i].scalar()) cut.inputs[i] = *scalar;
    const auto* tensor = inputs.values[i].real();
    if (!tensor) continue;
    const auto [entry, is_new] =
        storages.try_emplace(tensor->storage.get(), static_cast<int>(cut.storages.size()));
    if (is_new) {
      const auto bytes = tensor->storage->bytes();
      StorageData data;
      data.size_bytes = tensor->storage->size_bytes();
      data.content = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
      cut.storages.push_back(std::move(data));
    }
    cut.inputs[i] = RecordedTensor{entry->second, tensor->meta};
  }
  for (const auto& [symbol, value] : sizes) cut.graph.env.set_hint(symbol, value);
  return cut;
}

auto make_static(const Capture& capture, const Expr& symbol, const Expr& value) -> Capture {
  Capture cut = capture;
  const std::unordered_map<Expr, Expr> values{{symbol, value}};
  for (auto& node : cut.graph.nodes) {
    node.claim = evaluated(node.claim, values);
    for (auto& arg : node.args) substitute_in(arg, values);
    for (auto& [key, arg] : node.kwargs) substitute_in(arg, values);
  }
  for (auto& input : cut.inputs) {
    auto* symbolic = std::get_if<SymbolicInput>(&input);
    if (!symbolic) continue;
    if (symbolic->storage_bytes)
      symbolic->storage_bytes = substitute(*symbolic->storage_bytes, values);
    Claim claim;
    claim.value = symbolic->meta;
    symbolic->meta = *evaluated(claim, values).tensor();
  }
  ShapeEnv env = cut.graph.env;
  const auto guards = env.guards();
  auto mark = env.mark();
  mark.guards = 0;
  env.rollback(mark);
  for (auto guard : guards) {
    guard.condition = substitute(guard.condition, values);
    guard.text = print_expr(guard.condition);
    if (!guard.condition.is_const()) env.add_guard(std::move(guard));
  }
  cut.graph.env = std::move(env);
  drop_unused_symbols(cut);
  return cut;
}

}  // namespace assay
