#include "replay/report/paint.h"

#include <fmt/format.h>

namespace assay {
namespace {

auto escape_of(Style style) -> std::string_view {
  switch (style) {
    case Style::bold:
      return "\033[1m";
    case Style::red:
      return "\033[1;31m";
    case Style::green:
      return "\033[1;32m";
    case Style::yellow:
      return "\033[33m";
    case Style::dim:
      return "\033[2m";
  }
  return "";
}

}  // namespace

auto Paint::operator()(std::string_view text, Style style) const -> std::string {
  if (!enabled_) return std::string(text);
  return fmt::format("{}{}\033[0m", escape_of(style), text);
}

auto counted(std::int64_t count, std::string_view singular, std::string_view plural)
    -> std::string {
  if (count == 1) return fmt::format("1 {}", singular);
  return plural.empty() ? fmt::format("{} {}s", count, singular)
                        : fmt::format("{} {}", count, plural);
}

}  // namespace assay
