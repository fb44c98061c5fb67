// Reductions, scans, sorts and block products of Triton kernels, and the helpers around them
// (torch/_inductor/runtime/triton_helpers.py).
#include <algorithm>
#include <array>

#include "compiler/read/triton_reader.h"

namespace assay {
namespace {

using Kind = TritonValue::Kind;

/// Reductions along one dimension, by name; the first `values` arguments are reduced.
struct ReductionRow {
  std::string_view name;
  TileCombine combine;
  std::size_t values = 1;
};
constexpr std::array kReductions = {
    ReductionRow{"max2", TileCombine::max},
    ReductionRow{"min2", TileCombine::min},
    ReductionRow{"any", TileCombine::any},
    ReductionRow{"prod", TileCombine::product},
    ReductionRow{"prod_inner_tree", TileCombine::product},
    ReductionRow{"xor_sum", TileCombine::bit_xor},
    ReductionRow{"max_with_index", TileCombine::argmax, 2},
    ReductionRow{"min_with_index", TileCombine::argmin, 2},
    ReductionRow{"max_with_first_index", TileCombine::argmax, 2},
    ReductionRow{"min_with_first_index", TileCombine::argmin, 2},
    ReductionRow{"welford", TileCombine::welford, 3},
    ReductionRow{"online_softmax_reduce", TileCombine::online_softmax, 2},
};

auto zero() -> TritonValue {
  return TritonValue::python(0.0);
}

}  // namespace

auto TritonReader::tuple(Values items) const -> TritonValue {
  TritonValue result;
  result.kind = Kind::tuple;
  result.items = std::move(items);
  return result;
}

auto TritonReader::reduction(int node, std::string_view name, bool& is_known)
    -> Result<TritonValue> {
  is_known = true;
  if (name == "sum") return sum(node);
  if (name == "select_one") return select_one(node);
  if (name == "associative_scan") return custom_reduce(node, true);
  if (name == "reduce") return custom_reduce(node, false);
  if (name == "cumsum") return cumulative(node, TileCombine::sum);
  if (name == "cumprod") return cumulative(node, TileCombine::product);
  if (name == "sort_with_index") return sort(node);
  if (name == "sort") return sort_values(node);
  if (name == "dot") return dot(node);
  struct StepRow {
    std::string_view name;
    std::size_t operands;
    Result<TritonValue> (TritonReader::*read)(const Values&);
  };
  constexpr std::array kSteps = {StepRow{"welford_reduce", 5, &TritonReader::welford_step},
                                 StepRow{"welford_combine", 6, &TritonReader::welford_combine}};
  for (const auto& row : kSteps) {
    if (row.name != name) continue;
    ASSAY_TRY(const auto v, arguments(node));
    if (v.size() < row.operands) return bad_input("operands that do not fit");
    return (this->*row.read)(v);
  }
  if (name == "maximum_with_index" || name == "minimum_with_index") {
    ASSAY_TRY(const auto v, arguments(node));
    if (v.size() != 4) return bad_input("operands that do not fit");
    return extreme_with_index(v, name == "maximum_with_index");
  }
  if (name == "argmax" || name == "argmin") return with_place(node, name == "argmax", false);
  if (const int both = argument(node, "return_indices", 2);
      both >= 0 && (name == "max" || name == "min")) {
    ASSAY_TRY(const auto read, value(both));
    if (read.as_int().value_or(0) != 0) return with_place(node, name == "max", true);
  }
  const auto builtin = name == "max" ? "max2" : name == "min" ? "min2" : name;
  const auto* const row = std::ranges::find(kReductions, builtin, &ReductionRow::name);
  is_known = row != kReductions.end();
  if (!is_known) return TritonValue{};
  const auto args = cursor_.positional(node);
  if (args.size() < row->values) return bad_input("operands that do not fit");
  Values values;
  for (std::size_t i = 0; i < row->values; ++i) {
    ASSAY_TRY(values.emplace_back(), tile_of(args[i]));
  }
  ASSAY_TRY(const auto along,
            dimension(argument(node, "axis", row->values), values[0].shape.size()));
  ASSAY_TRY(auto results, reduced(node, row->combine, std::move(values), along));
  return results.size() == 1 ? results[0] : tuple(std::move(results));
}

/// The dimension that an argument names, from the last one if it is negative; nothing: none does.
auto TritonReader::dimension(int number, std::size_t rank) -> Result<std::optional<std::size_t>> {
  if (number < 0) return std::nullopt;
  ASSAY_TRY(const auto read, value(number));
  if (read.kind == Kind::none) return std::nullopt;
  const auto count = static_cast<std::int64_t>(rank);
  auto at = read.as_int().value_or(count);
  if (at < 0) at += count;
  if (at < 0 || at >= count) return bad_input("a dimension that is not there");
  return static_cast<std::size_t>(at);
}

/// Along one dimension, or all; `keep_dims` of the call leaves dimensions of one.
auto TritonReader::reduced(int node, TileCombine combine, Values values,
                           std::optional<std::size_t> along) -> Result<Values> {
  bool keeps = false;
  if (const int keep = cursor_.keyword(node, "keep_dims"); keep >= 0) {
    ASSAY_TRY(const auto read, value(keep));
    keeps = read.as_int().value_or(0) != 0;
  }
  const auto first = along.value_or(0);
  for (auto at = along ? *along + 1 : values[0].shape.size(); at-- > first;) {
    ASSAY_TRY(values, builder_.reduce(combine, std::move(values), at));
    if (!keeps) continue;
    for (auto& one : values) one.shape.emplace(one.shape.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return values;
}

/// Where each element of a tensor is along one of its dimensions, which has one axis.
auto TritonReader::lanes_along(const TritonValue& x, std::size_t position) -> Result<TritonValue> {
  const auto axis = x.shape[position][0];
  TritonValue place;
  place.kind = Kind::tile;
  place.shape.resize(x.shape.size());
  place.shape[position] = {axis};
  place.id = builder_.emit(TileLane{axis}, {}, {DType::int32, AxisSet{1} << axis});
  return broadcast_to(place, x.shape);
}

/// tl.argmax(x, axis), tl.max(x, axis, return_indices=True): the first place of the largest.
auto TritonReader::with_place(int node, bool is_max, bool with_value) -> Result<TritonValue> {
  const auto args = cursor_.positional(node);
  if (args.empty()) return bad_input("a place in nothing");
  ASSAY_TRY(const auto x, tile_of(args[0]));
  ASSAY_TRY(const auto along, dimension(argument(node, "axis", 1), x.shape.size()));
  if (!along || x.shape[*along].size() != 1) return bad_input("a place along no dimension");
  ASSAY_TRY(const auto place, lanes_along(x, *along));
  ASSAY_TRY(auto made,
            reduced(node, is_max ? TileCombine::argmax : TileCombine::argmin, {x, place}, along));
  return with_value ? tuple(std::move(made)) : made[1];
}

/// tl.sum adds narrow integers and truth values in 32 bits.
auto TritonReader::sum(int node) -> Result<TritonValue> {
  const auto args = cursor_.positional(node);
  if (args.empty()) return bad_input("a sum of nothing");
  ASSAY_TRY(auto operand, tile_of(args[0]));
  const auto dtype = builder_.type(operand).dtype;
  if (!is_floating(dtype) && size_bytes(dtype) < 4)
    operand = builder_.cast(
        operand, info(dtype).kind == DTypeKind::signed_integer ? DType::int32 : DType::uint32);
  ASSAY_TRY(const auto along, dimension(argument(node, "axis", 1), operand.shape.size()));
  ASSAY_TRY(const auto results, reduced(node, TileCombine::sum, {operand}, along));
  return results[0];
}

/// select_one(x, mask, dim, keep_dims=): the element where the mask is true, which it is in one
/// lane, as the sum over the bits of all that are not masked off.
auto TritonReader::select_one(int node) -> Result<TritonValue> {
  const auto args = cursor_.positional(node);
  if (args.size() < 2) return bad_input("operands that do not fit");
  ASSAY_TRY(auto x, tile_of(args[0]));
  ASSAY_TRY(const auto mask, tile_of(args[1]));
  ASSAY_TRY(const auto shape, builder_.broadcast(x.shape, mask.shape));
  ASSAY_TRY(const auto along, dimension(argument(node, "dim", 2), shape.size()));
  if (!along) return bad_input("a reduction without a dimension");
  const auto dtype = builder_.type(x).dtype;
  const bool has_bits = is_floating(dtype) && size_bytes(dtype) >= 4;
  if (has_bits) {
    ASSAY_TRY(x, builder_.bitcast(x, size_bytes(dtype) == 4 ? DType::int32 : DType::int64));
  }
  ASSAY_TRY(const auto zero_bits,
            builder_.as(TritonValue::python(std::int64_t{0}), builder_.type(x).dtype));
  ASSAY_TRY(auto chosen, builder_.select(mask, x, zero_bits));
  chosen.shape = shape;
  ASSAY_TRY(const auto sums, reduced(node, TileCombine::sum, {chosen}, along));
  return has_bits ? builder_.bitcast(sums[0], dtype)
                  : Result<TritonValue>(builder_.cast(sums[0], dtype));
}

/// The body of a helper as a region whose parameters are both sides.
auto TritonReader::read_helper(const TritonHelper& helper, const Values& operands,
                               TileRegion& region) -> Result<void> {
  Values params;
  for (std::size_t i = 0; i < helper.params.size(); ++i) {
    auto& param = params.emplace_back();
    param.kind = Kind::tile;
    // What a helper computes it computes lane by lane: axes do not matter.
    param.id = builder_.add_value({builder_.type(operands[i % operands.size()]).dtype, 0});
    region.params.push_back(param.id);
  }
  builder_.push(&region);
  const auto result = apply(helper, params);
  const auto yields = [&]() -> Result<void> {
    if (!result) return std::unexpected(result.error());
    for (const auto& one : result->kind == Kind::tuple ? result->items : Values{*result}) {
      ASSAY_TRY(const auto tile, builder_.tile(one));
      region.yields.push_back(tile.id);
    }
    return {};
  };
  const auto done = yields();
  builder_.pop();
  return done;
}

/// tl.associative_scan(values, dimension, helper, reverse=), tl.reduce(values, dimension, helper)
auto TritonReader::custom_reduce(int node, bool is_scan) -> Result<TritonValue> {
  const auto args = cursor_.positional(node);
  if (args.size() < 3) return bad_input("a scan without a function");
  const auto helper = helpers_.find(cursor_.source_of(args[2]));
  if (helper == helpers_.end()) return bad_input("an unknown function combines");
  ASSAY_TRY(const auto given, value(args[0]));
  ASSAY_TRY(const auto dimension, value(args[1]));
  const auto position = dimension.as_int().value_or(-1);
  const Values operands = given.kind == Kind::tuple ? given.items : Values{given};
  TritonShape shape;
  for (const auto& one : operands) {
    if (!one.is_tile()) return bad_input("a scan of no tensor");
    ASSAY_TRY(shape, builder_.broadcast(shape, one.shape));
  }
  if (position < 0 || position >= std::ssize(shape))
    return bad_input("a dimension that is not there");
  const auto& axes = shape[static_cast<std::size_t>(position)];
  if (axes.size() != 1) return bad_input("a scan over merged axes");
  if (helper->second.params.size() != 2 * operands.size())
    return bad_input("a function that takes other operands");
  TileStatement statement;
  if (is_scan)
    statement.what =
        TileScan{TileCombine::region, axes[0], cursor_.source_of(node).contains("reverse=True")};
  else
    statement.what = TileReduce{TileCombine::region, axes[0]};
  auto& region = statement.regions.emplace_back();
  AxisSet all = AxisSet{1} << axes[0];
  for (const auto& one : operands) all |= builder_.type(one).axes;
  ASSAY_TRY_VOID(read_helper(helper->second, operands, region));
  if (region.yields.size() != operands.size())
    return bad_input("a function that gives other values");
  Values results = operands;
  for (auto& one : results) {
    statement.operands.push_back(one.id);
    auto type = builder_.type(one);
    type.axes = is_scan ? all : all & ~(AxisSet{1} << axes[0]);
    one.id = builder_.add_value(type);
    statement.results.push_back(one.id);
    one.shape = shape;
    if (!is_scan) one.shape.erase(one.shape.begin() + position);
  }
  builder_.emit(std::move(statement));
  return given.kind == Kind::tuple ? tuple(std::move(results)) : results[0];
}

auto TritonReader::cumulative(int node, TileCombine combine) -> Result<TritonValue> {
  const auto args = cursor_.positional(node);
  if (args.empty()) return bad_input("a scan of nothing");
  ASSAY_TRY(auto operand, tile_of(args[0]));
  std::int64_t position = 0;
  if (args.size() > 1) {
    ASSAY_TRY(const auto dimension, value(args[1]));
    position = dimension.as_int().value_or(-1);
  }
  if (position < 0 || position >= std::ssize(operand.shape))
    return bad_input("a dimension that is not there");
  const auto& axes = operand.shape[static_cast<std::size_t>(position)];
  if (axes.size() != 1) return bad_input("a scan over merged axes");
  auto type = builder_.type(operand);
  type.axes |= AxisSet{1} << axes[0];
  operand.id =
      builder_.emit(TileScan{combine, axes[0], cursor_.source_of(node).contains("reverse=True")},
                    {operand.id}, type);
  return operand;
}

/// sort_with_index(x, index, rnumel, dim, stable=, descending=)
auto TritonReader::sort(int node) -> Result<TritonValue> {
  const auto args = cursor_.positional(node);
  if (args.size() < 3) return bad_input("a sort with other operands");
  Values v;
  for (std::size_t i = 0; i < 2; ++i) {
    ASSAY_TRY(v.emplace_back(), tile_of(args[i]));
  }
  ASSAY_TRY(const auto count, value(args[2]));
  const auto source = cursor_.source_of(node);
  const TileSort how{.is_descending = source.contains("descending=True"),
                     .is_stable = source.contains("stable=True")};
  ASSAY_TRY(auto made, sorted(std::move(v), argument(node, "dim", 3), how, count));
  return tuple(std::move(made));
}

/// tl.sort(x, dim=, descending=): all lanes of a tensor, values alone.
auto TritonReader::sort_values(int node) -> Result<TritonValue> {
  const auto args = cursor_.positional(node);
  if (args.empty()) return bad_input("a sort of nothing");
  ASSAY_TRY(const auto x, tile_of(args[0]));
  TileSort how;
  if (const int falls = argument(node, "descending", 2); falls >= 0) {
    ASSAY_TRY(const auto read, value(falls));
    if (!read.as_int()) return bad_input("a sort in an unknown order");
    how.is_descending = *read.as_int() != 0;
  }
  if (x.shape.empty() || x.shape.back().size() != 1)
    return bad_input("a dimension that is not there");
  ASSAY_TRY(const auto place, lanes_along(x, x.shape.size() - 1));
  TritonValue all;
  all.kind = Kind::none;
  ASSAY_TRY(const auto made, sorted({x, place}, argument(node, "dim", 1), how, all));
  return made[0];
}

/// Values with numbers that go along; `count` lanes of them, none: all.
auto TritonReader::sorted(Values v, int dimension_node, TileSort how, const TritonValue& count)
    -> Result<Values> {
  ASSAY_TRY(const auto shape, builder_.broadcast(v[0].shape, v[1].shape));
  ASSAY_TRY(const auto given, dimension(dimension_node, shape.size()));
  const auto position = given.value_or(shape.size() - 1);
  if (position >= shape.size() || shape[position].size() != 1)
    return bad_input("a dimension that is not there");
  how.axis = shape[position][0];
  TileStatement statement{how, {}, {}, {}, 0, {}};
  AxisSet axes = AxisSet{1} << how.axis;
  for (const auto& one : v) axes |= builder_.type(one).axes;
  for (auto& one : v) {
    statement.operands.push_back(one.id);
    one.id = builder_.add_value({builder_.type(one).dtype, axes});
    statement.results.push_back(one.id);
    one.shape = shape;
  }
  if (count.kind == Kind::none) {
    statement.operands.push_back(kNoTile);
  } else {
    ASSAY_TRY(const auto lanes, builder_.as(count, DType::int64));
    statement.operands.push_back(lanes.id);
  }
  builder_.emit(std::move(statement));
  return v;
}

/// Triton's own choice for float32 is TF32; `allow_tf32=False` and `input_precision="ieee"` forbid
/// it.
auto TritonReader::dot_rounds(int node) -> Result<bool> {
  if (const int allowed = cursor_.keyword(node, "allow_tf32"); allowed >= 0) {
    ASSAY_TRY(const auto given, value(allowed));
    return given.as_int().value_or(1) != 0;
  }
  const int precision = cursor_.keyword(node, "input_precision");
  return precision < 0 || !cursor_.source_of(precision).contains("ieee");
}

/// tl.dot(a, b, acc=): products in float32 (integers: int32).
auto TritonReader::dot(int node) -> Result<TritonValue> {
  const auto args = cursor_.positional(node);
  if (args.size() < 2) return bad_input("a product of one operand");
  ASSAY_TRY(const auto a, tile_of(args[0]));
  ASSAY_TRY(const auto b, tile_of(args[1]));
  const int added_node = args.size() > 2 ? args[2] : cursor_.keyword(node, "acc");
  if (a.shape.size() != 2 || b.shape.size() != 2 || a.shape[1].size() != 1 ||
      a.shape[1] != b.shape[0])
    return bad_input("operands of a product that do not share an axis");
  const auto axis = a.shape[1][0];
  auto dtype = is_floating(builder_.type(a).dtype) ? DType::float32 : DType::int32;
  if (builder_.type(a).dtype == DType::float64) dtype = DType::float64;
  TileId added = kNoTile;
  auto axes = builder_.type(a).axes | builder_.type(b).axes;
  if (added_node >= 0) {
    ASSAY_TRY(const auto operand, value(added_node));
    if (operand.kind != Kind::none) {
      ASSAY_TRY(const auto converted, builder_.as(operand, dtype));
      added = converted.id;
      axes |= builder_.type(converted).axes;
    }
  }
  ASSAY_TRY(const bool may_round, dot_rounds(node));
  TritonValue result;
  result.kind = Kind::tile;
  result.shape = {a.shape[0], b.shape[1]};
  result.id = builder_.emit(TileDot{axis, may_round}, {a.id, b.id, added},
                            {dtype, axes & ~(AxisSet{1} << axis)});
  return result;
}

/// welford_reduce(value, mean, m2, weight, first): from zeros the first round is as any other.
auto TritonReader::welford_step(const Values& v) -> Result<TritonValue> {
  ASSAY_TRY(const auto delta, builder_.binary("-", v[0], v[1]));
  ASSAY_TRY(const auto weight, builder_.binary("+", v[3], TritonValue::python(std::int64_t{1})));
  ASSAY_TRY(const auto step, builder_.binary("/", delta, weight));
  ASSAY_TRY(const auto mean, builder_.binary("+", v[1], step));
  ASSAY_TRY(const auto rest, builder_.binary("-", v[0], mean));
  ASSAY_TRY(const auto square, builder_.binary("*", delta, rest));
  ASSAY_TRY(const auto m2, builder_.binary("+", v[2], square));
  return tuple({mean, m2, weight});
}

/// welford_combine(mean, m2, weight, mean, m2, weight)
auto TritonReader::welford_combine(const Values& v) -> Result<TritonValue> {
  ASSAY_TRY(const auto delta, builder_.binary("-", v[3], v[0]));
  ASSAY_TRY(const auto weight, builder_.binary("+", v[2], v[5]));
  ASSAY_TRY(const auto share, builder_.binary("/", v[5], weight));
  ASSAY_TRY(const auto is_empty, builder_.binary("==", weight, zero()));
  ASSAY_TRY(const auto part, builder_.select(is_empty, zero(), share));
  ASSAY_TRY(const auto step, builder_.binary("*", delta, part));
  ASSAY_TRY(const auto mean, builder_.binary("+", v[0], step));
  ASSAY_TRY(const auto sum, builder_.binary("+", v[1], v[4]));
  ASSAY_TRY(const auto square, builder_.binary("*", delta, delta));
  ASSAY_TRY(const auto weighted, builder_.binary("*", square, v[2]));
  ASSAY_TRY(const auto cross, builder_.binary("*", weighted, part));
  ASSAY_TRY(const auto m2, builder_.binary("+", sum, cross));
  return tuple({mean, m2, weight});
}

/// maximum_with_index(value, index, value, index): NaN wins, then the smaller index.
auto TritonReader::extreme_with_index(const Values& v, bool is_max) -> Result<TritonValue> {
  ASSAY_TRY(auto takes, builder_.binary(is_max ? ">" : "<", v[0], v[2]));
  ASSAY_TRY(auto equal, builder_.binary("==", v[0], v[2]));
  if (is_floating(builder_.dtype_of(v[0]))) {
    ASSAY_TRY(const auto nan_a, builder_.binary("!=", v[0], v[0]));
    ASSAY_TRY(const auto nan_b, builder_.binary("!=", v[2], v[2]));
    ASSAY_TRY(const auto is_number, builder_.unary("~", nan_b));
    ASSAY_TRY(const auto only_a, builder_.binary("&", nan_a, is_number));
    ASSAY_TRY(takes, builder_.binary("|", takes, only_a));
    ASSAY_TRY(const auto both, builder_.binary("&", nan_a, nan_b));
    ASSAY_TRY(equal, builder_.binary("|", equal, both));
  }
  ASSAY_TRY(const auto first, builder_.binary("<", v[1], v[3]));
  ASSAY_TRY(const auto tie, builder_.binary("&", equal, first));
  ASSAY_TRY(takes, builder_.binary("|", takes, tie));
  ASSAY_TRY(const auto extreme, builder_.select(takes, v[0], v[2]));
  ASSAY_TRY(const auto index, builder_.select(takes, v[1], v[3]));
  return tuple({extreme, index});
}

}  // namespace assay
