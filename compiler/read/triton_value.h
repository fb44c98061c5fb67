// What a Python variable of a Triton kernel holds, and how statements are made of it. Internal to
// compiler/read.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/program/kernel.h"
#include "core/base/result.h"

namespace assay {

/// Axes of each position of a tensor; a position of size 1 has none, one that others were merged
/// into has several.
using TritonShape = std::vector<std::vector<std::size_t>>;

struct TritonValue {
  enum class Kind : std::uint8_t {
    unknown,
    tile,
    pointer,   ///< parameter plus an index
    block,     ///< pointer, shape, strides and offsets of a block pointer, by its items
    constant,  ///< of Python
    dtype,
    shape,
    tuple,
    none,
    text,
  };
  Kind kind = Kind::unknown;
  TileId id = kNoTile;  ///< of a pointer its index, kNoTile: 0
  TritonShape shape;
  bool is_weak = false;  ///< a Python number whose value is not known: a block size
  std::variant<bool, std::int64_t, double> constant;
  std::string origin;  ///< of constants and block sizes: the name they were given first
  std::size_t param = 0;
  DType dtype = DType::float32;
  std::vector<TritonValue> items;
  std::string text;

  [[nodiscard]] auto is_tile() const -> bool { return kind == Kind::tile; }
  [[nodiscard]] auto is_pointer() const -> bool { return kind == Kind::pointer; }
  [[nodiscard]] auto is_constant() const -> bool { return kind == Kind::constant; }
  /// A Python number, of known value or not.
  [[nodiscard]] auto is_python() const -> bool { return is_constant() || (is_tile() && is_weak); }
  [[nodiscard]] auto as_int() const -> std::optional<std::int64_t>;
  static auto python(std::int64_t value) -> TritonValue;
  static auto python(double value) -> TritonValue;
  static auto python(bool value) -> TritonValue;
};

/// A function beside the kernel: what it calls, or what combines two values in a scan or a
/// reduction.
struct TritonHelper {
  struct Param {
    std::string name;
    std::optional<TritonValue> standard;  ///< where a call may leave it out
  };
  std::vector<Param> params;
  std::size_t offset = 0;  ///< of its body
  int line = 0;
};

/// Emits statements with the dtypes that Triton computes in. Errors are messages without a place.
class TileBuilder {
 public:
  explicit TileBuilder(TileKernel& kernel) : kernel_(kernel) { regions_.push_back(&kernel.body); }

  void set_line(int line) { line_ = line; }
  [[nodiscard]] auto kernel() -> TileKernel& { return kernel_; }
  [[nodiscard]] auto type(const TritonValue& value) const -> const TileType& {
    return kernel_.type(value.id);
  }
  void push(TileRegion* region) { regions_.push_back(region); }
  void pop() { regions_.pop_back(); }
  auto add_value(TileType type) -> TileId;
  auto emit(TileStatement statement) -> TileStatement&;
  auto emit(decltype(TileStatement::what) what, std::vector<TileId> operands, TileType type)
      -> TileId;
  auto emit_effect(decltype(TileStatement::what) what, std::vector<TileId> operands) -> void;

  /// The text of the statement that was emitted last.
  void annotate(std::string_view text) { regions_.back()->body.back().text = text; }

  /// A tile of this dtype: constants are written, tiles converted.
  [[nodiscard]] auto as(const TritonValue& value, DType dtype) -> Result<TritonValue>;
  /// A tile of whatever dtype Triton gives the value.
  [[nodiscard]] auto tile(const TritonValue& value) -> Result<TritonValue>;
  [[nodiscard]] auto cast(const TritonValue& value, DType dtype) -> TritonValue;
  /// The number of the same bits in another dtype of as many, four bytes at least.
  [[nodiscard]] auto bitcast(const TritonValue& value, DType dtype) -> Result<TritonValue>;
  /// Dtype that both are converted to.
  [[nodiscard]] auto common(const TritonValue& a, const TritonValue& b, bool divides) const
      -> Result<DType>;
  [[nodiscard]] auto dtype_of(const TritonValue& value) const -> DType;
  /// One operation on operands of its dtype; broadcasts.
  [[nodiscard]] auto compute(TileOp op, const std::vector<TritonValue>& operands)
      -> Result<TritonValue>;
  /// Converts both to their common dtype first.
  [[nodiscard]] auto promoted(TileOp op, const TritonValue& a, const TritonValue& b,
                              bool divides = false) -> Result<TritonValue>;
  [[nodiscard]] auto select(const TritonValue& condition, const TritonValue& a,
                            const TritonValue& b) -> Result<TritonValue>;
  /// `a op b` of Python source.
  [[nodiscard]] auto binary(std::string_view op, const TritonValue& a, const TritonValue& b)
      -> Result<TritonValue>;
  [[nodiscard]] auto unary(std::string_view op, const TritonValue& a) -> Result<TritonValue>;
  [[nodiscard]] auto broadcast(const TritonShape& a, const TritonShape& b) const
      -> Result<TritonShape>;
  /// Reduces a position; keeps the others.
  [[nodiscard]] auto reduce(TileCombine combine, std::vector<TritonValue> values,
                            std::size_t position) -> Result<std::vector<TritonValue>>;

 private:
  [[nodiscard]] auto fold(std::string_view op, const TritonValue& a, const TritonValue& b)
      -> std::optional<TritonValue>;
  TileKernel& kernel_;
  std::vector<TileRegion*> regions_;
  int line_ = 0;
};

}  // namespace assay
