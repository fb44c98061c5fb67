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
  const auto check = [&](const HostOp& op, std::size_t buffer,
                         const RealMeta& view) -> Result<void> {
    ASSAY_TRY(auto finding, unwritten_in(buffer, view, false));
    if (!finding) return {};
    if (finding->kernel.empty()) {
      finding->line = op.line;
      finding->statement = op.text;
    } else {
      finding->message = fmt::format(
          "nobody wrote what it reads there, and line {} reads a copy of it, element {} of {}",
          op.line, finding->element, bound_.buffers[buffer].name);
    }
    add_once(read_unwritten_, *std::move(finding));
    return {};
  };
  if (const auto* copy = std::get_if<BoundCopy>(&step))
    return check(*copy->op, copy->from.buffer, copy->from.meta);
  const auto* call = std::get_if<BoundCall>(&step);
  if (call == nullptr) return {};
  Result<void> done;
  std::size_t next = 0;
  for (const auto& arg : call->args)
    visit_tensors(arg, [&](const Tensor& tensor) {
      const bool is_read = next > 0 || !call->row->replaces_self;
      const auto buffer = call->buffers[next++];
      if (done && is_read) done = check(*call->op, buffer, tensor.meta);
    });
  return done;
}

/// What nobody wrote of a view; nothing where launches see elements of another size in it.
auto GpuProgram::unwritten_in(std::size_t buffer, const RealMeta& view, bool is_stored)
    -> Result<std::optional<RunFinding>> {
  const auto memory = shadow_of(buffer);
  const auto& given = bound_.buffers[buffer];
  std::vector<GpuShadow> shadows(memory.bytes / sizeof(GpuShadow));
  if (shadows.empty() ||
      given.size_bytes / std::ssize(shadows) != static_cast<std::int64_t>(size_bytes(view.dtype)))
    return std::nullopt;
  ASSAY_TRY_VOID(driver_.to_host(std::as_writable_bytes(std::span(shadows)), memory.at));
  const auto found = scan_unwritten(shadows, view, is_stored);
  if (found.times == 0) return std::nullopt;
  RunFinding finding;
  finding.fault = RunFault::uninitialised;
  finding.buffer = given.name;
  finding.element = found.first;
  finding.times = found.times;
  finding.message = fmt::format("element {} of {} {}", found.first, given.name,
                                is_stored ? "leaves the program, and rests on what nobody wrote"
                                          : "is read, nothing was written there");
  if (found.origin != 0) blame(finding, UnwrittenOrigin::from(found.origin));
  return finding;
}

namespace {
/// Parameters that are loaded in a line.
void loads_in(const TileRegion& region, int line, std::set<std::size_t>& params) {
  for (const auto& one : region.body) {
    const auto* load = std::get_if<TileLoad>(&one.what);
    if (load != nullptr && one.line == line) params.insert(load->param);
    for (const auto& inner : one.regions) loads_in(inner, line, params);
  }
}
}  // namespace

void GpuProgram::blame(RunFinding& finding, UnwrittenOrigin origin) const {
  const auto line = static_cast<int>(origin.line);
  for (const auto& step : steps_)
    for (const auto& item : step.items) {
      const auto* launch = std::get_if<Launch>(&item);
      if (launch == nullptr || launch_number(launch->record) != origin.launch) continue;
      const auto& kernel = *launch->kernel;
      std::set<std::size_t> params;
      loads_in(kernel.body, line, params);
      if (!finding.kernel.empty())
        finding.message = fmt::format(
            "nobody wrote what it reads there, and {} line {} computes with a copy of it, element "
            "{} of {}",
            finding.kernel, finding.kernel_line, finding.element, finding.param);
      finding.param = params.size() == 1 ? kernel.params[*params.begin()].name : "";
      finding.buffer.clear();
      finding.kernel = kernel.name;
      finding.kernel_line = line;
      finding.line = launch->op->line;
      finding.statement = launch->op->text;
      return;
    }
}

auto GpuProgram::finding_of_launch(const GpuRecord& record, const Launch& launch) const
    -> std::optional<RunFinding> {
  if (auto finding = finding_of(record, *launch.kernel)) {
    finding->line = launch.op->line;
    finding->statement = launch.op->text;
    const auto origin = UnwrittenOrigin::from(record.origin);
    const bool is_copy = origin.launch != launch_number(launch.record) ||
                         origin.line + 1 != static_cast<std::uint64_t>(record.line);
    if (record.origin != 0 && is_copy) blame(*finding, origin);
    return finding;
  }
  const auto arguments = std::span(launch.values).first(launch.values.size() - 1);
  if (!shared_.is_checked || record.told == launch_word(arguments)) return std::nullopt;
  RunFinding finding;
  finding.fault = RunFault::stale_launch;
  finding.line = launch.op->line;
  finding.statement = launch.op->text;
  finding.kernel = launch.kernel->name;
  finding.message = record.told == 0
                        ? "the launch did not reach its record: it did not run, or with a stale one"
                        : "the launch had other arguments than the program is bound to";
  return finding;
}

auto GpuProgram::check_results(const DatumList& inputs, ProgramRun& run) -> Result<void> {
  if (!shared_.is_checked) return {};
  std::vector<std::pair<std::size_t, RealMeta>> leaving;
  const auto is_input = [&](std::size_t i) {
    return bound_.buffers[i].kind == BoundBuffer::Kind::input;
  };
  for (std::size_t i = 0; i < bound_.buffers.size(); ++i)
    if (is_input(i)) leaving.emplace_back(i, inputs[bound_.buffers[i].input].real()->meta);
  std::size_t next = 0;
  for (auto& output : bound_.outputs)
    visit_tensors(output, [&](const Tensor& tensor) {
      const auto buffer = bound_.output_buffers[next++];
      if (!is_input(buffer)) leaving.emplace_back(buffer, tensor.meta);
    });
  for (const auto& [buffer, view] : leaving) {
    ASSAY_TRY(auto finding, unwritten_in(buffer, view, true));
    if (finding) add_once(run.findings, *std::move(finding));
  }
  const bool draws = std::ranges::any_of(bound_.steps, [](const BoundStep& step) {
    const auto* call = std::get_if<BoundCall>(&step);
    return call != nullptr && call->row->random;
  });
  if (was_repeated_ || draws || is_one_by_one() || !run.findings.empty()) return {};
  make_graphs();
  ASSAY_TRY_VOID(send(inputs));
  ASSAY_TRY_VOID(run_steps());
  return read_records(run);
}

}  // namespace assay
