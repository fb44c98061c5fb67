// Colours by meaning, for light and dark. Status never rests on colour alone: marks have shapes
// too.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace assay {

enum class Token : std::uint8_t {
  window,  ///< behind everything
  panel,   ///< behind text
  raised,  ///< headers, buttons
  line,    ///< borders and grids
  text,
  muted,      ///< text of second rank
  accent,     ///< links, focus, selection
  selection,  ///< behind a selected row
  ok,
  bad,        ///< a lie
  bad_fill,   ///< behind a cell that lies
  inherited,  ///< follows a lie
  note,
  unknown,  ///< unchecked, undecided
  dynamic,  ///< depends on a symbol
  added,
  removed,
};
inline constexpr std::size_t kTokens = 17;

/// 0xRRGGBB.
using Palette = std::array<std::uint32_t, kTokens>;
inline constexpr Palette kLight = {0xeceef1, 0xffffff, 0xf4f5f7, 0xd5d9de, 0x1b1f24, 0x5a6472,
                                   0x0b62c4, 0xd6e6fa, 0x19703c, 0xc02717, 0xfde3df, 0xa3480a,
                                   0x7a5c00, 0x5d6673, 0x6b3fb8, 0x19703c, 0xc02717};
inline constexpr Palette kDark = {0x16191d, 0x1e2227, 0x282d33, 0x3b424a, 0xe3e7eb, 0x9aa5b1,
                                  0x6db1ff, 0x1f3f63, 0x5fcf8c, 0xff8273, 0x55241f, 0xf2a35e,
                                  0xd9b84a, 0x9aa5b1, 0xc3a2ff, 0x5fcf8c, 0xff8273};

[[nodiscard]] constexpr auto color(const Palette& palette, Token token) -> std::uint32_t {
  return palette[static_cast<std::size_t>(token)];
}
/// Contrast of two colours as WCAG 2 defines it, from 1 to 21.
[[nodiscard]] auto contrast(std::uint32_t a, std::uint32_t b) -> double;

}  // namespace assay
