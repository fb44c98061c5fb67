// A bound program gets its memory, its launches and its library calls.
#include <algorithm>

#include "compiler/cuda/gpu_program.h"

namespace assay {
namespace {

constexpr std::int64_t kCounterBytes = 4;

/// Somebody else than a kernel writes a buffer.
class Mark final : public cuda::GpuWork {
 public:
  Mark(cuda::Driver& driver, cuda::Address shadow, std::size_t bytes)
      : driver_(driver), shadow_(shadow), bytes_(bytes) {}
  [[nodiscard]] auto issue() -> Result<void> override {
    return driver_.fill(shadow_, kSomebody, bytes_);
  }

 private:
  cuda::Driver& driver_;
  cuda::Address shadow_;
  std::size_t bytes_;
};

}  // namespace

auto GpuProgram::make(BoundProgram bound, GpuShared shared, GpuLoader& loader)
    -> Result<std::unique_ptr<GpuProgram>> {
  std::unique_ptr<GpuProgram> made(new GpuProgram(std::move(bound), shared));
  ASSAY_TRY_VOID(made->place_inputs());
  ASSAY_TRY_VOID(made->timed("memory", [&] { return made->place_buffers(); }));
  if (shared.is_checked) ASSAY_TRY_VOID(made->place_shadows());
  made->steps_.resize(made->bound_.steps.size());
  ASSAY_TRY_VOID(made->timed("kernels", [&] { return made->prepare_kernels(loader); }));
  return made;
}

void GpuProgram::leave_to_host(const auto& what, Step& step, const std::string& why) {
  step.is_on_host = true;
  step.items.clear();
  if constexpr (requires { what.row; }) ++on_host_[fmt::format("{}: {}", what.row->name(), why)];
}
template void GpuProgram::leave_to_host(const BoundCall&, Step&, const std::string&);
template void GpuProgram::leave_to_host(const BoundCopy&, Step&, const std::string&);

void GpuProgram::prepare(std::size_t at) {
  auto& step = steps_[at];
  if (step.is_prepared) return;
  step.is_prepared = true;
  const auto& bound = bound_.steps[at];
  if (const auto* call = std::get_if<BoundCall>(&bound))
    prepare(*call, step, call->row->name());
  else
    prepare(std::get<BoundCopy>(bound), step, "copy");
  if (step.is_on_host) return;
  for (const auto buffer : written_by(bound))
    if (const auto shadow = shadow_of(buffer); shadow.at != 0)
      step.items.emplace_back(
          Work{std::make_unique<Mark>(driver_, shadow.at, shadow.bytes), op_of(bound), "mark"});
}

void GpuProgram::prepare(const auto& what, Step& step, const std::string& name) {
  auto works = shared_.libraries.prepare(what, places_);
  step.is_on_host = !works.has_value();
  if (!works) return leave_to_host(what, step, works.error().message);
  for (auto& work : *works) step.items.emplace_back(Work{std::move(work), what.op, name});
}

auto GpuProgram::written_by(const BoundStep& step) const -> std::vector<std::size_t> {
  if (const auto* copy = std::get_if<BoundCopy>(&step)) return {copy->to.buffer};
  const auto* call = std::get_if<BoundCall>(&step);
  if (call == nullptr) return {};
  const auto kept = call->row->schema.is_mutating() ? 0 : call->arg_tensors;
  return {call->buffers.begin() + static_cast<std::ptrdiff_t>(kept), call->buffers.end()};
}

auto GpuProgram::own(std::int64_t bytes) -> Result<cuda::Address> {
  ASSAY_TRY(const auto address,
            driver_.allocate(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1))));
  owned_.push_back(address);
  return address;
}

/// Memory for so many, which are 0.
auto GpuProgram::counters(std::int64_t count) -> Result<cuda::Address> {
  constexpr std::int64_t kRoom = 1 << 16;
  const auto bytes = count * kCounterBytes;
  auto& [next, left] = counters_;
  if (bytes > left) {
    left = std::max(bytes, kRoom);
    ASSAY_TRY(next, own(left));
    ASSAY_TRY_VOID(driver_.fill(next, 0, static_cast<std::size_t>(left)));
  }
  left -= bytes;
  return std::exchange(next, next + static_cast<std::uint64_t>(bytes));
}

auto GpuProgram::place_inputs() -> Result<void> {
  places_.assign(bound_.buffers.size(), 0);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const auto& buffer = bound_.buffers[i];
    if (buffer.kind != BoundBuffer::Kind::input || !buffer.is_used) continue;
    ASSAY_TRY(places_[i], own(buffer.size_bytes));
  }
  return {};
}

auto GpuProgram::place_buffers() -> Result<void> {
  plan_ = plan_memory(bound_, {}, &shared_.plan);
  shared_.plan = plan_;
  const auto needed = static_cast<std::size_t>(std::max<std::int64_t>(plan_.arena_bytes, 1));
  if (shared_.arena == nullptr || shared_.arena->bytes < needed) {
    const auto room = needed + needed / 4;
    ASSAY_TRY(const auto address, driver_.allocate(room));
    shared_.arena = std::make_shared<GpuArena>(driver_, address, room);
  }
  arena_ = shared_.arena;
  const auto arena = arena_->address;
  // A launch is at most two kernels.
  const auto bytes = 2 * bound_.steps.size() * sizeof(GpuRecord);
  ASSAY_TRY(records_, own(static_cast<std::int64_t>(bytes)));
  ASSAY_TRY_VOID(driver_.fill(records_, 0, bytes));
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (!bound_.buffers[i].is_used || places_[i] != 0) continue;
    if (plan_.offsets[i] >= 0) {
      places_[i] = arena + static_cast<std::uint64_t>(plan_.offsets[i]);
    } else {
      ASSAY_TRY(places_[i], own(bound_.buffers[i].size_bytes));
    }
  }
  return {};
}

auto GpuProgram::asked(const BoundLaunch& launch) -> TileLaunch {
  TileLaunch made;
  made.extents = launch.extents;
  made.blocks = launch.blocks;
  made.scalars = launch.scalars;
  return made;
}

auto GpuProgram::prepare_kernels(GpuLoader& loader) -> Result<void> {
  std::vector<std::pair<std::string, TileLaunch>> launches;
  for (const auto& step : bound_.steps)
    if (const auto* launch = std::get_if<BoundLaunch>(&step))
      launches.emplace_back(bound_.kernels[launch->kernel], asked(*launch));
  loader.prepare(launches);
  for (std::size_t at = 0, next = 0; at < bound_.steps.size(); ++at) {
    if (const auto* launch = std::get_if<BoundLaunch>(&bound_.steps[at]))
      ASSAY_TRY_VOID(add(*launch, launches[next++].second, steps_[at], loader));
  }
  return {};
}

auto GpuProgram::add(const BoundLaunch& launch, const TileLaunch& asked, Step& step,
                     GpuLoader& loader) -> Result<void> {
  ASSAY_TRY(const auto loaded, loader.load(bound_.kernels[launch.kernel], asked));
  std::vector<std::uint64_t> behind;  // what the kernels take beside the launch's arguments
  for (const auto bytes : loaded.parts_bytes) {
    ASSAY_TRY(behind.emplace_back(), own(bytes));
  }
  if (loaded.counters > 0) {
    ASSAY_TRY(behind.emplace_back(), counters(loaded.counters));
  }
  for (const auto number : loaded.numbers) behind.push_back(static_cast<std::uint64_t>(number));
  for (std::size_t i = 0; i < loaded.kernels.size(); ++i) {
    if (std::ranges::count(loaded.kernels[i].shape.grid, 0U) > 0) continue;
    step.items.emplace_back(made_launch(launch, loaded, i, behind, launches_++));
  }
  step.is_prepared = true;
  return {};
}

auto GpuProgram::made_launch(const BoundLaunch& launch, const GpuLoader::Launches& loaded,
                             std::size_t kernel, const std::vector<std::uint64_t>& behind,
                             std::size_t record) const -> Launch {
  const auto& [variant, shape, extents] = loaded.kernels[kernel];
  Launch made;
  made.function = variant->function;
  made.shape = shape;
  made.op = launch.op;
  made.kernel = &variant->kernel();
  made.given = variant->given;
  made.extents = extents;
  made.record = record;
  made.values = arguments(launch, *variant, loaded, behind, record);
  variant->add_numbers(extents, shape, made.values);
  made.values.push_back(records_ + record * sizeof(GpuRecord));
  return made;
}

/// By parameter, then bounds where the code is checked; without the record.
auto GpuProgram::arguments(const BoundLaunch& launch, const GpuVariant& variant,
                           const GpuLoader::Launches& loaded,
                           const std::vector<std::uint64_t>& behind, std::size_t record) const
    -> std::vector<std::uint64_t> {
  std::vector<std::uint64_t> values(variant.kernel().params.size(), 0);
  std::vector<GpuMemory> memory;
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    const auto& argument = launch.arguments[i];
    auto& known = memory.emplace_back();
    known.offset = argument.offset_bytes;
    if (argument.buffer) {
      known.size = bound_.buffers[*argument.buffer].size_bytes;
      known.shadow = shadow_of(*argument.buffer).at;
    }
    if (argument.buffer)
      values[i] = places_[*argument.buffer] + static_cast<std::uint64_t>(argument.offset_bytes);
    else
      values[i] = is_floating(variant.kernel().params[i].dtype)
                      ? std::bit_cast<std::uint64_t>(argument.real)
                      : static_cast<std::uint64_t>(argument.integer);
  }
  std::ranges::copy(behind, values.begin() + static_cast<std::ptrdiff_t>(launch.arguments.size()));
  for (const auto bytes : loaded.parts_bytes) memory.push_back({.size = bytes});
  if (loaded.counters > 0) memory.push_back({.size = loaded.counters * kCounterBytes});
  if (shared_.is_checked) {
    add_memory(variant.kernel(), memory, launch_number(record), values);
  }
  return values;
}

}  // namespace assay
