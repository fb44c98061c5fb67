// Loads, stores, atomics, searches, random numbers and asserts of Triton kernels.
#include <algorithm>
#include <array>

#include "compiler/read/triton_reader.h"

namespace assay {
namespace {

using Kind = TritonValue::Kind;

struct AtomicRow {
  std::string_view name;
  TileOp op;
  bool is_exchange = false;
};
constexpr std::array kAtomics = {
    AtomicRow{"add", TileOp::add},       AtomicRow{"max", TileOp::maximum},
    AtomicRow{"min", TileOp::minimum},   AtomicRow{"and", TileOp::bit_and},
    AtomicRow{"or", TileOp::bit_or},     AtomicRow{"xor", TileOp::bit_xor},
    AtomicRow{"xchg", TileOp::add, true}};

}  // namespace

auto TritonReader::index_of(const TritonValue& pointer) -> TileId {
  return pointer.id != kNoTile
             ? pointer.id
             : builder_.emit(TileConstant{std::int64_t{0}}, {}, {DType::int32, 0});
}

/// As operand of an access, in one of the pointer's lanes each. Along an axis that the pointer does
/// not have, as where a size is known to be 1, Triton takes no more than one lane.
auto TritonReader::operand_of(const TritonValue& pointer, const TritonValue& read, DType dtype)
    -> Result<TileId> {
  ASSAY_TRY(const auto converted, builder_.as(read, dtype));
  if (const auto fitting = broadcast_to(converted, pointer.shape)) return fitting->id;
  ASSAY_TRY(const auto joined, builder_.broadcast(converted.shape, pointer.shape));
  for (std::size_t i = 0; i < joined.size(); ++i) {
    if (i < pointer.shape.size() && joined[i] == pointer.shape[i]) continue;
    if (i >= pointer.shape.size() || !pointer.shape[i].empty())
      return bad_input("an access with a mask or a value of another shape");
    for (const auto axis : joined[i]) {
      if (kernel_.axes[axis].block.as_int().value_or(1) > 1)
        return bad_input("an access with a mask or a value of another shape");
      kernel_.axes[axis].max_block = 1;
    }
  }
  return converted.id;
}

/// The mask of an access, kNoTile if it has none.
auto TritonReader::mask_of(int node, std::size_t position, const TritonValue& pointer)
    -> Result<TileId> {
  const int mask = argument(node, "mask", position);
  if (mask < 0) return kNoTile;
  ASSAY_TRY(const auto read, value(mask));
  if (read.kind == Kind::none) return kNoTile;
  return operand_of(pointer, read, DType::boolean);
}

auto TritonReader::load(int node) -> Result<TritonValue> {
  const auto args = cursor_.positional(node);
  if (args.empty()) return bad_input("an access without a pointer");
  ASSAY_TRY(const auto pointer, value(args[0]));
  if (pointer.kind == Kind::block) {
    ASSAY_TRY(const auto checked,
              checked_dimensions(cursor_.keyword(node, "boundary_check"), pointer.shape.size()));
    const int option = cursor_.keyword(node, "padding_option");
    return load_block(node, pointer, checked,
                      option < 0 ? std::string_view() : cursor_.source_of(option));
  }
  if (!pointer.is_pointer()) return bad_input("an access through something that is no pointer");
  ASSAY_TRY(const auto mask, mask_of(node, 1, pointer));
  const auto dtype = kernel_.params[pointer.param].dtype;
  const int other_node = argument(node, "other", 2);
  TileId other = kNoTile;
  if (other_node >= 0) {
    ASSAY_TRY(const auto read, value(other_node));
    if (read.kind != Kind::none) {
      ASSAY_TRY(other, operand_of(pointer, read, dtype));
    }
  }
  return loaded(node, pointer, mask, other);
}

auto TritonReader::loaded(int node, const TritonValue& pointer, TileId mask, TileId other)
    -> TritonValue {
  const auto dtype = kernel_.params[pointer.param].dtype;
  TritonValue result;
  result.kind = Kind::tile;
  result.shape = pointer.shape;
  const auto index = index_of(pointer);
  AxisSet axes = 0;
  for (const auto id : {index, mask, other})
    if (id != kNoTile) axes |= kernel_.type(id).axes;
  result.id = builder_.emit(TileLoad{pointer.param}, {index, mask, other}, {dtype, axes});
  builder_.annotate(cursor_.source_of(node));
  return result;
}

auto TritonReader::store(int node) -> Result<TritonValue> {
  const auto args = cursor_.positional(node);
  if (args.size() < 2) return bad_input("a store of nothing");
  ASSAY_TRY(const auto pointer, value(args[0]));
  if (pointer.kind == Kind::block) {
    ASSAY_TRY(const auto given, value(args[1]));
    ASSAY_TRY(const auto checked,
              checked_dimensions(cursor_.keyword(node, "boundary_check"), pointer.shape.size()));
    return store_block(node, pointer, given, checked);
  }
  if (!pointer.is_pointer()) return bad_input("an access through something that is no pointer");
  ASSAY_TRY(const auto read, value(args[1]));
  ASSAY_TRY(const auto mask, mask_of(node, 2, pointer));
  ASSAY_TRY(const auto stored, operand_of(pointer, read, kernel_.params[pointer.param].dtype));
  builder_.emit_effect(TileStore{pointer.param}, {index_of(pointer), stored, mask});
  builder_.annotate(cursor_.source_of(node));
  return TritonValue{};
}

auto TritonReader::atomic(int node, std::string_view name) -> Result<TritonValue> {
  const auto* const row = std::ranges::find(kAtomics, name, &AtomicRow::name);
  const auto args = cursor_.positional(node);
  if (row == kAtomics.end() || args.size() < 2) return bad_input("the atomic operation `{}`", name);
  ASSAY_TRY(const auto pointer, value(args[0]));
  if (!pointer.is_pointer()) return bad_input("an access through something that is no pointer");
  ASSAY_TRY(const auto read, value(args[1]));
  ASSAY_TRY(const auto mask, mask_of(node, 2, pointer));
  const auto dtype = kernel_.params[pointer.param].dtype;
  ASSAY_TRY(const auto operand, operand_of(pointer, read, dtype));
  const auto index = index_of(pointer);
  AxisSet axes = 0;
  for (const auto id : {index, operand, mask})
    if (id != kNoTile) axes |= kernel_.type(id).axes;
  // Every lane of the pointer's tile takes part, also where it does not vary.
  for (const auto& position : pointer.shape)
    for (const auto axis : position) axes |= AxisSet{1} << axis;
  TritonValue result;
  result.kind = Kind::tile;
  result.shape = pointer.shape;
  result.id = builder_.emit(TileAtomic{pointer.param, row->op, row->is_exchange},
                            {index, operand, mask}, {dtype, axes});
  builder_.annotate(cursor_.source_of(node));
  return result;
}

/// bucketize_binary_search(values, boundaries, size, underlying, stride, indices, dtype, right,
/// sorter, sorter stride, sorter indices, ...)
auto TritonReader::search(int node) -> Result<TritonValue> {
  ASSAY_TRY(const auto v, arguments(node));
  if (v.size() < 8 || !v[1].is_pointer() || v[6].kind != Kind::dtype)
    return bad_input("a search with other operands");
  ASSAY_TRY(auto wanted, builder_.tile(v[0]));
  TileSearch what;
  what.param = v[1].param;
  what.is_right = v[7].as_int().value_or(0) != 0;
  std::vector<TileId> operands = {wanted.id};
  for (const auto at : std::array<std::size_t, 3>{2, 4, 5}) {
    ASSAY_TRY(const auto number, builder_.as(v[at], DType::int64));
    operands.push_back(number.id);
  }
  if (v.size() > 10 && v[8].is_pointer()) {
    what.sorter = v[8].param;
    for (const auto at : std::array<std::size_t, 2>{9, 10}) {
      ASSAY_TRY(const auto number, builder_.as(v[at], DType::int64));
      operands.push_back(number.id);
    }
  } else {
    operands.insert(operands.end(), {kNoTile, kNoTile});
  }
  AxisSet axes = 0;
  for (const auto id : operands)
    if (id != kNoTile) axes |= kernel_.type(id).axes;
  wanted.id = builder_.emit(what, std::move(operands), {v[6].dtype, axes});
  builder_.annotate(cursor_.source_of(node));
  wanted.is_weak = false;
  return wanted;
}

auto TritonReader::random(int node, TileRandomKind kind) -> Result<TritonValue> {
  ASSAY_TRY(const auto v, arguments(node));
  const bool has_ends = kind == TileRandomKind::integer64;
  if (v.size() < (has_ends ? 4U : 2U)) return bad_input("random numbers without seed and offset");
  std::vector<TileId> operands;
  AxisSet axes = 0;
  TritonShape shape;
  for (std::size_t i = 0; i < (has_ends ? 4U : 2U); ++i) {
    ASSAY_TRY(const auto operand, builder_.as(v[i], DType::int64));
    operands.push_back(operand.id);
    axes |= kernel_.type(operand.id).axes;
    ASSAY_TRY(shape, builder_.broadcast(shape, operand.shape));
  }
  const auto dtype = has_ends                          ? DType::int64
                     : kind == TileRandomKind::integer ? DType::int32
                                                       : DType::float32;
  TritonValue result;
  result.kind = Kind::tile;
  result.shape = shape;
  result.id = builder_.emit(TileRandom{kind}, std::move(operands), {dtype, axes});
  return result;
}

auto TritonReader::device_assert(int node) -> Result<TritonValue> {
  const auto args = cursor_.positional(node);
  if (args.empty()) return bad_input("an assert of nothing");
  ASSAY_TRY(const auto read, value(args[0]));
  ASSAY_TRY(const auto condition, builder_.as(read, DType::boolean));
  TileAssert what;
  if (args.size() > 1) what.message = cursor_.source_of(args[1]);
  builder_.emit_effect(std::move(what), {condition.id, kNoTile});
  return TritonValue{};
}

}  // namespace assay
