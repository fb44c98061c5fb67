#include "core/ops/counter_random.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "core/ops/generator.h"

namespace assay {
namespace {

/// uint_to_uniform_float: the sign folded away, so that both ends of the range are met evenly.
auto to_uniform(std::uint32_t word) -> float {
  auto x = std::bit_cast<std::int32_t>(word);
  if (x < 0) x = -x - 1;
  return static_cast<float>(x) * 4.6566127342e-10F;
}
auto words(std::uint64_t seed, std::uint64_t offset) -> PhiloxWords {
  return philox(seed, {static_cast<std::uint32_t>(offset), 0, 0, 0});
}

}  // namespace

auto philox_words(std::uint64_t seed, std::uint64_t low, std::uint64_t high)
    -> std::array<std::uint32_t, 4> {
  const auto half = [](std::uint64_t value, unsigned shift) {
    return static_cast<std::uint32_t>(value >> shift);
  };
  return philox(seed, {half(low, 0), half(low, 32), half(high, 0), half(high, 32)});
}

auto philox_integer(std::uint64_t seed, std::uint64_t offset) -> std::uint32_t {
  return words(seed, offset)[0];
}

auto philox_uniform(std::uint64_t seed, std::uint64_t offset) -> float {
  return to_uniform(philox_integer(seed, offset));
}

auto philox_normal(std::uint64_t seed, std::uint64_t offset) -> float {
  const auto word = words(seed, offset);
  const auto radius = std::max(1.0e-7F, to_uniform(word[0]));
  const auto angle = 2 * std::numbers::pi_v<float> * to_uniform(word[1]);
  return std::sqrt(-2.0F * std::log(radius)) * std::cos(angle);
}

auto philox_integer64(std::uint64_t seed, std::uint64_t offset, std::int64_t low, std::int64_t high)
    -> std::int64_t {
  const auto word = words(seed, offset);
  const auto size = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  auto result = (std::uint64_t{word[1]} << 32) | word[0];
  if (size != 0) result %= size;
  return static_cast<std::int64_t>(result + static_cast<std::uint64_t>(low));
}

/// The words of one call; nothing above 32 bits counts.
static auto cpu_words(std::uint64_t seed, std::uint64_t offset) -> std::array<std::uint32_t, 4> {
  return philox(static_cast<std::uint32_t>(seed), {static_cast<std::uint32_t>(offset), 0, 0, 0});
}
/// The lower 31 bits as a part of one.
static auto cpu_fraction(std::uint32_t word) -> float {
  return static_cast<float>(word & 0x7FFFFFFFU) * 4.6566127342e-10F;
}

auto philox_cpu_uniform(std::uint64_t seed, std::uint64_t offset) -> float {
  return cpu_fraction(cpu_words(seed, offset)[0]);
}

auto philox_cpu_normal(std::uint64_t seed, std::uint64_t offset) -> float {
  const auto word = cpu_words(seed, offset);
  const float radius = 1 - cpu_fraction(word[0]);
  const float angle = 1 - cpu_fraction(word[1]);
  return static_cast<float>(std::sqrt(-2.0 * std::log(radius)) *
                            std::cos(2.0 * std::numbers::pi * angle));
}

auto philox_cpu_integer64(std::uint64_t seed, std::uint64_t offset, std::int64_t low,
                          std::int64_t high) -> std::int64_t {
  const auto word = cpu_words(seed, offset);
  const auto size = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  auto result = (std::uint64_t{word[1]} << 32) | word[0];
  if (size != 0) result %= size;
  return static_cast<std::int64_t>(result + static_cast<std::uint64_t>(low));
}

}  // namespace assay
