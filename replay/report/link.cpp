#include "replay/report/link.h"

#include <charconv>
#include <filesystem>
#include <set>

namespace assay {
namespace {

constexpr std::string_view kScheme = "assay:";

auto encoded(std::string_view text) -> std::string {
  std::string result;
  for (const char c : text) {
    const bool is_plain = c > ' ' && c < '\x7f' && !std::string_view("%#\"'<>`").contains(c);
    result += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return result;
}

auto decoded(std::string_view text) -> std::string {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 2 < text.size()) {
      const auto [end, error] = std::from_chars(&text[i + 1], &text[i + 1] + 2, value, 16);
      if (error == std::errc() && end == &text[i + 1] + 2) {
        result += static_cast<char>(value);
        i += 2;
        continue;
      }
    }
    result += text[i];
  }
  return result;
}

}  // namespace

auto to_string(const Link& link) -> std::string {
  return fmt::format("{}{}{}{}", kScheme, encoded(link.file), link.place.empty() ? "" : "#",
                     encoded(link.place));
}

auto parse_link(std::string_view text) -> Link {
  if (!text.starts_with(kScheme)) return {std::string(text), {}};
  text.remove_prefix(kScheme.size());
  const auto hash = text.find('#');
  return {decoded(text.substr(0, hash)),
          hash == std::string_view::npos ? "" : decoded(text.substr(hash + 1))};
}

auto links_text(std::span<const Finding> findings, const std::string& file) -> std::string {
  std::string text;
  std::set<std::string> seen;
  for (const auto* finding : root_findings(findings))
    if (!finding->node_name.empty() && seen.insert(finding->node_name).second)
      text += fmt::format(
          "link: {}\n", to_string(Link{std::filesystem::absolute(file).lexically_normal().string(),
                                       "node:" + finding->node_name}));
  return text;
}

}  // namespace assay
