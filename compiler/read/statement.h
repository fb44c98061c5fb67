// One statement of a wrapper's `call`. Internal to compiler/read.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "compiler/read/wrapper.h"
#include "core/graph/python_syntax.h"

namespace assay {

/// `s77`, `u0`, `zf1`, `ps0`.
[[nodiscard]] auto is_symbol_name(std::string_view name) -> bool;
/// The last statement that gave this name a number; null if none did.
[[nodiscard]] auto find_scalar(const HostFunction& function, std::string_view name)
    -> const HostScalar*;

/// Reads the statement at the cursor and appends what it does. On an error nothing is appended and
/// the cursor stands somewhere in the statement.
class StatementReader {
 public:
  StatementReader(PythonCursor& cursor, HostProgram& program, HostFunction& function)
      : cursor_(cursor), program_(program), function_(function) {}

  [[nodiscard]] auto read() -> Result<void>;
  /// `primals_1 = rand_strided(sizes, strides, device=..., dtype=...)`, `recorded(..., data='hex')`
  /// and numbers; others are passed over.
  [[nodiscard]] auto example() -> Result<void>;

 private:
  using Nodes = std::vector<int>;
  [[nodiscard]] auto expectation(int call) -> Result<void>;
  [[nodiscard]] auto simple() -> Result<void>;
  [[nodiscard]] auto block(std::string_view word) -> Result<void>;
  [[nodiscard]] auto context() -> Result<void>;
  [[nodiscard]] auto branch(std::string_view word) -> Result<void>;
  [[nodiscard]] auto loop() -> Result<void>;
  [[nodiscard]] auto is_next(std::string_view word) -> bool;
  [[nodiscard]] auto assignment(int left, int right) -> Result<void>;
  [[nodiscard]] auto assign_call(const std::vector<std::string>& names, int right) -> Result<void>;
  void store_items(int left);
  void store_item(int node, HostItemOf item);
  [[nodiscard]] auto assign_view(const std::string& name, const HostView& view) -> Result<void>;
  [[nodiscard]] auto assign_scalar(const std::string& name, int right) -> Result<void>;
  /// Where a number comes from that is no expression.
  struct NumberSource {
    HostScalar::Source source = HostScalar::Source::none;
    std::string buffer;
    std::size_t dimension = 0;
  };
  [[nodiscard]] auto number_source(int call) const -> NumberSource;
  /// All sizes or strides: `arg1_1.size()`; without a buffer where the call is something else.
  [[nodiscard]] auto layout_source(int call) const -> NumberSource;
  /// `arg1_1_size = arg1_1.size()`, said before of this name.
  [[nodiscard]] auto find_layout(std::string_view name) const -> NumberSource;
  [[nodiscard]] auto fresh_scalar(const std::string& name, const NumberSource& from)
      -> Result<void>;
  [[nodiscard]] auto literal(int node) -> std::optional<HostValue>;
  [[nodiscard]] auto device(int call) const -> Device;
  [[nodiscard]] auto alloc(const std::string& name, int right) -> Result<void>;
  [[nodiscard]] auto pool_view(const std::string& name, int right) -> Result<void>;
  [[nodiscard]] auto expression_statement(int node) -> Result<void>;
  [[nodiscard]] auto check(int node) -> Result<void>;
  [[nodiscard]] auto check(int buffer, int sizes, int strides, int type) -> Result<void>;
  [[nodiscard]] auto checks(int node) -> Result<void>;
  [[nodiscard]] auto subscript(const std::string& name, int right) -> Result<bool>;
  [[nodiscard]] auto store(int left, int right) -> Result<void>;
  [[nodiscard]] auto launch(int node, std::string_view kernel) -> Result<void>;
  [[nodiscard]] auto kernel_of(std::string_view target) const -> std::string_view;
  [[nodiscard]] auto call(int node, std::vector<std::string> results, bool is_unpacked = false)
      -> Result<void>;
  [[nodiscard]] auto sum_of_products(const HostCall& both) -> bool;
  [[nodiscard]] auto fact(int node, bool negated) -> Result<void>;

  [[nodiscard]] auto callee(int call) const -> std::string_view;
  [[nodiscard]] auto names_of(int target) const -> Result<std::vector<std::string>>;
  [[nodiscard]] auto expr(int node) -> Result<Expr>;
  [[nodiscard]] auto dims(int node) -> Result<Dims>;
  [[nodiscard]] auto dtype(int node) const -> Result<DType>;
  [[nodiscard]] auto view(int node) -> Result<HostView>;
  [[nodiscard]] auto slice(int node) -> Result<HostView>;
  [[nodiscard]] auto reshaped(int node, const Nodes& sizes) -> Result<HostView>;
  [[nodiscard]] auto allocated(std::string_view name) const -> const HostAlloc*;
  [[nodiscard]] auto argument(int node) -> HostArg;
  [[nodiscard]] auto pointed_to(int node) const -> int;
  [[nodiscard]] auto item_of(int node) const -> std::optional<HostItemOf>;
  void mentions(int node, std::vector<std::string>& names) const;
  [[nodiscard]] auto is_scalar(std::string_view name) const -> bool;
  [[nodiscard]] auto bad(int node, std::string_view message) const -> std::unexpected<Error>;

  template <class What>
  void add(What what);

  PythonCursor& cursor_;
  HostProgram& program_;
  HostFunction& function_;
  Token start_;
};

}  // namespace assay
