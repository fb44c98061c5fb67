#include "core/ops/layout.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>

#include "core/expr/text.h"
#include "core/ops/op_table.h"

namespace assay {
namespace {

/// Dims from innermost to outermost of the channels-last layouts.
auto channels_last_order(int rank) -> std::vector<std::size_t> {
  if (rank == 4) return {1, 3, 2, 0};
  return {1, 4, 3, 2, 0};
}

auto is_packed_in(MetaCall& c, const TensorMeta& meta, std::span<const std::size_t> order) -> bool {
  Expr expected(1);
  for (const auto dim : order) {
    if (c.decide(eq(meta.sizes[dim], 1), "size 1 in a layout test")) continue;
    if (!c.decide(eq(meta.strides[dim], expected), "packed layout")) return false;
    expected = expected * meta.sizes[dim];
  }
  return true;
}

auto is_empty(MetaCall& c, const TensorMeta& meta) -> bool {
  return std::ranges::any_of(
      meta.sizes, [&](const Expr& size) { return c.decide(eq(size, 0), "empty tensor"); });
}

auto row_major_order(std::size_t rank) -> std::vector<std::size_t> {
  std::vector<std::size_t> order(rank);
  for (std::size_t i = 0; i < rank; ++i) order[i] = rank - 1 - i;
  return order;
}

/// TensorIterator::reorder_dimensions' comparison of two dims over all operands:
/// positive = swap, negative = keep, 0 = ambiguous.
auto compare_dims(MetaCall& c, std::span<const Dims> strides, const Dims& sizes, std::size_t dim0,
                  std::size_t dim1) -> int {
  for (const auto& operand : strides) {
    const auto& s0 = operand[dim0];
    const auto& s1 = operand[dim1];
    if (c.decide(eq(s0, 0), "stride 0") || c.decide(eq(s1, 0), "stride 0")) continue;
    if (s0 != s1) {
      if (c.decide(lt(s0, s1), "order of strides")) return -1;
      if (c.decide(gt(s0, s1), "order of strides")) return 1;
    }
    if (sizes[dim0] != sizes[dim1] && c.decide(gt(sizes[dim0], sizes[dim1]), "tie of strides"))
      return 1;
  }
  return 0;
}

/// The insertion sort of TensorIterator: ambiguous comparisons leave the order and go on.
auto iteration_order(MetaCall& c, std::span<const Dims> strides, const Dims& sizes)
    -> std::vector<std::size_t> {
  auto perm = row_major_order(sizes.size());
  for (std::size_t i = 1; i < perm.size(); ++i) {
    auto dim1 = i;
    for (auto dim0 = i; dim0-- > 0;) {
      const int order = compare_dims(c, strides, sizes, perm[dim0], perm[dim1]);
      if (order > 0) {
        std::swap(perm[dim0], perm[dim1]);
        dim1 = dim0;
      } else if (order < 0) {
        break;
      }
    }
  }
  return perm;
}

/// Packed strides in the order found; in the plain row-major case empty tensors keep stride >= 1.
auto strides_in_order(const Dims& sizes, const std::vector<std::size_t>& order) -> Dims {
  if (order == row_major_order(sizes.size())) return contiguous_strides(sizes);
  Dims strides(sizes.size());
  Expr running(1);
  for (const auto dim : order) {
    strides[dim] = running;
    running = running * sizes[dim];
  }
  return strides;
}

auto same_strides(MetaCall& c, const TensorMeta& a, const TensorMeta& b) -> bool {
  for (std::size_t i = 0; i < a.strides.size(); ++i)
    if (a.strides[i] != b.strides[i] && !c.decide(eq(a.strides[i], b.strides[i]), "equal strides"))
      return false;
  return true;
}

auto same_sizes(MetaCall& c, const Dims& a, const Dims& b) -> bool {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i] && !c.decide(eq(a[i], b[i]), "operands of one shape")) return false;
  return true;
}

/// TensorIterator::compute_fast_setup_type for operands that all have the result's shape.
auto fast_strides(MetaCall& c, std::span<const TensorMeta* const> operands, const Dims& sizes)
    -> std::optional<Dims> {
  const auto all = [&](auto&& test) { return std::ranges::all_of(operands, test); };
  if (!all([&](const TensorMeta* m) { return same_sizes(c, m->sizes, sizes); }))
    return std::nullopt;
  if (all([&](const TensorMeta* m) { return is_contiguous(c, *m); }))
    return contiguous_strides(sizes);
  if (sizes.size() == 4 &&
      all([&](const TensorMeta* m) { return is_contiguous(c, *m, MemoryFormat::channels_last); }))
    return channels_last_strides(sizes);
  const bool dense = all([&](const TensorMeta* m) { return is_dense(c, *m); });
  if (dense && all([&](const TensorMeta* m) { return same_strides(c, *m, *operands[0]); }))
    return operands[0]->strides;
  return std::nullopt;
}

auto is_wrapped_number(const Datum& datum) -> bool {
  return datum.scalar() || std::holds_alternative<Complex>(datum.value);
}

/// c10 combine_categories: the higher category keeps its dtype unless the lower one has a "bigger
/// kind" (complex > float > integer > bool).
auto combine(std::optional<DType> higher, std::optional<DType> lower, bool& refused)
    -> std::optional<DType> {
  if (!higher) return lower;
  if (!lower || is_complex(*higher)) return higher;
  if (is_floating(*higher)) {
    if (!is_complex(*lower)) return higher;
    return *higher == DType::bfloat16 ? DType::complex64 : complex_of(*higher);
  }
  if (*higher == DType::boolean || is_floating(*lower) || is_complex(*lower)) {
    const auto both = promote(*higher, *lower);
    if (!both) refused = true;
    return both;
  }
  return higher;
}

auto scalar_dtype(const Datum& number) -> DType {
  if (std::holds_alternative<Complex>(number.value)) return DType::complex64;
  switch (number.scalar()->type()) {
    case ExprType::integer:
      return DType::int64;
    case ExprType::real:
      return kDefaultFloat;
    case ExprType::boolean:
      return DType::boolean;
  }
  return DType::int64;
}

}  // namespace

auto broadcast(MetaCall& c, const Dims& a, const Dims& b) -> Dims {
  const auto& longer = a.size() >= b.size() ? a : b;
  const auto& shorter = a.size() >= b.size() ? b : a;
  Dims sizes = longer;
  const auto lead = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    auto& size = sizes[lead + i];
    if (size == shorter[i]) continue;
    if (c.decide(eq(shorter[i], 1), "broadcast")) continue;
    if (c.decide(eq(size, 1), "broadcast")) {
      size = shorter[i];
      continue;
    }
    if (!c.context().require(eq(size, shorter[i]), "sizes broadcast")) {
      c.fail(fmt::format("sizes {} and {} do not broadcast at dimension {}", print_expr(size),
                         print_expr(shorter[i]), lead + i));
      return sizes;
    }
    if (shorter[i].is_const()) size = shorter[i];
  }
  return sizes;
}

auto expanded_strides(MetaCall& c, const TensorMeta& meta, const Dims& sizes) -> Dims {
  Dims strides(sizes.size(), Expr(0));
  const auto lead = sizes.size() - meta.sizes.size();
  for (std::size_t i = 0; i < meta.sizes.size(); ++i) {
    const bool grows = meta.sizes[i] != sizes[lead + i] &&
                       c.decide(eq(meta.sizes[i], 1), "broadcast") &&
                       c.decide(ne(sizes[lead + i], 1), "broadcast");
    strides[lead + i] = grows ? Expr(0) : meta.strides[i];
  }
  return strides;
}

auto iterator_strides(MetaCall& c, std::span<const TensorMeta* const> operands, const Dims& sizes)
    -> Dims {
  if (operands.empty()) return contiguous_strides(sizes);
  if (auto fast = fast_strides(c, operands, sizes)) return *std::move(fast);
  std::vector<Dims> strides;
  for (const auto* operand : operands) strides.push_back(expanded_strides(c, *operand, sizes));
  return strides_in_order(sizes, iteration_order(c, strides, sizes));
}

auto preserved_strides(MetaCall& c, const TensorMeta& meta) -> Dims {
  if (is_dense(c, meta)) return meta.strides;
  // at::infer_dense_strides: stride order with ties and zeros resolved towards row-major.
  const auto rank = meta.sizes.size();
  auto perm = row_major_order(rank);
  const auto should_swap = [&](std::size_t dim0, std::size_t dim1) -> int {
    const auto& s0 = meta.strides[dim0];
    const auto& s1 = meta.strides[dim1];
    if (c.decide(eq(s0, 0), "stride 0") || c.decide(eq(s1, 0), "stride 0")) return 0;
    if (s0 != s1) {  // which may be equal for these sizes
      if (c.decide(lt(s0, s1), "order of strides")) return -1;
      if (c.decide(lt(s1, s0), "order of strides")) return 1;
    }
    return c.decide(gt(meta.sizes[dim0], meta.sizes[dim1]), "tie of strides") ? 1 : 0;
  };
  for (std::size_t i = 1; i < rank; ++i) {
    auto dim1 = i;
    for (auto dim0 = i; dim0-- > 0;) {
      const int order = should_swap(perm[dim0], perm[dim1]);
      if (order > 0) {
        std::swap(perm[dim0], perm[dim1]);
        dim1 = dim0;
      } else if (order < 0) {
        break;
      }
    }
  }
  Dims strides(rank);
  Expr running(1);
  for (const auto dim : perm) {
    strides[dim] = running;
    running = running * max(meta.sizes[dim], Expr(1));
  }
  return strides;
}

auto strides_for(const Dims& sizes, MemoryFormat format) -> Dims {
  const bool last = (format == MemoryFormat::channels_last && sizes.size() == 4) ||
                    (format == MemoryFormat::channels_last_3d && sizes.size() == 5);
  return last ? channels_last_strides(sizes) : contiguous_strides(sizes);
}

auto format_strides(MetaCall& c, const TensorMeta& like, MemoryFormat format) -> Dims {
  if (format == MemoryFormat::preserve) return preserved_strides(c, like);
  const int wanted = format == MemoryFormat::channels_last ? 4 : 5;
  if (format != MemoryFormat::contiguous && like.rank() != wanted)
    c.fail(fmt::format("channels last needs rank {}, got {}", wanted, like.rank()));
  return strides_for(like.sizes, format);
}

auto is_contiguous(MetaCall& c, const TensorMeta& meta) -> bool {
  return is_empty(c, meta) || is_packed_in(c, meta, row_major_order(meta.sizes.size()));
}

auto is_contiguous(MetaCall& c, const TensorMeta& meta, MemoryFormat format) -> bool {
  if (format == MemoryFormat::contiguous || format == MemoryFormat::preserve)
    return is_contiguous(c, meta);
  const int rank = format == MemoryFormat::channels_last ? 4 : 5;
  return meta.rank() == rank && is_packed_in(c, meta, channels_last_order(rank));
}

auto is_dense(MetaCall& c, const TensorMeta& meta) -> bool {
  if (is_contiguous(c, meta)) return true;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < meta.sizes.size(); ++i)
    if (!c.decide(lt(meta.sizes[i], 2), "size 1 in a layout test")) order.push_back(i);
  // Insertion sort by stride: comparisons of symbols are decisions, so keep them few and stable.
  for (std::size_t i = 1; i < order.size(); ++i)
    for (auto j = i; j > 0; --j) {
      const auto& inner = meta.strides[order[j]];
      const auto& outer = meta.strides[order[j - 1]];
      if (inner == outer || !c.decide(lt(inner, outer), "order of strides")) break;
      std::swap(order[j], order[j - 1]);
    }
  Expr expected(1);
  for (const auto dim : order) {
    if (meta.strides[dim] != expected && !c.decide(eq(meta.strides[dim], expected), "dense layout"))
      return false;
    expected = expected * meta.sizes[dim];
  }
  return true;
}

auto suggest_memory_format(MetaCall& c, const TensorMeta& meta) -> MemoryFormat {
  if (meta.rank() != 4 && meta.rank() != 5) return MemoryFormat::contiguous;
  const auto order = channels_last_order(meta.rank());
  if (c.decide(eq(meta.strides[1], 0), "channel stride")) return MemoryFormat::contiguous;
  // c10::is_channels_last_strides_2d_s4 / _3d_s5, including their ambiguous cases.
  Expr smallest(0);
  for (const auto dim : order) {
    if (c.decide(eq(meta.sizes[dim], 0), "empty tensor")) return MemoryFormat::contiguous;
    if (meta.strides[dim] != smallest && c.decide(lt(meta.strides[dim], smallest), "channels last"))
      return MemoryFormat::contiguous;
    if (dim == 0 &&
        (smallest == meta.strides[1] || c.decide(eq(smallest, meta.strides[1]), "channels last")))
      return MemoryFormat::contiguous;
    smallest = meta.strides[dim];
    if (c.decide(gt(meta.sizes[dim], 1), "channels last")) smallest = smallest * meta.sizes[dim];
  }
  return meta.rank() == 4 ? MemoryFormat::channels_last : MemoryFormat::channels_last_3d;
}

void ResultType::add_tensor(DType dtype, int rank) {
  auto& slot = rank > 0 ? dim_ : zero_;
  if (!slot) {
    slot = dtype;
    return;
  }
  const auto both = promote(*slot, dtype);
  if (!both)
    refused_ = true;
  else
    slot = both;
}

void ResultType::add_scalar(const Datum& number) {
  const auto dtype = scalar_dtype(number);
  wrapped_ = wrapped_ ? promote(*wrapped_, dtype) : dtype;
}

void ResultType::add(MetaCall& c, int i) {
  if (is_wrapped_number(c.arg(i))) return add_scalar(c.arg(i));
  if (c.is_tensor(i)) return add_tensor(c.meta(i).dtype, c.meta(i).rank());
}

auto ResultType::get() const -> std::optional<DType> {
  bool refused = refused_;
  const auto result = combine(dim_, combine(zero_, wrapped_, refused), refused);
  return refused ? std::nullopt : result;
}

auto pointwise_operands(const Schema& schema) -> std::vector<int> {
  std::vector<int> operands;
  for (std::size_t i = 0; i < schema.params.size(); ++i) {
    const auto& param = schema.params[i];
    const bool operand =
        !param.is_list &&
        (param.kind == ParamKind::tensor ||
         (param.kind == ParamKind::number && !param.keyword_only && param.name != "alpha"));
    if (operand) operands.push_back(static_cast<int>(i));
  }
  return operands;
}

auto compute_dtype(std::span<const Datum> args, const OpRow& row) -> std::optional<DType> {
  ResultType type;
  for (const int i : pointwise_operands(row.schema)) {
    const auto& arg = args[static_cast<std::size_t>(i)];
    if (is_wrapped_number(arg)) type.add_scalar(arg);
    if (const auto* fake = arg.fake()) type.add_tensor(fake->meta.dtype, fake->meta.rank());
    if (const auto* real = arg.real()) type.add_tensor(real->dtype(), real->rank());
  }
  const auto common = type.get();
  if (!common || row.promotion != Promotion::int_to_float) return common;
  return is_integer(*common) || *common == DType::boolean ? kDefaultFloat : *common;
}

auto pointwise_rule(MetaCall& c) -> Datum {
  const auto common = compute_dtype(c.args(), c.row());
  if (!common) return c.fail("the operand dtypes do not promote"), Datum{};
  // A number becomes a tensor without dimensions, which keeps TensorIterator off its fast path.
  static const TensorMeta kNumber;
  std::vector<const TensorMeta*> operands;
  std::vector<std::unique_ptr<TensorMeta>> converted;
  for (const int i : pointwise_operands(c.row().schema)) {
    if (!c.is_tensor(i)) {
      if (c.has(i) && !c.row().numbers_are_parameters) operands.push_back(&kNumber);
      continue;
    }
    const auto& meta = c.meta(i);
    operands.push_back(&meta);
    if (meta.dtype == *common || meta.device.type == "cuda") continue;
    // On the CPU an operand of another dtype is converted before anything is asked of its layout.
    converted.push_back(std::make_unique<TensorMeta>(meta));
    converted.back()->strides = preserved_strides(c, meta);
    operands.back() = converted.back().get();
  }
  Dims sizes;
  for (const auto* operand : operands) sizes = broadcast(c, sizes, operand->sizes);
  if (c.error()) return {};
  auto strides = iterator_strides(c, operands, sizes);
  DType dtype = *common;
  if (c.row().promotion == Promotion::boolean) dtype = DType::boolean;
  if (c.row().promotion == Promotion::complex_to_real) dtype = real_of(dtype);
  if (c.row().promotion == Promotion::keep_self) dtype = c.meta(0).dtype;
  return c.fresh(dtype, std::move(sizes), std::move(strides));
}

auto view_strides(MetaCall& c, const TensorMeta& meta, const Dims& sizes) -> std::optional<Dims> {
  if (is_empty(c, meta)) {
    // As PyTorch: same shape keeps the strides, otherwise contiguous ones.
    if (same_sizes(c, meta.sizes, sizes)) return meta.strides;
    return contiguous_strides(sizes);
  }
  if (meta.rank() == 0) return Dims(sizes.size(), Expr(1));
  Dims strides(sizes.size());
  auto view_dim = static_cast<std::ptrdiff_t>(sizes.size()) - 1;
  Expr chunk_base = meta.strides.back();
  Expr tensor_numel(1);
  Expr view_numel(1);
  for (auto dim = static_cast<std::ptrdiff_t>(meta.sizes.size()) - 1; dim >= 0; --dim) {
    const auto d = static_cast<std::size_t>(dim);
    tensor_numel = tensor_numel * meta.sizes[d];
    const bool chunk_ends =
        dim == 0 || (!c.decide(eq(meta.sizes[d - 1], 1), "view of a size-1 dimension") &&
                     meta.strides[d - 1] != tensor_numel * chunk_base &&
                     !c.decide(eq(meta.strides[d - 1], tensor_numel * chunk_base),
                               "dimensions merge in a view"));
    if (!chunk_ends) continue;
    while (view_dim >= 0) {
      const auto v = static_cast<std::size_t>(view_dim);
      const bool room = view_numel != tensor_numel &&
                        c.decide(lt(view_numel, tensor_numel), "view fits the chunk");
      if (!room && !c.decide(eq(sizes[v], 1), "view of a size-1 dimension")) break;
      strides[v] = view_numel * chunk_base;
      view_numel = view_numel * sizes[v];
      --view_dim;
    }
    if (view_numel != tensor_numel &&
        !c.decide(eq(view_numel, tensor_numel), "view tiles the chunk"))
      return std::nullopt;
    if (dim > 0) {
      chunk_base = meta.strides[d - 1];
      tensor_numel = 1;
      view_numel = 1;
    }
  }
  if (view_dim != -1) return std::nullopt;
  return strides;
}

auto infer_size(MetaCall& c, const Dims& requested, const Expr& numel) -> Dims {
  Dims sizes = requested;
  std::optional<std::size_t> inferred;
  Expr known(1);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].is_int(-1)) {
      if (inferred) return c.fail("only one size can be -1"), sizes;
      inferred = i;
    } else {
      known = known * sizes[i];
    }
  }
  if (!inferred) {
    if (known != numel) c.require(eq(known, numel), "the view has as many elements as its base");
    return sizes;
  }
  if (!c.require(ne(known, 0), "a size of -1 is ambiguous beside a size of 0")) return sizes;
  if (!c.require(eq(mod(numel, known), 0), "the size of -1 comes out whole")) return sizes;
  sizes[*inferred] = floor_div(numel, known);
  return sizes;
}

auto reduced_dims(MetaCall& c, int arg, int rank) -> std::vector<bool> {
  std::vector<bool> reduced(static_cast<std::size_t>(rank), false);
  const bool is_list = c.arg(arg).list() != nullptr;
  const auto dims = is_list ? c.integers(arg) : c.has(arg) ? Ints{c.integer(arg)} : Ints{};
  if (dims.empty()) return std::vector<bool>(static_cast<std::size_t>(rank), true);
  for (const auto value : dims) {
    const auto dim = static_cast<std::size_t>(c.dim(value, rank));
    if (c.error() || rank == 0) continue;
    if (reduced[dim]) c.fail(fmt::format("dimension {} appears twice", dim));
    reduced[dim] = true;
  }
  return reduced;
}

auto reduced_sizes(const Dims& sizes, const std::vector<bool>& reduced, bool keepdim) -> Dims {
  Dims result;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!reduced[i])
      result.push_back(sizes[i]);
    else if (keepdim)
      result.emplace_back(1);
  }
  return result;
}

}  // namespace assay
