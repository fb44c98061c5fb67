// What one launch of a compiled program does: a tile program with named axes. Whole in this header.
//
// A program of the grid works on a tile: `block` lanes of every axis, numbered from 0. Lanes beyond
// an axis' extent exist, which is what masks are for, unless the axis is `exact`. A value varies
// over a set of axes and is the same along all others, so that broadcasting, `[:, None]` and
// `broadcast_to` are no operations. Pointers are parameters; what is computed are element indices.
// Integers wrap as on the device. Triton's kernels and the loops of C++ kernels are read into this.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/program/op_table.h"
#include "core/expr/expr.h"
#include "core/tensor/dtype.h"

namespace assay {

/// Bit i: the value varies over axis i.
using AxisSet = std::uint32_t;

struct TileType {
  DType dtype = DType::float32;
  AxisSet axes = 0;
  friend auto operator==(const TileType&, const TileType&) -> bool = default;
};

struct TileParam {
  enum class Kind : std::uint8_t {
    buffer,  ///< pointer to elements of `dtype`
    scalar,  ///< number of `dtype`
    block,   ///< lanes of an axis, chosen by whoever launches: a power of two
  };
  std::string name;
  Kind kind = Kind::buffer;
  DType dtype = DType::float32;
  std::optional<std::int64_t> fixed;  ///< given at compile time; not passed if `is_passed` not
  bool is_passed = true;              ///< stands among the arguments of a launch
  Expr symbol;                        ///< scalars and blocks: stands for it in extents and grids
  friend auto operator==(const TileParam&, const TileParam&) -> bool = default;
};

struct TileAxis {
  enum class Kind : std::uint8_t {
    parallel,   ///< tiles of it are programs of the grid
    reduction,  ///< a loop, or the whole of it in one tile; where exact always the whole
    lanes,      ///< a tile of fixed size that stands for nothing larger
    nested,     ///< tiles of it are rounds of a TileNest
  };
  std::string name;  ///< "x", "r0_"
  Kind kind = Kind::parallel;
  std::optional<Expr> extent;  ///< over parameters; nothing: not known
  Expr block;                  ///< a block parameter or a constant; of exact axes nobody reads it
  std::int64_t max_block = 1;  ///< largest block that may be chosen
  bool exact = false;          ///< no lane beyond the extent; any block is right
  friend auto operator==(const TileAxis&, const TileAxis&) -> bool = default;
};

/// Values are numbered; `TileKernel::values` has their types.
using TileId = std::int32_t;
inline constexpr TileId kNoTile = -1;

struct TileConstant {
  std::variant<std::int64_t, double> value;  ///< integers and truth values, or floats
  friend auto operator==(const TileConstant& a, const TileConstant& b) -> bool;  ///< NaN is NaN
};
struct TileParamValue {  ///< a scalar or block parameter
  std::size_t param = 0;
  friend auto operator==(const TileParamValue&, const TileParamValue&) -> bool = default;
};
struct TileLane {  ///< 0 .. block-1
  std::size_t axis = 0;
  friend auto operator==(const TileLane&, const TileLane&) -> bool = default;
};
struct TileIndex {  ///< of an exact axis: 0 .. extent-1 over all programs
  std::size_t axis = 0;
  friend auto operator==(const TileIndex&, const TileIndex&) -> bool = default;
};
struct TileProgram {  ///< number of this program in a dimension of the grid, or how many there are
  int dimension = 0;
  bool is_count = false;
  friend auto operator==(const TileProgram&, const TileProgram&) -> bool = default;
};
/// Lane by lane; what it does and to which dtypes stands in the operation's row. Conversions
/// (`cast`, `bitcast`) go to the dtype of the result.
struct TileCompute {
  TileOp op = TileOp::add;
  friend auto operator==(const TileCompute&, const TileCompute&) -> bool = default;
};
/// Operands: index, then mask, then what lanes without mask get (else 0). Nothing where kNoTile.
struct TileLoad {
  std::size_t param = 0;
  friend auto operator==(const TileLoad&, const TileLoad&) -> bool = default;
};
/// Operands: index, value, mask.
struct TileStore {
  std::size_t param = 0;
  friend auto operator==(const TileStore&, const TileStore&) -> bool = default;
};
/// Operands: index, value, mask; gives the value before. Compare-and-swap: index, compare, value.
struct TileAtomic {
  std::size_t param = 0;
  TileOp op = TileOp::add;
  bool is_exchange = false;
  friend auto operator==(const TileAtomic&, const TileAtomic&) -> bool = default;
};

/// As many results as operands; the axis is gone from them. Operands count on every lane of the
/// axis also where they do not vary along it.
struct TileReduce {
  TileCombine combine = TileCombine::sum;
  std::size_t axis = 0;
  friend auto operator==(const TileReduce&, const TileReduce&) -> bool = default;
};
/// Inclusive.
struct TileScan {
  TileCombine combine = TileCombine::sum;
  std::size_t axis = 0;
  bool is_reverse = false;
  friend auto operator==(const TileScan&, const TileScan&) -> bool = default;
};
/// Operands: keys, then values that move along; the results are in order along the axis. A last
/// operand counts how many lanes take part, kNoTile: all.
struct TileSort {
  std::size_t axis = 0;
  bool is_descending = false, is_stable = false;
  bool by_all = false;      ///< whole numbers, compared one operand after the other
  bool is_bitonic = false;  ///< lanes rise up to one of them and fall behind it; all take part
  friend auto operator==(const TileSort&, const TileSort&) -> bool = default;
};
/// Position of values among sorted boundaries in memory. Operands: value, how many boundaries, the
/// boundaries' stride, first index, sorter's stride and first index (kNoTile without `sorter`).
struct TileSearch {
  std::size_t param = 0;
  bool is_right = false;
  std::optional<std::size_t> sorter;
  friend auto operator==(const TileSearch&, const TileSearch&) -> bool = default;
};
enum class TileRandomKind : std::uint8_t { uniform, normal, integer, integer64, words };
/// Philox, bit by bit. Operands: seed, offset; integer64: low and high end too. Words: seed, and
/// both halves of the counter; the results are all four, uint32.
struct TileRandom {
  TileRandomKind kind = TileRandomKind::uniform;
  bool is_cpu = false;  ///< numbers as Inductor's C++ makes them, else Triton's
  friend auto operator==(const TileRandom&, const TileRandom&) -> bool = default;
};
/// Block product: operands a over (m, k), b over (k, n), and what is added or kNoTile: one fma
/// after the other in the order of k, in the result's dtype.
struct TileDot {
  std::size_t axis = 0;    ///< k
  bool may_round = false;  ///< operands of float32 to TF32, and sums in any order
  friend auto operator==(const TileDot&, const TileDot&) -> bool = default;
};
struct TileBarrier {
  friend auto operator==(const TileBarrier&, const TileBarrier&) -> bool = default;
};
/// Operands: number of a group, how many programs it has (both uniform, 32 bits). True in the one
/// that comes last, where what the others have stored is seen. Counted by group in a buffer of
/// int32, which is 0 before and after.
struct TileArrive {
  std::size_t param = 0;
  friend auto operator==(const TileArrive&, const TileArrive&) -> bool = default;
};
/// Operands: condition, mask. A lane where it is false stops the program.
struct TileAssert {
  std::string message;
  friend auto operator==(const TileAssert&, const TileAssert&) -> bool = default;
};
/// `for i in range(begin, end, step)`. Operands: begin, end, step, then what is carried from round
/// to round. Parameters of the region: i, carried; it yields the carried values; they are the
/// results.
struct TileLoop {
  std::optional<std::size_t> axis;  ///< whose tiles the rounds are
  friend auto operator==(const TileLoop&, const TileLoop&) -> bool = default;
};
/// Its region for every tile of exact axes, first axis outermost; without axes once. What a nest
/// wrote is seen by what follows it. Rounds are independent of each other, in any order, unless
/// they are ordered: then each is one lane of every axis. No nest stands in another.
struct TileNest {
  std::vector<std::size_t> axes;
  bool is_ordered = false;
  friend auto operator==(const TileNest&, const TileNest&) -> bool = default;
};
/// Operand: a condition that does not vary over lanes. Two regions without parameters, whose yields
/// are the results.
struct TileIf {
  friend auto operator==(const TileIf&, const TileIf&) -> bool = default;
};

struct TileRegion;
struct TileStatement {
  std::variant<TileConstant, TileParamValue, TileLane, TileIndex, TileProgram, TileCompute,
               TileLoad, TileStore, TileAtomic, TileReduce, TileScan, TileSort, TileSearch,
               TileRandom, TileDot, TileBarrier, TileArrive, TileAssert, TileLoop, TileNest, TileIf>
      what;
  std::vector<TileId> operands;
  std::vector<TileId> results;
  std::vector<TileRegion> regions;
  int line = 0;      ///< 1-based, in the kernel's text
  std::string text;  ///< of accesses, as written
};
struct TileRegion {
  std::vector<TileId> params;
  std::vector<TileStatement> body;
  std::vector<TileId> yields;
};

struct TileValue {
  TileType type;
  std::string name;  ///< of the variable, for people; may be empty
};

struct KernelLine {
  int line = 0;
  std::string text, reason;
};

struct TileKernel {
  std::string name;
  /// "pointwise", "reduction", "persistent_reduction", "template", "cpp", "user_autotune"
  std::string heuristic;
  std::vector<TileParam> params;
  std::vector<TileAxis> axes;
  std::vector<Expr> grid;  ///< programs by dimension, over parameters; empty: not known
  std::vector<TileValue> values;
  TileRegion body;
  bool asserts_are_on = true;              ///< device asserts are compiled in
  std::vector<std::string> launcher_args;  ///< behind the parameters: `_grid_0` and so on
  int lines = 0;
  std::vector<KernelLine> not_understood;  ///< anything may hide in these

  [[nodiscard]] auto param(std::string_view wanted) const -> const TileParam*;
  /// Parameters that a launch with so many arguments passes; `launcher_args` may follow.
  [[nodiscard]] auto passed(std::size_t arguments) const -> std::optional<std::vector<std::size_t>>;
  [[nodiscard]] auto type(TileId id) const -> const TileType& {
    return values[static_cast<std::size_t>(id)].type;
  }
  /// Not Inductor's own: launches pass every parameter that is not declared a constant.
  [[nodiscard]] auto is_users() const -> bool { return heuristic == "user_autotune"; }
  [[nodiscard]] auto is_understood() const -> bool { return not_understood.empty(); }
};

/// Every broken rule as a line: types of operands and results, definitions before uses, axes and
/// parameters that exist, yields that fit. Empty for a sound kernel.
[[nodiscard]] auto verify(const TileKernel& kernel) -> std::vector<std::string>;

}  // namespace assay
