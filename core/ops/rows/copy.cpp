// Copies: clone, casts, concatenation, repetition, writing into an existing tensor.
#include "core/expr/text.h"
#include "core/ops/elements.h"
#include "core/ops/layout.h"
#include "core/ops/op_table.h"
#include "core/ops/pointwise.h"

namespace assay {
namespace {

auto param(const Call& c, std::string_view name) -> int {
  return c.row().schema.index_of(name);
}

/// Result of self's shape in a format (preserve if none is given) and dtype.
auto copied_like(MetaCall& c, DType dtype) -> Datum {
  const auto& self = c.meta(0);
  const int i = param(c, "memory_format");
  const auto format =
      i < 0 ? MemoryFormat::preserve : c.memory_format(i).value_or(MemoryFormat::preserve);
  auto strides = format_strides(c, self, format);
  return c.fresh(dtype, self.sizes, std::move(strides));
}
auto clone_rule(MetaCall& c) -> Datum {
  return copied_like(c, c.meta(0).dtype);
}
auto cast_rule(MetaCall& c) -> Datum {
  const int device = param(c, "device");
  if (device >= 0)
    if (const auto given = c.device(device)) c.set_device(*given);
  return copied_like(c, c.dtype(param(c, "dtype")).value_or(c.meta(0).dtype));
}
void clone_kernel(KernelCall& k) {
  copy_elems(k.in(0), k.out());
}

/// Copies `from`, broadcast, into `to`; reads everything first, so overlap does no harm.
void broadcast_copy(const Tensor& from, Tensor& to) {
  Tensor seen = from;
  seen.meta.sizes = to.sizes();
  seen.meta.strides = broadcast_strides(from, to.sizes());
  copy_elems(seen, to);
}

/// The source broadcasts to self without changing its shape.
auto require_source_fits(MetaCall& c) -> bool {
  if (!c.is_tensor(1)) return true;
  const auto& self = c.meta(0).sizes;
  const auto sizes = broadcast(c, self, c.meta(1).sizes);
  if (c.error()) return false;
  if (!c.require(sizes.size() == self.size(), "the source broadcasts to self")) return false;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] != self[i] && !c.require(eq(sizes[i], self[i]), "the source broadcasts to self"))
      return false;
  return true;
}

/// copy_: writes src into self and returns self.
auto copy_into_rule(MetaCall& c) -> Datum {
  return require_source_fits(c) ? c.arg(0) : Datum{};
}
void copy_into_kernel(KernelCall& k) {
  Tensor self = k.in(0);
  if (k.is_tensor(1)) return broadcast_copy(k.in(1), self);
  from_vector<Complex>(self,
                       std::vector<Complex>(static_cast<std::size_t>(self.numel()), k.number(1)));
}

/// copy: the functional form keeps self's layout inside a storage as large as self's.
auto functional_copy_rule(MetaCall& c) -> Datum {
  if (!require_source_fits(c)) return {};
  const auto& self = c.meta(0);
  // A self that overlaps itself is cloned first, which gives every element a place of its own.
  for (std::size_t i = 0; i < self.sizes.size(); ++i)
    if (c.decide(eq(self.strides[i], 0), "stride 0") && c.decide(gt(self.sizes[i], 1), "stride 0"))
      return c.fresh(self.dtype, self.sizes, preserved_strides(c, self));
  auto result = c.fresh(self.dtype, self.sizes, self.strides);
  std::get<FakeTensor>(result.value).meta.offset = self.offset;
  return result;
}
void functional_copy_kernel(KernelCall& k) {
  broadcast_copy(k.in(1), k.out());
}

/// at::native::cat: legacy 1-D empties are skipped; channels last only if every input suggests it.
auto is_skipped(MetaCall& c, const TensorMeta& meta) -> bool {
  return meta.rank() == 1 && c.decide(eq(meta.sizes[0], 0), "empty operand of cat");
}
auto cat_rule(MetaCall& c) -> Datum {
  const auto tensors = c.tensors(0);
  ResultType type;
  const TensorMeta* first = nullptr;
  std::vector<MemoryFormat> formats;
  for (const auto* tensor : tensors) {
    type.add_tensor(tensor->meta.dtype, tensor->meta.rank());
    formats.push_back(suggest_memory_format(c, tensor->meta));
    if (!first && !is_skipped(c, tensor->meta)) first = &tensor->meta;
  }
  const auto dtype = type.get();
  if (!dtype) return c.fail("cat needs tensors whose dtypes promote"), Datum{};
  if (!first) return c.fresh(*dtype, {Expr(0)});
  if (!c.require(first->rank() > 0, "tensors without dimensions cannot be concatenated")) return {};
  const auto dim = static_cast<std::size_t>(c.dim_arg(1, first->rank()));
  auto sizes = first->sizes;
  sizes[dim] = 0;
  for (const auto* tensor : tensors) {
    const auto& meta = tensor->meta;
    if (&meta != first && is_skipped(c, meta)) continue;
    if (!c.require(meta.rank() == first->rank(), "all tensors of cat have one rank")) return {};
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (i != dim && meta.sizes[i] != first->sizes[i] &&
          !c.require(eq(meta.sizes[i], first->sizes[i]), "sizes agree outside the cat dimension"))
        return {};
    sizes[dim] = sizes[dim] + meta.sizes[dim];
  }
  const bool alike =
      std::ranges::adjacent_find(formats, std::ranges::not_equal_to{}) == formats.end();
  auto strides = strides_for(sizes, alike ? formats[0] : MemoryFormat::contiguous);
  return c.fresh(*dtype, std::move(sizes), std::move(strides));
}
void cat_kernel(KernelCall& k) {
  auto& out = k.out();
  const auto rank = out.rank();
  const auto raw = k.integer(1);
  const auto dim = static_cast<std::size_t>(raw < 0 ? raw + rank : raw);
  Tensor part = out;
  for (const auto* tensor : k.tensors(0)) {
    if (tensor->rank() == 1 && tensor->sizes()[0] == 0) continue;
    part.meta.sizes = tensor->sizes();
    if (tensor->numel() > 0) copy_elems(*tensor, part);
    part.meta.offset += tensor->sizes()[dim] * out.strides()[dim];
  }
}

/// stack is cat along the dimension, which a view then splits; at the end, where there is none to
/// split, it is cat of the unsqueezed tensors (TensorShape.cpp). Memory formats are cat's.
auto stack(Composer& c) -> Datum {
  const auto* tensors = c.arg(0).list();
  if (!tensors || tensors->empty()) return c.fail("stack needs at least one tensor"), Datum{};
  auto sizes = c.meta((*tensors)[0]).sizes;
  for (const auto& tensor : *tensors) {
    const auto other = c.meta(tensor).sizes;
    bool same = other.size() == sizes.size();
    for (std::size_t i = 0; same && i < sizes.size(); ++i)
      same = other[i] == sizes[i] ||
             c.decide(eq(other[i], sizes[i]), "all tensors of stack have one shape");
    if (!same) return c.fail("all tensors of stack have one shape"), Datum{};
  }
  const auto rank = static_cast<std::int64_t>(sizes.size());
  const auto dim = wrap_index(c.integer(1), rank + 1);
  if (dim < 0) return c.fail(fmt::format("dimension {} is out of range", c.integer(1))), Datum{};
  if (dim < rank) {
    const auto joined = c.call("aten.cat.default", {c.arg(0), Datum{Expr(dim)}});
    sizes.insert(sizes.begin() + dim, static_cast<std::int64_t>(tensors->size()));
    return c.call("aten.view.default", {joined, int_list(sizes)});
  }
  DatumList parts;
  for (const auto& tensor : *tensors)
    parts.push_back(c.call("aten.unsqueeze.default", {tensor, Datum{Expr(dim)}}));
  return c.call("aten.cat.default", {Datum{std::move(parts)}, Datum{Expr(dim)}});
}

auto repeat_rule(MetaCall& c) -> Datum {
  const auto& self = c.meta(0);
  auto sizes = c.exprs(1);
  if (!c.require(sizes.size() >= self.sizes.size(),
                 "repeat needs at least as many counts as dimensions"))
    return {};
  const auto lead = sizes.size() - self.sizes.size();
  for (std::size_t i = 0; i < self.sizes.size(); ++i)
    sizes[lead + i] = sizes[lead + i] * self.sizes[i];
  return c.fresh(self.dtype, std::move(sizes));
}
/// Every block of the result is a copy of self: walk self's index with the counts in front.
void repeat_kernel(KernelCall& k) {
  auto& out = k.out();
  const auto& self = k.in(0);
  const auto counts = k.integers(1);
  const auto lead = counts.size() - self.sizes().size();
  Tensor blocks = out;  // [counts..., self sizes...] over out
  Tensor source = self;
  blocks.meta.sizes = counts;
  source.meta.sizes = counts;
  source.meta.strides.assign(counts.size(), 0);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto own = i < lead ? 1 : self.sizes()[i - lead];
    blocks.meta.strides[i] = out.strides()[i] * own;
  }
  for (std::size_t i = 0; i < self.sizes().size(); ++i) {
    blocks.meta.sizes.push_back(self.sizes()[i]);
    blocks.meta.strides.push_back(out.strides()[lead + i]);
    source.meta.sizes.push_back(self.sizes()[i]);
    source.meta.strides.push_back(self.strides()[i]);
  }
  copy_elems(source, blocks);
}

/// fill_, zero_: write self and return it.
auto self_rule(MetaCall& c) -> Datum {
  return c.arg(0);
}
void zero_self_kernel(KernelCall& k) {
  Tensor self = k.in(0);
  from_vector<std::int64_t>(self,
                            std::vector<std::int64_t>(static_cast<std::size_t>(self.numel()), 0));
}
auto fill(Composer& c) -> Datum {
  return c.call("aten.full_like.default", {c.arg(0), c.arg(1)});
}
/// The value is a tensor of no dimensions.
auto fill_with_tensor(Composer& c) -> Datum {
  if (c.meta(1).rank() != 0) return c.fail("the value has no dimensions"), Datum{};
  const bool inplace = c.row().name().starts_with("aten.fill_.");
  return c.call("aten.copy_.default",
                {inplace ? c.arg(0) : c.call("aten.empty_like.default", {c.arg(0)}), c.arg(1)});
}
auto zero(Composer& c) -> Datum {
  return c.call("aten.zeros_like.default", {c.arg(0)});
}

}  // namespace

// clang-format off
void add_copy_rows(OpTable& t) {
  t.add({.schema_text = "aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", .rule = clone_rule, .kernel = clone_kernel});
  t.add({.schema_text = "aten::lift_fresh_copy(Tensor self) -> Tensor", .rule = clone_rule, .kernel = clone_kernel});
  t.add({.schema_text = "prims::convert_element_type(Tensor a, ScalarType dtype) -> Tensor", .rule = cast_rule, .kernel = clone_kernel});
  t.add({.schema_text = "aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor", .rule = cast_rule, .kernel = clone_kernel});
  t.add({.schema_text = "aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", .rule = functional_copy_rule, .kernel = functional_copy_kernel});
  t.add({.schema_text = "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)", .rule = copy_into_rule, .kernel = copy_into_kernel, .replaces_self = true});
  t.add({.schema_text = "aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)", .rule = self_rule, .kernel = copy_into_kernel, .replaces_self = true});
  t.add({.schema_text = "aten::fill.Scalar(Tensor self, Scalar value) -> Tensor", .decomposition = fill});
  t.add({.schema_text = "aten::fill.Tensor(Tensor self, Tensor value) -> Tensor", .decomposition = fill_with_tensor});
  t.add({.schema_text = "aten::fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)", .decomposition = fill_with_tensor, .replaces_self = true});
  t.add({.schema_text = "aten::zero(Tensor self) -> Tensor", .decomposition = zero});
  t.add({.schema_text = "aten::zero_(Tensor(a!) self) -> Tensor(a!)", .rule = self_rule, .kernel = zero_self_kernel, .replaces_self = true});
  t.add({.schema_text = "aten::cat(Tensor[] tensors, int dim=0) -> Tensor", .rule = cat_rule, .kernel = cat_kernel});
  t.add({.schema_text = "aten::stack(Tensor[] tensors, int dim=0) -> Tensor", .decomposition = stack});
  t.add({.schema_text = "aten::repeat(Tensor self, SymInt[] repeats) -> Tensor", .rule = repeat_rule, .kernel = repeat_kernel});
}
// clang-format on

}  // namespace assay
