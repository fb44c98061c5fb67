#include "replay/interp/user_kernel_call.h"

#include <algorithm>

#include "replay/interp/run.h"

namespace assay {
namespace {

constexpr std::string_view kInPlace = "higher_order.triton_kernel_wrapper_mutation";
constexpr std::string_view kFunctional = "higher_order.triton_kernel_wrapper_functional";

auto keyword(const Node& node, std::string_view name) -> const Arg* {
  const auto found = std::ranges::find(
      node.kwargs, name, [](const auto& one) -> std::string_view { return one.first; });
  return found == node.kwargs.end() ? nullptr : &found->second;
}
auto items_of(const Arg* arg) -> const std::vector<Arg>* {
  const auto* list = arg == nullptr ? nullptr : std::get_if<SequenceArg>(&arg->value);
  return list == nullptr ? nullptr : &list->items;
}
auto cloned_names(const Node& node) -> std::vector<std::string> {
  std::vector<std::string> names;
  if (const auto* items = items_of(keyword(node, "tensors_to_clone")))
    for (const auto& item : *items)
      if (const auto* name = std::get_if<std::string>(&item.value)) names.push_back(*name);
  return names;
}

/// With the strides that it has (clone_preserve_strides of torch/_prims_common).
auto copied(const Tensor& tensor) -> Result<Datum> {
  ASSAY_TRY(auto copy,
            Tensor::allocate(tensor.dtype(), tensor.sizes(), tensor.strides(), tensor.meta.device));
  copy_elems(tensor, copy);
  return Datum{std::move(copy)};
}

auto grid_of(const Node& node, const std::function<const Datum*(NodeId)>& lookup,
             UserKernelCall& call) -> Result<void> {
  const auto* grids = items_of(keyword(node, "grid"));
  if (grids == nullptr || grids->empty()) return unsupported("a kernel without a grid");
  const auto* dimensions = items_of(&grids->front());
  if (dimensions == nullptr || dimensions->size() > call.grid.size())
    return unsupported("a grid that is no list of three numbers");
  for (std::size_t i = 0; i < dimensions->size(); ++i) {
    ASSAY_TRY(const auto count, to_datum((*dimensions)[i], lookup));
    const auto number = count.scalar() == nullptr ? std::nullopt : count.scalar()->as_int();
    if (!number) return unsupported("a grid whose size is not known");
    call.grid.at(i) = *number;
  }
  return {};
}

}  // namespace

auto is_user_kernel_call(std::string_view target) -> bool {
  return target == kInPlace || target == kFunctional;
}

auto run_user_kernel_call(const Graph& graph, const Node& node, Domain& domain,
                          const std::function<const Datum*(NodeId)>& lookup,
                          const std::function<bool(NodeId)>& is_open) -> Result<UserKernelRun> {
  UserKernelCall call;
  call.name = node.name;
  if (node.origin) call.code = node.origin->code;
  call.places = 0;
  for (const auto& other : graph.nodes) {
    if (!is_user_kernel_call(other.target) || other.origin != node.origin) continue;
    if (&other == &node) call.place = call.places;
    ++call.places;
  }
  const auto* given = keyword(node, "kwargs");
  const auto* arguments = given == nullptr ? nullptr : std::get_if<DictArg>(&given->value);
  if (arguments == nullptr) return unsupported("a kernel without named arguments");
  const auto* described = keyword(node, "tma_descriptor_metadata");
  const auto* descriptors =
      described == nullptr ? nullptr : std::get_if<DictArg>(&described->value);
  if (descriptors != nullptr && !descriptors->items.empty())
    return unsupported("a kernel that takes descriptors of tensors");
  ASSAY_TRY_VOID(grid_of(node, lookup, call));
  const auto cloned = cloned_names(node);
  DatumList results(cloned.size());
  for (const auto& [name, arg] : arguments->items) {
    ASSAY_TRY(auto value, to_datum(arg, lookup));
    const auto at = std::ranges::find(cloned, name);
    if (at != cloned.end() && value.real() != nullptr) {
      ASSAY_TRY(value, copied(*value.real()));
      results[static_cast<std::size_t>(at - cloned.begin())] = value;
    }
    if (const auto* id = std::get_if<NodeId>(&arg.value); id != nullptr && is_open && is_open(*id))
      call.open.insert(name);
    call.arguments.emplace_back(name, std::move(value));
  }
  UserKernelRun run;
  ASSAY_TRY(run.rests_on_open, domain.launch(call));
  if (node.target == kFunctional) run.result = Datum{std::move(results)};
  return run;
}

auto result_of_user_kernel(const Graph& graph, const Node& item) -> std::optional<std::size_t> {
  if (item.args.size() != 2) return std::nullopt;
  const auto* source = std::get_if<NodeId>(&item.args[0].value);
  const auto* key = std::get_if<std::string>(&item.args[1].value);
  const auto* node = source == nullptr ? nullptr : graph.find(*source);
  if (key == nullptr || node == nullptr || node->target != kFunctional) return std::nullopt;
  const auto names = cloned_names(*node);
  const auto at = std::ranges::find(names, *key);
  if (at == names.end()) return std::nullopt;
  return static_cast<std::size_t>(at - names.begin());
}

}  // namespace assay
