#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace assay {

/// SHA-256 as 64 lower-case hex digits.
[[nodiscard]] auto sha256(std::span<const std::byte> bytes) -> std::string;
[[nodiscard]] auto sha256(std::string_view bytes) -> std::string;

}  // namespace assay
