// Sizes of a capture: which it has, others, and symbols that become numbers.
#include <algorithm>
#include <map>

#include "core/expr/text.h"
#include "minifier/edits/patches.h"
#include "minifier/edits/program.h"
#include "replay/interp/binding.h"
#include "replay/interp/run.h"

namespace assay {
namespace {

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
