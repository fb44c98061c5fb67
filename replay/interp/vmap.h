// torch.vmap in graphs of Dynamo, whose nodes between two calls see one slice each.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "core/expr/eval.h"
#include "core/graph/graph.h"
#include "core/ops/call.h"

namespace assay {

/// Where vmaps begin and end (`_vmap_increment_nesting(size, randomness)`,
/// `_vmap_decrement_nesting()`), what they take slices of (`_add_batch_dim(x, dim, level)`) and
/// what they put together (`_remove_batch_dim(x, level, size, dim)`). What stands between runs once
/// for each slice, which gives what PyTorch's rules for whole batches do.
class VmapRegions {
 public:
  explicit VmapRegions(const Graph& graph);
  /// Of the vmap that begins at this position where it ends; nothing where none begins.
  [[nodiscard]] auto end_of(std::size_t begin) const -> std::optional<std::size_t>;
  /// The end of the outermost vmap that `use` lies in and `made` does not; `use` if there is none.
  [[nodiscard]] auto last_use(std::size_t made, std::size_t use) const -> std::size_t;
  /// Positions of what a vmap puts together, without those of vmaps within it.
  [[nodiscard]] auto results(std::size_t begin) const -> std::vector<std::size_t>;

 private:
  struct Region {
    std::size_t begin = 0, end = 0;
  };
  const Graph& graph_;
  std::vector<Region> regions_;  ///< in order of their begins
};

/// How many slices a vmap has; nothing where nobody knows.
[[nodiscard]] auto vmap_size(const Node& begin, const std::function<const Datum*(NodeId)>& lookup)
    -> std::optional<std::int64_t>;

/// What a node of the four gives for one slice; nothing for other nodes.
[[nodiscard]] auto run_vmap_node(const Node& node, Domain& domain, std::int64_t slice,
                                 const std::function<const Datum*(NodeId)>& lookup)
    -> std::optional<Result<Datum>>;

/// Slices as one tensor, laid out as the node claims, since no rule says how a batch lies.
[[nodiscard]] auto put_together(const Node& node, DatumList slices, const Binding& sizes,
                                Domain& domain, const std::function<const Datum*(NodeId)>& lookup)
    -> Result<Datum>;

}  // namespace assay
