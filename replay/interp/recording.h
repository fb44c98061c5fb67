// What eager execution recorded, put in the place of what Assay computed.
#pragma once
#include <string>
#include <vector>

#include "replay/interp/run.h"

namespace assay {

/// A node at which Assay's own run and the recording disagree; then Assay is wrong, not the
/// program.
struct RecordingDifference {
  std::size_t at = 0;    ///< position in Graph::nodes
  std::string recorded;  ///< layout or number
  std::string own;       ///< the same from Assay's run, or the row's error
};

/// Assay's own run says nothing about devices that the inputs did not say: empties them.
void forget_devices(GraphRun& run);

/// Overwrites the observations of a run at the recorded sizes with the recorded ones, devices
/// included where they were recorded. In node order.
[[nodiscard]] auto merge_recording(const Capture& capture, GraphRun& run)
    -> std::vector<RecordingDifference>;

/// `f32[2][1]cpu`, `a tuple of 2`, `5`, `None`.
[[nodiscard]] auto describe(const ObservedValue& value) -> std::string;

}  // namespace assay
