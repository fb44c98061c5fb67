// A pickle reader that can build tensors, numbers, text and containers, and can run nothing.
// Globals come from a short allow-list; every other one is refused by name.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/tensor/meta.h"

namespace assay {

/// Index of a value in Pickle::values. Values refer to each other by id, so shared and even cyclic
/// pickles cost nothing to hold and nothing to destroy.
using PickleId = std::int32_t;

struct PickleList {
  std::vector<PickleId> items;
  bool is_tuple = false;
};
struct PickleDict {
  std::vector<std::pair<PickleId, PickleId>> items;  ///< in insertion order
};
struct PickleBytes {
  std::string bytes;
};
/// A name from the allow-list that has not been called, e.g. a storage class.
struct PickleGlobal {
  std::string name;  ///< "torch.FloatStorage"
};
/// A storage kept outside the pickle, as torch.save writes them.
struct PickleStorage {
  std::string key;              ///< file below data/
  std::optional<DType> dtype;   ///< nothing for untyped storages
  std::int64_t size_bytes = 0;  ///< as the pickle claims
  Device device;
};
struct PickleTensor {
  PickleStorage storage;
  DType dtype = DType::float32;
  Ints sizes;
  Ints strides;
  std::int64_t offset = 0;  ///< elements
  bool requires_grad = false;
  bool is_parameter = false;
};

struct PickleValue {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, PickleBytes, PickleList,
               PickleDict, PickleGlobal, PickleStorage, PickleTensor, DType, Device>
      value;
};

struct Pickle {
  std::vector<PickleValue> values;
  PickleId root = 0;
  [[nodiscard]] auto at(PickleId id) const -> const PickleValue& {
    return values[static_cast<std::size_t>(id)];
  }
};

struct PickleLimits {
  std::size_t max_values = 2'000'000;      ///< distinct values, stack and memo entries
  std::int64_t max_expanded = 16'000'000;  ///< values met when shared parts are walked repeatedly
  int max_depth = 200;                     ///< nesting of containers
};

/// Runs one pickle of protocol 2 to 5 (what torch.save writes). The result is acyclic, at most
/// `max_depth` deep and `max_expanded` large when walked from the root, so plain recursion over it
/// is safe. Errors: bad_input (malformed, truncated, over a limit, cyclic), unsupported (a global
/// that is not on the allow-list, named; an opcode that builds objects, named). Messages give the
/// offset.
[[nodiscard]] auto read_pickle(std::string_view bytes, const PickleLimits& limits = {})
    -> Result<Pickle>;

/// Does this pickle global, e.g. `torch._utils._rebuild_tensor_v2`, have a meaning here?
[[nodiscard]] auto is_allowed_global(std::string_view name) -> bool;

}  // namespace assay
