#include "replay/report/executions.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "replay/report/compile_report.h"

namespace assay {
namespace {

struct Sums {
  double sum = 0, abs_sum = 0;
};
auto sums_of(const Tensor& tensor) -> Sums {
  Sums sums;
  for (const auto& value : to_vector<Complex>(tensor)) {
    sums.sum += value.real() + value.imag();
    sums.abs_sum += std::abs(value);
  }
  return sums;
}

auto output_text(std::size_t index, const Datum& output) -> std::string {
  const auto* tensor = output.real();
  if (tensor == nullptr) return fmt::format("  output {}: {}\n", index, to_string(output));
  const auto sums = sums_of(*tensor);
  return fmt::format("  output {}: {}, sum {:.9g}, absolute {:.9g}\n", index,
                     to_string(tensor->meta), sums.sum, sums.abs_sum);
}

auto place_of(const RunFinding& finding, const ProgramExecution& program) -> std::string {
  auto text = fmt::format("line {}", finding.line);
  if (program.log_line != 0)
    text += fmt::format(" (line {} of the log)", program.log_line + finding.line);
  if (!finding.kernel.empty())
    text += fmt::format(", kernel {} line {}", finding.kernel, finding.kernel_line);
  return text;
}

auto finding_text(const RunFinding& finding, const ProgramExecution& program, const Paint& paint)
    -> std::string {
  auto text = fmt::format("  {} at {}\n    {}\n", paint(name(finding.fault), Style::red),
                          place_of(finding, program), finding.statement.substr(0, 160));
  text += fmt::format("    {}", finding.message);
  if (!finding.buffer.empty())
    text += fmt::format(" of {}{}", finding.buffer,
                        finding.param.empty() ? "" : fmt::format(" ({})", finding.param));
  if (!finding.kernel.empty())
    text += fmt::format("; program {}, lane {}", finding.program, finding.lane);
  if (finding.times > 1) text += fmt::format("; {} times", finding.times);
  return text + "\n";
}

auto headline(const LogExecution& execution, const Paint& paint) -> std::string {
  std::size_t findings = 0, failed = 0, different = 0;
  for (const auto& program : execution.programs) {
    findings += program.run.findings.size();
    if (program.error) ++failed;
  }
  for (const auto& one : execution.compared)
    if (!one.message.empty()) ++different;
  const auto programs = counted(static_cast<std::int64_t>(execution.programs.size()), "program");
  if (findings + different != 0)
    return fmt::format("{}: {} in {}, {} of {} values differ from the recorded ones\n",
                       paint("wrong", Style::red),
                       counted(static_cast<std::int64_t>(findings), "finding"), programs, different,
                       execution.compared.size());
  if (failed != 0)
    return fmt::format("{}: {} of {} did not run\n", paint("undecided", Style::yellow), failed,
                       programs);
  const auto compared =
      execution.compared.empty()
          ? std::string("nothing recorded to compare with")
          : fmt::format("{} equal the recorded ones",
                        counted(static_cast<std::int64_t>(execution.compared.size()), "value"));
  return fmt::format("{}: {}, {}\n", paint("nothing found", Style::green), programs, compared);
}

}  // namespace

auto has_findings(const LogExecution& execution) -> bool {
  for (const auto& program : execution.programs)
    if (!program.run.findings.empty()) return true;
  for (const auto& one : execution.compared)
    if (!one.message.empty()) return true;
  return false;
}

auto is_incomplete(const LogExecution& execution) -> bool {
  for (const auto& program : execution.programs)
    if (program.error) return true;
  return false;
}

auto executions_text(const LogExecution& execution, const Paint& paint) -> std::string {
  auto text = headline(execution, paint);
  for (const auto& program : execution.programs) {
    text += fmt::format("{} ({}): {}, {}\n", program.name, program.role,
                        counted(program.run.launches, "launch", "launches"),
                        counted(program.run.calls, "library call"));
    text += on_host_text(program.run.on_host);
    if (program.error)
      text +=
          fmt::format("  {}: {}\n", paint("did not run", Style::yellow), program.error->message);
    for (std::size_t i = 0; i < program.run.outputs.size(); ++i)
      text += output_text(i, program.run.outputs[i]);
    for (const auto& finding : program.run.findings) text += finding_text(finding, program, paint);
  }
  for (const auto& one : execution.compared)
    if (!one.message.empty())
      text += fmt::format("{} {}: {}\n", paint("differs", Style::red), one.what, one.message);
  for (const auto& note : execution.notes) text += fmt::format("note: {}\n", note);
  if (!execution.has_inputs) text += "note: contents of inputs are made up\n";
  return text;
}

auto executions_json(const LogExecution& execution, const std::string& file) -> std::string {
  using Json = nlohmann::ordered_json;
  const auto number = [](double value) -> Json {
    if (std::isfinite(value)) return value;
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  };
  Json programs = Json::array();
  for (const auto& program : execution.programs) {
    Json outputs = Json::array(), findings = Json::array();
    for (const auto& output : program.run.outputs) {
      const auto* tensor = output.real();
      if (tensor == nullptr) {
        outputs.push_back({{"value", to_string(output)}});
        continue;
      }
      const auto sums = sums_of(*tensor);
      outputs.push_back({{"layout", to_string(tensor->meta)},
                         {"sum", number(sums.sum)},
                         {"abs", number(sums.abs_sum)}});
    }
    for (const auto& f : program.run.findings)
      findings.push_back({{"kind", name(f.fault)},
                          {"line", f.line},
                          {"statement", f.statement},
                          {"kernel", f.kernel},
                          {"kernel_line", f.kernel_line},
                          {"buffer", f.buffer},
                          {"param", f.param},
                          {"element", f.element},
                          {"program", f.program},
                          {"lane", f.lane},
                          {"times", f.times},
                          {"message", f.message}});
    Json row = {{"name", program.name},         {"role", program.role},
                {"log_line", program.log_line}, {"launches", program.run.launches},
                {"calls", program.run.calls},   {"outputs", outputs},
                {"findings", findings}};
    if (program.error) row["error"] = program.error->message;
    programs.push_back(std::move(row));
  }
  Json compared = Json::array();
  for (const auto& one : execution.compared)
    compared.push_back({{"what", one.what},
                        {"equal", one.message.empty()},
                        {"error", number(one.error)},
                        {"message", one.message}});
  const Json result = {{"schema", "assay.run_trace/1"},
                       {"file", file},
                       {"made_up_inputs", !execution.has_inputs},
                       {"programs", programs},
                       {"compared", compared},
                       {"notes", execution.notes}};
  return result.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace assay
