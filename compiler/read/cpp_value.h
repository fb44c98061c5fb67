// What a C++ variable of a kernel holds, and how statements are made of it. Internal to
// compiler/read.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/program/kernel.h"
#include "core/base/result.h"

namespace assay {

struct CppValue {
  enum class Kind : std::uint8_t {
    nothing,
    tile,
    index,    ///< an integer that is made of loop variables, parameters and constants: `expr`
    pointer,  ///< `expr` elements behind a parameter's or a local array's start
    array,    ///< local
    record,   ///< Welford: mean, m2, weight; IndexValue: value, index
    lanes,    ///< of a vector, each by itself: `fields`
    lambda,
    text,
  };
  Kind kind = Kind::nothing;
  DType dtype = DType::float32;
  bool is_vector = false;   ///< all lanes of a vector; a lane of the tile is one of them
  bool is_local = false;    ///< of pointers
  bool is_modular = false;  ///< a signed integer that is taken as unsigned, to wrap
  TileId id = kNoTile;
  Expr expr;
  std::size_t where = 0;  ///< parameter, local array or node
  std::vector<CppValue> fields;
  std::optional<double> known;       ///< of constants
  std::optional<TileCombine> parts;  ///< lanes of the vector hold parts that this combines
  bool is_neutral = false;           ///< of records: nothing was combined yet
  std::optional<Expr> real;          ///< of float64 made of sizes and constants alone

  [[nodiscard]] auto is_number() const -> bool { return kind == Kind::tile || kind == Kind::index; }
  [[nodiscard]] auto is_index() const -> bool { return kind == Kind::index; }
  static auto of_index(Expr expr, DType dtype = DType::int64) -> CppValue;
  static auto of_tile(TileId id, DType dtype, bool is_vector) -> CppValue;
};

/// The lowest and highest number of a dtype, as its limits have them.
[[nodiscard]] auto extreme_of(DType dtype, bool is_highest) -> std::variant<std::int64_t, double>;
/// "float", "int64_t", "BFloat16": the dtype; nothing for others.
[[nodiscard]] auto cpp_dtype(std::string_view name) -> std::optional<DType>;

/// Emits statements with the dtypes that C++ computes in. Errors are messages without a place.
class CppBuilder {
 public:
  CppBuilder(TileKernel& kernel, ExprPool& pool) : kernel_(kernel), pool_(pool) {}

  void set_line(int line) { line_ = line; }
  [[nodiscard]] auto line() const -> int { return line_; }
  [[nodiscard]] auto kernel() -> TileKernel& { return kernel_; }
  [[nodiscard]] auto pool() -> ExprPool& { return pool_; }
  [[nodiscard]] auto body() -> std::vector<TileStatement>& { return body_; }
  [[nodiscard]] auto type(TileId id) const -> const TileType& { return kernel_.type(id); }
  /// Everything emitted since; the next statements are another region's.
  [[nodiscard]] auto take_body() -> std::vector<TileStatement>;

  /// What is put back when statements are given up.
  struct State {
    std::size_t values = 0, statements = 0;
    std::unordered_map<Expr, TileId> numbers;
    std::map<std::string, TileId> constants;
  };
  [[nodiscard]] auto save() const -> State;
  void restore(const State& state);

  /// Varies over all axes of its operands.
  auto emit(decltype(TileStatement::what) what, std::vector<TileId> operands, DType dtype)
      -> TileId;
  void emit_effect(decltype(TileStatement::what) what, std::vector<TileId> operands);
  auto reduce(TileCombine combine, std::size_t axis, const std::vector<TileId>& operands)
      -> std::vector<TileId>;
  void annotate(std::string text) { body_.back().text = std::move(text); }
  auto constant(std::variant<std::int64_t, double> value, DType dtype) -> TileId;

  /// Symbols of this kernel: an axis' index, its lane within vectors of `width`, a value.
  [[nodiscard]] auto axis_symbol(std::size_t axis) -> Expr;
  [[nodiscard]] auto lane_symbol(std::size_t axis, std::int64_t width) -> Expr;
  [[nodiscard]] auto value_symbol(TileId id) -> Expr;
  [[nodiscard]] auto is_value_symbol(const Expr& symbol) const -> bool;
  [[nodiscard]] auto axis_of(const Expr& symbol) const -> std::optional<std::size_t>;

  /// An expression of such symbols as 64-bit integers.
  [[nodiscard]] auto number(const Expr& e) -> Result<TileId>;
  [[nodiscard]] auto tile(const CppValue& value) -> Result<TileId>;
  [[nodiscard]] auto as(const CppValue& value, DType dtype) -> Result<TileId>;
  [[nodiscard]] auto cast(TileId id, DType dtype) -> TileId;
  [[nodiscard]] auto converted(const CppValue& value, DType dtype) -> Result<CppValue>;
  /// The integer as an expression; a value that is no index counts as a symbol.
  [[nodiscard]] auto expr(const CppValue& value) -> Result<Expr>;
  [[nodiscard]] auto real(double value, DType dtype, bool is_vector) -> CppValue;
  /// A small integer in any dtype.
  [[nodiscard]] auto number_of(std::int64_t value, DType dtype, bool is_vector) -> CppValue;

  /// Operands have one dtype already.
  [[nodiscard]] auto compute(TileOp op, const std::vector<TileId>& operands) -> Result<TileId>;
  [[nodiscard]] auto binary(std::string_view op, const CppValue& a, const CppValue& b)
      -> Result<CppValue>;
  [[nodiscard]] auto promoted(TileOp op, const CppValue& a, const CppValue& b) -> Result<CppValue>;
  [[nodiscard]] auto unary(std::string_view op, const CppValue& a) -> Result<CppValue>;
  [[nodiscard]] auto select(TileId condition, const CppValue& a, const CppValue& b)
      -> Result<CppValue>;
  /// A float64 as an expression of sizes and constants: `1.7*static_cast<double>(ks0)`.
  [[nodiscard]] auto real_expr(const CppValue& value) const -> std::optional<Expr>;
  /// What the usual arithmetic conversions give.
  [[nodiscard]] auto common(const CppValue& a, const CppValue& b) const -> DType;

 private:
  [[nodiscard]] auto symbol(const Expr& e) -> Result<TileId>;
  [[nodiscard]] auto fold(TileOp op, const Expr& e) -> Result<TileId>;
  [[nodiscard]] auto rounded(TileOp op, const Expr& e) -> Result<TileId>;
  [[nodiscard]] auto real_number(const Expr& e) -> Result<TileId>;
  [[nodiscard]] auto modular(std::string_view op, CppValue a, CppValue b) -> Result<CppValue>;
  [[nodiscard]] auto index_binary(std::string_view op, const CppValue& a, const CppValue& b)
      -> Result<std::optional<CppValue>>;
  struct Lane {
    std::size_t axis = 0;
    std::int64_t width = 1;  ///< 0: the index itself
  };
  TileKernel& kernel_;
  ExprPool& pool_;
  std::vector<TileStatement> body_;
  std::unordered_map<Expr, TileId> numbers_;
  std::map<std::string, TileId> constants_;
  std::unordered_map<Expr, Lane> lanes_;
  std::unordered_map<Expr, TileId> value_symbols_;
  int line_ = 0;
};

}  // namespace assay
