// Symbolic execution of one Triton expression. Internal to compiler/loop.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/loop/kernel.h"
#include "core/graph/python_syntax.h"

namespace assay {

/// What a Python variable of a kernel holds. Tensors stand for one lane each.
struct KernelValue {
  enum class Kind : std::uint8_t { opaque, integer, boolean, pointer } kind = Kind::opaque;
  Expr expr;                 ///< integer or boolean; of a pointer its offset in elements
  int bits = 0;              ///< 32 or 64; 0 for a Python constant
  std::size_t param = 0;     ///< pointers
  std::vector<Expr> narrow;  ///< 32-bit results on the way to it
  [[nodiscard]] auto is_int() const -> bool { return kind == Kind::integer; }
  [[nodiscard]] auto is_bool() const -> bool { return kind == Kind::boolean; }
  [[nodiscard]] auto is_pointer() const -> bool { return kind == Kind::pointer; }
};

class KernelEvaluator {
 public:
  KernelEvaluator(PythonCursor& cursor, TritonKernel& kernel, ExprPool& pool)
      : cursor_(cursor), kernel_(kernel), pool_(pool) {}

  /// Value of an expression. Loads, stores and asserts in it are recorded.
  /// Errors: unsupported where a pointer goes somewhere we do not follow.
  [[nodiscard]] auto value(int node) -> Result<KernelValue>;

  void set(std::string_view name, KernelValue value) {
    locals_[std::string(name)] = std::move(value);
  }
  [[nodiscard]] auto find(std::string_view name) const -> const KernelValue*;
  /// A fresh integer in [low, high]; `text` says where it comes from.
  [[nodiscard]] auto fresh(std::string_view name, std::string_view text, Interval range, int bits)
      -> KernelValue;
  /// Condition of the branch we are in.
  void push_path(const Expr& condition) { path_.push_back(condition); }
  void pop_path() { path_.pop_back(); }
  /// `for r0_offset in range(0, r0_numel, R0_BLOCK)`.
  struct Loop {
    Expr symbol, end, step;
  };
  void add_loop(const Loop& loop) { loops_.push_back(loop); }
  /// Name the next axis gets: the variable being assigned.
  void set_target(std::string_view name) { target_ = name; }

 private:
  using Nodes = std::vector<int>;
  using Args = std::vector<KernelValue>;
  [[nodiscard]] auto unary(int node) -> Result<KernelValue>;
  [[nodiscard]] auto binary(int node) -> Result<KernelValue>;
  [[nodiscard]] auto arithmetic(std::string_view op, const KernelValue& a, const KernelValue& b)
      -> KernelValue;
  [[nodiscard]] auto logic(std::string_view op, const KernelValue& a, const KernelValue& b)
      -> KernelValue;
  [[nodiscard]] auto divide(ExprOp op, const KernelValue& a, const KernelValue& b) -> KernelValue;
  [[nodiscard]] auto is_program_offset(const Expr& offset, const Expr& block) const -> bool;
  [[nodiscard]] auto axis(const KernelValue& a, const KernelValue& b) -> std::optional<KernelValue>;
  [[nodiscard]] auto call(int node) -> Result<KernelValue>;
  [[nodiscard]] auto plain_call(int node, int meaning, const Args& values) -> Result<KernelValue>;
  /// where(condition, a, b).
  [[nodiscard]] auto choice(int node, const Args& values) -> KernelValue;
  [[nodiscard]] auto method(int node, std::string_view name) -> Result<KernelValue>;
  [[nodiscard]] auto load(int node) -> Result<KernelValue>;
  [[nodiscard]] auto store(int node, AccessKind kind) -> Result<KernelValue>;
  [[nodiscard]] auto access(int node, AccessKind kind, const Nodes& args, std::size_t mask_at)
      -> Result<std::size_t>;
  [[nodiscard]] auto full(int node) -> Result<KernelValue>;
  [[nodiscard]] auto arange(int node) -> Result<KernelValue>;
  [[nodiscard]] auto cast(const KernelValue& value, std::string_view type) -> KernelValue;
  [[nodiscard]] auto condition(std::string_view text) -> KernelValue;
  [[nodiscard]] auto integer(const Expr& e, int bits, const KernelValue& a, const KernelValue& b)
      -> KernelValue;

  PythonCursor& cursor_;
  TritonKernel& kernel_;
  ExprPool& pool_;
  std::map<std::string, KernelValue, std::less<>> locals_;
  std::map<Expr, Expr, bool (*)(const Expr&, const Expr&)> lanes_{
      [](const Expr& a, const Expr& b) { return Expr::compare(a, b) < 0; }};  ///< lane -> block
  std::vector<Expr> path_;
  std::vector<Loop> loops_;
  std::string target_;
  int fresh_count_ = 0;
};

}  // namespace assay
