#include "core/ops/random_launch.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "core/ops/pointwise.h"
#include "core/ops/rules.h"

namespace assay {
namespace {

/// One more than what random_() without bounds fills with: what the dtype represents exactly, 2^64
/// as 0.
auto count_of_values(DType dtype) -> std::uint64_t {
  if (dtype == DType::boolean) return 2;
  if (is_floating(dtype)) return (std::uint64_t{1} << significand_bits(dtype)) + 1;
  const int bits = size_bytes(dtype) * 8 - (info(dtype).kind == DTypeKind::signed_integer ? 1 : 0);
  return bits >= 64 ? 0 : std::uint64_t{1} << bits;
}
}  // namespace

auto launched_threads(const GpuSize& gpu, std::int64_t count) -> std::int64_t {
  const auto blocks = (count + kThreadsPerBlock - 1) / kThreadsPerBlock;
  const std::int64_t most =
      std::int64_t{gpu.multiprocessors} * (gpu.threads_per_multiprocessor / kThreadsPerBlock);
  return kThreadsPerBlock * std::min(blocks, most);
}

auto memory_order(const RealMeta& meta) -> std::vector<std::size_t> {
  std::vector<std::size_t> order(meta.sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t d) { return meta.strides[d]; });
  return order;
}

auto is_dense(const RealMeta& meta) -> bool {
  std::int64_t step = 1;
  const auto order = memory_order(meta);
  for (auto d = order.rbegin(); d != order.rend(); ++d) {
    if (meta.sizes[*d] != 1 && meta.strides[*d] != step) return false;
    step *= meta.sizes[*d];
  }
  return true;
}

auto dropout_width(const RealMeta& input) -> std::int64_t {
  constexpr std::int64_t kBytes = 16;
  std::int64_t width = 1;
  if (!is_dense(input)) return width;
  const auto fits = [&](std::int64_t wider) {
    return wider * size_bytes(input.dtype) <= kBytes && input.offset % wider == 0 &&
           numel(input) % wider == 0;
  };
  while (fits(2 * width)) width *= 2;
  return width;
}

auto real_or(KernelCall& k, std::string_view name, double fallback) -> double {
  const int i = param(k, name);
  return i >= 0 && k.has(i) ? k.real(i) : fallback;
}

auto integer_range(KernelCall& k, DType dtype) -> IntegerRange {
  const auto bound = [&](std::string_view name) -> std::optional<std::int64_t> {
    const int i = param(k, name);
    if (i < 0 || !k.has(i)) return std::nullopt;
    return k.is_tensor(i) ? to_vector<std::int64_t>(k.in(i)).at(0) : k.integer(i);
  };
  const auto either = [](const auto& a, const auto& b) { return a ? a : b; };
  const auto low = either(bound("low"), bound("from"));
  const auto high = either(bound("high"), bound("to"));
  if (!low && !high)
    return {.count = count_of_values(dtype),
            .is_wide = dtype == DType::float64 || dtype == DType::int64};
  const auto least = low.value_or(0);
  if (!high && least == std::numeric_limits<std::int64_t>::min())
    return {.low = 0, .count = 0, .is_wide = true};
  const auto end = high ? static_cast<std::uint64_t>(*high) : count_of_values(dtype);
  if (high && least >= *high) k.fail(fmt::format("the range [{}, {}) is empty", least, *high));
  const auto count = end - static_cast<std::uint64_t>(least);
  // Beyond 2^28 a remainder of 32 bits would be too uneven.
  return {.low = least, .count = count, .is_wide = count >= std::uint64_t{1} << 28U};
}

}  // namespace assay
