// What the allow-listed globals of a pickle mean; used by the pickle reader only.
#pragma once
#include <optional>
#include <span>
#include <string_view>

#include "replay/formats/pickle.h"

namespace assay {

enum class PickleGlobalKind {
  rebuild_tensor,        ///< storage, offset, sizes, strides, requires_grad, hooks[, metadata]
  rebuild_tensor_typed,  ///< the same with a dtype after the hooks
  rebuild_parameter,     ///< tensor, requires_grad, hooks, perhaps a state of attributes
  rebuild_from_type,     ///< one of these, a class, its arguments, a state of attributes
  ordered_dict,
  torch_size,
  torch_device,
  storage_class,  ///< only named, never called
  tensor_class,   ///< likewise
  dtype,
};

struct PickleGlobalInfo {
  PickleGlobalKind kind;
  std::optional<DType> dtype;  ///< of a storage class or dtype; nothing for untyped storages
};

[[nodiscard]] auto find_pickle_global(std::string_view name) -> std::optional<PickleGlobalInfo>;

/// Result of calling a global. `values` is what ids in `arguments` refer to.
/// Errors: bad_input (wrong arguments), unsupported (a global that cannot be called).
[[nodiscard]] auto call_pickle_global(std::string_view name, std::span<const PickleId> arguments,
                                      const Pickle& values) -> Result<PickleValue>;

/// What torch.save's persistent id ('storage', class, key, location, count) names.
[[nodiscard]] auto resolve_persistent_id(std::span<const PickleId> parts, const Pickle& values)
    -> Result<PickleStorage>;

}  // namespace assay
