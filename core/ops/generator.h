// Random numbers bit by bit as PyTorch's default generators give them for a seed: MT19937 on the
// CPU (at::CPUGeneratorImpl), Philox 4x32 on CUDA (at::CUDAGeneratorImpl, curand).
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string_view>

#include "core/tensor/dtype.h"

namespace assay {

/// Four 32-bit words: ten rounds of Philox 4x32 (Salmon et al. 2011).
using PhiloxWords = std::array<std::uint32_t, 4>;
[[nodiscard]] auto philox(std::uint64_t seed, PhiloxWords counter) -> PhiloxWords;

/// Bits of a floating dtype's significand, the hidden one among them.
[[nodiscard]] auto significand_bits(DType dtype) -> int;

/// How PyTorch draws uniform and normal numbers of 16 bits on the CPU.
enum class HalfDraws : std::uint8_t {
  in_dtype,  ///< with as many bits as the dtype's significand has, each step rounded: seen in 2.11
  in_float,  ///< as float32's, rounded at the end: seen in 2.15
};
/// What a version ("2.11.0+cu130") does; what is no version, and 2.12 to 2.14, counts as 2.15.
[[nodiscard]] auto half_draws(std::string_view torch_version) -> HalfDraws;

class CpuGenerator {
 public:
  /// MT19937 takes the lower 32 bits of a seed.
  explicit CpuGenerator(std::uint64_t seed, HalfDraws halves = HalfDraws::in_float)
      : engine_(static_cast<std::uint32_t>(seed)), halves_(halves) {}
  auto bits32() -> std::uint32_t { return static_cast<std::uint32_t>(engine_()); }
  auto bits64() -> std::uint64_t;
  /// In [0, 1), a multiple of 2^-significand_bits of drawn_as(dtype):
  /// at::uniform_real_distribution.
  auto uniform(DType dtype) -> double;
  /// The dtype itself, or float32 for those that are drawn in it.
  [[nodiscard]] auto drawn_as(DType dtype) const -> DType;
  auto uniform() -> double { return uniform(DType::float64); }
  /// Mean 0, deviation 1; every other draw is the second half of a pair
  /// (at::normal_distribution<double>).
  auto normal() -> double;

 private:
  std::mt19937 engine_;
  HalfDraws halves_;
  std::optional<double> second_;
};

/// What decides how many threads a launch has.
struct GpuSize {
  int multiprocessors = 132;
  int threads_per_multiprocessor = 2048;
  friend auto operator==(const GpuSize&, const GpuSize&) -> bool = default;
};

/// Which thread of a launch draws for an element, and which of its words it takes.
struct CudaDraw {
  std::uint64_t thread = 0;
  std::uint64_t call = 0;  ///< how many times the thread drew four words before
  int component = 0;
};

/// Numbers of one launch.
class CudaLaunch {
 public:
  CudaLaunch(std::uint64_t seed, std::uint64_t offset) : seed_(seed), offset_(offset) {}
  /// curand4 of a thread.
  [[nodiscard]] auto words(std::uint64_t thread, std::uint64_t call) const -> PhiloxWords;
  [[nodiscard]] auto words(const CudaDraw& draw) const -> PhiloxWords {
    return words(draw.thread, draw.call);
  }

 private:
  std::uint64_t seed_, offset_;
};

class CudaGenerator {
 public:
  explicit CudaGenerator(std::uint64_t seed) : seed_(seed) {}
  /// Takes `draws` words of every thread, rounded up to a multiple of four.
  auto launch(std::uint64_t draws) -> CudaLaunch;

 private:
  std::uint64_t seed_;
  std::uint64_t offset_ = 0;
};

/// The generators of all devices. Unless a seed was given every operator starts anew, from seed 0,
/// so that results do not depend on the order in which operators run.
class RandomState {
 public:
  RandomState() = default;
  /// torch.manual_seed(seed): an operator goes on where the one before it stopped.
  explicit RandomState(std::uint64_t seed, GpuSize gpu = {}, HalfDraws halves = HalfDraws::in_float)
      : seed_(seed), gpu_(gpu), halves_(halves) {}
  void begin_operator();
  [[nodiscard]] auto is_seeded() const -> bool { return seed_.has_value(); }
  [[nodiscard]] auto gpu() const -> const GpuSize& { return gpu_; }
  auto cpu() -> CpuGenerator&;
  auto cuda() -> CudaGenerator&;

 private:
  std::optional<std::uint64_t> seed_;
  GpuSize gpu_;
  HalfDraws halves_ = HalfDraws::in_float;
  std::optional<CpuGenerator> cpu_;  // made when first asked: seeding it costs a microsecond
  std::optional<CudaGenerator> cuda_;
};

/// curand_uniform: in (0, 1].
[[nodiscard]] auto curand_uniform(std::uint32_t word) -> float;
/// curand's doubles of 53 bits: in (0, 1].
[[nodiscard]] auto curand_uniform(std::uint32_t low, std::uint32_t high) -> double;
/// Both halves of a Box-Muller pair.
[[nodiscard]] auto curand_normal(std::uint32_t a, std::uint32_t b) -> std::array<float, 2>;
[[nodiscard]] auto curand_normal(const PhiloxWords& words) -> std::array<double, 2>;

}  // namespace assay
