// Runs one launch of a kernel, tile by tile. A statement is compiled once into a step that works on
// all lanes of a tile, so that dispatch costs nothing beside the arithmetic. Internal to
// compiler/interpret.
#pragma once
#include <array>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "compiler/interpret/memory.h"
#include "compiler/program/executor.h"
#include "compiler/program/kernel.h"
#include "core/expr/eval.h"

namespace assay {

/// Lanes of a tile where blocks are free: registers of all statements stay in the cache, and a
/// statement's dispatch costs nothing beside its lanes.
inline constexpr std::int64_t kTileLanes = 2048;

/// A statement with what does not depend on a launch.
struct TileStep {
  const TileStatement* statement = nullptr;
  TileEvaluate evaluate = nullptr;
  TileEvaluate round = nullptr;      ///< of narrow floats
  TileOverflow overflow = nullptr;   ///< only where an index rests on the result
  bool scatters_one_value = false;   ///< of stores: programs may meet
  bool takes_numbers_alone = false;  ///< of stores: other lanes take nothing of loaded numbers
  std::vector<std::vector<TileStep>> regions;
};

/// A kernel ready to be launched.
class TileCode {
 public:
  /// Errors: unsupported (not understood, an operation on a dtype that has none).
  [[nodiscard]] static auto compile(const TileKernel& kernel) -> Result<TileCode>;
  [[nodiscard]] auto kernel() const -> const TileKernel& { return *kernel_; }
  [[nodiscard]] auto steps() const -> const std::vector<TileStep>& { return steps_; }
  /// Parameters that the kernel writes.
  [[nodiscard]] auto writes(std::size_t param) const -> bool { return writes_[param]; }
  [[nodiscard]] auto reads(std::size_t param) const -> bool { return reads_[param]; }

 private:
  [[nodiscard]] auto compile(const TileStatement& statement) -> Result<TileStep>;
  [[nodiscard]] auto compile(const TileRegion& region) -> Result<std::vector<TileStep>>;
  void mark_indices(const TileRegion& region);
  const TileKernel* kernel_ = nullptr;
  std::vector<TileStep> steps_;
  std::vector<bool> writes_, reads_;
  std::vector<bool> feeds_index_;  ///< by value
  std::set<const TileStatement*> scatters_;
  std::set<const TileStatement*> alone_;  ///< stores that take loaded numbers alone
};

/// What is passed for a parameter.
struct TileArgument {
  RunStorage* storage = nullptr;
  std::int64_t offset_bytes = 0;
  bool tracks = false;  ///< somebody writes the storage in this launch
  std::int64_t integer = 0;
  double real = 0;
};

struct TileLaunch {
  std::vector<TileArgument> arguments;  ///< by parameter
  std::vector<std::int64_t> blocks;     ///< by axis; of nested ones the largest
  std::vector<std::int64_t> extents;    ///< by axis, of exact ones
  std::array<std::int64_t, 3> grid = {1, 1, 1};
  Binding scalars;  ///< symbols of parameters, blocks and the launcher's own arguments
  std::uint32_t first_program = 1;
  int line = 0;           ///< of the wrapper
  std::string statement;  ///< its text
  std::string kernel;     ///< as the wrapper calls it; empty: as its own text does
  /// Called once per statement and kind of fault; counts are kept here.
  std::function<void(RunFinding)> report;
};

class TileMachine {
 public:
  TileMachine(const TileCode& code, const TileLaunch& launch);
  /// All programs of the grid in order. Errors: unsupported.
  [[nodiscard]] auto run() -> Result<void>;
  /// Number that nobody had.
  [[nodiscard]] auto next_program() const -> std::uint32_t { return program_ + 1; }

 private:
  static constexpr std::uint8_t kWrapped = 1;    ///< integer arithmetic did
  static constexpr std::uint8_t kUnwritten = 2;  ///< rests on what nobody wrote
  struct Register {
    std::vector<std::byte> data;
    std::vector<std::uint8_t> poison;  ///< what is wrong with a lane, by bits; empty: nothing
  };
  using Lanes = std::size_t;

  [[nodiscard]] auto program() -> Result<void>;
  [[nodiscard]] auto run(const std::vector<TileStep>& steps) -> Result<void>;
  [[nodiscard]] auto step(const TileStep& step) -> Result<void>;
  void constant(const TileStep& step, const TileConstant& what);
  void param_value(const TileStep& step, const TileParamValue& what);
  void number(TileId id, std::int64_t value);
  void lane(const TileStep& step, std::size_t axis, std::int64_t origin);
  void compute(const TileStep& step, const TileCompute& what);
  void poison(const TileStep& step, std::span<const TileLanes> operands, Lanes count);
  /// Poison of lane i of a value, spread over `axes`.
  [[nodiscard]] auto poison_of(TileId id, AxisSet axes) -> TileLanes;
  /// Something depends on these values: reads of what nobody wrote, so far only noted, are faults.
  void use(std::span<const TileId> values);
  [[nodiscard]] auto loop(const TileStep& step) -> Result<void>;
  [[nodiscard]] auto branch(const TileStep& step) -> Result<void>;
  [[nodiscard]] auto nest(const TileStep& step, const TileNest& what) -> Result<void>;
  [[nodiscard]] auto nest_blocks(const TileStep& step, const TileNest& what) const
      -> std::vector<std::int64_t>;
  void forget_touches();
  void check(const TileStep& step, const TileAssert& what);
  void random(const TileStep& step, const TileRandom& what);

  // tile_memory.cpp
  struct Access;
  [[nodiscard]] auto prepare(const TileStep& step, std::size_t param, AxisSet axes) -> Access;
  void in_bounds(Access& access);
  void reads(Access& access, bool atomic);
  /// The one that stands first in the kernel, of which there is one.
  [[nodiscard]] auto first_unwritten() const -> const RunFinding&;
  void note_unwritten(const Access& access, Lanes lane);
  void load(const TileStep& step, const TileLoad& what);
  void store(const TileStep& step, const TileStore& what);
  void atomic(const TileStep& step, const TileAtomic& what);
  void arrive(const TileStep& step, const TileArrive& what);
  void search(const TileStep& step, const TileSearch& what);
  [[nodiscard]] auto read_number(const TileStep& step, std::size_t param, std::int64_t index)
      -> double;
  [[nodiscard]] auto describe(const TileStep& step, RunFault fault, const Access* access,
                              std::int64_t element, Lanes lane, Lanes times,
                              std::string message) const -> RunFinding;
  void fault(const TileStep& step, RunFault fault, const Access* access, std::int64_t element,
             Lanes lane, Lanes times, std::string message);

  // tile_reduce.cpp
  [[nodiscard]] auto reduce(const TileStep& step, TileCombine combine, std::size_t axis,
                            bool is_scan, bool is_reverse) -> Result<void>;
  static void round_lanes(DType dtype, std::byte* lanes, Lanes count);
  void of_nothing(const TileStep& step, TileCombine combine, Lanes results);
  [[nodiscard]] auto combine_regions(const TileStep& step, std::size_t axis, bool is_scan,
                                     bool is_reverse) -> Result<void>;
  void sort(const TileStep& step, const TileSort& what);
  void dot(const TileStep& step, const TileDot& what);

  [[nodiscard]] auto lanes(AxisSet axes) const -> Lanes;
  /// What lanes over `axes` have in common in their numbers as who touches memory: the lane of an
  /// axis that has one is the same as one without the axis.
  [[nodiscard]] auto lane_base(AxisSet axes) const -> std::uint32_t;
  [[nodiscard]] auto type(TileId id) const -> const TileType& { return kernel_.type(id); }
  [[nodiscard]] auto reg(TileId id) -> Register& {
    return registers_[static_cast<std::size_t>(id)];
  }
  /// Room for all lanes of a value, which is about to be written.
  [[nodiscard]] auto fresh(TileId id) -> std::byte*;
  /// Lanes of a value spread over `axes`; valid until the next statement.
  [[nodiscard]] auto spread(TileId id, AxisSet axes) -> TileLanes;
  [[nodiscard]] auto spread_raw(const std::byte* data, std::size_t size, AxisSet from, AxisSet to)
      -> TileLanes;
  [[nodiscard]] auto scratch(std::size_t bytes) -> std::byte*;
  /// As 64-bit integers and as truth values, spread over all of `axes` without gaps.
  [[nodiscard]] auto integers(TileId id, AxisSet axes) -> const std::int64_t*;
  [[nodiscard]] auto truths(TileId id, AxisSet axes) -> const bool*;
  void copy(TileId to, TileId from);

  const TileCode& code_;
  const TileKernel& kernel_;
  const TileLaunch& launch_;
  std::vector<Register> registers_;
  std::vector<std::vector<std::byte>> scratch_;
  std::size_t scratch_used_ = 0;
  std::vector<std::int64_t> dims_;     ///< lanes by axis, now
  std::vector<std::int64_t> origins_;  ///< of exact axes
  std::array<std::int64_t, 3> ids_ = {};
  std::uint32_t program_ = 0, phase_ = 0;
  std::uint32_t first_ = 0;  ///< program of the launch, or of the nest that is running
  bool stopped_ = false;     ///< an assert is false
  std::map<std::tuple<const TileStatement*, RunFault>, RunFinding> faults_;
  /// Reads of what nobody wrote on which nothing depends yet.
  std::map<const TileStatement*, RunFinding> unwritten_;
};

/// Bytes of a lane in a register.
[[nodiscard]] auto lane_size(DType dtype) -> std::size_t;

}  // namespace assay
