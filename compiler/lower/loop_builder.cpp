#include "compiler/lower/loop_builder.h"

#include <algorithm>
#include <array>
#include <bit>

#include "compiler/program/expr_ops.h"
#include "core/expr/text.h"

namespace assay {
namespace {

auto combine(std::size_t seed, std::size_t value) -> std::size_t {
  return seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2));
}

}  // namespace

auto LoopBuilder::KeyHash::operator()(const Key& key) const -> std::size_t {
  auto hash = combine(key.def, static_cast<std::size_t>(key.mask + 1));
  for (const auto& e : key.position) hash = combine(hash, e.hash());
  return hash;
}

auto LoopBuilder::ComputedHash::operator()(const Computed& key) const -> std::size_t {
  auto hash = combine(static_cast<std::size_t>(key.op), static_cast<std::size_t>(key.dtype));
  for (const auto id : key.operands) hash = combine(hash, static_cast<std::size_t>(id));
  return hash;
}

auto Reduction::result_position(const Index& at) const -> Index {
  if (is_scan) return at;
  Index kept;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (!reduced[i]) kept.push_back(at[i]);
    if (reduced[i] && keeps) kept.emplace_back(0);
  }
  return kept;
}

auto plain_form(std::vector<LoopAxis> axes) -> LoopForm {
  LoopForm form;
  for (std::size_t i = 0; i < axes.size(); ++i) form.axis_of.push_back(i);
  form.axes = std::move(axes);
  return form;
}

LoopBuilder::LoopBuilder(const LoweredGraph& graph, ExprPool& pool, LoopForm form,
                         InMemory in_memory)
    : graph_(graph), pool_(pool), form_(std::move(form)), in_memory_(std::move(in_memory)) {
  constexpr std::size_t kUsual = 32;
  kernel_.values.reserve(kUsual);
  if (!form_.is_trial) kernel_.body.body.reserve(kUsual);
  for (const auto& axis : form_.axes) {
    using enum TileAxis::Kind;
    kernel_.axes.push_back({.name = std::string(axis.symbol.name()),
                            .kind = axis.is_reduced ? reduction : parallel,
                            .extent = axis.extent,
                            .block = Expr(1),
                            .max_block = 1 << 30,
                            .exact = true});
    for (const auto& part : axis.extent.symbols()) (void)param(part);
  }
}

void LoopBuilder::fail(std::string message) {
  if (error_.empty()) error_ = std::move(message);
}

auto LoopBuilder::emit(decltype(TileStatement::what) what, std::vector<TileId> operands,
                       TileType type) -> TileId {
  for (const auto id : operands)
    if (id != kNoTile && !std::holds_alternative<TileReduce>(what))
      type.axes |= kernel_.type(id).axes;
  const auto id = static_cast<TileId>(kernel_.values.size());
  kernel_.values.push_back({.type = type, .name = {}});
  if (form_.is_trial) return id;
  TileStatement statement;
  statement.what = std::move(what);
  statement.operands = std::move(operands);
  statement.results = {id};
  keep(std::move(statement));
  return id;
}

void LoopBuilder::keep(TileStatement statement) {
  if (!form_.is_trial) kernel_.body.body.push_back(std::move(statement));
}

auto LoopBuilder::constant(DType dtype, double value) -> TileId {
  if (!is_floating(dtype)) return constant(dtype, static_cast<std::int64_t>(value));
  const auto key = std::tuple(dtype, std::bit_cast<std::int64_t>(value), true);
  if (const auto known = constants_.find(key); known != constants_.end()) return known->second;
  return constants_[key] = emit(TileConstant{value}, {}, {.dtype = dtype});
}

auto LoopBuilder::constant(DType dtype, std::int64_t value) -> TileId {
  if (is_floating(dtype)) return constant(dtype, static_cast<double>(value));
  const auto key = std::tuple(dtype, value, false);
  if (const auto known = constants_.find(key); known != constants_.end()) return known->second;
  return constants_[key] = emit(TileConstant{value}, {}, {.dtype = dtype});
}

auto LoopBuilder::compute(TileOp op, std::vector<TileId> operands) -> TileId {
  const auto& row = tile_op_row(op);
  const auto of = dtype(operands.back());
  const auto result = row.result == TileResult::boolean ? DType::boolean : of;
  Computed key{op, result, operands};
  if (const auto known = computed_.find(key); known != computed_.end()) return known->second;
  if (tile_evaluate(op, of, result) == nullptr) fail(fmt::format("`{}` of {}", row.name, name(of)));
  const auto id = emit(TileCompute{op}, std::move(operands), {.dtype = result});
  computed_.emplace(std::move(key), id);
  return id;
}

auto LoopBuilder::cast(TileId id, DType dtype) -> TileId {
  if (this->dtype(id) == dtype) return id;
  Computed key{TileOp::cast, dtype, {id}};
  if (const auto known = computed_.find(key); known != computed_.end()) return known->second;
  const auto made = emit(TileCompute{TileOp::cast}, {id}, {.dtype = dtype});
  computed_.emplace(std::move(key), made);
  return made;
}

/// Axes, data and numbers that the launch passes.
auto LoopBuilder::symbol(const Expr& e) -> TileId {
  for (std::size_t i = 0; i < form_.axes.size(); ++i)
    if (form_.axes[i].symbol == e)
      return emit(TileIndex{i}, {}, {.dtype = DType::int64, .axes = AxisSet{1} << i});
  const auto at = param(e);
  return emit(TileParamValue{at}, {}, {.dtype = kernel_.params[at].dtype});
}

auto LoopBuilder::param(const Expr& symbol) -> std::size_t {
  const auto known = std::ranges::find_if(kernel_.params, [&](const TileParam& param) {
    return param.kind == TileParam::Kind::scalar && param.symbol == symbol;
  });
  if (known != kernel_.params.end())
    return static_cast<std::size_t>(known - kernel_.params.begin());
  scalars_.push_back(symbol);
  kernel_.params.push_back(
      {.name = std::string(symbol.name()),
       .kind = TileParam::Kind::scalar,
       .dtype = symbol.type() == ExprType::real ? DType::float64 : DType::int64,
       .fixed = std::nullopt,
       .symbol = symbol});
  return kernel_.params.size() - 1;
}

auto LoopBuilder::folded(const Expr& e, TileOp op, DType dtype) -> TileId {
  const auto operand = [&](const Expr& arg) {
    return dtype == DType::boolean ? truth_of(arg) : number_of(arg);
  };
  auto result = operand(e.args()[0]);
  for (std::size_t i = 1; i < e.args().size(); ++i)
    result = compute(op, {result, operand(e.args()[i])});
  return result;
}

auto LoopBuilder::rewritten(const Expr& e) const -> Expr {
  return form_.rewritten ? form_.rewritten(e) : e;
}
auto LoopBuilder::number(const Expr& e) -> TileId {
  const auto wanted = rewritten(e);
  return form_.is_trial ? stand_in(wanted) : number_of(wanted);
}
auto LoopBuilder::truth(const Expr& condition) -> TileId {
  const auto wanted = rewritten(condition);
  return form_.is_trial ? stand_in(wanted) : truth_of(wanted);
}

/// A value of the same type that nobody works out; another for each expression.
auto LoopBuilder::stand_in(const Expr& e) -> TileId {
  if (const auto known = known_.find(e); known != known_.end()) return known->second;
  const auto type = e.type() == ExprType::boolean ? DType::boolean
                    : e.type() == ExprType::real  ? DType::float64
                                                  : DType::int64;
  return known_[e] = emit(TileConstant{std::int64_t{0}}, {}, {.dtype = type});
}

auto LoopBuilder::number_of(const Expr& e) -> TileId {
  if (const auto value = e.as_int()) return constant(DType::int64, *value);
  if (const auto value = e.as_real()) return constant(DType::float64, *value);
  if (const auto known = known_.find(e); known != known_.end()) return known->second;
  TileId result = kNoTile;
  if (e.op() == ExprOp::symbol) {
    result = symbol(e);
  } else if (const auto op = number_op(e.op()); op && e.type() == ExprType::integer) {
    result = folded(e, *op, DType::int64);
  } else if (e.op() == ExprOp::modular_indexing) {
    const auto quotient =
        compute(TileOp::floor_quotient, {number_of(e.args()[0]), number_of(e.args()[1])});
    result = compute(TileOp::floor_remainder, {quotient, number_of(e.args()[2])});
  } else {
    // Whatever else a size can be: the host knows how to compute it, if no axis takes part.
    for (const auto& part : e.symbols())
      if (std::ranges::find(form_.axes, part, &LoopAxis::symbol) != form_.axes.end())
        fail(fmt::format("the index {}", print_expr(e)));
    const auto stand_in = pool_.symbol(
        fmt::format("assay_{}{}", e.type() == ExprType::real ? "r" : "n", scalars_.size()),
        e.type());
    result = symbol(stand_in);
    scalars_.back() = e;
  }
  return known_[e] = result;
}

auto LoopBuilder::truth_of(const Expr& condition) -> TileId {
  if (const auto value = condition.as_bool())
    return constant(DType::boolean, std::int64_t{*value ? 1 : 0});
  if (const auto known = known_.find(condition); known != known_.end()) return known->second;
  TileId result = kNoTile;
  const auto op = truth_op(condition.op());
  if (condition.op() == ExprOp::logic_not) {
    result = compute(TileOp::bit_not, {truth_of(condition.args()[0])});
  } else if (op) {
    const bool joins = condition.op() == ExprOp::logic_and || condition.op() == ExprOp::logic_or;
    result = folded(condition, *op, joins ? DType::boolean : DType::int64);
  } else {
    fail(fmt::format("the condition {}", print_expr(condition)));
    result = constant(DType::boolean, std::int64_t{0});
  }
  return known_[condition] = result;
}

auto LoopBuilder::data(TileId index) -> Expr {
  const auto made = pool_.symbol(fmt::format("assay_d{}", index));
  known_[made] = cast(index, DType::int64);
  return made;
}

auto LoopBuilder::asserted(TileId condition, const std::string& message,
                           const std::function<TileId()>& inside) -> TileId {
  const auto outer = mask_;
  if (asserted_.emplace(condition, outer).second) {
    TileStatement statement;
    statement.what = TileAssert{message};
    statement.operands = {condition, outer};
    statement.text = message;
    keep(std::move(statement));
  }
  mask_ = outer == kNoTile ? condition : compute(TileOp::bit_and, {outer, condition});
  const auto result = inside();
  mask_ = outer;
  return result;
}

auto LoopBuilder::choose(TileId condition, const std::function<TileId()>& inside,
                         const std::function<TileId()>& otherwise) -> TileId {
  const auto outer = mask_;
  mask_ = outer == kNoTile ? condition : compute(TileOp::bit_and, {outer, condition});
  const auto there = inside();
  const auto against = compute(TileOp::bit_not, {condition});
  mask_ = outer == kNoTile ? against : compute(TileOp::bit_and, {outer, against});
  const auto elsewhere = otherwise();
  mask_ = outer;
  return compute(TileOp::select, {condition, there, elsewhere});
}

auto LoopBuilder::address(const TensorDef& def, const Index& position) -> TileId {
  Expr sum = def.meta.offset - graph_.defs[def.owner].meta.offset;
  for (std::size_t i = 0; i < position.size(); ++i) sum = sum + position[i] * def.meta.strides[i];
  if (!sum.is_valid()) fail("an address that is no number");
  return number(sum);
}

auto LoopBuilder::buffer(DefId owner, DType dtype) -> std::size_t {
  const auto same = [&](const TileParam& param) {
    return param.kind == TileParam::Kind::buffer && param.dtype == dtype &&
           param.name == graph_.defs[owner].buffer;
  };
  const auto known = std::ranges::find_if(kernel_.params, same);
  if (known != kernel_.params.end())
    return static_cast<std::size_t>(known - kernel_.params.begin());
  buffers_.push_back(owner);
  kernel_.params.push_back({.name = graph_.defs[owner].buffer,
                            .kind = TileParam::Kind::buffer,
                            .dtype = dtype,
                            .fixed = std::nullopt,
                            .symbol = {}});
  return kernel_.params.size() - 1;
}

auto LoopBuilder::load(DefId id, const Index& position) -> TileId {
  const auto& def = graph_.defs[id];
  const auto at = address(def, position);
  return emit(TileLoad{buffer(def.owner, def.meta.dtype)}, {at, mask_, kNoTile},
              {.dtype = def.meta.dtype});
}

auto LoopBuilder::value(DefId id, const Index& position) -> TileId {
  const Key key{id, mask_, position};
  if (const auto known = values_.find(key); known != values_.end()) return known->second;
  if (mask_ != kNoTile)  // what was computed without a mask is right under any
    if (const auto known = values_.find({id, kNoTile, position}); known != values_.end())
      return known->second;
  const auto& def = graph_.defs[id];
  TileId result = kNoTile;
  if (in_memory_(id, position)) {
    result = load(id, position);
  } else if (def.element) {
    result = def.element(*this, position);
  } else {
    fail(fmt::format("{} is not in memory", def.origin));
    result = constant(def.meta.dtype, 0.0);
  }
  return values_[key] = result;
}

auto LoopBuilder::root(DefId id, const LoopPlace& place) -> TileId {
  const auto& def = graph_.defs[id];
  if (!def.reduction) {
    const auto result = def.element(*this, place.position);
    return values_[{id, kNoTile, place.position}] = result;
  }
  const auto result = reduce(*def.reduction, place);
  return values_[{id, kNoTile, def.reduction->result_position(place.position)}] = result;
}

auto LoopBuilder::reduce(const Reduction& reduction, const LoopPlace& place) -> TileId {
  auto values = reduction.operands(*this, place.position);
  AxisSet done = 0;
  for (std::size_t dim = place.axes.size(); dim-- > 0;) {
    if (!reduction.reduced[dim]) continue;
    for (const auto part : place.axes[dim]) {
      const auto axis = form_.axis_of[part];
      if ((done >> axis & 1U) != 0) continue;  // merged with one that was reduced
      done |= AxisSet{1} << axis;
      if (reduction.is_scan) {
        values = {emit(TileScan{reduction.combine, axis}, values,
                       {.dtype = dtype(values[0]), .axes = AxisSet{1} << axis})};
        continue;
      }
      std::vector<TileId> results;
      AxisSet axes = 0;
      for (const auto id : values) axes |= type(id).axes;
      axes &= ~(AxisSet{1} << axis);
      TileStatement statement;
      statement.what = TileReduce{reduction.combine, axis};
      statement.operands = values;
      for (const auto id : values) {
        results.push_back(static_cast<TileId>(kernel_.values.size()));
        kernel_.values.push_back({.type = {.dtype = dtype(id), .axes = axes}, .name = {}});
      }
      statement.results = results;
      keep(std::move(statement));
      values = std::move(results);
    }
  }
  return reduction.finish ? reduction.finish(*this, values) : values[0];
}

void LoopBuilder::write(DefId id, const Index& position, TileId value,
                        std::optional<TileOp> combine) {
  const auto& def = graph_.defs[id];
  const auto at = address(def, position);
  const auto param = buffer(def.owner, def.meta.dtype);
  auto mask = mask_;
  AxisSet axes = type(at).axes | type(value).axes | (mask == kNoTile ? 0 : type(mask).axes);
  for (std::size_t i = 0; i < form_.axes.size(); ++i) {
    if ((axes >> i & 1U) != 0) continue;
    // A lane counts along the axes that its operands vary over.
    const auto index = emit(TileIndex{i}, {}, {.dtype = DType::int64, .axes = AxisSet{1} << i});
    const auto here = compute(TileOp::ge, {index, constant(DType::int64, std::int64_t{0})});
    mask = mask == kNoTile ? here : compute(TileOp::bit_and, {mask, here});
  }
  (void)emit(TileAtomic{param, combine.value_or(TileOp::add), !combine.has_value()},
             {at, value, mask}, {.dtype = def.meta.dtype});
  if (!form_.is_trial) kernel_.body.body.back().text = def.origin;
}

void LoopBuilder::set(DefId id, const Index& position, TileId value) {
  const auto& def = graph_.defs[id];
  TileStatement statement;
  statement.what = TileStore{buffer(def.owner, def.meta.dtype)};
  const auto at = address(def, position);
  statement.operands = {at, value, mask_};
  statement.text = def.origin;
  keep(std::move(statement));
}

void LoopBuilder::store(DefId id, const LoopPlace& place, TileId value) {
  const auto& def = graph_.defs[id];
  set(id, def.reduction ? def.reduction->result_position(place.position) : place.position, value);
}

}  // namespace assay
