#include "cli/command.h"

#include <unistd.h>
#include <charconv>
#include <ranges>

#include <chrono>
#include <cstdlib>

#include "core/expr/text.h"
#include "core/graph/annotation.h"

namespace assay::cli {
namespace {

auto now_ms() -> long long {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

auto exit_of(ErrorCode code) -> int {
  switch (code) {
    case ErrorCode::usage:
      return kUsage;
    case ErrorCode::bad_input:
    case ErrorCode::unsupported:
      return kBadInput;
    case ErrorCode::missing_tool:
      return kMissingTool;
    case ErrorCode::undecided:
      return kUndecided;
  }
  return kBadInput;
}

}  // namespace

auto commands() -> std::vector<Command> {
  return {
      {"debug", "find the node whose claimed metadata is false",
       "  assay debug repro.py                   the recorded sizes\n"
       "  assay debug graph.json --at s77=68     other sizes\n"
       "  assay debug model.pt2 --sweep --json   boundary sizes, for machines\n",
       add_debug},
      {"prove",
       "prove guards and storage bounds for all sizes, or find the smallest that break them",
       "  assay prove graph.json                 guards, what they miss, storage bounds\n"
       "  assay prove graph.json --bounds --json storage bounds alone, for machines\n"
       "  assay prove graph.json --claim \"s77 % 8 == 0\"\n"
       "  assay prove TRACE.log                  every Inductor program of a TORCH_TRACE log\n"
       "  assay prove wrapper.py --json          one Inductor wrapper\n",
       add_prove},
      {"show", "print a capture as graph text, with symbols and guards",
       "  assay show model.pt2\n  assay show repro.py --summary\n"
       "  assay show TRACE.log                   events, symbols, guards, graphs of a TORCH_TRACE\n"
       "  assay show TRACE.log --graph inductor_output_code\n",
       add_show},
      {"run", "execute a capture without PyTorch and print its outputs",
       "  assay run model.pt2\n  assay run graph.json --at s77=5 --stats\n"
       "  assay run TRACE.log --check --bundle run.assay.zip   its compiled programs\n",
       add_run},
      {"compile", "compile a capture's graph: kernels, library calls, every decision",
       "  assay compile graph.json\n  assay compile graph.json --check --at s77=5\n", add_compile},
      {"bench", "time a compiled graph",
       "  assay bench graph.json --at s77=64\n  assay bench graph.txt --executor cpu --threads 1\n",
       add_bench},
      {"import", "pack any input into one self-contained bundle",
       "  assay import repro.py -o failure.assay.zip\n"
       "  assay import TRACE.log --programs -o programs.assay.zip\n",
       add_import},
      {"compare", "find the first call at which two recorded runs part",
       "  assay compare eager.json compiled.json   what DebugMode.save_logs wrote\n", add_compare},
      {"replay", "re-run a bundle and say whether its recorded verdict still holds",
       "  assay replay failure.assay.zip\n", add_replay},
      {"minify", "cut a failing capture down to the smallest one that fails the same way",
       "  assay minify graph.json --oracle debug -o out\n"
       "  assay minify repro.py --oracle 'exec:python check.py' -j 2 --max-time 10m -o out\n"
       "  assay minify graph.json --oracle torch:accuracy --backend inductor -o out\n",
       add_minify},
      {"trace", "write all that the viewer shows of an input into one SQLite file",
       "  assay trace graph.json -o run.sqlite           what `debug` finds\n"
       "  assay trace graph.json -o run.sqlite --prove   and what holds for all sizes\n"
       "  assay trace TRACE.log -o run.sqlite            compilations, stages, programs, proofs\n",
       add_trace},
      {"view", "look at any input in the viewer",
       "  assay view graph.json\n"
       "  assay view failure.assay.zip --at node:constant_pad_nd\n"
       "  assay view assay:run.sqlite#node:add_3         a link, as --links prints them\n",
       add_view},
      {"diff", "compare the graphs of two traces: which nodes came, went, or changed",
       "  assay diff before.sqlite after.sqlite\n"
       "  assay diff run.sqlite#1 run.sqlite#2           two graphs of one trace\n",
       add_diff},
      {"query", "ask a trace in SQL, or for nodes in the viewer's filter language",
       "  assay debug graph.json --trace run.trace\n"
       "  assay query run.trace --filter 'op:pad status:mismatch'\n"
       "  assay query run.trace \"select name, target from nodes where status = 'unchecked'\"\n",
       add_query},
      {"conform", "check the operator table against recorded PyTorch calls",
       "  assay conform cases.sqlite\n  assay conform cases.sqlite --filter aten.add\n"
       "  assay conform cases.sqlite --report report.html --against last_week.json\n",
       add_conform},
      {"completion", "print a completion script for bash, zsh or fish",
       "  source <(assay completion bash)\n", add_completion},
  };
}

auto report_error(const Error& error) -> int {
  fmt::print(stderr, "assay: error: {}\n", error.message);
  return exit_of(error.code);
}

Progress::Progress(std::string_view doing)
    : doing_(doing),
      enabled_(isatty(STDERR_FILENO) == 1),
      lines_(std::getenv("ASSAY_PROGRESS") != nullptr),
      start_ms_(now_ms()) {}

Progress::~Progress() {
  if (enabled_ && !lines_ && last_ms_ != 0) fmt::print(stderr, "\r\033[K");
}

auto Progress::seconds() const -> double {
  return static_cast<double>(now_ms() - start_ms_) / 1000;
}

void Progress::update(std::size_t done, std::size_t total) {
  show([&](double) { return fmt::format("{}: {} of {}", doing_, done, total); }, done == total);
}

void Progress::show(const std::function<std::string(double seconds)>& line, bool is_last) {
  if (!enabled_ && !lines_) return;
  const auto now = now_ms();
  if (now - last_ms_ < 100 && !is_last) return;
  last_ms_ = now;
  if (lines_) {
    fmt::print(stderr, "progress: {}\n", line(static_cast<double>(now - start_ms_) / 1000));
    return;
  }
  fmt::print(stderr, "\r\033[K{}", line(static_cast<double>(now - start_ms_) / 1000));
  std::fflush(stderr);
}

auto paint() -> const Paint& {
  static const Paint paint(isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr);
  return paint;
}

auto parse_binding(const ShapeEnv& env, const std::string& text) -> Result<Binding> {
  Binding binding;
  const auto usage = [](std::string message) {
    return std::unexpected(Error{ErrorCode::usage, std::move(message)});
  };
  for (const auto word : std::views::split(std::string_view(text), ',')) {
    const std::string_view part(word.begin(), word.end());
    const auto equals = part.find('=');
    if (equals == std::string_view::npos)
      return usage(fmt::format("--at: `{}` is not name=number", part));
    const auto name = trimmed(part.substr(0, equals));
    const auto* symbol = env.find(name);
    if (!symbol) {
      std::string known;
      for (const auto& candidate : env.symbols()) known += " " + candidate.name;
      return usage(fmt::format("--at: there is no symbol {}; the capture has:{}", name,
                               known.empty() ? " none" : known));
    }
    const auto number = trimmed(part.substr(equals + 1));
    std::int64_t value = 0;
    const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
    if (read.ec != std::errc() || read.ptr != number.data() + number.size())
      return usage(fmt::format("--at: `{}` is not a whole number", part.substr(equals + 1)));
    binding[symbol->expr] = value;
  }
  // Symbols that were not named keep their hints, replaced ones follow.
  for (const auto& [symbol, hint] : env.hints()) binding.try_emplace(symbol, hint);
  for (const auto& [symbol, by] : env.replacements())
    if (const auto value = evaluate(by, binding)) binding[symbol] = *value;
  return binding;
}

}  // namespace assay::cli
