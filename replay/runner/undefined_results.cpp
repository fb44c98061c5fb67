#include "replay/runner/undefined_results.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/ops/pointwise.h"
#include "core/tensor/convert.h"

namespace assay {
namespace {

/// Arguments of a call by position; what is not as expected is nothing.
class Arguments {
 public:
  Arguments(const Node& node, const TensorOf& tensor) : args_(node.args), tensor_(tensor) {}
  [[nodiscard]] auto tensor(std::size_t i) const -> const Tensor* {
    return i < args_.size() ? of(args_[i]) : nullptr;
  }
  [[nodiscard]] auto tensors(std::size_t i) const -> std::vector<const Tensor*> {
    std::vector<const Tensor*> all;
    if (const auto* list = this->list(i))
      for (const auto& item : list->items) all.push_back(of(item));
    return all;
  }
  [[nodiscard]] auto integer(std::size_t i) const -> std::optional<std::int64_t> {
    return i < args_.size() ? number(args_[i]) : std::nullopt;
  }
  [[nodiscard]] auto flag(std::size_t i) const -> bool {
    const auto* expr = i < args_.size() ? std::get_if<Expr>(&args_[i].value) : nullptr;
    return expr != nullptr && expr->as_bool().value_or(false);
  }
  /// Of two dimensions; one number stands for both, none for `fallback`.
  [[nodiscard]] auto pair(std::size_t i, std::array<std::int64_t, 2> fallback) const
      -> std::array<std::int64_t, 2> {
    const auto* list = this->list(i);
    if (list == nullptr || list->items.empty()) return fallback;
    const auto first = number(list->items.front()).value_or(fallback[0]);
    return {first, number(list->items.back()).value_or(fallback[1])};
  }

 private:
  [[nodiscard]] auto list(std::size_t i) const -> const SequenceArg* {
    return i < args_.size() ? std::get_if<SequenceArg>(&args_[i].value) : nullptr;
  }
  [[nodiscard]] auto of(const Arg& arg) const -> const Tensor* {
    const auto* id = std::get_if<NodeId>(&arg.value);
    return id == nullptr ? nullptr : tensor_(*id);
  }
  [[nodiscard]] static auto number(const Arg& arg) -> std::optional<std::int64_t> {
    const auto* expr = std::get_if<Expr>(&arg.value);
    return expr == nullptr ? std::nullopt : expr->as_int();
  }

  const std::vector<Arg>& args_;
  const TensorOf& tensor_;
};

auto wrapped(std::int64_t index, std::int64_t size) -> std::int64_t {
  return index < 0 ? index + size : index;
}
/// Of places among so many; those that are none are somebody else's error.
auto has_repeated(const std::vector<std::int64_t>& places, std::int64_t count) -> bool {
  std::vector<bool> seen(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)), false);
  return std::ranges::any_of(places, [&](std::int64_t place) {
    if (place < 0 || place >= count) return false;
    const auto at = static_cast<std::size_t>(place);
    const bool is_repeated = seen[at];
    seen[at] = true;
    return is_repeated;
  });
}
auto integers(const Tensor& tensor) -> std::vector<std::int64_t> {
  return to_vector<std::int64_t>(tensor);
}
/// Calls f with the position, and its number, of each element of a shape, row-major.
template <class F>
void for_each_position(const Ints& sizes, F&& f) {
  Ints at(sizes.size(), 0);
  for (std::int64_t i = 0, count = numel(sizes); i < count; ++i) {
    f(at, static_cast<std::size_t>(i));
    for (std::size_t d = sizes.size(); d-- > 0;) {
      if (++at[d] < sizes[d]) break;
      at[d] = 0;
    }
  }
}

/// self, dim, index: of each line along the dimension.
auto scattered(const Arguments& args) -> bool {
  const auto *self = args.tensor(0), *index = args.tensor(2);
  const auto dim = args.integer(1);
  if (self == nullptr || index == nullptr || !dim) return false;
  const auto rank = static_cast<std::int64_t>(self->sizes().size());
  const auto along = static_cast<std::size_t>(wrapped(*dim, rank));
  if (along >= self->sizes().size()) return false;
  const auto chosen = integers(*index);
  std::vector<std::int64_t> places;
  if (index->sizes().size() < self->sizes().size() || rank == 1) {  // whole slices
    for (const auto one : chosen) places.push_back(wrapped(one, self->sizes()[along]));
    return has_repeated(places, self->sizes()[along]);
  }
  const auto strides = contiguous_strides(self->sizes());
  for_each_position(index->sizes(), [&](const Ints& at, std::size_t i) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < at.size(); ++d)
      place += strides[d] * (d == along ? wrapped(chosen[i], self->sizes()[d]) : at[d]);
    places.push_back(place);
  });
  return has_repeated(places, numel(self->sizes()));
}
/// self, index, source, accumulate.
auto put(const Arguments& args) -> bool {
  const auto *self = args.tensor(0), *index = args.tensor(1);
  if (self == nullptr || index == nullptr || args.flag(3)) return false;
  auto places = integers(*index);
  for (auto& one : places) one = wrapped(one, numel(self->sizes()));
  return has_repeated(places, numel(self->sizes()));
}
/// self, indices, values, accumulate. A mask has no place twice.
auto index_put(const Arguments& args) -> bool {
  const auto* self = args.tensor(0);
  const auto indices = args.tensors(1);
  if (self == nullptr || args.flag(3) || indices.size() > self->sizes().size()) return false;
  std::optional<Ints> together = Ints();
  for (const auto* one : indices) {
    if (one == nullptr) continue;
    if (one->dtype() == DType::boolean || one->dtype() == DType::uint8) return false;
    together = common_sizes(*together, one->sizes());
    if (!together) return false;
  }
  std::vector<std::int64_t> places(static_cast<std::size_t>(numel(*together)), 0);
  std::int64_t count = 1;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    if (indices[d] == nullptr) continue;
    const auto chosen = integers(expanded_view(*indices[d], *together));
    const auto size = self->sizes()[d];
    for (std::size_t i = 0; i < places.size(); ++i)
      places[i] = places[i] * size + wrapped(chosen[i], size);
    count *= size;
  }
  return has_repeated(places, count);
}
/// gradient, self, kernel, stride, padding, dilation, ceil_mode, indices: each in its window?
auto pooled(const Arguments& args) -> bool {
  const auto *self = args.tensor(1), *index = args.tensor(7);
  if (self == nullptr || index == nullptr || self->sizes().size() < 3) return false;
  const auto kernel = args.pair(2, {1, 1});
  const auto stride = args.pair(3, kernel), padding = args.pair(4, {0, 0});
  const auto dilation = args.pair(5, {1, 1});
  const auto rank = self->sizes().size();
  const std::array sizes = {self->sizes()[rank - 2], self->sizes()[rank - 1]};
  const auto chosen = integers(*index);
  bool is_outside = false;
  for_each_position(index->sizes(), [&](const Ints& at, std::size_t i) {
    const std::array place = {chosen[i] / sizes[1], chosen[i] % sizes[1]};
    for (std::size_t d = 0; d < place.size(); ++d) {
      const auto first = at[at.size() - 2 + d] * stride[d] - padding[d];
      const auto into = place[d] - first;
      is_outside = is_outside || into < 0 || into > (kernel[d] - 1) * dilation[d];
    }
  });
  return is_outside;
}

struct Row {
  std::string_view name;
  bool (*is_undefined)(const Arguments&);
};
constexpr std::array kRows = {
    Row{"aten.scatter.src", scattered},
    Row{"aten.index_copy.default", scattered},
    Row{"aten.put.default", put},
    Row{"aten.index_put.default", index_put},
    Row{"aten._unsafe_index_put.default", index_put},
    Row{"aten.max_pool2d_with_indices_backward.default", pooled},
};

}  // namespace

auto is_undefined(const Node& node, const TensorOf& tensor) -> bool {
  const auto row = std::ranges::find(kRows, node.target, &Row::name);
  return row != kRows.end() && row->is_undefined(Arguments(node, tensor));
}

}  // namespace assay
