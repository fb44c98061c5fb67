#include "replay/runner/written_places.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/ops/pointwise.h"
#include "core/tensor/convert.h"

namespace assay {
namespace {

using Places = std::vector<std::int64_t>;

auto wrapped(std::int64_t index, std::int64_t size) -> std::int64_t {
  return index < 0 ? index + size : index;
}
auto whole(const Datum& datum) -> std::optional<std::int64_t> {
  const auto* scalar = datum.scalar();
  return scalar == nullptr ? std::nullopt : scalar->as_int();
}
/// The dimension of a tensor that an argument names.
auto dimension(const Tensor& of, const Datum& datum) -> std::optional<std::size_t> {
  const auto dim = whole(datum);
  const auto rank = static_cast<std::int64_t>(of.sizes().size());
  if (!dim || *dim < -rank || *dim >= rank) return std::nullopt;
  return static_cast<std::size_t>(wrapped(*dim, rank));
}

/// self, dim, index: of each line along the dimension.
auto in_lines(const DatumList& args) -> std::optional<Places> {
  const auto *self = args[0].real(), *index = args[2].real();
  if (self == nullptr || index == nullptr || index->sizes().size() != self->sizes().size())
    return std::nullopt;
  const auto along = dimension(*self, args[1]);
  if (!along) return std::nullopt;
  auto places = to_vector<std::int64_t>(*index);
  const auto strides = contiguous_strides(self->sizes());
  Ints at(index->sizes().size(), 0);
  for (auto& place : places) {
    place = wrapped(place, self->sizes()[*along]) * strides[*along];
    for (std::size_t d = 0; d < at.size(); ++d)
      if (d != *along) place += at[d] * strides[d];
    for (std::size_t d = at.size(); d-- > 0;) {
      if (++at[d] < index->sizes()[d]) break;
      at[d] = 0;
    }
  }
  return places;
}
/// self, dim, index: whole slices.
auto slices(const DatumList& args) -> std::optional<Places> {
  const auto *self = args[0].real(), *index = args[2].real();
  if (self == nullptr || index == nullptr) return std::nullopt;
  const auto along = dimension(*self, args[1]);
  if (!along) return std::nullopt;
  auto places = to_vector<std::int64_t>(*index);
  for (auto& place : places) place = wrapped(place, self->sizes()[*along]);
  return places;
}
/// self, index: as if self had one dimension.
auto flat(const DatumList& args) -> std::optional<Places> {
  const auto *self = args[0].real(), *index = args[1].real();
  if (self == nullptr || index == nullptr) return std::nullopt;
  auto places = to_vector<std::int64_t>(*index);
  for (auto& place : places) place = wrapped(place, numel(self->sizes()));
  return places;
}
/// self, indices, which broadcast. A mask has no place twice.
auto grid(const DatumList& args) -> std::optional<Places> {
  const auto* self = args[0].real();
  const auto* indices = args[1].list();
  if (self == nullptr || indices == nullptr || indices->size() > self->sizes().size())
    return std::nullopt;
  std::optional<Ints> together = Ints();
  for (const auto& one : *indices) {
    const auto* index = one.real();
    if (index == nullptr) continue;
    if (index->dtype() == DType::boolean || index->dtype() == DType::uint8) return std::nullopt;
    together = common_sizes(*together, index->sizes());
    if (!together) return std::nullopt;
  }
  Places places(static_cast<std::size_t>(numel(*together)), 0);
  for (std::size_t d = 0; d < indices->size(); ++d) {
    const auto* index = (*indices)[d].real();
    if (index == nullptr) continue;
    const auto chosen = to_vector<std::int64_t>(expanded_view(*index, *together));
    const auto size = self->sizes()[d];
    for (std::size_t i = 0; i < places.size(); ++i)
      places[i] = places[i] * size + wrapped(chosen[i], size);
  }
  return places;
}
/// gradient, indices: rows.
auto rows(const DatumList& args) -> std::optional<Places> {
  const auto* indices = args[1].real();
  if (indices == nullptr) return std::nullopt;
  return to_vector<std::int64_t>(*indices);
}

/// Whether what meets is added: always, never, or as an argument says.
enum class Added : std::uint8_t { always, never, by_flag, by_name };
struct Row {
  std::string_view name;
  std::optional<Places> (*places)(const DatumList&);
  Added added;
  std::size_t says = 0;
};
constexpr std::array kRows = {
    Row{"aten.scatter.src", in_lines, Added::never},
    Row{"aten.scatter_add.default", in_lines, Added::always},
    Row{"aten.scatter_reduce.two", in_lines, Added::by_name, 4},
    Row{"aten.index_copy.default", slices, Added::never},
    Row{"aten.index_add.default", slices, Added::always},
    Row{"aten.put.default", flat, Added::by_flag, 3},
    Row{"aten.index_put.default", grid, Added::by_flag, 3},
    Row{"aten._unsafe_index_put.default", grid, Added::by_flag, 3},
    Row{"aten.embedding_dense_backward.default", rows, Added::always},
};

/// Nothing where another thing is made of what meets.
auto are_added(const Row& row, const DatumList& args) -> std::optional<bool> {
  switch (row.added) {
    case Added::always:
      return true;
    case Added::never:
      return false;
    case Added::by_flag: {
      const auto* flag = args[row.says].scalar();
      return flag != nullptr && flag->as_bool().value_or(false);
    }
    case Added::by_name: {
      const auto* name = std::get_if<std::string>(&args[row.says].value);
      if (name == nullptr || (*name != "sum" && *name != "mean")) return std::nullopt;
      return true;
    }
  }
  return std::nullopt;
}

}  // namespace

auto written_places(const OpRow& row, const DatumList& args) -> std::optional<WrittenPlaces> {
  const auto name = row.inplace_of.empty() ? std::string_view(row.schema.overload) : row.inplace_of;
  const auto known = std::ranges::find(kRows, name, &Row::name);
  if (known == kRows.end()) return std::nullopt;
  const auto added = are_added(*known, args);
  if (!added) return std::nullopt;
  auto places = known->places(args);
  if (!places) return std::nullopt;
  std::ranges::sort(*places);
  WrittenPlaces made{.most = 0, .are_added = *added};
  for (auto at = places->begin(); at != places->end();) {
    const auto next = std::upper_bound(at, places->end(), *at);
    made.most = std::max<std::int64_t>(made.most, next - at);
    at = next;
  }
  return made;
}

}  // namespace assay
