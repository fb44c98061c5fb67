#include "compiler/lower/lowering_domain.h"

#include <algorithm>
#include <array>

#include "compiler/lower/expand.h"
#include "compiler/lower/lowering.h"

namespace assay {
namespace {

/// Layouts that `to` has in common with `from` beside the storage.
auto same_view(const TensorMeta& a, const TensorMeta& b) -> bool {
  return a.dtype == b.dtype && a.sizes == b.sizes && a.strides == b.strides &&
         a.offset == b.offset && a.lazy == b.lazy;
}

void visit_fakes(const Datum& datum, const std::function<void(const FakeTensor&)>& visit) {
  if (const auto* fake = datum.fake()) visit(*fake);
  if (const auto* list = datum.list())
    for (const auto& item : *list) visit_fakes(item, visit);
}

/// Views whose elements are others where they are read. Programs know none: they make them at once.
struct Resolved {
  std::string_view view, copy;
};
constexpr std::array kResolved = {
    Resolved{"aten._conj.default", "aten._conj_physical.default"},
    Resolved{"aten._neg_view.default", "aten.neg.default"},
};
auto resolved_form(std::string_view view) -> const Resolved* {
  const auto known = std::ranges::find(kResolved, view, &Resolved::view);
  return known == kResolved.end() ? nullptr : known;
}

auto has_lazy(const DatumList& args, const Datum& result) -> bool {
  bool found = false;
  const auto look = [&](const FakeTensor& fake) {
    found = found || fake.meta.lazy != Lazy::none || !is_element(fake.meta.dtype);
  };
  for (const auto& arg : args) visit_fakes(arg, look);
  visit_fakes(result, look);
  return found;
}

}  // namespace

auto LoweringDomain::find(const FakeTensor& tensor) const -> std::optional<DefId> {
  const auto known = by_storage_.find(tensor.storage);
  if (known == by_storage_.end()) return std::nullopt;
  for (auto at = known->second.rbegin(); at != known->second.rend(); ++at)
    if (same_view(graph_.defs[*at].meta, tensor.meta)) return *at;
  return std::nullopt;
}

auto LoweringDomain::define(const FakeTensor& tensor, const OpRow& row) -> DefId {
  const auto id = graph_.defs.size();
  auto& same = by_storage_[tensor.storage];
  TensorDef def;
  def.meta = tensor.meta;
  def.storage = tensor.storage;
  def.owner = same.empty() ? id : graph_.defs[same.front()].owner;
  def.origin = origin_;
  def.target = row.schema.overload;
  same.push_back(id);
  graph_.defs.push_back(std::move(def));
  return id;
}

auto LoweringDomain::add_input(const std::string& name, const TensorMeta& meta, int storage)
    -> Datum {
  const auto id = graph_.defs.size();
  auto& same = by_storage_[storage];
  TensorDef def;
  def.meta = meta;
  def.storage = storage;
  // Inputs that share memory are separate names of it: each is its own owner.
  def.owner = id;
  def.origin = name;
  def.buffer = name;
  def.is_input = true;
  same.push_back(id);
  graph_.defs.push_back(std::move(def));
  return {FakeTensor{meta, storage}};
}

auto LoweringDomain::to_arg(const Datum& datum) -> Result<CallArg> {
  CallArg arg;
  if (const auto* fake = datum.fake()) {
    arg.tensor = find(*fake);
    if (!arg.tensor) return unsupported("{}: a tensor from nowhere", origin_);
  } else if (const auto* list = datum.list()) {
    arg.is_list = true;
    for (const auto& item : *list) {
      ASSAY_TRY(arg.items.emplace_back(), to_arg(item));
    }
  } else {
    arg.value = datum;
  }
  return arg;
}

auto LoweringDomain::library(const OpRow& row, const DatumList& args, const Datum& result,
                             std::string reason) -> Result<void> {
  LibraryCall call;
  call.target = row.schema.overload;
  call.origin = origin_;
  call.is_tuple = result.list() != nullptr;
  call.reason = std::move(reason);
  call.defs_before = graph_.defs.size();
  for (std::size_t i = 0; i < args.size(); ++i) {
    ASSAY_TRY(auto arg, to_arg(args[i]));
    if (row.schema.params[i].written && arg.tensor) call.written.push_back(*arg.tensor);
    call.args.push_back(std::move(arg));
  }
  const auto add = [&](const Datum& one, std::size_t position) -> Result<void> {
    if (one.list() != nullptr)
      return unsupported("{}: a list among its results", row.schema.overload);
    const auto* fake = one.fake();
    if (fake == nullptr) return {};
    if (find(*fake) && !call.written.empty()) return {};  // what was written is returned
    const auto id = define(*fake, row);
    graph_.defs[id].call = graph_.calls.size();
    graph_.defs[id].owner = id;
    call.results.push_back(id);
    call.positions.push_back(position);
    return {};
  };
  if (const auto* list = result.list()) {
    for (std::size_t i = 0; i < list->size(); ++i) ASSAY_TRY_VOID(add((*list)[i], i));
  } else {
    ASSAY_TRY_VOID(add(result, 0));
  }
  graph_.calls.push_back(std::move(call));
  return {};
}

/// The operator as a kernel that writes elements: into its own first argument, or into memory of
/// the result that holds what there was before. Says whether it could.
auto LoweringDomain::scatter(const LoweringCall& call, const Datum& result) -> Result<bool> {
  const auto& row = call.row;
  const auto lower = find_scatter(row.schema.overload);
  const auto* fake = result.fake();
  if (lower == nullptr || fake == nullptr || not_lowered_.contains(row.schema.overload) ||
      has_lazy(call.args, result))
    return false;
  const bool writes = row.schema.is_mutating();
  const auto into = writes ? *call.tensors[0] : graph_.defs.size();
  ScatterDef made;
  if (!lower(call, into, made)) return false;
  std::vector<DefId> reads;
  for (std::size_t i = 0; i < call.tensors.size(); ++i) {
    if (call.tensors[i] && (i > 0 || made.starts_from.empty())) reads.push_back(*call.tensors[i]);
    reads.insert(reads.end(), call.lists[i].begin(), call.lists[i].end());
  }
  if (!writes) {
    TensorDef start;
    start.meta = fake->meta;
    start.owner = into;
    start.origin = origin_;
    start.target = row.schema.overload;
    start.reads = std::move(made.starts_from);
    start.element = std::move(made.from);
    start.cost = 1;
    graph_.defs.push_back(std::move(start));
    reads.push_back(into);
  }
  LibraryCall kernel;
  kernel.target = row.schema.overload;
  kernel.origin = origin_;
  kernel.reason = "elements at indices: a kernel of its own";
  kernel.defs_before = graph_.defs.size();
  for (const auto id : reads) {
    CallArg arg;
    arg.tensor = id;
    kernel.args.push_back(std::move(arg));
  }
  if (writes) {
    kernel.written = {into};
  } else {
    const auto id = define(*fake, row);
    graph_.defs[id].call = graph_.calls.size();
    graph_.defs[id].owner = id;
    kernel.results = {id};
    kernel.positions = {0};
  }
  kernel.scatter = std::move(made.scatter);
  kernel.scatter->into = into;
  graph_.calls.push_back(std::move(kernel));
  return true;
}

/// A tensor of the layout and float dtype that the operator's rule gives, with the elements of
/// another.
auto LoweringDomain::in_layout_of(const Datum& rule, const Datum& made, const OpRow& row)
    -> Result<Datum> {
  if (const auto* items = rule.list()) {
    const auto* from = made.list();
    if (from == nullptr || from->size() != items->size())
      return bad_input("{}: other results than its rule says", row.name());
    DatumList list;
    for (std::size_t i = 0; i < items->size(); ++i) {
      ASSAY_TRY(list.emplace_back(), in_layout_of((*items)[i], (*from)[i], row));
    }
    return Datum{std::move(list)};
  }
  const auto* wanted = rule.fake();
  const auto* known = made.fake();
  if (wanted == nullptr || known == nullptr || same_view(wanted->meta, known->meta)) return made;
  const auto from = find(*known);
  const auto dtype = wanted->meta.dtype;
  const bool are_floats = is_floating(dtype) && is_floating(known->meta.dtype);
  if (!from || wanted->meta.sizes.size() != known->meta.sizes.size() ||
      (dtype != known->meta.dtype && !are_floats))
    return bad_input("{}: another result than its rule says", row.name());
  const auto id = define(*wanted, row);
  auto& def = graph_.defs[id];
  def.reads = {*from};
  def.element = [from = *from, dtype](LoopBuilder& loop, const Index& at) {
    return loop.cast(loop.value(from, at), dtype);
  };
  return rule;
}

/// The operator as calls of others, in the layout of its own rule; nothing where the expansion does
/// not cover the call.
auto LoweringDomain::run_expansion(const OpRow& row, const DatumList& args, Decomposition expand)
    -> Result<std::optional<Datum>> {
  if (has_lazy(args, {})) return std::nullopt;
  ASSAY_TRY(const auto rule, fakes_.run(row, args));
  Composer composer(row, args, *this);
  const auto made = expand(composer);
  if (const auto& error = composer.error()) {
    if (error->code == ErrorCode::unsupported) return std::nullopt;
    return with_context(*error, row.name());
  }
  ASSAY_TRY(auto result, in_layout_of(rule, made, row));
  return std::optional(std::move(result));
}

/// Views of `base` as maps of positions, where there is one.
void LoweringDomain::define_views(const OpRow& row, const DatumList& args, const Datum& result,
                                  DefId base, const std::vector<std::optional<DefId>>& tensors,
                                  const std::vector<std::vector<DefId>>& lists) {
  visit_fakes(result, [&](const FakeTensor& view) {
    if (this->find(view)) return;
    const auto id = define(view, row);
    const LoweringCall call{row, args, graph_, tensors, lists, graph_.defs[id].meta};
    auto map = view_map(call, graph_.defs[base].meta, view.meta);
    auto& def = graph_.defs[id];
    def.owner = graph_.defs[base].owner;
    def.repeats = repeats_elements(graph_.defs[base].meta, view.meta);
    def.reads = {base};
    if (map)
      def.element = [map, base](LoopBuilder& loop, const Index& at) {
        return loop.value(base, map(at));
      };
  });
}

auto LoweringDomain::run(const OpRow& row, DatumList args) -> Result<Datum> {
  if (const auto* resolved = resolved_form(row.schema.overload)) {
    Composer composer(row, args, *this);
    auto made = composer.call(resolved->copy, {args[0]});
    if (const auto& error = composer.error()) return with_context(*error, row.name());
    return made;
  }
  const bool may_lower = !not_lowered_.contains(row.schema.overload);
  const auto lower = may_lower ? find_lowering(row.schema.overload) : nullptr;
  if (const auto expand = may_lower ? find_expansion(row.schema.overload) : nullptr) {
    ASSAY_TRY(auto expanded, run_expansion(row, args, expand));
    if (expanded) return *std::move(expanded);
  }
  if (lower == nullptr && row.decomposition) {
    Composer composer(row, args, *this);
    auto result = row.decomposition(composer);
    if (const auto& error = composer.error()) return with_context(*error, row.name());
    return result;
  }
  const auto made_before = context().made_symbols().size();
  ASSAY_TRY(auto result, fakes_.run(row, args));
  bool has_tensor = false;
  visit_fakes(result, [&](const FakeTensor&) { has_tensor = true; });
  if (!has_tensor && context().made_symbols().size() == made_before) return result;

  std::vector<std::optional<DefId>> tensors(args.size());
  std::vector<std::vector<DefId>> lists(args.size());
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (const auto* fake = args[i].fake()) tensors[i] = find(*fake);
    if (const auto* list = args[i].list())
      for (const auto& item : *list)
        if (const auto* fake = item.fake())
          if (const auto known = find(*fake)) lists[i].push_back(*known);
  }
  const auto made_up = context().made_symbols().size() > made_before;
  const bool writes = row.schema.is_mutating();
  // Views: results in the storage of an argument.
  std::optional<DefId> base;
  for (const auto& known : tensors)
    if (known && !base) base = known;
  bool is_view = !writes && base.has_value() && has_tensor;
  visit_fakes(result, [&](const FakeTensor& fake) {
    is_view = is_view && fake.storage == graph_.defs[*base].storage;
  });
  if (is_view) {
    define_views(row, args, result, *base, tensors, lists);
    return result;
  }
  if (has_tensor && !made_up && result.fake() != nullptr) {
    const TensorMeta meta = result.fake()->meta;
    const LoweringCall call{row, args, graph_, tensors, lists, meta};
    ASSAY_TRY(const bool is_kernel, scatter(call, result));
    if (is_kernel) return result;
  }
  std::string reason = "has no loop";
  const auto* fresh = result.fake();
  if (lower != nullptr && fresh != nullptr && !writes && !made_up && !has_lazy(args, result)) {
    const auto id = define(*fresh, row);
    TensorDef def = graph_.defs[id];
    const LoweringCall call{row, args, graph_, tensors, lists, def.meta};
    if (lower(call, def)) {
      def.owner = id;
      graph_.defs[id] = std::move(def);
      return result;
    }
    by_storage_[fresh->storage].pop_back();
    graph_.defs.pop_back();
    reason = "its parameters have no loop";
  } else if (lower != nullptr) {
    reason = "of a dtype or kind without loops";
  } else if (!may_lower) {
    reason = "forbidden";
  }
  const auto& symbols = context().made_symbols();
  ASSAY_TRY_VOID(library(row, args, result, std::move(reason)));
  graph_.calls.back().measured.assign(symbols.begin() + static_cast<std::ptrdiff_t>(made_before),
                                      symbols.end());
  return result;
}

auto find_lowering(std::string_view overload) -> Lowering {
  static const auto kRows = [] {
    std::map<std::string_view, Lowering> rows;
    for (const auto family : {pointwise_lowerings(), arrange_lowerings(), pool_gradient_lowerings(),
                              random_lowerings(), reduction_lowerings()})
      for (const auto& row : family) rows.emplace(row.overload, row.lower);
    return rows;
  }();
  const auto known = kRows.find(overload);
  return known == kRows.end() ? nullptr : known->second;
}

auto opmath(DType dtype) -> DType {
  return lane_dtype(dtype);
}

auto is_element(DType dtype) -> bool {
  const auto kind = info(dtype).kind;
  return kind != DTypeKind::complex && kind != DTypeKind::bits && dtype != DType::float8_e8m0fnu;
}

}  // namespace assay
