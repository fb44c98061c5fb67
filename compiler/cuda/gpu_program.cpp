#include "compiler/cuda/gpu_program.h"

#include <algorithm>
#include <map>
#include <utility>

#include "compiler/runtime/bound_run.h"

namespace assay {

GpuProgram::~GpuProgram() {
  for (auto& part : parts_) {
    if (part.graph == nullptr) continue;
    shared_.graphs.forget(part.graph);
    driver_.destroy(part.graph, nullptr);
  }
  for (const auto address : owned_) driver_.free(address);
}

auto GpuProgram::issue(Step& step) -> Result<void> {
  for (std::size_t i = 0; i < step.items.size(); ++i)
    ASSAY_TRY_VOID(issue(step.items[i], step.first + i));
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
    note.sizes = sizes_text(launch->shape, *launch->given, launch->extents);
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
  if (shared_.watch == nullptr || part.items == 0) return;
  const auto& first = steps_[part.begin];
  auto note = note_of(first.items.front(), first.first);
  if (part.items > 1) {
    note.last_line = note_of(steps_[part.end - 1].items.back(), first.first).line;
    note.kernel.clear();
  }
  shared_.watch->issues(note);
}

auto GpuProgram::issue(Launch& launch) -> Result<void> {
  if (launch.arguments.empty())
    for (auto& value : launch.values) launch.arguments.push_back(&value);
  return driver_.launch(launch.function, launch.shape, launch.arguments);
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

auto GpuProgram::run_steps() -> Result<void> {
  ASSAY_TRY_VOID(clear_shadows());
  if (!is_complete_) return first_call();
  for (auto& part : parts_) {
    note_all(part);
    if (part.graph != nullptr) {
      ASSAY_TRY(auto* const exec, shared_.graphs.exec_for(part.graph));
      ASSAY_TRY_VOID(driver_.run(exec));
      continue;
    }
    for (auto at = part.begin; at < part.end; ++at)
      ASSAY_TRY_VOID(steps_[at].is_on_host ? on_host(at) : issue(steps_[at]));
  }
  // While the GPU is at work those of the calls to come are made.
  if (!was_repeated_) make_graphs();
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
  for (const auto& step : steps_)
    for (const auto& item : step.items) {
      const auto* launch = std::get_if<Launch>(&item);
      if (launch == nullptr) continue;
      auto finding = finding_of_launch(records[launch->record], *launch);
      if (!finding) continue;
      any = true;
      add_once(run.findings, *std::move(finding));
    }
  if (!any && !shared_.is_checked) return {};
  ASSAY_TRY_VOID(driver_.fill(records_, 0, launches_ * sizeof(GpuRecord)));
  if (shared_.is_checked) return {};
  const auto& first = run.findings.back();
  return bad_input("kernel {}: the assert in line {} is false", first.kernel, first.kernel_line);
}

auto GpuProgram::run(const DatumList& inputs) -> Result<ProgramRun> {
  ASSAY_TRY_VOID(send(inputs));
  ASSAY_TRY_VOID(run_steps());
  ProgramRun run = bound_.counts;
  run.on_host = on_host_;
  std::ranges::move(read_unwritten_, std::back_inserter(run.findings));
  read_unwritten_.clear();
  ASSAY_TRY_VOID(read_records(run));
  ASSAY_TRY_VOID(check_results(inputs, run));
  std::map<std::size_t, std::shared_ptr<Storage>> fetched;
  for (std::size_t i = 0; i < bound_.buffers.size(); ++i) {
    const auto& buffer = bound_.buffers[i];
    if (buffer.kind != BoundBuffer::Kind::input || !buffer.is_used) continue;
    const auto& storage = inputs[buffer.input].real()->storage;
    fetched[i] = storage;
    ASSAY_TRY_VOID(driver_.to_host(storage->bytes(), places_[i]));
  }
  ASSAY_TRY(run.outputs, outputs(std::move(fetched)));
  return run;
}

auto GpuProgram::outputs(std::map<std::size_t, std::shared_ptr<Storage>> fetched)
    -> Result<DatumList> {
  auto outputs = bound_.outputs;
  std::size_t next = 0;
  Result<void> done;
  for (auto& output : outputs)
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
  return outputs;
}

/// Of the host: the median of some rounds. The GPU is waited for often, lest its full queue is what
/// is measured.
auto GpuProgram::host_costs() -> Result<HostCosts> {
  constexpr std::size_t kRounds = 7, kQueued = 64;
  std::vector<double> launch, call;
  for (std::size_t round = 0; round < kRounds; ++round) {
    std::size_t launches = 0, calls = 0;
    double launch_seconds = 0, call_seconds = 0;
    for (auto& step : steps_)
      for (std::size_t i = 0; i < step.items.size(); ++i) {
        auto& item = step.items[i];
        if ((launches + calls) % kQueued == 0) ASSAY_TRY_VOID(driver_.wait());
        const bool is_call = std::holds_alternative<Work>(item);
        const auto start = Clock::now();
        ASSAY_TRY_VOID(issue(item, step.first + i));
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

namespace {

/// Of the storages of tensors, in the same order.
auto changed_bytes(DatumList& before, DatumList& after) -> std::int64_t {
  std::vector<std::shared_ptr<Storage>> storages;
  for (auto& one : before)
    visit_tensors(one, [&](Tensor& tensor) { storages.push_back(tensor.storage); });
  std::int64_t count = 0;
  auto next = storages.begin();
  for (auto& one : after)
    visit_tensors(one, [&](Tensor& tensor) {
      const auto was = (*next++)->bytes(), is = tensor.storage->bytes();
      for (std::size_t i = 0; i < was.size(); ++i) count += was[i] != is[i] ? 1 : 0;
    });
  return count;
}

}  // namespace

auto GpuProgram::send_afresh(const DatumList& inputs) -> Result<void> {
  constexpr std::uint8_t kPoison = 0xCB;
  for (std::size_t i = 0; i < bound_.buffers.size(); ++i) {
    const auto& buffer = bound_.buffers[i];
    if (buffer.kind == BoundBuffer::Kind::input || !buffer.is_used) continue;
    ASSAY_TRY_VOID(driver_.fill(places_[i], kPoison, static_cast<std::size_t>(buffer.size_bytes)));
  }
  ASSAY_TRY_VOID(send(inputs));
  return driver_.wait();
}

auto GpuProgram::measure(const DatumList& inputs, const MeasureOptions& options)
    -> Result<ProgramTimes> {
  ASSAY_TRY_VOID(send_afresh(inputs));
  const auto once = [&]() -> Result<void> {
    ASSAY_TRY_VOID(run_steps());
    return driver_.wait();
  };
  if (is_complete_) {  // it ran before: this call is not the first
    ASSAY_TRY_VOID(once());
  } else {
    ASSAY_TRY_VOID(run_steps());
    ASSAY_TRY_VOID(timed("run", [&] { return driver_.wait(); }));
  }
  ASSAY_TRY(auto first, outputs());
  const auto clocked = [&](const auto& work) -> Result<double> {
    std::vector<double> seconds;
    for (int i = 0; i <= options.runs; ++i) {
      ASSAY_TRY_VOID(driver_.start_clock());
      for (int j = 0; j < options.burst; ++j) ASSAY_TRY_VOID(work());
      ASSAY_TRY(const auto milliseconds, driver_.stop_clock());
      if (i > 0) seconds.push_back(milliseconds * 1e-3 / options.burst);
    }
    std::ranges::nth_element(seconds, seconds.begin() + options.runs / 2);
    return seconds[static_cast<std::size_t>(options.runs / 2)];
  };
  ProgramTimes times;
  times.on_host = on_host_;
  times.bytes = bytes_of(inputs) + bytes_of(bound_.outputs);
  times.first_parts = first_parts_;
  for (const auto& [part, seconds] : first_parts_) times.first_seconds += seconds;
  ASSAY_TRY(times.seconds, clocked([&] { return run_steps(); }));
  times.second_parts = second_parts_;
  ASSAY_TRY(times.host, host_costs());
  ASSAY_TRY_VOID(send_afresh(inputs));
  ASSAY_TRY_VOID(once());
  ASSAY_TRY(auto last, outputs());
  times.changed_bytes = changed_bytes(first, last);
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
