// What a fuzz target is: one function that takes any bytes and must neither crash nor hang.
// Programs built with libFuzzer find new inputs; `mutate.cpp` runs the same function on mutated
// seeds.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Entry point that libFuzzer looks for.
extern "C" auto LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) -> int;

namespace assay::fuzz {

inline auto as_text(const std::uint8_t* data, std::size_t size) -> std::string_view {
  return {reinterpret_cast<const char*>(data), size};
}

using Files = std::vector<std::pair<std::string, std::string>>;

/// Input for archive readers: lines `--- NAME`, each followed by the content of that file.
/// Mutations then reach what lies inside of the archive, past its checksums.
[[nodiscard]] auto parse_files(std::string_view text) -> Files;
/// The archive of these files; empty if a name cannot be in one. Files named `OUTER!INNER` go into
/// an archive OUTER of their own.
[[nodiscard]] auto pack_files(const Files& files) -> std::string;

}  // namespace assay::fuzz
