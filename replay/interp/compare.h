// One claim against one observed value: every difference as a finding.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/finding/finding.h"
#include "replay/interp/run.h"

namespace assay {

/// A layout that runs past its storage.
struct Shortage {
  std::int64_t needed_bytes = 0;
  std::int64_t storage_bytes = 0;
  [[nodiscard]] auto message() const -> std::string;
};
[[nodiscard]] auto shortage_of(const RealMeta& layout, std::int64_t storage_bytes)
    -> std::optional<Shortage>;

/// Equal up to the 15 digits with which captures print floats.
[[nodiscard]] auto equal_as_printed(double claim, double seen) -> bool;

/// Devices agree where both are known; an index that was left out fits any.
[[nodiscard]] auto same_device(const Device& claim, const Device& real) -> bool;

/// The claim as numbers. Errors: undecided for a symbol without a value.
[[nodiscard]] auto evaluate_claim(const TensorMeta& claim, const Binding& binding)
    -> Result<RealMeta>;

/// All differences between what a claim states and what was observed: structure, dtype, device,
/// rank, sizes, strides (significant and insignificant apart), offset, scalar values; and, where
/// the layout is right, its extent against the storage. An observed device without a type is not
/// known.
/// `blank` carries node, blame and origin into every finding.
[[nodiscard]] auto compare_value(const Claim& claim, const ObservedValue& seen,
                                 const Binding& binding, const Finding& blank)
    -> std::vector<Finding>;

/// Claimed alias groups against real storages.
class AliasCheck {
 public:
  void add(std::size_t node, const Claim& claim, const ObservedValue& seen);

  struct Conflict {
    std::size_t node;
    std::optional<std::size_t> claimed_with, observed_with;  ///< nodes it is said to / does alias
  };
  /// Nodes whose group is not the one most nodes on the same storage have. In node order.
  [[nodiscard]] auto conflicts() const -> std::vector<Conflict>;

 private:
  struct Member {
    std::size_t node;
    int group, storage;
  };
  std::vector<Member> members_;
};

}  // namespace assay
