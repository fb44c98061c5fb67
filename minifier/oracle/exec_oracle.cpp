// A command of the user's: the contract of C-Vise and git bisect, with signals told apart.
#include "minifier/edits/export.h"
#include "minifier/oracle/child.h"
#include "minifier/oracle/temporary_folder.h"

namespace assay {
namespace {

constexpr int kReproduces = 0;
constexpr int kDoesNot = 1;
constexpr int kFirstOther = 64;
constexpr int kLastOther = 113;
constexpr int kSignalled = 128;  ///< plus the signal's number: what a shell says of it
// Everything else says that the candidate is no program: 125 on purpose, 127 was not started.

}  // namespace

auto judged_by_exit(const ChildResult& child) -> Observed {
  Observed observed{.output = child.output, .seconds = child.seconds};
  const auto fails = [&](std::string error_class) {
    observed.outcome = Outcome::fails;
    observed.signature = {.stage = "exec", .error_class = std::move(error_class)};
  };
  if (child.timed_out)
    observed.outcome = Outcome::timeout;
  else if (child.out_of_memory)
    observed.outcome = Outcome::out_of_memory;
  else if (child.signal != 0)
    fails(signal_name(child.signal));
  else if (child.exit_code == kReproduces)
    fails("reproduces");
  else if (child.exit_code >= kFirstOther && child.exit_code <= kLastOther)
    fails(fmt::format("failure {}", child.exit_code));
  else if (child.exit_code > kSignalled)
    fails(signal_name(child.exit_code - kSignalled));
  else if (child.exit_code != kDoesNot)
    observed.outcome = Outcome::invalid;
  return observed;
}

namespace {

class ExecOracle final : public Oracle {
 public:
  explicit ExecOracle(std::string command) : command_(std::move(command)) {}
  [[nodiscard]] auto identity() const -> std::string override { return "exec " + command_; }

  [[nodiscard]] auto judge(std::span<const Candidate> candidates, const OracleLimits& limits)
      -> std::vector<Observed> override {
    std::vector<TemporaryFolder> folders(candidates.size());
    std::vector<ChildJob> jobs;
    std::vector<std::string> broken(candidates.size());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const auto& folder = folders[i].path();
      if (auto written = write_candidate(candidates[i].capture(), folder); !written)
        broken[i] = written.error().message;
      ChildJob job;
      job.command = broken[i].empty() ? command_ : "exit 125;";
      job.folder = folder.string();
      job.arguments = {(folder / "repro.py").string(), (folder / kBundleName).string()};
      jobs.push_back(std::move(job));
    }
    std::vector<Observed> answers;
    const auto children = run_children(std::move(jobs), limits);
    for (std::size_t i = 0; i < children.size(); ++i) {
      answers.push_back(judged_by_exit(children[i]));
      if (!broken[i].empty()) answers[i].output = broken[i];
    }
    return answers;
  }

 private:
  std::string command_;
};

}  // namespace

auto exec_oracle(std::string command) -> std::unique_ptr<Oracle> {
  return std::make_unique<ExecOracle>(std::move(command));
}

}  // namespace assay
