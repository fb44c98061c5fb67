#include "cli/gpu_child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/command.h"
#include "core/base/clock.h"
#include "minifier/oracle/child.h"

namespace assay::cli {
namespace {

constexpr int kBug = 70;
constexpr int kPollMs = 20;

template <std::size_t N>
void keep(std::array<char, N>& to, std::string_view text) {
  const auto length = std::min(text.size(), N - 1);
  std::memcpy(to.data(), text.data(), length);
  to[length] = '\0';
}

/// What the child leaves for its parent, in memory that both see. Texts are read when it has ended.
struct Board {
  std::atomic<std::uint64_t> steps = 0;  ///< changes whenever a wait begins or ends
  std::atomic<bool> waits = false;
  std::array<char, 256> fault = {}, kernel = {};
  std::array<char, 1024> statement = {}, sizes = {};
  int line = 0, last_line = 0;
  std::int64_t number = 0, launches = 0;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

class BoardWatch final : public cuda::LaunchWatch {
 public:
  BoardWatch(Board& board, bool one_by_one) : board_(board), one_by_one_(one_by_one) {}
  [[nodiscard]] auto one_by_one() const -> bool override { return one_by_one_; }
  void issues(const cuda::LaunchNote& note) override {
    keep(board_.kernel, note.kernel);
    keep(board_.statement, note.statement);
    keep(board_.sizes, note.sizes);
    board_.line = note.line;
    board_.last_line = note.last_line;
    board_.number = note.number;
    board_.launches = note.launches;
  }
  /// For every launch, so without locking anything: this thread alone writes.
  void waits(bool does) override {
    board_.steps.store(board_.steps.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    board_.waits.store(does, std::memory_order_release);
  }
  /// Whatever is done with this GPU from here on fails, so nothing is.
  void faulted(std::string_view error) override {
    keep(board_.fault, error);
    std::fflush(nullptr);
    ::_exit(kBug);
  }

 private:
  Board& board_;
  bool one_by_one_;
};

/// A child and what it left.
class GpuChild {
 public:
  GpuChild() : board_(nullptr, [](Board* board) { ::munmap(board, sizeof(Board)); }) {
    void* const shared =
        ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared != MAP_FAILED) board_.reset(new (shared) Board);
  }
  /// In the child true, with `watch` made. In the parent false.
  [[nodiscard]] auto start(bool one_by_one) -> bool {
    int ends[2];
    if (board_ == nullptr || ::pipe2(ends, O_CLOEXEC) != 0) return false;
    std::fflush(nullptr);  // or both write it
    const auto parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(kBug);
      ::close(ends[0]);
      report_ = ends[1];
      watch = std::make_unique<BoardWatch>(*board_, one_by_one);
      return true;
    }
    ::close(ends[1]);
    report_ = ends[0];
    return false;
  }
  void send(std::string_view text) const {
    while (!text.empty()) {
      const auto written = ::write(report_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  /// Waits for the child's end, and brings it about where a launch takes longer than `seconds`.
  void attend(double seconds) {
    if (pid_ < 0) return;
    auto steps = board_->steps.load();
    auto since = Clock::now(), looked = since;
    while (!ended()) {
      read_report();
      const auto now = board_->steps.load();
      // Who was stopped for a while, or asleep with the machine, was not waiting.
      const bool was_away = seconds_since(std::exchange(looked, Clock::now())) > 1;
      if (now != steps || !board_->waits || was_away) {
        steps = now;
        since = Clock::now();
      } else if (seconds > 0 && seconds_since(since) > seconds) {
        hung = true;
        end();
        break;
      }
    }
    read_report();
    ::close(report_);
  }

  std::unique_ptr<BoardWatch> watch;  ///< the child's
  bool hung = false;
  int status = 0;
  std::string report;

  [[nodiscard]] auto board() const -> const Board& { return *board_; }
  [[nodiscard]] auto started() const -> bool { return pid_ > 0; }
  [[nodiscard]] auto faulted() const -> bool { return board_->fault[0] != '\0'; }

 private:
  [[nodiscard]] auto ended() -> bool { return ::waitpid(pid_, &status, WNOHANG) == pid_; }
  /// A process whose GPU does not let go of it must not keep its parent.
  void end() {
    constexpr int kMostPolls = 10'000 / kPollMs;
    ::kill(pid_, SIGKILL);
    for (int i = 0; i < kMostPolls && !ended(); ++i) ::usleep(kPollMs * 1000);
  }
  void read_report() {
    pollfd ready{.fd = report_, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, kPollMs) <= 0) return;
    char buffer[1 << 16];
    const auto got = ::read(report_, buffer, sizeof buffer);
    if (got > 0)
      report.append(buffer, static_cast<std::size_t>(got));
    else if (!hung)
      ::usleep(1000);  // it is about to end
  }

  std::unique_ptr<Board, void (*)(Board*)> board_;
  pid_t pid_ = -1;
  int report_ = -1;
};

auto counted_launch(const Board& board) -> std::string {
  if (board.number == 0) return "a launch";
  if (board.launches == 0) return fmt::format("launch {}", board.number);
  return fmt::format("launch {} of {}", board.number, board.launches);
}

auto failure_of(const GpuChild& child, double seconds) -> GpuFailure {
  GpuFailure failure;
  auto& finding = failure.finding;
  const auto& board = child.board();
  finding.kernel = board.kernel.data();
  finding.statement = board.statement.data();
  finding.line = board.line;
  if (!child.hung && !child.faulted()) {
    failure.has_died = true;
    failure.signature = WIFSIGNALED(child.status)
                            ? signal_name(WTERMSIG(child.status))
                            : fmt::format("exit {}", WEXITSTATUS(child.status));
    finding.message =
        fmt::format("the process that used the GPU was ended by {}{}", failure.signature,
                    finding.kernel.empty() ? "" : ", last at " + finding.kernel);
    return failure;
  }
  failure.is_finding = true;
  finding.fault = child.hung ? RunFault::launch_hangs : RunFault::launch_faults;
  failure.signature = child.hung ? "does not end" : board.fault.data();
  const auto what = child.hung ? fmt::format("does not end within {} s", seconds)
                               : fmt::format("ends in {}", board.fault.data());
  finding.message = fmt::format(
      "{}{} {}{}", counted_launch(board), finding.kernel.empty() ? "" : ", " + finding.kernel + ",",
      what, board.sizes[0] == '\0' ? "" : fmt::format(" ({})", board.sizes.data()));
  return failure;
}

/// What only happens where launches are issued at once.
auto not_seen_again(const GpuChild& child, double seconds) -> GpuFailure {
  auto failure = failure_of(child, seconds);
  const auto& board = child.board();
  const auto lines = board.last_line > board.line
                         ? fmt::format("lines {} to {}", board.line, board.last_line)
                         : fmt::format("line {}", board.line);
  failure.is_finding = false;
  failure.finding.message = fmt::format(
      "what is issued at once for {} {}; launch by launch it does not. If it is only slow, raise "
      "--launch-timeout",
      lines,
      child.hung ? fmt::format("does not end within {} s", seconds)
                 : fmt::format("ends in {}", board.fault.data()));
  return failure;
}

void print(const GpuFailure& failure, bool json) {
  const auto& finding = failure.finding;
  if (!failure.is_finding) {
    fmt::print(stderr, "assay: error: {}\n", finding.message);
    return;
  }
  if (json) {
    const nlohmann::ordered_json row = {{"kind", name(finding.fault)},
                                        {"kernel", finding.kernel},
                                        {"line", finding.line},
                                        {"statement", finding.statement},
                                        {"message", finding.message}};
    fmt::print("{}\n", nlohmann::ordered_json{{"findings", {row}}}.dump(2));
    return;
  }
  fmt::print("{}: {}\n", styled(name(finding.fault), Style::red), finding.message);
  if (finding.line > 0) fmt::print("  line {}: {}\n", finding.line, finding.statement);
}

void silence() {
  const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null < 0) return;
  ::dup2(null, STDOUT_FILENO);
  ::dup2(null, STDERR_FILENO);
}

/// Signals that somebody sent, or that nobody reads on: the parent ends like its child.
void end_if_asked_to(int status) {
  constexpr std::array kAsked = {SIGHUP, SIGINT, SIGPIPE, SIGTERM};
  if (!WIFSIGNALED(status) || std::ranges::count(kAsked, WTERMSIG(status)) == 0) return;
  ::signal(WTERMSIG(status), SIG_DFL);
  ::raise(WTERMSIG(status));
}

auto exit_of(const GpuFailure& failure) -> int {
  if (failure.has_died) return kBug;
  return failure.is_finding ? kFindings : kUndecided;
}

}  // namespace

auto run_guarded(ExecutorOptions& options, bool json, const std::function<int()>& work) -> int {
  if (options.executor != "cuda" || options.watch != nullptr) return work();
  GpuChild first;
  const auto watched = [&](GpuChild& child) {
    options.watch = child.watch.get();
    const int exit = work();
    std::fflush(nullptr);
    std::exit(exit);  // what is static ends; nothing of the parent's does
  };
  if (first.start(false)) watched(first);
  if (!first.started()) return report_error({ErrorCode::missing_tool, "no process for the GPU"});
  first.attend(options.launch_timeout);
  const bool is_lost = first.hung || first.faulted();
  if (!is_lost && WIFEXITED(first.status)) return WEXITSTATUS(first.status);
  if (!is_lost) end_if_asked_to(first.status);
  auto failure = failure_of(first, options.launch_timeout);
  if (is_lost && (first.board().kernel[0] == '\0' || first.board().launches != 1)) {
    GpuChild second;
    if (second.start(true)) {
      silence();
      watched(second);
    }
    second.attend(options.launch_timeout);
    const bool is_again = second.started() && (second.hung || second.faulted());
    failure = is_again ? failure_of(second, options.launch_timeout)
                       : not_seen_again(first, options.launch_timeout);
  }
  print(failure, json);
  return exit_of(failure);
}

auto ask_guarded(const ExecutorOptions& options,
                 const std::function<std::string(const ExecutorOptions&)>& ask)
    -> std::variant<std::string, GpuFailure> {
  if (options.executor != "cuda" || options.watch != nullptr) return ask(options);
  GpuChild child;
  if (child.start(false)) {
    auto watched = options;
    watched.watch = child.watch.get();
    child.send(ask(watched));
    std::fflush(nullptr);
    ::_exit(0);
  }
  child.attend(options.launch_timeout);
  if (child.started() && !child.hung && !child.faulted() && WIFEXITED(child.status) &&
      WEXITSTATUS(child.status) == 0)
    return child.report;
  return failure_of(child, options.launch_timeout);
}

}  // namespace assay::cli
