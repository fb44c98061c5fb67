// From Python syntax to arguments of nodes, and the names that may stand in them.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/graph/annotation.h"
#include "core/graph/graph.h"
#include "core/graph/python_syntax.h"

namespace assay {

/// Values that source text can refer to.
using NodeNames = TextMap<NodeId>;

/// dtype, layout, memory format or device from its Python name: `torch.float32`, `torch.strided`,
/// `cuda:0`; nothing for other texts. Layouts without an enumerator of their own stay raw.
[[nodiscard]] auto arg_from_name(std::string_view text) -> std::optional<Arg>;

/// What an unknown word is: an error, or a string (str(graph) prints strings without quotes).
enum class Words { errors, strings };

/// Converts expressions of one source. All three referents must outlive the reader.
class ArgReader {
 public:
  ArgReader(const PythonCursor& cursor, const NodeNames& names, ClaimReader& claims,
            Words words = Words::errors)
      : cursor_(cursor), names_(names), claims_(claims), words_(words) {}

  /// Names of nodes become NodeIds; symbols and arithmetic on them become Exprs; what is neither a
  /// value nor a known literal is kept as text. Errors: bad_input (unknown name), unsupported
  /// (values inside an expression we do not interpret); with `line L, column C`.
  [[nodiscard]] auto read(int syntax) -> Result<Arg>;
  /// Dotted path below `self`, through getattr(self, "0") too; nothing for other expressions.
  [[nodiscard]] auto self_path(int syntax) const -> std::optional<std::string>;
  /// `a.b.c` as text; nothing for other expressions.
  [[nodiscard]] auto dotted_name(int syntax) const -> std::optional<std::string>;
  [[nodiscard]] auto string_value(int syntax) const -> Result<std::string>;
  /// What a return line returns: of `tree_unflatten(values, spec)` the values, since the spec only
  /// says how the user sees them.
  [[nodiscard]] auto returned(int syntax) const -> int;
  [[nodiscard]] auto mentions_node(int syntax) const -> bool;
  /// From here on the name means this argument, a list of values say.
  void define_alias(std::string_view name, Arg arg) {
    aliases_.insert_or_assign(std::string(name), std::move(arg));
  }

 private:
  auto name(const Syntax& syntax) -> Result<Arg>;
  auto sequence(int syntax) -> Result<Arg>;
  auto slice(const std::vector<int>& parts) -> Result<Arg>;
  auto dict(int syntax) -> Result<Arg>;
  auto call(int syntax) -> Result<Arg>;
  auto device(int syntax) -> Result<Arg>;
  auto symbolic_or_raw(int syntax) -> Result<Arg>;
  auto arithmetic(int syntax) -> Result<Arg>;
  auto complex_sum(int syntax) -> std::optional<Arg>;
  auto attribute(int syntax) -> Result<Arg>;
  auto raw(int syntax) -> Result<Arg>;

  const PythonCursor& cursor_;
  const NodeNames& names_;
  ClaimReader& claims_;
  Words words_;
  TextMap<Arg> aliases_;
};

}  // namespace assay
