// Random numbers that are functions of a seed and a position, bit by bit: Triton's
// (triton/language/random.py) and those of Inductor's C++ (torch/csrc/inductor/cpp_prefix.h), which
// takes 32 bits of seed and offset.
#pragma once
#include <array>
#include <cstdint>

namespace assay {

/// What random numbers a value rests on: the worst of what it is made of.
enum class Randomness : std::uint8_t {
  none,
  seeds,    ///< Inductor's seeds alone, of which the functions below make all else
  numbers,  ///< of a generator, or memory that nobody wrote
};

/// All words of a counter, whose halves these are (Philox 4x32, Salmon et al. 2011).
[[nodiscard]] auto philox_words(std::uint64_t seed, std::uint64_t low, std::uint64_t high)
    -> std::array<std::uint32_t, 4>;
/// First word for a 32-bit offset: tl.randint.
[[nodiscard]] auto philox_integer(std::uint64_t seed, std::uint64_t offset) -> std::uint32_t;
/// In [0, 1): tl.rand.
[[nodiscard]] auto philox_uniform(std::uint64_t seed, std::uint64_t offset) -> float;
/// Box-Muller of the first two words: tl.randn.
[[nodiscard]] auto philox_normal(std::uint64_t seed, std::uint64_t offset) -> float;
/// triton_helpers.randint64: in [low, high).
[[nodiscard]] auto philox_integer64(std::uint64_t seed, std::uint64_t offset, std::int64_t low,
                                    std::int64_t high) -> std::int64_t;
/// normalized_rand_cpu, in [0, 1)
[[nodiscard]] auto philox_cpu_uniform(std::uint64_t seed, std::uint64_t offset) -> float;
/// randn_cpu
[[nodiscard]] auto philox_cpu_normal(std::uint64_t seed, std::uint64_t offset) -> float;
/// randint64_cpu: in [low, high)
[[nodiscard]] auto philox_cpu_integer64(std::uint64_t seed, std::uint64_t offset, std::int64_t low,
                                        std::int64_t high) -> std::int64_t;

}  // namespace assay
