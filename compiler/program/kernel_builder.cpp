#include "compiler/program/kernel_builder.h"

#include "compiler/program/combine.h"

namespace assay {

auto KernelBuilder::axes_of(const std::vector<TileId>& ids) const -> AxisSet {
  AxisSet axes = 0;
  for (const auto id : ids)
    if (id != kNoTile) axes |= type(id).axes;
  return axes;
}

auto KernelBuilder::value(DType dtype, AxisSet axes) -> TileId {
  kernel_.values.push_back({{dtype, axes}, {}});
  return static_cast<TileId>(kernel_.values.size() - 1);
}

auto KernelBuilder::add(decltype(TileStatement::what) what, std::vector<TileId> operands,
                        DType dtype, AxisSet axes) -> TileId {
  TileStatement one;
  one.what = std::move(what);
  one.operands = std::move(operands);
  one.results = {value(dtype, axes)};
  const auto id = one.results[0];
  append(std::move(one));
  return id;
}

void KernelBuilder::append(TileStatement one) {
  one.line = line_;
  body_->push_back(std::move(one));
}

auto KernelBuilder::compute(TileOp op, const std::vector<TileId>& operands, std::optional<DType> to)
    -> TileId {
  const bool is_truth = tile_op_row(op).result == TileResult::boolean;
  const auto dtype = to ? *to : is_truth ? DType::boolean : type(operands.back()).dtype;
  return add(TileCompute{op}, operands, dtype, axes_of(operands));
}

auto KernelBuilder::number(DType dtype, std::int64_t value) -> TileId {
  if (is_floating(dtype)) return add(TileConstant{static_cast<double>(value)}, {}, dtype, 0);
  return add(TileConstant{value}, {}, dtype, 0);
}

auto KernelBuilder::param(std::size_t index, DType dtype) -> TileId {
  const auto of = kernel_.params[index].dtype;
  const auto id = add(TileParamValue{index}, {}, of, 0);
  return of == dtype ? id : compute(TileOp::cast, {id}, dtype);
}

auto KernelBuilder::both(TileId a, TileId b) -> TileId {
  if (a == kNoTile || b == kNoTile) return a == kNoTile ? b : a;
  return compute(TileOp::bit_and, {a, b});
}

auto KernelBuilder::combined(TileCombine combine, const std::vector<TileId>& a,
                             const std::vector<TileId>& b) -> std::vector<TileId> {
  const auto of = type(a[0]).dtype;
  if (const auto op = combine_op(combine, of)) return {compute(*op, {a[0], b[0]})};
  const auto op = combine == TileCombine::argmax ? TileOp::gt : TileOp::lt;
  auto better = compute(op, {b[0], a[0]});
  auto same = compute(TileOp::eq, {a[0], b[0]});
  if (is_floating(of)) {
    const auto a_nan = compute(TileOp::is_nan, {a[0]});
    const auto b_nan = compute(TileOp::is_nan, {b[0]});
    const auto only_b = compute(TileOp::bit_and, {b_nan, compute(TileOp::bit_not, {a_nan})});
    better = compute(TileOp::bit_or, {better, only_b});
    same = compute(TileOp::bit_or, {same, compute(TileOp::bit_and, {a_nan, b_nan})});
  }
  const auto earlier = compute(TileOp::lt, {b[1], a[1]});
  better = compute(TileOp::bit_or, {better, compute(TileOp::bit_and, {same, earlier})});
  return {compute(TileOp::select, {better, b[0], a[0]}),
          compute(TileOp::select, {better, b[1], a[1]})};
}

auto KernelBuilder::identity(TileCombine combine, std::size_t part, DType of) -> TileId {
  return add(TileConstant{combine_identity(combine, part, of)}, {}, of, 0);
}

void KernelBuilder::start_as_part(const TileKernel& of, const std::string& part) {
  kernel_.name = fmt::format("{}_{}", of.name, part);
  kernel_.heuristic = of.heuristic;
  kernel_.params = of.params;
  kernel_.asserts_are_on = of.asserts_are_on;
  kernel_.axes = of.axes;
}

auto KernelBuilder::buffer_param(const std::string& name, DType dtype) -> std::size_t {
  TileParam param;
  param.name = name;
  param.dtype = dtype;
  kernel_.params.push_back(std::move(param));
  return kernel_.params.size() - 1;
}

auto KernelBuilder::scalar_param(const std::string& name, DType dtype) -> std::size_t {
  TileParam param;
  param.name = name;
  param.kind = TileParam::Kind::scalar;
  param.dtype = dtype;
  kernel_.params.push_back(std::move(param));
  return kernel_.params.size() - 1;
}

auto KernelBuilder::reduce(TileCombine combine, std::size_t axis, std::vector<TileId> operands)
    -> std::vector<TileId> {
  TileStatement one;
  one.what = TileReduce{combine, axis};
  const auto rest = axes_of(operands) & ~(AxisSet{1} << axis);
  for (const auto id : operands) one.results.push_back(value(type(id).dtype, rest));
  one.operands = std::move(operands);
  auto results = one.results;
  append(std::move(one));
  return results;
}

}  // namespace assay
