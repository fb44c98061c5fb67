// What the code of a thread is made of and with. Internal to compiler/codegen.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/codegen/combine_code.h"
#include "compiler/codegen/gpu_values.h"
#include "compiler/codegen/gpu_windows.h"
#include "compiler/codegen/lane_code.h"
#include "compiler/cuda/dot_layout.h"
#include "compiler/cuda/ptx.h"
#include "compiler/cuda/tile_layout.h"
#include "compiler/program/access_steps.h"
#include "compiler/program/kernel.h"

namespace assay {

/// Whether a load read what nobody wrote, whose result is only chosen from or stored: it counts
/// where somebody computes with it.
struct Unwritten {
  int line = 0;
  std::size_t param = 0;
  /// Places on the stack: UnwrittenOrigin, 0 where somebody wrote it; and which element.
  llvm::Value *origin = nullptr, *at = nullptr;
};
/// By register; those that `mask` leaves out hold copies.
struct UnwrittenLanes {
  int mask = 0;
  std::map<int, std::vector<Unwritten>> lanes;
};

/// Of GpuKernelEmitter, whose files share it.
struct GpuState : GpuValues {
  GpuState(llvm::Module& module, const PtxRequest& request, const PtxOptions& options);
  // gpu_quotients.cpp
  [[nodiscard]] auto reciprocal(Value* of, bool is_exact) -> Value*;
  [[nodiscard]] auto are_moderate(const Values& numbers) -> Value*;
  [[nodiscard]] auto extreme(llvm::Intrinsic::ID how, Values all) -> Value*;
  // gpu_fusing.cpp
  [[nodiscard]] auto flags(const TileStatement& one) const -> llvm::FastMathFlags;

  // gpu_watch.cpp
  [[nodiscard]] auto on_stack(Value* value) -> Value*;
  void find_passed_on();
  /// Where it is said that a register's load reads what nobody wrote, if that is put off.
  [[nodiscard]] auto put_off(const TileStatement& one, std::size_t param, int i, Value* at,
                             unsigned mask) -> Value*;
  [[nodiscard]] auto origin_of(Value* writer, Value* launch, int line) -> Value*;
  [[nodiscard]] auto left_by(Value* writer, TileId stored, int i) -> Value*;
  [[nodiscard]] auto unwritten_lanes(TileId id, int i) const -> std::vector<Unwritten>;

  llvm::Module& module_;
  const TileKernel& kernel_;
  const TileLayout* layout_;
  llvm::IRBuilder<> b_;
  LaneCode code_;
  CombineCode combine_;
  llvm::Function* function_ = nullptr;
  Value* thread_ = nullptr;
  Values params_;
  Value* record_ = nullptr;
  std::map<std::size_t, Watched> watched_;  ///< by parameter, of checked code
  Value* passed_ = nullptr;                 ///< where checked code counts barriers
  std::set<TileId> passed_on_;              ///< only converted, chosen from or stored
  std::map<TileId, UnwrittenLanes> unwritten_;
  bool is_checked_ = false;
  bool begins_early_ = false;                 ///< and waits for what is before it
  int architecture_ = 0;                      ///< 90 for compute capability 9.0
  int most_registers_ = 0;                    ///< of the machine; 0: no limit
  llvm::GlobalVariable* shared_ = nullptr;    ///< one value per thread
  llvm::GlobalVariable* exchange_ = nullptr;  ///< `exchange_room_` values per thread
  std::uint64_t exchange_room_ = 0;
  std::array<Place, kThreadPlaces> places_;
  std::vector<Exchange> exchanges_;  ///< among a cluster's blocks
  llvm::BasicBlock *begin_ = nullptr, *body_ = nullptr;
  /// Rooms for shares, by their type and operand.
  std::map<std::pair<llvm::Type*, std::size_t>, llvm::GlobalVariable*> gathered_;
  std::map<TileId, Held> values_;
  std::map<TileId, Value*> moderate_;  ///< truth that all lanes of a thread are so, where known
  /// Of what rows are divided by, and whether they are rounded as they should be.
  std::map<std::pair<Value*, bool>, Value*> reciprocals_;
  std::set<TileId> approximate_;         ///< within a few units, and so are quotients of them
  std::optional<GpuWindows> windows_;    ///< of the region
  std::set<const Value*> given_;         ///< what counts tiles of loops, and opaque places
  GpuNumbers numbers_{b_, given_};       ///< asked for positions
  unsigned chunk_mask_ = 0, chunk_ = 0;  ///< bits of the registers that code is made for
  bool is_single_lane_ = false;          ///< inside a region that combines two lanes
  bool is_straight_ = false;             ///< accesses are aligned and meant: it has been asked
  std::string error_;
  AccessSteps steps_;
  std::optional<DotAxes> dots_;
  std::uint64_t operand_bytes_ = 0;  ///< of shared memory
  bool makes_operand_ = false;
};

}  // namespace assay
