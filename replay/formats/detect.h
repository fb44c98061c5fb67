// What kind of input some bytes are, judged by their beginning and a few landmarks.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "replay/formats/capture.h"

namespace assay {

enum class InputFormat {
  empty,
  bundle,  ///< zip with our manifest
  pt2,     ///< any other zip
  capture_json,
  repro_script,
  graph_text,   ///< any other text
  torch_trace,  ///< log of TORCH_TRACE
  trace_db,     ///< SQLite file
  compressed,   ///< gzip, xz, zstd or bzip2
  binary,       ///< not UTF-8, or with NUL bytes
};

[[nodiscard]] auto detect_format(std::string_view bytes) -> InputFormat;

/// read_capture for bytes out of a file: names in messages begin with `name`, and files that the
/// input names are looked for in `folder`.
/// `graph` chooses among several graphs of a text or log (see read_graph_text, trace_capture).
[[nodiscard]] auto read_capture_in(std::string_view bytes, const std::string& name,
                                   const std::filesystem::path& folder, std::string_view graph = {})
    -> Result<Capture>;

/// The folder that a file lies in; "." for a bare name.
[[nodiscard]] auto folder_of(const std::filesystem::path& path) -> std::filesystem::path;

/// The `format` member of a bundle's manifest.json.
inline constexpr std::string_view kBundleFormat = "assay bundle";
inline constexpr std::string_view kBundleManifest = "manifest.json";

}  // namespace assay
