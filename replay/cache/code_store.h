// Generated machine code in an SQLite file, by the SHA-256 of what it was generated from.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>

#include "compiler/runtime/code_cache.h"

namespace assay {

/// Several processes may share a file. Above `most_bytes` what was wanted longest ago goes. Null
/// where the file cannot be made or is something else.
[[nodiscard]] auto open_code_store(const std::filesystem::path& file,
                                   std::int64_t most_bytes = std::int64_t{256} << 20)
    -> std::unique_ptr<CodeCache>;

/// What ASSAY_CODE_CACHE says, else `assay/code.sqlite` in the user's folder for caches
/// (XDG_CACHE_HOME, else ~/.cache). Empty: none is wanted, or there is no such folder.
[[nodiscard]] auto code_store_path() -> std::filesystem::path;

}  // namespace assay
