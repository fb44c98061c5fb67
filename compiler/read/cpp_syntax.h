// Syntax of the C++ that Inductor writes into kernels: functions, loops, branches, declarations,
// lambdas and expressions. Internal to compiler/read.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace assay {

struct CppToken {
  enum class Kind : std::uint8_t { name, number, string, mark, pragma, end, invalid };
  Kind kind = Kind::end;
  std::string_view text;
  int line = 1;
  std::size_t offset = 0;
  [[nodiscard]] auto is(std::string_view wanted) const -> bool {
    return (kind == Kind::name || kind == Kind::mark) && text == wanted;
  }
};

/// Comments are left out, `#pragma` and other directives are one token each, the last one is `end`.
[[nodiscard]] auto lex_cpp(std::string_view text) -> std::vector<CppToken>;

/// What a parsed `throw` calls.
inline constexpr const char* kThrow = "throw";

enum class CppKind : std::uint8_t {
  // expressions
  number,
  string,
  name,         ///< `text` without namespaces, `types`: arguments of its templates
  call,         ///< callee, arguments
  braces,       ///< `Type{...}`: type, values
  member,       ///< object; `text`, `types`
  index,        ///< object, index
  unary,        ///< operand
  step,         ///< `x++`, `++x`: operand
  binary,       ///< left, right
  assign,       ///< left, right; `text`: "=", "+="
  conditional,  ///< condition, then, otherwise
  lambda,       ///< body, then names of parameters
  // statements
  block,
  loop,      ///< start, condition, step, body
  branch,    ///< condition, then, otherwise or nothing
  give,      ///< `return`: value or nothing
  declare,   ///< `text`: the variable; `types[0]`; values as `form` says
  evaluate,  ///< expression
  pragma,    ///< `text`: the whole of it
  unknown,   ///< `text`: why it could not be read
};

struct CppNode {
  CppKind kind = CppKind::unknown;
  std::string text;
  /// Of declarations: '=' a value, '(' arguments, '{' values in braces, '[' sizes of an array, ' '
  /// nothing.
  char form = ' ';
  bool is_pointer = false;  ///< the declared variable is
  int line = 0;
  std::size_t begin = 0, end = 0;  ///< in the source
  std::vector<int> children;
  std::vector<int> types;
};

struct CppParam {
  std::string name, type;  ///< type without namespaces and `const`
  bool is_pointer = false;
  int line = 0;
};

/// One function of a source.
struct CppFunction {
  std::string name;
  std::vector<CppParam> params;
  int body = -1;
};

/// Parses a source: its functions, whose statements are nodes. A statement that is not understood
/// is one of kind `unknown`, and reading goes on behind it.
class CppSyntax {
 public:
  /// Errors: bad_input where no function is.
  [[nodiscard]] static auto parse(std::string_view text) -> Result<CppSyntax>;
  [[nodiscard]] auto node(int i) const -> const CppNode& {
    return nodes_[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] auto functions() const -> const std::vector<CppFunction>& { return functions_; }
  /// As written, runs of white space as one blank.
  [[nodiscard]] auto source_of(int node) const -> std::string;

 private:
  friend class CppParser;
  std::string_view text_;
  std::vector<CppNode> nodes_;
  std::vector<CppFunction> functions_;
};

}  // namespace assay
