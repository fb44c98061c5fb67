// Which line of a program's text belongs to which node, by the names that it assigns.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace assay {

struct TextLines {
  std::vector<std::string> names;             ///< by line from 0; empty where nothing is assigned
  std::unordered_map<std::string, int> line;  ///< from 0, the first of each name
};
/// Of native graph text and Inductor wrappers: `name: "..." = call` and `name = call`; parameters
/// of `forward` stand on its line.
[[nodiscard]] auto text_lines(std::string_view text) -> TextLines;

}  // namespace assay
