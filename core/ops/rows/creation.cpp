// Operators that make tensors: constants, ranges, uninitialised memory.
#include <array>
#include <cmath>

#include "core/ops/layout.h"
#include "core/ops/op_table.h"
#include "core/ops/pointwise.h"

namespace assay {
namespace {

auto param(const Call& c, std::string_view name) -> int {
  return c.row().schema.index_of(name);
}

/// Applies the `dtype` and `device` arguments, which every factory has.
auto factory_dtype(MetaCall& c, DType fallback) -> DType {
  const int device = param(c, "device");
  if (device >= 0)
    if (const auto given = c.device(device)) c.set_device(*given);
  const int dtype = param(c, "dtype");
  return dtype < 0 ? fallback : c.dtype(dtype).value_or(fallback);
}

auto require_sizes(MetaCall& c, const Dims& sizes) -> bool {
  for (const auto& size : sizes)
    if (!size.is_const() || size.as_int().value_or(-1) < 0)
      if (!c.require(ge(size, 0), "sizes are not negative")) return false;
  return true;
}

auto strides_by_format(MetaCall& c, const Dims& sizes) -> Dims {
  const int format = param(c, "memory_format");
  return strides_for(sizes, format < 0
                                ? MemoryFormat::contiguous
                                : c.memory_format(format).value_or(MemoryFormat::contiguous));
}

/// Dtype a Python number gets when none is given: full, scalar_tensor.
auto dtype_of_number(MetaCall& c, int arg) -> DType {
  ResultType type;
  type.add_scalar(c.arg(arg));
  return type.get().value_or(kDefaultFloat);
}

/// zeros, ones, empty: sizes first. `full` takes its dtype from the value.
auto sized_rule(MetaCall& c) -> Datum {
  auto sizes = c.exprs(0);
  if (!require_sizes(c, sizes)) return {};
  const int fill = param(c, "fill_value");
  const auto dtype = factory_dtype(c, fill < 0 ? kDefaultFloat : dtype_of_number(c, fill));
  auto strides = strides_by_format(c, sizes);
  return c.fresh(dtype, std::move(sizes), std::move(strides));
}
auto strided_rule(MetaCall& c) -> Datum {  // empty_strided(size, stride, ...)
  auto sizes = c.exprs(0);
  if (!require_sizes(c, sizes)) return {};
  return c.fresh(factory_dtype(c, kDefaultFloat), std::move(sizes), c.exprs(1));
}
auto permuted_rule(MetaCall& c) -> Datum {  // empty_permuted(size, physical_layout, ...)
  auto sizes = c.exprs(0);
  const auto order = c.integers(1);
  if (!require_sizes(c, sizes)) return {};
  if (!c.require(order.size() == sizes.size(), "physical_layout must list every dimension"))
    return {};
  Dims strides(sizes.size(), Expr(1));
  Expr running(1);
  for (auto i = order.size(); i-- > 0;) {
    const auto dim = static_cast<std::size_t>(c.dim(order[i], static_cast<int>(sizes.size())));
    strides[dim] = running;
    running = running * max(sizes[dim], Expr(1));
  }
  return c.fresh(factory_dtype(c, kDefaultFloat), std::move(sizes), std::move(strides));
}
auto new_rule(MetaCall& c) -> Datum {  // new_empty(self, size, ...)
  auto sizes = c.exprs(1);
  if (!require_sizes(c, sizes)) return {};
  return c.fresh(factory_dtype(c, c.meta(0).dtype), std::move(sizes));
}
auto new_strided_rule(MetaCall& c) -> Datum {  // new_empty_strided(self, size, stride, ...)
  return c.fresh(factory_dtype(c, c.meta(0).dtype), c.exprs(1), c.exprs(2));
}
auto like_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  const auto format = c.memory_format(param(c, "memory_format")).value_or(MemoryFormat::preserve);
  auto strides = format_strides(c, self, format);
  return c.fresh(factory_dtype(c, self.dtype), self.sizes, std::move(strides));
}
auto scalar_rule(MetaCall& c) -> Datum {
  return c.fresh(factory_dtype(c, kDefaultFloat), {});
}

/// Number of steps: ceil((end - start) / step), at least 0.
auto range_length(MetaCall& c, const Expr& start, const Expr& end, const Expr& step) -> Expr {
  const bool integers = start.type() == ExprType::integer && end.type() == ExprType::integer &&
                        step.type() == ExprType::integer;
  if (!c.require(ne(step, 0), "the step is not zero")) return {};
  if (integers) {
    const bool up = c.decide(gt(step, 0), "direction of a range");
    const auto span = up ? end - start : start - end;
    if (!c.require(ge(span, 0), "the bounds agree with the direction of the step")) return {};
    return ceil_div(span, up ? step : -step);
  }
  if (!start.is_const() || !end.is_const() || !step.is_const()) {
    const auto real = [](const Expr& e) {
      return e.type() == ExprType::real ? e : make(ExprOp::to_float, std::array{e});
    };
    const auto quotient =
        make(ExprOp::float_true_div, std::array{real(end) - real(start), real(step)});
    const auto length = make(ExprOp::ceil_to_int, std::array{quotient});
    if (!c.require(ge(length, 0), "the bounds agree with the direction of the step")) return {};
    return length;
  }
  const double length = std::ceil((end.as_number().value_or(0) - start.as_number().value_or(0)) /
                                  step.as_number().value_or(1));
  if (!c.require(length >= 0, "the bounds agree with the direction of the step")) return {};
  return static_cast<std::int64_t>(length);
}

struct Range {
  Expr start, end, step;
};
auto range_of(const Call& c) -> Range {
  const int start = param(c, "start");
  const int step = param(c, "step");
  const auto number = [&](int i, Expr otherwise) {
    if (i < 0) return otherwise;
    const auto given = c.expr(i);
    const auto flag = given.as_bool();
    return flag ? Expr(*flag ? 1 : 0) : given;  // as in Python, bools count
  };
  return {number(start, 0), number(param(c, "end"), 0), number(step, 1)};
}
auto arange_rule(MetaCall& c) -> Datum {
  const auto [start, end, step] = range_of(c);
  bool real = false;
  for (const auto* bound : {&start, &end, &step}) real = real || bound->type() == ExprType::real;
  const auto length = range_length(c, start, end, step);
  return c.fresh(factory_dtype(c, real ? kDefaultFloat : DType::int64), {length});
}
/// range: the end counts as well, and numbers are floats unless a dtype is given.
auto inclusive_range_rule(MetaCall& c) -> Datum {
  const auto [start, end, step] = range_of(c);
  if (!start.is_const() || !end.is_const() || !step.is_const())
    return c.unsupported("a range between symbols with its end"), Datum{};
  const double width = end.as_number().value_or(0) - start.as_number().value_or(0);
  const double by = step.as_number().value_or(1);
  if (!c.require(by != 0, "the step is not zero") ||
      !c.require(width == 0 || (width > 0) == (by > 0), "the bounds agree with the step"))
    return {};
  return c.fresh(factory_dtype(c, kDefaultFloat),
                 {static_cast<std::int64_t>(std::floor(width / by) + 1)});
}
void write_range(Tensor& out, double start, double step) {
  const auto count = static_cast<std::size_t>(out.numel());
  if (is_floating(out.dtype())) {
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = start + static_cast<double>(i) * step;
    return from_vector<double>(out, values);
  }
  std::vector<std::int64_t> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<std::int64_t>(start) +
                static_cast<std::int64_t>(i) * static_cast<std::int64_t>(step);
  from_vector<std::int64_t>(out, values);
}
void arange_kernel(KernelCall& k) {
  const auto [start, end, step] = range_of(k);
  write_range(k.out(), start.as_number().value_or(0), step.as_number().value_or(1));
}
auto iota_rule(MetaCall& c) -> Datum {
  return c.fresh(factory_dtype(c, DType::int64), {c.expr(0)});
}
void iota_kernel(KernelCall& k) {
  write_range(k.out(), k.real(1), k.real(2));
}

auto eye_rule(MetaCall& c) -> Datum {
  const int columns = param(c, "m");
  return c.fresh(factory_dtype(c, kDefaultFloat),
                 {c.expr(0), columns < 0 ? c.expr(0) : c.expr(columns)});
}
void eye_kernel(KernelCall& k) {
  auto& out = k.out();
  std::vector<std::int64_t> values(static_cast<std::size_t>(out.numel()), 0);
  for (std::int64_t i = 0; i < std::min(out.sizes()[0], out.sizes()[1]); ++i)
    values[static_cast<std::size_t>(i * out.sizes()[1] + i)] = 1;
  from_vector<std::int64_t>(out, values);
}

void fill_with(KernelCall& k, const Complex& number) {
  auto& out = k.out();
  with_compute_type(out.dtype(), [&]<class T>(T) {
    T value{};
    if constexpr (Cplx<T>)
      value = number;
    else
      value = static_cast<T>(number.real());
    if (out.dtype() == DType::boolean) value = number != Complex(0) ? T(1) : T(0);
    from_vector<T>(out, std::vector<T>(static_cast<std::size_t>(out.numel()), value));
  });
}
/// Integers beyond 2^53 must not pass through double.
void value_kernel(KernelCall& k) {
  const int fill = param(k, "fill_value") >= 0 ? param(k, "fill_value") : param(k, "s");
  const auto whole = k.expr(fill).as_int();
  auto& out = k.out();
  if (whole && is_integer(out.dtype()))
    return from_vector<std::int64_t>(
        out, std::vector<std::int64_t>(static_cast<std::size_t>(out.numel()), *whole));
  fill_with(k, k.number(fill));
}
void zero_kernel(KernelCall&) {}  // allocations are zero-filled
void one_kernel(KernelCall& k) {
  fill_with(k, 1.0);
}

}  // namespace

// clang-format off
#define ASSAY_FACTORY "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
void add_creation_rows(OpTable& t) {
  t.add({.schema_text = "aten::empty.memory_format(SymInt[] size, " ASSAY_FACTORY ", MemoryFormat? memory_format=None) -> Tensor", .rule = sized_rule, .kernel = zero_kernel, .uninitialised = true});
  t.add({.schema_text = "aten::empty_strided(SymInt[] size, SymInt[] stride, " ASSAY_FACTORY ") -> Tensor", .rule = strided_rule, .kernel = zero_kernel, .uninitialised = true});
  t.add({.schema_text = "aten::empty_permuted(SymInt[] size, int[] physical_layout, " ASSAY_FACTORY ") -> Tensor", .rule = permuted_rule, .kernel = zero_kernel, .uninitialised = true});
  t.add({.schema_text = "aten::empty_like(Tensor self, " ASSAY_FACTORY ", MemoryFormat? memory_format=None) -> Tensor", .rule = like_rule, .kernel = zero_kernel, .uninitialised = true});
  t.add({.schema_text = "aten::new_empty(Tensor self, SymInt[] size, " ASSAY_FACTORY ") -> Tensor", .rule = new_rule, .kernel = zero_kernel, .uninitialised = true});
  t.add({.schema_text = "aten::new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, " ASSAY_FACTORY ") -> Tensor", .rule = new_strided_rule, .kernel = zero_kernel, .uninitialised = true});
  t.add({.schema_text = "aten::_efficientzerotensor(SymInt[] size, " ASSAY_FACTORY ") -> Tensor", .rule = sized_rule, .kernel = zero_kernel, .uninitialised = true});
  t.add({.schema_text = "aten::zeros(SymInt[] size, " ASSAY_FACTORY ") -> Tensor", .rule = sized_rule, .kernel = zero_kernel});
  t.add({.schema_text = "aten::ones(SymInt[] size, " ASSAY_FACTORY ") -> Tensor", .rule = sized_rule, .kernel = one_kernel});
  t.add({.schema_text = "aten::full(SymInt[] size, Scalar fill_value, " ASSAY_FACTORY ") -> Tensor", .rule = sized_rule, .kernel = value_kernel});
  t.add({.schema_text = "aten::zeros_like(Tensor self, " ASSAY_FACTORY ", MemoryFormat? memory_format=None) -> Tensor", .rule = like_rule, .kernel = zero_kernel});
  t.add({.schema_text = "aten::ones_like(Tensor self, " ASSAY_FACTORY ", MemoryFormat? memory_format=None) -> Tensor", .rule = like_rule, .kernel = one_kernel});
  t.add({.schema_text = "aten::full_like(Tensor self, Scalar fill_value, " ASSAY_FACTORY ", MemoryFormat? memory_format=None) -> Tensor", .rule = like_rule, .kernel = value_kernel});
  t.add({.schema_text = "aten::new_zeros(Tensor self, SymInt[] size, " ASSAY_FACTORY ") -> Tensor", .rule = new_rule, .kernel = zero_kernel});
  t.add({.schema_text = "aten::new_ones(Tensor self, SymInt[] size, " ASSAY_FACTORY ") -> Tensor", .rule = new_rule, .kernel = one_kernel});
  t.add({.schema_text = "aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, " ASSAY_FACTORY ") -> Tensor", .rule = new_rule, .kernel = value_kernel});
  t.add({.schema_text = "aten::scalar_tensor(Scalar s, " ASSAY_FACTORY ") -> Tensor", .rule = scalar_rule, .kernel = value_kernel});
  t.add({.schema_text = "aten::arange(Scalar end, " ASSAY_FACTORY ") -> Tensor", .rule = arange_rule, .kernel = arange_kernel});
  t.add({.schema_text = "aten::arange.start(Scalar start, Scalar end, " ASSAY_FACTORY ") -> Tensor", .rule = arange_rule, .kernel = arange_kernel});
  t.add({.schema_text = "aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, " ASSAY_FACTORY ") -> Tensor", .rule = arange_rule, .kernel = arange_kernel});
  t.add({.schema_text = "aten::range(Scalar start, Scalar end, " ASSAY_FACTORY ") -> Tensor", .rule = inclusive_range_rule, .kernel = arange_kernel});
  t.add({.schema_text = "aten::range.step(Scalar start, Scalar end, Scalar step=1, " ASSAY_FACTORY ") -> Tensor", .rule = inclusive_range_rule, .kernel = arange_kernel});
  t.add({.schema_text = "prims::iota(SymInt length, *, SymInt start, SymInt step, ScalarType dtype, Device device, bool requires_grad) -> Tensor", .rule = iota_rule, .kernel = iota_kernel});
  t.add({.schema_text = "aten::eye(SymInt n, " ASSAY_FACTORY ") -> Tensor", .rule = eye_rule, .kernel = eye_kernel});
  t.add({.schema_text = "aten::eye.m(SymInt n, SymInt m, " ASSAY_FACTORY ") -> Tensor", .rule = eye_rule, .kernel = eye_kernel});
}
// clang-format on

}  // namespace assay
