#include "replay/runner/wrong_launch.h"

#include <cmath>

#include "compiler/read/wrapper.h"
#include "replay/runner/execute.h"
#include "replay/runner/straight_program.h"

namespace assay {
namespace {

/// Row-major, whatever the strides.
auto elements_of(const Tensor& tensor) -> std::string {
  auto copy = Tensor::contiguous(tensor.dtype(), tensor.sizes());
  if (!copy) return {};
  copy_elems(tensor, *copy);
  const auto bytes = copy->storage->bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

auto target_of(const HostOp& op) -> std::string {
  if (const auto* launch = std::get_if<HostLaunch>(&op.what)) return launch->kernel;
  const auto* call = std::get_if<HostCall>(&op.what);
  return call == nullptr ? std::string() : call->target;
}

/// An eighth of the largest distance: it tells the two apart also where other blocks make them less
/// different, and rounding is far below. Where that is not finite, a small part of what is
/// expected. Whole numbers are exact.
auto tolerance_of(const Tensor& wrote, const Tensor& expected) -> double {
  if (!is_floating(expected.dtype()) && !is_complex(expected.dtype())) return 0;
  constexpr double kPart = 1e-3;
  const auto a = to_vector<double>(wrote), b = to_vector<double>(expected);
  double farthest = 0, largest = 0;
  bool is_finite = true;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (std::isfinite(b[i])) largest = std::max(largest, std::abs(b[i]));
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double distance = std::abs(a[i] - b[i]);
    is_finite = is_finite && std::isfinite(distance);
    if (std::isfinite(distance)) farthest = std::max(farthest, distance);
  }
  return is_finite ? farthest / 8 : kPart * largest;
}

/// A program with branches, loops or inner functions as the way that its run took; there the first
/// launch that wrote these elements is the wrong one.
auto straighten(WrongLaunch& wrong, const OpTable& table) -> Result<void> {
  auto& text = wrong.program.text;
  ASSAY_TRY(const auto given, read_wrapper(text));
  if (is_straight(given)) return {};
  ASSAY_TRY(text, straight_program(text, given, &wrong.inputs, table));
  wrong.line = 0;
  if (!wrong.wrote) return {};
  ASSAY_TRY(const auto program, read_wrapper(text));
  ProgramRunOptions options;
  options.tap = [&](const RunWritten& written) {
    if (wrong.line != 0 || target_of(*written.op) != wrong.target) return;
    for (const auto& [name, tensor] : written.buffers) {
      if (tensor.dtype() != wrong.wrote->dtype() || elements_of(tensor) != wrong.elements) continue;
      wrong.line = written.op->line;
      wrong.buffer = name;
      return;
    }
  };
  ASSAY_TRY_VOID(run_wrapper(text, program, &wrong.inputs, table, options));
  if (wrong.line == 0)
    return unsupported("{} writes other elements when the way of its run is written down",
                       wrong.target);
  return {};
}

auto of_problem(const StageProblem& problem, const std::vector<ProgramText>& programs,
                const OpTable& table) -> Result<WrongLaunch> {
  const auto& blame = problem.blame;
  WrongLaunch wrong{.program = {},
                    .inputs = problem.inputs,
                    .line = blame.line,
                    .target = blame.target,
                    .buffer = blame.name,
                    .stage = problem.finding.message,
                    .elements = {},
                    .wrote = blame.wrote,
                    .expected = blame.expected,
                    .shown = {},
                    .shown_elements = {},
                    .failure = {}};
  if (!blame.expected && blame.shown && blame.shown->wrote && blame.shown->expected) {
    wrong.shown = blame.shown;
    wrong.shown_elements = elements_of(*blame.shown->wrote);
  }
  for (const auto& program : programs)
    if (program.log_line == problem.log_line - blame.line) wrong.program = program;
  if (problem.inputs.empty())
    return unsupported(
        "the first stage that differs is {}, a graph: its node is {}; `assay debug` "
        "shows it",
        problem.stage, blame.name);
  if (blame.line == 0 || wrong.program.text.empty())
    return unsupported("{} differs, but no launch is to blame", problem.stage);
  if (wrong.wrote) wrong.elements = elements_of(*wrong.wrote);
  ASSAY_TRY_VOID(straighten(wrong, table));
  if (wrong.wrote) {
    wrong.failure = fmt::format("wrong values in {} of {}", wrong.buffer, wrong.target);
    return wrong;
  }
  ASSAY_TRY(const auto whole, CutProgram::create(wrong.program.text, table, cut_options(wrong)));
  std::vector<int> all;
  for (int i = 0; i < whole.count(); ++i) all.push_back(i);
  const auto failures = run_failures(whole.text(all), table);
  if (failures.empty())
    return unsupported("{} fails, but not when it runs by itself", problem.stage);
  wrong.failure = failures.front();
  return wrong;
}

}  // namespace

auto wrong_launch(std::string_view bytes, const std::string& name, const OpTable& table,
                  const StageOptions& options) -> Result<std::optional<WrongLaunch>> {
  ASSAY_TRY(const auto report, debug_stages(bytes, name, table, options));
  ASSAY_TRY(const auto programs, program_texts(bytes, name));
  std::optional<Error> first;
  for (const auto& compilation : report.compilations)
    for (const auto& problem : compilation.problems) {
      auto wrong = of_problem(problem, programs, table);
      if (wrong) return std::optional(*std::move(wrong));
      if (!first) first = wrong.error();
    }
  if (first) return with_context(*first, name);
  return std::optional<WrongLaunch>();
}

auto wrong_launch_failures(std::string_view text, const WrongLaunch& wrong, const OpTable& table)
    -> std::vector<std::string> {
  if (!wrong.wrote) return run_failures(text, table);
  bool is_same = false, is_shown = !wrong.shown;
  ExecuteOptions options;
  options.run.tap = [&](const RunWritten& written) {
    const auto target = target_of(*written.op);
    for (const auto& [name, tensor] : written.buffers) {
      if (target == wrong.target && name == wrong.buffer)
        is_same = tensor.dtype() == wrong.wrote->dtype() && elements_of(tensor) == wrong.elements;
      if (wrong.shown && target == wrong.shown->target && name == wrong.shown->buffer)
        is_shown = elements_of(tensor) == wrong.shown_elements;
    }
  };
  const auto execution = execute_programs(text, "candidate", table, options);
  if (!execution || execution->programs.empty() || execution->programs.front().error || !is_same ||
      !is_shown)
    return {};
  if (!execution->programs.front().run.findings.empty()) return {};
  return {wrong.failure};
}

auto cut_options(const WrongLaunch& wrong) -> CutOptions {
  CutOptions options{.inputs = &wrong.inputs,
                     .returned = wrong.wrote ? wrong.buffer : std::string(),
                     .expected = wrong.expected,
                     .tolerance = 0};
  auto wrote = wrong.wrote;
  if (wrong.shown) {
    options.returned = wrong.shown->buffer;
    options.expected = wrong.shown->expected;
    wrote = wrong.shown->wrote;
  }
  if (wrote && options.expected && options.expected->numel() == wrote->numel())
    options.tolerance = tolerance_of(*wrote, *options.expected);
  return options;
}

}  // namespace assay
