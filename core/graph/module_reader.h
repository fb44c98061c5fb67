// Statements of generated modules: classes, `def forward`, and the lines of its body.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/graph/arguments.h"
#include "core/graph/graph.h"
#include "core/graph/python_syntax.h"

namespace assay {

/// One statement that is not read yet, inside its source.
struct SourceLine {
  std::string_view source;
  std::size_t offset = 0;
  std::string_view text;  ///< the statement alone
  int line = 1;
  int indent = 0;
};

/// A class as written. Nested classes are children of the graph already; the graph's environment is
/// not set (see set_environment).
struct ModuleSource {
  std::string name;
  Graph graph;
  std::vector<SourceLine> init;
  Token place;
};

/// A text that ends, or leaves something out, in the middle of a function.
struct CutOff {
  int line = 0;         ///< where; 0: nowhere
  std::string message;  ///< "the text ends inside a statement; 12 nodes before it were read"
  [[nodiscard]] auto found() const -> bool { return line != 0; }
};

/// An output node that returns every result which nothing uses, for a graph that lost its own.
[[nodiscard]] auto unused_results(const Graph& graph) -> Node;

/// Reads one function body into a graph.
class FunctionReader {
 public:
  /// With `cut`, a function without its end is read as far as it goes: results that nothing uses
  /// stand for what it returns. Without, it is an error.
  FunctionReader(PythonCursor& cursor, ClaimReader& claims, CutOff* cut = nullptr)
      : cursor_(cursor), claims_(claims), args_(cursor, names_, claims), cut_(cut) {}

  /// From `def` to the end of the block that is indented deeper than `indent`.
  [[nodiscard]] auto read(int indent) -> Result<Graph>;

 private:
  /// `x[0] = y` or `x += y`, whose result is named behind the semicolon.
  struct Inplace {
    std::string target;
    std::vector<Arg> args;
    Token place;
  };

  auto parameters() -> Result<void>;
  auto parameter() -> Result<void>;
  auto annotation() -> Result<Claim>;
  void take_parameter_notes();
  auto body(int indent) -> Result<void>;
  auto end_early(const Token& at, std::string_view how) -> Result<void>;
  auto line() -> Result<void>;
  auto simple_statement() -> Result<void>;
  auto return_statement() -> Result<void>;
  auto annotate(int name, Claim claim) -> Result<void>;
  auto assignment(int lhs, Claim claim) -> Result<void>;
  auto augmented(int lhs) -> Result<void>;
  auto finish_inplace(const Token& name, Claim claim) -> Result<void>;
  auto rename(const Token& name, const Syntax& value, Claim claim) -> Result<void>;
  auto flatten_inputs(int lhs) -> Result<void>;
  auto operation(int value) -> Result<Node>;
  auto call(int value) -> Result<Node>;
  auto callee(int value, Node& node) -> Result<void>;
  auto operands_of(const std::vector<int>& parts) -> Result<std::vector<Arg>>;
  auto define(const Token& name, Node node) -> Result<void>;
  auto fresh_name(std::string base) const -> std::string;
  void read_comments();
  auto trailing_notes() -> Result<void>;

  PythonCursor& cursor_;
  ClaimReader& claims_;
  NodeNames names_;
  ArgReader args_;
  Graph graph_;
  std::optional<Origin> origin_;
  std::optional<Inplace> inplace_;
  std::optional<Error> note_error_;
  /// Claims on names that only a later line defines, as above `x, y, = tree_flatten_spec(...)`.
  struct EarlyClaim {
    Token place;
    Claim claim;
  };
  TextMap<EarlyClaim> early_claims_;
  CutOff* cut_;
  bool returned_ = false;
};

/// Reads classes. The cursor stands on `class`; `indent` is the indentation of that line. For `cut`
/// see FunctionReader.
[[nodiscard]] auto read_class(PythonCursor& cursor, ClaimReader& claims, int indent,
                              CutOff* cut = nullptr, int depth = 0) -> Result<ModuleSource>;
/// Passes tokens up to the end of the logical line and returns its text.
[[nodiscard]] auto take_statement(PythonCursor& cursor) -> Result<SourceLine>;
/// Gives the graph and its children the symbols of their capture.
void set_environment(Graph& graph, const ShapeEnv& env);
/// `File: PATH:LINE in FUNCTION, code: SOURCE`, perhaps behind other annotations.
[[nodiscard]] auto origin_from_comment(std::string_view text) -> std::optional<Origin>;

}  // namespace assay
