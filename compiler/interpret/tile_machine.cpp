#include "compiler/interpret/tile_machine.h"

#include <algorithm>
#include <cstring>

#include "core/ops/counter_random.h"

namespace assay {
namespace {

template <class T>
void store_as(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(value));
}

/// A number as one lane of this dtype.
void write_lane(std::byte* to, DType dtype, std::int64_t integer, double real) {
  const auto held = lane_dtype(dtype);
  const auto convert =
      tile_evaluate(TileOp::cast, is_floating(held) ? DType::float64 : DType::int64, held);
  const TileLanes lane{is_floating(held) ? static_cast<const void*>(&real) : &integer, 0};
  convert(std::span(&lane, 1), to, 1);
  if (const auto round = tile_round(dtype)) {
    const TileLanes again{to, 0};
    round(std::span(&again, 1), to, 1);
  }
}

}  // namespace

TileMachine::TileMachine(const TileCode& code, const TileLaunch& launch)
    : code_(code), kernel_(code.kernel()), launch_(launch), registers_(kernel_.values.size()) {
  dims_ = launch.blocks;
  origins_.assign(kernel_.axes.size(), 0);
}

auto TileMachine::lanes(AxisSet axes) const -> Lanes {
  Lanes count = 1;
  for (std::size_t axis = 0; axis < dims_.size(); ++axis)
    if ((axes >> axis & 1U) != 0) count *= static_cast<Lanes>(dims_[axis]);
  return count;
}

auto TileMachine::lane_base(AxisSet axes) const -> std::uint32_t {
  for (std::size_t axis = 0; axis < dims_.size(); ++axis)
    if (dims_[axis] == 1) axes &= ~(AxisSet{1} << axis);
  return axes << 27U;
}

auto TileMachine::fresh(TileId id) -> std::byte* {
  auto& target = reg(id);
  const auto& of = type(id);
  target.data.resize(lanes(of.axes) * lane_size(of.dtype));
  target.poison.clear();
  return target.data.data();
}

auto TileMachine::scratch(std::size_t bytes) -> std::byte* {
  if (scratch_used_ == scratch_.size()) scratch_.emplace_back();
  auto& buffer = scratch_[scratch_used_++];
  if (buffer.size() < bytes) buffer.resize(bytes);
  return buffer.data();
}

auto TileMachine::spread(TileId id, AxisSet axes) -> TileLanes {
  const auto& of = type(id);
  return spread_raw(reg(id).data.data(), lane_size(of.dtype), of.axes, axes);
}

/// Lanes of `from` repeated over the axes of `to` that it lacks.
auto TileMachine::spread_raw(const std::byte* data, std::size_t size, AxisSet from, AxisSet to)
    -> TileLanes {
  const auto count = lanes(to);
  const auto have = lanes(from);
  if (have == 1) return {data, 0};
  if (have == count) return {data, 1};  // what it lacks has one lane
  auto* out = scratch(count * size);
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  std::int64_t stride = static_cast<std::int64_t>(size);
  for (std::size_t axis = dims_.size(); axis-- > 0;) {
    if ((to >> axis & 1U) == 0 || dims_[axis] == 1) continue;
    const bool has = (from >> axis & 1U) != 0;
    sizes.push_back(dims_[axis]);
    strides.push_back(has ? stride : 0);
    if (has) stride *= dims_[axis];
  }
  // Innermost first; the innermost run is copied or filled.
  const auto run = static_cast<std::size_t>(sizes[0]);
  std::vector<std::int64_t> index(sizes.size(), 0);
  const auto* source = data;
  for (std::size_t done = 0; done < count; done += run) {
    auto* target = out + done * size;
    if (strides[0] != 0) {
      std::memcpy(target, source, run * size);
    } else {
      std::memcpy(target, source, size);
      for (std::size_t filled = 1; filled < run;) {
        const auto more = std::min(filled, run - filled);
        std::memcpy(target + filled * size, target, more * size);
        filled += more;
      }
    }
    for (std::size_t d = 1; d < sizes.size(); ++d) {
      source += strides[d];
      if (++index[d] < sizes[d]) break;
      source -= strides[d] * sizes[d];
      index[d] = 0;
    }
  }
  return {out, 1};
}

auto TileMachine::integers(TileId id, AxisSet axes) -> const std::int64_t* {
  const auto& of = type(id);
  const auto have = lanes(of.axes);
  const auto count = lanes(axes);
  const auto* data = reg(id).data.data();
  if (of.dtype != DType::int64) {
    auto* wide = scratch(have * sizeof(std::int64_t));
    const TileLanes lane{data, 1};
    tile_evaluate(TileOp::cast, lane_dtype(of.dtype), DType::int64)(std::span(&lane, 1), wide,
                                                                    have);
    data = wide;
  }
  const auto result = spread_raw(data, sizeof(std::int64_t), of.axes, axes);
  if (result.stride == 1 || count == 1) return static_cast<const std::int64_t*>(result.data);
  auto* out = reinterpret_cast<std::int64_t*>(scratch(count * sizeof(std::int64_t)));
  std::fill_n(out, count, *static_cast<const std::int64_t*>(result.data));
  return out;
}

auto TileMachine::truths(TileId id, AxisSet axes) -> const bool* {
  const auto count = lanes(axes);
  const auto result = spread(id, axes);
  if (result.stride == 1 || count == 1) return static_cast<const bool*>(result.data);
  auto* out = reinterpret_cast<bool*>(scratch(count));
  std::fill_n(out, count, *static_cast<const bool*>(result.data));
  return out;
}

void TileMachine::copy(TileId to, TileId from) {
  const auto axes = type(to).axes;
  const auto size = lane_size(type(to).dtype);
  const auto count = lanes(axes);
  const auto source = spread(from, axes);
  auto poison = reg(from).poison;
  std::vector<std::byte> data(count * size);
  if (source.stride == 1) {
    std::memcpy(data.data(), source.data, count * size);
  } else {
    for (std::size_t i = 0; i < count; ++i) std::memcpy(data.data() + i * size, source.data, size);
  }
  reg(to).data = std::move(data);
  if (poison.size() != count) poison.clear();
  reg(to).poison = std::move(poison);
}

auto TileMachine::run() -> Result<void> {
  program_ = first_ = launch_.first_program;
  std::vector<std::size_t> exact;
  std::int64_t tiles = 1;
  for (std::size_t axis = 0; axis < kernel_.axes.size(); ++axis)
    if (kernel_.axes[axis].exact && kernel_.axes[axis].kind == TileAxis::Kind::parallel) {
      exact.push_back(axis);
      tiles *= (launch_.extents[axis] + launch_.blocks[axis] - 1) / launch_.blocks[axis];
    }
  for (std::int64_t z = 0; z < launch_.grid[2]; ++z)
    for (std::int64_t y = 0; y < launch_.grid[1]; ++y)
      for (std::int64_t x = 0; x < launch_.grid[0]; ++x)
        for (std::int64_t tile = 0; tile < tiles; ++tile) {
          ids_ = {x, y, z};
          auto rest = tile;
          for (auto axis = exact.rbegin(); axis != exact.rend(); ++axis) {
            const auto block = launch_.blocks[*axis];
            const auto count = (launch_.extents[*axis] + block - 1) / block;
            origins_[*axis] = rest % count * block;
            dims_[*axis] = std::min(block, launch_.extents[*axis] - origins_[*axis]);
            rest /= count;
          }
          ASSAY_TRY_VOID(program());
        }
  for (auto& [key, finding] : faults_) launch_.report(std::move(finding));
  return {};
}

auto TileMachine::program() -> Result<void> {
  stopped_ = false;
  phase_ = 0;
  ASSAY_TRY_VOID(run(code_.steps()));
  ++program_;
  return {};
}

auto TileMachine::run(const std::vector<TileStep>& steps) -> Result<void> {
  for (const auto& one : steps) {
    scratch_used_ = 0;
    ASSAY_TRY_VOID(step(one));
    if (stopped_) return {};
  }
  return {};
}

auto TileMachine::step(const TileStep& step) -> Result<void> {
  const auto& statement = *step.statement;
  const auto plain = [&](auto&& done) -> Result<void> {
    done();
    return {};
  };
  struct Visitor {
    TileMachine& m;
    const TileStep& step;
    decltype(plain)& simple;
    using R = Result<void>;
    auto operator()(const TileConstant& w) -> R {
      return simple([&] { m.constant(step, w); });
    }
    auto operator()(const TileParamValue& w) -> R {
      return simple([&] { m.param_value(step, w); });
    }
    auto operator()(const TileLane& w) -> R {
      return simple([&] { m.lane(step, w.axis, 0); });
    }
    auto operator()(const TileIndex& w) -> R {
      return simple([&] { m.lane(step, w.axis, m.origins_[w.axis]); });
    }
    auto operator()(const TileProgram& w) -> R {
      const auto at = static_cast<std::size_t>(w.dimension);
      return simple([&] {
        m.number(step.statement->results[0], w.is_count ? m.launch_.grid[at] : m.ids_[at]);
      });
    }
    auto operator()(const TileCompute& w) -> R {
      return simple([&] { m.compute(step, w); });
    }
    auto operator()(const TileLoad& w) -> R {
      return simple([&] { m.load(step, w); });
    }
    auto operator()(const TileStore& w) -> R {
      return simple([&] { m.store(step, w); });
    }
    auto operator()(const TileAtomic& w) -> R {
      return simple([&] { m.atomic(step, w); });
    }
    auto operator()(const TileReduce& w) -> R {
      return m.reduce(step, w.combine, w.axis, false, false);
    }
    auto operator()(const TileScan& w) -> R {
      return m.reduce(step, w.combine, w.axis, true, w.is_reverse);
    }
    auto operator()(const TileSort& w) -> R {
      return simple([&] { m.sort(step, w); });
    }
    auto operator()(const TileSearch& w) -> R {
      return simple([&] { m.search(step, w); });
    }
    auto operator()(const TileRandom& w) -> R {
      return simple([&] { m.random(step, w); });
    }
    auto operator()(const TileDot& w) -> R {
      return simple([&] { m.dot(step, w); });
    }
    auto operator()(const TileBarrier&) -> R {
      return simple([&] { ++m.phase_; });
    }
    auto operator()(const TileArrive& w) -> R {
      return simple([&] { m.arrive(step, w); });
    }
    auto operator()(const TileAssert& w) -> R {
      return simple([&] { m.check(step, w); });
    }
    auto operator()(const TileLoop&) -> R { return m.loop(step); }
    auto operator()(const TileNest& w) -> R { return m.nest(step, w); }
    auto operator()(const TileIf&) -> R { return m.branch(step); }
  };
  return std::visit(Visitor{*this, step, plain}, statement.what);
}

void TileMachine::constant(const TileStep& step, const TileConstant& what) {
  const auto id = step.statement->results[0];
  const auto* integer = std::get_if<std::int64_t>(&what.value);
  const auto* real = std::get_if<double>(&what.value);
  const auto as_integer = integer != nullptr ? *integer : 0;
  write_lane(fresh(id), type(id).dtype, as_integer,
             real != nullptr ? *real : static_cast<double>(as_integer));
}

void TileMachine::number(TileId id, std::int64_t value) {
  write_lane(fresh(id), type(id).dtype, value, static_cast<double>(value));
}

void TileMachine::param_value(const TileStep& step, const TileParamValue& what) {
  const auto id = step.statement->results[0];
  const auto& argument = launch_.arguments[what.param];
  write_lane(fresh(id), type(id).dtype, argument.integer, argument.real);
}

void TileMachine::lane(const TileStep& step, std::size_t axis, std::int64_t origin) {
  const auto id = step.statement->results[0];
  auto* out = fresh(id);
  const auto count = dims_[axis];
  const bool is_wide = type(id).dtype == DType::int64;
  for (std::int64_t i = 0; i < count; ++i)
    if (is_wide)
      store_as(out + 8 * i, origin + i);
    else
      store_as(out + 4 * i, static_cast<std::int32_t>(origin + i));
}

void TileMachine::compute(const TileStep& step, const TileCompute&) {
  const auto& statement = *step.statement;
  const auto id = statement.results[0];
  const auto axes = type(id).axes;
  const auto count = lanes(axes);
  std::array<TileLanes, 3> operands;
  const auto n = statement.operands.size();
  bool is_poisoned = false;
  for (std::size_t i = 0; i < n; ++i) {
    operands[i] = spread(statement.operands[i], axes);
    is_poisoned = is_poisoned || !reg(statement.operands[i]).poison.empty();
  }
  auto* out = fresh(id);
  const auto given = std::span<const TileLanes>(operands.data(), n);
  step.evaluate(given, out, count);
  if (step.round != nullptr) {
    const TileLanes again{out, 1};
    step.round(std::span(&again, 1), out, count);
  }
  if (is_poisoned || (step.overflow != nullptr && step.overflow(given, count)))
    poison(step, given, count);
}

auto TileMachine::poison_of(TileId id, AxisSet axes) -> TileLanes {
  return spread_raw(reinterpret_cast<const std::byte*>(reg(id).poison.data()), 1, type(id).axes,
                    axes);
}

void TileMachine::use(std::span<const TileId> values) {
  if (unwritten_.empty()) return;
  const auto is_undefined = [&](TileId id) {
    return id != kNoTile && std::ranges::any_of(reg(id).poison, [](std::uint8_t bits) {
             return (bits & kUnwritten) != 0;
           });
  };
  if (std::ranges::none_of(values, is_undefined)) return;
  for (const auto& [statement, finding] : unwritten_)
    faults_.try_emplace(std::tuple(statement, RunFault::uninitialised), finding);
}

/// Lanes that wrapped here, and what is wrong with the operands' lanes; of a selection with those
/// of the operand that it takes.
void TileMachine::poison(const TileStep& step, std::span<const TileLanes> operands, Lanes count) {
  const auto& statement = *step.statement;
  const auto id = statement.results[0];
  std::vector<std::uint8_t> result(count, 0);
  const auto* const compute = std::get_if<TileCompute>(&statement.what);
  const bool selects = compute != nullptr && compute->op == TileOp::select;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto from = statement.operands[i];
    if (reg(from).poison.empty()) continue;
    const auto before = poison_of(from, type(id).axes);
    for (std::size_t k = 0; k < count; ++k) {
      const auto lane = static_cast<std::ptrdiff_t>(k);
      if (selects && i > 0) {
        const bool takes_first =
            static_cast<const bool*>(operands[0].data)[operands[0].stride == 0 ? 0 : lane];
        if (takes_first != (i == 1)) continue;
      }
      result[k] |= static_cast<const std::uint8_t*>(before.data)[lane * before.stride];
    }
  }
  if (step.overflow != nullptr) {
    const auto size = lane_size(type(statement.operands[0]).dtype);
    for (std::size_t k = 0; k < count; ++k) {
      std::array<TileLanes, 3> one;
      for (std::size_t i = 0; i < operands.size(); ++i)
        one[i] = {static_cast<const std::byte*>(operands[i].data) +
                      (operands[i].stride == 0 ? 0 : k * size),
                  0};
      if (step.overflow(std::span<const TileLanes>(one.data(), operands.size()), 1))
        result[k] |= kWrapped;
    }
  }
  reg(id).poison = std::move(result);
}

auto TileMachine::loop(const TileStep& step) -> Result<void> {
  const auto& statement = *step.statement;
  const auto& region = statement.regions[0];
  use(std::span(statement.operands).first(3));
  std::array<std::int64_t, 3> ends = {};
  for (const auto end : std::span(statement.operands).first(3))
    if (lanes(type(end).axes) > 1)
      return unsupported("line {}: a loop that ends apart in its lanes", statement.line);
  for (std::size_t i = 0; i < 3; ++i) ends[i] = *integers(statement.operands[i], 0);
  const auto carried = region.params.size() - 1;
  for (std::size_t i = 0; i < carried; ++i) {
    scratch_used_ = 0;
    copy(region.params[i + 1], statement.operands[i + 3]);
  }
  if (ends[2] == 0) return bad_input("line {}: a loop whose step is 0", statement.line);
  for (auto at = ends[0]; ends[2] > 0 ? at < ends[1] : at > ends[1]; at += ends[2]) {
    number(region.params[0], at);
    ASSAY_TRY_VOID(run(step.regions[0]));
    if (stopped_) return {};
    // All at once: one may be the other's value of the round before.
    std::vector<Register> next;
    for (std::size_t i = 0; i < carried; ++i) {
      scratch_used_ = 0;
      const auto yielded = region.yields[i];
      const auto param = region.params[i + 1];
      if (yielded == param) {
        next.push_back(reg(param));
        continue;
      }
      auto before = std::move(reg(param));
      copy(param, yielded);
      next.push_back(std::move(reg(param)));
      reg(param) = std::move(before);
    }
    for (std::size_t i = 0; i < carried; ++i) reg(region.params[i + 1]) = std::move(next[i]);
  }
  for (std::size_t i = 0; i < carried; ++i) {
    scratch_used_ = 0;
    copy(statement.results[i], region.params[i + 1]);
  }
  return {};
}

auto TileMachine::branch(const TileStep& step) -> Result<void> {
  const auto& statement = *step.statement;
  use(std::span(statement.operands).first(1));
  const std::size_t taken = *truths(statement.operands[0], 0) ? 0 : 1;
  ASSAY_TRY_VOID(run(step.regions[taken]));
  if (stopped_) return {};
  for (std::size_t i = 0; i < statement.results.size(); ++i) {
    scratch_used_ = 0;
    copy(statement.results[i], statement.regions[taken].yields[i]);
  }
  return {};
}

/// A tile has about as many lanes as fit, those of axes that stand whole in it included.
auto TileMachine::nest_blocks(const TileStep& step, const TileNest& what) const
    -> std::vector<std::int64_t> {
  std::vector<std::int64_t> blocks(what.axes.size(), 1);
  if (what.is_ordered) return blocks;
  Lanes widest = 1;
  for (const auto& one : step.statement->regions[0].body)
    for (const auto id : one.results) {
      auto axes = type(id).axes;
      for (const auto axis : what.axes) axes &= ~(AxisSet{1} << axis);
      widest = std::max(widest, lanes(axes));
    }
  auto room = std::max<std::int64_t>(kTileLanes / static_cast<std::int64_t>(widest), 1);
  for (std::size_t i = what.axes.size(); i-- > 0;) {
    const auto axis = what.axes[i];
    blocks[i] =
        std::max<std::int64_t>(std::min({launch_.blocks[axis], launch_.extents[axis], room}), 1);
    room = std::max<std::int64_t>(room / blocks[i], 1);
  }
  return blocks;
}

/// Its tiles are programs of their own, unless they are ordered: then phases of one.
auto TileMachine::nest(const TileStep& step, const TileNest& what) -> Result<void> {
  const auto blocks = nest_blocks(step, what);
  std::vector<std::int64_t> counts;
  std::int64_t tiles = 1;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto extent = std::max<std::int64_t>(launch_.extents[what.axes[i]], 0);
    counts.push_back((extent + blocks[i] - 1) / blocks[i]);
    if (__builtin_mul_overflow(tiles, counts.back(), &tiles) || tiles >= 1 << 30)
      return unsupported("line {}: more rounds than can be run", step.statement->line);
  }
  forget_touches();
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    auto rest = tile;
    for (std::size_t i = blocks.size(); i-- > 0;) {
      const auto axis = what.axes[i];
      origins_[axis] = rest % counts[i] * blocks[i];
      dims_[axis] = std::min(blocks[i], launch_.extents[axis] - origins_[axis]);
      rest /= counts[i];
    }
    ASSAY_TRY_VOID(run(step.regions[0]));
    if (stopped_) break;
    if (what.is_ordered)
      ++phase_;
    else
      ++program_;
  }
  forget_touches();
  return {};
}

/// What was touched so far is before everything that follows.
void TileMachine::forget_touches() {
  first_ = ++program_;
  for (const auto& argument : launch_.arguments)
    if (argument.tracks) std::ranges::fill(argument.storage->touches(), Touch{});
}

void TileMachine::check(const TileStep& step, const TileAssert& what) {
  if (!kernel_.asserts_are_on) return;
  const auto& operands = step.statement->operands;
  use(operands);
  AxisSet axes = type(operands[0]).axes;
  if (operands[1] != kNoTile) axes |= type(operands[1]).axes;
  const auto* condition = truths(operands[0], axes);
  const auto* mask = operands[1] == kNoTile ? nullptr : truths(operands[1], axes);
  const auto count = lanes(axes);
  for (std::size_t i = 0; i < count; ++i) {
    if (condition[i] || (mask != nullptr && !mask[i])) continue;
    fault(step, RunFault::device_assert, nullptr, 0, i, 1,
          fmt::format("the assert is false: {}", what.message));
    stopped_ = true;
    return;
  }
}

void TileMachine::random(const TileStep& step, const TileRandom& what) {
  const auto id = step.statement->results[0];
  const auto axes = type(id).axes;
  const auto count = lanes(axes);
  const auto& operands = step.statement->operands;
  std::array<const std::int64_t*, 4> in = {};
  for (std::size_t i = 0; i < operands.size(); ++i) in[i] = integers(operands[i], axes);
  if (what.kind == TileRandomKind::words) {
    std::array<std::byte*, 4> all = {};
    for (std::size_t k = 0; k < all.size(); ++k) all.at(k) = fresh(step.statement->results[k]);
    for (std::size_t i = 0; i < count; ++i) {
      const auto words =
          philox_words(static_cast<std::uint64_t>(in[0][i]), static_cast<std::uint64_t>(in[1][i]),
                       static_cast<std::uint64_t>(in[2][i]));
      for (std::size_t k = 0; k < all.size(); ++k) store_as(all.at(k) + 4 * i, words.at(k));
    }
    return;
  }
  auto* out = fresh(id);
  for (std::size_t i = 0; i < count; ++i) {
    const auto seed = static_cast<std::uint64_t>(in[0][i]);
    const auto offset = static_cast<std::uint64_t>(in[1][i]);
    switch (what.kind) {
      case TileRandomKind::uniform:
        store_as(out + 4 * i,
                 what.is_cpu ? philox_cpu_uniform(seed, offset) : philox_uniform(seed, offset));
        break;
      case TileRandomKind::normal:
        store_as(out + 4 * i,
                 what.is_cpu ? philox_cpu_normal(seed, offset) : philox_normal(seed, offset));
        break;
      case TileRandomKind::integer:
        store_as(out + 4 * i, philox_integer(seed, offset));
        break;
      case TileRandomKind::integer64:
        store_as(out + 8 * i, what.is_cpu ? philox_cpu_integer64(seed, offset, in[2][i], in[3][i])
                                          : philox_integer64(seed, offset, in[2][i], in[3][i]));
        break;
      case TileRandomKind::words:
        break;
    }
  }
}

}  // namespace assay
