// Block pointers and tensor descriptors of Triton kernels: a pointer with the shape and strides of
// a tensor, and a block of it that accesses compare with the shape (triton/language/core.py).
#include <algorithm>
#include <array>
#include <limits>

#include "compiler/read/triton_reader.h"

namespace assay {
namespace {

using Kind = TritonValue::Kind;

/// Items of a block pointer.
enum Item : std::size_t { kBase, kShape, kStrides, kOffsets, kItems };

}  // namespace

auto TritonReader::argument(int node, std::string_view name, std::size_t position) const -> int {
  if (const int named = cursor_.keyword(node, name); named >= 0) return named;
  const auto args = cursor_.positional(node);
  return position < args.size() ? args[position] : -1;
}

auto TritonReader::numbers(int node, std::size_t count) -> Result<TritonValue> {
  if (node < 0) return bad_input("a block pointer without its shape, strides or offsets");
  ASSAY_TRY(auto list, value(node));
  if (list.kind != Kind::tuple || list.items.size() != count)
    return bad_input("a block pointer of {} dimensions with other numbers", count);
  return list;
}

/// make_block_ptr(base, shape, strides, offsets, block_shape, order)
/// make_tensor_descriptor(base, shape, strides, block_shape, padding_option)
auto TritonReader::block_pointer(int node, bool is_descriptor) -> Result<TritonValue> {
  const int base = argument(node, "base", 0);
  const int block = argument(node, "block_shape", is_descriptor ? 3 : 4);
  if (base < 0 || block < 0) return bad_input("a block pointer without a pointer or a block");
  TritonValue made;
  made.kind = Kind::block;
  made.items.resize(kItems);
  ASSAY_TRY(made.items[kBase], value(base));
  if (!made.items[kBase].is_pointer() || !made.items[kBase].shape.empty())
    return bad_input("a block pointer to something that is no pointer");
  ASSAY_TRY(made.shape, shape_of(block));
  std::vector<std::size_t> axes;
  for (const auto& position : made.shape) {
    if (position.size() > 1) return bad_input("lanes over merged axes");
    for (const auto axis : position) {
      if (std::ranges::find(axes, axis) != axes.end())
        return bad_input("a block with one size for two dimensions");
      axes.push_back(axis);
    }
  }
  const auto count = made.shape.size();
  ASSAY_TRY(made.items[kShape], numbers(argument(node, "shape", 1), count));
  ASSAY_TRY(made.items[kStrides], numbers(argument(node, "strides", 2), count));
  if (is_descriptor) {
    made.items[kOffsets].items.assign(count, TritonValue::python(std::int64_t{0}));
    if (const int option = argument(node, "padding_option", 4); option >= 0)
      made.text = cursor_.source_of(option);
    return made;
  }
  ASSAY_TRY(made.items[kOffsets], numbers(argument(node, "offsets", 3), count));
  return made;
}

auto TritonReader::moved_block(TritonValue block, const Values& by) -> Result<TritonValue> {
  auto& offsets = block.items[kOffsets].items;
  if (offsets.size() != by.size()) return bad_input("a block pointer moved along other dimensions");
  for (std::size_t i = 0; i < by.size(); ++i) {
    if (by[i].as_int() == 0) continue;
    if (offsets[i].as_int() == 0) {
      offsets[i] = by[i];
      continue;
    }
    ASSAY_TRY(offsets[i], builder_.binary("+", offsets[i], by[i]));
  }
  return block;
}

/// advance(block, offsets)
auto TritonReader::advanced(int node) -> Result<TritonValue> {
  const int block = argument(node, "base", 0);
  if (block < 0) return bad_input("nothing to advance");
  ASSAY_TRY(auto given, value(block));
  if (given.kind != Kind::block) return bad_input("what is advanced is no block pointer");
  ASSAY_TRY(const auto by, numbers(argument(node, "offsets", 1), given.shape.size()));
  return moved_block(std::move(given), by.items);
}

/// Places of a block's elements in 64 bits, and which are inside along dimensions that are checked.
auto TritonReader::block_places(const TritonValue& block, const std::vector<bool>& checked)
    -> Result<BlockPlaces> {
  const auto wide = [&](const TritonValue& number) { return builder_.as(number, DType::int64); };
  const auto rank = block.shape.size();
  BlockPlaces places{block.items[kBase], {}};
  auto at = places.pointer;
  at.kind = Kind::tile;
  at.id = index_of(places.pointer);
  ASSAY_TRY(at, wide(at));
  for (std::size_t i = 0; i < rank; ++i) {
    ASSAY_TRY(auto place, wide(block.items[kOffsets].items[i]));
    if (!block.shape[i].empty()) {
      const auto axis = block.shape[i][0];
      TritonValue lane;
      lane.kind = Kind::tile;
      lane.shape.resize(rank);
      lane.shape[i] = {axis};
      lane.id = builder_.emit(TileLane{axis}, {}, {DType::int32, AxisSet{1} << axis});
      ASSAY_TRY(lane, wide(lane));
      ASSAY_TRY(place, builder_.binary("+", place, lane));
    }
    ASSAY_TRY(const auto stride, wide(block.items[kStrides].items[i]));
    ASSAY_TRY(const auto distance, builder_.binary("*", place, stride));
    ASSAY_TRY(at, builder_.binary("+", at, distance));
    if (!checked[i]) continue;
    ASSAY_TRY(const auto extent, wide(block.items[kShape].items[i]));
    ASSAY_TRY(const auto begins,
              builder_.binary(">=", place, TritonValue::python(std::int64_t{0})));
    ASSAY_TRY(const auto ends, builder_.binary("<", place, extent));
    ASSAY_TRY(auto inside, builder_.binary("&", begins, ends));
    if (places.mask.is_tile()) {
      ASSAY_TRY(inside, builder_.binary("&", places.mask, inside));
    }
    places.mask = std::move(inside);
  }
  places.pointer.id = at.id;
  places.pointer.shape = block.shape;
  return places;
}

/// Which dimensions `boundary_check` lists.
auto TritonReader::checked_dimensions(int list, std::size_t count) -> Result<std::vector<bool>> {
  std::vector<bool> checked(count, false);
  if (list < 0) return checked;
  ASSAY_TRY(const auto read, value(list));
  for (const auto& item : read.kind == Kind::tuple ? read.items : Values{read}) {
    const auto at = item.as_int().value_or(-1);
    if (at < 0 || at >= std::ssize(checked)) return bad_input("a check of no dimension");
    checked[static_cast<std::size_t>(at)] = true;
  }
  return checked;
}

/// `padding`: the text of the option, "nan" or zero.
auto TritonReader::load_block(int node, const TritonValue& block, const std::vector<bool>& checked,
                              std::string_view padding) -> Result<TritonValue> {
  ASSAY_TRY(const auto places, block_places(block, checked));
  if (!places.mask.is_tile()) return loaded(node, places.pointer, kNoTile, kNoTile);
  const auto dtype = kernel_.params[places.pointer.param].dtype;
  const bool is_nan = padding.contains("nan");
  if (is_nan && !is_floating(dtype)) return bad_input("integers padded with no number");
  ASSAY_TRY(const auto mask, operand_of(places.pointer, places.mask, DType::boolean));
  ASSAY_TRY(const auto other,
            operand_of(places.pointer,
                       is_nan ? TritonValue::python(std::numeric_limits<double>::quiet_NaN())
                              : TritonValue::python(std::int64_t{0}),
                       dtype));
  return loaded(node, places.pointer, mask, other);
}

auto TritonReader::store_block(int node, const TritonValue& block, const TritonValue& stored,
                               const std::vector<bool>& checked) -> Result<TritonValue> {
  ASSAY_TRY(const auto places, block_places(block, checked));
  auto mask = kNoTile;
  if (places.mask.is_tile()) {
    ASSAY_TRY(mask, operand_of(places.pointer, places.mask, DType::boolean));
  }
  const auto param = places.pointer.param;
  ASSAY_TRY(const auto value, operand_of(places.pointer, stored, kernel_.params[param].dtype));
  builder_.emit_effect(TileStore{param}, {index_of(places.pointer), value, mask});
  builder_.annotate(cursor_.source_of(node));
  return TritonValue{};
}

/// `descriptor.load([offsets])`, `descriptor.store([offsets], value)`, or the functions of them.
auto TritonReader::through_descriptor(int node, const TritonValue& descriptor, bool is_store,
                                      const Nodes& args) -> Result<TritonValue> {
  if (descriptor.kind != Kind::block) return bad_input("an access through no descriptor");
  if (args.size() < (is_store ? 2U : 1U)) return bad_input("an access without offsets");
  const auto count = descriptor.shape.size();
  ASSAY_TRY(const auto offsets, numbers(args[0], count));
  ASSAY_TRY(const auto block, moved_block(descriptor, offsets.items));
  const std::vector<bool> checked(count, true);
  if (!is_store) return load_block(node, block, checked, descriptor.text);
  ASSAY_TRY(const auto stored, value(args[1]));
  return store_block(node, block, stored, checked);
}

auto TritonReader::descriptor_function(int node, bool is_store) -> Result<TritonValue> {
  auto args = cursor_.positional(node);
  if (args.empty()) return bad_input("an access through no descriptor");
  ASSAY_TRY(const auto descriptor, value(args[0]));
  args.erase(args.begin());
  return through_descriptor(node, descriptor, is_store, args);
}

/// A block pointer that has gone on along a loop whose own lines advance it once in each round.
auto TritonReader::advance_by(const Block& loop, const Advance& advance,
                              const TritonValue& distance) -> Result<TritonValue> {
  const auto place = cursor_.token();
  cursor_.seek(advance.offset, place.line);
  const auto node = cursor_.expression();
  cursor_.seek(place.offset, place.line);
  if (!node) return std::unexpected(node.error());
  const int list = argument(*node, "offsets", 1);
  auto block = locals_.at(advance.name);
  ASSAY_TRY(auto by, numbers(list, block.shape.size()));
  const auto text = cursor_.source_of(list);
  const auto changes = [&](const std::string& name) { return mentions(text, name); };
  if (changes(loop.variable) || std::ranges::any_of(loop.assigned, changes) ||
      std::ranges::any_of(loop.stepped, changes))
    return bad_input("`{}` is advanced by something else in each round", advance.name);
  const auto parts = cursor_.children(list);
  for (std::size_t i = 0; i < by.items.size(); ++i) {
    auto& one = by.items[i];
    if (one.as_int() == 0) continue;
    if (cursor_.source_of(parts[i]) == loop.step) {
      one = distance;
      continue;
    }
    ASSAY_TRY(const auto rounds, builder_.binary("//", distance, loop.ends[2]));
    ASSAY_TRY(one, builder_.binary("*", rounds, one));
  }
  return moved_block(std::move(block), by.items);
}

/// In each round of a loop; what cannot be told has no value.
auto TritonReader::advance_within(const Block& block, const TritonValue& at) -> Result<void> {
  for (const auto& one : block.moved) {
    if (!one.is_steady()) {
      locals_.erase(one.name);
      continue;
    }
    ASSAY_TRY(const auto distance, builder_.binary("-", at, block.ends[0]));
    ASSAY_TRY(auto now, advance_by(block, one, distance));
    set(one.name, std::move(now));
  }
  return {};
}

/// Behind a loop: as many steps as it made.
auto TritonReader::advance_behind(const Block& block) -> Result<void> {
  const auto& [first, last, step] = block.ends;
  for (const auto& one : block.moved) {
    if (!one.is_steady()) {
      locals_.erase(one.name);
      continue;
    }
    ASSAY_TRY(const auto range, builder_.binary("-", last, first));
    ASSAY_TRY(const auto before, builder_.binary("-", step, TritonValue::python(std::int64_t{1})));
    ASSAY_TRY(const auto most, builder_.binary("+", range, before));
    ASSAY_TRY(const auto rounds, builder_.binary("//", most, step));
    ASSAY_TRY(auto distance, builder_.binary("*", rounds, step));
    ASSAY_TRY(distance,
              builder_.promoted(TileOp::maximum, distance, TritonValue::python(std::int64_t{0})));
    ASSAY_TRY(auto now, advance_by(block, one, distance));
    set(one.name, std::move(now));
  }
  return {};
}

}  // namespace assay
