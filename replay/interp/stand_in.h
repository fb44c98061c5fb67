// Tensors that stand in for results nobody can compute: in the layout that was recorded or claimed.
#pragma once
#include <functional>
#include <map>
#include <memory>

#include "core/ops/datum.h"
#include "replay/formats/capture.h"

namespace assay {

/// Makes values for calls that Assay cannot run, so that the nodes behind them are still checked.
/// Contents are a fill. Sharing of storage is kept where recording or claim state it.
class StandIns {
 public:
  /// Remembers which storage stands behind a recorded or claimed alias group.
  void learn(const Observation& recorded, const Datum& value);
  void learn(const Claim& claim, const Datum& value);

  /// In the recorded layout. Nothing where the recording has neither layout nor number.
  [[nodiscard]] auto from_recording(const Observation& recorded) -> std::optional<Datum>;
  /// In the claimed layout at these sizes. Nothing for an empty claim, a symbol without a value, or
  /// a layout that cannot be.
  [[nodiscard]] auto from_claim(const Claim& claim, const Binding& binding) -> std::optional<Datum>;

 private:
  using Groups = std::map<int, std::shared_ptr<Storage>>;
  [[nodiscard]] auto make(RealMeta meta, Groups& groups, int group) -> std::optional<Datum>;

  Groups recorded_;
  Groups claimed_;
  std::uint32_t seed_ = 0x51a0;
};

}  // namespace assay
