#include "replay/interp/higher_order.h"

#include <algorithm>
#include <cmath>

#include "replay/interp/autocast.h"
#include "replay/interp/body_call.h"
#include "replay/interp/flex_attention.h"

namespace assay {
namespace {

/// A loop that runs longer than this is taken for one that does not end.
constexpr int kMaxIterations = 100'000;

/// Truth of a predicate: a scalar, or a real tensor of one element. Nothing without data.
auto truth(const Datum& predicate) -> std::optional<bool> {
  if (const auto* scalar = predicate.scalar()) {
    if (const auto flag = scalar->as_bool()) return flag;
    if (const auto number = scalar->as_number()) return *number != 0;
    return std::nullopt;
  }
  const auto* tensor = predicate.real();
  if (!tensor || tensor->numel() != 1) return std::nullopt;
  return to_vector<double>(*tensor).front() != 0;
}

auto is_fake(const Datum& datum) -> bool {
  if (datum.fake()) return true;
  const auto* list = datum.list();
  return list && std::ranges::any_of(*list, is_fake);
}

/// Do two results claim the same, storages apart?
auto same_layout(const Datum& a, const Datum& b) -> bool {
  if (a.fake() && b.fake()) return a.fake()->meta == b.fake()->meta;
  if (a.list() && b.list()) return std::ranges::equal(*a.list(), *b.list(), same_layout);
  return a.value.index() == b.value.index();
}

/// Operators that run one body in another mode on the operands behind it.
auto run_wrapper(const BodyCall& call) -> Result<Datum> {
  const auto at = call.first_body();
  if (at == call.arg_count()) return unsupported("the body is not in the capture");
  ASSAY_TRY(auto operands, call.operands_from(at + 1));
  return call.run(at, operands);
}

/// wrap_with_autocast(device_type, dtype, enabled, cache_enabled, body, operands...)
auto run_with_autocast(const BodyCall& call) -> Result<Datum> {
  const auto on = autocast_of(call.node());
  const auto at = call.first_body();
  if (!on || at == call.arg_count()) return run_wrapper(call);
  ASSAY_TRY(const auto* body, call.body(at));
  ASSAY_TRY(auto operands, call.operands_from(at + 1));
  const auto domain = casting(call.domain(), *on);
  return BodyCall::run(*body, operands, *domain);
}

/// invoke_subgraph(body, identifier, operands...)
auto run_invoke_subgraph(const BodyCall& call) -> Result<Datum> {
  ASSAY_TRY(auto operands, call.operands_from(2));
  return call.run(0, operands);
}

/// autograd_function_apply(forward body, backward body, operands): what the first body gives before
/// what it saves. Up to 2.9 that body takes a context (None) too, and operands that are tensors
/// stand twice, as they are and as the body takes them (torch/_functorch/autograd_function.py).
auto run_autograd_function(const BodyCall& call) -> Result<Datum> {
  constexpr std::size_t kBodies = 2;
  ASSAY_TRY(const auto* forward, call.body(0));
  ASSAY_TRY(auto operands, call.operands_from(kBodies));
  const auto wanted = static_cast<std::size_t>(
      std::ranges::count(forward->nodes, NodeKind::placeholder, &Node::kind));
  if (wanted != operands.size()) {
    if (wanted == 0 || wanted > operands.size() + 1)
      return bad_input("the forward body takes {} inputs, not {}", wanted, operands.size());
    operands.erase(operands.begin(), operands.end() - static_cast<std::ptrdiff_t>(wanted - 1));
    operands.insert(operands.begin(), Datum{});
  }
  ASSAY_TRY(const auto results, call.run(0, operands));
  if (results.list() == nullptr || results.list()->empty())
    return bad_input("the forward body gives nothing");
  return results.list()->front();
}

/// cond(predicate, true body, false body, operands)
auto run_cond(const BodyCall& call) -> Result<Datum> {
  ASSAY_TRY(const auto predicate, call.value(0));
  ASSAY_TRY(const auto operands, call.operands_from(3));
  if (const auto taken = truth(predicate)) return call.run(*taken ? 1 : 2, operands);
  ASSAY_TRY(auto if_true, call.run(1, operands));
  ASSAY_TRY(const auto if_false, call.run(2, operands));
  if (!same_layout(if_true, if_false))
    return unsupported("the branches of cond give different layouts and only data decide");
  return if_true;
}

/// while_loop(condition, body, carried, additional)
auto run_while_loop(const BodyCall& call) -> Result<Datum> {
  ASSAY_TRY(auto carried, call.list(2, "carried_inputs"));
  ASSAY_TRY(const auto additional, call.list(3, "additional_inputs"));
  const auto with_additional = [&](DatumList args) {
    args.insert(args.end(), additional.begin(), additional.end());
    return args;
  };
  for (int i = 0; i < kMaxIterations; ++i) {
    ASSAY_TRY(const auto predicate, call.run(0, with_additional(carried)));
    const auto goes_on = truth(as_list(predicate).at(0));
    if (goes_on && !*goes_on) {
      if (i > 0) return Datum{std::move(carried)};
      for (auto& value : carried) {  // results never alias operands
        if (!value.is_tensor()) continue;
        ASSAY_TRY(value, call.call("aten.clone.default", {value}));
      }
      return Datum{std::move(carried)};
    }
    ASSAY_TRY(const auto next, call.run(1, with_additional(carried)));
    carried = as_list(next);
    if (!goes_on) return Datum{std::move(carried)};  // no data: one round has the layouts
  }
  return unsupported("while_loop did not end within {} iterations", kMaxIterations);
}

/// Slices `xs` along dimension 0, runs the body on each slice and stacks what it gives per slice.
/// `carried` values come first among the body's inputs and outputs.
auto run_over_slices(const BodyCall& call, DatumList carried, const DatumList& xs,
                     const DatumList& additional) -> Result<Datum> {
  if (xs.empty() || !xs[0].is_tensor()) return bad_input("there is nothing to run over");
  const auto meta = call.domain().meta(xs[0]);
  if (meta.rank() == 0) return bad_input("a tensor without dimensions cannot be run over");
  const bool fake = std::ranges::any_of(xs, is_fake);
  const auto length = fake ? 1 : meta.sizes[0].as_int().value_or(0);
  if (length == 0) return unsupported("running over an empty dimension");
  std::vector<DatumList> stacks;
  for (std::int64_t i = 0; i < length; ++i) {
    auto args = carried;
    for (const auto& x : xs) {
      ASSAY_TRY(auto slice, call.call("aten.select.int", {x, {Expr(0)}, {Expr(i)}}));
      args.push_back(std::move(slice));
    }
    args.insert(args.end(), additional.begin(), additional.end());
    ASSAY_TRY(const auto result, call.run(call.first_body(), args));
    const auto values = as_list(result);
    if (values.size() < carried.size())
      return bad_input("the body gives {} results, fewer than the {} it carries", values.size(),
                       carried.size());
    const auto first_stacked = values.begin() + std::ssize(carried);
    stacks.resize(static_cast<std::size_t>(values.end() - first_stacked));
    for (std::size_t k = 0; k < stacks.size(); ++k)
      stacks[k].push_back(*(first_stacked + static_cast<std::ptrdiff_t>(k)));
    carried.assign(values.begin(), first_stacked);
  }
  for (auto& stack : stacks) {
    if (!stack[0].is_tensor()) return unsupported("only tensors can be stacked");
    ASSAY_TRY(auto stacked, call.call("aten.stack.default", {{std::move(stack)}}));
    if (fake) {  // one slice stands for all
      auto& layout = std::get<FakeTensor>(stacked.value).meta;
      layout.sizes[0] = meta.sizes[0];
    }
    carried.push_back(std::move(stacked));
  }
  return Datum{std::move(carried)};
}

/// scan(body, init, xs, additional)
auto run_scan(const BodyCall& call) -> Result<Datum> {
  ASSAY_TRY(auto init, call.list(1, "init"));
  ASSAY_TRY(const auto xs, call.list(2, "xs"));
  ASSAY_TRY(const auto additional, call.list(3, "additional_inputs"));
  return run_over_slices(call, std::move(init), xs, additional);
}

/// Elements begin, begin + step, ... before `end` of each tensor along dimension 0.
auto every(const BodyCall& call, const DatumList& tensors, std::int64_t begin, std::int64_t end,
           std::int64_t step) -> Result<DatumList> {
  DatumList taken;
  for (const auto& one : tensors) {
    ASSAY_TRY(
        taken.emplace_back(),
        call.call("aten.slice.Tensor", {one, {Expr(0)}, {Expr(begin)}, {Expr(end)}, {Expr(step)}}));
  }
  return taken;
}

/// A scan of `length` slices by pairs: what pairs give is scanned, which is every second result.
auto scanned_pairs(const BodyCall& call, const DatumList& xs, std::int64_t length,
                   const DatumList& additional) -> Result<DatumList> {
  if (length < 2) return xs;
  const auto combined = [&](DatumList left, const DatumList& right) -> Result<DatumList> {
    left.insert(left.end(), right.begin(), right.end());
    left.insert(left.end(), additional.begin(), additional.end());
    ASSAY_TRY(const auto result, call.run(0, left));
    auto all = as_list(result);
    if (all.size() != xs.size())
      return bad_input("the body gives {} results, not {}", all.size(), xs.size());
    return all;
  };
  const auto pairs = length / 2, others = (length - 1) / 2;
  ASSAY_TRY(auto firsts, every(call, xs, 0, 2 * pairs, 2));
  ASSAY_TRY(const auto seconds, every(call, xs, 1, length, 2));
  ASSAY_TRY(const auto reduced, combined(std::move(firsts), seconds));
  ASSAY_TRY(const auto odd, scanned_pairs(call, reduced, pairs, additional));
  ASSAY_TRY(auto even, every(call, xs, 0, 1, 1));
  if (others > 0) {
    ASSAY_TRY(auto before, every(call, odd, 0, others, 1));
    ASSAY_TRY(const auto own, every(call, xs, 2, length, 2));
    ASSAY_TRY(const auto rest, combined(std::move(before), own));
    for (std::size_t i = 0; i < even.size(); ++i) {
      ASSAY_TRY(even[i], call.call("aten.cat.default", {{DatumList{even[i], rest[i]}}}));
    }
  }
  DatumList results;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    ASSAY_TRY(auto one, call.call("aten.new_empty.default",
                                  {xs[i], int_list(call.domain().meta(xs[i]).sizes)}));
    for (const bool is_odd : {false, true}) {
      ASSAY_TRY(const auto places, every(call, {one}, is_odd ? 1 : 0, length, 2));
      ASSAY_TRY(const auto written,
                call.call("aten.copy_.default", {places[0], is_odd ? odd[i] : even[i]}));
    }
    results.push_back(std::move(one));
  }
  return results;
}

/// associative_scan(body, xs, additional), along dimension 0 (generic_associative_scan)
auto run_associative_scan(const BodyCall& call) -> Result<Datum> {
  ASSAY_TRY(const auto xs, call.list(1, "xs"));
  ASSAY_TRY(const auto additional, call.list(2, "additional_inputs"));
  if (xs.empty() || !xs[0].is_tensor()) return bad_input("there is nothing to scan");
  const auto meta = call.domain().meta(xs[0]);
  if (meta.rank() == 0) return bad_input("a tensor without dimensions cannot be scanned");
  if (std::ranges::any_of(xs, is_fake)) {  // layouts are those of copies
    DatumList results;
    for (const auto& x : xs) {
      ASSAY_TRY(results.emplace_back(), call.call("aten.clone.default", {x},
                                                  {{"memory_format", {MemoryFormat::contiguous}}}));
    }
    return Datum{std::move(results)};
  }
  ASSAY_TRY(auto results, scanned_pairs(call, xs, meta.sizes[0].as_int().value_or(0), additional));
  return Datum{std::move(results)};
}

/// map_impl(body, xs, additional)
auto run_map(const BodyCall& call) -> Result<Datum> {
  ASSAY_TRY(const auto xs, call.list(1, "xs"));
  ASSAY_TRY(const auto additional, call.list(2, "pos_args"));
  return run_over_slices(call, {}, xs, additional);
}

/// `with_effects(token, op, *args, **kwargs)`: the call, behind a token that keeps the order.
auto run_with_effects(const BodyCall& call) -> Result<Datum> {
  ASSAY_TRY(const auto token, call.value(0));
  ASSAY_TRY(const auto target, call.operator_name(1));
  ASSAY_TRY(auto result, call.call(target, 2));
  DatumList results{token};
  auto items = as_list(result);
  std::ranges::move(items, std::back_inserter(results));
  return Datum{std::move(results)};
}

struct HigherOrderRow {
  std::string_view target;
  auto (*run)(const BodyCall&) -> Result<Datum>;
};
constexpr HigherOrderRow kRows[] = {
    {"higher_order.wrap", run_wrapper},
    {"higher_order.wrap_with_set_grad_enabled", run_wrapper},
    {"higher_order.wrap_with_autocast", run_with_autocast},
    {"higher_order.wrap_activation_checkpoint", run_wrapper},
    {"higher_order.tag_activation_checkpoint", run_wrapper},
    {"higher_order.strict_mode", run_wrapper},
    {"higher_order.invoke_subgraph", run_invoke_subgraph},
    {"higher_order.autograd_function_apply", run_autograd_function},
    {"higher_order.cond", run_cond},
    {"higher_order.while_loop", run_while_loop},
    {"higher_order.scan", run_scan},
    {"higher_order.map_impl", run_map},
    {"higher_order.associative_scan", run_associative_scan},
    {"higher_order.flex_attention", run_flex_attention},
    {"higher_order.flex_attention_backward", run_flex_attention_backward},
    {"higher_order.with_effects", run_with_effects},
};

auto find_row(std::string_view target) -> const HigherOrderRow* {
  const auto* row = std::ranges::find(kRows, target, &HigherOrderRow::target);
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace

auto run_higher_order(const Graph& graph, const Node& node, Domain& domain,
                      const BodyCall::Lookup& lookup) -> std::optional<Result<Datum>> {
  const auto* row = find_row(node.target);
  if (!row) return std::nullopt;
  return row->run(BodyCall(graph, node, domain, lookup));
}

auto is_higher_order(std::string_view target) -> bool {
  return find_row(target) != nullptr;
}

auto bodies_of(const Graph& graph, const Node& node) -> std::vector<const Graph*> {
  std::vector<const Graph*> bodies;
  for (const auto id : operands(node)) {
    const auto* attribute = graph.find(id);
    const auto* body = attribute && attribute->kind == NodeKind::get_attr
                           ? graph.child(attribute->target)
                           : nullptr;
    if (body) bodies.push_back(body);
  }
  return bodies;
}

}  // namespace assay
