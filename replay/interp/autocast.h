// Autocast in graphs of Dynamo: what is called by a Python function runs in another dtype there.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/ops/call.h"

namespace assay {

/// What is on where a node is called.
struct Autocast {
  std::string device;  ///< type of the tensors that are cast: "cpu", "cuda"
  DType dtype = DType::bfloat16;
};

/// What a call of `_enter_autocast` or `wrap_with_autocast` turns on: (device_type, dtype, enabled,
/// ...). Nothing where it turns it off.
[[nodiscard]] auto autocast_of(const Node& node) -> std::optional<Autocast>;

/// Operators of `domain`, which must outlive the result, cast as PyTorch does
/// (aten/src/ATen/autocast_mode.h and .cpp).
[[nodiscard]] auto casting(Domain& domain, const Autocast& cast) -> std::unique_ptr<Domain>;

/// Where autocast is on in a graph: between `_enter_autocast` and `_exit_autocast`, or throughout
/// where the function was called under it, which only claims say: no matrix product of float32
/// gives halves otherwise. Graphs of ATen have their casts in them.
class AutocastScopes {
 public:
  explicit AutocastScopes(const Graph& graph);
  /// run_node (run.h) on the domain, with the casts that are on where the node stands.
  [[nodiscard]] auto run(const Node& node, Domain& domain,
                         const std::function<const Datum*(NodeId)>& lookup) const -> Result<Datum>;
  /// Innermost last; of one device the last holds. `enabled=False` is no dtype.
  [[nodiscard]] auto at(NodeId node) const -> std::vector<Autocast>;

 private:
  struct Scope {
    std::string device;
    std::optional<DType> dtype;
    std::size_t begin = 0, end = 0;  ///< positions of nodes
  };
  void add_scopes();
  void add_surrounding();

  const Graph& graph_;
  std::vector<Scope> scopes_;
  std::vector<std::size_t> positions_;  ///< by id of a node, where there is any scope
};

}  // namespace assay
