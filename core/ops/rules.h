// Layout rules and small kernels that many operators share.
#pragma once
#include "core/ops/call.h"
#include "core/ops/elements.h"
#include "core/ops/layout.h"
#include "core/ops/op_table.h"

namespace assay {

/// Does the call run CUDA's kernel? Where its layouts differ from the CPU's, rules ask.
inline auto on_cuda(const TensorMeta& meta) -> bool {
  return meta.device.type == "cuda";
}
inline auto on_cuda(const RealMeta& meta) -> bool {
  return meta.device.type == "cuda";
}

/// Row-major result with the sizes and dtype of argument 0.
inline auto contiguous_like_self(MetaCall& c) -> Datum {
  return c.fresh(c.meta(0).dtype, c.meta(0).sizes);
}
/// The layout clone() gives: argument 0's strides if it is dense.
inline auto preserved_like_self(MetaCall& c) -> Datum {
  return c.fresh(c.meta(0).dtype, c.meta(0).sizes, preserved_strides(c, c.meta(0)));
}
/// The call writes argument 0 and returns it.
inline auto returns_self(MetaCall& c) -> Datum {
  return c.arg(0);
}

/// New sizes in the memory format that `like` suggests.
inline auto suggested(MetaCall& c, const TensorMeta& like, DType dtype, Dims sizes) -> Datum {
  auto strides = strides_for(sizes, suggest_memory_format(c, like));
  return c.fresh(dtype, std::move(sizes), std::move(strides));
}

/// The call is an error unless the two shapes are equal.
inline auto require_same_sizes(MetaCall& c, const Dims& a, const Dims& b, std::string_view message)
    -> bool {
  if (!c.require(a.size() == b.size(), message)) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i] && !c.require(eq(a[i], b[i]), message)) return false;
  return true;
}
/// The call is an error unless `from` broadcasts to exactly `sizes`.
inline auto require_expands(MetaCall& c, const Dims& from, const Dims& sizes,
                            std::string_view message) -> bool {
  if (!c.require(from.size() <= sizes.size(), message)) return false;
  const auto lead = sizes.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] != sizes[lead + i] && !c.decide(eq(from[i], 1), message) &&
        !c.require(eq(from[i], sizes[lead + i]), message))
      return false;
  return true;
}
/// An optional vector argument must have `count` elements.
inline auto require_count(MetaCall& c, int arg, const Expr& count, std::string_view message)
    -> bool {
  return !c.has(arg) || c.require(eq(numel(c.meta(arg)), count), message);
}
/// index_add and its kin (self, dim, index, source): source is self with the index's length at dim.
inline auto require_index_source(MetaCall& c) -> bool {
  const auto& self = c.meta(0);
  const auto& index = c.meta(2);
  const auto& source = c.meta(3);
  const auto dim = static_cast<std::size_t>(c.dim_arg(1, self.rank()));
  if (!c.require(index.dtype == DType::int64 || index.dtype == DType::int32,
                 "the index must be int32 or int64") ||
      !c.require(index.rank() <= 1, "the index is a vector") ||
      !c.require(source.dtype == self.dtype, "self and source must have one dtype"))
    return false;
  constexpr std::string_view kFits = "source has self's shape with the index's length at dim";
  if (self.rank() <= 1 && source.rank() <= 1)
    return c.require(eq(numel(source), numel(index)), kFits);
  auto sizes = self.sizes;
  if (!sizes.empty()) sizes[dim] = numel(index);
  return require_same_sizes(c, source.sizes, sizes, kFits);
}

/// Layout helpers need a MetaCall; a decomposition that decides on layouts makes one of its own.
inline auto layout_call(Composer& c) -> MetaCall {
  return {c.row(), c.args(), c.domain().context()};
}
/// Position of a parameter of the row; -1 if it has none of that name.
inline auto param(const Call& c, std::string_view name) -> int {
  return c.row().schema.index_of(name);
}
/// Kernel-side dimension argument; fails if it is out of range (a measure runs before the rule).
inline auto dim_of(KernelCall& k, int arg, int rank) -> int {
  const auto dim = wrap_index(k.integer(arg), std::max(rank, 1));
  if (dim < 0) k.fail(fmt::format("dimension {} is out of range", k.integer(arg)));
  return static_cast<int>(std::max<std::int64_t>(dim, 0));
}

}  // namespace assay
