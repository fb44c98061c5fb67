// Text for people: colours where somebody wants them, and numbers with their nouns.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace assay {

enum class Style : std::uint8_t { bold, red, green, yellow, dim };

/// ANSI styles, or the text itself.
class Paint {
 public:
  Paint() = default;
  explicit Paint(bool enabled) : enabled_(enabled) {}
  [[nodiscard]] auto operator()(std::string_view text, Style style) const -> std::string;

 private:
  bool enabled_ = false;
};

/// "1 root finding", "3 root findings".
[[nodiscard]] auto counted(std::int64_t count, std::string_view singular,
                           std::string_view plural = {}) -> std::string;

}  // namespace assay
