// Accesses of a tile: every lane is checked against the storage, against what was written before,
// and against what other programs and lanes of the launch touch.
#include <algorithm>
#include <cstring>

#include "compiler/interpret/tile_machine.h"
#include "core/tensor/convert.h"

namespace assay {
namespace {

/// Lanes of narrow floats are held as float32.
template <class Narrow, class Read>
void widen(const std::byte* from, float* to, Read read) {
  Narrow bits;
  std::memcpy(&bits, from, sizeof(bits));
  *to = static_cast<float>(read(bits));
}

auto small_format(DType dtype) -> const SmallFloat* {
  struct Row {
    DType dtype;
    SmallFloat format;
  };
  static constexpr std::array kRows = {
      Row{DType::float16, kFloat16}, Row{DType::float8_e4m3fn, kFloat8E4M3fn},
      Row{DType::float8_e5m2, kFloat8E5M2}, Row{DType::float8_e4m3fnuz, kFloat8E4M3fnuz},
      Row{DType::float8_e5m2fnuz, kFloat8E5M2fnuz}};
  for (const auto& row : kRows)
    if (row.dtype == dtype) return &row.format;
  return nullptr;
}

/// One element of memory as a lane, and back.
void read_element(DType dtype, const std::byte* from, std::byte* to) {
  if (lane_dtype(dtype) == dtype) {
    std::memcpy(to, from, static_cast<std::size_t>(size_bytes(dtype)));
    if (dtype == DType::boolean) *to = *to == std::byte{0} ? std::byte{0} : std::byte{1};
    return;
  }
  float value = 0;
  if (dtype == DType::bfloat16)
    widen<std::uint16_t>(from, &value, bfloat16_to_float);
  else if (size_bytes(dtype) == 2)
    widen<std::uint16_t>(from, &value, [&](std::uint32_t bits) {
      return decode_small_float(*small_format(dtype), bits);
    });
  else
    widen<std::uint8_t>(from, &value, [&](std::uint32_t bits) {
      return decode_small_float(*small_format(dtype), bits);
    });
  std::memcpy(to, &value, sizeof(value));
}
void write_element(DType dtype, const std::byte* from, std::byte* to) {
  if (lane_dtype(dtype) == dtype) {
    std::memcpy(to, from, static_cast<std::size_t>(size_bytes(dtype)));
    return;
  }
  float value = 0;
  std::memcpy(&value, from, sizeof(value));
  const auto bits = dtype == DType::bfloat16 ? std::uint32_t{float_to_bfloat16(value)}
                                             : encode_small_float(*small_format(dtype), value);
  std::memcpy(to, &bits, static_cast<std::size_t>(size_bytes(dtype)));
}

/// The same for all lanes with a mask; sizes known to the compiler.
template <class T>
void gather(const std::byte* base, const std::int64_t* at, const bool* active, std::byte* to,
            std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (active[i])
      std::memcpy(to + i * sizeof(T), base + at[i] * std::int64_t{sizeof(T)}, sizeof(T));
}

}  // namespace

/// One access of all lanes of a tile. `at` are elements from the start of the storage.
struct TileMachine::Access {
  const TileStep* step = nullptr;
  const TileArgument* argument = nullptr;
  std::size_t param = 0;
  DType dtype = DType::float32;
  std::int64_t size = 4;  ///< bytes of an element
  AxisSet axes = 0;
  Lanes count = 0;
  std::int64_t* at = nullptr;
  bool* active = nullptr;
  std::vector<std::uint8_t> unwritten;  ///< by lane; empty: none is
};

auto TileMachine::describe(const TileStep& step, RunFault fault, const Access* access,
                           std::int64_t element, Lanes lane, Lanes times, std::string message) const
    -> RunFinding {
  RunFinding finding;
  finding.fault = fault;
  finding.line = launch_.line;
  finding.statement = launch_.statement;
  // Functions of C++ kernels are all called the same.
  finding.kernel = launch_.kernel.empty() ? kernel_.name : launch_.kernel;
  finding.kernel_line = step.statement->line;
  if (access != nullptr) {
    finding.buffer = access->argument->storage->name();
    finding.param = kernel_.params[access->param].name;
  }
  finding.element = element;
  finding.program = program_ - first_;
  finding.lane = static_cast<std::int64_t>(lane);
  finding.times = static_cast<std::int64_t>(times);
  finding.message = std::move(message);
  return finding;
}

void TileMachine::fault(const TileStep& step, RunFault fault, const Access* access,
                        std::int64_t element, Lanes lane, Lanes times, std::string message) {
  const auto key = std::tuple(step.statement, fault);
  if (const auto known = faults_.find(key); known != faults_.end()) {
    known->second.times += static_cast<std::int64_t>(times);
    return;
  }
  faults_.emplace(key, describe(step, fault, access, element, lane, times, std::move(message)));
}

/// Index and mask of an access. Lanes that would leave the storage are reported and switched off.
auto TileMachine::prepare(const TileStep& step, std::size_t param, AxisSet axes) -> Access {
  const auto& operands = step.statement->operands;
  Access access;
  access.step = &step;
  access.argument = &launch_.arguments[param];
  access.param = param;
  access.dtype = kernel_.params[param].dtype;
  access.size = size_bytes(access.dtype);
  access.axes = axes;
  access.count = lanes(axes);
  const auto* index = integers(operands[0], axes);
  access.at = reinterpret_cast<std::int64_t*>(scratch(access.count * sizeof(std::int64_t)));
  access.active = reinterpret_cast<bool*>(scratch(access.count));
  const bool is_load = std::holds_alternative<TileLoad>(step.statement->what);
  const auto mask = is_load ? operands[1] : operands[2];
  if (mask == kNoTile)
    std::fill_n(access.active, access.count, true);
  else
    std::copy_n(truths(mask, axes), access.count, access.active);
  const auto base = access.argument->offset_bytes / access.size;
  for (std::size_t i = 0; i < access.count; ++i) access.at[i] = base + index[i];
  use(std::array{operands[0], mask});
  if (!reg(operands[0]).poison.empty()) {
    const auto poison = poison_of(operands[0], axes);
    for (std::size_t i = 0; i < access.count; ++i)
      if (access.active[i] && (static_cast<const std::uint8_t*>(
                                   poison.data)[static_cast<std::ptrdiff_t>(i) * poison.stride] &
                               kWrapped) != 0)
        fault(step, RunFault::index_overflow, &access, access.at[i], i, 1,
              "integer arithmetic that the index rests on wraps");
  }
  in_bounds(access);
  return access;
}

void TileMachine::in_bounds(Access& access) {
  const auto extent =
      static_cast<std::uint64_t>(access.argument->storage->size_bytes() / access.size);
  bool any = false;
  for (std::size_t i = 0; i < access.count; ++i)
    any = any || (access.active[i] && static_cast<std::uint64_t>(access.at[i]) >= extent);
  if (!any) return;
  for (std::size_t i = 0; i < access.count; ++i) {
    if (!access.active[i] || static_cast<std::uint64_t>(access.at[i]) < extent) continue;
    access.active[i] = false;
    fault(*access.step, RunFault::out_of_bounds, &access, access.at[i], i, 1,
          access.at[i] < 0 ? fmt::format("element {} lies before the start", access.at[i])
                           : fmt::format("element {} needs {} bytes, the storage has {}",
                                         access.at[i], (access.at[i] + 1) * access.size,
                                         access.argument->storage->size_bytes()));
  }
}

auto TileMachine::first_unwritten() const -> const RunFinding& {
  return std::ranges::min_element(unwritten_, {},
                                  [](const auto& one) { return one.second.kernel_line; })
      ->second;
}

/// Remembered until something depends on the value. What was stored without being defined is the
/// fault of the read that it came from.
void TileMachine::note_unwritten(const Access& access, Lanes lane) {
  const auto [known, is_new] = unwritten_.try_emplace(access.step->statement);
  auto& finding = known->second;
  if (!is_new) {
    ++finding.times;
    return;
  }
  const auto element = access.at[lane];
  if (const auto* origin = access.argument->storage->undefined_at(element * access.size)) {
    finding = *origin;
    return;
  }
  finding = describe(*access.step, RunFault::uninitialised, &access, element, lane, 1,
                     fmt::format("element {} is read, nothing was written there", element));
}

/// Lanes that read: was it written, and by whom.
void TileMachine::reads(Access& access, bool atomic) {
  auto& storage = *access.argument->storage;
  if (!storage.initialised().empty())
    for (std::size_t i = 0; i < access.count; ++i) {
      if (!access.active[i] || storage.is_written(access.at[i] * access.size)) continue;
      note_unwritten(access, i);
      access.unwritten.resize(access.count);
      access.unwritten[i] = kUnwritten;
    }
  if (atomic && !access.unwritten.empty())
    faults_.try_emplace(std::tuple(access.step->statement, RunFault::uninitialised),
                        unwritten_.at(access.step->statement));
  if (!access.argument->tracks) return;
  auto& touches = storage.touches();
  const auto granules = std::max<std::int64_t>(access.size / storage.granule(), 1);
  Toucher who{program_, phase_, 0};
  const auto lanes_of = lane_base(access.axes);
  for (std::size_t i = 0; i < access.count; ++i) {
    if (!access.active[i]) continue;
    who.lane = lanes_of | static_cast<std::uint32_t>(i);
    for (std::int64_t g = 0; g < granules; ++g) {
      auto& touch = touches[static_cast<std::size_t>(access.at[i] * granules + g)];
      const auto before = touch;
      if (note_read(touch, who, first_, atomic) == Collision::none) continue;
      fault(*access.step, RunFault::read_conflict, &access, access.at[i], i, 1,
            before.writer == program_
                ? fmt::format("another lane wrote element {} without a barrier", access.at[i])
                : fmt::format("program {} of this launch wrote element {}", before.writer - first_,
                              access.at[i]));
    }
  }
}

void TileMachine::load(const TileStep& step, const TileLoad& what) {
  const auto id = step.statement->results[0];
  const auto axes = type(id).axes;
  auto access = prepare(step, what.param, axes);
  reads(access, false);
  const auto lane_bytes = lane_size(access.dtype);
  const auto other = step.statement->operands[2];
  const auto others = other == kNoTile ? TileLanes{} : spread(other, axes);
  auto* out = fresh(id);
  reg(id).poison = access.unwritten;
  if (other == kNoTile) {
    std::memset(out, 0, access.count * lane_bytes);
  } else {
    for (std::size_t i = 0; i < access.count; ++i)
      std::memcpy(
          out + i * lane_bytes,
          static_cast<const std::byte*>(others.data) + (others.stride == 0 ? 0 : i * lane_bytes),
          lane_bytes);
  }
  const auto* base = access.argument->storage->bytes();
  if (access.dtype == DType::boolean || lane_dtype(access.dtype) != access.dtype) {
    for (std::size_t i = 0; i < access.count; ++i)
      if (access.active[i])
        read_element(access.dtype, base + access.at[i] * access.size, out + i * lane_bytes);
    return;
  }
  const auto loop = access.size == 1   ? gather<std::uint8_t>
                    : access.size == 2 ? gather<std::uint16_t>
                    : access.size == 4 ? gather<std::uint32_t>
                                       : gather<std::uint64_t>;
  loop(base, access.at, access.active, out, access.count);
}

void TileMachine::store(const TileStep& step, const TileStore& what) {
  const auto& operands = step.statement->operands;
  AxisSet axes = 0;
  for (const auto id : operands)
    if (id != kNoTile) axes |= type(id).axes;
  auto access = prepare(step, what.param, axes);
  auto& storage = *access.argument->storage;
  const auto lane_bytes = lane_size(access.dtype);
  const auto values = spread(operands[1], axes);
  std::vector<std::uint8_t> poison;  // by lane
  if (!reg(operands[1]).poison.empty()) {
    const auto lanes_of = poison_of(operands[1], axes);
    for (std::size_t i = 0; i < access.count; ++i)
      poison.push_back(static_cast<const std::uint8_t*>(
          lanes_of.data)[static_cast<std::ptrdiff_t>(i) * lanes_of.stride]);
  }
  auto* base = storage.bytes();
  const auto granules = std::max<std::int64_t>(access.size / storage.granule(), 1);
  Toucher who{program_, phase_, 0};
  const auto lanes_of = lane_base(axes);
  constexpr std::uint32_t kNumber = 0;  // the lane of a load without axes
  const bool is_alone = step.takes_numbers_alone &&
                        std::ranges::count(std::span(access.active, access.count), true) == 1;
  std::array<std::byte, 16> bytes = {};
  for (std::size_t i = 0; i < access.count; ++i) {
    if (!access.active[i]) continue;
    write_element(
        access.dtype,
        static_cast<const std::byte*>(values.data) + (values.stride == 0 ? 0 : i * lane_bytes),
        bytes.data());
    auto* target = base + access.at[i] * access.size;
    if (access.argument->tracks) {
      who.lane = lanes_of | static_cast<std::uint32_t>(i);
      for (std::int64_t g = 0; g < granules; ++g) {
        auto& touch = storage.touches()[static_cast<std::size_t>(access.at[i] * granules + g)];
        const auto before = touch;
        const auto collision = note_write(touch, who, first_, false);
        if (collision == Collision::none) continue;
        // Lanes of one program that hold the same value are the compiler's way to store a scalar.
        const bool is_same =
            std::memcmp(target, bytes.data(), static_cast<std::size_t>(access.size)) == 0;
        if (collision == Collision::write_write) {
          if ((before.writer == program_ || step.scatters_one_value) && is_same) continue;
          fault(step, RunFault::write_conflict, &access, access.at[i], i, 1,
                before.writer == program_
                    ? fmt::format("two lanes write element {}", access.at[i])
                    : fmt::format("program {} of this launch wrote element {} too",
                                  before.writer - first_, access.at[i]));
        } else if (!is_alone || before.reader != program_ || before.reader_lane != kNumber) {
          fault(step, RunFault::read_conflict, &access, access.at[i], i, 1,
                before.reader == program_
                    ? fmt::format("another lane read element {} without a barrier", access.at[i])
                    : fmt::format("another program of this launch read element {}", access.at[i]));
        }
      }
    }
    std::memcpy(target, bytes.data(), static_cast<std::size_t>(access.size));
    const bool is_undefined = !poison.empty() && (poison[i] & kUnwritten) != 0;
    if (is_undefined)
      storage.set_undefined(access.at[i] * access.size, access.size, first_unwritten());
    else
      storage.set_written(access.at[i] * access.size, access.size);
  }
}

void TileMachine::atomic(const TileStep& step, const TileAtomic& what) {
  const auto& operands = step.statement->operands;
  const auto id = step.statement->results[0];
  const auto axes = type(id).axes;
  auto access = prepare(step, what.param, axes);
  use(std::array{operands[1]});
  reads(access, true);
  auto& storage = *access.argument->storage;
  const auto lane_bytes = lane_size(access.dtype);
  const auto values = spread(operands[1], axes);
  auto* out = fresh(id);
  std::memset(out, 0, access.count * lane_bytes);
  const auto granules = std::max<std::int64_t>(access.size / storage.granule(), 1);
  Toucher who{program_, phase_, 0};
  const auto lanes_of = lane_base(axes);
  std::array<std::byte, 8> next = {};
  for (std::size_t i = 0; i < access.count; ++i) {
    if (!access.active[i]) continue;
    auto* target = storage.bytes() + access.at[i] * access.size;
    const auto* value =
        static_cast<const std::byte*>(values.data) + (values.stride == 0 ? 0 : i * lane_bytes);
    auto* before = out + i * lane_bytes;
    read_element(access.dtype, target, before);
    if (what.is_exchange) {
      std::memcpy(next.data(), value, lane_bytes);
    } else {
      const std::array<TileLanes, 2> both = {TileLanes{before, 0}, TileLanes{value, 0}};
      step.evaluate(both, next.data(), 1);
    }
    if (access.argument->tracks) {
      who.lane = lanes_of | static_cast<std::uint32_t>(i);
      for (std::int64_t g = 0; g < granules; ++g)
        if (note_write(storage.touches()[static_cast<std::size_t>(access.at[i] * granules + g)],
                       who, first_, true) != Collision::none)
          fault(step, RunFault::write_conflict, &access, access.at[i], i, 1,
                fmt::format("element {} is touched without an atomic operation too", access.at[i]));
    }
    write_element(access.dtype, next.data(), target);
    storage.set_written(access.at[i] * access.size, access.size);
  }
}

/// One element in bounds, as a number; 0 and a finding otherwise.
auto TileMachine::read_number(const TileStep& step, std::size_t param, std::int64_t index)
    -> double {
  Access access;
  bool active = true;
  access.step = &step;
  access.argument = &launch_.arguments[param];
  access.param = param;
  access.dtype = kernel_.params[param].dtype;
  access.size = size_bytes(access.dtype);
  access.count = 1;
  auto at = access.argument->offset_bytes / access.size + index;
  access.at = &at;
  access.active = &active;
  in_bounds(access);
  if (!active) return 0;
  reads(access, false);
  if (!access.unwritten.empty())
    faults_.try_emplace(std::tuple(step.statement, RunFault::uninitialised),
                        unwritten_.at(step.statement));
  std::array<std::byte, 8> held = {};
  read_element(access.dtype, access.argument->storage->bytes() + at * access.size, held.data());
  double result = 0;
  const TileLanes lane{held.data(), 0};
  tile_evaluate(TileOp::cast, lane_dtype(access.dtype), DType::float64)(std::span(&lane, 1),
                                                                        &result, 1);
  return result;
}

void TileMachine::arrive(const TileStep& step, const TileArrive& what) {
  const auto& operands = step.statement->operands;
  use(operands);
  const auto group = *integers(operands[0], 0), programs = *integers(operands[1], 0);
  const auto arrived = static_cast<std::int64_t>(read_number(step, what.param, group)) + 1;
  const bool is_last = arrived >= programs;
  const auto& argument = launch_.arguments[what.param];
  const auto size = size_bytes(kernel_.params[what.param].dtype);
  const auto at = argument.offset_bytes / size + group;
  const auto after = static_cast<std::int32_t>(is_last ? 0 : arrived);
  if (at >= 0 && at < argument.storage->size_bytes() / size)
    std::memcpy(argument.storage->bytes() + at * size, &after, sizeof(after));
  number(step.statement->results[0], is_last ? 1 : 0);
  ++phase_;
}

/// triton_helpers.bucketize_binary_search: the boundaries of one lane start at its first index.
void TileMachine::search(const TileStep& step, const TileSearch& what) {
  const auto id = step.statement->results[0];
  const auto axes = type(id).axes;
  const auto count = lanes(axes);
  const auto& operands = step.statement->operands;
  use(operands);
  std::vector<double> wanted(count);
  {
    const auto of = type(operands[0]);
    const auto held = spread(operands[0], axes);
    const auto convert = tile_evaluate(TileOp::cast, lane_dtype(of.dtype), DType::float64);
    const auto one = std::array{held};
    if (held.stride == 1 || count == 1) {
      convert(one, wanted.data(), count);
    } else {
      convert(one, wanted.data(), 1);
      std::fill(wanted.begin() + 1, wanted.end(), wanted[0]);
    }
  }
  std::array<const std::int64_t*, 5> in = {};
  for (std::size_t i = 0; i < in.size(); ++i)
    if (operands[i + 1] != kNoTile) in[i] = integers(operands[i + 1], axes);
  auto* out = fresh(id);
  const bool is_wide = type(id).dtype == DType::int64;
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t low = 0;
    std::int64_t high = in[0][i];
    while (low < high) {
      const auto middle = low + (high - low) / 2;
      auto at = in[2][i] + middle * in[1][i];
      if (what.sorter) {
        const auto sorted = in[4][i] + middle * in[3][i];
        at = in[2][i] +
             static_cast<std::int64_t>(read_number(step, *what.sorter, sorted)) * in[1][i];
      }
      const auto bound = read_number(step, what.param, at);
      const bool is_above = what.is_right ? !(wanted[i] >= bound) : !(wanted[i] > bound);
      if (is_above)
        high = middle;
      else
        low = middle + 1;
    }
    if (is_wide)
      std::memcpy(out + 8 * i, &low, 8);
    else {
      const auto narrow = static_cast<std::int32_t>(low);
      std::memcpy(out + 4 * i, &narrow, 4);
    }
  }
}

}  // namespace assay
