// Running compiled programs: a program is compiled once and run at many bindings. Executors share
// this interface; two that disagree are a finding.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/program/program.h"
#include "core/base/result.h"
#include "core/ops/counter_random.h"
#include "core/ops/datum.h"

namespace assay {

class RandomState;

/// What an executor that checks found out about a program. Names are those of RunFault's row.
enum class RunFault : std::uint8_t {
  out_of_bounds,   ///< an access outside of the storage
  uninitialised,   ///< an element is read that nobody wrote
  write_conflict,  ///< two programs or lanes write one element without atomics
  read_conflict,   ///< one reads what another writes, without a barrier between them
  use_after_free,  ///< a name that was deleted, or whose storage was reused
  device_assert,   ///< an assert of a kernel is false
  assert_failed,   ///< an assert of the wrapper is false
  index_overflow,  ///< integer arithmetic that an index rests on wraps
  call_refused,    ///< a library call refuses its operands
  launch_hangs,    ///< a launch on a GPU does not end
  launch_faults,   ///< a launch on a GPU ends in an error that its process does not survive
  stale_launch,    ///< a launch on a GPU did not have the arguments that its program is bound to
};
[[nodiscard]] auto name(RunFault fault) -> std::string_view;

struct RunFinding {
  RunFault fault = RunFault::out_of_bounds;
  int line = 0;  ///< of the wrapper's statement
  std::string statement;
  std::string kernel;   ///< empty outside of kernels
  int kernel_line = 0;  ///< in the kernel's text
  std::string buffer;   ///< whose storage
  std::string param;    ///< of the kernel
  std::int64_t element = 0;
  std::int64_t program = 0, lane = 0;  ///< of the grid, of its tile
  std::int64_t times = 1;              ///< how many lanes met it at this statement
  std::string message;
};
/// Adds it, unless it is a read of the same unwritten memory at the same place: a value that
/// reaches several places is found at the first.
void add_once(std::vector<RunFinding>& findings, RunFinding finding);

/// After a launch or call: the statement and the buffers it wrote.
struct RunWritten {
  const HostOp* op = nullptr;
  /// By name; what a library call gave as a list by `buf1[0]`, `buf1[1]`.
  std::span<const std::pair<std::string, Tensor>> buffers;
};

struct ProgramRunOptions {
  /// Blocks of kernels: nothing chooses large ones, for speed, of which some lanes lie beyond the
  /// extent where they can. Right kernels do not depend on them.
  std::optional<std::int64_t> block;        ///< the same for all axes where it may be
  std::optional<std::uint32_t> block_seed;  ///< powers of two by chance
  std::function<void(const RunWritten&)> tap = {};
  /// Before each statement of `call` and of the functions that it calls.
  std::function<void(const HostFunction&, const HostOp&)> step = {};
  /// Generators whose seed is known (core/ops/generator.h); null: random operators draw numbers of
  /// their own.
  std::shared_ptr<RandomState> random = nullptr;
};

struct ProgramRun {
  DatumList outputs;
  std::vector<RunFinding> findings;
  std::int64_t launches = 0, calls = 0;
  /// Operators whose calls left the device for the host, with the reason ("aten.mode.default: no
  /// GPU code"), and how often.
  std::map<std::string, int> on_host;
  /// Of library calls that drew numbers of Assay's own.
  Randomness randomness = Randomness::none;
  std::vector<std::string> notes = {};  ///< what was not looked for, and why
};

/// Of the host in s, issued one by one; 0 where there are none or the executor does not tell.
struct HostCosts {
  double launch = 0, library_call = 0;
};

/// What was tried for a launch, and what it is made with from here on.
struct TunedLaunch {
  std::string kernel, statement;
  std::vector<std::pair<std::string, double>> tried;  ///< way and s, the usual one first
  std::size_t best = 0;                               ///< among them
  bool is_known = false;                              ///< from an earlier run: `tried` is that way
};

/// How a program is measured.
struct MeasureOptions {
  int runs = 20;
  /// Calls of a run, in a row: its time is theirs divided by their number. With one, a run on a GPU
  /// begins when nothing else is at work there, so that what the host does before counts.
  int burst = 1;
};

/// How long a program takes when nothing but it runs.
struct ProgramTimes {
  double seconds = 0;                  ///< median of the runs, without the first
  double bytes = 0;                    ///< of inputs and outputs
  double copy_bytes_per_s = 0;         ///< of a copy on the same device, read and written counted
  std::map<std::string, int> on_host;  ///< as of a run
  /// The first call of all at these sizes, inputs being in place, in s of wall-clock time, and what
  /// took how much of it; nothing where the executor does not tell. On a GPU it is at work during
  /// "libraries" and "run".
  double first_seconds = 0;
  std::map<std::string, double> first_parts;
  /// What the second call does beside that: s of the host, before anything runs.
  std::map<std::string, double> second_parts;
  HostCosts host;
  std::vector<TunedLaunch> tuned;
  /// Of outputs: bytes that differ between the first call and one after the measured ones, both of
  /// these inputs; nothing where the executor does not compare them. Atomic sums and random
  /// numbers may differ.
  std::optional<std::int64_t> changed_bytes;
};

/// A program that is ready to run.
class CompiledProgram {
 public:
  virtual ~CompiledProgram() = default;
  /// One datum per input of `call`: tensors and numbers. Tensors are written where the program
  /// does. Findings are not errors. Errors: unsupported (a kernel or statement that was not
  /// understood, a call without a row), bad_input (inputs that do not fit).
  [[nodiscard]] virtual auto run(const DatumList& inputs, const ProgramRunOptions& options) const
      -> Result<ProgramRun> = 0;
  /// Inputs are where the program needs them, before the clock starts. Errors: as run.
  [[nodiscard]] virtual auto measure(const DatumList& inputs, const MeasureOptions& options) const
      -> Result<ProgramTimes>;
};

/// Bytes of the elements of all tensors among them.
[[nodiscard]] auto bytes_of(const DatumList& data) -> double;

class Executor {
 public:
  virtual ~Executor() = default;
  [[nodiscard]] virtual auto name() const -> std::string_view = 0;
  /// Does a run look at every access?
  [[nodiscard]] virtual auto is_checked() const -> bool { return false; }
  /// The program must outlive the result. Errors: unsupported.
  [[nodiscard]] virtual auto compile(const HostProgram& program) const
      -> Result<std::unique_ptr<CompiledProgram>> = 0;
};

}  // namespace assay
