// Verdicts on compiled programs, for people.
#include "compiler/prove/wrapper_findings.h"
#include "replay/report/programs.h"

namespace assay {
namespace {

auto verdict(const ObligationCounts& counts, const Paint& paint) -> std::string {
  const auto total =
      fmt::format("of {}", counted(static_cast<std::int64_t>(counts.total()), "obligation"));
  if (counts.refuted != 0)
    return fmt::format("{}: {} refuted, {} unknown {}", paint("out of bounds", Style::red),
                       counts.refuted, counts.unknown, total);
  if (counts.unknown != 0)
    return fmt::format("{}: {} unknown {}, the rest proved", paint("undecided", Style::yellow),
                       counts.unknown, total);
  return fmt::format("{}: {} proved", paint("in bounds for all sizes", Style::green),
                     counted(static_cast<std::int64_t>(counts.total()), "obligation"));
}

/// Payload lines stand one behind the other after the header line of their event.
auto line_text(const ProvedProgram& program, int line) -> std::string {
  if (program.log_line == 0) return fmt::format("line {}", line);
  return fmt::format("line {} (line {} of the log)", line, program.log_line + line);
}

auto obligation_text(const ProvedProgram& program, const WrapperObligation& o, const Paint& paint)
    -> std::string {
  auto text = fmt::format("  {} at {}\n    {}\n", name(o.kind), line_text(program, o.line),
                          o.statement.substr(0, 160));
  if (!o.access.empty())
    text += fmt::format("    {}, kernel {} {}\n", o.access, o.kernel,
                        line_text(program, o.kernel_line));
  text += fmt::format("    claim    {}\n", o.claim);
  if (const auto* refuted = std::get_if<Refuted>(&o.answer)) {
    text += fmt::format("    {}\n", paint("refuted", Style::red));
    if (!o.message.empty()) text += fmt::format("    because  {}\n", o.message);
    if (!refuted->witness.empty()) text += fmt::format("    witness  {}\n", witness_text(*refuted));
  } else if (const auto* unknown = std::get_if<Unknown>(&o.answer)) {
    text += fmt::format("    {} ({}): {}\n", paint("unknown", Style::yellow), name(unknown->tier),
                        unknown->reason);
  } else {
    text += fmt::format("    proved ({})\n", name(std::get<Proved>(o.answer).tier));
  }
  return text;
}

}  // namespace

auto count_obligations(const std::vector<ProvedProgram>& programs) -> ObligationCounts {
  ObligationCounts counts;
  for (const auto& program : programs)
    for (const auto& obligation : program.report.obligations) {
      if (const auto* proved = std::get_if<Proved>(&obligation.answer)) {
        ++counts.proved;
        ++counts.tiers[std::string(name(proved->tier))];
      } else if (std::holds_alternative<Refuted>(obligation.answer)) {
        ++counts.refuted;
      } else {
        ++counts.unknown;
      }
    }
  return counts;
}

auto state_of(const std::vector<ProvedProgram>& programs) -> ReportState {
  const auto counts = count_obligations(programs);
  if (counts.refuted != 0) return ReportState::findings;
  return counts.unknown != 0 ? ReportState::undecided : ReportState::clean;
}

auto programs_text(const std::vector<ProvedProgram>& programs, bool all, const Paint& paint)
    -> std::string {
  const auto counts = count_obligations(programs);
  auto text = verdict(counts, paint) + "\n";
  for (const auto& program : programs) {
    std::string listed;
    for (const auto& obligation : program.report.obligations)
      if (all || !std::holds_alternative<Proved>(obligation.answer))
        listed += obligation_text(program, obligation, paint);
    text += fmt::format("\n{}: {}, {}\n", program.name,
                        counted(program.report.launches, "launch", "launches"),
                        counted(std::ssize(program.report.obligations), "obligation"));
    text += listed;
    const auto& report = program.report;
    if (!report.lines_not_understood.empty())
      text += fmt::format("  not understood: {} of {}\n", report.lines_not_understood.size(),
                          counted(report.statements, "statement"));
    for (const auto& line : report.lines_not_understood)
      text += fmt::format("    line {}: {} ({})\n", line.line, line.text, line.reason);
    for (const auto& line : report.kernels_not_understood)
      text += fmt::format("  kernel not understood: {} ({})\n", line.text, line.reason);
    for (const auto& assumption : report.assumptions)
      text += fmt::format("  assumed: {}\n", assumption);
  }
  text += "\nproved by";
  for (const auto& [tier, times] : counts.tiers) text += fmt::format(" {} {}", tier, times);
  return text + (counts.tiers.empty() ? " nothing\n" : "\n");
}

}  // namespace assay
