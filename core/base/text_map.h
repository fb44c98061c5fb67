// Hash maps with std::string keys that are searched by string_view.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace assay {

struct TextHash {
  using is_transparent = void;
  auto operator()(std::string_view text) const -> std::size_t {
    return std::hash<std::string_view>{}(text);
  }
};
template <class T>
using TextMap = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

}  // namespace assay
