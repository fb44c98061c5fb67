#include "minifier/oracle/child.h"
#include "core/base/clock.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace assay {
namespace {

/// Direct children of a process, from /proc.
auto children_of(pid_t pid) -> std::vector<pid_t> {
  std::vector<pid_t> children;
  std::error_code error;
  for (const auto& task :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), error)) {
    std::ifstream list(task.path() / "children");
    for (pid_t child = 0; list >> child;) children.push_back(child);
  }
  return children;
}

/// Resident bytes of a process and everything below it.
auto tree_memory(pid_t pid, int depth = 0) -> std::int64_t {
  std::ifstream statm(fmt::format("/proc/{}/statm", pid));
  std::int64_t total = 0;
  std::int64_t resident = 0;
  statm >> total >> resident;
  std::int64_t bytes = resident * sysconf(_SC_PAGESIZE);
  if (depth < 16)
    for (const auto child : children_of(pid)) bytes += tree_memory(child, depth + 1);
  return bytes;
}

void kill_tree(pid_t pid, int depth = 0) {
  if (depth < 16)
    for (const auto child : children_of(pid)) kill_tree(child, depth + 1);
  kill(pid, SIGKILL);
}

struct Pipe {
  int read = -1;
  int write = -1;
  [[nodiscard]] auto open() -> bool {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read = ends[0];
    write = ends[1];
    return true;
  }
};

/// Ends the calling process the way `status` says a child of it ended.
[[noreturn]] void end_like(int status) {
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    kill(getpid(), WTERMSIG(status));
  }
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 127);
}

[[noreturn]] void exec_command(const ChildJob& job) {
  if (!job.folder.empty() && chdir(job.folder.c_str()) != 0) _exit(127);
  std::vector<std::string> words{"sh", "-c", job.command + " \"$@\"", "assay-oracle"};
  words.insert(words.end(), job.arguments.begin(), job.arguments.end());
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  setenv("TMPDIR", job.folder.c_str(), 1);
  execv("/bin/sh", argv.data());
  _exit(127);
}

/// Between us and a command: inherits whatever the command leaves behind, and ends it.
[[noreturn]] void keep_command(const ChildJob& job) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const auto self = getpid();
  const pid_t command = fork();
  if (command == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    exec_command(job);
  }
  int status = 127 << 8;
  for (pid_t ended = 0; ended != command;) ended = waitpid(-1, &status, 0);
  for (int round = 0; round < 1000; ++round) {
    const auto left = children_of(self);
    if (left.empty()) break;
    for (const auto child : left) kill_tree(child);
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
  end_like(status);
}

class Child {
 public:
  Child(const ChildJob& job, const OracleLimits& limits) : limits_(limits) {
    Pipe output;
    Pipe report;
    if (!output.open() || !report.open()) return;
    start_ = Clock::now();
    pid_ = fork();
    if (pid_ == 0) {
      setpgid(0, 0);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (const int null = ::open("/dev/null", O_RDONLY); null >= 0) dup2(null, STDIN_FILENO);
      dup2(output.write, STDOUT_FILENO);
      dup2(output.write, STDERR_FILENO);
      job.function ? call(job, report.write) : keep_command(job);
    }
    setpgid(pid_, pid_);
    close(output.write);
    close(report.write);
    output_ = output.read;
    report_ = report.read;
    for (const int fd : {output_, report_}) fcntl(fd, F_SETFL, O_NONBLOCK);
  }
  [[nodiscard]] auto started() const -> bool { return pid_ > 0; }
  [[nodiscard]] auto fds() const -> std::pair<int, int> { return {output_, report_}; }

  /// Reads what is there, checks limits; true when the child has ended and was cleaned up.
  auto advance() -> bool {
    drain(output_, result.output, limits_.output_bytes);
    drain(report_, result.report, std::size_t{1} << 24);
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      finish(status);
      return true;
    }
    if (!result.timed_out && limits_.seconds > 0 && seconds_since(start_) > limits_.seconds) {
      result.timed_out = true;
      end();
    }
    if (!result.out_of_memory && limits_.memory_bytes > 0 && time_to_look() &&
        tree_memory(pid_) > limits_.memory_bytes) {
      result.out_of_memory = true;
      end();
    }
    return false;
  }

  ChildResult result;

 private:
  [[noreturn]] static void call(const ChildJob& job, int report) {
    const auto text = job.function();
    for (std::size_t done = 0; done < text.size();) {
      const auto written = ::write(report, text.data() + done, text.size() - done);
      if (written <= 0) break;
      done += static_cast<std::size_t>(written);
    }
    _exit(0);
  }
  static void drain(int fd, std::string& to, std::size_t most) {
    char buffer[1 << 16];
    for (ssize_t count = 0; (count = ::read(fd, buffer, sizeof buffer)) > 0;) {
      to.append(buffer, static_cast<std::size_t>(count));
      if (to.size() > 2 * most) to.erase(0, to.size() - most);
      if (count < static_cast<ssize_t>(sizeof buffer)) break;
    }
  }
  auto time_to_look() -> bool {
    const auto now = Clock::now();
    if (now - last_look_ < std::chrono::milliseconds(50)) return false;
    last_look_ = now;
    return true;
  }
  void end() const {
    kill_tree(pid_);
    kill(-pid_, SIGKILL);
  }
  void finish(int status) {
    kill(-pid_, SIGKILL);
    drain(output_, result.output, limits_.output_bytes);
    drain(report_, result.report, std::size_t{1} << 24);
    close(output_);
    close(report_);
    if (result.output.size() > limits_.output_bytes)
      result.output.erase(0, result.output.size() - limits_.output_bytes);
    if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
    result.seconds = seconds_since(start_);
  }

  const OracleLimits& limits_;
  pid_t pid_ = -1;
  int output_ = -1;
  int report_ = -1;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_look_ = Clock::now();
};

}  // namespace

auto run_children(std::vector<ChildJob> jobs, const OracleLimits& limits)
    -> std::vector<ChildResult> {
  std::vector<ChildResult> results(jobs.size());
  std::vector<std::pair<std::size_t, std::unique_ptr<Child>>> running;
  std::size_t next = 0;
  while (next < jobs.size() || !running.empty()) {
    while (next < jobs.size() &&
           running.size() < static_cast<std::size_t>(std::max(limits.workers, 1))) {
      auto child = std::make_unique<Child>(jobs[next], limits);
      if (child->started())
        running.emplace_back(next, std::move(child));
      else
        results[next].output = "no process could be started";
      ++next;
    }
    std::vector<pollfd> fds;
    for (const auto& [job, child] : running) {
      fds.push_back({child->fds().first, POLLIN, 0});
      fds.push_back({child->fds().second, POLLIN, 0});
    }
    if (!fds.empty()) poll(fds.data(), fds.size(), 2);
    // A child that closed its output and lives on must not make this a busy loop.
    if (std::ranges::none_of(fds, [](const pollfd& fd) { return (fd.revents & POLLIN) != 0; }))
      usleep(500);
    std::erase_if(running, [&](auto& entry) {
      if (!entry.second->advance()) return false;
      results[entry.first] = std::move(entry.second->result);
      return true;
    });
  }
  return results;
}

auto signal_name(int signal) -> std::string {
  const char* text = sigabbrev_np(signal);
  return text ? fmt::format("SIG{}", text) : fmt::format("signal {}", signal);
}

}  // namespace assay
