#include "replay/trace/diff.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <unordered_map>

namespace assay {
namespace {

constexpr std::string_view kOperands =
    "SELECT n.seq, o.position, p.seq, n.call FROM nodes n LEFT JOIN operands o ON o.node_id = n.id "
    "LEFT JOIN nodes p ON p.id = o.producer_id WHERE n.graph_id = ? ORDER BY n.graph_id, n.seq";

class Matcher {
 public:
  Matcher(const std::vector<DiffNode>& left, const std::vector<DiffNode>& right)
      : left_(left), right_(right), match_(right.size(), -1), by_(right.size()) {
    taken_.assign(left.size(), false);
  }

  void run() {
    // A source line that makes several calls of one operator is matched in their order.
    match_all(MatchedBy::provenance, [](const DiffNode& node, const auto&) {
      const auto& line = node.line;
      return line.file.empty()
                 ? std::string()
                 : fmt::format("{}:{} {} {}", line.file, line.line, line.module, line.target);
    });
    const auto left_hashes = hashes(left_);
    const auto right_hashes = hashes(right_);
    match_by_keys(MatchedBy::structure, left_hashes, right_hashes);
    match_all(MatchedBy::name, [](const DiffNode& node, const auto&) {
      return node.line.name + " " + node.line.target;
    });
  }

  [[nodiscard]] auto match(std::size_t right) const -> int { return match_[right]; }
  [[nodiscard]] auto by(std::size_t right) const -> MatchedBy { return by_[right]; }
  [[nodiscard]] auto is_taken(std::size_t left) const -> bool { return taken_[left]; }

 private:
  template <class Key>
  void match_all(MatchedBy by, const Key& key) {
    std::vector<std::string> left;
    std::vector<std::string> right;
    for (const auto& node : left_) left.push_back(key(node, left_));
    for (const auto& node : right_) right.push_back(key(node, right_));
    match_by_keys(by, left, right);
  }

  /// Equal keys are matched in order, if there are as many on both sides or only one way to do it.
  void match_by_keys(MatchedBy by, const std::vector<std::string>& left,
                     const std::vector<std::string>& right) {
    std::unordered_map<std::string, std::pair<std::vector<int>, std::vector<int>>> groups;
    for (std::size_t i = 0; i < left.size(); ++i)
      if (!taken_[i] && !left[i].empty()) groups[left[i]].first.push_back(static_cast<int>(i));
    for (std::size_t i = 0; i < right.size(); ++i)
      if (match_[i] < 0 && !right[i].empty())
        groups[right[i]].second.push_back(static_cast<int>(i));
    for (const auto& [key, group] : groups) {
      const auto& [ours, theirs] = group;
      if (ours.size() != theirs.size() && by != MatchedBy::name) continue;
      for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
        match_[static_cast<std::size_t>(theirs[i])] = ours[i];
        by_[static_cast<std::size_t>(theirs[i])] = by;
        taken_[static_cast<std::size_t>(ours[i])] = true;
      }
    }
  }

  static auto hashes(const std::vector<DiffNode>& nodes) -> std::vector<std::string> {
    std::vector<std::string> result(nodes.size());
    std::vector<std::size_t> hash(nodes.size());
    const std::hash<std::string> of;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      // Inputs are told apart by their names, all else by what it computes from what.
      const auto& line = nodes[i].line;
      auto value = of(line.kind == "placeholder" ? line.name : line.target);
      for (const int operand : nodes[i].operands)
        if (operand >= 0 && static_cast<std::size_t>(operand) < i)
          value = value * 1099511628211U + hash[static_cast<std::size_t>(operand)] + 1;
      hash[i] = value;
      result[i] = std::to_string(value);
    }
    return result;
  }

  const std::vector<DiffNode>& left_;
  const std::vector<DiffNode>& right_;
  std::vector<int> match_;
  std::vector<MatchedBy> by_;
  std::vector<bool> taken_;
};

auto changes_of(const NodeLine& a, const NodeLine& b) -> std::vector<std::string> {
  struct Part {
    std::string_view name;
    std::string NodeLine::* member;
  };
  constexpr std::array kParts = {
      Part{"operator", &NodeLine::target},       Part{"dtype", &NodeLine::dtype},
      Part{"sizes", &NodeLine::sizes},           Part{"strides", &NodeLine::strides},
      Part{"offset", &NodeLine::offset},         Part{"value", &NodeLine::value},
      Part{"real sizes", &NodeLine::real_sizes}, Part{"real strides", &NodeLine::real_strides},
      Part{"real dtype", &NodeLine::real_dtype}, Part{"finding", &NodeLine::finding},
  };
  std::vector<std::string> changes;
  for (const auto& part : kParts)
    if (const auto &x = a.*part.member, &y = b.*part.member; x != y)
      changes.push_back(
          fmt::format("{} {} -> {}", part.name, x.empty() ? "none" : x, y.empty() ? "none" : y));
  return changes;
}

auto lines_of(std::string_view text) -> std::vector<std::string> {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
  }
  return lines;
}

/// Cells of the table of longest common subsequences that are worth their memory.
constexpr std::size_t kMostCells = 16'000'000;

}  // namespace

auto name(DiffKind kind) -> std::string_view {
  constexpr std::array<std::string_view, 4> kNames = {"same", "changed", "added", "removed"};
  return kNames[static_cast<std::size_t>(kind)];
}
auto name(MatchedBy by) -> std::string_view {
  constexpr std::array<std::string_view, 4> kNames = {"", "provenance", "structure", "name"};
  return kNames[static_cast<std::size_t>(by)];
}

auto GraphDiff::count(DiffKind kind) const -> int {
  return static_cast<int>(std::ranges::count(pairs, kind, &DiffPair::kind));
}

auto read_diff_nodes(const TraceReader& reader, TraceId graph) -> Result<std::vector<DiffNode>> {
  ASSAY_TRY(const auto count, count_nodes(reader, graph));
  ASSAY_TRY(auto lines, read_nodes(reader, graph, 0, count));
  std::vector<DiffNode> nodes;
  std::unordered_map<std::int64_t, int> by_seq;
  for (auto& line : lines) {
    by_seq[line.seq] = static_cast<int>(nodes.size());
    nodes.push_back({std::move(line), {}, {}});
  }
  const std::array<TraceValue, 1> parameters = {graph};
  ASSAY_TRY(const auto operands, reader.query(kOperands, parameters, SIZE_MAX));
  for (const auto& row : operands.rows) {
    const auto at = by_seq.find(to_number(row[0]));
    if (at == by_seq.end()) continue;
    auto& node = nodes[static_cast<std::size_t>(at->second)];
    node.call = to_text(row[3]);
    if (row[2].index() != 0) node.operands.push_back(by_seq[to_number(row[2])]);
  }
  return nodes;
}

auto diff_graphs(std::vector<DiffNode> left, std::vector<DiffNode> right) -> GraphDiff {
  GraphDiff diff{std::move(left), std::move(right), {}};
  Matcher matcher(diff.left, diff.right);
  matcher.run();
  std::size_t next_left = 0;
  const auto removed_before = [&](std::size_t end) {
    for (; next_left < end; ++next_left)
      if (!matcher.is_taken(next_left))
        diff.pairs.push_back(
            {DiffKind::removed, MatchedBy::nothing, static_cast<int>(next_left), -1, {}});
  };
  for (std::size_t i = 0; i < diff.right.size(); ++i) {
    const int match = matcher.match(i);
    if (match < 0) {
      diff.pairs.push_back({DiffKind::added, MatchedBy::nothing, -1, static_cast<int>(i), {}});
      continue;
    }
    removed_before(static_cast<std::size_t>(match));
    auto changes = changes_of(diff.left[static_cast<std::size_t>(match)].line, diff.right[i].line);
    diff.pairs.push_back({changes.empty() ? DiffKind::same : DiffKind::changed, matcher.by(i),
                          match, static_cast<int>(i), std::move(changes)});
  }
  removed_before(diff.left.size());
  return diff;
}

auto diff_texts(std::string_view left, std::string_view right) -> std::vector<DiffLine> {
  auto a = lines_of(left);
  auto b = lines_of(right);
  std::vector<DiffLine> lines;
  std::size_t head = 0;
  while (head < std::min(a.size(), b.size()) && a[head] == b[head])
    lines.push_back({' ', a[head++]});
  std::size_t tail = 0;
  while (tail < std::min(a.size(), b.size()) - head &&
         a[a.size() - 1 - tail] == b[b.size() - 1 - tail])
    ++tail;
  const auto n = a.size() - head - tail;
  const auto m = b.size() - head - tail;
  std::size_t i = 0;
  std::size_t j = 0;
  if ((n + 1) * (m + 1) <= kMostCells) {
    std::vector<std::uint32_t> longest((n + 1) * (m + 1));
    const auto at = [&](std::size_t x, std::size_t y) -> std::uint32_t& {
      return longest[x * (m + 1) + y];
    };
    for (std::size_t x = n; x-- > 0;)
      for (std::size_t y = m; y-- > 0;)
        at(x, y) = a[head + x] == b[head + y] ? at(x + 1, y + 1) + 1
                                              : std::max(at(x + 1, y), at(x, y + 1));
    while (i < n && j < m) {
      if (a[head + i] == b[head + j]) {
        lines.push_back({' ', a[head + i]});
        ++i;
        ++j;
      } else if (at(i + 1, j) >= at(i, j + 1)) {
        lines.push_back({'-', a[head + i++]});
      } else {
        lines.push_back({'+', b[head + j++]});
      }
    }
  }
  for (; i < n; ++i) lines.push_back({'-', a[head + i]});
  for (; j < m; ++j) lines.push_back({'+', b[head + j]});
  for (std::size_t k = a.size() - tail; k < a.size(); ++k) lines.push_back({' ', a[k]});
  return lines;
}

}  // namespace assay
