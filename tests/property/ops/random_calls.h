// Calls of operators for property tests: random arguments, and every layout that sizes can have.
#pragma once
#include <random>
#include <string>
#include <vector>

#include "core/ops/datum.h"
#include "core/ops/schema.h"

namespace assay::testing {

using Random = std::mt19937_64;

inline auto pick(Random& random, std::size_t count) -> std::size_t {
  return random() % count;
}
inline auto chance(Random& random, std::size_t one_in) -> bool {
  return random() % one_in == 0;
}

/// How the elements of a tensor lie in its storage, in elements.
struct LayoutChoice {
  Ints strides;
  std::int64_t offset = 0;
  [[nodiscard]] auto repeats_elements(const Ints& sizes) const -> bool;
};

/// Every order of dimensions, dense and with step 2, one stride of 0 at a time, an offset; for four
/// dimensions contiguous, channels-last and reversed only. The first one is contiguous.
[[nodiscard]] auto all_layouts(const Ints& sizes) -> std::vector<LayoutChoice>;
[[nodiscard]] auto random_layout(Random& random, const Ints& sizes) -> LayoutChoice;

/// A tensor with a storage of its own; floats in [0.1, 0.9), integers 0 and 1.
[[nodiscard]] auto filled_tensor(Random& random, DType dtype, const Ints& sizes,
                                 const LayoutChoice& layout) -> Tensor;

/// How random_arguments chooses sizes and layouts of tensors.
struct ArgumentStyle {
  bool contiguous = false;  ///< else any layout
  bool same_sizes = false;  ///< every tensor has the base's sizes; else often, or related ones
};
/// One value per parameter, of its kind, unrelated to what the operator wants of it: most calls are
/// rejected. Errors: what bind_arguments rejects.
[[nodiscard]] auto random_arguments(Random& random, const Schema& schema, const Ints& base,
                                    DType dtype, const ArgumentStyle& style) -> Result<DatumList>;
[[nodiscard]] auto random_sizes(Random& random) -> Ints;
[[nodiscard]] auto random_dtype(Random& random) -> DType;

/// Replaces every tensor in the datum.
template <class F>
auto map_tensors(const Datum& datum, const F& f) -> Datum {
  if (const auto* tensor = datum.real()) return f(*tensor);
  if (const auto* list = datum.list()) {
    DatumList items;
    for (const auto& item : *list) items.push_back(map_tensors(item, f));
    return {std::move(items)};
  }
  return datum;
}
[[nodiscard]] auto tensors_of(const Datum& datum) -> std::vector<Tensor>;
[[nodiscard]] auto describe_call(const DatumList& args) -> std::string;

}  // namespace assay::testing
