// Known bugs of compilers as switches: each makes the compiler wrong in one way, so that it can be
// measured which tool sees it. Nothing here runs unless it is asked for by name.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "compiler/program/program.h"

namespace assay {

struct Graph;
struct ScheduleInput;

enum class Fault : std::uint8_t {
  short_storage,
  leaked_strides,
  early_death,
  dropped_asserts,
  narrow_index,
  specialised,
  lost_offset,
  lost_mutation,
  lost_dependency,
  short_loop,
  lost_store,
  negative_pad,
  shared_layout,
  wrong_strides,
  failing_view,
  merged_copies,
  lost_gradient,
  looping_rules,
  blind_compare,
  lost_tail,
};

/// What is made wrong, by the stage that makes it.
enum class FaultPlace : std::uint8_t {
  claims,   ///< layouts that tracing gives the calls: the rules of operators
  graph,    ///< passes over the graph
  lowered,  ///< layouts of tensors between lowering and scheduling
  program,  ///< the program that scheduling wrote
  memory,   ///< the plan of memory
  rules,    ///< simplification of expressions
  tool,     ///< the comparison with the graph
};

/// Who must see a fault.
enum class FaultCatcher : std::uint8_t {
  prove,    ///< `assay compile --prove`: an obligation that is not proved
  check,    ///< `assay compile --check --executor interpret`: a wrong access or a false assert
  compare,  ///< `assay compile --check`: an output or a changed input that differs
  run,      ///< `assay compile --check`: either of the last two
  plan,     ///< `assay compile --memory`: the checker of memory plans
  debug,    ///< `assay debug`: a root finding
  steps,    ///< every command that compiles: a simplification that did not end
  mutants,  ///< `assay compile --mutants`: faults that their tools do not see
};
[[nodiscard]] auto name(FaultCatcher catcher) -> std::string_view;

struct FaultRow {
  Fault fault = Fault::short_storage;
  std::string_view name;     ///< on the command line
  std::string_view classes;  ///< "F1": class of bug, README.md
  std::string_view what;
  std::string_view source;  ///< a PyTorch issue or pull request with a bug of this class
  FaultPlace place = FaultPlace::program;
  FaultCatcher catcher = FaultCatcher::compare;
  /// What the catcher must say, one of several by `|`; empty where that is the name of the node
  /// that is wrong.
  std::string_view blame;
};
/// All of them, in the order of the enumeration.
[[nodiscard]] auto fault_rows() -> std::span<const FaultRow>;
[[nodiscard]] auto find_fault(std::string_view name) -> std::optional<Fault>;

[[nodiscard]] auto row(Fault fault) -> const FaultRow&;

/// Makes the program wrong. False where it has nothing that the fault could be about; faults of
/// other places leave programs as they are and give true.
/// Faults of kernels are in those alone that compute the node `at`, if one is named.
[[nodiscard]] auto apply_fault(Fault fault, HostProgram& program, std::string_view at = {}) -> bool;
/// Makes a graph wrong before it is lowered, and says which call no longer is what it was. Nothing
/// where the graph has none that the fault could be about, and for faults of other places.
[[nodiscard]] auto apply_fault(Fault fault, Graph& graph) -> std::optional<std::string>;
/// Makes layouts of tensors wrong that are computed into memory. False as above.
[[nodiscard]] auto apply_fault(Fault fault, ScheduleInput& input) -> bool;

}  // namespace assay
