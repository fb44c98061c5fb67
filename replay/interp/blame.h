// Who is to blame for a difference: the node that lied, not the one that believed it.
#pragma once
#include <map>
#include <vector>

#include "core/finding/finding.h"
#include "replay/interp/rule_probe.h"

namespace assay {

/// Does the call read where in its storage an operand begins (storage_offset, as_strided with an
/// offset of its own)?
[[nodiscard]] auto reads_offset(const Node& node) -> bool;

/// Differences that are insignificant by themselves (the stride of a dimension of size 1, the
/// offset of a storage of its own) until a node downstream takes them for a layout.
class QuietLies {
 public:
  QuietLies(const Graph& graph, const OpTable& table, const GraphRun& run, const Binding& binding);

  /// The node at this position claims insignificant strides that are not there.
  void add_stride(std::size_t at) { strides_[at] = true; }
  /// It claims an offset that is `claimed - real` elements off.
  void add_offset(std::size_t at, std::int64_t difference) { offsets_[at] = difference; }
  [[nodiscard]] auto offset_error(std::size_t at) const -> std::int64_t { return offsets_[at]; }

  /// Nodes whose quiet lie this node honestly believed: its claim is what its rule makes of its
  /// operands' claims, so the claim is false only because theirs are. Positions; empty if the node
  /// itself lies.
  [[nodiscard]] auto believed_strides(std::size_t at) const -> std::vector<std::size_t>;
  /// Nodes whose wrong offset this node reads (as_strided, storage_offset). Positions.
  [[nodiscard]] auto read_offsets(std::size_t at) const -> std::vector<std::size_t>;
  /// Is the offset of this view off by as much as that of a tensor it is a view of?
  [[nodiscard]] auto follows_offset(std::size_t at, std::int64_t difference) const -> bool;

 private:
  [[nodiscard]] auto operand_positions(std::size_t at) const -> std::vector<std::size_t>;
  [[nodiscard]] auto is_honest(std::size_t at, bool exactly) const -> bool;

  const Graph& graph_;
  const GraphRun& run_;
  const Binding& binding_;
  RuleProbe probe_;
  std::map<NodeId, std::size_t> position_;
  std::vector<bool> strides_;
  std::vector<std::int64_t> offsets_;
};

/// Nodes whose claim is false, and who inherits from them.
class FalseClaims {
 public:
  explicit FalseClaims(const Graph& graph);

  void add(std::size_t at) { sources_[at] = {at}; }
  /// What flows through a node that claims nothing: no claim tells whether a difference ends there.
  void pass_on(std::size_t at);
  /// Names of the nodes with a false claim that this node's operands are or come from.
  [[nodiscard]] auto behind(std::size_t at) const -> std::vector<std::string>;

 private:
  [[nodiscard]] auto sources_of_operands(std::size_t at) const -> std::vector<std::size_t>;

  const Graph& graph_;
  std::map<NodeId, std::size_t> position_;
  std::vector<std::vector<std::size_t>> sources_;
};

}  // namespace assay
