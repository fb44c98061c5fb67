#include "replay/report/programs.h"

#include <set>

#include "compiler/prove/wrapper_findings.h"
#include "core/expr/text.h"
#include "replay/formats/detect.h"
#include "replay/report/log_rows.h"

namespace assay {
namespace {

auto record_obligation(TraceWriter& writer, TraceId run, TraceId graph, const WrapperReport& report,
                       const WrapperObligation& obligation) -> Result<void> {
  ProofRow row;
  row.run_id = run;
  row.graph_id = graph;
  row.place = place_of(obligation);
  row.kind = name(obligation.kind);
  row.line = obligation.line;
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

auto record_program(TraceWriter& writer, TraceId run, const ProvedProgram& program,
                    const RecordedLog& log) -> Result<void> {
  GraphRow program_row{.run_id = run,
                       .parent_id = {},
                       .name = program.name,
                       .kind = "wrapper",
                       .hash = {},
                       .text = program.text};
  const auto compilation = log.compilations.find(program.log_line);
  if (compilation != log.compilations.end()) program_row.compilation_id = compilation->second;
  if (program.log_line > 0) program_row.log_line = program.log_line;
  ASSAY_TRY(const auto graph, writer.add(program_row));
  if (compilation != log.compilations.end())
    ASSAY_TRY_VOID(
        record_line_links(writer, graph, program.text, log.nodes.at(compilation->second)));
  ASSAY_TRY_VOID(record_symbols(writer, graph, program.report.env, program.report.env.hints()));
  for (const auto& finding : wrapper_findings(program.report)) {
    auto row = finding_row(run, finding);
    row.graph_id = graph;
    ASSAY_TRY_VOID(writer.add(row));
  }
  for (const auto& obligation : program.report.obligations)
    ASSAY_TRY_VOID(record_obligation(writer, run, graph, program.report, obligation));
  return {};
}

}  // namespace

auto place_of(const WrapperObligation& obligation) -> std::string {
  auto place = fmt::format("line {}: {}", obligation.line, obligation.statement);
  if (!obligation.access.empty())
    place += fmt::format("\nline {}: {}", obligation.kernel_line, obligation.access);
  return place;
}

auto record_programs(const std::string& path, const std::string& source, std::string_view bytes,
                     const std::vector<ProvedProgram>& programs, int exit_code) -> Result<void> {
  ASSAY_TRY(auto writer, TraceWriter::create(path));
  const bool is_log = detect_format(bytes) == InputFormat::torch_trace;
  ASSAY_TRY(const auto run,
            writer.add(run_row("prove", source, is_log ? "torch trace" : "wrapper", "")));
  RecordedLog log;
  if (is_log) {
    ASSAY_TRY(log, record_compilations(writer, run, bytes));
  }
  for (const auto& program : programs) {
    ASSAY_TRY_VOID(record_program(writer, run, program, log));
    ASSAY_TRY_VOID(record_problems(writer, run, "not-read", not_understood(program.report)));
    ASSAY_TRY_VOID(record_problems(writer, run, "assumed", program.report.assumptions));
  }
  ASSAY_TRY_VOID(writer.finish_run(run, exit_code, 0));
  return writer.finalise();
}

}  // namespace assay
