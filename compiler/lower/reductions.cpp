// Reductions: what is combined over which dimensions.
#include <array>

#include "compiler/lower/lowering.h"

namespace assay {
namespace {

/// How a reduction's operand is prepared and its result finished.
struct ReductionRow {
  std::string_view overload;
  TileCombine combine;
  bool is_mean = false;
  bool is_truth = false;   ///< of truth values
  bool has_index = false;  ///< gives positions, not values
  bool is_scan = false;    ///< gives every partial result
};
// clang-format off
constexpr std::array kReductions = {
    ReductionRow{"aten.sum.default", TileCombine::sum},
    ReductionRow{"aten.sum.dim_IntList", TileCombine::sum},
    ReductionRow{"aten.mean.default", TileCombine::sum, true},
    ReductionRow{"aten.mean.dim", TileCombine::sum, true},
    ReductionRow{"aten.prod.default", TileCombine::product},
    ReductionRow{"aten.prod.dim_int", TileCombine::product},
    ReductionRow{"aten.amax.default", TileCombine::max},
    ReductionRow{"aten.amin.default", TileCombine::min},
    ReductionRow{"aten.max.default", TileCombine::max},
    ReductionRow{"aten.min.default", TileCombine::min},
    ReductionRow{"aten.any.default", TileCombine::any, false, true},
    ReductionRow{"aten.any.dim", TileCombine::any, false, true},
    ReductionRow{"aten.any.dims", TileCombine::any, false, true},
    ReductionRow{"aten.all.default", TileCombine::all, false, true},
    ReductionRow{"aten.all.dim", TileCombine::all, false, true},
    ReductionRow{"aten.all.dims", TileCombine::all, false, true},
    ReductionRow{"aten.argmax.default", TileCombine::argmax, false, false, true},
    ReductionRow{"aten.argmin.default", TileCombine::argmin, false, false, true},
    ReductionRow{"aten.cumsum.default", TileCombine::sum, false, false, false, true},
    ReductionRow{"aten.cumprod.default", TileCombine::product, false, false, false, true},
};
// clang-format on

auto find_reduction(std::string_view overload) -> const ReductionRow* {
  for (const auto& row : kReductions)
    if (row.overload == overload) return &row;
  return nullptr;
}

/// Dimensions that a call reduces: its `dim`, which is a number, a list, or not there.
auto reduced_of(const LoweringCall& call, std::size_t rank) -> std::vector<bool> {
  std::vector<bool> reduced(rank, false);
  const auto at = call.row.schema.index_of("dim");
  bool any = false;
  const auto mark = [&](const Datum& datum) {
    const auto* scalar = datum.scalar();
    if (scalar == nullptr || rank == 0) return;
    const auto value = scalar->as_int().value_or(0);
    reduced[static_cast<std::size_t>(value < 0 ? value + static_cast<std::int64_t>(rank) : value)] =
        true;
    any = true;
  };
  if (at >= 0) {
    const auto& arg = call.args[static_cast<std::size_t>(at)];
    if (const auto* list = arg.list())
      for (const auto& item : *list) mark(item);
    else
      mark(arg);
  }
  if (!any) reduced.assign(rank, true);
  return reduced;
}

auto flag(const LoweringCall& call, std::string_view param) -> bool {
  const auto at = call.row.schema.index_of(param);
  if (at < 0) return false;
  const auto* scalar = call.args[static_cast<std::size_t>(at)].scalar();
  return scalar != nullptr && scalar->as_bool().value_or(false);
}

/// Elements that are combined into one.
auto count_of(const Dims& sizes, const std::vector<bool>& reduced) -> Expr {
  Expr count(1);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (reduced[i]) count = count * sizes[i];
  return count;
}

/// Position among the reduced dimensions, counted together.
auto linear_position(const Index& at, const Dims& sizes, const std::vector<bool>& reduced) -> Expr {
  Expr sum(0);
  for (std::size_t i = 0; i < at.size(); ++i)
    if (reduced[i]) sum = sum * sizes[i] + at[i];
  return sum;
}

auto lower_reduction(const LoweringCall& call, TensorDef& def) -> bool {
  const auto* row = find_reduction(call.row.schema.overload);
  if (row == nullptr || !call.tensors[0]) return false;
  const auto from = *call.tensors[0];
  const auto& meta = call.meta(0);
  if (meta.sizes.empty()) return false;
  Reduction reduction;
  reduction.combine = row->combine;
  reduction.over = meta.sizes;
  reduction.reduced = reduced_of(call, meta.sizes.size());
  reduction.keeps = flag(call, "keepdim");
  reduction.is_scan = row->is_scan;
  const auto result = def.meta.dtype;
  // Narrow floats are summed in float32, integers as the result's dtype.
  auto dtype = row->is_truth ? DType::boolean : opmath(result);
  if (row->has_index) dtype = opmath(meta.dtype);
  // As PyTorch does on the host, where elements are taken one after the other.
  if (row->is_scan && dtype == DType::float32 && def.meta.device.type == "cpu")
    dtype = DType::float64;
  const bool is_extreme = row->combine == TileCombine::max || row->combine == TileCombine::min;
  if (is_extreme) dtype = opmath(meta.dtype);
  reduction.operands = [from, dtype, row, over = reduction.over, reduced = reduction.reduced](
                           LoopBuilder& loop, const Index& at) {
    Element x{&loop, loop.value(from, at)};
    if (row->is_truth && x.dtype() != DType::boolean) x = x != 0;
    std::vector<TileId> values{x.to(dtype).id};
    if (row->has_index) values.push_back(loop.number(linear_position(at, over, reduced)));
    return values;
  };
  const auto count = count_of(reduction.over, reduction.reduced);
  reduction.finish = [row, result, count](LoopBuilder& loop, const std::vector<TileId>& values) {
    Element x{&loop, values[row->has_index ? 1 : 0]};
    if (row->is_mean) x = x / Element{&loop, loop.number(count)}.to(x.dtype());
    return x.to(result).id;
  };
  def.reads = {from};
  def.cost = 4;
  def.reduction = std::move(reduction);
  return true;
}

}  // namespace

auto reduction_lowerings() -> std::span<const LoweringRow> {
  static const auto kRows = [] {
    std::vector<LoweringRow> rows;
    for (const auto& row : kReductions) rows.push_back({row.overload, lower_reduction});
    return rows;
  }();
  return kRows;
}

}  // namespace assay
