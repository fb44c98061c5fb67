// Zip archives exactly as asked for, also wrong ones: what the real writer refuses to write.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay::testing_support {

struct RawEntry {
  std::string name;
  std::string packed;              ///< bytes as they lie in the file
  std::uint16_t method = 0;        ///< 0 stored, 8 deflate
  std::uint32_t size_bytes = 0;    ///< declared unpacked size
  std::uint32_t packed_bytes = 0;  ///< declared packed size
  std::uint32_t crc = 0;
  std::uint16_t flags = 0;  ///< 1 encrypted
};

inline auto crc32_of(std::string_view bytes) -> std::uint32_t {
  std::uint32_t crc = 0xffffffff;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320U : 0U);
  }
  return ~crc;
}

/// A well-formed stored entry.
inline auto stored(std::string name, const std::string& content) -> RawEntry {
  const auto size = static_cast<std::uint32_t>(content.size());
  return {std::move(name), content, 0, size, size, crc32_of(content), 0};
}

/// A well-formed deflate entry of one block that is not compressed (at most 65535 bytes).
inline auto deflated(std::string name, const std::string& content) -> RawEntry {
  const auto size = static_cast<std::uint32_t>(content.size());
  std::string packed = "\x01";
  for (const auto part : {size, ~size})
    for (int i = 0; i < 2; ++i) packed += static_cast<char>((part >> (8 * i)) & 0xff);
  packed += content;
  const auto packed_size = static_cast<std::uint32_t>(packed.size());
  return {std::move(name), packed, 8, size, packed_size, crc32_of(content), 0};
}

inline auto raw_zip(const std::vector<RawEntry>& entries) -> std::string {
  std::string out;
  std::string directory;
  const auto put = [](std::string& to, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i)
      to += i < 8 ? static_cast<char>((value >> (8 * i)) & 0xff) : char{0};
  };
  for (const auto& entry : entries) {
    const auto offset = out.size();
    std::string common;
    put(common, 20, 2);
    put(common, entry.flags, 2);
    put(common, entry.method, 2);
    put(common, 0, 2);
    put(common, 33, 2);  // 1980-01-01
    put(common, entry.crc, 4);
    put(common, entry.packed_bytes, 4);
    put(common, entry.size_bytes, 4);
    put(common, entry.name.size(), 2);
    put(common, 0, 2);
    out += "PK\x03\x04" + common + entry.name + entry.packed;
    directory += "PK\x01\x02";
    put(directory, 20, 2);
    directory += common;
    put(directory, 0, 2 + 2 + 2 + 4);  // comment, disk, attributes
    put(directory, offset, 4);
    directory += entry.name;
  }
  const auto start = out.size();
  out += directory + "PK\x05\x06";
  put(out, 0, 4);
  put(out, entries.size(), 2);
  put(out, entries.size(), 2);
  put(out, directory.size(), 4);
  put(out, start, 4);
  put(out, 0, 2);
  return out;
}

}  // namespace assay::testing_support
