// Whole numbers of a range, and permutations (aten/src/ATen/native/cpu/DistributionTemplates.h,
// native/cuda/DistributionTemplates.h, Randperm.cu).
#include <algorithm>
#include <limits>
#include <numeric>

#include "core/ops/rows/random_fill.h"
#include "core/ops/rows/random_kernels.h"

namespace assay {
namespace {

// ---- whole numbers ------------------------------------------------------------------------------

auto drawn_integers(RandomState& state, const IntegerRange& range, std::int64_t count, bool is_cuda)
    -> Ints {
  Ints values(static_cast<std::size_t>(count));
  const auto place = [&](std::uint64_t bits) {
    const auto part = range.count == 0 ? bits : bits % range.count;
    return static_cast<std::int64_t>(part + static_cast<std::uint64_t>(range.low));
  };
  if (!is_cuda) {
    auto& cpu = state.cpu();
    for (auto& value : values)
      value = place(range.is_wide ? cpu.bits64() : std::uint64_t{cpu.bits32()});
    return values;
  }
  const StridedLaunch launch(state, count, range.is_wide ? 2 : 4);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto draw = launch.draw(static_cast<std::int64_t>(i));
    const auto words = launch.words(draw);
    const auto at = static_cast<std::size_t>(draw.component);
    values[i] = place(range.is_wide ? std::uint64_t{words[2 * at]} << 32U | words[2 * at + 1]
                                    : std::uint64_t{words[at]});
  }
  return values;
}

// ---- permutations -------------------------------------------------------------------------------

auto cpu_permutation(CpuGenerator& g, std::size_t count) -> Ints {
  Ints values(count);
  std::iota(values.begin(), values.end(), 0);
  for (std::size_t i = 0; i + 1 < count; ++i)
    std::swap(values[i], values[i + g.bits32() % (count - i)]);
  return values;
}
/// Keys of so many bits that at least nine launches in ten have none twice; equal ones are shuffled
/// by the thread of the first.
auto cuda_permutation(RandomState& state, std::int64_t count) -> Ints {
  Ints values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  if (count == 0) return values;
  const auto n = static_cast<double>(count);
  const int bits = std::min(
      64, static_cast<int>(std::ceil(std::log2(n - (6 * n * n + 1) / (12 * std::log(0.9))))));
  const bool is_narrow = bits <= 32;
  const auto low = is_narrow ? std::numeric_limits<std::int32_t>::min()
                             : std::numeric_limits<std::int64_t>::min();
  const auto range = (is_narrow ? std::uint64_t{1} << 32U : 0) - 1;
  const auto drawn =
      drawn_integers(state, {.low = low, .count = range, .is_wide = true}, count, true);
  const auto mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  const auto key = [&](std::int64_t i) {
    return static_cast<std::uint64_t>(drawn[static_cast<std::size_t>(i)]) & mask;
  };
  std::ranges::stable_sort(values, std::ranges::less{}, key);
  const auto launch = state.cuda().launch(static_cast<std::uint64_t>(count));
  for (std::size_t begin = 0; begin < values.size();) {
    auto end = begin + 1;
    while (end < values.size() && key(values[end]) == key(values[begin])) ++end;
    for (std::size_t i = end - begin - 1, drawn_words = 0; i > 0; --i, ++drawn_words) {
      const auto word = launch.words(begin, drawn_words / 4)[drawn_words % 4];
      std::swap(values[begin + i], values[begin + word % (i + 1)]);
    }
    begin = end;
  }
  return values;
}

}  // namespace

void random_integer_kernel(KernelCall& k) {
  RandomTarget target(k);
  const auto range = integer_range(k, target.dtype());
  if (k.error()) return;
  target.write(drawn_integers(k.random(), range, target.count(), target.is_cuda()));
}
void randperm_kernel(KernelCall& k) {
  RandomTarget target(k.out());
  target.write(target.is_cuda()
                   ? cuda_permutation(k.random(), target.count())
                   : cpu_permutation(k.random().cpu(), static_cast<std::size_t>(target.count())));
}

}  // namespace assay
