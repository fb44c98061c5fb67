// Real inputs of a run: the recorded ones, or new ones made at other sizes.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/expr/eval.h"
#include "core/ops/datum.h"
#include "replay/formats/capture.h"

namespace assay {

/// What about a value rests on something that the capture does not hold and that was made up. What
/// follows from it alone accuses nobody.
struct MadeUp {
  bool values = false;   ///< contents
  bool sizes = false;    ///< sizes or scalars: computed from contents that were made up
  bool strides = false;  ///< strides that a text does not state
  bool storage = false;  ///< how far the storage under the tensor reaches
  [[nodiscard]] auto any() const -> bool { return values || sizes || strides || storage; }
  friend auto operator==(const MadeUp&, const MadeUp&) -> bool = default;
};

/// What a run is fed with, and where it came from.
struct RunInputs {
  std::vector<Datum> values;                ///< one per placeholder
  std::map<std::string, Datum> attributes;  ///< get_attr path -> tensor
  std::vector<MadeUp> made_up;              ///< per placeholder
  /// Per placeholder: why there is no value although one was recorded (its layout runs past its
  /// storage). That is a finding about the capture, so it does not stop the run.
  std::vector<std::string> defects;
  /// Per placeholder: why nothing at all is known about it (a tensor without strides, an object);
  /// what it flows into stays unchecked.
  std::vector<std::string> unknown;
  std::string chosen_sizes;  ///< which sizes were chosen, since none were recorded; else empty
};

/// The inputs as recorded. Placeholders and attributes of which only metadata is known (backward
/// graphs, texts, scripts) get a deterministic fill in the recorded or claimed layout: floats in
/// [-0.25, 0.25), bools either way, integers 0, which is a valid index into anything; a tensor of
/// one float of which the graph says what it reads as (`eps.item()`) holds that number. Symbols
/// without any recorded value get one (sizes.h).
/// Storages that the graph resizes are as large as their views need. Errors: bad_input naming the
/// placeholder whose value cannot be made.
[[nodiscard]] auto recorded_inputs(const Capture& capture) -> Result<RunInputs>;

/// Where whole numbers come from at sizes other than the recorded ones.
enum class IntegerData : std::uint8_t {
  recorded,  ///< the recorded ones, repeated cyclically: indices stay what they were
  zero,      ///< where sizes have shrunk below recorded indices
};

/// Inputs at a binding of the symbols: layouts are the claims evaluated there; values repeat the
/// recorded ones cyclically or are fills. Symbols that the binding leaves out have their hint or
/// get a value. Errors: as above.
[[nodiscard]] auto inputs_at(const Capture& capture, const Binding& at,
                             IntegerData integers = IntegerData::recorded) -> Result<RunInputs>;

/// A tensor of this layout with the default fill, in a storage of at least `meta.storage_bytes`.
/// Errors: bad_input (negative extent, over 4 GiB).
[[nodiscard]] auto filled_tensor(RealMeta meta, std::uint32_t seed) -> Result<Tensor>;

/// Storage of a recorded storage's bytes. Errors: bad_input when the sizes disagree.
[[nodiscard]] auto make_storage(const StorageData& data) -> Result<std::shared_ptr<Storage>>;

}  // namespace assay
