#include "core/tensor/meta.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <unordered_set>

#include "core/base/check.h"
#include "core/expr/text.h"

namespace assay {
namespace {

/// Strides in elements for dims visited from innermost to outermost.
template <class T, class Max>
auto packed_strides(std::span<const T> sizes, std::span<const std::size_t> inner_to_outer,
                    Max&& at_least_one) -> std::vector<T> {
  std::vector<T> strides(sizes.size(), T(1));
  T running(1);
  for (const auto dim : inner_to_outer) {
    strides[dim] = running;
    running = running * at_least_one(sizes[dim]);
  }
  return strides;
}

auto row_major_order(std::size_t rank) -> std::vector<std::size_t> {
  std::vector<std::size_t> order(rank);
  for (std::size_t i = 0; i < rank; ++i) order[i] = rank - 1 - i;
  return order;
}

/// Dims of size above one, by increasing stride.
auto significant_dims(const RealMeta& meta) -> std::vector<std::size_t> {
  std::vector<std::size_t> dims;
  for (std::size_t i = 0; i < meta.sizes.size(); ++i)
    if (meta.sizes[i] > 1) dims.push_back(i);
  std::ranges::stable_sort(dims, {}, [&](std::size_t d) { return meta.strides[d]; });
  return dims;
}

auto overlaps_by_enumeration(const RealMeta& meta) -> bool {
  constexpr std::int64_t kMaxEnumerated = std::int64_t{1} << 20;
  const auto count = numel(meta.sizes);
  if (count > kMaxEnumerated) return true;
  std::unordered_set<std::int64_t> seen;
  std::vector<std::int64_t> index(meta.sizes.size(), 0);
  for (std::int64_t k = 0; k < count; ++k) {
    std::int64_t address = 0;
    for (std::size_t d = 0; d < index.size(); ++d) address += index[d] * meta.strides[d];
    if (!seen.insert(address).second) return true;
    for (auto d = index.size(); d-- > 0;) {
      if (++index[d] < meta.sizes[d]) break;
      index[d] = 0;
    }
  }
  return false;
}

template <class Range, class Print>
auto bracketed(const Range& values, Print&& print) -> std::string {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i) text += ", ";
    text += print(values[i]);
  }
  return text + "]";
}

}  // namespace

auto to_string(const Device& device) -> std::string {
  return device.index < 0 ? device.type : fmt::format("{}:{}", device.type, device.index);
}

auto device_from_string(std::string_view text) -> std::optional<Device> {
  const auto colon = text.find(':');
  const auto type = text.substr(0, colon);
  const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  if (type.empty() || !std::ranges::all_of(type, is_word)) return std::nullopt;
  Device device{std::string(type), -1};
  if (colon == std::string_view::npos) return device;
  const auto digits = text.substr(colon + 1);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), device.index);
  if (error != std::errc{} || end != digits.data() + digits.size() || device.index < 0)
    return std::nullopt;
  return device;
}

auto contiguous_strides(std::span<const Expr> sizes) -> Dims {
  const Expr one(1);
  return packed_strides(sizes, row_major_order(sizes.size()),
                        [&](const Expr& size) { return max(size, one); });
}

auto contiguous_strides(std::span<const std::int64_t> sizes) -> Ints {
  return packed_strides(sizes, row_major_order(sizes.size()),
                        [](std::int64_t size) { return std::max<std::int64_t>(size, 1); });
}

auto channels_last_strides(std::span<const Expr> sizes) -> Dims {
  const auto rank = sizes.size();
  ASSAY_CHECK(rank >= 3 && rank <= 5, "channels last needs rank 3 to 5, got {}", rank);
  std::vector<std::size_t> order{1};
  for (auto dim = rank; dim-- > 2;) order.push_back(dim);
  order.push_back(0);
  const Expr one(1);
  return packed_strides(sizes, order, [&](const Expr& size) { return max(size, one); });
}

auto numel(std::span<const std::int64_t> sizes) -> std::int64_t {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

auto required_elems(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides,
                    std::int64_t offset) -> Result<std::int64_t> {
  if (sizes.size() != strides.size())
    return bad_input("{} sizes but {} strides", sizes.size(), strides.size());
  if (std::ranges::find(sizes, 0) != sizes.end()) return 0;
  std::int64_t last = offset;
  std::int64_t first = offset;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0) return bad_input("negative size {} at dimension {}", sizes[i], i);
    std::int64_t reach = 0;
    auto& end = strides[i] < 0 ? first : last;
    if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) ||
        __builtin_add_overflow(end, reach, &end))
      return bad_input("the extent of the view overflows 64 bits at dimension {}", i);
  }
  if (first < 0) return bad_input("the view starts {} elements before its storage", -first);
  if (last == INT64_MAX) return bad_input("the extent of the view overflows 64 bits");
  return last + 1;
}

auto required_elems(const TensorMeta& meta) -> Expr {
  Expr last = meta.offset;
  for (std::size_t i = 0; i < meta.sizes.size(); ++i)
    last = last + (meta.sizes[i] - 1) * meta.strides[i];
  return last + 1;
}

auto has_internal_overlap(const RealMeta& meta) -> bool {
  if (numel(meta.sizes) <= 1) return false;
  // Nested layout: every stride reaches past everything the smaller ones address.
  std::int64_t reach = 0;
  bool nested = true;
  for (const auto dim : significant_dims(meta)) {
    nested = nested && meta.strides[dim] > reach;
    reach += (meta.sizes[dim] - 1) * meta.strides[dim];
  }
  return !nested && overlaps_by_enumeration(meta);
}

auto may_overlap(const RealMeta& a, const RealMeta& b) -> bool {
  const auto a_end = required_elems(a.sizes, a.strides, a.offset);
  const auto b_end = required_elems(b.sizes, b.strides, b.offset);
  if (!a_end || !b_end) return true;
  if (*a_end == 0 || *b_end == 0) return false;
  return a.offset * size_bytes(a.dtype) < *b_end * size_bytes(b.dtype) &&
         b.offset * size_bytes(b.dtype) < *a_end * size_bytes(a.dtype);
}

auto to_string(const TensorMeta& meta) -> std::string {
  const auto print = [](const Expr& e) { return print_expr(e); };
  return fmt::format("{}{}{}{}", info(meta.dtype).abbr, bracketed(meta.sizes, print),
                     bracketed(meta.strides, print), to_string(meta.device));
}

auto to_string(const RealMeta& meta) -> std::string {
  const auto print = [](std::int64_t value) { return std::to_string(value); };
  return fmt::format("{}{}{}{}", info(meta.dtype).abbr, bracketed(meta.sizes, print),
                     bracketed(meta.strides, print), to_string(meta.device));
}

auto to_real(const TensorMeta& meta, std::int64_t storage_bytes) -> RealMeta {
  const auto value = [](const Expr& e) {
    const auto constant = e.as_int();
    ASSAY_CHECK(constant.has_value(), "symbolic layout {} where a concrete one is needed",
                print_expr(e));
    return *constant;
  };
  RealMeta real{meta.dtype, {}, {}, value(meta.offset), storage_bytes, meta.device, meta.lazy};
  for (const auto& size : meta.sizes) real.sizes.push_back(value(size));
  for (const auto& stride : meta.strides) real.strides.push_back(value(stride));
  return real;
}

auto to_claim(const RealMeta& meta) -> TensorMeta {
  return TensorMeta{.dtype = meta.dtype,
                    .sizes = Dims(meta.sizes.begin(), meta.sizes.end()),
                    .strides = Dims(meta.strides.begin(), meta.strides.end()),
                    .offset = meta.offset,
                    .device = meta.device,
                    .requires_grad = false,
                    .lazy = meta.lazy};
}

}  // namespace assay
