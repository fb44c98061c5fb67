#include "cli/compiled.h"

#include <charconv>

#include "cli/command.h"
#include "core/graph/annotation.h"
#include "core/ops/generator.h"
#include "replay/formats/file.h"
#include "replay/formats/torch_trace.h"
#include "replay/report/executions.h"

namespace assay::cli {
namespace {

/// "64": that many lanes; "seed:7": powers of two by chance.
auto parse_blocks(const std::string& text, ProgramRunOptions& options) -> Result<void> {
  constexpr std::string_view kSeed = "seed:";
  const bool is_seed = text.starts_with(kSeed);
  const auto digits = std::string_view(text).substr(is_seed ? kSeed.size() : 0);
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || (!is_seed && number == 0))
    return std::unexpected(
        Error{ErrorCode::usage, fmt::format("--blocks {}: a number or seed:NUMBER", text)});
  if (is_seed)
    options.block_seed = number;
  else
    options.block = number;
  return {};
}

/// `s77=6,s27=8`: values by name, in the pool of `env`.
auto sizes_of_log(const std::string& bytes, const std::string& text, ShapeEnv& env)
    -> Result<std::map<std::string, Expr>> {
  ASSAY_TRY(const auto log, read_torch_trace(bytes));
  ClaimReader reader(env);
  for (const auto& compilation : compilations(log))
    for (const auto& symbol : compilation.symbols) (void)reader.symbol(symbol.name);
  ASSAY_TRY(const auto binding, parse_binding(env, text));
  std::map<std::string, Expr> sizes;
  for (const auto& [symbol, value] : binding) sizes[std::string(symbol.name())] = value;
  return sizes;
}

}  // namespace

auto seeded_generators(const CompiledOptions& options, const Capture* capture)
    -> Result<std::shared_ptr<RandomState>> {
  const auto& text = options.seed;
  if (text.empty()) return nullptr;
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc() || end != text.data() + text.size())
    return std::unexpected(Error{ErrorCode::usage, fmt::format("--seed {}: a number", text)});
  std::string_view version;
  if (capture != nullptr)
    for (const auto& [key, value] : capture->environment)
      if (key == "torch") version = value;
  return std::make_shared<RandomState>(seed, GpuSize{}, half_draws(version));
}

void add_compiled(Arguments& arguments, CompiledOptions& options) {
  arguments.option("--inputs", &options.inputs,
                   "of a log: JSON with the function's inputs and recorded answers");
  arguments.option("--blocks", &options.blocks,
                   "of compiled programs: lanes per block, or seed:N for random ones");
  add_executor(arguments, options.executor);
  arguments.option("--seed", &options.seed,
                   "random operators draw what PyTorch draws after torch.manual_seed(N)");
}

auto answers_for(const CompiledOptions& options, const ProgramBundle& program)
    -> Result<std::optional<ProgramAnswers>> {
  auto text = program.inputs_json;
  auto name = fmt::format("{}: inputs.json", options.file);
  if (!options.inputs.empty()) {
    ASSAY_TRY(text, read_file(options.inputs));
    name = options.inputs;
  }
  if (text.empty()) return std::nullopt;
  ASSAY_TRY(auto answers, read_program_answers(text, name));
  return answers;
}

auto pack_program(const std::string& path, const CompiledOptions& options, ProgramBundle program,
                  const Verdict& verdict) -> Result<void> {
  if (!options.inputs.empty()) {
    ASSAY_TRY(program.inputs_json, read_file(options.inputs));
  }
  program.verdict_json = verdict_json(verdict);
  ASSAY_TRY(const auto bytes, write_bundle(program));
  return write_file_atomically(path, bytes);
}

auto stages_of(const CompiledOptions& options, const ProgramBundle& program,
               const VerdictOptions& verdict) -> Result<StageReport> {
  StageOptions asked;
  ASSAY_TRY(const auto answers, answers_for(options, program));
  if (answers) asked.answers = &*answers;
  asked.sweep = verdict.sweep;
  ShapeEnv env;  // keeps what `at` names
  if (!verdict.at.empty()) {
    ASSAY_TRY(asked.at, sizes_of_log(program.text, verdict.at, env));
  }
  return debug_stages(program.text, options.file, build_op_table(), asked);
}

auto execute_compiled(const CompiledOptions& options, const ProgramBundle& program)
    -> Result<LogExecution> {
  ExecuteOptions asked;
  if (!options.blocks.empty()) ASSAY_TRY_VOID(parse_blocks(options.blocks, asked.run));
  ASSAY_TRY(const auto answers, answers_for(options, program));
  if (answers) asked.answers = &*answers;
  ASSAY_TRY(asked.run.random, seeded_generators(options));
  const auto table = build_op_table();
  auto chosen = options.executor;
  if (chosen.executor.empty()) chosen.executor = "interpret";
  chosen.redzones = chosen.redzones || options.check;
  ASSAY_TRY(const auto executor, make_executor(chosen, table));
  asked.executor = executor.get();
  asked.keep_values = !options.trace.empty();
  ASSAY_TRY(auto execution, execute_programs(program.text, options.file, table, asked));
  for (const auto& one : execution.programs)
    if (one.error && one.error->code == ErrorCode::missing_tool) return std::unexpected(*one.error);
  return execution;
}

auto exit_code(const LogExecution& execution, bool judges) -> int {
  if ((judges || !execution.compared.empty()) && has_findings(execution)) return kFindings;
  return is_incomplete(execution) ? kUndecided : kNothingFound;
}

auto run_compiled(const CompiledOptions& options, const ProgramBundle& program, bool judges)
    -> Result<int> {
  ASSAY_TRY(const auto execution, execute_compiled(options, program));
  const int exit = exit_code(execution, judges);
  if (!options.bundle.empty()) {
    VerdictOptions asked{.command = "run", .blocks = options.blocks, .seed = options.seed};
    ASSAY_TRY_VOID(pack_program(options.bundle, options, program,
                                verdict_of(execution, asked, exit_code(execution, true))));
  }
  fmt::print("{}", options.json ? executions_json(execution, options.file)
                                : executions_text(execution, paint()));
  if (!options.trace.empty())
    ASSAY_TRY_VOID(record_executions(options.trace, options.file, program.text, execution, exit));
  return exit;
}

}  // namespace assay::cli
