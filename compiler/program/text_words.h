// Words of the text form that stand for enumerations. Internal to compiler/program.
#pragma once
#include <array>
#include <optional>
#include <string_view>

#include "compiler/program/kernel.h"

namespace assay {

inline constexpr std::array<std::string_view, 12> kCombineWords = {
    "sum", "product", "min",     "max",     "argmin",         "argmax",
    "any", "all",     "bit_xor", "welford", "online_softmax", "region"};
inline constexpr std::array<std::string_view, 5> kRandomWords = {"uniform", "normal", "integer",
                                                                 "integer64", "words"};
inline constexpr std::array<std::string_view, 3> kParamWords = {"buffer", "scalar", "block"};
inline constexpr std::array<std::string_view, 4> kAxisWords = {"parallel", "reduction", "lanes",
                                                               "nested"};

template <class Enum, std::size_t kCount>
auto word_of(const std::array<std::string_view, kCount>& words, Enum value) -> std::string_view {
  return words[static_cast<std::size_t>(value)];
}
template <class Enum, std::size_t kCount>
auto find_word(const std::array<std::string_view, kCount>& words, std::string_view word)
    -> std::optional<Enum> {
  for (std::size_t i = 0; i < kCount; ++i)
    if (words[i] == word) return static_cast<Enum>(i);
  return std::nullopt;
}

}  // namespace assay
