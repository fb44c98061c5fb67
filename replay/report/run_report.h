// What a run computed, for people and for machines.
#pragma once
#include <string>
#include <vector>

#include "replay/formats/capture.h"
#include "replay/interp/run.h"

namespace assay {

/// Layout and checksums (sum, sum of absolute values) of the outputs, or of every node.
[[nodiscard]] auto run_text(const Capture& capture, const GraphRun& run, bool all) -> std::string;

/// The same, versioned ("schema": "assay.run/1"). Infinities and NaN are "inf", "-inf", "nan".
/// `chosen_sizes` says which sizes were chosen for inputs that are not recorded, `stood_in` which
/// calls were not run.
[[nodiscard]] auto run_json(const Capture& capture, const GraphRun& run, bool all,
                            const std::string& chosen_sizes,
                            const std::vector<std::string>& stood_in) -> std::string;

}  // namespace assay
