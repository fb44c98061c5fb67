// What lies in a bundle, without unpacking it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace assay {

/// Names and sizes (bytes, unpacked) of the files in a zip; empty for what is none.
[[nodiscard]] auto bundle_contents(const std::filesystem::path& path)
    -> std::vector<std::pair<std::string, std::int64_t>>;

}  // namespace assay
