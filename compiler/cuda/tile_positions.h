// Where the lanes of a tile kernel are: its axes by their parts, positions along them, and which
// lanes are meant. Internal to compiler/cuda; tiling.cpp puts the kernel's statements there.
#pragma once
#include <map>
#include <vector>

#include "compiler/cuda/tiling.h"
#include "compiler/program/access_steps.h"
#include "compiler/program/kernel_builder.h"

namespace assay {

class TilePositions {
 protected:
  TilePositions(const TileKernel& kernel, const TilePlan& plan, const TileChoice& choice)
      : from_(kernel), steps_(kernel), tiles_(plan), plan_(plan.loops), choice_(choice) {}

  /// An axis of the tile kernel.
  struct Part {
    std::size_t number = 0;
    TileId lanes = kNoTile;  ///< how many
  };
  struct Axis {
    const char* name = "";
    TileAxis::Kind kind = TileAxis::Kind::parallel;
    std::vector<Part> parts;  ///< the fastest first
    TileId index = kNoTile, in_range = kNoTile;
    TileId is_own = kNoTile;      ///< no tile before has it as well
    std::vector<std::size_t> of;  ///< exact axes, the fastest last
    TileId extent = kNoTile;
    TileId lanes = kNoTile, block = kNoTile;  ///< how many a tile has, in 32 bits and as an index
    std::int64_t neighbours = 1;              ///< lanes that the innermost part has
    bool is_inner = false;                    ///< most is contiguous along it
    bool is_shifted = false;                  ///< rows begin where a wide access may
    bool ends_whole = false;                  ///< its last tile ends with it
  };

  [[nodiscard]] auto index_dtype() const -> DType {
    return choice_.is_narrow ? DType::int32 : DType::int64;
  }
  auto to_index(TileId id) -> TileId {
    return choice_.is_narrow ? id : b_.compute(TileOp::cast, {id}, DType::int64);
  }
  auto extent(std::size_t exact) -> TileId { return b_.param(made_.extents[exact], index_dtype()); }
  auto start(std::vector<std::size_t> of, const char* name, TileAxis::Kind kind) -> Axis*;
  /// Slower than the parts before it.
  void part(Axis* axis, const char* name, std::int64_t block, TilePlace place);
  void axes();
  /// Programs are numbered with the tiles of the first axis fastest.
  void positions();
  void strided_positions();
  /// Of the reduced axes, whose slowest one is clipped, what is meant.
  void clip(const TileClip& of);
  /// Lanes of an axis, as a sum of what a thread has and what its registers do; null: 0.
  struct Lanes {
    TileId thread = kNoTile, registers = kNoTile;
    TileId runs = kNoTile;  ///< of registers: to the first of each run
  };
  auto sum(TileId a, TileId b) -> TileId;
  auto less(TileId from, TileId by) -> TileId {
    return by == kNoTile ? from : b_.compute(TileOp::sub, {from, by});
  }
  auto own_lane(const Part& part) -> TileId {
    return b_.add(TileLane{part.number}, {}, DType::int32, AxisSet{1} << part.number);
  }
  auto lanes_of(const Axis& axis) -> Lanes;
  /// An index of the kernel at the beginning of the axis.
  auto at_start(TileId id, const Axis& axis) -> TileId;
  /// By how much rows begin before their first element, so that it is where a wide access may be.
  auto beyond(const Axis& axis) -> TileId;
  /// The axis' position is `origin` plus the lane; of what it is made of by division. Lanes and
  /// what they are compared with have 32 bits: how far it is from the origin to the end.
  void place(Axis& axis, TileId origin);
  void set_exact(const Axis& axis, TileId at, std::int64_t run);
  /// All lanes are meant; those that the tile before has as well are its.
  void place_whole(Axis& axis, TileId origin);
  auto without_sign(TileId id) -> TileId { return b_.compute(TileOp::cast, {id}, DType::uint32); }
  /// A quotient or rest; without a sign there is less to do.
  auto of_naturals(TileOp op, TileId a, TileId b) -> TileId;
  /// A distance in 32 bits: what is farther than any lane is as far as that.
  auto near(TileId distance) -> TileId;
  /// Where neighbours are in range together the first one is asked.
  auto run_start(const Axis& axis, TileId index) -> TileId;
  [[nodiscard]] static auto set_of(const Axis& axis) -> AxisSet;
  /// `is_own`: what another tile has as well is left to it; it may write over what it reads.
  auto mask(AxisSet axes, bool is_own) -> TileId;

  [[nodiscard]] auto r() -> Axis& { return axes_.back(); }
  [[nodiscard]] auto r() const -> const Axis& { return axes_.back(); }
  [[nodiscard]] auto place_of(const Part& part) const -> TilePlace {
    return made_.places.empty() ? TilePlace::bits : made_.places[part.number];
  }

  const TileKernel& from_;
  const AccessSteps steps_;
  const TilePlan& tiles_;
  const KernelPlan& plan_;
  TileChoice choice_;
  KernelBuilder b_;
  TiledKernel made_;
  std::vector<Axis> axes_;
  std::map<std::size_t, TileId> exact_;  ///< indices along exact axes
  bool strides_ = false;                 ///< over rows of elements
  TileId first_ = kNoTile, rows_from_ = kNoTile, stride_ = kNoTile;
};

}  // namespace assay
