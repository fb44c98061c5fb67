// Values that the rounds of loops add to. A variable that stands outside of a loop and is combined
// with something in it becomes a reduction over the loop's axis.
#include <algorithm>
#include <array>

#include "compiler/read/cpp_reader.h"

namespace assay {
namespace {

struct CombineRow {
  std::string_view name;
  TileCombine combine;
};
constexpr std::array kOperators = {
    CombineRow{"+", TileCombine::sum},     CombineRow{"*", TileCombine::product},
    CombineRow{"^", TileCombine::bit_xor}, CombineRow{"|", TileCombine::any},
    CombineRow{"||", TileCombine::any},    CombineRow{"&", TileCombine::all},
    CombineRow{"&&", TileCombine::all},
};
/// `f(variable, value)`, some with how many lanes count.
constexpr std::array kFunctions = {
    CombineRow{"maximum", TileCombine::max},
    CombineRow{"max_propagate_nan", TileCombine::max},
    CombineRow{"max_masked_reduce", TileCombine::max},
    CombineRow{"minimum", TileCombine::min},
    CombineRow{"min_propagate_nan", TileCombine::min},
    CombineRow{"min_masked_reduce", TileCombine::min},
    CombineRow{"sum_masked_reduce", TileCombine::sum},
    CombineRow{"prod_masked_reduce", TileCombine::product},
    CombineRow{"xor_sum_masked_reduce", TileCombine::bit_xor},
    CombineRow{"any_masked_reduce", TileCombine::any},
    CombineRow{"all_masked_reduce", TileCombine::all},
};
constexpr std::array kIndexed = {
    CombineRow{"argmax_combine", TileCombine::argmax},
    CombineRow{"argmax_combine_vec", TileCombine::argmax},
    CombineRow{"argmin_combine", TileCombine::argmin},
    CombineRow{"argmin_combine_vec", TileCombine::argmin},
};
/// Lanes of a vector combined.
constexpr std::array kAllLanes = {
    CombineRow{"welford_vec_reduce_all", TileCombine::welford},
    CombineRow{"argmax_vec_reduce_all", TileCombine::argmax},
    CombineRow{"argmin_vec_reduce_all", TileCombine::argmin},
};

auto find(const auto& rows, std::string_view name) -> std::optional<TileCombine> {
  for (const auto& row : rows)
    if (row.name == name) return row.combine;
  return std::nullopt;
}

struct JoinRow {
  TileCombine combine;
  TileOp op;
};
constexpr std::array kJoins = {
    JoinRow{TileCombine::sum, TileOp::add},         JoinRow{TileCombine::product, TileOp::mul},
    JoinRow{TileCombine::min, TileOp::minimum},     JoinRow{TileCombine::max, TileOp::maximum},
    JoinRow{TileCombine::any, TileOp::bit_or},      JoinRow{TileCombine::all, TileOp::bit_and},
    JoinRow{TileCombine::bit_xor, TileOp::bit_xor},
};

/// What changes nothing, of the first value that is combined.
auto neutral_of(TileCombine combine, DType dtype) -> std::variant<std::int64_t, double> {
  using enum TileCombine;
  if (combine == min || combine == argmin) return extreme_of(dtype, true);
  if (combine == max || combine == argmax) return extreme_of(dtype, false);
  return std::int64_t{combine == product || combine == all ? 1 : 0};
}

auto is_neutral(TileCombine combine, const CppValue& value) -> bool {
  auto known = value.known;
  if (value.is_index())
    if (const auto integer = value.expr.as_int()) known = static_cast<double>(*integer);
  const auto wanted = neutral_of(combine, value.dtype);
  return known && *known == std::visit([](auto v) { return static_cast<double>(v); }, wanted);
}

}  // namespace

auto CppReader::combine_of(std::string_view op) -> std::optional<TileCombine> {
  return find(kOperators, op);
}

/// What a right side adds to its target; nothing where it does not combine the target itself.
auto CppReader::update_of(int right, const std::string& target, DType dtype)
    -> Result<std::optional<Update>> {
  const auto& one = syntax_.node(right);
  if (one.kind == CppKind::call) return update_call(right, target, dtype);
  if (one.kind == CppKind::binary && one.text == "-" &&
      syntax_.source_of(one.children[0]) == target) {
    ASSAY_TRY(const auto operand, value(one.children[1]));
    ASSAY_TRY(auto negative, builder_.unary("-", operand));
    return std::optional(Update{TileCombine::sum, {std::move(negative)}});
  }
  const auto combine = one.kind == CppKind::binary ? combine_of(one.text) : std::nullopt;
  const bool is_logic = combine == TileCombine::any || combine == TileCombine::all;
  if (!combine || (is_logic && dtype != DType::boolean)) return std::optional<Update>();
  for (std::size_t side = 0; side < 2; ++side) {
    if (syntax_.source_of(one.children[side]) != target) continue;
    ASSAY_TRY(auto operand, value(one.children[1 - side]));
    return std::optional(Update{*combine, {std::move(operand)}});
  }
  return std::optional<Update>();
}

auto CppReader::update_call(int right, const std::string& target, DType)
    -> Result<std::optional<Update>> {
  const auto& one = syntax_.node(right);
  const auto& name = syntax_.node(one.children[0]).text;
  if (one.children.size() < 3 || syntax_.source_of(one.children[1]) != target)
    return std::optional<Update>();
  if (find(kIndexed, name)) {
    ASSAY_TRY(auto update, indexed_update(right, name));
    return std::optional(std::move(update));
  }
  if (name == "welford_combine") {
    Update update{TileCombine::welford, {}};
    const auto& second = syntax_.node(one.children[2]);
    if (second.kind == CppKind::unary && second.text == "&") return std::optional(update);
    const bool has_count =
        one.children.size() > 3 && syntax_.node(one.children[3]).kind != CppKind::unary;
    if (has_count) ASSAY_TRY_VOID(lane_of(right, 3, false));
    ASSAY_TRY(const auto added, value(one.children[2]));
    if (added.kind == CppValue::Kind::record) {
      if (added.fields.size() != 3) return bad_input("parts of a mean");
      if (!added.is_neutral) update.operands = added.fields;
      update.of_parts = added.parts.has_value();
      return std::optional(std::move(update));
    }
    update.operands = {added, builder_.real(0, added.dtype, added.is_vector),
                       builder_.real(1, added.dtype, added.is_vector)};
    return std::optional(std::move(update));
  }
  const auto combine = find(kFunctions, name);
  if (!combine) return std::optional<Update>();
  if (one.children.size() > 3) ASSAY_TRY_VOID(lane_of(right, 3, false));
  ASSAY_TRY(auto operand, value(one.children[2]));
  return std::optional(Update{*combine, {std::move(operand)}});
}

/// `argmax_combine_vec<T, n, m, across>(variable, value, index, count)`: the index is the first
/// lane's if the lanes lie across the reduction, else all lanes'. `argmax_combine(a, b)` of two.
auto CppReader::indexed_update(int right, std::string_view name) -> Result<Update> {
  const auto& one = syntax_.node(right);
  Update update{*find(kIndexed, name), {}};
  ASSAY_TRY(const auto added, value(one.children[2]));
  if (added.kind == CppValue::Kind::record) {
    if (added.fields.size() != 2) return bad_input("parts of an extreme value");
    if (!added.is_neutral) update.operands = added.fields;
    update.of_parts = added.parts.has_value();
    return update;
  }
  if (one.children.size() < 4) return bad_input("an extreme value without its index");
  ASSAY_TRY(auto index, integer(one.children[3]));
  if (name.ends_with("_vec")) {
    if (one.children.size() > 4) ASSAY_TRY_VOID(lane_of(right, 4, false));
    ASSAY_TRY(const auto* loop, vector_lane());
    if (flag_argument(syntax_.node(one.children[0]))) index = index + loop->lane;
  }
  ASSAY_TRY(const auto id, builder_.number(index));
  update.operands = {added, CppValue::of_tile(id, DType::int64, added.is_vector)};
  return update;
}

/// `x = cascade_sum_combine(value, &helper)`: the helper holds the sum until it is asked for it.
auto CppReader::helper_update(const std::string& target, int right) -> Result<bool> {
  const auto& one = syntax_.node(right);
  if (one.kind != CppKind::call || syntax_.node(one.children[0]).text != "cascade_sum_combine")
    return false;
  const auto& last = syntax_.node(one.children.back());
  if (one.children.size() < 3 || last.kind != CppKind::unary || last.text != "&")
    return bad_input("a sum without a helper");
  if (one.children.size() == 4) ASSAY_TRY_VOID(lane_of(right, 2, false));
  const auto& name = syntax_.node(last.children[0]).text;
  if (!locals_.contains(name) || !locals_.contains(target))
    return bad_input("a helper that is not known");
  ASSAY_TRY(auto operand, value(one.children[1]));
  auto& helper = locals_.find(name)->second;
  ASSAY_TRY(auto result, combined(helper.value, helper.depth, {TileCombine::sum, {operand}}));
  auto& again = locals_.find(name)->second;
  again.value = std::move(result);
  again.updated_in = loops_.size() > again.depth ? loops_.back().serial : 0;
  return true;
}

/// Lanes that are masked out add nothing.
auto CppReader::neutral(const Update& update, TileId mask) -> Result<std::vector<TileId>> {
  std::vector<TileId> result;
  for (std::size_t i = 0; i < update.operands.size(); ++i) {
    const auto& operand = update.operands[i];
    ASSAY_TRY(const auto id, builder_.tile(operand));
    const bool is_welford = update.combine == TileCombine::welford;
    // Of a mean the weight counts, of an extreme value the value.
    const bool counts = is_welford ? i == 2 : i == 0;
    if (mask == kNoTile || !counts) {
      result.push_back(id);
      continue;
    }
    const auto dtype = builder_.type(id).dtype;
    const auto nothing = builder_.constant(neutral_of(update.combine, dtype), dtype);
    ASSAY_TRY(result.emplace_back(), builder_.compute(TileOp::select, {mask, id, nothing}));
  }
  return result;
}

/// Over all loops that were opened since the variable was declared.
auto CppReader::reduced(Update update, std::size_t depth, bool& takes_lanes) -> Result<Update> {
  const bool is_vector = update.operands[0].is_vector;
  for (auto i = depth; i < loops_.size(); ++i) {
    if (loops_[i].width == 1 || loops_[i].is_inside) continue;
    if (!is_vector) return bad_input("a sum of single values in a loop over vectors");
    takes_lanes = true;
  }
  ASSAY_TRY(auto ids, neutral(update, mask_));
  for (auto i = loops_.size(); i > depth; --i)
    ids = builder_.reduce(update.combine, loops_[i - 1].axis, ids);
  for (std::size_t i = 0; i < ids.size(); ++i)
    update.operands[i] = CppValue::of_tile(ids[i], builder_.type(ids[i]).dtype, is_vector);
  return update;
}

auto CppReader::combined(const CppValue& before, std::size_t depth, const Update& update) -> R {
  if (update.operands.empty()) return before;
  const bool has_lanes = before.kind == CppValue::Kind::lanes;
  const auto& one = has_lanes ? before.fields[0] : before;
  const bool is_record = one.kind == CppValue::Kind::record;
  if (!is_record && !one.is_number()) return bad_input("a sum into what is no number");
  auto operands = update;
  if (!is_record) {
    if (operands.operands.size() != 1) return bad_input("a sum of several values into one");
    if (!operands.operands[0].is_number()) return bad_input("a sum of what is no number");
    if (one.dtype != operands.operands[0].dtype) {
      ASSAY_TRY(operands.operands[0], builder_.converted(operands.operands[0], one.dtype));
    }
  }
  if (update.of_parts || operands.operands[0].parts == update.combine)
    return combined_parts(before, depth, std::move(operands));
  if (splits_lanes_)
    if (const auto loop = across(depth)) return combined_lanes(before, depth, operands, *loop);
  if (has_lanes) return bad_input("a sum of all lanes into each");
  bool takes_lanes = false;
  ASSAY_TRY(const auto added, reduced(std::move(operands), depth, takes_lanes));
  auto start = before;
  if (takes_lanes && !is_first(before, update.combine) && before.parts != update.combine) {
    if (is_record || before.parts || builder_.type(before.id).axes != 0)
      return bad_lanes("lanes of a vector that do not start at a neutral value");
    // Each lane begins with it, and all are combined in the end.
    std::int64_t width = 1;
    for (auto i = depth; i < loops_.size(); ++i)
      if (!loops_[i].is_inside) width = std::max(width, loops_[i].width);
    for (std::int64_t lanes = 1; lanes < width; lanes *= 2) {
      ASSAY_TRY(start, join(update.combine, start, {start}));
    }
  }
  if (!takes_lanes && before.parts) return bad_lanes("a sum into parts of another");
  start.parts.reset();
  ASSAY_TRY(auto result, joined(start, added));
  result.is_vector = before.is_vector || added.operands[0].is_vector;
  result.parts = takes_lanes ? std::optional(update.combine) : std::nullopt;
  return result;
}

/// Parts that each thread has, put together behind its loop: they are parts still.
auto CppReader::combined_parts(const CppValue& before, std::size_t depth, Update update) -> R {
  if (loops_.size() != depth || mask_ != kNoTile)
    return bad_lanes("lanes of a vector that hold parts of a reduction");
  if (!is_first(before, update.combine) && before.parts != update.combine)
    return bad_lanes("lanes of a vector that do not start at a neutral value");
  auto start = before;
  start.parts.reset();
  for (auto& operand : update.operands) operand.parts.reset();
  ASSAY_TRY(auto result, joined(start, update));
  result.is_vector = before.is_vector;
  result.parts = update.combine;
  return result;
}

auto CppReader::bad_lanes(std::string_view message) -> std::unexpected<Error> {
  lacks_lanes_ = true;
  return bad_input("{}", message);
}

auto CppReader::is_first(const CppValue& before, TileCombine combine) -> bool {
  return before.kind == CppValue::Kind::record ? before.is_neutral : is_neutral(combine, before);
}

auto CppReader::joined(const CppValue& start, const Update& added) -> R {
  if (start.kind != CppValue::Kind::record)
    return is_first(start, added.combine) ? R(added.operands[0])
                                          : join(added.combine, start, added.operands);
  auto result = start;
  result.fields = added.operands;
  if (!start.is_neutral) {
    ASSAY_TRY(result, join_records(added.combine, start.fields, added.operands));
  }
  result.is_neutral = false;
  return result;
}

/// The loop over vectors since the variable was declared, whose lanes add to lanes of theirs.
auto CppReader::across(std::size_t depth) const -> std::optional<CppLoop> {
  for (auto i = depth; i < loops_.size(); ++i)
    if (loops_[i].width > 1 && !loops_[i].is_inside) return loops_[i];
  return std::nullopt;
}

/// Lane by lane: every one combines the elements at its place in the loop's vectors.
auto CppReader::combined_lanes(const CppValue& before, std::size_t depth, const Update& update,
                               const CppLoop& loop) -> R {
  CppValue result;
  result.kind = CppValue::Kind::lanes;
  result.dtype = before.dtype;
  result.is_vector = true;
  const auto width = static_cast<std::size_t>(loop.width);
  const bool has_lanes = before.kind == CppValue::Kind::lanes;
  if (has_lanes && before.fields.size() != width) return bad_input("vectors of another width");
  ASSAY_TRY(const auto lane, builder_.number(loop.lane));
  const auto outer = mask_;
  for (std::size_t i = 0; i < width; ++i) {
    const auto number = builder_.constant(static_cast<std::int64_t>(i), DType::int64);
    ASSAY_TRY(const auto is_this, builder_.compute(TileOp::eq, {lane, number}));
    ASSAY_TRY(mask_, both(outer, is_this));
    bool takes_lanes = false;
    auto added = reduced(update, depth, takes_lanes);
    mask_ = outer;
    if (!added) return std::unexpected(std::move(added).error());
    ASSAY_TRY(result.fields.emplace_back(), joined(has_lanes ? before.fields[i] : before, *added));
  }
  return result;
}

/// What lanes of a vector give together.
auto CppReader::all_lanes(const CppValue& vector, TileCombine combine) -> R {
  auto result = vector.fields[0];
  for (std::size_t i = 1; i < vector.fields.size(); ++i) {
    const auto& lane = vector.fields[i];
    const bool is_record = lane.kind == CppValue::Kind::record;
    ASSAY_TRY(result, joined(result, {combine, is_record ? lane.fields : Values{lane}}));
  }
  return result;
}

auto CppReader::join(TileCombine combine, const CppValue& a, const Values& b) -> R {
  for (const auto& row : kJoins) {
    if (row.combine != combine) continue;
    ASSAY_TRY(const auto x, builder_.as(a, a.dtype));
    ASSAY_TRY(const auto y, builder_.as(b[0], a.dtype));
    ASSAY_TRY(const auto id, builder_.compute(row.op, {x, y}));
    return CppValue::of_tile(id, a.dtype, a.is_vector);
  }
  return bad_input("a combination of other values");
}

/// Two means with their squares and weights, or two extreme values with their indices.
auto CppReader::join_records(TileCombine combine, const Values& a, const Values& b) -> R {
  if (a.size() != b.size()) return bad_input("records that do not fit");
  CppValue result;
  result.kind = CppValue::Kind::record;
  result.dtype = a[0].dtype;
  if (combine == TileCombine::welford) {
    const auto zero = builder_.real(0, a[0].dtype, false);
    ASSAY_TRY(const auto weight, builder_.binary("+", a[2], b[2]));
    ASSAY_TRY(const auto share, builder_.binary("/", b[2], weight));
    ASSAY_TRY(const auto is_none, builder_.binary("==", weight, zero));
    ASSAY_TRY(const auto part, builder_.select(is_none.id, zero, share));
    ASSAY_TRY(const auto delta, builder_.binary("-", b[0], a[0]));
    ASSAY_TRY(const auto shift, builder_.binary("*", delta, part));
    ASSAY_TRY(const auto mean, builder_.binary("+", a[0], shift));
    ASSAY_TRY(const auto squares, builder_.binary("+", a[1], b[1]));
    ASSAY_TRY(const auto apart, builder_.binary("*", delta, shift));
    ASSAY_TRY(const auto between, builder_.binary("*", apart, a[2]));
    ASSAY_TRY(const auto m2, builder_.binary("+", squares, between));
    result.fields = {mean, m2, weight};
    return result;
  }
  // The second where it is better, or as good with a smaller index; NaN is best.
  ASSAY_TRY(const auto better,
            builder_.binary(combine == TileCombine::argmax ? ">" : "<", b[0], a[0]));
  ASSAY_TRY(const auto equal, builder_.binary("==", b[0], a[0]));
  ASSAY_TRY(const auto before, builder_.binary("<", b[1], a[1]));
  ASSAY_TRY(const auto nan_a, builder_.binary("!=", a[0], a[0]));
  ASSAY_TRY(const auto nan_b, builder_.binary("!=", b[0], b[0]));
  ASSAY_TRY(const auto both_nan, builder_.binary("&", nan_a, nan_b));
  ASSAY_TRY(const auto no_nan_a, builder_.unary("!", nan_a));
  ASSAY_TRY(const auto only_b, builder_.binary("&", nan_b, no_nan_a));
  ASSAY_TRY(const auto same, builder_.binary("|", equal, both_nan));
  ASSAY_TRY(const auto tie, builder_.binary("&", same, before));
  ASSAY_TRY(const auto wins, builder_.binary("|", better, only_b));
  ASSAY_TRY(const auto takes, builder_.binary("|", wins, tie));
  ASSAY_TRY(const auto value, builder_.select(takes.id, b[0], a[0]));
  ASSAY_TRY(const auto index, builder_.select(takes.id, b[1], a[1]));
  result.fields = {value, index};
  return result;
}

/// What ends a reduction: lanes combined, sums of helpers.
auto CppReader::reduction(int node, std::string_view name, bool& is_known) -> R {
  const auto& one = syntax_.node(node);
  is_known = true;
  if (name == "cascade_sum_final" && one.children.size() == 2)
    return value(syntax_.node(one.children[1]).children.empty()
                     ? one.children[1]
                     : syntax_.node(one.children[1]).children[0]);
  auto combine = find(kAllLanes, name);
  if (name == "vec_reduce_all" && one.children.size() == 3) {
    const auto& lambda = syntax_.node(one.children[1]);
    if (lambda.kind != CppKind::lambda) return bad_input("a reduction without a function");
    const auto body = syntax_.node(lambda.children[0]).children;
    const bool gives = body.size() == 1 && syntax_.node(body[0]).kind == CppKind::give &&
                       !syntax_.node(body[0]).children.empty();
    if (gives) {
      const auto& result = syntax_.node(syntax_.node(body[0]).children[0]);
      combine = result.kind == CppKind::call
                    ? find(kFunctions, syntax_.node(result.children[0]).text)
                    : combine_of(result.text);
    }
    if (!combine) return bad_input("a reduction by a function that is not known");
  }
  is_known = combine.has_value();
  if (!is_known) return bad_input("the function `{}`", name);
  ASSAY_TRY(auto result, value(one.children.back()));
  if (result.kind == CppValue::Kind::lanes) {
    ASSAY_TRY(result, all_lanes(result, *combine));
  } else if (result.parts != combine && !is_first(result, *combine)) {
    return bad_lanes("lanes that hold no parts of this");
  }
  result.parts.reset();
  result.is_vector = false;
  for (auto& field : result.fields) field.is_vector = false;
  return result;
}

/// `Welford<T>()`, `IndexValue<T>{0, -inf}`, `IndexValueVec<T, n, m>(-inf)`
auto CppReader::record(int node) -> R {
  const auto& type = syntax_.node(node);
  ASSAY_TRY(const auto of, type_argument(type));
  const bool is_vector = of.is_vector || type.text == "IndexValueVec";
  CppValue result;
  result.kind = CppValue::Kind::record;
  result.dtype = of.dtype;
  result.is_vector = is_vector;
  result.is_neutral = true;
  if (type.text == "Welford") {
    for (int i = 0; i < 3; ++i) result.fields.push_back(builder_.number_of(0, of.dtype, is_vector));
    return result;
  }
  // The first value is the extreme that everything beats; which one, the loop's function says.
  result.fields = {builder_.number_of(0, of.dtype, is_vector),
                   builder_.number_of(0, DType::int64, is_vector)};
  return result;
}

}  // namespace assay
