#include "replay/report/programs.h"

#include <set>

#include "compiler/prove/wrapper_findings.h"
#include "core/expr/text.h"
#include "replay/formats/detect.h"
#include "replay/report/log_rows.h"

namespace assay {
namespace {

auto place_of(const WrapperObligation& obligation, std::int64_t line) -> std::string {
  auto place = fmt::format("line {}: {}", line, obligation.statement);
  if (!obligation.access.empty() && obligation.kernel_line > 0)
    place += fmt::format("\nline {}: {}", obligation.kernel_line, obligation.access);
  else if (!obligation.access.empty())
    place += fmt::format("\n{}", obligation.access);
  return place;
}

auto record_obligation(TraceWriter& writer, TraceId run, const RecordedProgram& program,
                       const WrapperReport& report, const WrapperObligation& obligation)
    -> Result<void> {
  ProofRow row;
  row.run_id = run;
  row.graph_id = program.graph;
  row.line = obligation.line;
  if (const auto known = program.statements.find(obligation.line);
      known != program.statements.end()) {
    row.line = known->second.line;
    if (known->second.node != 0) row.node_id = known->second.node;
  }
  row.place = place_of(obligation, *row.line);
  row.kind = name(obligation.kind);
  if (obligation.kernel_line > 0) row.kernel_line = obligation.kernel_line;
  row.condition = obligation.claim;
  fill_answer(row, obligation.answer, witness_text);
  if (row.reason.empty()) row.reason = obligation.message;
  std::set<std::size_t> guards;
  if (const auto* proved = std::get_if<Proved>(&obligation.answer))
    for (const auto i : proved->needed) {
      const auto& fact = report.facts[i];
      if (fact.guard)
        guards.insert(*fact.guard);
      else
        row.facts += fmt::format("{}{}  [{}]", row.facts.empty() ? "" : "\n",
                                 print_expr(fact.condition), fact.origin);
    }
  ASSAY_TRY(const auto id, writer.add(row));
  for (const auto guard : guards)
    ASSAY_TRY_VOID(writer.add(ProofGuardRow{id, static_cast<std::int64_t>(guard)}));
  return {};
}

auto not_understood(const WrapperReport& report) -> std::vector<std::string> {
  std::vector<std::string> lines;
  for (const auto& line : report.lines_not_understood) lines.push_back(line.text);
  for (const auto& kernel : report.kernels_not_understood) lines.push_back("kernel " + kernel.text);
  return lines;
}

/// Nodes that a program of the log may come from, by name.
auto nodes_of(const RecordedLog& log, int log_line) -> const std::map<std::string, TraceId>& {
  static const std::map<std::string, TraceId> kNone;
  const auto compilation = log.compilations.find(log_line);
  return compilation == log.compilations.end() ? kNone : log.nodes.at(compilation->second);
}

/// A program that could not be read is its text alone.
auto record_text(TraceWriter& writer, TraceId run, const ProvedProgram& program,
                 const RecordedLog& log, const OpTable& table) -> Result<RecordedProgram> {
  GraphRow row{.run_id = run,
               .parent_id = {},
               .name = program.name,
               .kind = "program",
               .hash = {},
               .text = program.text};
  if (const auto at = log.compilations.find(program.log_line); at != log.compilations.end())
    row.compilation_id = at->second;
  if (program.log_line > 0) row.log_line = program.log_line;
  if (!program.program) {
    ASSAY_TRY(const auto graph, writer.add(row));
    return RecordedProgram{.graph = graph, .statements = {}, .launches = {}, .last_writer = {}};
  }
  const auto memory = plan_as_recorded(*program.program, table);
  if (!memory)
    ASSAY_TRY_VOID(
        record_problems(writer, run, "not-planned",
                        {fmt::format("memory of {}: {}", program.name, memory.error().message)}));
  return record_program(writer, {.program = *program.program,
                                 .row = std::move(row),
                                 .nodes = nodes_of(log, program.log_line),
                                 .memory = memory ? &*memory : nullptr,
                                 .sizes = "as recorded"});
}

auto record_proved(TraceWriter& writer, TraceId run, const ProvedProgram& program,
                   const RecordedLog& log, const OpTable& table) -> Result<void> {
  ASSAY_TRY(const auto recorded, record_text(writer, run, program, log, table));
  ASSAY_TRY_VOID(
      record_line_links(writer, recorded.graph, program.text, nodes_of(log, program.log_line)));
  return record_verdicts(writer, run, recorded, program.report);
}

}  // namespace

auto place_of(const WrapperObligation& obligation) -> std::string {
  return place_of(obligation, obligation.line);
}

auto record_verdicts(TraceWriter& writer, TraceId run, const RecordedProgram& program,
                     const WrapperReport& report) -> Result<void> {
  ASSAY_TRY_VOID(record_symbols(writer, program.graph, report.env, report.env.hints()));
  const auto findings = wrapper_findings(report);  // one per refuted obligation, in their order
  std::size_t refuted = 0;
  for (const auto& obligation : report.obligations) {
    if (std::holds_alternative<Refuted>(obligation.answer)) {
      auto row = finding_row(run, findings[refuted++]);
      row.graph_id = program.graph;
      row.line = obligation.line;
      place_at(program, obligation.line, row);
      ASSAY_TRY_VOID(writer.add(row));
    }
    ASSAY_TRY_VOID(record_obligation(writer, run, program, report, obligation));
  }
  ASSAY_TRY_VOID(record_problems(writer, run, "not-read", not_understood(report)));
  return record_problems(writer, run, "assumed", report.assumptions);
}

auto record_programs(const std::string& path, const std::string& source, std::string_view bytes,
                     const std::vector<ProvedProgram>& programs, const OpTable& table,
                     int exit_code) -> Result<void> {
  ASSAY_TRY(auto writer, TraceWriter::create(path));
  const bool is_log = detect_format(bytes) == InputFormat::torch_trace;
  ASSAY_TRY(const auto run,
            writer.add(run_row("prove", source, is_log ? "torch trace" : "wrapper", "")));
  RecordedLog log;
  if (is_log) {
    ASSAY_TRY(log, record_compilations(writer, run, bytes));
  }
  for (const auto& program : programs)
    ASSAY_TRY_VOID(record_proved(writer, run, program, log, table));
  ASSAY_TRY_VOID(writer.finish_run(run, exit_code, 0));
  return writer.finalise();
}

}  // namespace assay
