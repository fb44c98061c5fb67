#include "replay/bundle/sha256.h"

#include <openssl/evp.h>

#include <array>

#include <fmt/format.h>

#include "core/base/check.h"

namespace assay {

auto sha256(std::span<const std::byte> bytes) -> std::string {
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  const int done =
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  ASSAY_CHECK(done == 1 && size == digest.size(), "SHA-256 is not available");
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

auto sha256(std::string_view bytes) -> std::string {
  return sha256(std::as_bytes(std::span(bytes)));
}

}  // namespace assay
