#include "cli/prove_programs.h"

#include <filesystem>
#include <fstream>
#include <set>

#include "compiler/prove/wrapper_findings.h"
#include "core/expr/text.h"

namespace assay::cli {
namespace {

auto place_of(const WrapperObligation& obligation) -> std::string {
  auto place = fmt::format("line {}: {}", obligation.line, obligation.statement);
  if (!obligation.access.empty())
    place += fmt::format("\nline {}: {}", obligation.kernel_line, obligation.access);
  return place;
}

auto record_obligation(TraceWriter& writer, TraceId run, TraceId graph, const WrapperReport& report,
                       const WrapperObligation& obligation) -> Result<void> {
  ProofRow row;
  row.run_id = run;
  row.graph_id = graph;
  row.place = place_of(obligation);
  row.kind = name(obligation.kind);
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

auto record_program(TraceWriter& writer, TraceId run, const ProvedProgram& program)
    -> Result<void> {
  ASSAY_TRY(const auto graph, writer.add(GraphRow{.run_id = run,
                                                  .parent_id = {},
                                                  .name = program.name,
                                                  .kind = "wrapper",
                                                  .hash = {},
                                                  .text = program.text}));
  ASSAY_TRY_VOID(record_symbols(writer, graph, program.report.env, program.report.env.hints()));
  for (const auto& finding : wrapper_findings(program.report))
    ASSAY_TRY_VOID(writer.add(finding_row(run, finding)));
  for (const auto& obligation : program.report.obligations)
    ASSAY_TRY_VOID(record_obligation(writer, run, graph, program.report, obligation));
  return {};
}

}  // namespace

void fill_answer(ProofRow& row, const Answer& answer,
                 const std::function<std::string(const Refuted&)>& witness) {
  if (const auto* proved = std::get_if<Proved>(&answer)) {
    row.verdict = "proved";
    row.tier = name(proved->tier);
  } else if (const auto* refuted = std::get_if<Refuted>(&answer)) {
    row.verdict = "refuted";
    row.tier = name(refuted->tier);
    row.witness = witness(*refuted);
  } else {
    const auto& unknown = std::get<Unknown>(answer);
    row.verdict = "unknown";
    row.tier = name(unknown.tier);
    row.reason = unknown.reason;
  }
}

auto record_programs(const std::string& path, const std::string& source,
                     const std::vector<ProvedProgram>& programs, int exit_code) -> Result<void> {
  ASSAY_TRY(auto writer, TraceWriter::create(path));
  const bool is_log = !programs.empty() && programs.front().log_line != 0;
  ASSAY_TRY(const auto run,
            writer.add(run_row("prove", source, is_log ? "torch trace" : "wrapper", "")));
  for (const auto& program : programs) ASSAY_TRY_VOID(record_program(writer, run, program));
  ASSAY_TRY_VOID(writer.finish_run(run, exit_code, 0));
  return writer.finalise();
}

auto write_smt_lib(const std::string& folder, const std::string& stem, const std::string& comment,
                   const Query& query) -> Result<void> {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) return bad_input("{}: {}", folder, problem.message());
  std::string text = "; unsat: the condition follows\n; ";
  for (const char c : comment) text += c == '\n' ? "\n; " : std::string(1, c);
  const auto path = std::filesystem::path(folder) / (stem + ".smt2");
  std::ofstream file(path);
  file << text << "\n" << Prover::smt_lib(query);
  file.close();
  if (!file) return bad_input("{}: cannot be written", path.string());
  return {};
}

auto dump_programs(const std::string& folder, const std::vector<ProvedProgram>& programs)
    -> Result<int> {
  int written = 0;
  for (std::size_t p = 0; p < programs.size(); ++p)
    for (std::size_t o = 0; o < programs[p].report.obligations.size(); ++o) {
      const auto& obligation = programs[p].report.obligations[o];
      for (std::size_t i = 0; i < obligation.proofs.size(); ++i, ++written)
        ASSAY_TRY_VOID(write_smt_lib(
            folder, fmt::format("program_{}_obligation_{}_{}", p, o, i),
            fmt::format("{}\n{}\n{}", programs[p].name, place_of(obligation), obligation.claim),
            obligation.proofs[i]));
    }
  return written;
}

}  // namespace assay::cli
