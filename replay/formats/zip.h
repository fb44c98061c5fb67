// Zip archives in memory: a reader that trusts nothing and a writer whose bytes repeat.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace assay {

/// What an archive may ask of us before it is refused. The limits are checked against the central
/// directory when the archive is opened, and again while an entry is unpacked.
struct ZipLimits {
  std::size_t max_entries = 1 << 17;
  std::int64_t max_entry_bytes = std::int64_t{8} << 30;   ///< one entry, unpacked
  std::int64_t max_total_bytes = std::int64_t{16} << 30;  ///< all entries, unpacked
  std::int64_t max_ratio = 200;  ///< unpacked : packed, of entries over `ratio_free_bytes`
  std::int64_t ratio_free_bytes = std::int64_t{64} << 20;
};

struct ZipEntry {
  std::string name;  ///< as stored: relative, `/` between parts, no `..`
  std::int64_t size_bytes = 0;
  std::int64_t packed_bytes = 0;
};

/// True if the bytes begin as a zip archive does.
[[nodiscard]] auto looks_like_zip(std::string_view bytes) -> bool;

/// Is this a relative path that stays below its root? Refuses empty names and parts, `.`, `..`,
/// backslashes, drive letters and control characters.
[[nodiscard]] auto is_safe_entry_name(std::string_view name) -> bool;

/// Reads an archive out of memory that must outlive the reader; nothing touches the disk.
class ZipReader {
 public:
  /// Errors: bad_input (not a zip, truncated, unsafe or repeated name, over a limit, entries that
  /// overlap), unsupported (encrypted entry, other methods than stored and deflate).
  [[nodiscard]] static auto open(std::string_view bytes, const ZipLimits& limits = {})
      -> Result<ZipReader>;
  ZipReader(ZipReader&&) noexcept;
  auto operator=(ZipReader&&) noexcept -> ZipReader&;
  ~ZipReader();

  /// Files in the order of the central directory; folders are left out.
  [[nodiscard]] auto entries() const -> const std::vector<ZipEntry>&;
  [[nodiscard]] auto find(std::string_view name) const -> const ZipEntry*;
  /// Unpacked content, checked against its CRC. Errors: bad_input (no such entry, damaged).
  [[nodiscard]] auto read(std::string_view name) const -> Result<std::string>;
  /// The same as bytes that several tensors may share.
  [[nodiscard]] auto read_bytes(std::string_view name) const
      -> Result<std::shared_ptr<const std::vector<std::byte>>>;

 private:
  struct Impl;
  explicit ZipReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// One file of an archive to be written.
struct ZipFile {
  std::string name;
  std::string_view content;
};

/// An archive with the files in the given order, stored (not compressed: bytes then depend on no
/// library version) and dated 1980-01-01. Errors: bad_input (unsafe or repeated name).
[[nodiscard]] auto write_zip(const std::vector<ZipFile>& files) -> Result<std::string>;

}  // namespace assay
