// Real inputs of a run: the recorded ones, or new ones made at other sizes.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/expr/eval.h"
#include "core/ops/datum.h"
#include "replay/formats/capture.h"

namespace assay {

/// What a run is fed with, and where it came from.
struct RunInputs {
  std::vector<Datum> values;                ///< one per placeholder
  std::map<std::string, Datum> attributes;  ///< get_attr path -> tensor
  std::vector<bool> made_up;                ///< per placeholder: values are a fill, not recorded
  /// Per placeholder: why there is no value although one was recorded (its layout runs past its
  /// storage). That is a finding about the capture, so it does not stop the run.
  std::vector<std::string> defects;
};

/// The inputs as recorded. Placeholders of which only metadata is known (backward graphs, scripts)
/// get a deterministic fill in the recorded layout: floats in [-0.25, 0.25), integers and bools 0.
/// Errors: bad_input naming the placeholder of which nothing is known.
[[nodiscard]] auto recorded_inputs(const Capture& capture) -> Result<RunInputs>;

/// Inputs at a binding of the symbols: layouts are the claims evaluated there; values repeat the
/// recorded ones cyclically (so indices stay valid) or are fills. Errors: as above, and undecided
/// for a symbol without a value.
[[nodiscard]] auto inputs_at(const Capture& capture, const Binding& binding) -> Result<RunInputs>;

/// Storage of a recorded storage's bytes. Errors: bad_input when the sizes disagree.
[[nodiscard]] auto make_storage(const StorageData& data) -> Result<std::shared_ptr<Storage>>;

}  // namespace assay
