#include "replay/runner/undefined_results.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/tensor/convert.h"
#include "replay/runner/written_places.h"

namespace assay {
namespace {

using Pair = std::array<std::int64_t, 2>;
/// Numbers of two dimensions; an empty list stands for others.
auto pair(const Datum& datum, std::optional<Pair> empty = std::nullopt) -> std::optional<Pair> {
  const auto* list = datum.list();
  if (list == nullptr) return std::nullopt;
  if (list->empty()) return empty;
  const auto number = [](const Datum& one) {
    const auto* scalar = one.scalar();
    return scalar == nullptr ? std::nullopt : scalar->as_int();
  };
  const auto first = number(list->front()), second = number(list->back());
  return first && second ? std::optional(Pair{*first, *second}) : std::nullopt;
}

/// gradient, self, kernel, stride, padding, dilation, ceil_mode, indices: is one not in its window?
auto is_outside_of_windows(const DatumList& args) -> bool {
  const auto *self = args[1].real(), *index = args[7].real();
  const auto kernel = pair(args[2]), stride = pair(args[3], kernel);
  const auto padding = pair(args[4]), dilation = pair(args[5]);
  if (self == nullptr || index == nullptr || index->sizes().size() < 3 || !kernel || !stride ||
      !padding || !dilation)
    return false;
  const auto width = self->sizes().back();
  const auto rows = index->sizes()[index->sizes().size() - 2], columns = index->sizes().back();
  std::int64_t window = 0;
  return std::ranges::any_of(to_vector<std::int64_t>(*index), [&](std::int64_t place) {
    const Pair at = {window / columns % rows, window % columns};
    const Pair chosen = {place / width, place % width};
    ++window;
    for (std::size_t d = 0; d < at.size(); ++d) {
      const auto into = chosen[d] - at[d] * (*stride)[d] + (*padding)[d];
      if (into < 0 || into > ((*kernel)[d] - 1) * (*dilation)[d]) return true;
    }
    return false;
  });
}

}  // namespace

auto is_undefined(const OpRow& row, const DatumList& args) -> bool {
  if (row.schema.overload == "aten.max_pool2d_with_indices_backward.default")
    return is_outside_of_windows(args);
  const auto places = written_places(row, args);
  return places && !places->are_added && places->most > 1;
}

}  // namespace assay
