// Accesses: of parameters, of local arrays, of vectors, and transposed copies.
#include <algorithm>
#include <array>

#include "compiler/read/cpp_reader.h"
#include "core/expr/eval.h"

namespace assay {

/// What a parameter's elements were before is seen by what comes after.
void CppReader::order(std::size_t param, bool is_store) {
  if (stored_.contains(param) || (is_store && loaded_.contains(param))) {
    builder_.emit_effect(TileBarrier{}, {});
    loaded_.clear();
    stored_.clear();
  }
  (is_store ? stored_ : loaded_).insert(param);
}

/// The loop whose rounds are the lanes of a vector.
auto CppReader::vector_lane() const -> Result<const CppLoop*> {
  const CppLoop* found = nullptr;
  for (const auto& loop : loops_) {
    if (loop.width == 1 || loop.is_inside) continue;
    if (found != nullptr) return bad_input("a vector whose lanes are of one loop or of another");
    found = &loop;
  }
  if (found == nullptr) return bad_input("a vector outside of a loop over vectors");
  if (!found->is_whole) return bad_input("a vector in a loop that may end within it");
  return found;
}

/// The lane as an index, once it is known that the vector has as many as the round has elements:
/// an argument says how many, else it is a full one.
auto CppReader::lane_of(int node, std::optional<int> count, bool is_local) -> Result<Expr> {
  ASSAY_TRY(const auto* loop, vector_lane());
  const auto& one = syntax_.node(node);
  const Expr width(loop->width);
  auto have = width;
  if (count && static_cast<std::size_t>(*count) < one.children.size()) {
    ASSAY_TRY(have, integer(one.children[static_cast<std::size_t>(*count)]));
  }
  const bool fits = have == loop->count || (is_local && have == width);
  if (const auto most = have.as_int(); !fits && most && *most > loop->width)
    return bad_input("{} elements of a vector that has {}", *most, loop->width);
  if (!fits) return bad_input("a vector of other lanes than the elements that are left");
  return loop->lane;
}

auto CppReader::load(const CppValue& pointer, const Expr& index, bool is_vector, int node) -> R {
  if (pointer.kind == CppValue::Kind::array)
    return load_local(arrays_[pointer.where], index, is_vector);
  if (pointer.kind != CppValue::Kind::pointer) return bad_input("an element of what is no array");
  const auto at = pointer.expr + index;
  if (pointer.is_local) return load_local(arrays_[pointer.where], at, is_vector);
  if (std::ranges::any_of(loops_, [](const CppLoop& loop) { return loop.goes_beyond; }))
    return bad_input("an access behind the elements that are left");
  ASSAY_TRY(const auto id, builder_.number(at));
  order(pointer.where, false);
  const auto dtype = kernel_.params[pointer.where].dtype;
  const auto result = builder_.emit(TileLoad{pointer.where}, {id, mask_, kNoTile}, dtype);
  builder_.annotate(syntax_.source_of(node));
  accesses_.push_back({pointer.where, at, true, false});
  return CppValue::of_tile(result, dtype, is_vector);
}

/// Pairs of lanes that count rows and columns.
auto CppReader::lanes_for(const Expr& rows, const Expr& columns) const
    -> std::vector<std::pair<Expr, Expr>> {
  std::vector<std::pair<Expr, Expr>> result;
  for (const auto& a : loops_)
    for (const auto& b : loops_)
      if (&a != &b && a.width != 1 && b.width != 1 && a.count == rows && b.count == columns)
        result.emplace_back(a.lane, b.lane);
  return result;
}

/// In the only round of a loop an element is its first one plus the lane.
auto CppReader::is_same_element(const Expr& a, const Expr& b) const -> bool {
  if (a == b) return true;
  std::unordered_map<Expr, Expr> lanes;
  for (const auto& loop : loops_)
    if (loop.width > 1 && loop.is_whole && loop.count == loop.high - loop.low)
      lanes[loop.index] = loop.low - loop.begin + loop.lane;
  return !lanes.empty() && substitute(a, lanes) == substitute(b, lanes);
}

auto CppReader::load_local(const CppArray& array, const Expr& index, bool is_vector) -> R {
  std::optional<CppValue> result;
  const auto stored = array.stored;
  for (const auto& one : stored) {
    if (one.rows) {
      for (const auto& [m, n] : lanes_for(*one.rows, *one.columns)) {
        if (n * one.to + m != index) continue;
        ASSAY_TRY(auto copied, load(one.source, m * one.from + n, is_vector, one.node));
        result = std::move(copied);
        break;
      }
      continue;
    }
    if (!is_same_element(one.index, index)) continue;
    const bool is_running =
        one.updated_in != 0 && std::ranges::any_of(loops_, [&](const CppLoop& loop) {
          return loop.serial == one.updated_in;
        });
    if (is_running) return bad_input("what a loop has added up so far");
    if (one.mask == kNoTile || one.mask == mask_) {
      result = one.value;
      continue;
    }
    const auto before = result ? *result : builder_.number_of(0, one.value.dtype, is_vector);
    ASSAY_TRY(auto chosen, builder_.select(one.mask, one.value, before));
    result = std::move(chosen);
  }
  if (!result) return bad_input("an element of a local array that was not stored so");
  if (result->is_number()) result->is_vector = is_vector;
  return *std::move(result);
}

void CppReader::store_local(CppArray& array, const Expr& index, CppValue value) {
  CppStored entry;
  entry.index = index;
  entry.value = std::move(value);
  entry.mask = mask_;
  entry.depth = loops_.size();
  for (auto& one : array.stored)
    if (!one.rows && is_same_element(one.index, index) && (mask_ == kNoTile || mask_ == one.mask)) {
      one = std::move(entry);
      return;
    }
  array.stored.push_back(std::move(entry));
}

auto CppReader::store(const CppValue& pointer, const Expr& index, const CppValue& value, int node)
    -> Result<void> {
  const bool is_array = pointer.kind == CppValue::Kind::array;
  if (!is_array && pointer.kind != CppValue::Kind::pointer)
    return bad_input("an element of what is no array");
  const auto at = is_array ? index : pointer.expr + index;
  if (is_array || pointer.is_local) {
    auto& array = arrays_[pointer.where];
    if (!value.is_number() || value.parts) {
      store_local(array, at, value);
      return {};
    }
    ASSAY_TRY(auto held, builder_.converted(value, array.dtype));
    store_local(arrays_[pointer.where], at, std::move(held));
    return {};
  }
  if (std::ranges::any_of(loops_, [](const CppLoop& loop) { return loop.goes_beyond; }))
    return bad_input("an access behind the elements that are left");
  ASSAY_TRY(const auto stored, builder_.as(value, kernel_.params[pointer.where].dtype));
  ASSAY_TRY(const auto id, builder_.number(at));
  order(pointer.where, true);
  builder_.emit_effect(TileStore{pointer.where}, {id, stored, mask_});
  builder_.annotate(syntax_.source_of(node));
  accesses_.push_back({pointer.where, at, false, true});
  return {};
}

/// Rounds that add to one element do so one after the other.
auto CppReader::add_to(const CppValue& pointer, const Expr& index, const CppValue& value, int node)
    -> Result<void> {
  if (pointer.kind != CppValue::Kind::pointer || pointer.is_local)
    return bad_input("a sum into what is no parameter");
  const auto at = pointer.expr + index;
  const auto dtype = kernel_.params[pointer.where].dtype;
  ASSAY_TRY(const auto added, builder_.as(value, dtype));
  ASSAY_TRY(const auto id, builder_.number(at));
  order(pointer.where, true);
  builder_.emit(TileAtomic{pointer.where, TileOp::add, false}, {id, added, mask_}, dtype);
  builder_.annotate(syntax_.source_of(node));
  accesses_.push_back({pointer.where, at, true, true});
  return {};
}

/// `Vectorized<T>::loadu(pointer, count)`
auto CppReader::vector_load(int node) -> R {
  const auto& one = syntax_.node(node);
  if (one.children.size() < 2) return bad_input("a load from nowhere");
  ASSAY_TRY(const auto pointer, value(one.children[1]));
  const bool is_local = pointer.kind == CppValue::Kind::array || pointer.is_local;
  if (needs_mask_ && !is_local) return bad_input("a vector that is loaded without a mask");
  ASSAY_TRY(const auto lane, lane_of(node, 2, is_local));
  return load(pointer, lane, true, node);
}

/// `mask.loadu<T, n>(pointer)`, `masked_load(pointer, mask)`
auto CppReader::masked_load(int node) -> R {
  const auto& one = syntax_.node(node);
  const auto& callee = syntax_.node(one.children[0]);
  const bool is_method = callee.kind == CppKind::member;
  if (one.children.size() < (is_method ? 2U : 3U)) return bad_input("a load from nowhere");
  ASSAY_TRY(const auto mask, truth(is_method ? callee.children[0] : one.children[2]));
  ASSAY_TRY(const auto pointer, value(one.children[1]));
  ASSAY_TRY(const auto* loop, vector_lane());
  const auto outer = mask_;
  ASSAY_TRY(mask_, both(mask_, mask));
  auto result = load(pointer, loop->lane, true, node);
  mask_ = outer;
  return result;
}

/// `value.store(pointer, count)`; a sum with what stands there adds to it.
auto CppReader::vector_store(int node) -> R {
  const auto& one = syntax_.node(node);
  if (one.children.size() < 2) return bad_input("a store to nowhere");
  const auto object = syntax_.node(one.children[0]).children[0];
  ASSAY_TRY(const auto pointer, value(one.children[1]));
  const bool is_local = pointer.kind == CppValue::Kind::array || pointer.is_local;
  ASSAY_TRY(const auto lane, lane_of(node, 2, is_local));
  const auto& sum = syntax_.node(object);
  if (!is_local && sum.kind == CppKind::binary && sum.text == "+") {
    const auto target = syntax_.source_of(one.children[1]);
    for (std::size_t side = 0; side < 2; ++side) {
      const auto& old = syntax_.node(sum.children[side]);
      if (old.kind != CppKind::call || old.children.size() < 2 ||
          !syntax_.node(old.children[0]).text.ends_with("::loadu") ||
          syntax_.source_of(old.children[1]) != target)
        continue;
      ASSAY_TRY_VOID(lane_of(sum.children[side], 2, false));
      ASSAY_TRY(const auto added, value(sum.children[1 - side]));
      ASSAY_TRY_VOID(add_to(pointer, lane, added, node));
      return CppValue();
    }
  }
  ASSAY_TRY(const auto stored, value(object));
  const bool is_known = stored.is_number() && (stored.is_vector || stored.dtype == DType::boolean);
  if (!is_known && !is_local) return bad_input("a store of what is no vector");
  if (!is_local && stored.dtype != kernel_.params[pointer.where].dtype)
    return bad_input("a vector of {} stored as {}", name(stored.dtype),
                     name(kernel_.params[pointer.where].dtype));
  ASSAY_TRY_VOID(store(pointer, lane, stored, node));
  return CppValue();
}

/// `atomic_add(&out_ptr0[i], value)`, `atomic_add_vec(pointer, indices, values)`
auto CppReader::atomic_add(int node, bool is_vector) -> R {
  const auto& one = syntax_.node(node);
  if (one.children.size() < (is_vector ? 4U : 3U)) return bad_input("operands that do not fit");
  if (is_vector) {
    ASSAY_TRY(const auto pointer, value(one.children[1]));
    ASSAY_TRY(const auto index, value(one.children[2]));
    ASSAY_TRY(const auto added, value(one.children[3]));
    ASSAY_TRY_VOID(lane_of(node, 4, one.children.size() == 4));
    ASSAY_TRY(const auto at, builder_.expr(index));
    ASSAY_TRY_VOID(add_to(pointer, at, added, node));
    return CppValue();
  }
  const auto& address = syntax_.node(one.children[1]);
  if (address.kind != CppKind::unary || address.text != "&" ||
      syntax_.node(address.children[0]).kind != CppKind::index)
    return bad_input("a sum into no element");
  const auto element = syntax_.node(address.children[0]).children;
  ASSAY_TRY(const auto pointer, value(element[0]));
  ASSAY_TRY(const auto index, integer(element[1]));
  ASSAY_TRY(const auto added, value(one.children[2]));
  ASSAY_TRY_VOID(add_to(pointer, index, added, node));
  return CppValue();
}

/// `transpose_mxn<T, M, N, adds>(from, ld_from, to, ld_to)` or `<T, adds>(..., M, N)`: element
/// `n * ld_to + m` becomes element `m * ld_from + n` for all m < M, n < N.
auto CppReader::transpose(int node) -> R {
  const auto& one = syntax_.node(node);
  const auto& callee = syntax_.node(one.children[0]);
  const bool has_sizes = one.children.size() == 7;
  if (!has_sizes && (one.children.size() != 5 || callee.types.size() < 3))
    return bad_input("operands that do not fit");
  ASSAY_TRY(const auto source, value(one.children[1]));
  ASSAY_TRY(const auto target, value(one.children[3]));
  CppStored copy;
  copy.source = source;
  ASSAY_TRY(copy.from, integer(one.children[2]));
  ASSAY_TRY(copy.to, integer(one.children[4]));
  ASSAY_TRY(copy.rows, integer(has_sizes ? one.children[5] : callee.types[1]));
  ASSAY_TRY(copy.columns, integer(has_sizes ? one.children[6] : callee.types[2]));
  const bool adds = flag_argument(callee);
  const bool to_local = target.kind == CppValue::Kind::array || target.is_local;
  if (!to_local) {
    ASSAY_TRY_VOID(transposed_out(source, target, copy, adds, node));
    return CppValue();
  }
  // What a mask leaves out is left out where an element is read.
  if (adds) return bad_input("a transposed copy that adds");
  if (target.kind == CppValue::Kind::pointer && !target.expr.is_int(0))
    return bad_input("a transposed copy into the middle of an array");
  copy.node = node;
  arrays_[target.where].stored = {copy};
  return CppValue();
}

/// From a local array, whose stored element says which lanes are rows and columns, or from another
/// parameter, where either will do.
auto CppReader::transposed_out(const CppValue& source, const CppValue& target,
                               const CppStored& copy, bool adds, int node) -> Result<void> {
  for (const auto& [m, n] : lanes_for(*copy.rows, *copy.columns)) {
    const auto problems = save();
    const auto read = load(source, m * copy.from + n, true, node);
    if (!read) {
      restore(problems);
      continue;
    }
    if (adds) return add_to(target, n * copy.to + m, *read, node);
    return store(target, n * copy.to + m, *read, node);
  }
  return bad_input("a transposed copy of other rows and columns than lanes");
}

}  // namespace assay
