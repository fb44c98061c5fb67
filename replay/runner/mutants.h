// Faults planted into one graph, each judged by the tool that must see it: how good the tools are
// on this graph, and whether one of them has gone blind.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "replay/runner/compile.h"

namespace assay {

/// One fault in one graph.
struct Mutant {
  Fault fault = Fault::short_storage;
  bool is_planted = false;        ///< the graph has something that the fault is about
  bool is_seen = false;           ///< the named tool complains, and says what is wrong
  std::string node;               ///< that is wrong, where the fault is about one
  std::vector<std::string> said;  ///< by the named tool
};

struct MutantOptions {
  ScheduleOptions schedule;
  /// Other sizes: for `specialised`, which shows only away from the hints, and for what does not
  /// show at those that are given. Null: there are none.
  const RunInputs* elsewhere = nullptr;
  bool is_blind = false;  ///< Fault::blind_compare is on
};

/// Inputs at sizes of which one is another than its hint; nothing where no other is admitted.
[[nodiscard]] auto inputs_elsewhere(const Capture& capture) -> std::optional<RunInputs>;

/// Plants one fault and asks its tool. Errors: of compiling and running without the fault.
[[nodiscard]] auto plant_fault(Fault fault, const Capture& capture, const RunInputs& inputs,
                               const OpTable& table, const MutantOptions& options = {})
    -> Result<Mutant>;
/// All of them, but those of the tools themselves, in the order of the rows.
[[nodiscard]] auto plant_faults(const Capture& capture, const RunInputs& inputs,
                                const OpTable& table, const MutantOptions& options = {})
    -> Result<std::vector<Mutant>>;
/// "leaked-strides is not seen by compare" for each that was planted and not seen.
[[nodiscard]] auto not_seen(const std::vector<Mutant>& mutants) -> std::vector<std::string>;

/// What all tools say of the graph as it is: nothing, if all is well. Errors: as above.
[[nodiscard]] auto complaints(const Capture& capture, const RunInputs& inputs, const OpTable& table)
    -> Result<std::vector<std::string>>;

/// Faults::claims: one call gets another order of strides, and all behind it what the rules say of
/// that. The name of the call; nothing where the graph has none (for failing_view: none behind
/// which a view refuses).
[[nodiscard]] auto mistrace(Fault fault, Graph& graph, const OpTable& table)
    -> std::optional<std::string>;

}  // namespace assay
