// What differs between two graphs: nodes matched by where they came from, then by structure, then
// by name.
#pragma once
#include <string>
#include <vector>

#include "replay/trace/pages.h"

namespace assay {

enum class DiffKind : std::uint8_t { same, changed, added, removed };
[[nodiscard]] auto name(DiffKind kind) -> std::string_view;
enum class MatchedBy : std::uint8_t { nothing, provenance, structure, name };
[[nodiscard]] auto name(MatchedBy by) -> std::string_view;

/// A node as matching sees it.
struct DiffNode {
  NodeLine line;
  std::string call;
  std::vector<int> operands;  ///< positions in the same list
};
struct DiffPair {
  DiffKind kind = DiffKind::same;
  MatchedBy by = MatchedBy::nothing;
  int left = -1, right = -1;         ///< positions; -1 for none
  std::vector<std::string> changes;  ///< "strides [4, 1] -> [1, 2]"
};
struct GraphDiff {
  std::vector<DiffNode> left, right;
  /// In the order of the right side, with what was removed where it stood.
  std::vector<DiffPair> pairs;
  [[nodiscard]] auto count(DiffKind kind) const -> int;
};

[[nodiscard]] auto read_diff_nodes(const TraceReader& reader, TraceId graph)
    -> Result<std::vector<DiffNode>>;
[[nodiscard]] auto diff_graphs(std::vector<DiffNode> left, std::vector<DiffNode> right)
    -> GraphDiff;

/// Lines of two texts: ' ' both, '-' left, '+' right. Long texts that differ much fall back to
/// everything removed, then everything added.
struct DiffLine {
  char kind = ' ';
  std::string text;
};
[[nodiscard]] auto diff_texts(std::string_view left, std::string_view right)
    -> std::vector<DiffLine>;

}  // namespace assay
