// What checked mode adds to a program: who wrote each element, whether a launch had the arguments
// that it was meant to have, and the graphs that later calls take.
#include <algorithm>
#include <set>

#include "compiler/cuda/gpu_program.h"

namespace assay {

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
    const auto& buffer = bound_.buffers[i];
    if (sizes[i] == 0 && buffer.is_used)  // calls alone touch it
      sizes[i] = static_cast<std::int64_t>(size_bytes(buffer.dtype));
    if (sizes[i] <= 0) continue;
    const auto elements = buffer.size_bytes / sizes[i];
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

auto GpuProgram::check_reads(std::size_t at) -> Result<void> {
  const auto& step = bound_.steps[at];
  if (const auto* copy = std::get_if<BoundCopy>(&step))
    return check_read(*copy->op, copy->from.buffer, copy->from.meta);
  const auto* call = std::get_if<BoundCall>(&step);
  if (call == nullptr) return {};
  Result<void> done;
  std::size_t next = 0;
  for (const auto& arg : call->args)
    visit_tensors(arg, [&](const Tensor& tensor) {
      const bool is_read = next > 0 || !call->row->replaces_self;
      const auto buffer = call->buffers[next++];
      if (done && is_read) done = check_read(*call->op, buffer, tensor.meta);
    });
  return done;
}

auto GpuProgram::check_read(const HostOp& op, std::size_t buffer, const RealMeta& meta)
    -> Result<void> {
  const auto shadow = shadow_of(buffer);
  std::vector<GpuShadow> elements(shadow.bytes / sizeof(GpuShadow));
  const auto& known = bound_.buffers[buffer];
  if (elements.empty() ||
      known.size_bytes / std::ssize(elements) != static_cast<std::int64_t>(size_bytes(meta.dtype)))
    return {};
  ASSAY_TRY_VOID(driver_.to_host(std::as_writable_bytes(std::span(elements)), shadow.at));
  RunFinding finding;
  finding.times = 0;
  const std::array<const Ints*, 1> strides = {&meta.strides};
  const auto move = meta.strides.empty() ? 0 : meta.strides.back();
  for_each_run(meta.sizes, strides, [&](std::span<const std::int64_t> from, std::int64_t run) {
    for (std::int64_t i = 0; i < run; ++i) {
      const auto element = meta.offset + from[0] + i * move;
      if (elements[static_cast<std::size_t>(element)].writer <= kUndefined && finding.times++ == 0)
        finding.element = element;
    }
  });
  if (finding.times == 0) return {};
  finding.fault = RunFault::uninitialised;
  finding.line = op.line;
  finding.statement = op.text;
  finding.buffer = known.name;
  finding.message = fmt::format("element {} of {} is read, nothing was written there",
                                finding.element, known.name);
  read_unwritten_.push_back(std::move(finding));
  return {};
}

auto GpuProgram::finding_of_launch(const GpuRecord& record, const Launch& launch) const
    -> std::optional<RunFinding> {
  if (auto finding = finding_of(record, *launch.kernel)) return finding;
  const auto arguments = std::span(launch.values).first(launch.values.size() - 1);
  if (!shared_.is_checked || record.told == launch_word(arguments)) return std::nullopt;
  RunFinding finding;
  finding.fault = RunFault::stale_launch;
  finding.kernel = launch.kernel->name;
  finding.message = record.told == 0
                        ? "the launch did not reach its record: it did not run, or with a stale one"
                        : "the launch had other arguments than the program is bound to";
  return finding;
}

namespace {

/// What leaves the program rests on elements that nobody wrote.
auto undefined_in(const BoundBuffer& buffer, std::span<const GpuShadow> elements)
    -> std::optional<RunFinding> {
  const auto is_undefined = [](const GpuShadow& one) { return one.writer == kUndefined; };
  const auto first = std::ranges::find_if(elements, is_undefined);
  if (first == elements.end()) return std::nullopt;
  RunFinding finding;
  finding.fault = RunFault::uninitialised;
  finding.buffer = buffer.name;
  finding.element = first - elements.begin();
  finding.times = std::ranges::count_if(elements, is_undefined);
  finding.message = fmt::format("element {} of {} rests on elements that nobody wrote",
                                finding.element, buffer.name);
  return finding;
}

}  // namespace

auto GpuProgram::check_graphs(const DatumList& inputs, ProgramRun& run) -> Result<void> {
  std::set<std::size_t> leaving(bound_.output_buffers.begin(), bound_.output_buffers.end());
  for (std::size_t i = 0; i < bound_.buffers.size(); ++i)
    if (bound_.buffers[i].kind == BoundBuffer::Kind::input) leaving.insert(i);
  for (const auto i : leaving) {
    if (!shared_.is_checked || shadow_of(i).at == 0) continue;
    std::vector<GpuShadow> elements(shadow_of(i).bytes / sizeof(GpuShadow));
    ASSAY_TRY_VOID(driver_.to_host(std::as_writable_bytes(std::span(elements)), shadow_of(i).at));
    if (auto finding = undefined_in(bound_.buffers[i], elements))
      run.findings.push_back(*std::move(finding));
  }
  const bool draws = std::ranges::any_of(bound_.steps, [](const BoundStep& step) {
    const auto* call = std::get_if<BoundCall>(&step);
    return call != nullptr && call->row->random;
  });
  if (!shared_.is_checked || was_repeated_ || draws || is_one_by_one() || !run.findings.empty())
    return {};
  make_graphs();
  ASSAY_TRY_VOID(send(inputs));
  ASSAY_TRY_VOID(run_steps());
  return read_records(run);
}

}  // namespace assay
