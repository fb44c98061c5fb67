// assay show WRAPPER: statements, kernels and what was not read of programs that Inductor
// generated.
#include <nlohmann/json.hpp>

#include "cli/show_program.h"

#include "cli/command.h"
#include "compiler/program/text.h"
#include "core/expr/text.h"
#include "replay/runner/execute.h"

namespace assay::cli {
namespace {

using Json = nlohmann::ordered_json;

auto counts_of(const HostProgram& program) -> std::string {
  std::ptrdiff_t launches = 0;
  for (const auto& function : program.functions)
    launches += std::ranges::count_if(
        function.ops, [](const HostOp& op) { return std::holds_alternative<HostLaunch>(op.what); });
  return fmt::format("{}, {}, {}", counted(program.statements, "statement"),
                     counted(std::ssize(program.kernels), "kernel"),
                     counted(launches, "launch", "launches"));
}

/// Statements as they are executed, with their lines, then the kernels.
auto program_text(const NamedProgram& named, bool with_parts) -> std::string {
  const auto& program = named.program;
  auto text = fmt::format("{}: Inductor wrapper, {}\n", named.name, counts_of(program));
  for (const auto& symbol : program.env.symbols())
    text += fmt::format("symbol {} in [{}, {}]\n", symbol.name, print_expr(symbol.range.low),
                        print_expr(symbol.range.high));
  for (const auto& line : program.not_understood)
    text += fmt::format("not understood: line {}: {} ({})\n", line.line, line.text, line.reason);
  for (const auto& [name, kernel] : program.kernels) {
    if (!kernel.kernel) {
      text += fmt::format("not read: kernel {}: {}\n", name, kernel.not_read);
      continue;
    }
    for (const auto& line : kernel.kernel->not_understood)
      text += fmt::format("not understood: kernel {}, its line {}: {} ({})\n", name, line.line,
                          line.text, line.reason);
  }
  if (!with_parts) return text;
  for (const auto& function : program.functions) {
    text += fmt::format("\n{}({})\n", function.name, fmt::join(function.inputs, ", "));
    for (const auto& op : function.ops) text += fmt::format("{:6}  {}\n", op.line, op.text);
  }
  for (const auto& [name, kernel] : program.kernels)
    if (kernel.kernel) text += "\n" + print_kernel(*kernel.kernel);
  return text;
}

/// A line that was not understood, of a program or a kernel.
auto line_json(const auto& line) -> Json {
  return {{"line", line.line}, {"text", line.text}, {"reason", line.reason}};
}

auto program_json(const NamedProgram& named, bool with_parts) -> Json {
  const auto& program = named.program;
  Json json{{"name", named.name}, {"statements", program.statements}};
  for (const char* list : {"symbols", "functions", "kernels", "not_understood"})
    json[list] = Json::array();
  for (const auto& symbol : program.env.symbols())
    json["symbols"].push_back({{"name", symbol.name},
                               {"low", print_expr(symbol.range.low)},
                               {"high", print_expr(symbol.range.high)}});
  for (const auto& function : program.functions) {
    Json one{{"name", function.name}, {"inputs", function.inputs}};
    if (with_parts)
      for (const auto& op : function.ops)
        one["statements"].push_back({{"line", op.line}, {"text", op.text}});
    json["functions"].push_back(std::move(one));
  }
  for (const auto& [name, kernel] : program.kernels) {
    Json one{{"name", name}, {"language", kernel.language}, {"line", kernel.line}};
    if (!kernel.kernel)
      one["not_read"] = kernel.not_read;
    else if (with_parts)
      one["text"] = print_kernel(*kernel.kernel);
    if (kernel.kernel)
      for (const auto& line : kernel.kernel->not_understood)
        one["not_understood"].push_back(line_json(line));
    json["kernels"].push_back(std::move(one));
  }
  for (const auto& line : program.not_understood) json["not_understood"].push_back(line_json(line));
  return json;
}

}  // namespace

auto show_programs(std::string_view bytes, const std::string& name,
                   const ShowProgramOptions& options) -> int {
  const auto programs = read_programs(bytes, name);
  if (!programs) return report_error(programs.error());
  Json json{{"schema", "assay.show.programs/1"}, {"source", name}, {"programs", Json::array()}};
  std::string text;
  for (const auto& one : *programs) {
    if (options.json)
      json["programs"].push_back(program_json(one, !options.summary));
    else
      text += (text.empty() ? "" : "\n") + program_text(one, !options.summary);
  }
  fmt::print("{}", options.json ? json.dump(2) + "\n" : text);
  return kNothingFound;
}

}  // namespace assay::cli
