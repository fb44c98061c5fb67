// Known bugs of compilers as switches: each makes the compiler wrong in one way, so that it can be
// measured which tool sees it. Nothing here runs unless it is asked for by name.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "compiler/program/program.h"

namespace assay {

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
};

/// Who must see a fault.
enum class FaultCatcher : std::uint8_t {
  prove,    ///< `assay compile --prove`: an obligation that is not proved
  check,    ///< `assay compile --check --executor interpret`: a wrong access or a false assert
  compare,  ///< `assay compile --check`: an output or a changed input that differs
  plan,     ///< `assay compile --memory`: the checker of memory plans
};
[[nodiscard]] auto name(FaultCatcher catcher) -> std::string_view;

struct FaultRow {
  Fault fault = Fault::short_storage;
  std::string_view name;  ///< on the command line
  std::string_view what;
  std::string_view source;  ///< a PyTorch issue or pull request with a bug of this class
  FaultCatcher catcher = FaultCatcher::compare;
};
/// All of them, in the order of the enumeration.
[[nodiscard]] auto fault_rows() -> std::span<const FaultRow>;
[[nodiscard]] auto find_fault(std::string_view name) -> std::optional<Fault>;

/// Makes the program wrong. False where it has nothing that the fault could be about; faults of
/// memory plans leave programs as they are and give true.
[[nodiscard]] auto apply_fault(Fault fault, HostProgram& program) -> bool;

}  // namespace assay
