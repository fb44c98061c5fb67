// Windows: code that reads many elements of a buffer, of which its registers and statements share
// most. Positions are a value and a constant each, so that equal ones are seen to be equal; bounds
// are asked once; loads are made some at a time, each element once, and as wide as is known to be
// aligned but for the buffer's start, which is asked when it runs.
#include <llvm/IR/Module.h>

#include <algorithm>
#include <set>

#include "compiler/codegen/gpu_kernel.h"
#include "compiler/cuda/tiling.h"

namespace assay {
namespace {

using llvm::Value;
using Made = GpuNumbers::Made;

constexpr std::int64_t kMostBytes = 256;  ///< of a thread that are read at a time
constexpr std::int64_t kRowBytes = 512;   ///< of a row whose loads share elements
constexpr int kWordBytes = 4, kWidestBits = 4, kWidestBytes = 1 << kWidestBits;

auto down_to(std::int64_t offset, std::int64_t step) -> std::int64_t {
  return offset - ((offset % step) + step) % step;
}

}  // namespace

auto GpuWindows::is_straight(const TileStatement& one) -> bool {
  return std::holds_alternative<TileCompute>(one.what) ||
         std::holds_alternative<TileConstant>(one.what) ||
         std::holds_alternative<TileParamValue>(one.what) ||
         std::holds_alternative<TileLane>(one.what) ||
         std::holds_alternative<TileProgram>(one.what) ||
         std::holds_alternative<TileLoad>(one.what);
}

GpuWindows::GpuWindows(GpuKernelEmitter& emitter, std::set<std::size_t> windows)
    : e_(&emitter), numbers_(emitter.b_, emitter.given_), windows_(std::move(windows)) {}

auto GpuWindows::of(GpuKernelEmitter& emitter, const std::vector<TileStatement>& body)
    -> std::optional<GpuWindows> {
  if (emitter.is_checked_ || emitter.is_single_lane_ || emitter.dots_ ||
      !emitter.layout_->is_placed())
    return std::nullopt;
  std::map<std::size_t, int> loads;
  for (const auto& one : body)
    if (const auto* load = std::get_if<TileLoad>(&one.what)) ++loads[load->param];
  std::set<std::size_t> windows;
  for (const auto& [param, count] : loads)
    if (count >= kWindowLoads) windows.insert(param);
  if (windows.empty()) return std::nullopt;
  return GpuWindows(emitter, std::move(windows));
}

auto GpuWindows::term(TileId id, int index) -> Term {
  const auto& held = e_->values_.at(id);
  return numbers_.term(e_->stepped(held, index), held.offset(index));
}

auto GpuWindows::numbered_lane(TileId id, int index) -> Value* {
  if (is_floating(e_->dtype(id)) || e_->dtype(id) == DType::boolean) return e_->lane(id, index);
  return numbers_.value(term(id, index), e_->code_.lane_type(e_->dtype(id)));
}

auto GpuWindows::numbered_term(const TileStatement& one, TileOp op, int index)
    -> std::optional<Term> {
  const auto of = e_->dtype(one.results[0]);
  const auto from = e_->dtype(one.operands[0]);
  auto* type = e_->code_.lane_type(of);
  const auto a = term(one.operands[0], index);
  if (op == TileOp::cast) {
    if (info(from).kind != DTypeKind::signed_integer || size_bytes(of) < size_bytes(from))
      return std::nullopt;
    // What may wrap is added before it is extended.
    const bool is_apart = numbers_.is_position(a);
    auto* base = is_apart ? a.base : numbered_lane(one.operands[0], index);
    if (base != nullptr && base->getType() != type) {
      auto* extended = base;
      base = numbers_.made({Made::extended, static_cast<std::int64_t>(size_bytes(of)), {base}},
                           [&] { return e_->b_.CreateSExt(extended, type); });
    }
    return Term{base, is_apart ? a.offset : 0};
  }
  const auto b = term(one.operands[1], index);
  if (op == TileOp::add) return numbers_.sum(a, b);
  if (op == TileOp::sub) return numbers_.difference(a, b);
  return numbers_.product(a, b, type);
}

/// Sums, differences and multiples of whole numbers.
auto GpuWindows::numbered_sum(const TileStatement& one, TileOp op) -> bool {
  const auto id = one.results[0];
  const bool is_sum = op == TileOp::add || op == TileOp::sub || op == TileOp::mul;
  for (const auto operand : one.operands)
    if (is_floating(e_->dtype(operand)) || e_->dtype(operand) == DType::boolean) return false;
  if (is_floating(e_->dtype(id)) || e_->dtype(id) == DType::boolean ||
      (!is_sum && op != TileOp::cast))
    return false;
  const auto count = e_->varies(e_->axes(id)) ? e_->layout_->registers() : 1;
  GpuValues::Held held;
  for (int i = 0; i < count; ++i) {
    const auto made = numbered_term(one, op, i);
    if (!made) return false;
    held.bases.push_back(
        made->base != nullptr ? made->base : e_->code_.constant(e_->dtype(id), std::int64_t{0}));
    held.offsets.push_back(made->offset);
  }
  if (std::ranges::count(held.bases, held.bases[0]) == count) held.bases.resize(1);
  if (held.bases.size() > 1) held.over = e_->layout_->register_mask(e_->axes(id));
  if (count == 1 && held.offsets[0] == 0)
    held.offsets.clear();
  else
    held.offsets.resize(static_cast<std::size_t>(e_->layout_->registers()), held.offsets[0]);
  e_->values_[id] = std::move(held);
  return true;
}

auto GpuWindows::numbered(const TileStatement& one, TileOp op) -> bool {
  if (numbered_sum(one, op)) return true;
  const auto id = one.results[0];
  const auto from = e_->dtype(one.operands.back());
  const auto ordered = [&](int i) -> Value* {
    auto a = term(one.operands[0], i), b = term(one.operands[1], i);
    if (!numbers_.is_position(a) || !numbers_.is_position(b)) return nullptr;
    if (op == TileOp::gt || op == TileOp::ge) std::swap(a, b);
    return numbers_.at_most(a, b, op == TileOp::lt || op == TileOp::gt);
  };
  // What was read is zero already where it was not.
  const auto is_there = [&](const Values& operands) {
    const auto* none = op == TileOp::select ? llvm::dyn_cast<llvm::Constant>(operands[2]) : nullptr;
    const auto known = numbers_.zero_without.find(operands[1]);
    return none != nullptr && none->isNullValue() && known != numbers_.zero_without.end() &&
           is_conjunct(operands[0], known->second);
  };
  if (is_floating(e_->dtype(id)) && op != TileOp::select) return false;
  e_->set(id, e_->per_lane(e_->axes(id), [&](int i) -> Value* {
    if (is_order(op) && (from == DType::int32 || from == DType::int64))
      if (auto* made = ordered(i)) return made;
    Values operands;
    for (const auto operand : one.operands) operands.push_back(numbered_lane(operand, i));
    if (op == TileOp::select && is_there(operands)) return operands[1];
    if (op == TileOp::select) operands[0] = numbers_.within(operands[0]);
    const auto detail = static_cast<std::int64_t>(op) << 16 | static_cast<std::int64_t>(from) << 8 |
                        static_cast<std::int64_t>(e_->dtype(id));
    return numbers_.made({Made::computed, detail, operands},
                         [&] { return e_->code_.compute(op, operands, from, e_->dtype(id)); });
  }));
  return true;
}

/// Where an index points: what may wrap before it is extended is added before.
auto GpuWindows::element_term(TileId id, int index) -> Term {
  const auto at = term(id, index);
  const bool is_exact = size_bytes(e_->dtype(id)) == sizeof(std::int64_t);
  if (is_exact || numbers_.is_position(at)) return at;
  return {numbered_lane(id, index), 0};
}

/// How many elements may be read at once from a multiple of so many on, if the buffer begins at a
/// multiple of the widest access.
auto GpuWindows::known_width(std::size_t param, Value* base) -> std::int64_t {
  const auto size = static_cast<std::int64_t>(size_bytes(e_->kernel_.params[param].dtype));
  const auto most = std::max<std::int64_t>(kWidestBytes / size, 1);
  if (base == nullptr) return most;
  const auto known = std::int64_t{1} << std::min(numbers_.zero_bits(base), kWidestBits);
  return known * size < kWordBytes ? 1 : std::min(known, most);
}

/// Adds the elements that it wants. True where a row of its buffer begins that is not the first:
/// elements of another value, or some that none has wanted of a value of which loads share others.
auto GpuWindows::begins_row(const TileStatement& load, Window& window) -> bool {
  const auto param = std::get<TileLoad>(load.what).param;
  const auto size = static_cast<std::int64_t>(size_bytes(e_->kernel_.params[param].dtype));
  const auto mask = e_->layout_->register_mask(e_->axes(load.operands[0]));
  bool begins = std::ranges::any_of(window.wanted,
                                    [&](const auto& known) { return known.first.first == param; });
  auto& first = window.wanted[{param, element_term(load.operands[0], 0).base}];
  begins = begins && (first.known.empty() || first.is_shared);
  for (unsigned i = 0; i < static_cast<unsigned>(e_->layout_->registers()); ++i) {
    if ((i & ~mask) != 0) continue;
    const auto index = static_cast<int>(i);
    const auto [base, offset] = element_term(load.operands[0], index);
    auto* position = numbers_.position_in(numbers_.within(e_->mask(load.operands[1], index)));
    auto& elements = window.wanted[{param, base}];
    const bool is_new = elements.known.emplace(offset, position).second;
    if (is_new) window.bytes += size;
    elements.is_shared = elements.is_shared || !is_new;
    window.is_shared = window.is_shared || !is_new;
    begins = begins && is_new;
  }
  return begins;
}

/// Loads that are made together from `at` on, and what rests on them; whatever else stands between
/// is made at once. The place of the first statement that is not among them. Where they would be
/// too many the last row is left out, but for one that shares elements and is alone.
auto GpuWindows::gather(const std::vector<TileStatement>& body, std::size_t at, Window& window)
    -> std::size_t {
  struct Row {
    std::size_t at = 0, loads = 0, late = 0;
  };
  std::optional<Row> row;
  std::set<TileId> waiting;
  for (; at < body.size() && e_->error_.empty(); ++at) {
    const auto& one = body[at];
    const auto* load = std::get_if<TileLoad>(&one.what);
    const bool waits =
        std::ranges::any_of(one.operands, [&](TileId id) { return waiting.contains(id); });
    if (!is_straight(one) || (load != nullptr && waits)) return at;
    const bool is_window = load != nullptr && windows_.contains(load->param);
    if (!waits && !is_window) {
      e_->emit(one);
      if (load != nullptr) row.reset();
      continue;
    }
    if (is_window) {
      if (begins_row(one, window)) row = {at, window.loads.size(), window.late.size()};
      if (row && window.bytes > kMostBytes) {
        window.loads.resize(row->loads);
        window.late.resize(row->late);
        return row->at;
      }
      const auto most = window.is_shared ? kRowBytes : kMostBytes;
      if (window.bytes > most && !window.loads.empty()) return at;
      window.loads.push_back(&one);
    }
    window.late.push_back(&one);
    waiting.insert(one.results.begin(), one.results.end());
  }
  return at;
}

/// Whether the load is made of pieces: known to be aligned, without neighbours, or of elements that
/// other loads want in other registers.
auto GpuWindows::is_of_pieces(const Window& window, const TileStatement& one) -> bool {
  const auto param = std::get<TileLoad>(one.what).param;
  const auto size = static_cast<int>(size_bytes(e_->kernel_.params[param].dtype));
  const auto index = one.operands[0];
  const auto mine = element_term(index, 0);
  if (!e_->varies(e_->axes(index)) || e_->run_length(index, 0, size) == 1 ||
      known_width(param, mine.base) >= e_->run_length(index, 0, size))
    return true;
  const auto last = element_term(index, e_->layout_->registers() - 1);
  return std::ranges::any_of(window.loads, [&](const TileStatement* other) {
    const auto theirs = element_term(other->operands[0], 0);
    const auto apart = std::abs(theirs.offset - mine.offset);
    return std::get<TileLoad>(other->what).param == param && theirs.base == mine.base &&
           apart != 0 && apart <= last.offset - mine.offset;
  });
}

/// Notes that a register wants an element.
void GpuWindows::want(const TileStatement& one, int index, Pieces& pieces) {
  const auto param = std::get<TileLoad>(one.what).param;
  const auto [base, offset] = element_term(one.operands[0], index);
  const auto width = known_width(param, base);
  const auto first = down_to(offset, width);
  const auto [known, is_new] = pieces.known.try_emplace({param, base, first}, pieces.all.size());
  if (is_new)
    pieces.all.push_back(
        {.param = param, .base = base, .index_dtype = e_->dtype(one.operands[0]), .first = first});
  auto& piece = pieces.all[known->second];
  piece.elements.resize(static_cast<std::size_t>(width));
  auto& element = piece.elements[static_cast<std::size_t>(offset - first)];
  auto* condition = numbers_.within(e_->mask(one.operands[1], index));
  element.condition = element.is_wanted ? numbers_.either(element.condition, condition) : condition;
  element.is_wanted = true;
  pieces.wanted[{&one, index}] = {known->second, offset - first};
}

/// Where the piece begins and when it is read.
void GpuWindows::place_piece(Piece& piece) {
  piece.start = e_->params_[piece.param];
  if (piece.base != nullptr)
    piece.start =
        numbers_.made({Made::place, static_cast<std::int64_t>(piece.param), {piece.base}},
                      [&] { return e_->address(piece.param, piece.base, piece.index_dtype); });
  bool is_first = true;
  for (const auto& element : piece.elements) {
    if (!element.is_wanted) continue;
    piece.condition =
        is_first ? element.condition : numbers_.either(piece.condition, element.condition);
    is_first = false;
  }
}

auto GpuWindows::read_element(const Piece& piece, std::size_t at) -> Value* {
  auto* type = e_->code_.memory_type(e_->kernel_.params[piece.param].dtype);
  const auto& element = piece.elements[at];
  if (!element.is_wanted) return llvm::Constant::getNullValue(type);
  const auto offset = static_cast<std::uint64_t>(piece.first) + at;
  return e_->guarded_load(type, e_->b_.CreateConstGEP1_64(type, piece.start, offset),
                          element.condition);
}

/// Pieces of several elements at once where their buffers are aligned.
void GpuWindows::read_wide(const std::vector<Piece*>& wide) {
  const auto type = [&](const Piece& piece) {
    return e_->code_.memory_type(e_->kernel_.params[piece.param].dtype);
  };
  const auto bytes = [&](const Piece& piece) {
    return static_cast<int>(piece.elements.size()) *
           static_cast<int>(size_bytes(e_->kernel_.params[piece.param].dtype));
  };
  std::set<std::size_t> params;
  Value* starts = e_->b_.getInt64(0);
  for (const auto* piece : wide)
    if (params.insert(piece->param).second)
      starts = e_->b_.CreateOr(
          starts, e_->b_.CreatePtrToInt(e_->params_[piece->param], e_->b_.getInt64Ty()));
  auto* low = e_->b_.CreateAnd(starts, static_cast<std::uint64_t>(kWidestBytes - 1));
  const auto at_once = [&] {
    Values words;
    for (const auto* piece : wide) {
      GpuValues::Run run;
      run.length = static_cast<int>(piece->elements.size());
      run.bytes = bytes(*piece);
      run.meant.any = piece->condition;
      auto* place = e_->b_.CreateConstGEP1_64(type(*piece), piece->start,
                                              static_cast<std::uint64_t>(piece->first));
      std::ranges::copy(e_->loaded_words(run, place, 0), std::back_inserter(words));
    }
    return words;
  };
  const auto one_by_one = [&] {
    Values words;
    for (const auto* piece : wide) {
      Values lanes;
      for (std::size_t k = 0; k < piece->elements.size(); ++k)
        lanes.push_back(read_element(*piece, k));
      std::ranges::copy(e_->packed(lanes, bytes(*piece)), std::back_inserter(words));
    }
    return words;
  };
  const auto words = e_->either(e_->b_.CreateICmpEQ(low, e_->b_.getInt64(0)), at_once, one_by_one);
  auto word = words.begin();
  for (auto* piece : wide) {
    const auto end = word + bytes(*piece) / kWordBytes;
    piece->lanes =
        e_->unpacked(Values(word, end), type(*piece), static_cast<int>(piece->elements.size()));
    word = end;
  }
}

void GpuWindows::read(Pieces& pieces) {
  std::vector<Piece*> wide;
  for (auto& piece : pieces.all) {
    if (std::ranges::count(piece.elements, true, &Piece::Element::is_wanted) > 1)
      wide.push_back(&piece);
    else
      for (std::size_t k = 0; k < piece.elements.size(); ++k)
        piece.lanes.push_back(read_element(piece, k));
  }
  if (!wide.empty()) read_wide(wide);
}

/// What a load gives, of the pieces.
void GpuWindows::take(const TileStatement& one, const Pieces& pieces) {
  const auto id = one.results[0];
  const auto of = e_->dtype(id);
  const auto over = static_cast<int>(
      e_->layout_->register_mask(e_->axes(one.operands[0]) | e_->axes(one.operands[1])));
  e_->set(id, e_->per_lane(e_->axes(id), [&](int i) -> Value* {
    const auto [at, lane_at] = pieces.wanted.at({&one, i & over});
    const auto& piece = pieces.all[at];
    auto* raw = piece.lanes[static_cast<std::size_t>(lane_at)];
    auto* asked = e_->mask(one.operands[1], i);
    auto* meant = numbers_.within(asked);
    if (meant != nullptr && meant != piece.condition)
      raw = numbers_.made({Made::chosen, 0, {meant, raw}}, [&] {
        return e_->b_.CreateSelect(meant, raw, llvm::Constant::getNullValue(raw->getType()));
      });
    auto* value = numbers_.made({Made::from_memory, static_cast<std::int64_t>(of), {raw}},
                                [&] { return e_->code_.from_memory(raw, of); });
    if (meant == nullptr) return value;
    if (one.operands[2] != kNoTile)
      return e_->b_.CreateSelect(meant, value, e_->lane(one.operands[2], i));
    numbers_.zero_without[value] = asked;
    return value;
  }));
}

auto GpuWindows::load(const std::vector<TileStatement>& body, std::size_t at) -> std::size_t {
  const auto* first = std::get_if<TileLoad>(&body[at].what);
  if (first == nullptr || !windows_.contains(first->param)) return at;
  Window window;
  const auto end = gather(body, at, window);
  Pieces pieces;
  for (const auto* one : window.loads) {
    if (!is_of_pieces(window, *one)) continue;
    const auto over =
        e_->layout_->register_mask(e_->axes(one->operands[0]) | e_->axes(one->operands[1]));
    for (unsigned i = 0; i < static_cast<unsigned>(e_->layout_->registers()); ++i)
      if ((i & ~over) == 0) want(*one, static_cast<int>(i), pieces);
  }
  for (auto& piece : pieces.all) place_piece(piece);
  read(pieces);
  for (const auto* one : window.late) {
    if (!e_->error_.empty()) break;
    if (pieces.wanted.contains({one, 0}))
      take(*one, pieces);
    else
      e_->emit(*one);
  }
  return end;
}

}  // namespace assay
