// A capture as files that an oracle or a person can use.
#pragma once
#include <filesystem>

#include "replay/bundle/repro.h"

namespace assay {

inline constexpr const char* kBundleName = "minimal.assay.zip";

/// repro.py, graph.txt, the bundle, and the blobs unpacked beside them, so that repro.py runs as it
/// lies there, with `check` as a comparison of its own. Errors: bad_input naming the file.
[[nodiscard]] auto write_candidate(const Capture& capture, const std::filesystem::path& folder,
                                   const std::optional<CompileCheck>& check = std::nullopt)
    -> Result<void>;

}  // namespace assay
