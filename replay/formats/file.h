// Writing files so that a reader never sees half of one. Reading is in capture.h.
#pragma once
#include <filesystem>
#include <string_view>

#include "core/base/result.h"

namespace assay {

/// Writes next to `path` under a name of its own, flushes, then renames over `path`. On failure the
/// old file is as it was and nothing is left behind. Errors: bad_input naming the path.
[[nodiscard]] auto write_file_atomically(const std::filesystem::path& path, std::string_view bytes)
    -> Result<void>;

}  // namespace assay
