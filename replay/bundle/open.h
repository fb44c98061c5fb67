// Opening whatever the user names: a bundle or any capture format.
#pragma once
#include <filesystem>

#include "core/base/result.h"
#include "replay/bundle/bundle.h"

namespace assay {

/// Any input; one that is no bundle becomes a Bundle without verdict.
/// Errors: bad_input, unsupported; starting with the path.
[[nodiscard]] auto open_bundle(const std::filesystem::path& path) -> Result<Bundle>;

/// The capture alone. `source_path` is the path, and the format of a bundle is "bundle".
[[nodiscard]] auto open_capture(const std::filesystem::path& path) -> Result<Capture>;

}  // namespace assay
