// capture.json of a bundle: everything of a Capture but its graph.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "replay/formats/capture.h"

namespace assay {

using BlobBytes = std::shared_ptr<const std::vector<std::byte>>;

/// SHA-256 of each recorded storage, empty where a storage has no bytes of its own.
[[nodiscard]] auto storage_hashes(const Capture& capture) -> std::vector<std::string>;

/// JSON text; equal captures give equal text. `hashes` as storage_hashes gives them.
/// Errors: bad_input (inputs do not match the placeholders).
[[nodiscard]] auto print_capture_section(const Capture& capture,
                                         const std::vector<std::string>& hashes)
    -> Result<std::string>;

/// Fills everything but the graph, which `capture` holds already. `blob` gives the bytes of a hash.
/// Errors: bad_input naming the part; every index and every view is checked.
[[nodiscard]] auto read_capture_section(
    std::string_view text, const std::function<Result<BlobBytes>(const std::string&)>& blob,
    Capture& capture) -> Result<void>;

}  // namespace assay
