// Machine code that was generated before. Who has a database keeps it; nothing here knows one.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace assay {

class CodeCache {
 public:
  virtual ~CodeCache() = default;
  /// `key` is a text of everything that the code depends on: kernels, options, target, generator.
  /// Nothing where it is not kept. Several threads may ask.
  [[nodiscard]] virtual auto find(std::string_view key) -> std::optional<std::string> = 0;
  /// What cannot be kept is generated again.
  virtual void keep(std::string_view key, std::string_view code) = 0;
};

}  // namespace assay
