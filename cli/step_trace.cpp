#include "cli/step_trace.h"

#include "compiler/read/wrapper.h"
#include "replay/report/program_record.h"
#include "replay/report/trace_rows.h"

namespace assay::cli {

auto StepTrace::create(const std::string& path, const std::string& file, const std::string& format,
                       const std::string& oracle) -> Result<StepTrace> {
  ASSAY_TRY(auto writer, TraceWriter::create(path));
  ASSAY_TRY(const auto run, writer.add(run_row("minify", file, format, oracle)));
  return StepTrace(std::move(writer), run);
}

auto StepTrace::graph_row(const std::string& name, const std::string& kind) const -> GraphRow {
  return {.run_id = run_, .parent_id = {}, .name = name, .kind = kind, .hash = {}, .text = {}};
}

auto StepTrace::add(const std::string& name, const Capture& capture) -> Result<void> {
  ASSAY_TRY_VOID(record_graph(writer_, capture.graph, graph_row(name, capture.kind)));
  return writer_.commit();
}

auto StepTrace::add(const std::string& name, const std::string& program) -> Result<void> {
  auto row = graph_row(name, "program");
  row.text = program;
  const auto read = read_wrapper(program);
  if (read)
    ASSAY_TRY_VOID(record_program(writer_, {.program = *read, .row = std::move(row), .nodes = {}}));
  else
    ASSAY_TRY_VOID(writer_.add(row));
  return writer_.commit();
}

void StepTrace::add(const MinifyStep& step) {
  const auto& seen = step.observed;
  const bool failed = seen.outcome == Outcome::fails;
  StepRow row{.run_id = run_,
              .seq = step.seq,
              .parent_id = {},
              .phase = step.phase,
              .key = fmt::format("{:016x}", step.key),
              .calls = step.calls,
              .verdict = step.is_wanted ? "same"
                         : failed       ? "other"
                                        : std::string(name(seen.outcome)),
              .failure = failed ? to_string(seen.signature) : std::string(),
              .at_seconds = step.at_seconds,
              .seconds = seen.seconds,
              .output = seen.output,
              .text = step.text};
  if (const auto parent = ids_.find(step.parent); parent != ids_.end())
    row.parent_id = parent->second;
  const auto id = writer_.add(row);
  if (id) ids_[step.seq] = *id;
  if (auto done = writer_.commit(); !done || !id) problem_ = !id ? id.error() : done.error();
}

auto StepTrace::finish(const std::vector<std::string>& warnings, double seconds, int exit)
    -> Result<void> {
  if (problem_) return std::unexpected(*problem_);
  ASSAY_TRY_VOID(record_problems(writer_, run_, "warning", warnings));
  ASSAY_TRY_VOID(writer_.finish_run(run_, exit, seconds * 1000));
  return writer_.finalise();
}

}  // namespace assay::cli
