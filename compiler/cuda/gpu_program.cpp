#include "compiler/cuda/gpu_program.h"

#include <algorithm>
#include <map>

#include "compiler/runtime/bound_run.h"
#include "core/base/clock.h"

namespace assay {
namespace {
constexpr std::uint8_t kSomebody = 0xFF;  ///< in every byte of a shadow

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

/// Adds what `step` takes to a part of the first call's time.
template <class Step>
auto timed(std::map<std::string, double>& parts, const char* part, const Step& step) {
  const auto start = Clock::now();
  auto result = step();
  parts[part] += seconds_since(start);
  return result;
}
}  // namespace

GpuGraphs::~GpuGraphs() {
  for (const auto& entry : entries_) driver_.destroy(nullptr, entry.exec);
}

auto GpuGraphs::exec_for(cuda::GraphHandle* graph) -> Result<cuda::GraphExecHandle*> {
  const auto known = std::ranges::find(entries_, graph, &Entry::graph);
  if (known != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, known);
    return known->exec;
  }
  // From the one whose use is the longest ago, as far as they may be taken over.
  auto at = entries_.end();
  while (at != entries_.begin()) {
    --at;
    if (at->graph != nullptr && entries_.size() < most_) continue;
    if (!driver_.update(at->exec, graph)) continue;
    at->graph = graph;
    entries_.splice(entries_.begin(), entries_, at);
    return entries_.front().exec;
  }
  ASSAY_TRY(auto* const exec, driver_.instantiate(graph));
  entries_.push_front({graph, exec});
  if (entries_.size() > most_) {
    driver_.destroy(nullptr, entries_.back().exec);
    entries_.pop_back();
  }
  return exec;
}

void GpuGraphs::forget(const cuda::GraphHandle* graph) {
  for (auto& entry : entries_)
    if (entry.graph == graph) entry.graph = nullptr;
}

auto GpuProgram::make(BoundProgram bound, GpuShared shared, GpuLoader& loader)
    -> Result<std::unique_ptr<GpuProgram>> {
  std::unique_ptr<GpuProgram> made(new GpuProgram(std::move(bound), shared));
  auto& times = made->first_parts_;
  ASSAY_TRY_VOID(made->place_inputs());
  ASSAY_TRY_VOID(timed(times, "memory", [&] { return made->place_buffers(); }));
  if (shared.is_checked) ASSAY_TRY_VOID(made->place_shadows());
  timed(times, "kernels", [&] {
    made->prepare_kernels(loader);
    return true;
  });
  for (std::size_t at = 0; at < made->bound_.steps.size(); ++at) {
    const auto& step = made->bound_.steps[at];
    if (const auto* launch = std::get_if<BoundLaunch>(&step))
      ASSAY_TRY_VOID(timed(times, "kernels", [&] { return made->add(*launch, at, loader); }));
    else if (const auto* call = std::get_if<BoundCall>(&step))
      ASSAY_TRY_VOID(timed(times, "libraries", [&] { return made->add(*call, at); }));
    else
      ASSAY_TRY_VOID(
          timed(times, "libraries", [&] { return made->add(std::get<BoundCopy>(step), at); }));
  }
  ASSAY_TRY_VOID(timed(times, "libraries", [&] { return shared.driver.wait(); }));
  for (auto& part : made->parts_) {
    part.first = made->items_;
    made->items_ += part.items.size();
  }
  timed(times, "capture", [&] {
    for (auto& part : made->parts_) made->make_graph(part);
    return true;
  });
  ASSAY_TRY_VOID(timed(times, "graph", [&] { return made->ready_graphs(); }));
  return made;
}

auto GpuProgram::last_part() -> Part& {
  if (parts_.empty() || parts_.back().items.empty()) parts_.emplace_back();
  return parts_.back();
}

template <class Step>
auto GpuProgram::add(const Step& step, std::size_t at) -> Result<void> {
  // What is computed here is overwritten.
  auto works = shared_.libraries.prepare(step, places_);
  bool is_ready = works.has_value();
  if (works)
    for (const auto& work : *works) is_ready = is_ready && shared_.libraries.warm(*work);
  if (!is_ready) {
    if constexpr (std::is_same_v<Step, BoundCall>) ++on_host_[step.row->name()];
    Part part;
    part.step = at;
    parts_.push_back(std::move(part));
    return {};
  }
  std::string name = "copy";
  if constexpr (std::is_same_v<Step, BoundCall>) name = step.row->name();
  for (auto& work : *works) last_part().items.emplace_back(Work{std::move(work), step.op, name});
  for (const auto buffer : written_by(bound_.steps[at]))
    if (const auto shadow = shadow_of(buffer); shadow.at != 0)
      last_part().items.emplace_back(
          Work{std::make_unique<Mark>(driver_, shadow.at, shadow.bytes), step.op, "mark"});
  return {};
}

auto GpuProgram::written_by(const BoundStep& step) const -> std::vector<std::size_t> {
  if (const auto* copy = std::get_if<BoundCopy>(&step)) return {copy->to.buffer};
  const auto* call = std::get_if<BoundCall>(&step);
  if (call == nullptr) return {};
  const auto kept = call->row->schema.is_mutating() ? 0 : call->arg_tensors;
  return {call->buffers.begin() + static_cast<std::ptrdiff_t>(kept), call->buffers.end()};
}

auto GpuProgram::place_shadows() -> Result<void> {
  std::vector<std::int64_t> sizes(bound_.buffers.size(), 0);  // of an element; -1: several
  for (const auto& step : bound_.steps) {
    const auto* launch = std::get_if<BoundLaunch>(&step);
    if (launch == nullptr) continue;
    for (const auto& argument : launch->arguments) {
      if (!argument.buffer) continue;
      auto& size = sizes[*argument.buffer];
      const auto mine = argument.element_bytes;
      size = size == 0 || size == mine ? mine : -1;
    }
  }
  shadows_.resize(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] <= 0) continue;
    const auto elements = bound_.buffers[i].size_bytes / sizes[i];
    shadows_[i].bytes = static_cast<std::size_t>(elements) * sizeof(GpuShadow);
    ASSAY_TRY(shadows_[i].at, own(static_cast<std::int64_t>(shadows_[i].bytes)));
  }
  return {};
}

auto GpuProgram::clear_shadows() -> Result<void> {
  for (std::size_t i = 0; i < shadows_.size(); ++i) {
    if (shadows_[i].at == 0) continue;
    const bool is_whole = bound_.buffers[i].kind == BoundBuffer::Kind::input;
    ASSAY_TRY_VOID(
        driver_.fill(shadows_[i].at, is_whole ? kSomebody : std::uint8_t{0}, shadows_[i].bytes));
  }
  return {};
}

GpuProgram::~GpuProgram() {
  for (auto& part : parts_) {
    if (part.graph == nullptr) continue;
    shared_.graphs.forget(part.graph);
    driver_.destroy(part.graph, nullptr);
  }
  for (const auto address : owned_) driver_.free(address);
}

auto GpuProgram::own(std::int64_t bytes) -> Result<cuda::Address> {
  ASSAY_TRY(const auto address,
            driver_.allocate(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1))));
  owned_.push_back(address);
  return address;
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

void GpuProgram::prepare_kernels(GpuLoader& loader) const {
  std::vector<std::pair<std::string, TileLaunch>> launches;
  for (const auto& step : bound_.steps)
    if (const auto* launch = std::get_if<BoundLaunch>(&step))
      launches.emplace_back(bound_.kernels[launch->kernel], asked(*launch));
  loader.prepare(launches);
}

auto GpuProgram::add(const BoundLaunch& launch, std::size_t step, GpuLoader& loader)
    -> Result<void> {
  const auto& name = bound_.kernels[launch.kernel];
  ASSAY_TRY(const auto loaded, loader.load(name, asked(launch)));
  std::vector<std::uint64_t> behind;  // what the kernels take beside the launch's arguments
  for (const auto bytes : loaded.parts_bytes) {
    ASSAY_TRY(behind.emplace_back(), own(bytes));
  }
  for (const auto number : loaded.numbers) behind.push_back(static_cast<std::uint64_t>(number));
  for (std::size_t i = 0; i < loaded.kernels.size(); ++i) {
    if (std::ranges::count(loaded.kernels[i].shape.grid, 0U) > 0) continue;
    auto made = made_launch(launch, loaded, i, behind, launches_++);
    made.step = step;
    last_part().items.emplace_back(std::move(made));
  }
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
  made.extents = extents;
  made.record = record;
  made.values = arguments(launch, *variant, loaded, behind, record);
  variant->add_numbers(extents, shape, made.values);
  made.values[variant->kernel().params.size()] = records_ + record * sizeof(GpuRecord);
  return made;
}

/// By parameter; then room for the record, then bounds where the code is checked.
auto GpuProgram::arguments(const BoundLaunch& launch, const GpuVariant& variant,
                           const GpuLoader::Launches& loaded,
                           const std::vector<std::uint64_t>& behind, std::size_t record) const
    -> std::vector<std::uint64_t> {
  std::vector<std::uint64_t> values(variant.kernel().params.size() + 1, 0);
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
  if (shared_.is_checked) {
    constexpr std::size_t kLaunches = 65534;
    add_memory(variant.kernel(), memory, 1 + record % kLaunches, values);
  }
  return values;
}

auto GpuProgram::issue(Part& part) -> Result<void> {
  for (std::size_t i = 0; i < part.items.size(); ++i)
    ASSAY_TRY_VOID(issue(part.items[i], part.first + i));
  return {};
}

auto GpuProgram::issue(Item& item, std::size_t number) -> Result<void> {
  if (is_one_by_one()) shared_.watch->issues(note_of(item, number));
  if (auto* const work = std::get_if<Work>(&item))
    ASSAY_TRY_VOID(work->work->issue());
  else
    ASSAY_TRY_VOID(issue(std::get<Launch>(item)));
  if (is_one_by_one()) ASSAY_TRY_VOID(driver_.wait());
  return {};
}

auto GpuProgram::note_of(const Item& item, std::size_t number) const -> cuda::LaunchNote {
  cuda::LaunchNote note{.kernel = {},
                        .statement = {},
                        .number = static_cast<std::int64_t>(number) + 1,
                        .launches = static_cast<std::int64_t>(items_),
                        .sizes = {}};
  const HostOp* op = nullptr;
  if (const auto* launch = std::get_if<Launch>(&item)) {
    note.kernel = launch->kernel->name;
    note.sizes = sizes_text(launch->shape, *launch->kernel, launch->extents);
    op = launch->op;
  } else {
    note.kernel = std::get<Work>(item).name;
    op = std::get<Work>(item).op;
  }
  note.line = op->line;
  note.statement = op->text;
  return note;
}

/// What a graph is about to do, or an issue of a whole part.
void GpuProgram::note_all(const Part& part) const {
  if (shared_.watch == nullptr || part.items.empty()) return;
  auto note = note_of(part.items.front(), part.first);
  if (part.items.size() > 1) {
    note.last_line = note_of(part.items.back(), part.first).line;
    note.kernel.clear();
  }
  shared_.watch->issues(note);
}

auto GpuProgram::issue(Launch& launch) -> Result<void> {
  if (launch.arguments.empty())
    for (auto& value : launch.values) launch.arguments.push_back(&value);
  return driver_.launch(launch.function, launch.shape, launch.arguments);
}

auto GpuProgram::capture(Part& part) -> Result<void> {
  ASSAY_TRY_VOID(driver_.begin_capture());
  const auto issued = issue(part);
  auto captured = driver_.end_capture();
  ASSAY_TRY_VOID(issued);
  ASSAY_TRY(part.graph, std::move(captured));
  return {};
}

auto GpuProgram::ready_graphs() -> Result<void> {
  shared_.graphs.make_room(parts_.size());
  for (const auto& part : parts_)
    if (part.graph != nullptr) ASSAY_TRY_VOID(shared_.graphs.exec_for(part.graph));
  return {};
}

/// Where code of a library was not loaded after all, issuing it once loads it. What cannot be
/// captured is issued one by one.
void GpuProgram::make_graph(Part& part) {
  if (part.items.empty() || is_one_by_one() || capture(part)) return;
  note_all(part);
  if (issue(part) && driver_.wait() && capture(part)) return;
  part.graph = nullptr;
}

auto GpuProgram::send(const DatumList& inputs) -> Result<void> {
  for (std::size_t i = 0; i < bound_.buffers.size(); ++i) {
    const auto& buffer = bound_.buffers[i];
    if (buffer.kind != BoundBuffer::Kind::input || !buffer.is_used) continue;
    const auto bytes = inputs[buffer.input].real()->storage->bytes();
    ASSAY_TRY_VOID(driver_.to_device(places_[i], bytes));
  }
  return {};
}

auto GpuProgram::run_parts() -> Result<void> {
  ASSAY_TRY_VOID(clear_shadows());
  for (auto& part : parts_) {
    note_all(part);
    if (part.graph != nullptr) {
      ASSAY_TRY(auto* const exec, shared_.graphs.exec_for(part.graph));
      ASSAY_TRY_VOID(driver_.run(exec));
    } else if (!part.items.empty()) {
      ASSAY_TRY_VOID(issue(part));
    } else {
      ASSAY_TRY_VOID(on_host(part.step));
    }
  }
  return {};
}

/// Buffers of the step come to the host, and go back when it is done.
auto GpuProgram::on_host(std::size_t at) -> Result<void> {
  const auto& step = bound_.steps[at];
  BufferStorages here;
  const auto fetch = [&](std::size_t buffer) -> Result<void> {
    auto& storage = here[buffer];
    if (storage) return {};
    storage = std::make_shared<Storage>(bound_.buffers[buffer].size_bytes);
    return driver_.to_host(storage->bytes(), places_[buffer]);
  };
  if (const auto* copy = std::get_if<BoundCopy>(&step)) {
    ASSAY_TRY_VOID(fetch(copy->from.buffer));
    ASSAY_TRY_VOID(fetch(copy->to.buffer));
  } else {
    for (const auto buffer : std::get<BoundCall>(step).buffers) ASSAY_TRY_VOID(fetch(buffer));
  }
  if (const auto done = run_apart(bound_, at, here); !done) {
    const auto& call = std::get<BoundCall>(step);
    return unsupported("line {}: {}: {}", call.op->line, call.row->name(), done.error().message);
  }
  for (const auto& [buffer, storage] : here)
    ASSAY_TRY_VOID(driver_.to_device(places_[buffer], storage->bytes()));
  for (const auto buffer : written_by(step))
    if (const auto shadow = shadow_of(buffer); shadow.at != 0)
      ASSAY_TRY_VOID(driver_.fill(shadow.at, kSomebody, shadow.bytes));
  return driver_.wait();
}

/// Findings of checked code; an assert that is false is an error otherwise.
auto GpuProgram::read_records(ProgramRun& run) -> Result<void> {
  std::vector<GpuRecord> records(launches_);
  ASSAY_TRY_VOID(driver_.to_host(std::as_writable_bytes(std::span(records)), records_));
  bool any = false;
  for (const auto& part : parts_)
    for (const auto& item : part.items) {
      const auto* launch = std::get_if<Launch>(&item);
      if (launch == nullptr) continue;
      auto finding = finding_of(records[launch->record], *launch->kernel);
      if (!finding) continue;
      any = true;
      finding->line = launch->op->line;
      finding->statement = launch->op->text;
      run.findings.push_back(*std::move(finding));
    }
  if (!any) return {};
  ASSAY_TRY_VOID(driver_.fill(records_, 0, launches_ * sizeof(GpuRecord)));
  if (shared_.is_checked) return {};
  const auto& first = run.findings.back();
  return bad_input("kernel {}: the assert in line {} is false", first.kernel, first.kernel_line);
}

auto GpuProgram::run(const DatumList& inputs) -> Result<ProgramRun> {
  ASSAY_TRY_VOID(send(inputs));
  ASSAY_TRY_VOID(run_parts());
  ProgramRun run = bound_.counts;
  run.on_host = on_host_;
  ASSAY_TRY_VOID(read_records(run));
  std::map<std::size_t, std::shared_ptr<Storage>> fetched;
  for (std::size_t i = 0; i < bound_.buffers.size(); ++i) {
    const auto& buffer = bound_.buffers[i];
    if (buffer.kind != BoundBuffer::Kind::input || !buffer.is_used) continue;
    const auto& storage = inputs[buffer.input].real()->storage;
    fetched[i] = storage;
    ASSAY_TRY_VOID(driver_.to_host(storage->bytes(), places_[i]));
  }
  run.outputs = bound_.outputs;
  std::size_t next = 0;
  Result<void> done;
  for (auto& output : run.outputs)
    visit_tensors(output, [&](Tensor& tensor) {
      const auto buffer = bound_.output_buffers[next++];
      auto& storage = fetched[buffer];
      if (!storage) {
        storage = std::make_shared<Storage>(bound_.buffers[buffer].size_bytes);
        if (done) done = driver_.to_host(storage->bytes(), places_[buffer]);
      }
      tensor.storage = storage;
    });
  ASSAY_TRY_VOID(done);
  return run;
}

/// Of the host: the median of some rounds. The GPU is waited for often, lest its full queue is what
/// is measured.
auto GpuProgram::host_costs() -> Result<HostCosts> {
  constexpr std::size_t kRounds = 7, kQueued = 64;
  std::vector<double> launch, call;
  for (std::size_t round = 0; round < kRounds; ++round) {
    std::size_t launches = 0, calls = 0;
    double launch_seconds = 0, call_seconds = 0;
    for (auto& part : parts_)
      for (std::size_t i = 0; i < part.items.size(); ++i) {
        auto& item = part.items[i];
        if ((launches + calls) % kQueued == 0) ASSAY_TRY_VOID(driver_.wait());
        const bool is_call = std::holds_alternative<Work>(item);
        const auto start = Clock::now();
        ASSAY_TRY_VOID(issue(item, part.first + i));
        (is_call ? call_seconds : launch_seconds) += seconds_since(start);
        ++(is_call ? calls : launches);
      }
    if (launches > 0) launch.push_back(launch_seconds / static_cast<double>(launches));
    if (calls > 0) call.push_back(call_seconds / static_cast<double>(calls));
  }
  ASSAY_TRY_VOID(driver_.wait());
  const auto median = [](std::vector<double>& all) {
    if (all.empty()) return 0.0;
    std::ranges::nth_element(all, all.begin() + std::ssize(all) / 2);
    return all[all.size() / 2];
  };
  return HostCosts{median(launch), median(call)};
}

auto GpuProgram::measure(const DatumList& inputs, int calls) -> Result<ProgramTimes> {
  ASSAY_TRY_VOID(send(inputs));
  ASSAY_TRY_VOID(driver_.wait());
  const auto once = [&]() -> Result<void> {
    ASSAY_TRY_VOID(run_parts());
    return driver_.wait();
  };
  if (first_parts_.contains("run"))  // measured before: this call is not the first
    ASSAY_TRY_VOID(once());
  else
    ASSAY_TRY_VOID(timed(first_parts_, "run", once));
  const auto clocked = [&](const auto& work) -> Result<double> {
    std::vector<double> seconds;
    for (int i = 0; i <= calls; ++i) {
      ASSAY_TRY_VOID(driver_.start_clock());
      ASSAY_TRY_VOID(work());
      ASSAY_TRY(const auto milliseconds, driver_.stop_clock());
      if (i > 0) seconds.push_back(milliseconds * 1e-3);
    }
    std::ranges::nth_element(seconds, seconds.begin() + calls / 2);
    return seconds[static_cast<std::size_t>(calls / 2)];
  };
  ProgramTimes times;
  times.on_host = on_host_;
  times.bytes = bytes_of(inputs) + bytes_of(bound_.outputs);
  times.first_parts = first_parts_;
  for (const auto& [part, seconds] : first_parts_) times.first_seconds += seconds;
  ASSAY_TRY(times.seconds, clocked([&] { return run_parts(); }));
  ASSAY_TRY(times.host, host_costs());
  constexpr std::size_t kCopyBytes = std::size_t{1} << 30;
  ASSAY_TRY(const auto from, driver_.allocate(kCopyBytes));
  ASSAY_TRY(const auto to, driver_.allocate(kCopyBytes));
  ASSAY_TRY(const auto copying, clocked([&] { return driver_.copy(to, from, kCopyBytes); }));
  driver_.free(from);
  driver_.free(to);
  times.copy_bytes_per_s = 2.0 * kCopyBytes / copying;
  return times;
}

}  // namespace assay
