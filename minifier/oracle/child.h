// Child processes that may hang, crash, flood or fork: judged, limited and cleaned up after.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "minifier/oracle/oracle.h"

namespace assay {

struct ChildResult {
  int exit_code = -1;  ///< if it ended by itself
  int signal = 0;      ///< if a signal ended it
  bool timed_out = false;
  bool out_of_memory = false;
  std::string output;  ///< the last bytes of stdout and stderr together
  std::string report;  ///< what a function child wrote for us
  double seconds = 0;
};

/// What a child does: a function (its return value comes back as `report`), or a shell command in
/// a folder.
struct ChildJob {
  std::function<std::string()> function;
  std::string command;
  std::string folder;
  std::vector<std::string> arguments;  ///< of the command, as "$@"
};

/// Runs jobs, at most `limits.workers` at a time, and returns their results in order. Each has a
/// process group of its own that is killed when it ends or breaks a limit; a command's descendants
/// that leave the group are found through a subreaper and killed too. Memory is that of the whole
/// group, polled; output beyond the limit is read and dropped.
[[nodiscard]] auto run_children(std::vector<ChildJob> jobs, const OracleLimits& limits)
    -> std::vector<ChildResult>;

/// What a command says with its exit code: 0 the failure is there, 1 it is not, 64 to 113 another
/// one, a signal a failure of its name, all else that the candidate is no program.
[[nodiscard]] auto judged_by_exit(const ChildResult& child) -> Observed;

/// "SIGSEGV" of 11.
[[nodiscard]] auto signal_name(int signal) -> std::string;

}  // namespace assay
