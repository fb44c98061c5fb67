#include "replay/formats/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "replay/formats/capture.h"

namespace assay {
namespace {

/// A file that is deleted again unless it was renamed to its final name.
class NewFile {
 public:
  NewFile(const NewFile&) = delete;
  auto operator=(const NewFile&) -> NewFile& = delete;
  explicit NewFile(const std::filesystem::path& target) {
    for (int attempt = 0; attempt < 100 && descriptor_ < 0; ++attempt) {
      path_ = target;
      path_ += fmt::format(".{}-{}.tmp", ::getpid(), attempt);
      descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (descriptor_ < 0 && errno != EEXIST) break;
    }
  }
  ~NewFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (exists_ || descriptor_ >= 0) ::unlink(path_.c_str());
  }

  [[nodiscard]] auto is_open() const -> bool { return descriptor_ >= 0; }

  auto write(std::string_view bytes) -> bool {
    while (!bytes.empty()) {
      const auto done = ::write(descriptor_, bytes.data(), bytes.size());
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(done));
    }
    return ::fsync(descriptor_) == 0;
  }

  auto rename_to(const std::filesystem::path& target) -> bool {
    exists_ = true;
    const bool closed = ::close(descriptor_) == 0;
    descriptor_ = -1;
    if (!closed || ::rename(path_.c_str(), target.c_str()) != 0) return false;
    exists_ = false;
    return true;
  }

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  bool exists_ = false;  ///< the temporary file is there although it is closed
};

}  // namespace

auto write_file_atomically(const std::filesystem::path& path, std::string_view bytes)
    -> Result<void> {
  NewFile file(path);
  if (!file.is_open() || !file.write(bytes) || !file.rename_to(path))
    return bad_input("{}: cannot be written: {}", path.string(), std::strerror(errno));
  return {};
}

auto read_file(const std::filesystem::path& path, std::int64_t limit_bytes) -> Result<std::string> {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return bad_input("{}: no such file", path.string());
  if (std::filesystem::is_directory(status)) return bad_input("{}: is a folder", path.string());
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return bad_input("{}: cannot be opened: {}", path.string(), std::strerror(errno));
  // Pipes have no size, so the size is a hint for the buffer and the limit is kept while reading.
  const auto hint = std::filesystem::file_size(path, error);
  std::string bytes;
  if (!error && hint <= static_cast<std::uintmax_t>(limit_bytes)) bytes.reserve(hint);
  std::string part(1 << 20, '\0');
  while (stream) {
    stream.read(part.data(), static_cast<std::streamsize>(part.size()));
    bytes.append(part, 0, static_cast<std::size_t>(stream.gcount()));
    if (bytes.size() > static_cast<std::size_t>(limit_bytes))
      return bad_input("{}: larger than {} bytes", path.string(), limit_bytes);
  }
  if (stream.bad()) return bad_input("{}: cannot be read", path.string());
  return bytes;
}

}  // namespace assay
