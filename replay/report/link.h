// Links into the viewer: `assay:FILE#node:NAME`.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "core/finding/finding.h"

namespace assay {

struct Link {
  std::string file;
  std::string place;  ///< "node:add_3", "finding:2", "step:7"; empty for the file alone
};
/// Bytes that would end a link in a terminal are percent-encoded.
[[nodiscard]] auto to_string(const Link& link) -> std::string;
/// Also of a bare path without the scheme, which has no place.
[[nodiscard]] auto parse_link(std::string_view text) -> Link;

/// One line for each root finding at a node: `link  assay:FILE#node:NAME`.
[[nodiscard]] auto links_text(std::span<const Finding> findings, const std::string& file)
    -> std::string;

}  // namespace assay
