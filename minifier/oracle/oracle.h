// What judges a candidate, and what a failure is known by.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/finding/finding.h"
#include "minifier/edits/program.h"
#include "replay/bundle/repro.h"

namespace assay {

/// What tells one failure from another. Empty parts are not compared.
struct Signature {
  std::string stage = {};        ///< "debug", "compile", "exec", ...
  std::string error_class = {};  ///< finding kind, exception type, "exit 3", "SIGSEGV"
  std::string message = {};      ///< normalised: numbers, addresses and paths are classes
  std::string frames = {};       ///< innermost frames, joined by " < "
  std::string op = {};           ///< operator the failure starts at
  std::string node = {};         ///< node the failure starts at
  std::string numeric = {};      ///< "nan", "inf", "mismatch", ...
  friend auto operator==(const Signature&, const Signature&) -> bool = default;
};
/// How alike two failures must be: strict all parts, normal stage, class, message and operator,
/// loose stage and class.
enum class MatchLevel : std::uint8_t { loose, normal, strict };
[[nodiscard]] auto matches(const Signature& a, const Signature& b, MatchLevel level) -> bool;
[[nodiscard]] auto to_string(const Signature& signature) -> std::string;
/// Digits, hexadecimal addresses and file paths replaced, so that the same message at other sizes
/// is the same.
[[nodiscard]] auto normalised(std::string_view message) -> std::string;

enum class Outcome : std::uint8_t {
  passes,
  fails,    ///< with `signature`
  invalid,  ///< the candidate itself is no proper program: no answer about the failure
  timeout,
  out_of_memory,
};
[[nodiscard]] auto name(Outcome outcome) -> std::string_view;
[[nodiscard]] auto outcome_from(std::string_view name) -> std::optional<Outcome>;

/// What an oracle saw of one candidate.
struct Observed {
  Outcome outcome = Outcome::passes;
  Signature signature = {};
  std::string output = {};  ///< tail of what it printed
  double seconds = 0;
  int first_output = -1;  ///< the first that is wrong, where outputs are compared
  /// Other failures seen in the same run: a candidate may have several.
  std::vector<Signature> others = {};
};

/// A candidate: a part of a program, whose capture is made when somebody looks, or a capture.
class Candidate {
 public:
  /// The program must outlive the candidate.
  Candidate(const Program& program, Selection selection)
      : program_(&program), selection_(std::move(selection)) {
    program.repair(selection_);
  }
  explicit Candidate(Capture capture)
      : capture_(std::make_shared<const Capture>(std::move(capture))) {}
  /// Null for a candidate that is no part of a program.
  [[nodiscard]] auto program() const -> const Program* { return program_; }
  [[nodiscard]] auto selection() const -> const Selection& { return selection_; }
  [[nodiscard]] auto capture() const -> Capture {
    return program_ ? program_->cut(selection_) : *capture_;
  }
  [[nodiscard]] auto calls() const -> int {
    return program_ ? program_->kept_calls(selection_) : capture_->graph.call_count();
  }
  /// Content hash: equal candidates have equal keys.
  [[nodiscard]] auto key() const -> std::uint64_t;

 private:
  const Program* program_ = nullptr;
  Selection selection_;
  std::shared_ptr<const Capture> capture_;
};

/// Limits of one query. Zero means none.
struct OracleLimits {
  double seconds = 300;
  std::int64_t memory_bytes = std::int64_t{8} << 30;
  std::size_t output_bytes = std::size_t{64} << 10;
  int workers = 1;
};

/// Judges candidates. Runs whatever may hang, crash or leak in child processes.
class Oracle {
 public:
  virtual ~Oracle() = default;
  /// Says what is asked, including the command and options: part of every stored answer's key.
  [[nodiscard]] virtual auto identity() const -> std::string = 0;
  /// One answer per candidate, in order; up to `limits.workers` at a time.
  [[nodiscard]] virtual auto judge(std::span<const Candidate> candidates,
                                   const OracleLimits& limits) -> std::vector<Observed> = 0;
  /// How a script shows the failure by itself, where PyTorch alone can.
  [[nodiscard]] virtual auto compile_check() const -> std::optional<CompileCheck> {
    return std::nullopt;
  }
  /// Names of nodes that the failure seems to start at, if the oracle can tell.
  [[nodiscard]] virtual auto suspects(const Observed&) const -> std::vector<std::string> {
    return {};
  }
};

/// Reproduces iff all named nodes are still calls and, with `chain`, each still reaches the next.
/// In the process itself: for benchmarks and tests.
[[nodiscard]] auto node_oracle(std::vector<std::string> nodes, bool chain)
    -> std::unique_ptr<Oracle>;
/// Calls `judge` on the candidate's capture in a forked child.
[[nodiscard]] auto function_oracle(std::string identity,
                                   std::function<Observed(const Capture&)> judge)
    -> std::unique_ptr<Oracle>;
/// Root findings of an analysis of Assay's own are the failure; the first of `kind` (any if empty)
/// is what it is known by.
using FindFindings = std::function<Result<std::vector<Finding>>(const Capture&)>;
[[nodiscard]] auto finding_oracle(std::string stage, FindFindings find, std::string kind)
    -> std::unique_ptr<Oracle>;
/// `assay debug`: a root finding is the failure. `kind` restricts to one kind of finding.
[[nodiscard]] auto debug_oracle(const OpTable& table, std::string kind) -> std::unique_ptr<Oracle>;
/// A shell command that gets the candidate's repro.py and bundle as two more arguments. Exit code
/// 0: the failure reproduces, 1: it does not, 125: the candidate is invalid, 64 to 113: another
/// failure of that number. Everything else and signals are failures of their own class.
[[nodiscard]] auto exec_oracle(std::string command) -> std::unique_ptr<Oracle>;

struct TorchOptions {
  std::string python = "python3";
  std::string worker;  ///< path of torch_worker.py; empty: the one inside this binary
  std::string mode = "compile";
  CompileCheck check;
};
/// A pool of PyTorch workers that import once and fork per candidate.
[[nodiscard]] auto torch_oracle(TorchOptions options) -> Result<std::unique_ptr<Oracle>>;

}  // namespace assay
