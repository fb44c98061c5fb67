#include "replay/interp/vmap.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/ops/op_table.h"
#include "replay/interp/compare.h"
#include "replay/interp/inputs.h"
#include "replay/interp/run.h"

namespace assay {
namespace {

// Behind the name of a module, which PyTorch changes.
constexpr std::string_view kBegin = "_vmap_increment_nesting", kEnd = "_vmap_decrement_nesting",
                           kTake = "_add_batch_dim", kGive = "_remove_batch_dim";

auto is(const Node& node, std::string_view function) -> bool {
  const std::string_view target = node.target;
  return node.kind == NodeKind::call_function && target.ends_with(function) &&
         target.starts_with("torch.") && target[target.size() - function.size() - 1] == '.';
}
auto argument(const Node& node, std::size_t at, const std::function<const Datum*(NodeId)>& lookup)
    -> std::optional<std::int64_t> {
  if (at >= node.args.size()) return std::nullopt;
  const auto value = to_datum(node.args[at], lookup);
  return value && value->scalar() ? value->scalar()->as_int() : std::nullopt;
}
auto call(Domain& domain, std::string_view overload, DatumList args) -> Result<Datum> {
  const auto* row = domain.find(overload);
  if (row == nullptr) return unsupported("no row for operator {}", overload);
  ASSAY_TRY(auto bound, bind_arguments(row->schema, std::move(args), {}));
  return domain.run(*row, std::move(bound));
}

}  // namespace

VmapRegions::VmapRegions(const Graph& graph) : graph_(graph) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (is(graph.nodes[i], kBegin)) open.push_back(i);
    if (!is(graph.nodes[i], kEnd) || open.empty()) continue;
    regions_.push_back({open.back(), i});
    open.pop_back();
  }
  std::ranges::sort(regions_, {}, &Region::begin);
}

auto VmapRegions::end_of(std::size_t begin) const -> std::optional<std::size_t> {
  const auto region = std::ranges::find(regions_, begin, &Region::begin);
  return region == regions_.end() ? std::nullopt : std::optional(region->end);
}

auto VmapRegions::last_use(std::size_t made, std::size_t use) const -> std::size_t {
  for (const auto& [begin, end] : regions_)
    if (begin < use && use < end && (made < begin || made > end)) return end;
  return use;
}

auto VmapRegions::results(std::size_t begin) const -> std::vector<std::size_t> {
  std::vector<std::size_t> all;
  const auto end = end_of(begin).value_or(begin);
  for (auto i = begin + 1; i < end; ++i) {
    if (const auto within = end_of(i)) i = *within;
    if (is(graph_.nodes[i], kGive)) all.push_back(i);
  }
  return all;
}

auto vmap_size(const Node& begin, const std::function<const Datum*(NodeId)>& lookup)
    -> std::optional<std::int64_t> {
  return argument(begin, 0, lookup);
}

auto run_vmap_node(const Node& node, Domain& domain, std::int64_t slice,
                   const std::function<const Datum*(NodeId)>& lookup)
    -> std::optional<Result<Datum>> {
  if (!is(node, kTake) && !is(node, kGive)) return std::nullopt;
  if (node.args.empty()) return bad_input("there is no tensor");
  auto tensor = to_datum(node.args[0], lookup);
  if (!tensor || is(node, kGive)) return tensor;
  const auto dim = argument(node, 1, lookup);
  if (!dim) return unsupported("the dimension of slices is not known");
  return call(domain, "aten.select.int", {*tensor, {Expr(*dim)}, {Expr(slice)}});
}

auto put_together(const Node& node, DatumList slices, const Binding& sizes, Domain& domain,
                  const std::function<const Datum*(NodeId)>& lookup) -> Result<Datum> {
  const auto dim = argument(node, 3, lookup);
  if (!dim) return unsupported("the dimension of slices is not known");
  ASSAY_TRY(auto all, call(domain, "aten.stack.default", {{std::move(slices)}, {Expr(*dim)}}));
  const auto* claim = node.claim.tensor();
  const auto* tensor = all.real();
  if (claim == nullptr || tensor == nullptr) return all;
  const auto layout = evaluate_claim(*claim, sizes);
  if (!layout || layout->sizes != tensor->sizes() || layout->dtype != tensor->dtype()) return all;
  ASSAY_TRY(auto laid_out, filled_tensor(*layout, 0));
  laid_out.meta.device = tensor->meta.device;
  copy_elems(*tensor, laid_out);
  return Datum{std::move(laid_out)};
}

}  // namespace assay
