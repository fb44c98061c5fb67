#include "cli/compiled.h"

#include <charconv>

#include "cli/command.h"
#include "core/ops/generator.h"
#include "replay/formats/file.h"
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

}  // namespace

auto seeded_generators(const CompiledOptions& options) -> Result<std::shared_ptr<RandomState>> {
  const auto& text = options.seed;
  if (text.empty()) return nullptr;
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc() || end != text.data() + text.size())
    return std::unexpected(Error{ErrorCode::usage, fmt::format("--seed {}: a number", text)});
  return std::make_shared<RandomState>(seed);
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

auto run_compiled(const CompiledOptions& options, std::string_view bytes, bool judges)
    -> Result<int> {
  ExecuteOptions asked;
  if (!options.blocks.empty()) ASSAY_TRY_VOID(parse_blocks(options.blocks, asked.run));
  std::optional<ProgramAnswers> answers;
  if (!options.inputs.empty()) {
    ASSAY_TRY(const auto text, read_file(options.inputs));
    ASSAY_TRY(answers, read_program_answers(text, options.inputs));
    asked.answers = &*answers;
  }
  ASSAY_TRY(asked.run.random, seeded_generators(options));
  const auto table = build_op_table();
  auto chosen = options.executor;
  if (chosen.executor.empty()) chosen.executor = "interpret";
  chosen.redzones = chosen.redzones || options.check;
  ASSAY_TRY(const auto executor, make_executor(chosen, table));
  asked.executor = executor.get();
  ASSAY_TRY(const auto execution, execute_programs(bytes, options.file, table, asked));
  for (const auto& program : execution.programs)
    if (program.error && program.error->code == ErrorCode::missing_tool)
      return std::unexpected(*program.error);
  fmt::print("{}", options.json ? executions_json(execution, options.file)
                                : executions_text(execution, paint()));
  if (judges && has_findings(execution)) return kFindings;
  return is_incomplete(execution) ? kUndecided : kNothingFound;
}

}  // namespace assay::cli
