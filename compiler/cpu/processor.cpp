#include "compiler/cpu/processor.h"

#include <array>
#include <cstdint>

#include <fmt/format.h>

#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace assay {

#ifdef __x86_64__
namespace {

/// The leaves that say what there is, and which registers of each do; the others are numbers of the
/// one core that was asked.
struct Leaf {
  std::uint32_t leaf, subleaf;
  std::array<bool, 4> counts;  ///< eax, ebx, ecx, edx
};
constexpr std::array kLeaves = std::to_array<Leaf>({
    {0x0, 0, {false, true, true, true}},
    {0x1, 0, {true, false, true, true}},
    {0x7, 0, {false, true, true, true}},
    {0x7, 1, {true, true, true, true}},
    {0xd, 1, {true, false, false, false}},
    {0x14, 0, {false, true, false, false}},
    {0x19, 0, {false, true, false, false}},
    {0x24, 0, {false, true, false, false}},
    {0x80000001, 0, {false, false, true, true}},
    {0x80000008, 0, {false, true, false, false}},
});

/// Which registers the system saves.
auto saved_state() -> std::uint64_t {
  std::uint32_t low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return std::uint64_t{high} << 32 | low;
}

}  // namespace

auto processor_text() -> std::string {
  std::string text = "x86-64";
  std::array<std::uint32_t, 4> r{};
  bool has_state = false;
  for (const auto& one : kLeaves) {
    if (__get_cpuid_count(one.leaf, one.subleaf, r.data(), &r[1], &r[2], &r[3]) == 0) continue;
    if (one.leaf == 1) has_state = (r[2] & bit_OSXSAVE) != 0;
    text += fmt::format(" {:x}.{}", one.leaf, one.subleaf);
    for (std::size_t i = 0; i < r.size(); ++i)
      if (one.counts[i]) text += fmt::format(":{:x}", r[i]);
  }
  if (has_state) text += fmt::format(" saves {:x}", saved_state());
  return text;
}
#else
auto processor_text() -> std::string {
  return {};
}
#endif

}  // namespace assay
