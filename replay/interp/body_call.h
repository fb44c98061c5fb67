// One call of a higher-order operator, its bodies and operands taken apart.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/ops/call.h"

namespace assay {

class BodyCall {
 public:
  using Lookup = std::function<const Datum*(NodeId)>;
  using Keywords = std::vector<std::pair<std::string, Datum>>;
  BodyCall(const Graph& graph, const Node& node, Domain& domain, const Lookup& lookup)
      : graph_(graph), node_(node), domain_(domain), lookup_(lookup) {}

  [[nodiscard]] auto arg_count() const -> std::size_t { return node_.args.size(); }
  [[nodiscard]] auto node() const -> const Node& { return node_; }
  [[nodiscard]] auto domain() const -> Domain& { return domain_; }

  /// The sub-graph that an argument names. Errors: unsupported if the capture lacks it.
  [[nodiscard]] auto body(std::size_t i) const -> Result<const Graph*>;
  /// The sub-graph that is the last member of a tuple.
  [[nodiscard]] auto last_body_of(std::size_t i) const -> Result<const Graph*>;
  /// Position of the first argument that is a body.
  [[nodiscard]] auto first_body() const -> std::size_t;
  [[nodiscard]] auto value(std::size_t i) const -> Result<Datum>;
  /// Operands behind argument `first`, lists of operands flattened.
  [[nodiscard]] auto operands_from(std::size_t first) const -> Result<DatumList>;
  /// A keyword or positional list argument; empty if it is not there.
  [[nodiscard]] auto list(std::size_t i, std::string_view keyword) const -> Result<DatumList>;
  /// What the body gives on these values of its placeholders.
  [[nodiscard]] auto run(const Graph& body, const DatumList& args) const -> Result<Datum> {
    return run(body, args, domain_);
  }
  [[nodiscard]] static auto run(const Graph& body, const DatumList& args, Domain& domain)
      -> Result<Datum>;
  [[nodiscard]] auto run(std::size_t body_at, const DatumList& args) const -> Result<Datum>;
  /// Calls an operator of the table.
  [[nodiscard]] auto call(std::string_view overload, DatumList args,
                          const Keywords& keywords = {}) const -> Result<Datum>;
  /// Of what stands behind argument `first`, and the keyword arguments.
  [[nodiscard]] auto call(std::string_view overload, std::size_t first) const -> Result<Datum>;
  /// "aten.sin.default", of "torch.ops.aten.sin.default", as captures write an operator that is an
  /// argument.
  [[nodiscard]] auto operator_name(std::size_t i) const -> Result<std::string>;

 private:
  [[nodiscard]] auto named(const Arg& arg) const -> Result<const Graph*>;

  const Graph& graph_;
  const Node& node_;
  Domain& domain_;
  const Lookup& lookup_;
};

/// Members of a list, or the one value that it is.
[[nodiscard]] auto as_list(const Datum& datum) -> DatumList;

}  // namespace assay
