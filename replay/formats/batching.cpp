#include "replay/formats/batching.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

namespace assay {
namespace {

constexpr std::string_view kSpace = "torch._functorch.predispatch.";
constexpr std::array<std::string_view, 3> kWithoutValue = {
    "lazy_load_decompositions", "_vmap_increment_nesting", "_vmap_decrement_nesting"};
/// Methods and functions that work element by element, without the underscores of operators.
constexpr std::array<std::string_view, 44> kElementwise = {
    "le",           "lt",          "ge",          "gt",         "eq",          "ne",
    "add",          "sub",         "mul",         "div",        "truediv",     "floordiv",
    "floor_divide", "remainder",   "mod",         "pow",        "and",         "or",
    "xor",          "invert",      "neg",         "abs",        "logical_and", "logical_or",
    "logical_xor",  "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not",
    "where",        "masked_fill", "minimum",     "maximum",    "clamp",       "to",
    "type",         "float",       "bool",        "int",        "long",        "half",
    "bfloat16",     "double"};
constexpr std::array<std::string_view, 4> kFactories = {"new_ones", "new_zeros", "new_full",
                                                        "new_empty"};

/// "and" of "operator.and_", `x.__and__(y)` and "aten.and.Tensor".
auto plain_name(std::string_view target) -> std::string_view {
  for (const std::string_view space : {"operator.", "torch.", "aten."})
    if (target.starts_with(space)) target.remove_prefix(space.size());
  target = target.substr(0, target.find('.'));
  while (target.starts_with('_')) target.remove_prefix(1);
  while (target.ends_with('_')) target.remove_suffix(1);
  return target;
}
auto is_one_of(const auto& names, std::string_view name) -> bool {
  return std::ranges::find(names, name) != names.end();
}
auto integer(std::int64_t value) -> Arg {
  return {Expr(value)};
}
auto list(std::vector<Arg> items) -> Arg {
  return {SequenceArg{std::move(items), false}};
}

class Unbatcher {
 public:
  explicit Unbatcher(const Graph& from) : from_(from), made_(from) { made_.nodes.clear(); }

  /// Nothing where vmap has something in it that is not known here.
  auto run() -> std::optional<Graph> {
    for (const auto& node : from_.nodes)
      if (called(node) == "_add_batch_dim" && node.args.size() == 3)
        if (const auto level = number(node.args[2])) levels_.insert(*level);
    for (const auto& node : from_.nodes)
      if (!translate(node)) return std::nullopt;
    return std::move(made_);
  }

 private:
  /// A value on whole batches.
  struct Batched {
    std::set<std::int64_t> levels;
    std::int64_t rank = 0;  ///< of an example
  };

  static auto called(const Node& node) -> std::string_view {
    const std::string_view target = node.target;
    return target.starts_with(kSpace) ? target.substr(kSpace.size()) : std::string_view();
  }
  static auto number(const Arg& arg) -> std::optional<std::int64_t> {
    const auto* value = std::get_if<Expr>(&arg.value);
    return value == nullptr ? std::nullopt : value->as_int();
  }
  static auto id_of(const Arg& arg) -> std::optional<NodeId> {
    const auto* id = std::get_if<NodeId>(&arg.value);
    return id == nullptr ? std::nullopt : std::optional(*id);
  }
  [[nodiscard]] auto batched(NodeId id) const -> const Batched* {
    const auto found = batched_.find(id.value);
    return found == batched_.end() ? nullptr : &found->second;
  }
  /// Dimensions of an example, or of a tensor without batches; nothing of what is no tensor.
  [[nodiscard]] auto rank(NodeId id) const -> std::optional<std::int64_t> {
    if (const auto* known = batched(id)) return known->rank;
    const auto* node = from_.find(id);
    const auto* claim = node == nullptr ? nullptr : node->claim.tensor();
    return claim == nullptr ? std::nullopt : std::optional<std::int64_t>(std::ssize(claim->sizes));
  }
  [[nodiscard]] auto place_of(std::int64_t level) const -> std::int64_t {
    return std::distance(levels_.begin(), levels_.find(level));
  }
  [[nodiscard]] auto leading() const -> std::int64_t { return std::ssize(levels_); }

  /// A step of what `node` stands for.
  auto step(const Node& node, std::string_view target, ArgList args) -> NodeId {
    Node made;
    made.name = fmt::format("{}_batched_{}", node.name, ++steps_);
    made.target = target;
    made.args = std::move(args);
    made.origin = node.origin;
    made.line = node.line;
    return made_.add(std::move(made));
  }
  auto unsqueezed(const Node& node, NodeId of, std::int64_t dim) -> NodeId {
    return step(node, "aten.unsqueeze.default", {{of}, integer(dim)});
  }
  /// `of` under the node's own name.
  void finish(const Node& node, NodeId of, std::optional<Batched> what) {
    auto made = node;
    made.kind = NodeKind::call_function;
    made.target = "aten.alias.default";
    made.args = {{of}};
    made.kwargs.clear();
    if (what) made.claim = {};
    made_.add(std::move(made));
    if (what) batched_[node.id.value] = *std::move(what);
  }

  auto translate(const Node& node) -> bool {
    const auto function = called(node);
    if (is_one_of(kWithoutValue, function)) return true;
    if (function == "_add_batch_dim") return begin(node);
    if (function == "_remove_batch_dim") return end(node);
    const auto in = operands(node);
    if (std::ranges::none_of(in, [&](NodeId id) { return batched(id) != nullptr; })) {
      made_.add(node);
      return true;
    }
    if (node.kind != NodeKind::call_function && node.kind != NodeKind::call_method) return false;
    const auto name = plain_name(node.target);
    if (is_one_of(kFactories, name)) {  // of one example: the same for all
      made_.add(node);
      return true;
    }
    if (is_one_of(kElementwise, name)) return elementwise(node);
    return (name == "index" || name == "getitem") && lookup(node);
  }

  /// _add_batch_dim(x, dim, level)
  auto begin(const Node& node) -> bool {
    if (node.args.size() != 3) return false;
    const auto of = id_of(node.args[0]);
    auto dim = number(node.args[1]);
    const auto level = number(node.args[2]);
    const auto dims = of ? rank(*of) : std::nullopt;
    if (!dims || !dim || !level) return false;
    if (*dim < 0) *dim += *dims;
    const auto* before = batched(*of);
    auto what = before == nullptr ? Batched{} : *before;
    what.rank = *dims - 1;
    what.levels.insert(*level);
    auto made = *of;
    for (std::int64_t i = 0; before == nullptr && i < leading(); ++i)
      made = unsqueezed(node, made, 0);
    const auto place = place_of(*level);
    made = step(node, "aten.movedim.int", {{made}, integer(leading() + *dim), integer(place)});
    made = step(node, "aten.squeeze.dim", {{made}, integer(place + 1)});
    finish(node, made, std::move(what));
    return true;
  }

  /// Of the dimension at `place`, 1 or as long already, as many as the batch has examples.
  auto repeated(const Node& node, NodeId of, std::int64_t dims, std::int64_t place) -> NodeId {
    ArgList sizes(static_cast<std::size_t>(dims), integer(-1));
    sizes[static_cast<std::size_t>(place)] = node.args[2];
    return step(node, "aten.expand.default", {{of}, list(std::move(sizes))});
  }

  /// _remove_batch_dim(x, level, size, dim)
  auto end(const Node& node) -> bool {
    if (node.args.size() != 4) return false;
    const auto of = id_of(node.args[0]);
    const auto level = number(node.args[1]);
    auto dim = number(node.args[3]);
    const auto dims = of ? rank(*of) : std::nullopt;
    if (!dims || !level || !dim || !levels_.contains(*level)) return false;
    if (*dim < 0) *dim += *dims + 1;
    const auto* before = batched(*of);
    if (before == nullptr) {
      const auto one = unsqueezed(node, *of, *dim);
      finish(node, repeated(node, one, *dims + 1, *dim), std::nullopt);
      return true;
    }
    auto what = *before;
    const auto place = place_of(*level);
    auto made = unsqueezed(node, repeated(node, *of, leading() + *dims, place), place);
    made = step(node, "aten.movedim.int", {{made}, integer(place + 1), integer(leading() + *dim)});
    what.levels.erase(*level);
    ++what.rank;
    const bool is_whole = what.levels.empty();
    for (std::int64_t i = 0; is_whole && i < leading(); ++i)
      made = step(node, "aten.squeeze.dim", {{made}, integer(0)});
    finish(node, made, is_whole ? std::nullopt : std::optional(std::move(what)));
    return true;
  }

  /// The node with all its batched operands of as many dimensions as the widest of `among` has.
  auto aligned(const Node& node, const std::vector<NodeId>& among) -> std::optional<Batched> {
    Batched what;
    for (const auto id : among) {
      const auto dims = rank(id);
      if (dims) what.rank = std::max(what.rank, *dims);
      if (const auto* one = batched(id)) what.levels.insert(one->levels.begin(), one->levels.end());
    }
    auto made = node;
    made.claim = {};
    const auto widen = [&](NodeId& id) {
      const auto* one = batched(id);
      for (auto dims = one == nullptr ? what.rank : one->rank; dims < what.rank; ++dims)
        id = unsqueezed(node, id, leading());
    };
    for (auto& arg : made.args) visit_refs(arg, widen);
    for (auto& [key, arg] : made.kwargs) visit_refs(arg, widen);
    made_.add(std::move(made));
    return what;
  }

  auto elementwise(const Node& node) -> bool {
    for (const auto id : operands(node))
      if (batched(id) == nullptr && !rank(id) && from_.find(id)->claim.empty()) return false;
    auto what = aligned(node, operands(node));
    batched_[node.id.value] = *std::move(what);
    return true;
  }

  /// x[i], x[i, j] of an x without batches and of indices of its first dimensions.
  auto lookup(const Node& node) -> bool {
    if (node.args.size() != 2) return false;
    const auto of = id_of(node.args[0]);
    if (!of || batched(*of) != nullptr) return false;
    const auto* several = std::get_if<SequenceArg>(&node.args[1].value);
    const auto dims = rank(*of);
    std::vector<NodeId> among;
    for (const auto& item : several != nullptr ? several->items : std::vector{node.args[1]}) {
      const auto id = id_of(item);
      const auto* claim = id ? from_.find(*id)->claim.tensor() : nullptr;
      if (claim == nullptr || claim->dtype == DType::boolean) return false;  // truths choose
      among.push_back(*id);
    }
    if (!dims || std::ssize(among) > *dims) return false;
    auto what = aligned(node, among);
    what->rank += *dims - std::ssize(among);
    batched_[node.id.value] = *std::move(what);
    return true;
  }

  const Graph& from_;
  Graph made_;
  std::set<std::int64_t> levels_;
  std::map<std::int32_t, Batched> batched_;
  int steps_ = 0;
};

}  // namespace

auto without_batching(Graph graph) -> Graph {
  const bool has_any = std::ranges::any_of(
      graph.nodes, [](const Node& node) { return node.target.starts_with(kSpace); });
  if (!has_any) return graph;
  auto made = Unbatcher(graph).run();
  return made ? *std::move(made) : std::move(graph);
}

}  // namespace assay
