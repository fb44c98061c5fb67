#include "cli/prove_log.h"

#include <array>
#include <map>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/prove_programs.h"
#include "compiler/prove/wrapper_findings.h"
#include "core/graph/annotation.h"
#include "replay/formats/detect.h"
#include "replay/formats/torch_trace.h"

namespace assay::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Counts {
  std::size_t proved = 0, refuted = 0, unknown = 0;
  std::map<std::string, std::size_t> tiers;
  [[nodiscard]] auto total() const -> std::size_t { return proved + refuted + unknown; }
};

auto count(const std::vector<ProvedProgram>& programs) -> Counts {
  Counts counts;
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

/// Claims of the AOT graph whose placeholders are the program's inputs, in the program's symbols.
auto claims_of(const TraceLog& log, const TraceCompilation& compilation, const HostProgram& program)
    -> std::map<std::string, TensorMeta> {
  std::map<std::string, TensorMeta> claims;
  const auto& inputs = program.functions.back().inputs;
  for (const auto& part : compilation.graphs) {
    if (!part.name.starts_with("aot_")) continue;
    const auto graph = trace_graph(log, part);
    const auto is_placeholder = [&](const std::string& name) {
      const auto* node = graph->find(name);
      return node != nullptr && node->kind == NodeKind::placeholder;
    };
    if (!graph || !std::ranges::all_of(inputs, is_placeholder)) continue;
    auto env = program.env;
    ClaimReader reader(env);
    for (const auto& input : inputs)
      if (const auto claim = reader.claim(print_claim(graph->find(input)->claim)))
        if (const auto* tensor = claim->tensor()) {
          auto& meta = claims[input] = *tensor;
          for (auto* dims : {&meta.sizes, &meta.strides})
            for (auto& e : *dims) e = program.env.replaced(e);
        }
    break;
  }
  return claims;
}

auto programs_of_log(std::string_view bytes, const std::string& name)
    -> Result<std::vector<ProvedProgram>> {
  auto log = read_torch_trace(bytes);
  if (!log) return with_context(std::move(log).error(), name);
  std::vector<ProvedProgram> programs;
  for (const auto& compilation : compilations(*log)) {
    const auto shapes = trace_shapes(*log, compilation);
    for (const auto& part : compilation.output_codes) {
      const auto& event = log->events[part.event];
      const auto wrapper = read_wrapper(event.payload, shapes.env);
      ProvedProgram program{
          fmt::format("{} {}", compilation.compile_id, part.name), event.line, event.payload, {}};
      if (wrapper)
        program.report =
            check_wrapper(*wrapper, {.claims = claims_of(*log, compilation, *wrapper)});
      else
        program.report.lines_not_understood.push_back({1, part.name, wrapper.error().message});
      programs.push_back(std::move(program));
    }
  }
  if (programs.empty()) return unsupported("{}: the log has no inductor_output_code", name);
  return programs;
}

auto programs_of(std::string_view bytes, const std::string& name)
    -> Result<std::vector<ProvedProgram>> {
  if (detect_format(bytes) == InputFormat::torch_trace) return programs_of_log(bytes, name);
  auto wrapper = read_wrapper(bytes);
  if (!wrapper) return with_context(std::move(wrapper).error(), name);
  std::vector<ProvedProgram> programs;
  programs.push_back({name, 0, std::string(bytes),
                      check_wrapper(*wrapper, {.guards_are_known = false, .claims = {}})});
  return programs;
}

auto verdict(const Counts& counts) -> std::string {
  const auto total =
      fmt::format("of {}", counted(static_cast<std::int64_t>(counts.total()), "obligation"));
  if (counts.refuted != 0)
    return fmt::format("{}: {} refuted, {} unknown {}", styled("out of bounds", Style::red),
                       counts.refuted, counts.unknown, total);
  if (counts.unknown != 0)
    return fmt::format("{}: {} unknown {}, the rest proved", styled("undecided", Style::yellow),
                       counts.unknown, total);
  return fmt::format("{}: {} proved", styled("in bounds for all sizes", Style::green),
                     counted(static_cast<std::int64_t>(counts.total()), "obligation"));
}

/// Payload lines stand one behind the other after the header line of their event.
auto line_text(const ProvedProgram& program, int line) -> std::string {
  if (program.log_line == 0) return fmt::format("line {}", line);
  return fmt::format("line {} (line {} of the log)", line, program.log_line + line);
}

auto print_obligation(const ProvedProgram& program, const WrapperObligation& o) -> std::string {
  auto text = fmt::format("  {} at {}\n    {}\n", name(o.kind), line_text(program, o.line),
                          o.statement.substr(0, 160));
  if (!o.access.empty())
    text += fmt::format("    {}, kernel {} {}\n", o.access, o.kernel,
                        line_text(program, o.kernel_line));
  text += fmt::format("    claim    {}\n", o.claim);
  if (const auto* refuted = std::get_if<Refuted>(&o.answer)) {
    text += fmt::format("    {}\n", styled("refuted", Style::red));
    if (!o.message.empty()) text += fmt::format("    because  {}\n", o.message);
    if (!refuted->witness.empty()) text += fmt::format("    witness  {}\n", witness_text(*refuted));
  } else if (const auto* unknown = std::get_if<Unknown>(&o.answer)) {
    text += fmt::format("    {} ({}): {}\n", styled("unknown", Style::yellow), name(unknown->tier),
                        unknown->reason);
  } else {
    text += fmt::format("    proved ({})\n", name(std::get<Proved>(o.answer).tier));
  }
  return text;
}

auto print_programs(const std::vector<ProvedProgram>& programs, bool all) -> std::string {
  const auto counts = count(programs);
  auto text = verdict(counts) + "\n";
  for (const auto& program : programs) {
    std::string listed;
    for (const auto& obligation : program.report.obligations)
      if (all || !std::holds_alternative<Proved>(obligation.answer))
        listed += print_obligation(program, obligation);
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

auto json_of(const ProvedProgram& program, const WrapperObligation& o) -> Json {
  Json json = {{"kind", name(o.kind)}, {"line", o.line}, {"statement", o.statement}};
  if (program.log_line != 0) json["log_line"] = program.log_line + o.line;
  if (!o.kernel.empty()) json["kernel"] = o.kernel;
  if (!o.access.empty()) {
    json["access"] = o.access;
    json["kernel_line"] = o.kernel_line;
  }
  json["claim"] = o.claim;
  if (const auto* refuted = std::get_if<Refuted>(&o.answer)) {
    json["verdict"] = "refuted";
    json["tier"] = name(refuted->tier);
    json["message"] = o.message;
    json["witness"] = witness_text(*refuted);
  } else if (const auto* unknown = std::get_if<Unknown>(&o.answer)) {
    json["verdict"] = "unknown";
    json["tier"] = name(unknown->tier);
    json["reason"] = unknown->reason;
  } else {
    json["verdict"] = "proved";
    json["tier"] = name(std::get<Proved>(o.answer).tier);
  }
  return json;
}

auto programs_json(const std::vector<ProvedProgram>& programs, const std::string& file)
    -> std::string {
  const auto counts = count(programs);
  Json json = {{"schema", "assay.prove_trace/1"},
               {"file", file},
               {"counts",
                {{"proved", counts.proved},
                 {"refuted", counts.refuted},
                 {"unknown", counts.unknown},
                 {"proved_by_tier", counts.tiers}}},
               {"findings", Json::array()},
               {"programs", Json::array()}};
  for (const auto& program : programs) {
    const auto& report = program.report;
    for (const auto& finding : wrapper_findings(report))
      json["findings"].push_back({{"kind", info(finding.kind).name},
                                  {"program", program.name},
                                  {"target", finding.target},
                                  {"claimed", finding.claimed},
                                  {"message", finding.message},
                                  {"witness", finding.witness}});
    Json entry = {{"name", program.name},
                  {"statements", report.statements},
                  {"launches", report.launches},
                  {"assumptions", report.assumptions},
                  {"obligations", Json::array()},
                  {"statements_not_understood", Json::array()},
                  {"kernels_not_understood", Json::array()}};
    for (const auto& obligation : report.obligations)
      entry["obligations"].push_back(json_of(program, obligation));
    for (const auto& line : report.lines_not_understood)
      entry["statements_not_understood"].push_back(
          {{"line", line.line}, {"text", line.text}, {"reason", line.reason}});
    for (const auto& line : report.kernels_not_understood)
      entry["kernels_not_understood"].push_back(
          {{"line", line.line}, {"kernel", line.text}, {"reason", line.reason}});
    json["programs"].push_back(std::move(entry));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

auto is_trace_or_wrapper(std::string_view bytes) -> bool {
  return detect_format(bytes) == InputFormat::torch_trace || is_wrapper(bytes);
}

auto prove_log(std::string_view bytes, const std::string& name, const ProveLogOptions& options)
    -> Result<int> {
  ASSAY_TRY(const auto programs, programs_of(bytes, name));
  if (!options.smt_lib.empty()) {
    ASSAY_TRY(const int written, dump_programs(options.smt_lib, programs));
    fmt::print(stderr, "wrote {} to {}\n", counted(written, "proof"), options.smt_lib);
  }
  fmt::print("{}",
             options.json ? programs_json(programs, name) : print_programs(programs, options.all));
  const auto counts = count(programs);
  const int exit = counts.refuted != 0   ? kFindings
                   : counts.unknown != 0 ? kUndecided
                                         : kNothingFound;
  if (!options.trace.empty()) ASSAY_TRY_VOID(record_programs(options.trace, name, programs, exit));
  return exit;
}

}  // namespace assay::cli
