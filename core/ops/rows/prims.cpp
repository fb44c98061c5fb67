// PyTorch's primitives, by the operators that carry them out (torch/_prims/__init__.py). Only
// programs that were traced through reference implementations hold them.
#include <algorithm>

#include "core/ops/composing.h"
#include "core/ops/reduce.h"

namespace assay {
namespace {

struct Primitive {
  std::string_view name;    ///< "abs" of prims::abs
  std::string_view target;  ///< takes the same arguments
};
constexpr Primitive kUnary[] = {
    {"abs", "aten.abs.default"},
    {"acos", "aten.acos.default"},
    {"acosh", "aten.acosh.default"},
    {"asin", "aten.asin.default"},
    {"asinh", "aten.asinh.default"},
    {"atan", "aten.atan.default"},
    {"atanh", "aten.atanh.default"},
    {"bessel_i0", "aten.i0.default"},
    {"bessel_i0e", "aten.special_i0e.default"},
    {"bessel_i1", "aten.special_i1.default"},
    {"bessel_i1e", "aten.special_i1e.default"},
    {"bessel_j0", "aten.special_bessel_j0.default"},
    {"bessel_j1", "aten.special_bessel_j1.default"},
    {"bitwise_not", "aten.bitwise_not.default"},
    {"ceil", "aten.ceil.default"},
    {"conj_physical", "aten._conj_physical.default"},
    {"cos", "aten.cos.default"},
    {"cosh", "aten.cosh.default"},
    {"digamma", "aten.digamma.default"},
    {"erf", "aten.erf.default"},
    {"erf_inv", "aten.erfinv.default"},
    {"erfc", "aten.erfc.default"},
    {"erfcx", "aten.special_erfcx.default"},
    {"exp", "aten.exp.default"},
    {"exp2", "aten.exp2.default"},
    {"expm1", "aten.expm1.default"},
    {"floor", "aten.floor.default"},
    {"isfinite", "aten.isfinite.default"},
    {"lgamma", "aten.lgamma.default"},
    {"log", "aten.log.default"},
    {"log10", "aten.log10.default"},
    {"log1p", "aten.log1p.default"},
    {"log2", "aten.log2.default"},
    {"ndtri", "aten.special_ndtri.default"},
    {"neg", "aten.neg.default"},
    {"reciprocal", "aten.reciprocal.default"},
    {"round", "aten.round.default"},
    {"rsqrt", "aten.rsqrt.default"},
    {"sign", "aten.sign.default"},
    {"signbit", "aten.signbit.default"},
    {"sin", "aten.sin.default"},
    {"sinh", "aten.sinh.default"},
    {"spherical_bessel_j0", "aten.special_spherical_bessel_j0.default"},
    {"sqrt", "aten.sqrt.default"},
    {"tan", "aten.tan.default"},
    {"tanh", "aten.tanh.default"},
    {"trunc", "aten.trunc.default"},
};
constexpr Primitive kBinary[] = {
    {"add", "aten.add.Tensor"},
    {"atan2", "aten.atan2.default"},
    {"bitwise_and", "aten.bitwise_and.Tensor"},
    {"bitwise_or", "aten.bitwise_or.Tensor"},
    {"bitwise_xor", "aten.bitwise_xor.Tensor"},
    {"eq", "aten.eq.Tensor"},
    {"fmax", "aten.fmax.default"},
    {"fmin", "aten.fmin.default"},
    {"fmod", "aten.fmod.Tensor"},
    {"gcd", "aten.gcd.default"},
    {"ge", "aten.ge.Tensor"},
    {"gt", "aten.gt.Tensor"},
    {"hypot", "aten.hypot.default"},
    {"igamma", "aten.igamma.default"},
    {"igammac", "aten.igammac.default"},
    {"le", "aten.le.Tensor"},
    {"lt", "aten.lt.Tensor"},
    {"maximum", "aten.maximum.default"},
    {"minimum", "aten.minimum.default"},
    {"mul", "aten.mul.Tensor"},
    {"ne", "aten.ne.Tensor"},
    {"nextafter", "aten.nextafter.default"},
    {"pow", "aten.pow.Tensor_Tensor"},
    {"remainder", "aten.remainder.Tensor"},
    {"shift_left", "aten.bitwise_left_shift.Tensor"},
    {"shift_right_arithmetic", "aten.bitwise_right_shift.Tensor"},
    {"sub", "aten.sub.Tensor"},
    {"zeta", "aten.special_zeta.default"},
};
/// Others with the arguments of their operator; `rest` is the schema behind the name.
struct SameArguments {
  std::string_view name, rest, target;
};
constexpr SameArguments kSame[] = {
    {"real", "(Tensor(a) self) -> Tensor(a)", "aten.real.default"},
    {"imag", "(Tensor(a) self) -> Tensor(a)", "aten.imag.default"},
    {"conj", "(Tensor(a) a) -> Tensor(a)", "aten.conj.default"},
    {"view_of_dtype", "(Tensor(a) a, ScalarType dtype) -> Tensor(a)", "aten.view.dtype"},
    {"cat", "(Tensor[] tensors, int dim) -> Tensor", "aten.cat.default"},
    {"clone", "(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", "aten.clone.default"},
    {"copy_to", "(Tensor(a!) a, Tensor b) -> Tensor(a!)", "aten.copy_.default"},
    {"fill", "(Tensor self, Scalar value) -> Tensor", "aten.fill.Scalar"},
    {"frexp", "(Tensor self) -> (Tensor mantissa, Tensor exponent)", "aten.frexp.Tensor"},
    {"item", "(Tensor a) -> Scalar", "aten.item.default"},
    {"where", "(Tensor pred, Tensor a, Tensor b) -> Tensor", "aten.where.self"},
    {"squeeze", "(Tensor(a) a, int[] dimensions) -> Tensor(a)", "aten.squeeze.dims"},
    {"transpose", "(Tensor(a) a, int[] permutation) -> Tensor(a)", "aten.permute.default"},
    {"reshape", "(Tensor a, SymInt[] shape) -> Tensor", "aten.reshape.default"},
    {"resize", "(Tensor(a!) a, SymInt[] shape) -> Tensor(a!)", "aten.resize_.default"},
    {"as_strided",
     "(Tensor(a!) a, SymInt[] size, SymInt[] stride, SymInt storage_offset) -> Tensor(a!)",
     "aten.as_strided.default"},
    {"as_strided_scatter",
     "(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt storage_offset) -> Tensor",
     "aten.as_strided_scatter.default"},
    {"svd", "(Tensor A, *, bool full_matrices) -> (Tensor U, Tensor S, Tensor Vh)",
     "aten.linalg_svd.default"},
};
auto carried_out(Composer& c) -> Datum {
  auto name = std::string_view(c.row().name());
  name.remove_prefix(std::string_view("prims.").size());
  name = name.substr(0, name.rfind('.'));
  const auto target_of = [&](const auto& table) -> std::string_view {
    const auto entry =
        std::ranges::find_if(table, [&](const auto& row) { return row.name == name; });
    return entry == std::end(table) ? std::string_view{} : entry->target;
  };
  for (const auto target : {target_of(kUnary), target_of(kBinary), target_of(kSame)})
    if (!target.empty()) return c.call(target, all_args(c));
  return c.fail("no operator carries it out"), Datum{};
}

// ---- those with arguments of their own ----------------------------------------------------------

/// inp, dims, output_dtype; nothing is reduced where no dims are named.
template <bool kHasDType>
auto reduce(Composer& c, std::string_view target) -> Datum {
  const auto dims = c.has(1) ? c.integers(1) : Ints{};
  auto result = c.arg(0);
  const auto dtype = c.dtype(2);
  if (dims.empty() && c.has(1))
    return call1(c, "aten.clone.default", dtype ? converted(c, result, *dtype) : result);
  if (kHasDType)
    return c.call(target,
                  {result, Datum{DatumList(c.arg(1).is_none() ? DatumList{} : *c.arg(1).list())},
                   truth(false), c.arg(2)});
  result = c.call(target, {result, c.has(1) ? c.arg(1) : int_list(Ints{}), truth(false)});
  return dtype ? converted(c, result, *dtype) : result;
}
auto sum(Composer& c) -> Datum {
  return reduce<true>(c, "aten.sum.dim_IntList");
}
auto amax(Composer& c) -> Datum {
  return reduce<false>(c, "aten.amax.default");
}
auto amin(Composer& c) -> Datum {
  return reduce<false>(c, "aten.amin.default");
}
auto prod(Composer& c) -> Datum {
  auto dims = c.has(1) ? c.integers(1) : Ints{};
  const auto rank = c.meta(0).rank();
  if (!c.has(1))
    for (std::int64_t d = 0; d < rank; ++d) dims.push_back(d);
  std::ranges::sort(dims, std::ranges::greater{});
  auto result = c.arg(0);
  const Datum dtype = c.has(2) ? c.arg(2) : Datum{c.meta(0).dtype};
  for (const auto dim : dims)
    result = c.call("aten.prod.dim_int", {result, integer(dim), truth(false), dtype});
  return result;
}
/// inp, dims, correction, output_dtype.
auto var(Composer& c) -> Datum {
  const auto result = c.call("aten.var.correction", {c.arg(0), c.arg(1), c.arg(2)});
  const auto dtype = c.dtype(3);
  return dtype ? converted(c, result, *dtype) : result;
}
/// a, shape, broadcast_dimensions: where each dimension of a goes.
auto broadcast_in_dim(Composer& c) -> Datum {
  const auto places = c.integers(2);
  const auto rank = static_cast<std::int64_t>(c.exprs(1).size());
  auto result = c.arg(0);
  for (std::int64_t d = 0; d < rank; ++d)
    if (std::ranges::find(places, d) == places.end()) result = unsqueezed(c, result, d);
  return call2(c, "aten.expand.default", result, c.arg(1));
}
/// a, start, end (inclusive): neighbouring dimensions as one.
template <bool kView>
auto collapse(Composer& c) -> Datum {
  const auto sizes = c.meta(0).sizes;
  const auto start = wrapped_dim(c, c.integer(1), c.meta(0).rank());
  const auto end = wrapped_dim(c, c.integer(2), c.meta(0).rank());
  if (c.error() || sizes.empty() || start > end)
    return call2(c, "aten.reshape.default", c.arg(0), int_list(Ints{1}));
  Dims joined(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(start));
  joined.push_back(product(std::span(sizes).subspan(start, end - start + 1)));
  joined.insert(joined.end(), sizes.begin() + static_cast<std::ptrdiff_t>(end) + 1, sizes.end());
  return call2(c, kView ? "aten.view.default" : "aten.reshape.default", c.arg(0), int_list(joined));
}
/// a, dim, outer_length.
auto split_dim(Composer& c) -> Datum {
  auto sizes = c.meta(0).sizes;
  const auto at = wrapped_dim(c, c.integer(1), c.meta(0).rank());
  if (c.error() || sizes.empty()) return c.fail("a dimension is needed"), Datum{};
  const auto inner = floor_div(sizes[at], c.expr(2));
  sizes[at] = c.expr(2);
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(at) + 1, inner);
  return call2(c, "aten.view.default", c.arg(0), int_list(sizes));
}
template <int kKind>
auto transform(Composer& c) -> Datum {
  const auto none = integer(0);
  constexpr std::string_view kTargets[] = {"aten._fft_c2c.default", "aten._fft_r2c.default",
                                           "aten._fft_c2r.default"};
  return c.call(kTargets[kKind], {c.arg(0), c.arg(1), none, c.arg(2)});
}
/// input, stride: itself where it has these strides, else a copy that does
/// (torch/_inductor/inductor_prims.py).
auto with_strides(Composer& c) -> Datum {
  const auto meta = c.meta(0);
  const auto wanted = c.exprs(1);
  if (wanted.size() != meta.strides.size()) return c.fail("a stride for each dimension"), Datum{};
  bool is_there = true;
  for (std::size_t d = 0; d < wanted.size() && is_there; ++d)
    is_there = meta.strides[d] == wanted[d] ||
               c.decide(eq(meta.strides[d], wanted[d]), "it has these strides");
  if (is_there) return c.arg(0);
  const auto copy =
      c.call("aten.new_empty_strided.default", {c.arg(0), int_list(meta.sizes), int_list(wanted)});
  return call2(c, "aten.copy_.default", copy, c.arg(0));
}
/// What makes tensors: the named argument positions, in the order that the operator takes them.
auto made(Composer& c, std::string_view target, std::initializer_list<int> leading) -> Datum {
  DatumList args;
  for (const int i : leading) args.push_back(c.arg(i));
  args.push_back(c.arg(param(c, "dtype")));
  args.emplace_back();
  args.push_back(c.arg(param(c, "device")));
  return c.call(target, std::move(args));
}
auto empty(Composer& c) -> Datum {
  return made(c, "aten.empty.memory_format", {0});
}
auto empty_strided(Composer& c) -> Datum {
  return made(c, "aten.empty_strided.default", {0, 1});
}
auto empty_permuted(Composer& c) -> Datum {
  return made(c, "aten.empty_permuted.default", {0, 1});
}
auto full(Composer& c) -> Datum {
  return made(c, "aten.full.default", {0, 1});
}
auto full_like(Composer& c) -> Datum {
  return made(c, "aten.full_like.default", {0, 1});
}
auto scalar_tensor(Composer& c) -> Datum {
  return made(c, "aten.scalar_tensor.default", {0});
}
/// A view with the sizes that a has; strides of single elements are those of a view.
auto view_of(Composer& c) -> Datum {
  return call2(c, "aten.view.default", c.arg(0), int_list(c.meta(0).sizes));
}
auto cube_root(Composer& c) -> Datum {
  // The root of the magnitude with the sign of the number.
  const auto root =
      c.call("aten.pow.Tensor_Scalar", {call1(c, "aten.abs.default", c.arg(0)), number(1.0 / 3)});
  return call2(c, "aten.copysign.Tensor", root, c.arg(0));
}
auto copy_strided(Composer& c) -> Datum {
  const auto meta = c.meta(0);
  const auto target =
      c.call("aten.empty_strided.default",
             {int_list(meta.sizes), c.arg(1), Datum{meta.dtype}, {}, Datum{meta.device}});
  return call2(c, "aten.copy_.default", target, c.arg(0));
}
/// shape, mean, std, dtype, device.
auto normal(Composer& c) -> Datum {
  const auto target = c.call("aten.empty.memory_format", {c.arg(0), c.arg(3), {}, c.arg(4)});
  return c.call("aten.normal_.default", {target, c.arg(1), c.arg(2)});
}
/// shape, low, high, dtype, device, stride.
auto uniform(Composer& c) -> Datum {
  const auto target =
      c.call("aten.empty_strided.default", {c.arg(0), c.arg(5), c.arg(3), {}, c.arg(4)});
  return c.call("aten.uniform_.default", {target, c.arg(1), c.arg(2)});
}
/// inp, dims, output_dtype: dims are gone.
auto xor_sum_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  if (!c.require(is_integer(self.dtype), "whole numbers are needed")) return {};
  auto reduced = reduced_dims(c, 1, self.rank());
  if (c.has(1) && c.exprs(1).empty()) reduced.assign(reduced.size(), false);
  return c.fresh(c.dtype(2).value_or(self.dtype), reduced_sizes(self.sizes, reduced, false));
}
void xor_sum_kernel(KernelCall& k) {
  auto chosen = chosen_dims(k, 1, k.in(0).rank());
  if (k.has(1) && k.integers(1).empty()) chosen.assign(chosen.size(), false);
  reduce_rows<std::int64_t, std::int64_t>(k.in(0), k.out(), chosen, [](auto row) {
    std::int64_t bits = 0;
    for (const auto value : row) bits ^= value;
    return bits;
  });
}
auto device_put(Composer& c) -> Datum {
  return c.call("aten._to_copy.default", {c.arg(0), {}, {}, c.arg(1), {}, c.arg(2)});
}

}  // namespace

// clang-format off
void add_prims_rows(OpTable& t) {
  const auto composed = [&](std::string_view schema, Decomposition decomposition) {
    t.add({.schema_text = schema, .decomposition = decomposition});
  };
  const auto same = [&](std::string schema) {
    t.add_owned({.schema_text = {}, .decomposition = carried_out}, std::move(schema));
  };
  for (const auto& row : kUnary) same(fmt::format("prims::{}(Tensor self) -> Tensor", row.name));
  for (const auto& row : kBinary) same(fmt::format("prims::{}(Tensor self, Tensor other) -> Tensor", row.name));
  for (const auto& row : kSame) same(fmt::format("prims::{}{}", row.name, row.rest));
  composed("prims::sum(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor", sum);
  composed("prims::prod(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor", prod);
  composed("prims::amax(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor", amax);
  composed("prims::amin(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor", amin);
  composed("prims::var(Tensor inp, int[]? dims, float? correction=1, *, ScalarType? output_dtype=None) -> Tensor", var);
  composed("prims::broadcast_in_dim(Tensor(a) a, SymInt[] shape, int[] broadcast_dimensions) -> Tensor(a)", broadcast_in_dim);
  composed("prims::collapse_view(Tensor(a) a, int start, int end) -> Tensor(a)", collapse<true>);
  composed("prims::collapse(Tensor a, int start, int end) -> Tensor", collapse<false>);
  composed("prims::split_dim(Tensor(a) a, int dim, SymInt outer_length) -> Tensor(a)", split_dim);
  composed("prims::fft_c2c(Tensor self, *, int[] dim, bool forward) -> Tensor", transform<0>);
  composed("prims::fft_r2c(Tensor self, *, int[] dim, bool onesided) -> Tensor", transform<1>);
  composed("prims::fft_c2r(Tensor self, *, int[] dim, SymInt last_dim_size) -> Tensor", transform<2>);
  composed("prims::full(SymInt[] shape, Scalar fill_value, *, ScalarType dtype, Device device, bool requires_grad) -> Tensor", full);
  composed("prims::full_like(Tensor a, Scalar fill_value, *, ScalarType dtype, Device device, bool requires_grad) -> Tensor", full_like);
  composed("prims::scalar_tensor(Scalar s, *, ScalarType? dtype=None, Device? device=None) -> Tensor", scalar_tensor);
  composed("prims::view_of(Tensor(a) a) -> Tensor(a)", view_of);
  composed("prims::cbrt(Tensor self) -> Tensor", cube_root);
  composed("prims::copy_strided(Tensor a, SymInt[] stride) -> Tensor", copy_strided);
  t.add({.schema_text = "prims::normal(SymInt[] shape, *, Scalar mean, Scalar std, ScalarType dtype, Device device, bool requires_grad, Generator? generator=None) -> Tensor", .decomposition = normal, .random = true});
  t.add({.schema_text = "prims::uniform(SymInt[] shape, *, Scalar low, Scalar high, ScalarType dtype, Device device, SymInt[] stride, Generator? generator=None) -> Tensor", .decomposition = uniform, .random = true});
  t.add({.schema_text = "prims::xor_sum(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor", .rule = xor_sum_rule, .kernel = xor_sum_kernel});
  composed("prims::inductor_force_stride_order(Tensor input, SymInt[] stride) -> Tensor", with_strides);
  composed("prims::device_put(Tensor a, Device device, bool non_blocking=False) -> Tensor", device_put);
  t.add({.schema_text = "prims::empty(SymInt[] shape, *, ScalarType dtype, Device device, bool requires_grad) -> Tensor", .decomposition = empty, .uninitialised = true});
  t.add({.schema_text = "prims::empty_strided(SymInt[] shape, SymInt[] strides, *, ScalarType dtype, Device device, bool requires_grad) -> Tensor", .decomposition = empty_strided, .uninitialised = true});
  t.add({.schema_text = "prims::empty_permuted(SymInt[] shape, int[] physical_layout, *, ScalarType dtype, Device device, bool requires_grad) -> Tensor", .decomposition = empty_permuted, .uninitialised = true});
}
// clang-format on

}  // namespace assay
