// Tensors put together of others or of few numbers (aten/src/ATen/native/RangeFactories.cpp,
// TensorShape.cpp, Resize.cpp, ReduceOps.cpp): evenly spaced numbers, block matrices, chunks side
// by side, and the same storage seen at other sizes.
#include <algorithm>
#include <bit>
#include <cmath>

#include "core/ops/pointwise.h"
#include "core/ops/reduce.h"
#include "core/ops/rules.h"

namespace assay {
namespace {

// ---- evenly spaced numbers ----------------------------------------------------------------------

auto spaced_rule(MetaCall& c) -> Datum {
  for (const int i : {0, 1})
    if (c.is_tensor(i) && !c.require(c.meta(i).rank() == 0, "the ends are numbers")) return {};
  const auto dtype = c.dtype(param(c, "dtype")).value_or(kDefaultFloat);
  if (const auto device = c.device(param(c, "device"))) c.set_device(*device);
  return c.fresh(dtype, {c.expr(2)});
}
auto end_of(KernelCall& k, int i) -> Complex {
  return k.is_tensor(i) ? to_vector<Complex>(k.in(i))[0] : k.number(i);
}
/// Symmetric like ATen: the second half counts from the end. The ends are in the result's dtype.
auto spaced_numbers(KernelCall& k) -> std::vector<Complex> {
  const auto count = k.out().numel();
  const bool whole = is_integer(k.out().dtype()) || k.out().dtype() == DType::boolean;
  const auto in_dtype = [&](int i) {
    const auto value = end_of(k, i);
    return whole ? Complex(std::trunc(value.real())) : value;
  };
  const auto start = in_dtype(0);
  const auto end = in_dtype(1);
  const auto step = count > 1 ? (end - start) / static_cast<double>(count - 1) : 0;
  std::vector<Complex> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    values[static_cast<std::size_t>(i)] = i < count / 2 || count == 1
                                              ? start + step * static_cast<double>(i)
                                              : end - step * static_cast<double>(count - 1 - i);
  return values;
}
void store_spaced(KernelCall& k, std::vector<Complex>& values) {
  const bool whole = is_integer(k.out().dtype()) || k.out().dtype() == DType::boolean;
  for (auto& value : values)
    if (whole) value = std::trunc(value.real());
  from_vector<Complex>(k.out(), values);
}
void linspace_kernel(KernelCall& k) {
  auto values = spaced_numbers(k);
  store_spaced(k, values);
}
void logspace_kernel(KernelCall& k) {
  auto values = spaced_numbers(k);
  const double base = k.real(3);
  for (auto& value : values)
    value = is_complex(k.out().dtype()) ? std::pow(Complex(base), value)
                                        : Complex(std::pow(base, value.real()));
  store_spaced(k, values);
}

// ---- blocks and chunks --------------------------------------------------------------------------

/// A vector is one row, a number one element.
auto block_size(const Dims& sizes) -> std::pair<Expr, Expr> {
  if (sizes.empty()) return {1, 1};
  return sizes.size() == 1 ? std::pair(Expr(1), sizes[0]) : std::pair(sizes[0], sizes[1]);
}
auto block_diag_rule(MetaCall& c) -> Datum {
  ResultType type;
  Expr rows(0);
  Expr cols(0);
  for (const auto* tensor : c.tensors(0)) {
    if (!c.require(tensor && tensor->meta.rank() <= 2, "blocks have two dimensions at most"))
      return {};
    // Blocks of no dimensions promote like the others.
    type.add_tensor(tensor->meta.dtype, 1);
    const auto [height, width] = block_size(tensor->meta.sizes);
    rows = rows + height;
    cols = cols + width;
  }
  if (c.tensors(0).empty()) return c.fresh(kDefaultFloat, {1, 0});
  return c.fresh(type.get().value_or(kDefaultFloat), {rows, cols});
}
void block_diag_kernel(KernelCall& k) {
  std::vector<Complex> values(static_cast<std::size_t>(k.out().numel()), 0);
  const auto width = k.out().sizes()[1];
  std::int64_t row = 0;
  std::int64_t col = 0;
  for (const auto* tensor : k.tensors(0)) {
    const auto block = to_vector<Complex>(*tensor);
    const auto& sizes = tensor->sizes();
    const auto cols = sizes.empty() ? 1 : sizes.back();
    const auto rows = sizes.size() == 2 ? sizes[0] : 1;
    for (std::int64_t i = 0; i < rows * cols; ++i)
      values[static_cast<std::size_t>((row + i / cols) * width + col + i % cols)] =
          block[static_cast<std::size_t>(i)];
    row += rows;
    col += cols;
  }
  from_vector<Complex>(k.out(), values);
}

/// tensors, dim, num_chunks: each padded with zeros to a multiple of the chunks along dim, cut, and
/// the pieces with the same number put side by side, flattened behind dim.
auto chunk_cat(Composer& c) -> Datum {
  const auto* tensors = c.arg(0).list();
  const auto count = c.integer(2);
  if (!tensors || tensors->empty() || count < 1)
    return c.fail("there are tensors and a positive number of chunks"), Datum{};
  DatumList parts;
  for (const auto& tensor : *tensors) {
    const auto meta = c.meta(tensor);
    const auto dim = wrap_index(c.integer(1), meta.rank());
    if (dim < 0) return c.fail("the dimension is out of range"), Datum{};
    const auto at = static_cast<std::size_t>(dim);
    const auto length = ceil_div(meta.sizes[at], Expr(count));
    const auto missing = length * count - meta.sizes[at];
    Dims padding(2 * (meta.sizes.size() - at), Expr(0));
    padding.back() = missing;
    auto part = c.call("aten.constant_pad_nd.default", {tensor, int_list(padding)});
    Dims sizes(meta.sizes.begin(), meta.sizes.begin() + dim);
    Expr rest = length;
    for (auto d = at + 1; d < meta.sizes.size(); ++d) rest = rest * meta.sizes[d];
    sizes.insert(sizes.end(), {Expr(count), rest});
    parts.push_back(c.call("aten.reshape.default", {part, int_list(sizes)}));
    if (c.error()) return {};
  }
  return c.call("aten.cat.default", {Datum{std::move(parts)}, Datum{Expr(-1)}});
}

// ---- the same storage at other sizes ------------------------------------------------------------

/// resize_: the sizes as they are, or row-major (or in the format given) from the same offset.
auto resized(MetaCall& c, const Dims& sizes, std::optional<MemoryFormat> format) -> Datum {
  const auto& self = c.meta(0);
  for (const auto& size : sizes)
    if (!c.require(ge(size, 0), "sizes are not negative")) return {};
  const bool has_format =
      format == MemoryFormat::channels_last || format == MemoryFormat::channels_last_3d;
  const std::size_t rank = format == MemoryFormat::channels_last ? 4 : 5;
  if (has_format && !c.require(sizes.size() == rank, "the format fits the dimensions")) return {};
  bool same = self.sizes.size() == sizes.size();
  for (std::size_t i = 0; same && i < sizes.size(); ++i)
    same = c.decide(eq(self.sizes[i], sizes[i]), "the sizes stay");
  const bool keeps = !format || *format == MemoryFormat::preserve;
  auto strides =
      keeps ? (same ? self.strides : contiguous_strides(sizes)) : strides_for(sizes, *format);
  return MetaCall::view(c.tensor(0), sizes, std::move(strides), self.offset);
}
auto resize_rule(MetaCall& c) -> Datum {
  return resized(c, c.exprs(1), c.memory_format(2));
}
/// The same before a result is written, which then fills all of it: the storage may grow.
auto resize_output_rule(MetaCall& c) -> Datum {
  return resized(c, c.exprs(1), std::nullopt);
}
/// Preserving the format means the template's.
auto resize_as_rule(MetaCall& c) -> Datum {
  const auto& other = c.meta(1);
  auto format = c.memory_format(2);
  if (format == MemoryFormat::preserve) format = suggest_memory_format(c, other);
  return resized(c, other.sizes, format);
}

// ---- questions and sums -------------------------------------------------------------------------

/// self, other, rtol, atol, equal_nan.
auto allclose_rule(MetaCall& c) -> Datum {
  if (!c.require(c.meta(0).dtype == c.meta(1).dtype, "both have one dtype")) return {};
  broadcast(c, c.meta(0).sizes, c.meta(1).sizes);
  return {eq(c.context().data_dependent_value(ExprType::integer), 1)};
}
auto measure_allclose(KernelCall& k) -> Dims {
  const auto sizes = common_sizes(k.in(0).sizes(), k.in(1).sizes());
  if (!sizes) return k.fail("the tensors do not broadcast"), Dims{0};
  const auto a = to_vector<Complex>(expanded_view(k.in(0), *sizes));
  const auto b = to_vector<Complex>(expanded_view(k.in(1), *sizes));
  const bool nan_equal = k.flag(4);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool nan = std::isnan(std::abs(a[i])) || std::isnan(std::abs(b[i]));
    const bool close =
        a[i] == b[i] || (std::isfinite(std::abs(a[i])) &&
                         std::abs(a[i] - b[i]) <= k.real(3) + std::abs(k.real(2) * b[i]));
    if (nan ? !(nan_equal && std::isnan(std::abs(a[i])) && std::isnan(std::abs(b[i]))) : !close)
      return {0};
  }
  return {1};
}

/// Exclusive or of the elements' bits, floating ones as double precision.
auto hash_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  const auto reduced = reduced_dims(c, 1, self.rank());
  if (c.error()) return {};
  if (is_complex(self.dtype)) return c.unsupported("complex elements are not hashed"), Datum{};
  return c.fresh(DType::uint64, reduced_sizes(self.sizes, reduced, c.flag(2)));
}
void hash_kernel(KernelCall& k) {
  const auto chosen = chosen_dims(k, 1, k.in(0).rank());
  const auto fold = [](const auto& row) {
    std::int64_t bits = 0;
    for (const auto x : row) bits ^= std::bit_cast<std::int64_t>(x);
    return bits;
  };
  if (is_floating(k.in(0).dtype()))
    reduce_rows<double, std::int64_t>(k.in(0), k.out(), chosen, fold);
  else
    reduce_rows<std::int64_t, std::int64_t>(k.in(0), k.out(), chosen, fold);
}

}  // namespace

// clang-format off
#define ASSAY_FACTORY "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
void add_assemble_rows(OpTable& t) {
  constexpr std::string_view kEnds[][3] = {{"", "Scalar", "Scalar"}, {".Tensor_Tensor", "Tensor", "Tensor"}, {".Tensor_Scalar", "Tensor", "Scalar"}, {".Scalar_Tensor", "Scalar", "Tensor"}};
  for (const auto& [overload, start, end] : kEnds) {
    t.add_owned({.schema_text = {}, .rule = spaced_rule, .kernel = linspace_kernel}, fmt::format("aten::linspace{}({} start, {} end, int steps, " ASSAY_FACTORY ") -> Tensor", overload, start, end));
    t.add_owned({.schema_text = {}, .rule = spaced_rule, .kernel = logspace_kernel}, fmt::format("aten::logspace{}({} start, {} end, int steps, float base=10., " ASSAY_FACTORY ") -> Tensor", overload, start, end));
  }
  t.add({.schema_text = "aten::block_diag(Tensor[] tensors) -> Tensor", .rule = block_diag_rule, .kernel = block_diag_kernel});
  t.add({.schema_text = "aten::_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor", .decomposition = chunk_cat});
  t.add({.schema_text = "aten::resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)", .rule = resize_rule});
  t.add({.schema_text = "aten::_resize_output_(Tensor(a!) self, SymInt[] size, Device device) -> Tensor(a!)", .rule = resize_output_rule, .uninitialised = true});
  t.add({.schema_text = "aten::resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)", .rule = resize_as_rule});
  t.add({.schema_text = "aten::allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool", .rule = allclose_rule, .measure = measure_allclose});
  t.add({.schema_text = "aten::hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor", .rule = hash_rule, .kernel = hash_kernel});
}
// clang-format on

}  // namespace assay
