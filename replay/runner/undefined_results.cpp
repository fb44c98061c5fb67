#include "replay/runner/undefined_results.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
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

/// Elements along a dimension, line by line.
auto lines_of(const Tensor& tensor, std::int64_t dim) -> std::vector<std::vector<double>> {
  const auto& sizes = tensor.sizes();
  const auto rank = static_cast<std::int64_t>(sizes.size());
  if (dim < 0) dim += rank;
  if (dim < 0 || dim >= rank) return {};
  const auto at = static_cast<std::size_t>(dim);
  std::size_t inner = 1;
  for (auto d = at + 1; d < sizes.size(); ++d) inner *= static_cast<std::size_t>(sizes[d]);
  const auto length = static_cast<std::size_t>(sizes[at]);
  const auto values = to_vector<double>(tensor);
  if (values.empty()) return {};
  std::vector<std::vector<double>> lines(values.size() / length);
  for (std::size_t i = 0; i < values.size(); ++i)
    lines[i / (inner * length) * inner + i % inner].push_back(values[i]);
  return lines;
}

/// How often the values of a line occur, the largest first; NaN are equal.
auto frequencies(std::vector<double> line) -> std::vector<std::int64_t> {
  std::ranges::sort(line,
                    [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; });
  std::vector<std::int64_t> counts;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool is_same =
        i > 0 && (line[i] == line[i - 1] || (std::isnan(line[i]) && std::isnan(line[i - 1])));
    if (is_same)
      ++counts.back();
    else
      counts.push_back(1);
  }
  std::ranges::sort(counts, std::greater());
  return counts;
}

/// Operators that order elements: `indices` where elements of a line are equal.
constexpr std::array<std::string_view, 8> kOrders = {
    "aten.sort.default", "aten.sort.stable",   "aten.topk.default", "aten.kthvalue.default",
    "aten.median.dim",   "aten.nanmedian.dim", "aten.mode.default", "aten.msort.default"};

auto undefined_order(const OpRow& row, const DatumList& args) -> UndefinedPart {
  const auto argument = [&](std::string_view name) -> const Datum* {
    const int at = row.schema.index_of(name);
    return at < 0 ? nullptr : &args[static_cast<std::size_t>(at)];
  };
  const auto number = [](const Datum* datum) {
    return datum == nullptr || datum->scalar() == nullptr ? std::nullopt
                                                          : datum->scalar()->as_int();
  };
  if (const auto* stable = argument("stable"); stable != nullptr && stable->scalar() != nullptr)
    if (stable->scalar()->as_bool().value_or(false)) return UndefinedPart::nothing;
  const auto* self = args.empty() ? nullptr : args[0].real();
  if (self == nullptr || is_complex(self->dtype())) return UndefinedPart::nothing;
  auto part = UndefinedPart::nothing;
  for (auto& line : lines_of(*self, number(argument("dim")).value_or(-1))) {
    const auto counts = frequencies(std::move(line));
    if (counts.empty() || counts[0] == 1) {
      if (row.schema.overload == "aten.mode.default" && counts.size() > 1)
        return UndefinedPart::all;
      continue;
    }
    const bool is_shared = counts.size() > 1 && counts[0] == counts[1];
    if (row.schema.overload == "aten.mode.default" && is_shared) return UndefinedPart::all;
    part = UndefinedPart::indices;
  }
  return part;
}

/// query, key, value, attn_mask: may one of CUDA's queries see no key?
auto hides_a_query(const DatumList& args) -> bool {
  const auto *query = args[0].real(), *mask = args[3].real();
  if (query == nullptr || mask == nullptr || mask->dtype() != DType::boolean ||
      query->meta.device.type != "cuda")
    return false;
  return std::ranges::any_of(lines_of(*mask, -1), [](const std::vector<double>& line) {
    return std::ranges::none_of(line, [](double one) { return one != 0; });
  });
}

}  // namespace

auto undefined_part(const OpRow& row, const DatumList& args) -> UndefinedPart {
  if (std::ranges::find(kOrders, row.schema.overload) != kOrders.end())
    return undefined_order(row, args);
  if (row.schema.overload == "aten.max_pool2d_with_indices_backward.default")
    return is_outside_of_windows(args) ? UndefinedPart::all : UndefinedPart::nothing;
  if (row.schema.overload == "aten.scaled_dot_product_attention.default")
    return hides_a_query(args) ? UndefinedPart::all : UndefinedPart::nothing;
  const auto places = written_places(row, args);
  return places && !places->are_added && places->most > 1 ? UndefinedPart::all
                                                          : UndefinedPart::nothing;
}

}  // namespace assay
