#include "replay/formats/zip.h"

#include <zip.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "core/base/check.h"

namespace assay {
namespace {

// The first day a zip archive can name: 1980-01-01 00:00.
constexpr zip_uint16_t kDosTime = 0;
constexpr zip_uint16_t kDosDate = (1 << 5) | 1;

struct ArchiveCloser {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct SourceCloser {
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
struct FileCloser {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Archive = std::unique_ptr<zip_t, ArchiveCloser>;
using Source = std::unique_ptr<zip_source_t, SourceCloser>;
using File = std::unique_ptr<zip_file_t, FileCloser>;

auto describe(zip_error_t& error) -> std::string {
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

auto make_source(const void* data, std::size_t size) -> Result<Source> {
  zip_error_t error;
  zip_error_init(&error);
  Source source(zip_source_buffer_create(data, size, 0, &error));
  if (!source) return bad_input("zip archive: {}", describe(error));
  return source;
}

auto open_archive(const Source& source, int flags) -> Result<Archive> {
  zip_error_t error;
  zip_error_init(&error);
  Archive archive(zip_open_from_source(source.get(), flags, &error));
  if (!archive) return bad_input("zip archive: {}", describe(error));
  zip_source_keep(source.get());  // the archive took over the reference that `source` still holds
  return archive;
}

auto printable(std::string_view name) -> std::string {
  std::string text;
  for (const char c : name.substr(0, 120))
    text += c >= 0x20 && c < 0x7f ? std::string(1, c) : fmt::format("\\x{:02x}", c & 0xff);
  return text;
}

/// Checks what the central directory says of one entry; nothing is unpacked yet.
auto check_entry(const zip_stat_t& stat, const std::string& name, const ZipLimits& limits)
    -> Result<ZipEntry> {
  constexpr zip_uint64_t kNeeded =
      ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  if ((stat.valid & kNeeded) != kNeeded)
    return bad_input("zip entry {}: incomplete directory record", printable(name));
  if (stat.encryption_method != ZIP_EM_NONE)
    return unsupported("zip entry {}: encrypted", printable(name));
  if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE)
    return unsupported("zip entry {}: compression method {}", printable(name), stat.comp_method);
  const auto limit = static_cast<zip_uint64_t>(limits.max_entry_bytes);
  if (stat.size > limit || stat.comp_size > limit)
    return bad_input("zip entry {}: {} bytes are more than the limit of {}", printable(name),
                     stat.size, limit);
  ZipEntry entry{name, static_cast<std::int64_t>(stat.size),
                 static_cast<std::int64_t>(stat.comp_size)};
  if (entry.size_bytes > limits.ratio_free_bytes &&
      entry.size_bytes / std::max<std::int64_t>(entry.packed_bytes, 1) > limits.max_ratio)
    return bad_input("zip entry {}: {} bytes packed into {} look like a zip bomb", printable(name),
                     entry.size_bytes, entry.packed_bytes);
  return entry;
}

}  // namespace

struct ZipReader::Impl {
  Source source;
  Archive archive;
  std::vector<ZipEntry> entries;
  std::vector<zip_uint64_t> positions;  ///< index of each entry inside the archive
  std::unordered_map<std::string, std::size_t> by_name;

  auto index(std::size_t archive_bytes, const ZipLimits& limits) -> Result<void>;
  auto unpack(std::size_t entry, std::span<std::byte> to) const -> Result<void>;
  auto find(std::string_view name) const -> Result<std::size_t>;
};

auto ZipReader::Impl::index(std::size_t archive_bytes, const ZipLimits& limits) -> Result<void> {
  const auto count = zip_get_num_entries(archive.get(), 0);
  if (count < 0 || static_cast<std::size_t>(count) > limits.max_entries)
    return bad_input("zip archive: {} entries are more than the limit of {}", count,
                     limits.max_entries);
  std::int64_t total = 0;
  std::int64_t packed = 0;
  for (zip_uint64_t i = 0; i < static_cast<zip_uint64_t>(count); ++i) {
    zip_stat_t stat;
    const char* raw = zip_get_name(archive.get(), i, ZIP_FL_ENC_RAW);
    if (raw == nullptr || zip_stat_index(archive.get(), i, 0, &stat) != 0)
      return bad_input("zip archive: entry {} cannot be read", i);
    std::string name = raw;
    const bool is_folder = name.ends_with('/');
    if (!is_safe_entry_name(is_folder ? name.substr(0, name.size() - 1) : name))
      return bad_input("zip entry {}: unsafe name", printable(name));
    ASSAY_TRY(auto entry, check_entry(stat, name, limits));
    total += entry.size_bytes;
    packed += entry.packed_bytes;
    if (total > limits.max_total_bytes)
      return bad_input("zip archive: entries add up to more than {} bytes", limits.max_total_bytes);
    if (!by_name.emplace(name, entries.size()).second)
      return bad_input("zip entry {}: name appears twice", printable(name));
    if (is_folder) {
      by_name.erase(name);
      continue;
    }
    entries.push_back(std::move(entry));
    positions.push_back(i);
  }
  // Entries that share packed bytes are how a small archive unpacks to petabytes.
  if (packed > static_cast<std::int64_t>(archive_bytes))
    return bad_input("zip archive: entries overlap");
  return {};
}

auto ZipReader::Impl::unpack(std::size_t entry, std::span<std::byte> to) const -> Result<void> {
  const auto& name = entries[entry].name;
  const File file(zip_fopen_index(archive.get(), positions[entry], 0));
  if (!file) return bad_input("zip entry {}: {}", printable(name), zip_strerror(archive.get()));
  std::size_t done = 0;
  while (done < to.size()) {
    const auto got = zip_fread(file.get(), to.data() + done, to.size() - done);
    if (got < 0)
      return bad_input("zip entry {}: {}", printable(name), zip_file_strerror(file.get()));
    if (got == 0)
      return bad_input("zip entry {}: shorter than its directory says", printable(name));
    done += static_cast<std::size_t>(got);
  }
  std::byte beyond{};  // reading past the end is what makes libzip compare the CRC
  const auto rest = zip_fread(file.get(), &beyond, 1);
  if (rest < 0)
    return bad_input("zip entry {}: {}", printable(name), zip_file_strerror(file.get()));
  if (rest > 0) return bad_input("zip entry {}: longer than its directory says", printable(name));
  return {};
}

auto ZipReader::Impl::find(std::string_view name) const -> Result<std::size_t> {
  const auto found = by_name.find(std::string(name));
  if (found == by_name.end()) return bad_input("zip archive: no entry {}", printable(name));
  return found->second;
}

auto looks_like_zip(std::string_view bytes) -> bool {
  // A local file header, or the end record of an archive without entries.
  return bytes.starts_with(std::string_view("PK\x03\x04", 4)) ||
         bytes.starts_with(std::string_view("PK\x05\x06", 4));
}

auto is_safe_entry_name(std::string_view name) -> bool {
  if (name.empty() || name.size() > 4096) return false;
  if (name.size() > 1 && name[1] == ':') return false;
  const auto is_bad = [](char c) { return c == '\\' || (c >= 0 && c < 0x20) || c == 0x7f; };
  if (std::ranges::any_of(name, is_bad)) return false;
  for (std::size_t begin = 0; begin <= name.size();) {
    const auto end = std::min(name.find('/', begin), name.size());
    const auto part = name.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

ZipReader::ZipReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ZipReader::ZipReader(ZipReader&&) noexcept = default;
auto ZipReader::operator=(ZipReader&&) noexcept -> ZipReader& = default;
ZipReader::~ZipReader() = default;

auto ZipReader::open(std::string_view bytes, const ZipLimits& limits) -> Result<ZipReader> {
  if (!looks_like_zip(bytes)) return bad_input("zip archive: does not begin like one");
  auto impl = std::make_unique<Impl>();
  ASSAY_TRY(impl->source, make_source(bytes.data(), bytes.size()));
  ASSAY_TRY(impl->archive, open_archive(impl->source, ZIP_RDONLY));
  ASSAY_TRY_VOID(impl->index(bytes.size(), limits));
  return ZipReader(std::move(impl));
}

auto ZipReader::entries() const -> const std::vector<ZipEntry>& {
  return impl_->entries;
}

auto ZipReader::find(std::string_view name) const -> const ZipEntry* {
  const auto found = impl_->by_name.find(std::string(name));
  return found == impl_->by_name.end() ? nullptr : &impl_->entries[found->second];
}

auto ZipReader::read(std::string_view name) const -> Result<std::string> {
  ASSAY_TRY(const auto entry, impl_->find(name));
  std::string content(static_cast<std::size_t>(impl_->entries[entry].size_bytes), '\0');
  ASSAY_TRY_VOID(impl_->unpack(entry, std::as_writable_bytes(std::span(content))));
  return content;
}

auto ZipReader::read_bytes(std::string_view name) const
    -> Result<std::shared_ptr<const std::vector<std::byte>>> {
  ASSAY_TRY(const auto entry, impl_->find(name));
  auto content = std::make_shared<std::vector<std::byte>>(
      static_cast<std::size_t>(impl_->entries[entry].size_bytes));
  ASSAY_TRY_VOID(impl_->unpack(entry, *content));
  return content;
}

namespace {

auto add_file(zip_t* archive, const ZipFile& file) -> Result<void> {
  zip_source_t* content = zip_source_buffer(archive, file.content.data(), file.content.size(), 0);
  if (content == nullptr) return bad_input("zip entry {}: {}", file.name, zip_strerror(archive));
  const auto index = zip_file_add(archive, file.name.c_str(), content, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(content);
    return bad_input("zip entry {}: {}", file.name, zip_strerror(archive));
  }
  const auto position = static_cast<zip_uint64_t>(index);
  if (zip_set_file_compression(archive, position, ZIP_CM_STORE, 0) != 0 ||
      zip_file_set_dostime(archive, position, kDosTime, kDosDate, 0) != 0)
    return bad_input("zip entry {}: {}", file.name, zip_strerror(archive));
  return {};
}

auto read_whole(zip_source_t* source) -> Result<std::string> {
  zip_stat_t stat;
  zip_stat_init(&stat);
  if (zip_source_stat(source, &stat) != 0 || zip_source_open(source) != 0)
    return bad_input("zip archive: {}", zip_error_strerror(zip_source_error(source)));
  std::string bytes(stat.size, '\0');
  const auto got = zip_source_read(source, bytes.data(), bytes.size());
  zip_source_close(source);
  if (got < 0 || static_cast<std::size_t>(got) != bytes.size())
    return bad_input("zip archive: could not be read back");
  return bytes;
}

}  // namespace

auto write_zip(const std::vector<ZipFile>& files) -> Result<std::string> {
  std::unordered_set<std::string_view> names;
  for (const auto& file : files) {
    if (!is_safe_entry_name(file.name))
      return bad_input("zip entry {}: unsafe name", printable(file.name));
    if (!names.insert(file.name).second)
      return bad_input("zip entry {}: name appears twice", file.name);
  }
  // libzip writes no archive at all when there is nothing in it.
  if (files.empty()) return bad_input("an archive needs a file");
  ASSAY_TRY(const auto target, make_source(nullptr, 0));
  ASSAY_TRY(auto archive, open_archive(target, ZIP_CREATE | ZIP_TRUNCATE));
  for (const auto& file : files) ASSAY_TRY_VOID(add_file(archive.get(), file));
  if (zip_close(archive.get()) != 0)
    return bad_input("zip archive: {}", zip_strerror(archive.get()));
  (void)archive.release();  // closed, not to be discarded
  return read_whole(target.get());
}

}  // namespace assay
