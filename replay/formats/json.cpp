#include "replay/formats/json.h"

#include <simdjson.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "core/graph/python_lexer.h"

namespace assay {
namespace {

constexpr auto kNan = std::numeric_limits<double>::quiet_NaN();
constexpr auto kInfinity = std::numeric_limits<double>::infinity();

struct NumberWord {
  std::string_view word;
  double value;
};
// The longer word first: "-Infinity" contains "Infinity".
constexpr std::array kNumberWords = {
    NumberWord{"-Infinity", -kInfinity},
    NumberWord{"Infinity", kInfinity},
    NumberWord{"NaN", kNan},
};

/// Puts quotes around bare NaN and Infinity tokens. Python's json module writes them; the standard
/// does not know them (pytorch issue 155359).
auto quote_number_words(std::string_view text) -> std::string {
  std::string out;
  out.reserve(text.size() + 64);
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      out += c;
      if (c == '\\' && i + 1 < text.size()) out += text[++i];
      if (c == '"') in_string = false;
      continue;
    }
    const NumberWord* found = nullptr;
    for (const auto& row : kNumberWords)
      if (found == nullptr && text.substr(i).starts_with(row.word)) found = &row;
    if (found != nullptr) {
      out += '"';
      out += found->word;
      out += '"';
      i += found->word.size() - 1;
      continue;
    }
    in_string = c == '"';
    out += c;
  }
  return out;
}

}  // namespace

struct JsonValue::Access {
  using Element = simdjson::dom::element;
  using Bits = std::array<std::byte, sizeof(Element)>;

  static auto wrap(Element element) -> JsonValue {
    JsonValue value;
    value.element_ = std::bit_cast<Bits>(element);
    return value;
  }
  template <class T>
  static auto get(const JsonValue& value) -> std::optional<T> {
    T result;
    if (!value.element_) return std::nullopt;
    if (std::bit_cast<Element>(*value.element_).get(result) != simdjson::SUCCESS)
      return std::nullopt;
    return result;
  }
};

struct JsonDocument::Impl {
  simdjson::dom::parser parser;
};

auto JsonValue::is_null() const -> bool {
  return element_ && std::bit_cast<Access::Element>(*element_).is_null();
}
auto JsonValue::is_object() const -> bool {
  return Access::get<simdjson::dom::object>(*this).has_value();
}
auto JsonValue::is_array() const -> bool {
  return Access::get<simdjson::dom::array>(*this).has_value();
}
auto JsonValue::as_bool() const -> std::optional<bool> {
  return Access::get<bool>(*this);
}
auto JsonValue::as_int() const -> std::optional<std::int64_t> {
  return Access::get<std::int64_t>(*this);
}
auto JsonValue::as_string() const -> std::optional<std::string_view> {
  return Access::get<std::string_view>(*this);
}

auto JsonValue::as_number() const -> std::optional<double> {
  if (const auto value = Access::get<double>(*this)) return value;
  const auto text = as_string();
  for (const auto& row : kNumberWords)
    if (text == row.word) return row.value;
  return std::nullopt;
}

auto JsonValue::operator[](std::string_view key) const -> JsonValue {
  const auto object = Access::get<simdjson::dom::object>(*this);
  simdjson::dom::element member;
  if (!object || object->at_key(key).get(member) != simdjson::SUCCESS) return {};
  return Access::wrap(member);
}

auto JsonValue::items() const -> std::vector<JsonValue> {
  std::vector<JsonValue> items;
  const auto array = Access::get<simdjson::dom::array>(*this);
  if (!array) return items;
  for (const auto item : *array) items.push_back(Access::wrap(item));
  return items;
}

auto JsonValue::members() const -> std::vector<std::pair<std::string_view, JsonValue>> {
  std::vector<std::pair<std::string_view, JsonValue>> members;
  const auto object = Access::get<simdjson::dom::object>(*this);
  if (!object) return members;
  for (const auto member : *object) members.emplace_back(member.key, Access::wrap(member.value));
  return members;
}

auto JsonValue::text() const -> std::string {
  const auto plain = as_string();
  return plain ? std::string(*plain) : dump();
}

auto JsonValue::dump() const -> std::string {
  return element_ ? simdjson::to_string(std::bit_cast<Access::Element>(*element_)) : std::string();
}

JsonDocument::JsonDocument(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
auto JsonDocument::operator=(JsonDocument&&) noexcept -> JsonDocument& = default;
JsonDocument::~JsonDocument() = default;

auto JsonDocument::parse(std::string_view text, const std::string& name) -> Result<JsonDocument> {
  JsonDocument document(std::make_unique<Impl>());
  auto& parser = document.impl_->parser;
  simdjson::dom::element root;
  auto error = parser.parse(text.data(), text.size()).get(root);
  if (error != simdjson::SUCCESS && (text.contains("NaN") || text.contains("Infinity"))) {
    const auto quoted = quote_number_words(text);
    error = parser.parse(quoted.data(), quoted.size()).get(root);
  }
  if (error != simdjson::SUCCESS)
    return bad_input("{}: malformed JSON: {}", name, simdjson::error_message(error));
  document.root_ = JsonValue::Access::wrap(root);
  return document;
}

auto is_utf8(std::string_view text) -> bool {
  return simdjson::validate_utf8(text.data(), text.size());
}

auto json_quote(std::string_view text) -> std::string {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const auto length = utf8_length(text.substr(i));
    if (length == 0) {
      out += "\xef\xbf\xbd";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (length == 1 && (c < 0x20 || c == 0x7f)) {
      out += fmt::format("\\u{:04x}", c);
    } else {
      out += text.substr(i, length);
    }
    i += length == 0 ? 1 : length;
  }
  return out + '"';
}

auto json_number(double value) -> std::string {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  auto text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";  // a double stays a double
  return text;
}

}  // namespace assay
