// Which places operators write at indices, by the contents of these.
#pragma once
#include <optional>

#include "core/ops/op_table.h"

namespace assay {

struct WrittenPlaces {
  std::int64_t most = 0;   ///< elements that meet in the place where most do
  bool are_added = false;  ///< they are, and what was there; else one of them stays
};
/// Nothing for operators that do not write so (or take the largest of what meets), and for operands
/// that are not as they should be. `args` has one for each parameter of the schema; of floats only
/// the layout is asked for. In-place forms are what their functional ones are.
[[nodiscard]] auto written_places(const OpRow& row, const DatumList& args)
    -> std::optional<WrittenPlaces>;

}  // namespace assay
