#include "gui/data/bundle_contents.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string_view>

namespace assay {
namespace {

constexpr std::string_view kEntry = "PK\x01\x02";  // of the central directory
constexpr std::size_t kEntryBytes = 46;
constexpr std::streamoff kMostTail = 4 << 20;

auto little(std::string_view bytes, std::size_t at, std::size_t count) -> std::int64_t {
  std::int64_t value = 0;
  for (std::size_t i = count; i-- > 0;)
    value = (value << 8) | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

}  // namespace

auto bundle_contents(const std::filesystem::path& path)
    -> std::vector<std::pair<std::string, std::int64_t>> {
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  if (!stream) return {};
  const auto size = static_cast<std::streamoff>(stream.tellg());
  char magic[4] = {};
  stream.seekg(0);
  stream.read(magic, 4);
  if (std::string_view(magic, 2) != "PK") return {};
  stream.clear();
  stream.seekg(std::max<std::streamoff>(size - kMostTail, 0));
  const std::string tail{std::istreambuf_iterator<char>(stream), {}};
  const std::string_view bytes = tail;
  std::vector<std::pair<std::string, std::int64_t>> files;
  // The directory is the last thing in the file; an entry names the length of its variable parts.
  const auto end = bytes.rfind("PK\x05\x06");
  if (end == std::string_view::npos || end + 20 > bytes.size()) return {};
  const auto directory = little(bytes, end + 12, 4);
  if (directory < 0 || static_cast<std::size_t>(directory) > end) return {};
  auto at = end - static_cast<std::size_t>(directory);
  while (at + kEntryBytes <= end && bytes.substr(at, 4) == kEntry) {
    const auto name = static_cast<std::size_t>(little(bytes, at + 28, 2));
    const auto extra =
        static_cast<std::size_t>(little(bytes, at + 30, 2) + little(bytes, at + 32, 2));
    if (at + kEntryBytes + name > end) break;
    files.emplace_back(bytes.substr(at + kEntryBytes, name), little(bytes, at + 24, 4));
    at += kEntryBytes + name + extra;
  }
  return files;
}

}  // namespace assay
