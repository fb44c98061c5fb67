#include "compiler/prove/solver.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <z3++.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>

#include <fmt/format.h>

#include "core/base/check.h"

namespace assay {
namespace {

/// The solver's own counts are what bounds it; this is for the steps that it does not count.
constexpr int kWorkerSeconds = 20;
constexpr rlim_t kProcessorSeconds = 1;
constexpr rlim_t kWorkerBytes = rlim_t{4} << 30;
/// Incomplete non-linear arithmetic depends on luck: one other seed, always the same.
constexpr auto kSeeds = std::to_array<unsigned>({0, 7});

/// The answer as text: what a worker writes to its pipe. `unsat` and core, `sat` and model, or
/// `unknown` and reason, on one line.
auto check(const SmtScript& script, std::uint64_t rlimit, unsigned seed) -> std::string {
  z3::context context;
  z3::solver solver(context, "QF_NIA");
  z3::params params(context);
  params.set("rlimit", static_cast<unsigned>(std::min<std::uint64_t>(rlimit, UINT32_MAX)));
  params.set("random_seed", seed);
  solver.set(params);
  solver.from_string(script.text.c_str());
  z3::expr_vector literals(context);
  for (const auto& name : script.literals) literals.push_back(context.bool_const(name.c_str()));
  const auto result = solver.check(literals);
  if (result == z3::unknown) return "unknown " + solver.reason_unknown();
  std::string line = result == z3::unsat ? "unsat" : "sat";
  if (result == z3::unsat) {
    for (const auto& literal : solver.unsat_core())
      line += " " + literal.decl().name().str().substr(2);
    return line;
  }
  const auto model = solver.get_model();
  for (const auto& [symbol, name] : script.symbols) {
    const auto plain = name.substr(1, name.size() - 2);
    std::int64_t value = 0;
    const auto term = model.eval(context.int_const(plain.c_str()), true);
    if (!term.is_numeral_i64(value)) return "unknown a value of the model does not fit int64";
    line += fmt::format(" {}", value);
  }
  return line;
}

auto guarded_check(const SmtScript& script, std::uint64_t rlimit, unsigned seed) -> std::string {
  try {
    return check(script, rlimit, seed);
  } catch (const z3::exception& problem) {
    return std::string("unknown ") + problem.msg();
  } catch (const std::bad_alloc&) {
    return "unknown out of memory";
  }
}

auto parse_answer(const SmtScript& script, std::string_view line) -> SolverAnswer {
  SolverAnswer answer;
  const auto space = line.find(' ');
  const auto word = line.substr(0, space);
  const auto rest = space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
  if (word != "unsat" && word != "sat") {
    answer.is_cut_off = line.empty();
    answer.reason = word == "unknown" ? std::string(rest) : "the solver ran out of its time";
    return answer;
  }
  std::vector<std::int64_t> numbers;
  const char* at = rest.data();
  const char* const end = rest.data() + rest.size();
  while (at < end) {
    std::int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc()) break;
    numbers.push_back(value);
    at = next + 1;
  }
  if (word == "unsat") {
    answer.kind = SolverAnswer::Kind::unsat;
    for (const auto index : numbers) answer.core.push_back(static_cast<std::size_t>(index));
    std::ranges::sort(answer.core);
    return answer;
  }
  if (numbers.size() != script.symbols.size()) {
    answer.reason = "the solver's model is incomplete";
    return answer;
  }
  answer.kind = SolverAnswer::Kind::sat;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    answer.model[script.symbols[i].first] = numbers[i];
  return answer;
}

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// Everything the child writes until it ends, or nothing when time runs out.
auto read_until_end(int descriptor) -> std::optional<std::string> {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::seconds(kWorkerSeconds);
  std::string text;
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return std::nullopt;
    pollfd ready{.fd = descriptor, .events = POLLIN, .revents = 0};
    const int count = ::poll(&ready, 1, static_cast<int>(left.count()));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    char buffer[4096];
    const auto got = ::read(descriptor, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

auto run_worker(const SmtScript& script, std::uint64_t rlimit, unsigned seed) -> std::string {
  int ends[2];
  if (::pipe(ends) != 0) return "unknown no pipe for the worker";
  const auto child = ::fork();
  if (child < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    return "unknown no worker process";
  }
  if (child == 0) {
    ::close(ends[0]);
    const struct ::rlimit seconds{kProcessorSeconds, kProcessorSeconds + 1};
    ::setrlimit(RLIMIT_CPU, &seconds);
#ifndef __SANITIZE_ADDRESS__  // which reserves far more than this
    const struct ::rlimit limits{kWorkerBytes, kWorkerBytes};
    ::setrlimit(RLIMIT_AS, &limits);
#endif
    write_all(ends[1], guarded_check(script, rlimit, seed));
    ::_exit(0);  // no destructors: they belong to the parent
  }
  ::close(ends[1]);
  const auto text = read_until_end(ends[0]);
  ::close(ends[0]);
  if (!text) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!text) return {};
  return *text;
}

}  // namespace

auto solve_here(const SmtScript& script, std::uint64_t rlimit) -> SolverAnswer {
  return parse_answer(script, guarded_check(script, rlimit, kSeeds[0]));
}

auto solve_in_worker(const SmtScript& script, std::uint64_t rlimit) -> SolverAnswer {
  SolverAnswer answer;
  for (const unsigned seed : kSeeds) {
    answer = parse_answer(script, run_worker(script, rlimit, seed));
    if (answer.kind != SolverAnswer::Kind::unknown || answer.is_cut_off) break;
  }
  return answer;
}

}  // namespace assay
