// JSON as PyTorch writes it: like the standard, plus bare NaN and Infinity tokens.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace assay {

/// One value of a parsed document; valid as long as its JsonDocument. Accessors answer nothing when
/// the kind does not fit, so callers decide whether that is an error.
class JsonValue {
 public:
  JsonValue() = default;

  [[nodiscard]] auto exists() const -> bool { return element_.has_value(); }
  [[nodiscard]] auto is_null() const -> bool;
  [[nodiscard]] auto is_object() const -> bool;
  [[nodiscard]] auto is_array() const -> bool;
  [[nodiscard]] auto as_bool() const -> std::optional<bool>;
  [[nodiscard]] auto as_int() const -> std::optional<std::int64_t>;
  /// Any number, and the strings "NaN", "Infinity" and "-Infinity".
  [[nodiscard]] auto as_number() const -> std::optional<double>;
  [[nodiscard]] auto as_string() const -> std::optional<std::string_view>;
  /// Member by key; a value that does not exist if there is none or this is no object.
  [[nodiscard]] auto operator[](std::string_view key) const -> JsonValue;
  /// Items of an array, empty for anything else.
  [[nodiscard]] auto items() const -> std::vector<JsonValue>;
  /// Members of an object in file order, empty for anything else.
  [[nodiscard]] auto members() const -> std::vector<std::pair<std::string_view, JsonValue>>;
  /// Compact text of this value.
  [[nodiscard]] auto dump() const -> std::string;
  /// For people: a string without its quotes, else what dump() says.
  [[nodiscard]] auto text() const -> std::string;

 private:
  friend class JsonDocument;
  struct Access;  ///< the parser's view of this value; its header stays in json.cpp
  std::optional<std::array<std::byte, 16>> element_;
};

/// Owns the parsed text.
class JsonDocument {
 public:
  JsonDocument(JsonDocument&&) noexcept;
  auto operator=(JsonDocument&&) noexcept -> JsonDocument&;
  ~JsonDocument();
  /// `name` goes into messages. Errors: bad_input (malformed, deeper than 1024, not UTF-8).
  [[nodiscard]] static auto parse(std::string_view text, const std::string& name)
      -> Result<JsonDocument>;
  [[nodiscard]] auto root() const -> JsonValue { return root_; }

 private:
  struct Impl;
  explicit JsonDocument(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
  JsonValue root_;
};

[[nodiscard]] auto is_utf8(std::string_view text) -> bool;
/// Text as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] auto json_quote(std::string_view text) -> std::string;
/// Shortest text that reads back to the same double; "NaN", "Infinity", "-Infinity" as strings.
[[nodiscard]] auto json_number(double value) -> std::string;

}  // namespace assay
