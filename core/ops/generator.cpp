#include "core/ops/generator.h"

#include <charconv>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/ops/counter_random.h"

namespace assay {
namespace {

constexpr std::uint32_t kRoundA = 0xD2511F53U;
constexpr std::uint32_t kRoundB = 0xCD9E8D57U;
constexpr std::uint32_t kKeyA = 0x9E3779B9U;
constexpr std::uint32_t kKeyB = 0xBB67AE85U;
constexpr auto kTwoPi = 2 * std::numbers::pi;

auto high(std::uint32_t a, std::uint32_t b) -> std::uint32_t {
  return static_cast<std::uint32_t>((std::uint64_t{a} * b) >> 32U);
}
auto low_word(std::uint64_t value) -> std::uint32_t {
  return static_cast<std::uint32_t>(value);
}
auto high_word(std::uint64_t value) -> std::uint32_t {
  return static_cast<std::uint32_t>(value >> 32U);
}
/// 53 of the 64 bits.
auto join(std::uint32_t low, std::uint32_t high) -> double {
  return static_cast<double>(std::uint64_t{low} ^ (std::uint64_t{high} << 21U));
}

}  // namespace

auto philox(std::uint64_t seed, PhiloxWords counter) -> PhiloxWords {
  auto [c0, c1, c2, c3] = counter;
  auto k0 = low_word(seed);
  auto k1 = high_word(seed);
  for (int round = 0; round < 10; ++round) {
    const auto a = c0;
    const auto b = c2;
    c0 = high(kRoundB, b) ^ c1 ^ k0;
    c2 = high(kRoundA, a) ^ c3 ^ k1;
    c1 = kRoundB * b;
    c3 = kRoundA * a;
    k0 += kKeyA;
    k1 += kKeyB;
  }
  return {c0, c1, c2, c3};
}

auto significand_bits(DType dtype) -> int {
  if (dtype == DType::float64) return 53;
  if (dtype == DType::float16) return 11;
  return dtype == DType::bfloat16 ? 8 : 24;
}

auto CpuGenerator::bits64() -> std::uint64_t {
  const std::uint64_t first = bits32();
  return first << 32U | bits32();
}
auto half_draws(std::string_view torch_version) -> HalfDraws {
  constexpr std::string_view kTwo = "2.";
  int minor = 0;
  if (!torch_version.starts_with(kTwo)) return HalfDraws::in_float;
  const auto* const end = torch_version.data() + torch_version.size();
  const auto read = std::from_chars(torch_version.data() + kTwo.size(), end, minor);
  return read.ec == std::errc() && minor < 12 ? HalfDraws::in_dtype : HalfDraws::in_float;
}
auto CpuGenerator::drawn_as(DType dtype) const -> DType {
  return is_half(dtype) && halves_ == HalfDraws::in_float ? DType::float32 : dtype;
}
auto CpuGenerator::uniform(DType dtype) -> double {
  const int bits = significand_bits(drawn_as(dtype));
  const auto word = dtype == DType::float64 ? bits64() : bits32();
  return std::ldexp(static_cast<double>(word & ((std::uint64_t{1} << bits) - 1)), -bits);
}
auto CpuGenerator::normal() -> double {
  if (const auto second = std::exchange(second_, std::nullopt)) return *second;
  const double angle = kTwoPi * uniform();
  const double radius = std::sqrt(-2 * std::log1p(-uniform()));
  second_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

auto CudaLaunch::words(std::uint64_t thread, std::uint64_t call) const -> PhiloxWords {
  const auto position = offset_ / 4 + call;
  return philox_words(seed_, position, thread);
}
auto CudaGenerator::launch(std::uint64_t draws) -> CudaLaunch {
  const CudaLaunch result(seed_, offset_);
  offset_ += (draws + 3) / 4 * 4;
  return result;
}

void RandomState::begin_operator() {
  if (is_seeded()) return;
  cpu_.reset();
  cuda_.reset();
}
auto RandomState::cpu() -> CpuGenerator& {
  if (!cpu_) cpu_.emplace(seed_.value_or(0), halves_);
  return *cpu_;
}
auto RandomState::cuda() -> CudaGenerator& {
  if (!cuda_) cuda_.emplace(seed_.value_or(0));
  return *cuda_;
}

auto curand_uniform(std::uint32_t word) -> float {
  return static_cast<float>(word) * 0x1p-32F + 0x1p-33F;
}
auto curand_uniform(std::uint32_t low, std::uint32_t high) -> double {
  return join(low, high) * 0x1p-53 + 0x1p-54;
}
auto curand_normal(std::uint32_t a, std::uint32_t b) -> std::array<float, 2> {
  constexpr auto kTurn = static_cast<float>(kTwoPi * 0x1p-32);
  const float radius = std::sqrt(-2 * std::log(curand_uniform(a)));
  const float angle = std::fma(static_cast<float>(b), kTurn, kTurn / 2);
  return {radius * std::sin(angle), radius * std::cos(angle)};
}
auto curand_normal(const PhiloxWords& words) -> std::array<double, 2> {
  const double radius = std::sqrt(-2 * std::log(curand_uniform(words[0], words[1])));
  const double angle = std::numbers::pi * (join(words[2], words[3]) * 0x1p-52 + 0x1p-53);
  return {radius * std::sin(angle), radius * std::cos(angle)};
}

}  // namespace assay
