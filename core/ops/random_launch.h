// How PyTorch's launches on CUDA share the elements of a random operator among threads
// (aten/src/ATen/native/cuda/DistributionTemplates.h, Dropout.cu), and what whole numbers they draw
// from.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/ops/call.h"
#include "core/ops/generator.h"
#include "core/tensor/meta.h"

namespace assay {

inline constexpr std::int64_t kThreadsPerBlock = 256;

/// Threads of a launch that would have one for each element, if the GPU holds them all: a multiple
/// of kThreadsPerBlock.
[[nodiscard]] auto launched_threads(const GpuSize& gpu, std::int64_t count) -> std::int64_t;

/// Dimensions from the largest stride to the smallest: the order in which PyTorch's TensorIterator
/// visits elements.
[[nodiscard]] auto memory_order(const RealMeta& meta) -> std::vector<std::size_t>;
/// Does it fill its memory, each element once?
[[nodiscard]] auto is_dense(const RealMeta& meta) -> bool;
/// How many neighbours a thread of fused_dropout_kernel_vec takes at once: what fits into 16
/// aligned bytes; 1: it goes through elements as all others do.
[[nodiscard]] auto dropout_width(const RealMeta& input) -> std::int64_t;

/// What a random operator fills its target with, element by element.
enum class RandomLaw : std::uint8_t {
  uniform,      ///< in [from, to)
  normal,       ///< by mean and std
  exponential,  ///< by lambd
  bernoulli,    ///< true with probability p, a number or a tensor
  dropout,      ///< the input's elements, some of them 0
  integer,      ///< of an IntegerRange
};
/// Nothing where it draws otherwise, or not at all.
[[nodiscard]] auto random_law(const OpRow& row) -> std::optional<RandomLaw>;

struct IntegerRange {
  std::int64_t low = 0;
  std::uint64_t count = 0;  ///< 0: all 2^64
  bool is_wide = false;     ///< 64 bits are drawn
};
/// Of randint and random_ in their forms, filling the dtype; a tensor among the bounds needs its
/// storage. Fails the call where there is no number.
[[nodiscard]] auto integer_range(KernelCall& k, DType dtype) -> IntegerRange;
/// An argument by name, where the row has it and it is given.
[[nodiscard]] auto real_or(KernelCall& k, std::string_view name, double fallback) -> double;

}  // namespace assay
