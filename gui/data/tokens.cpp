#include "gui/data/tokens.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

auto luminance(std::uint32_t rgb) -> double {
  const auto channel = [&](unsigned shift) {
    const double value = static_cast<double>((rgb >> shift) & 0xffU) / 255;
    return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * channel(16) + 0.7152 * channel(8) + 0.0722 * channel(0);
}

}  // namespace

auto contrast(std::uint32_t a, std::uint32_t b) -> double {
  const double one = luminance(a), other = luminance(b);
  return (std::max(one, other) + 0.05) / (std::min(one, other) + 0.05);
}

}  // namespace assay
