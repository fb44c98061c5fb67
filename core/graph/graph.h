// The IR: a captured program as PyTorch's FX writes it. Whole in this header.
// A Graph is a value: copy it, edit it, compare it. Copies share the append-only ExprPool.
#pragma once
#include <complex>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/expr/expr.h"
#include "core/shape/shape_env.h"
#include "core/tensor/meta.h"

namespace assay {

/// Stable capture id: given once, kept through every edit, never reused in one graph.
struct NodeId {
  std::int32_t value = -1;
  friend auto operator==(NodeId, NodeId) -> bool = default;
  friend auto operator<=>(NodeId, NodeId) = default;
};

struct Arg;
using ArgList = std::vector<Arg>;
struct NoneArg {
  friend auto operator==(NoneArg, NoneArg) -> bool = default;
};
/// Python list or tuple literal.
struct SequenceArg {
  std::vector<Arg> items;
  bool is_tuple = false;
  friend auto operator==(const SequenceArg&, const SequenceArg&) -> bool;
};
/// slice(start, stop, step); each part may be None.
struct SliceArg {
  std::vector<Arg> parts;  ///< always three
  friend auto operator==(const SliceArg&, const SliceArg&) -> bool;
};
struct DictArg {
  std::vector<std::pair<std::string, Arg>> items;
  friend auto operator==(const DictArg&, const DictArg&) -> bool;
};
/// Python text we keep but do not interpret (enum members, custom classes, callables).
struct RawArg {
  std::string text;
  friend auto operator==(const RawArg&, const RawArg&) -> bool = default;
};

/// Copied and destroyed out of line, as all that many files hold: see DatumValue.
struct ArgValue
    : std::variant<NoneArg, NodeId, Expr, std::complex<double>, std::string, DType, Device, Layout,
                   MemoryFormat, SequenceArg, SliceArg, DictArg, RawArg> {
  using variant::variant;
  using variant::operator=;
  ArgValue() noexcept;
  ArgValue(const ArgValue& other);
  ArgValue(ArgValue&& other) noexcept;
  auto operator=(const ArgValue& other) -> ArgValue&;
  auto operator=(ArgValue&& other) noexcept -> ArgValue&;
  ~ArgValue();
};
/// One argument of a node. Numbers are Expr constants: int, float and bool stay distinct types.
struct Arg {
  ArgValue value;
  friend auto operator==(const Arg&, const Arg&) -> bool = default;
};
// clang settles a type's destructor where it first needs it; let that not be inside pair<string,
// Arg>, which DictArg holds (with libstdc++ 12).
static_assert(noexcept(Arg{}));

enum class NodeKind : std::uint8_t {
  placeholder,
  get_attr,       ///< target is the attribute path: a constant tensor or a sub-graph
  call_function,  ///< target is canonical: "aten.add.Tensor", "operator.mul", "torch.sym_sum"
  call_method,    ///< target is the method name, first argument the receiver
  call_module,    ///< target is the module path
  output,         ///< args[0] is what is returned
};

/// Which parts of a tensor claim the capture states. The others hold a stand-in (row-major strides,
/// offset 0, cpu), which is nobody's claim: it is never compared and accuses nobody.
struct StatedParts {
  bool strides = true;
  bool offset = true;
  bool device = true;
  friend auto operator==(const StatedParts&, const StatedParts&) -> bool = default;
};

struct Claim;
struct ClaimValue : std::variant<std::monostate, TensorMeta, Expr, std::vector<Claim>> {
  using variant::variant;
  using variant::operator=;
  ClaimValue() noexcept;
  ClaimValue(const ClaimValue& other);
  ClaimValue(ClaimValue&& other) noexcept;
  auto operator=(const ClaimValue& other) -> ClaimValue&;
  auto operator=(ClaimValue&& other) noexcept -> ClaimValue&;
  ~ClaimValue();
};
/// What the capture says about a node's value: nothing, a tensor, a scalar expression, or a tuple.
struct Claim {
  ClaimValue value;
  /// Tensors of one graph with equal groups >= 0 are claimed to share storage, those with different
  /// groups not to; -1 claims nothing.
  int alias_group = -1;
  StatedParts stated = {};  ///< of a tensor
  [[nodiscard]] auto tensor() const -> const TensorMeta* { return std::get_if<TensorMeta>(&value); }
  [[nodiscard]] auto scalar() const -> const Expr* { return std::get_if<Expr>(&value); }
  [[nodiscard]] auto items() const -> const std::vector<Claim>* {
    return std::get_if<std::vector<Claim>>(&value);
  }
  [[nodiscard]] auto empty() const -> bool { return value.index() == 0; }
  friend auto operator==(const Claim&, const Claim&) -> bool = default;
};

/// Where a node comes from in the user's program.
struct Origin {
  std::string file;  ///< "models.py"
  int line = 0;
  std::string function;  ///< "forward"
  std::string code;      ///< the source line
  std::string module;    ///< module path, innermost last
  [[nodiscard]] auto empty() const -> bool { return file.empty() && module.empty(); }
  friend auto operator==(const Origin&, const Origin&) -> bool = default;
};

struct Node {
  Node();
  Node(const Node& other);
  Node(Node&& other) noexcept;
  auto operator=(const Node& other) -> Node&;
  auto operator=(Node&& other) noexcept -> Node&;
  ~Node();
  NodeId id;
  NodeKind kind = NodeKind::call_function;
  std::string name;
  std::string target;
  std::vector<Arg> args;
  std::vector<std::pair<std::string, Arg>> kwargs;
  Claim claim;
  std::optional<Origin> origin;
  int line = 0;  ///< 1-based line in the text it was read from, 0 if none
};

struct Graph {
  Graph();
  Graph(const Graph& other);
  Graph(Graph&& other) noexcept;
  auto operator=(const Graph& other) -> Graph&;
  auto operator=(Graph&& other) noexcept -> Graph&;
  ~Graph();
  std::string class_name = "GraphModule";
  std::vector<Node> nodes;  ///< in execution order, output last
  ShapeEnv env;
  std::vector<std::pair<std::string, Graph>> children;  ///< bodies of higher-order ops by attribute
  std::int32_t next_id = 0;

  auto add(Node node) -> NodeId;  ///< appends, assigning the id if it is -1
  [[nodiscard]] auto find(NodeId id) const -> const Node*;
  [[nodiscard]] auto find(NodeId id) -> Node*;
  [[nodiscard]] auto find(std::string_view name) const -> const Node*;
  [[nodiscard]] auto output() const -> const Node*;  ///< null if there is none
  [[nodiscard]] auto child(std::string_view attribute) const -> const Graph*;
  [[nodiscard]] auto call_count() const -> int;  ///< nodes that are neither input nor output
};

/// Node ids an argument list refers to, in order, with repetitions.
[[nodiscard]] auto operands(const Node& node) -> std::vector<NodeId>;
/// Calls f(NodeId&) on every node reference inside the argument.
void visit_refs(Arg& arg, const std::function<void(NodeId&)>& f);
void visit_refs(const Arg& arg, const std::function<void(NodeId)>& f);

/// One broken rule of a graph: unknown or later operand, duplicate name or id, missing or
/// misplaced output, arguments on placeholders, claim with sizes and strides of different rank...
struct Defect {
  NodeId node;
  std::string message;
};
/// All broken rules, empty if the graph is well formed. Recurses into children.
[[nodiscard]] auto verify(const Graph& graph) -> std::vector<Defect>;

/// Hash of structure (targets, arguments, claims, connections), 64 bits; node and graph names,
/// origins, ids and lines do not enter. Symbol names do. Lists and tuples count as equal, since
/// recorders mix them up and no operator tells them apart. Stable across processes and ExprPools.
[[nodiscard]] auto structural_hash(const Graph& graph) -> std::uint64_t;
/// Same structure in the sense of structural_hash, compared exactly. `with_claims` off compares the
/// program only (a repro script has no claims). The graphs may belong to different ExprPools.
[[nodiscard]] auto same_structure(const Graph& a, const Graph& b, bool with_claims = true) -> bool;

}  // namespace assay
