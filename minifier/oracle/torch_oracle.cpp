// Client of torch_worker.py: one process that imports PyTorch once and forks per candidate.
// JSON lines both ways; the fields are listed at the top of the worker.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "minifier/edits/export.h"
#include "minifier/oracle/oracle.h"
#include "minifier/oracle/temporary_folder.h"
#include "minifier/oracle/torch_worker_script.h"
#include "replay/formats/file.h"

namespace assay {
namespace {

using Json = nlohmann::json;

template <class... Args>
auto missing_tool(fmt::format_string<Args...> text, Args&&... args) -> std::unexpected<Error> {
  return std::unexpected(
      Error{ErrorCode::missing_tool, fmt::format(text, std::forward<Args>(args)...)});
}

constexpr double kStartSeconds = 300;  ///< importing PyTorch on a busy machine

/// A process with a line-wise conversation.
class Worker {
 public:
  Worker() = default;
  ~Worker() { stop(); }
  Worker(const Worker&) = delete;
  auto operator=(const Worker&) -> Worker& = delete;

  auto start(const std::string& python, const std::string& script) -> Result<void> {
    int to[2];
    int from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
      return missing_tool("no pipe could be made");
    pid_ = fork();
    if (pid_ == 0) {
      setpgid(0, 0);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(to[0], STDIN_FILENO);
      dup2(from[1], STDOUT_FILENO);
      execlp(python.c_str(), python.c_str(), script.c_str(), nullptr);
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    in_ = to[1];
    out_ = from[0];
    const auto line = read_line(kStartSeconds);
    const auto ready = Json::parse(line, nullptr, false);
    if (!ready.is_object() || !ready.value("ready", false)) {
      stop();
      return missing_tool("{} {} does not start: is PyTorch installed there? {}", python, script,
                          line.substr(0, 200));
    }
    version_ = ready.value("torch", std::string());
    return {};
  }
  [[nodiscard]] auto running() const -> bool { return pid_ > 0; }
  [[nodiscard]] auto version() const -> const std::string& { return version_; }

  auto send(const Json& request) -> bool {
    const auto line = request.dump() + "\n";
    for (std::size_t done = 0; done < line.size();) {
      const auto count = ::write(in_, line.data() + done, line.size() - done);
      if (count <= 0) return false;
      done += static_cast<std::size_t>(count);
    }
    return true;
  }
  /// Empty at the end or after `seconds`.
  auto read_line(double seconds) -> std::string {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (true) {
      if (const auto at = buffer_.find('\n'); at != std::string::npos) {
        auto line = buffer_.substr(0, at);
        buffer_.erase(0, at + 1);
        return line;
      }
      const auto left =
          std::chrono::duration<double>(end - std::chrono::steady_clock::now()).count();
      pollfd fd{out_, POLLIN, 0};
      if (left <= 0 || poll(&fd, 1, static_cast<int>(left * 1000) + 1) <= 0) return {};
      char chunk[1 << 16];
      const auto count = ::read(out_, chunk, sizeof chunk);
      if (count <= 0) return {};
      buffer_.append(chunk, static_cast<std::size_t>(count));
    }
  }
  void stop() {
    if (pid_ <= 0) return;
    close(in_);
    close(out_);
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
    buffer_.clear();
  }

 private:
  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
  std::string buffer_;
  std::string version_;
};

auto from_reply(const Json& reply) -> Observed {
  const auto text = [&](const Json& json, const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  Observed observed;
  const auto outcome = text(reply, "outcome");
  observed.outcome = outcome == "memory" ? Outcome::out_of_memory
                                         : outcome_from(outcome).value_or(Outcome::invalid);
  observed.output = text(reply, "output");
  observed.seconds = reply.value("seconds", 0.0);
  auto& s = observed.signature;
  s.stage = text(reply, "stage");
  s.error_class =
      text(reply, "signal").empty() ? text(reply, "error_class") : text(reply, "signal");
  s.message = normalised(text(reply, "message"));
  if (const auto frames = reply.find("frames"); frames != reply.end() && frames->is_array())
    for (const auto& frame : *frames)
      s.frames +=
          (s.frames.empty() ? "" : " < ") + (frame.is_string() ? frame.get<std::string>() : "");
  if (const auto numeric = reply.find("numeric"); numeric != reply.end() && numeric->is_object()) {
    s.numeric = text(*numeric, "class");
    observed.first_output = numeric->value("first", -1);
    s.message.clear();  // its numbers differ from candidate to candidate
  }
  return observed;
}

class TorchOracle final : public Oracle {
 public:
  explicit TorchOracle(TorchOptions options) : options_(std::move(options)) {}

  /// Unless another worker was named, the one inside this binary is written out for Python.
  auto start() -> Result<void> {
    if (options_.worker.empty()) {
      options_.worker = (folder_.path() / "torch_worker.py").string();
      ASSAY_TRY_VOID(write_file_atomically(options_.worker, kTorchWorkerScript));
    }
    return worker_.start(options_.python, options_.worker);
  }

  [[nodiscard]] auto identity() const -> std::string override {
    const auto& check = options_.check;
    return fmt::format("torch {} {} {} dynamic={} tolerance={}{}", worker_.version(), options_.mode,
                       check.backend, check.dynamic, check.tolerance,
                       check.options == "{}" ? "" : " options=" + check.options);
  }
  [[nodiscard]] auto compile_check() const -> std::optional<CompileCheck> override {
    return options_.check;
  }

  [[nodiscard]] auto judge(std::span<const Candidate> candidates, const OracleLimits& limits)
      -> std::vector<Observed> override {
    std::vector<Observed> answers(candidates.size());
    for (std::size_t i = 0; i < candidates.size();) {
      const auto count =
          std::min(candidates.size() - i, static_cast<std::size_t>(std::max(limits.workers, 1)));
      ask(candidates.subspan(i, count), limits, std::span(answers).subspan(i, count));
      i += count;
    }
    return answers;
  }

 private:
  void ask(std::span<const Candidate> candidates, const OracleLimits& limits,
           std::span<Observed> answers) {
    std::map<int, std::size_t> waiting;
    const std::vector<TemporaryFolder> folders(candidates.size());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const auto& folder = folders[i].path();
      answers[i] = {.outcome = Outcome::invalid, .output = "not asked"};
      if (auto written = write_candidate(candidates[i].capture(), folder); !written) {
        answers[i].output = written.error().message;
        continue;
      }
      if (!worker_.running() && !start()) continue;
      const int id = ++last_id_;
      if (worker_.send(request(id, folder.string(), limits))) waiting[id] = i;
    }
    while (!waiting.empty()) {
      const auto line = worker_.read_line(limits.seconds + 60);
      if (line.empty()) {  // the worker itself is gone or hangs: start a new one next time
        worker_.stop();
        for (const auto& [id, i] : waiting) answers[i] = {.outcome = Outcome::timeout};
        break;
      }
      const auto reply = Json::parse(line, nullptr, false);
      const auto found = reply.is_object() ? waiting.find(reply.value("id", -1)) : waiting.end();
      if (found == waiting.end()) continue;
      answers[found->second] = from_reply(reply);
      waiting.erase(found);
    }
  }

  [[nodiscard]] auto request(int id, const std::string& folder, const OracleLimits& limits) const
      -> Json {
    Json json{{"id", id},
              {"script", folder + "/repro.py"},
              {"bundle", folder},
              {"mode", options_.mode},
              {"backend", options_.check.backend},
              {"dynamic", nullptr},
              {"options", Json::parse(options_.check.options, nullptr, false)},
              {"timeout_s", limits.seconds},
              {"memory_mib", limits.memory_bytes >> 20},
              {"tolerance", options_.check.tolerance}};
    if (!options_.check.dynamic.empty()) json["dynamic"] = options_.check.dynamic == "true";
    return json;
  }

  TorchOptions options_;
  TemporaryFolder folder_;  ///< of the worker's script
  Worker worker_;
  int last_id_ = 0;
};

}  // namespace

auto torch_oracle(TorchOptions options) -> Result<std::unique_ptr<Oracle>> {
  signal(SIGPIPE, SIG_IGN);
  if (!Json::parse(options.check.options, nullptr, false).is_object())
    return std::unexpected(Error{
        ErrorCode::usage,
        fmt::format("options of torch.compile: {} is not a JSON object", options.check.options)});
  auto oracle = std::make_unique<TorchOracle>(std::move(options));
  ASSAY_TRY_VOID(oracle->start());
  return oracle;
}

}  // namespace assay
