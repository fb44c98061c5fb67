// Operators that exported programs call on top of the core set, as calls of others: conversions,
// reshaping, assertions. Rules: aten/src/ATen/native/TensorConversions.cpp, TensorShape.cpp,
// TensorProperties.cpp, ReduceOps.cpp (diff).
#include <algorithm>

#include "core/expr/text.h"
#include "core/ops/rules.h"

namespace assay {
namespace {

/// Tensor metadata decided on with a MetaCall whose failures become the composer's.
class Layouts {
 public:
  explicit Layouts(Composer& c) : composer_(c), call_(layout_call(c)) {}
  ~Layouts() {
    if (const auto& error = call_.error()) composer_.fail(*error);
  }
  Layouts(const Layouts&) = delete;
  auto operator=(const Layouts&) -> Layouts& = delete;
  auto operator*() -> MetaCall& { return call_; }
  auto operator->() -> MetaCall* { return &call_; }

 private:
  Composer& composer_;
  MetaCall call_;
};

auto dim_index(Composer& c, std::int64_t value, int rank) -> std::size_t {
  Layouts layout(c);
  return static_cast<std::size_t>(layout->dim(value, rank));
}
auto integer(std::int64_t value) -> Datum {
  return {Expr(value)};
}
auto position(std::size_t value) -> Datum {
  return integer(static_cast<std::int64_t>(value));
}

/// What a softmax in one pass over memory needs: the maximum, and the sum of exponentials below it.
auto prepare_softmax_online(Composer& c) -> Datum {
  const Datum dim{DatumList{c.arg(1)}}, keep{Expr(true)};
  const auto largest = c.call("aten.amax.default", {c.arg(0), dim, keep});
  const auto below = c.call("aten.sub.Tensor", {c.arg(0), largest});
  return {DatumList{
      largest, c.call("aten.sum.dim_IntList", {c.call("aten.exp.default", {below}), dim, keep})}};
}

// ---- conversions --------------------------------------------------------------------------------

auto has_format(Composer& c, const TensorMeta& meta, MemoryFormat format) -> bool {
  Layouts layout(c);
  return suggest_memory_format(*layout, meta) == format;
}

/// to_impl: self itself if nothing would change, else _to_copy.
struct Conversion {
  std::optional<DType> dtype;
  std::optional<Device> device;
  bool copy = false;
  std::optional<MemoryFormat> format;
};
auto convert(Composer& c, const Conversion& to) -> Datum {
  const auto self = c.meta(0);
  const auto format = to.format.value_or(MemoryFormat::preserve);
  const bool same_device = !to.device || to.device->type == self.device.type;
  const bool unchanged = to.dtype.value_or(self.dtype) == self.dtype && same_device && !to.copy &&
                         (format == MemoryFormat::preserve || has_format(c, self, format));
  if (unchanged) return c.arg(0);
  const Datum device = to.device ? Datum{*to.device} : Datum{};
  return c.call("aten._to_copy.default",
                {c.arg(0), Datum{to.dtype.value_or(self.dtype)}, Datum{}, device, Datum{},
                 Datum{Expr::boolean(false)}, Datum{format}});
}
/// Any overload of `to` that names its parts.
auto to(Composer& c) -> Datum {
  const auto at = [&](std::string_view name) { return param(c, name); };
  Conversion target;
  if (at("dtype") >= 0) target.dtype = c.dtype(at("dtype"));
  if (at("device") >= 0) target.device = c.device(at("device"));
  target.copy = c.flag(at("copy"));
  target.format = c.memory_format(at("memory_format"));
  return convert(c, target);
}
auto to_other(Composer& c) -> Datum {
  const auto other = c.meta(1);
  return convert(c, {other.dtype, other.device, c.flag(3), c.memory_format(4)});
}
auto type_as(Composer& c) -> Datum {
  const auto other = c.meta(1);
  return convert(c, {other.dtype, other.device, false, std::nullopt});
}

auto contiguous(Composer& c) -> Datum {
  const auto format = c.memory_format(1).value_or(MemoryFormat::contiguous);
  const auto self = c.meta(0);
  const bool already = [&] {
    Layouts layout(c);
    return is_contiguous(*layout, self, format);
  }();
  return already ? c.arg(0) : c.call("aten.clone.default", {c.arg(0), Datum{format}});
}

// ---- reshaping ----------------------------------------------------------------------------------

/// A view where the strides allow it, else a view of a contiguous clone.
auto reshape_to(Composer& c, const Datum& self, const Dims& requested) -> Datum {
  const auto meta = c.meta(self);
  Dims sizes;
  bool viewable = false;
  {
    Layouts layout(c);
    sizes = infer_size(*layout, requested, numel(meta));
    if (!layout->error()) viewable = view_strides(*layout, meta, sizes).has_value();
  }
  if (c.error()) return {};
  if (viewable) return c.call("aten.view.default", {self, int_list(sizes)});
  const auto packed = c.call("aten.clone.default", {self, Datum{MemoryFormat::contiguous}});
  return c.call("aten._unsafe_view.default", {packed, int_list(sizes)});
}
auto reshape(Composer& c) -> Datum {
  return reshape_to(c, c.arg(0), c.exprs(1));
}
auto reshape_as(Composer& c) -> Datum {
  return reshape_to(c, c.arg(0), c.meta(1).sizes);
}
auto view_as(Composer& c) -> Datum {
  return c.call("aten.view.default", {c.arg(0), int_list(c.meta(1).sizes)});
}
auto expand_as(Composer& c) -> Datum {
  return c.call("aten.expand.default", {c.arg(0), int_list(c.meta(1).sizes)});
}

auto flatten(Composer& c) -> Datum {
  const auto meta = c.meta(0);
  const auto first = dim_index(c, c.integer(1), meta.rank());
  const auto last = dim_index(c, c.integer(2), meta.rank());
  if (first > last) return c.fail("start_dim comes after end_dim"), Datum{};
  if (meta.rank() == 0) return reshape_to(c, c.arg(0), {1});
  if (first == last) return c.arg(0);
  const auto begin = meta.sizes.begin();
  Dims sizes(begin, begin + static_cast<std::ptrdiff_t>(first));
  sizes.push_back(product(std::span(meta.sizes).subspan(first, last - first + 1)));
  sizes.insert(sizes.end(), begin + static_cast<std::ptrdiff_t>(last) + 1, meta.sizes.end());
  return reshape_to(c, c.arg(0), sizes);
}
auto unflatten(Composer& c) -> Datum {
  const auto meta = c.meta(0);
  const auto dim = dim_index(c, c.integer(1), meta.rank());
  if (c.error() || meta.rank() == 0) return c.fail("unflatten needs a dimension"), Datum{};
  Dims parts;
  {
    Layouts layout(c);
    parts = infer_size(*layout, c.exprs(2), meta.sizes[dim]);
  }
  auto sizes = meta.sizes;
  const auto at = sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(dim));
  sizes.insert(at, parts.begin(), parts.end());
  return c.error() ? Datum{} : c.call("aten.view.default", {c.arg(0), int_list(sizes)});
}

auto chunk(Composer& c) -> Datum {
  const auto meta = c.meta(0);
  const auto count = c.integer(1);
  const auto dim = dim_index(c, c.integer(2), meta.rank());
  constexpr std::int64_t kMostChunks = 1 << 24;
  if (c.error() || meta.rank() == 0 || count <= 0 || count > kMostChunks)
    return c.fail("chunk needs a dimension and a positive count"), Datum{};
  const auto& size = meta.sizes[dim];
  const auto step = ceil_div(size, Expr(count));
  if (c.decide(eq(size, 0), "empty dimension")) {
    const Dims lengths(static_cast<std::size_t>(count), Expr(0));
    return c.call("aten.split_with_sizes.default", {c.arg(0), int_list(lengths), position(dim)});
  }
  return c.call("aten.split.Tensor", {c.arg(0), Datum{step}, position(dim)});
}

auto narrow(Composer& c) -> Datum {
  const auto meta = c.meta(0);
  const auto dim = dim_index(c, c.integer(1), meta.rank());
  if (c.error() || meta.rank() == 0) return c.fail("narrow needs a dimension"), Datum{};
  auto start = c.expr(2);
  const auto& size = meta.sizes[dim];
  if (c.decide(lt(start, 0), "narrow start")) start = start + size;
  const auto length = c.expr(3);
  {
    Layouts layout(c);
    layout->require(ge(length, 0), "the length is not negative");
    layout->require(le(start + length, size), "start plus length is at most the dimension's size");
  }
  if (c.error()) return {};
  return c.call("aten.slice.Tensor",
                {c.arg(0), position(dim), Datum{start}, Datum{start + length}});
}

auto movedim(Composer& c) -> Datum {
  const auto rank = c.meta(0).sizes.size();
  const auto dims = [&](int arg) {
    std::vector<std::size_t> result;
    for (const auto value : c.arg(arg).list() ? c.integers(arg) : Ints{c.integer(arg)})
      result.push_back(dim_index(c, value, static_cast<int>(rank)));
    return result;
  };
  const auto from = dims(1);
  const auto target = dims(2);
  if (from.size() != target.size())
    return c.fail("movedim needs as many targets as sources"), Datum{};
  if (c.error() || rank == 0) return c.call("aten.alias.default", {c.arg(0)});
  constexpr auto kFree = static_cast<std::size_t>(-1);
  std::vector<std::size_t> order(rank, kFree);
  std::vector<bool> moved(rank, false);
  for (std::size_t i = 0; i < from.size(); ++i) {
    order[target[i]] = from[i];
    moved[from[i]] = true;
  }
  std::size_t next = 0;
  DatumList dims_list;
  for (auto& dim : order) {
    if (dim == kFree) {
      while (next < rank && moved[next]) ++next;
      if (next == rank) return c.fail("movedim: dimensions repeat"), Datum{};
      dim = next++;
    }
    dims_list.push_back(position(dim));
  }
  return c.call("aten.permute.default", {c.arg(0), Datum{std::move(dims_list)}});
}
/// swapaxes, swapdims and the T, mT attributes.
auto swap_dims(Composer& c) -> Datum {
  return c.call("aten.transpose.int", {c.arg(0), c.arg(1), c.arg(2)});
}
auto reversed(Composer& c) -> Datum {
  DatumList dims;
  for (auto d = c.meta(0).sizes.size(); d-- > 0;) dims.push_back(position(d));
  return c.call("aten.permute.default", {c.arg(0), Datum{std::move(dims)}});
}
auto matrix_transposed(Composer& c) -> Datum {
  return c.call("aten.transpose.int", {c.arg(0), integer(-2), integer(-1)});
}

auto meshgrid(Composer& c) -> Datum {
  const auto* tensors = c.arg(0).list();
  if (!tensors || tensors->empty()) return c.fail("meshgrid needs tensors"), Datum{};
  const bool swaps = param(c, "indexing") >= 0 && c.text(1) == "xy" && tensors->size() >= 2;
  auto inputs = *tensors;
  if (swaps) std::swap(inputs[0], inputs[1]);
  Dims shape;
  for (const auto& tensor : inputs) shape.push_back(numel(c.meta(tensor)));
  DatumList grids;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Dims own(inputs.size(), Expr(1));
    own[i] = shape[i];
    auto grid = c.call("aten.view.default", {inputs[i], int_list(own)});
    grid = c.call("aten.expand.default", {grid, int_list(shape)});
    grids.push_back(std::move(grid));
  }
  if (swaps) std::swap(grids[0], grids[1]);
  return {std::move(grids)};
}

/// squeeze_ and its kin change how self looks at its storage: the result is the functional view.
auto view_in_place(Composer& c) -> Datum {
  auto name = c.row().name();
  name.erase(name.find("_."), 1);
  if (name == "aten.transpose.default") name = "aten.transpose.int";
  auto view = c.call(name, DatumList(c.args().begin(), c.args().end()));
  const bool computes = name == "aten.squeeze.dim" || name == "aten.squeeze.dims";
  if (c.error() || c.meta(0).lazy == Lazy::none || !computes) return view;
  // PyTorch runs it on a copy that is not lazy, and writes that back.
  view = c.call("aten.clone.default", {view});
  const auto sized = c.call("aten._resize_output_.default",
                            {c.arg(0), int_list(c.meta(view).sizes), Datum{c.meta(0).device}});
  return c.call("aten.copy_.default", {sized, view});
}
/// Parts in one storage. What is lazy is computed before.
auto unsafe_parts(Composer& c, std::string_view split) -> Datum {
  DatumList args(c.args().begin(), c.args().end());
  if (c.meta(0).lazy != Lazy::none) args[0] = c.call("aten.clone.default", {args[0]});
  return c.call(split, std::move(args));
}

// ---- arithmetic ---------------------------------------------------------------------------------

auto square(Composer& c) -> Datum {
  return c.call("aten.pow.Tensor_Scalar", {c.arg(0), integer(2)});
}

/// self, n, dim, prepend, append: differences of neighbours, n times.
auto diff(Composer& c) -> Datum {
  auto self = c.arg(0);
  const auto rank = c.meta(0).rank();
  const auto dim = dim_index(c, c.integer(2), rank);
  if (c.error() || rank == 0) return c.fail("diff needs a dimension"), Datum{};
  auto times = c.integer(1);
  if (times == 0) return c.call("aten.clone.default", {self, Datum{MemoryFormat::contiguous}});
  DatumList parts;
  if (c.has(3)) parts.push_back(c.arg(3));
  parts.push_back(self);
  if (c.has(4)) parts.push_back(c.arg(4));
  if (parts.size() > 1) self = c.call("aten.cat.default", {Datum{std::move(parts)}, position(dim)});
  for (; times > 0 && !c.error(); --times) {
    const auto meta = c.meta(self);
    const auto& size = meta.sizes[dim];
    const auto part = [&](const Expr& start, const Expr& end) {
      return c.call("aten.slice.Tensor", {self, position(dim), Datum{start}, Datum{end}});
    };
    if (c.decide(eq(size, 0), "empty dimension")) break;
    const auto upper = part(1, size);
    const auto lower = part(0, size - 1);
    self = c.call(meta.dtype == DType::boolean ? "aten.logical_xor.default" : "aten.sub.Tensor",
                  {upper, lower});
  }
  return self;
}

// ---- assertions ---------------------------------------------------------------------------------

/// a, size, stride, dtype, device, layout.
auto assert_metadata_rule(MetaCall& c) -> Datum {
  const auto& a = c.meta(0);
  if (c.has(1)) require_same_sizes(c, a.sizes, c.exprs(1), "the asserted sizes hold");
  if (c.has(2)) require_same_sizes(c, a.strides, c.exprs(2), "the asserted strides hold");
  if (const auto dtype = c.dtype(3); dtype && *dtype != a.dtype)
    c.fail(fmt::format("dtype {} was asserted, the tensor has {}", name(*dtype), name(a.dtype)));
  return {};
}
/// A symbolic condition is a fact for whoever proves things; only a false constant fails.
auto assert_scalar_rule(MetaCall& c) -> Datum {
  if (c.expr(0).as_number() == 0.0)
    c.fail(c.text(1).empty() ? "the assertion does not hold" : c.text(1));
  return {};
}
/// item: the one element, which only the data tell. A complex one is no expression: on layouts
/// it is a number that is none.
auto item_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  if (!c.require(eq(numel(self), 1), "the tensor has one element")) return {};
  const auto type =
      is_floating(self.dtype) || is_complex(self.dtype) ? ExprType::real : ExprType::integer;
  const auto value = c.context().data_dependent_value(type);
  if (is_complex(self.dtype)) {
    const auto re = value.as_number();
    const auto im = re ? c.context().data_dependent_value(type).as_number() : std::nullopt;
    return {im ? Complex(*re, *im) : Complex(std::nan(""), std::nan(""))};
  }
  return {self.dtype == DType::boolean ? eq(value, 1) : value};
}
auto measure_item(KernelCall& k) -> Dims {
  if (k.in(0).numel() != 1) return k.fail("the tensor has one element"), Dims{0};
  const auto value = to_vector<Complex>(k.in(0))[0];
  if (is_complex(k.in(0).dtype())) return {Expr::real(value.real()), Expr::real(value.imag())};
  if (is_floating(k.in(0).dtype())) return {Expr::real(value.real())};
  return {to_vector<std::int64_t>(k.in(0))[0]};
}
/// equal: one shape and the same elements; NaN equals nothing.
auto equal_rule(MetaCall& c) -> Datum {
  return {eq(c.context().data_dependent_value(ExprType::integer), 1)};
}
auto measure_equal(KernelCall& k) -> Dims {
  if (k.in(0).sizes() != k.in(1).sizes()) return {0};
  return {to_vector<Complex>(k.in(0)) == to_vector<Complex>(k.in(1)) ? 1 : 0};
}
/// An empty tensor, which calls with effects hand on.
auto token_rule(MetaCall& c) -> Datum {
  return c.fresh(DType::float32, {Expr(0)}, {Expr(1)});
}
auto no_result(MetaCall&) -> Datum {
  return {};
}
void nothing(KernelCall&) {}
void assert_tensor_kernel(KernelCall& k) {
  const auto values = to_vector<Complex>(k.in(0));
  if (values.size() == 1 && values[0] != Complex(0)) return;
  k.fail(k.args().size() > 1 && !k.text(1).empty() ? k.text(1) : "the assertion does not hold");
}
auto constrain_range_rule(MetaCall& c) -> Datum {
  const auto value = c.expr(0).as_int();
  if (!value) return {};
  if ((c.has(1) && *value < c.integer(1)) || (c.has(2) && *value > c.integer(2)))
    c.fail(fmt::format("{} is outside of the asserted range", *value));
  return {};
}

auto same_tensor(MetaCall& c) -> Datum {
  return c.arg(0);
}
auto composite(std::string_view schema, Decomposition body) -> OpRow {
  return {.schema_text = schema, .decomposition = body};
}

}  // namespace

// clang-format off
void add_composite_rows(OpTable& t) {
  t.add(composite("prims::prepare_softmax_online(Tensor self, int dim) -> (Tensor, Tensor)", prepare_softmax_online));
  t.add(composite("aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)", to));
  t.add(composite("aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)", to));
  t.add(composite("aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)", to));
  t.add(composite("aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)", to_other));
  t.add(composite("aten::type_as(Tensor self, Tensor other) -> Tensor", type_as));
  t.add(composite("aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)", contiguous));

  t.add(composite("aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", reshape));
  t.add(composite("aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)", reshape_as));
  t.add(composite("aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)", view_as));
  t.add(composite("aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", expand_as));
  t.add(composite("aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)", flatten));
  t.add(composite("aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)", unflatten));
  t.add(composite("aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]", chunk));
  t.add(composite("aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)", narrow));
  t.add(composite("aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)", movedim));
  t.add(composite("aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)", movedim));
  t.add(composite("aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", swap_dims));
  t.add(composite("aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", swap_dims));
  t.add(composite("aten::numpy_T(Tensor(a) self) -> Tensor(a)", reversed));
  t.add(composite("aten::mT(Tensor(a) self) -> Tensor(a)", matrix_transposed));
  t.add(composite("aten::meshgrid(Tensor[] tensors) -> Tensor[]", meshgrid));
  t.add(composite("aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]", meshgrid));
  t.add(composite("aten::unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]", [](Composer& c) { return unsafe_parts(c, "aten.split.Tensor"); }));
  t.add(composite("aten::unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]", [](Composer& c) { return unsafe_parts(c, "aten.split_with_sizes.default"); }));
  t.add(composite("aten::square(Tensor self) -> Tensor", square));
  t.add(composite("aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor", diff));

  t.add(composite("aten::squeeze_(Tensor(a!) self) -> Tensor(a!)", view_in_place));
  t.add(composite("aten::squeeze_.dim(Tensor(a!) self, int dim) -> Tensor(a!)", view_in_place));
  t.add(composite("aten::squeeze_.dims(Tensor(a!) self, int[] dim) -> Tensor(a!)", view_in_place));
  t.add(composite("aten::unsqueeze_(Tensor(a!) self, int dim) -> Tensor(a!)", view_in_place));
  t.add(composite("aten::t_(Tensor(a!) self) -> Tensor(a!)", view_in_place));
  t.add(composite("aten::swapaxes_(Tensor(a!) self, int axis0, int axis1) -> Tensor(a!)", view_in_place));
  t.add(composite("aten::swapdims_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)", view_in_place));
  t.add(composite("aten::transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)", view_in_place));
  t.add(composite("aten::as_strided_(Tensor(a!) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a!)", view_in_place));
  t.add({.schema_text = "aten::detach_(Tensor(a!) self) -> Tensor(a!)", .rule = same_tensor});

  t.add({.schema_text = "aten::_local_scalar_dense(Tensor self) -> Scalar", .rule = item_rule, .measure = measure_item});
  t.add({.schema_text = "aten::item(Tensor self) -> Scalar", .rule = item_rule, .measure = measure_item});
  t.add({.schema_text = "aten::equal(Tensor self, Tensor other) -> bool", .rule = equal_rule, .measure = measure_equal});
  t.add({.schema_text = "aten::_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, ScalarType? dtype=None, *, Device? device=None, Layout? layout=None) -> ()", .rule = assert_metadata_rule});
  t.add({.schema_text = "aten::_assert_scalar(Scalar self, str assert_msg) -> ()", .rule = assert_scalar_rule});
  t.add({.schema_text = "aten::_assert_async(Tensor self) -> ()", .rule = no_result, .kernel = assert_tensor_kernel});
  t.add({.schema_text = "aten::_assert_async.msg(Tensor self, str assert_msg) -> ()", .rule = no_result, .kernel = assert_tensor_kernel});
  t.add({.schema_text = "prims::_make_token() -> Tensor", .rule = token_rule, .kernel = nothing});
  t.add({.schema_text = "prims::_sink_tokens(Tensor[] tokens) -> ()", .rule = no_result, .kernel = nothing});
  t.add({.schema_text = "aten::sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()", .rule = constrain_range_rule});
  t.add({.schema_text = "aten::sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()", .rule = constrain_range_rule});
}
// clang-format on

}  // namespace assay
