// Oracles that are functions of Assay, run in forked children: a crash is a failure, not the end.
#include <algorithm>

#include "minifier/oracle/child.h"
#include "minifier/oracle/observed_json.h"
#include "replay/interp/debug.h"

namespace assay {
namespace {

/// What the child's end says if it left no report.
auto without_report(const ChildResult& child) -> Observed {
  if (child.timed_out) return {.outcome = Outcome::timeout, .output = child.output};
  if (child.out_of_memory) return {.outcome = Outcome::out_of_memory, .output = child.output};
  Signature signature{.stage = "crash",
                      .error_class = child.signal != 0 ? signal_name(child.signal)
                                                       : fmt::format("exit {}", child.exit_code),
                      .message = normalised(child.output.substr(0, child.output.find('\n')))};
  return {.outcome = Outcome::fails, .signature = std::move(signature), .output = child.output};
}

class FunctionOracle final : public Oracle {
 public:
  FunctionOracle(std::string identity, std::function<Observed(const Capture&)> judge)
      : identity_(std::move(identity)), judge_(std::move(judge)) {}

  [[nodiscard]] auto identity() const -> std::string override { return identity_; }

  [[nodiscard]] auto judge(std::span<const Candidate> candidates, const OracleLimits& limits)
      -> std::vector<Observed> override {
    std::vector<ChildJob> jobs;
    for (const auto& candidate : candidates) {
      ChildJob job;
      job.function = [this, &candidate] { return to_json(judge_(candidate.capture())); };
      jobs.push_back(std::move(job));
    }
    std::vector<Observed> answers;
    for (const auto& child : run_children(std::move(jobs), limits)) {
      auto answer = observed_from_json(child.report);
      answers.push_back(answer ? *std::move(answer) : without_report(child));
      answers.back().seconds = child.seconds;
    }
    return answers;
  }

  [[nodiscard]] auto suspects(const Observed& observed) const -> std::vector<std::string> override {
    return observed.signature.node.empty() ? std::vector<std::string>{}
                                           : std::vector{observed.signature.node};
  }

 private:
  std::string identity_;
  std::function<Observed(const Capture&)> judge_;
};

auto signature_of(const std::string& stage, const Finding& finding) -> Signature {
  return {.stage = stage,
          .error_class = std::string(info(finding.kind).name),
          .op = finding.target,
          .node = finding.node_name};
}

}  // namespace

auto function_oracle(std::string identity, std::function<Observed(const Capture&)> judge)
    -> std::unique_ptr<Oracle> {
  return std::make_unique<FunctionOracle>(std::move(identity), std::move(judge));
}

auto finding_oracle(std::string stage, FindFindings find, std::string kind)
    -> std::unique_ptr<Oracle> {
  auto identity = kind.empty() ? stage : stage + " " + kind;
  return function_oracle(std::move(identity), [stage = std::move(stage), find = std::move(find),
                                               kind = std::move(kind)](const Capture& capture) {
    const auto findings = find(capture);
    if (!findings) return Observed{.outcome = Outcome::invalid, .output = findings.error().message};
    Observed observed;
    for (const auto* finding : root_findings(*findings)) {
      if (!kind.empty() && info(finding->kind).name != kind) continue;
      auto signature = signature_of(stage, *finding);
      if (observed.outcome != Outcome::passes) {
        observed.others.push_back(std::move(signature));
        continue;
      }
      observed.outcome = Outcome::fails;
      observed.signature = std::move(signature);
      observed.output = finding->message;
    }
    return observed;
  });
}

auto debug_oracle(const OpTable& table, std::string kind) -> std::unique_ptr<Oracle> {
  const auto find = [&table](const Capture& capture) -> Result<std::vector<Finding>> {
    DebugOptions options;
    options.symbolic = false;
    ASSAY_TRY(auto report, debug_capture(capture, table, options));
    return std::move(report.findings);
  };
  return finding_oracle("debug", find, std::move(kind));
}

}  // namespace assay
