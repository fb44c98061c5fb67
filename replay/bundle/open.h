// Opening whatever the user names: a bundle or any capture format.
#pragma once
#include <filesystem>
#include <string_view>

#include "core/base/result.h"
#include "replay/bundle/bundle.h"

namespace assay {

/// The file beside a capture with recorded calls of operators that have no row.
inline constexpr std::string_view kOperatorCases = "operators.sqlite";

/// Any input; one that is no bundle becomes a Bundle without verdict.
/// Errors: bad_input, unsupported; starting with the path.
[[nodiscard]] auto open_bundle(const std::filesystem::path& path, std::string_view graph = {})
    -> Result<Bundle>;

/// The capture alone. `source_path` is the path, and the format of a bundle is "bundle". `graph`
/// chooses among several graphs of a text or log.
[[nodiscard]] auto open_capture(const std::filesystem::path& path, std::string_view graph = {})
    -> Result<Capture>;

/// A wrapper, a log, or the bundle of one. Of any other file the text is its content, or nothing
/// if that is no text.
/// Errors: bad_input, unsupported; starting with the path.
[[nodiscard]] auto open_program(const std::filesystem::path& path) -> Result<ProgramBundle>;

}  // namespace assay
